"""Where the engine lies once Repot is installed: `transforms` and `verify`, in this folder.

The folder itself is put at the head of a process's path, by `repot.launcher`; nothing is imported
through this package. In the repository both lie at the top.
"""
