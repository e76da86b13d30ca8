"""Every other file that imports or names what moves."""
