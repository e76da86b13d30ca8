"""Files before any name in them is resolved: parsing, depth, comments, calls."""
