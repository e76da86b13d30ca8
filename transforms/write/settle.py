"""Bring files from one side of a change set to the other, step by step, from any mixture of both.

Every step may be the last one taken: doing it all again ends in the same files.
"""

from __future__ import annotations

import re
import stat
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from transforms.errors import Place, Refusal
from transforms.paths import parents, to_bytes
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob, ChangeSet
from transforms.tree.base import canonical_mode
from transforms.tree.disk import Root, Writer

Side = Literal["before", "after"]
TOKEN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Held:
    """What lay on disk beside the bytes: permission bits of files and directories, and owners."""

    files: Mapping[str, int]
    owners: Mapping[str, tuple[int, int]]
    directories: Mapping[str, int]  # those above the changed paths that there were


@dataclass(frozen=True, slots=True)
class Job:
    """A change set on its way to disk, and what is needed to take it back.

    `token` is part of every temporary file's name, so that only ours are ever removed.
    `trusts_modes` is off where the executable bit on disk means nothing.
    """

    changes: ChangeSet
    held: Held
    token: str
    trusts_modes: bool
    _twins: frozenset[str] = field(init=False)
    _numbers: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_twins", _find_twins(self.changes))
        object.__setattr__(self, "_numbers", {path: n for n, path in enumerate(self.changes)})

    def goal(self, side: Side) -> dict[str, Blob | None]:
        """Give each path's file on one side."""
        return self.changes.after() if side == "after" else self.changes.before()

    def permissions(self, path: str, side: Side) -> int:
        """Give the permission bits that a file gets: those it had, unless its mode changes."""
        change = self.changes[path]
        blob = change.after if side == "after" else change.before
        kept = self.held.files.get(path)
        if kept is not None and (side == "before" or _same_mode(change.before, change.after)):
            return kept
        return 0o755 if blob is not None and blob.mode == EXECUTABLE else 0o644

    def temporary(self, path: str) -> str:
        """Name the temporary file that becomes this path's file, in the same directory."""
        folder = path.rpartition("/")[0]
        name = f".repot-{self.token}-{self._numbers[path]}"
        return f"{folder}/{name}" if folder else name

    def look(self, root: Root, path: str) -> Blob | None:
        """Read what lies at a path; `None` for nothing or a directory. Raises `OSError`."""
        if path in self._twins and not _is_listed(root, path):
            return None  # what answers to this name is the twin, on a disk that ignores case
        if not all(root.is_directory(parent) for parent in parents(path)):
            return None
        found = root.status(path)
        if found is None or stat.S_ISDIR(found.st_mode):
            return None
        if stat.S_ISLNK(found.st_mode):
            return Blob(root.read_link(path), SYMLINK)
        if not stat.S_ISREG(found.st_mode):
            raise Refusal(
                "special-file",
                "This is neither a file, a link nor a directory.",
                next_step="Move it away.",
                place=Place(path),
            )
        return Blob(root.read(path), canonical_mode(found.st_mode))

    def matches(self, found: Blob | None, blob: Blob | None) -> bool:
        """Tell whether a file on disk is this one, by bytes and, where it means something, mode."""
        if found is None or blob is None:
            return found is blob
        if self.trusts_modes:
            return found == blob
        return found.data == blob.data  # links too may be kept as files there


def _same_mode(before: Blob | None, after: Blob | None) -> bool:
    return before is not None and after is not None and before.mode == after.mode


def fold(path: str) -> str:
    """Give what is equal for names that some disks take for one: by case, or accents spelled."""
    return unicodedata.normalize("NFC", path).casefold()


def _find_twins(paths: Iterable[str]) -> frozenset[str]:
    by_key: dict[str, list[str]] = {}
    for path in paths:
        by_key.setdefault(fold(path), []).append(path)
    return frozenset(path for group in by_key.values() if len(group) > 1 for path in group)


def examine(job: Job, root: Root) -> None:
    """Refuse, before anything is touched, to overwrite somebody's work: what is on neither side.

    A path where nothing lies is free to be written. Raises `Refusal("edited-since")` and `OSError`.
    """
    for path, change in job.changes.items():
        _refuse_link(root, path)
        found = job.look(root, path)
        if not any(found is None or job.matches(found, b) for b in (change.before, change.after)):
            raise _edited(path)


