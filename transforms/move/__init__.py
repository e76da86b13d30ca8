"""What leaves, what it needs where it lands, and what is left behind."""
