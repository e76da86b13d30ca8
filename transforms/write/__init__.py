"""Writing a change set to disk, all or nothing."""
