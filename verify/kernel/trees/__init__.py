"""One of the two trees, as it lies there: files, statements, settings, and the lists of what acts."""
