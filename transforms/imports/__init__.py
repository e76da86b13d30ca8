"""Import statements: how they are written, where they go, and files under edit."""
