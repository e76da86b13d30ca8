"""Runs of the machine from every entry, on both sides, and their comparison."""
