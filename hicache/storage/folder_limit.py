"""How a folder of page files stays below a size: the least recently used are removed first."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    used_ns: int  # first, since the oldest go first
    path: str
    size: int


class FolderLimit:
    """Keeps the pages of all formats below `folder` within `limit` bytes.

    The order of use is kept in the files' modification times: a read sets it anew. The folder is
    counted when it is opened, and again each time this process has written a sixteenth of the
    limit; then an eighth of the limit is made free, so that a count is rare.

    Processes that share a folder need no lock: all see the same order, so they remove the same
    files, and one that is gone already counts as removed. Each counts ahead what it may write until
    it counts again, so one process keeps the limit; with others each may exceed it by a sixteenth.
    Raises `ValueError` unless `limit` is at least 1.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit: expected a number of bytes, got {limit}")
        self.folder = folder
        self.limit = limit
        self.removed = 0
        self._lock = threading.Lock()
        self._may_write = 0  # until the folder is counted again

    def make_room(self, size: int) -> None:
        """Remove files until `size` more bytes may be written, and count them as written.

        Raises `OSError` for more than the limit, and where the folder cannot be read.
        """
        if size > self.limit:
            raise OSError(f"{size} bytes are more than the folder's limit of {self.limit}")
        with self._lock:
            if size > self._may_write:
                ahead = max(size, self.limit // 16)
                self._remove_oldest(ahead)
                self._may_write = ahead
            self._may_write -= size

    def used(self, path: Path) -> None:
        """Note that a file was read now."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)

    def _remove_oldest(self, ahead: int) -> None:
        entries = list(_entries(self.folder))
        total = sum(entry.size for entry in entries)
        if total + ahead <= self.limit:
            return
        most = max(0, self.limit - max(ahead, self.limit // 8))
        for entry in sorted(entries):
            if total <= most:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)  # noqa: PTH108  as scandir gives it: there may be many
            total -= entry.size
            self.removed += 1


def _entries(folder: Path) -> Iterator[_Entry]:
    """Give the pages of every format."""
    for below in folder.iterdir():
        if not below.is_dir():
            continue
        with os.scandir(below) as found:
            for file in found:
                if not file.name.endswith(".page"):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = file.stat()
                    yield _Entry(status.st_mtime_ns, file.path, status.st_size)
