"""Repot, as it is installed: the command, and `repot.api` for programs."""
