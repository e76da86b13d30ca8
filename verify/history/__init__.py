"""Commits, ranges, trailers and merges, and the work that is shared over them."""
