"""Which moved lines `git blame -C -C -C` still traces, and why not the others."""