def settle(job: Job, root: Root, side: Side, writer: Writer) -> None:
    """Give every path its file of that side, durably; `examine` first. Raises `OSError`."""
    goal = job.goal(side)
    unwanted = [path for path, blob in goal.items() if blob is None]
    for path in goal:
        temporary = job.temporary(path)
        if root.status(temporary) is not None:
            writer.remove(root.locate(temporary))
    _remove(job, root, _in_the_way(goal), writer)
    if side == "before":  # first what takes space: it may be the lack of it that sent us back
        _remove(job, root, unwanted, writer)
    _prune(job, root, side, writer)
    for path, blob in goal.items():
        if blob is not None and not job.matches(job.look(root, path), blob):
            _put(job, root, path, blob, side, writer)
    _remove(job, root, unwanted, writer)
    _prune(job, root, side, writer)
    if side == "before":
        _restore_directories(job, root, writer)
    for folder in _touched(job, root):
        if root.is_directory(folder):
            writer.sync_directory(root.locate(folder))


def _put(job: Job, root: Root, path: str, blob: Blob, side: Side, writer: Writer) -> None:
    """Write one file beside its place, make it durable, and only then give it its name."""
    for parent in parents(path):
        if not root.is_directory(parent):
            writer.make_directory(root.locate(parent))
    temporary = root.locate(job.temporary(path))
    if blob.mode == SYMLINK:
        writer.link(temporary, blob.data)
    else:
        permissions = job.permissions(path, side)
        writer.create(temporary, blob.data, permissions, job.held.owners.get(path))
    writer.rename(temporary, root.locate(path))


def _remove(job: Job, root: Root, paths: Iterable[str], writer: Writer) -> None:
    for path in paths:
        if job.look(root, path) is not None:
            writer.remove(root.locate(path))


def _in_the_way(goal: Mapping[str, Blob | None]) -> list[str]:
    """List the paths that must be gone before others are written.

    Files where those need a directory, files in a directory where those need a file, and files
    that have the name of one of those in another case.
    """
    wanted = {path for path, blob in goal.items() if blob is not None}
    above = {parent for path in wanted for parent in parents(path)}
    folded = {fold(path) for path in wanted}
    return [
        path
        for path in goal
        if path not in wanted
        and (path in above or not wanted.isdisjoint(parents(path)) or fold(path) in folded)
    ]


def _prune(job: Job, root: Root, side: Side, writer: Writer) -> None:
    """Remove directories that this side's files left empty, as git does, the innermost first.

    On the way back only those that there were not before.
    """
    goal = job.goal(side)
    needed = {parent for path, blob in goal.items() if blob is not None for parent in parents(path)}
    left = {parent for path, blob in goal.items() if blob is None for parent in parents(path)}
    if side == "before":
        left -= job.held.directories.keys()
    for folder in sorted(left - needed, key=to_bytes, reverse=True):
        if root.is_directory(folder) and not root.names(folder):
            writer.remove_directory(root.locate(folder))


def _restore_directories(job: Job, root: Root, writer: Writer) -> None:
    """Give directories their permission bits again: some were removed and made anew."""
    for folder, permissions in job.held.directories.items():
        found = root.status(folder)
        if found is not None and stat.S_IMODE(found.st_mode) != permissions:
            writer.permit(root.locate(folder), permissions)


def _touched(job: Job, root: Root) -> list[str]:
    """List the directories whose names may have changed, the root being the empty path.

    Also by a run that was stopped: those above the paths, and above directories made or removed.
    """
    found = {path.rpartition("/")[0] for path in job.changes}
    for folder in {parent for path in job.changes for parent in parents(path)}:
        if folder not in job.held.directories or not root.is_directory(folder):
            found.add(folder.rpartition("/")[0])
    return sorted(found, key=to_bytes)


def _is_listed(root: Root, path: str) -> bool:
    """Tell whether a path exists with exactly these letters."""
    for name in [*parents(path), path]:
        folder, _, last = name.rpartition("/")
        if (folder and not root.is_directory(folder)) or last not in root.names(folder):
            return False
    return True


def refuse_links(job: Job, root: Root) -> None:
    """Refuse a path whose directory has become a symbolic link: it may lead out of the tree."""
    for path in job.changes:
        _refuse_link(root, path)


def _refuse_link(root: Root, path: str) -> None:
    for parent in parents(path):
        found = root.status(parent)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise Refusal(
                "symlink",
                f"Its directory `{parent}` has become a symbolic link.",
                next_step="Put the directory back, then run Repot again.",
                place=Place(path),
            )


def _edited(path: str) -> Refusal:
    return Refusal(
        "edited-since",
        "It was changed after the run that was stopped, and is neither the old file nor the new.",
        next_step="Move your copy aside and run Repot again, then merge it by hand.",
        place=Place(path),
    )
