"""A folder as it lies there, to see that nothing of it has changed."""

from __future__ import annotations

import stat
from pathlib import Path


def listing(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind, permissions, size, time of change, and bytes or target."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = path.readlink()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    return found
