"""Repot, as it is installed: the command, `repot.api` for programs, `repot.server` for agents."""
