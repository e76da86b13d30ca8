"""How a folder of page files stays below a size: what was used longest ago is removed first.

Of a prefix its last page goes first, since the others can be used without it and it cannot without
them. Keys tell which page follows which (`hicache.pages`).
"""

from __future__ import annotations

import contextlib
import heapq
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hicache.pages import parent_tag, tag
from hicache.storage.envelope import is_key

_Place = tuple[str, str]  # a folder and the tag of a key: what others follow


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    used_ns: int  # first, since the oldest go first
    path: str
    size: int
    place: _Place
    parent: _Place | None


class FolderLimit:
    """Keeps the pages of all formats below `folder` within `limit` bytes.

    The order of use is kept in the files' modification times: a read sets it anew. The folder is
    counted when it is opened, and again each time this process has written a sixteenth of the
    limit; then an eighth of the limit is made free, so that a count is rare. Each count also
    removes pages whose head is gone, which nobody can use, and of files that pages after them would
    name alike all but the one used last. A link counts as itself, not as what it leads to.

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
        self._there: set[_Place] = set()  # as counted, and written since

    def make_room(self, size: int, path: Path | None = None) -> bool:
        """Remove files until `size` more bytes may be written, and count them as written.

        False, and nothing is counted, where that cannot be: all that is left are pages that the one
        to be written to `path` follows, or the one before it is not there. Raises `OSError` for
        more than the limit, and where the folder cannot be read.
        """
        if size > self.limit:
            raise OSError(f"{size} bytes are more than the folder's limit of {self.limit}")
        before = None if path is None else _parent_of(str(path.parent), path.stem)
        with self._lock:
            if size > self._may_write or not self._has(before):
                ahead = max(size, self.limit // 16)
                self._may_write = min(ahead, self._make_free(ahead, before))
            if size > self._may_write or not self._has(before):
                return False
            self._may_write -= size
            return True

    def written(self, path: Path) -> None:
        """Note that a page is there, so that others may follow it."""
        with self._lock:
            self._there.add(_place_of(str(path.parent), path.stem))

    def used(self, path: Path) -> None:
        """Note that a file was read now, if that can be: it may be another user's, or gone."""
        with contextlib.suppress(OSError):
            os.utime(path)

    def _has(self, place: _Place | None) -> bool:
        return place is None or place in self._there

    def _make_free(self, ahead: int, before: _Place | None) -> int:
        """Remove what is of no use, and if need be what was used longest ago; give what is free.

        Nothing that the page at `before` follows; nor anything for the sake of one that follows it,
        if it is not there.
        """
        at, useful, total = self._counted()
        entries = list(at.values())
        kept = _path_to(before, at)
        if before is not None and before not in at:
            ahead = 0
        for entry in entries:
            if entry.place not in useful and entry.place not in kept:
                total -= self._remove(entry) or 0
        if total + ahead <= self.limit:
            return self.limit - total
        most = max(0, self.limit - max(ahead, self.limit // 8))
        followed = Counter(entry.parent for entry in entries if entry.place in useful)
        may_go = useful - kept
        ends = [e for e in entries if e.place in may_go and not followed[e.place]]
        heapq.heapify(ends)
        while ends and total > most:
            entry = heapq.heappop(ends)
            freed = self._remove(entry)
            if freed is None:  # and so does what it follows
                continue
            total -= freed
            if entry.parent is None:
                continue
            followed[entry.parent] -= 1
            if entry.parent in may_go and not followed[entry.parent]:
                heapq.heappush(ends, at[entry.parent])
        return self.limit - total

    def _counted(self) -> tuple[dict[_Place, _Entry], set[_Place], int]:
        """Give the pages, the places of those of use, and the bytes of all; each place has one."""
        found = {entry.path: entry for entry in _entries(self.folder)}
        at = _by_place(found.values())
        useful = _with_their_heads(at)
        if len(useful) < len(found):
            # A listing is made while others write, and may pass over a file that was always there.
            found.update((entry.path, entry) for entry in _entries(self.folder))
            at = _by_place(found.values())
            useful = _with_their_heads(at)
        total = sum(entry.size for entry in found.values())
        for entry in found.values():
            if at[entry.place] is not entry:
                total -= self._remove(entry) or 0
        self._there = set(at)
        return at, useful, total

    def _remove(self, entry: _Entry) -> int | None:
        """Remove a file; give its size, or None where it has to stay."""
        try:
            os.unlink(entry.path)  # noqa: PTH108  as scandir gives it: there may be many
        except FileNotFoundError:
            pass
        except OSError:  # another user's, say
            return None
        self.removed += 1
        self._there.discard(entry.place)
        return entry.size


def _by_place(entries: Iterable[_Entry]) -> dict[_Place, _Entry]:
    """Give of each place the page that was used last."""
    at: dict[_Place, _Entry] = {}
    for entry in entries:
        other = at.setdefault(entry.place, entry)
        if other < entry:
            at[entry.place] = entry
    return at


def _with_their_heads(at: dict[_Place, _Entry]) -> set[_Place]:
    """Give the places of pages whose path is there up to the first page of their prefix."""
    useful: set[_Place] = set()
    broken: set[_Place] = set()
    for start in at:
        path: list[_Place] = []
        place: _Place | None = start
        while place is not None and place in at and place not in useful and place not in broken:
            path.append(place)
            broken.add(place)  # until its head was found: pages that follow each other in a ring
            place = at[place].parent
        if place is None or place in useful:
            useful.update(path)
            broken.difference_update(path)
    return useful


def _path_to(place: _Place | None, at: dict[_Place, _Entry]) -> set[_Place]:
    """Give the places of the pages up to that one."""
    kept: set[_Place] = set()
    while place is not None and place in at and place not in kept:
        kept.add(place)
        place = at[place].parent
    return kept


def _place_of(folder: str, key: str) -> _Place:
    return folder, tag(key) if is_key(key) else key


def _parent_of(folder: str, key: str) -> _Place | None:
    before = parent_tag(key) if is_key(key) else None
    return None if before is None else (folder, before)


def _entries(folder: Path) -> Iterator[_Entry]:
    """Give the pages of every format; folders may vanish meanwhile."""
    for below in _folders(folder):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(below) as found:
            for file in found:
                if not file.name.endswith(".page"):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    # Of a link its own: what it leads to is not in the folder, nor goes with it.
                    status = file.stat(follow_symlinks=False)
                    key = file.name.removesuffix(".page")
                    place = _place_of(str(below), key)
                    parent = _parent_of(str(below), key)
                    yield _Entry(status.st_mtime_ns, file.path, status.st_size, place, parent)


def _folders(folder: Path) -> list[Path]:
    try:
        return [below for below in folder.iterdir() if below.is_dir()]
    except FileNotFoundError:
        return []
