"""Files as such: what is run, listed, installed or collected by its path."""
