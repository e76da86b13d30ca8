"""Storage behind the host pool: an interface, and files."""
