"""Who gets hold of what moved while a program runs, without importing it by name."""
