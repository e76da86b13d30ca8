"""What each command reports, in words: one module a command."""
