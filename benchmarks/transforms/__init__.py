"""`repot apply` of a real split, beside `ast.parse` of its tree and rope on the same job."""
