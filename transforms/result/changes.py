"""What a move changes: each path's file before and after, to be compared, shown, then written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from transforms import paths
from transforms.result import diff

REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
SUBMODULE = 0o160000

_NO_BLOB = "0" * 40
_BINARY_WINDOW = 8000  # git looks for a NUL in so many bytes


@dataclass(frozen=True, slots=True)
class Blob:
    """A file: its bytes, and its mode as git stores it (0o100644, 0o100755 or 0o120000)."""

    data: bytes
    mode: int = REGULAR

    def __post_init__(self) -> None:
        if self.mode not in {REGULAR, EXECUTABLE, SYMLINK}:
            raise ValueError(f"{self.mode:o} is not the mode of a file in git")

    @property
    def binary(self) -> bool:
        """Whether git would take it for binary: a NUL among its first 8,000 bytes."""
        return b"\0" in self.data[:_BINARY_WINDOW]

    @property
    def id(self) -> str:
        """Git's SHA-1 name of these bytes, 40 hexadecimal digits."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Change:
    """One path's file before and after; `None` where there is none. The sides are never equal."""

    path: str
    before: Blob | None
    after: Blob | None

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise ValueError(f"{self.path}: both sides are equal")

    @property
    def kind(self) -> Literal["created", "deleted", "changed"]:
        """What happens to the path."""
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"

    @property
    def binary(self) -> bool:
        """Whether either side is binary, so that no lines are shown."""
        return any(side is not None and side.binary for side in (self.before, self.after))

    def counts(self) -> tuple[int, int]:
        """Count added and removed lines as the diff shows them; (0, 0) for a binary file."""
        if self.binary:
            return 0, 0
        added = removed = 0
        for part in self._parts():
            for edit in diff.edits(_lines(part.before), _lines(part.after)):
                added += edit.new_end - edit.new_start
                removed += edit.old_end - edit.old_start
        return added, removed

    @property
    def added(self) -> int:
        """Added lines."""
        return self.counts()[0]

    @property
    def removed(self) -> int:
        """Removed lines."""
        return self.counts()[1]

    def inverted(self) -> Change:
        """Give the change that undoes this one."""
        return Change(self.path, self.after, self.before)

    def diff(self) -> bytes:
        """Print the unified diff as `git diff --full-index --no-renames` does."""
        return b"".join(_print(part) for part in self._parts())

    def _parts(self) -> tuple[Change, ...]:
        """Split a file that becomes a symbolic link, or the reverse: git shows two changes."""
        before, after = self.before, self.after
        if before and after and (before.mode == SYMLINK) != (after.mode == SYMLINK):
            return Change(self.path, before, None), Change(self.path, None, after)
        return (self,)


class ChangeSet(Mapping[str, Change]):
    """The changes of one move by path, in git's order. Immutable and hashable.

    Equal change sets have the same paths with the same bytes and modes on both sides.
    """

    __slots__ = ("_changes",)

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        ordered = sorted(changes, key=lambda change: paths.to_bytes(change.path))
        self._changes = {change.path: change for change in ordered}
        if len(self._changes) != len(ordered):
            raise ValueError("two changes of one path")

    @classmethod
    def of(cls, before: Mapping[str, Blob | None], after: Mapping[str, Blob | None]) -> ChangeSet:
        """Compare two sides; a path that one side lacks, or holds as `None`, has no file there."""
        return cls(
            Change(path, before.get(path), after.get(path))
            for path in {**before, **after}
            if before.get(path) != after.get(path)
        )

    def __getitem__(self, path: str) -> Change:
        return self._changes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def __hash__(self) -> int:
        return hash(tuple(self._changes.values()))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{change.kind} {path!r}" for path, change in self.items())
        return f"ChangeSet({kinds})"

    def after(self) -> dict[str, Blob | None]:
        """Give each path's file after the move, as `OverlayTree` takes it."""
        return {path: change.after for path, change in self._changes.items()}

    def before(self) -> dict[str, Blob | None]:
        """Give each path's file before the move."""
        return {path: change.before for path, change in self._changes.items()}

    def inverted(self) -> ChangeSet:
        """Give the change set that undoes this one."""
        return ChangeSet(change.inverted() for change in self._changes.values())

    def counts(self) -> tuple[int, int]:
        """Count added and removed lines over all text files."""
        pairs = [change.counts() for change in self._changes.values()]
        return sum(added for added, _ in pairs), sum(removed for _, removed in pairs)

    def diff(self) -> bytes:
        """Print one patch that `git apply` takes, unless a binary file is among the changes.

        It depends on nothing but the two sides: no git, configuration, locale or hash seed.
        """
        return b"".join(change.diff() for change in self._changes.values())


def _lines(blob: Blob | None) -> list[bytes]:
    return diff.split_lines(blob.data) if blob else []


def _print(change: Change) -> bytes:
    """Print one file's diff: header, modes, index line, hunks."""
    before, after = change.before, change.after
    old_name, new_name = paths.quote(f"a/{change.path}"), paths.quote(f"b/{change.path}")
    header = [f"diff --git {old_name} {new_name}"]
    if before is None and after is not None:
        header.append(f"new file mode {after.mode:o}")
    elif after is None and before is not None:
        header.append(f"deleted file mode {before.mode:o}")
    elif before and after and before.mode != after.mode:
        header += [f"old mode {before.mode:o}", f"new mode {after.mode:o}"]
    old_id, new_id = (side.id if side else _NO_BLOB for side in (before, after))
    if old_id != new_id:
        mode = f" {before.mode:o}" if before and after and before.mode == after.mode else ""
        header.append(f"index {old_id}..{new_id}{mode}")
    old_label = old_name if before else "/dev/null"
    new_label = new_name if after else "/dev/null"
    if change.binary and old_id != new_id:
        header.append(f"Binary files {old_label} and {new_label} differ")
        return _encode(header)
    hunks = diff.unified(_lines(before), _lines(after))
    if hunks:
        header += [f"--- {_ended(old_label)}", f"+++ {_ended(new_label)}"]
    return _encode(header) + hunks


def _ended(label: str) -> str:
    """Add the tab by which git marks the end of a name with spaces."""
    return label + "\t" if " " in label else label


def _encode(header: list[str]) -> bytes:
    return "".join(line + "\n" for line in header).encode("utf-8", "surrogateescape")
