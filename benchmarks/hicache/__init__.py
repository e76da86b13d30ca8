"""What free room costs and brings, measured on the cache itself."""
