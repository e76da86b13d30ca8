"""`git blame` of one file, read: which commit each line is new in, and where it stands there.

Plain blame follows a line within its file and no further: no file that was renamed, no copy. How it
goes on from where it ends is decided for each commit by itself, in `verify.origin.steps`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from transforms.paths import from_bytes, to_bytes
from transforms.tree.git import Repository

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: (\d+))?")
_MOST_RANGES = 200  # of lines, on one command line
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A line: the commit that it is credited to, and its path and 1-based line there.

    `previous` is what git says the file was before that commit: a commit and a path, if any.
    """

    commit: str
    path: str
    line: int
    previous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blamed:
    """The rows by line of the file, and what git says of each commit, as `--porcelain` has it.

    `ends` are commits at which history ends: a first one, one that a shallow clone begins with, or
    one that blame was told not to pass.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    details: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)


def plain_blame(
    repository: Repository, commit: str, path: str, lines: Collection[int] | None = None
) -> Blamed:
    """Blame lines of a file, all of them for `None`, within the file alone.

    Raises `GitError` where an object is missing.
    """
    ranges = [] if lines is None else _ranges(lines)
    return _blame(repository, ["--no-follow", *ranges], [commit], path)


def copying_blame(repository: Repository, commit: str, parents: Sequence[str], path: str) -> Blamed:
    """Blame a file as `-C` does, and no further than a commit's parents.

    The whole file, whichever lines are asked for: how far git follows a line hangs on those around.
    """
    return _blame(repository, ["-C"], [commit, *(f"^{parent}" for parent in parents)], path)


def _blame(
    repository: Repository, options: Sequence[str], revisions: Sequence[str], path: str
) -> Blamed:
    printed = repository.run(
        "-c", "core.quotePath=false", "blame", "--porcelain", "--no-progress", "--no-textconv",
        *options, *revisions, "--", os.fsdecode(to_bytes(path)),
    )  # fmt: skip
    return _read(printed.split(b"\n"))


def _ranges(lines: Iterable[int]) -> list[str]:
    """Name lines as options; where there are too many stretches, the whole file is as quick."""
    stretches: list[list[int]] = []
    for line in sorted(lines):
        if stretches and stretches[-1][1] == line - 1:
            stretches[-1][1] = line
        else:
            stretches.append([line, line])
    if len(stretches) > _MOST_RANGES:
        return []
    return [f"-L{first},{last}" for first, last in stretches]


def _read(printed: Sequence[bytes]) -> Blamed:
    """Read `--porcelain`: a header, then what is told once of a commit or file, then the line."""
    found = Blamed()
    files: dict[str, tuple[str, tuple[str, ...]]] = {}
    rows = iter(printed)
    for row in rows:
        header = _HEADER.fullmatch(row)
        if header is None:
            continue
        commit = header[1].decode()
        told = list(_until_text(rows))
        fields = [line for line in told if not line.startswith((b"filename ", b"previous "))]
        if fields:
            found.details[commit] = tuple(line for line in fields if line != b"boundary")
            if b"boundary" in fields:
                found.ends.add(commit)
        name = next((line for line in told if line.startswith(b"filename ")), None)
        if name is not None:
            previous = next((line for line in told if line.startswith(b"previous ")), b"")
            files[commit] = _path(name.removeprefix(b"filename ")), _previous(previous)
        path, before = files[commit]
        found.rows[int(header[3])] = Row(commit, path, int(header[2]), before)
    return found


def _until_text(rows: Iterator[bytes]) -> Iterator[bytes]:
    for row in rows:
        if row.startswith(b"\t"):
            return
        yield row


def _previous(row: bytes) -> tuple[str, ...]:
    _, commit, name = row.split(b" ", 2) if row else (b"", b"", b"")
    return (commit.decode(), _path(name)) if row else ()


def _path(name: bytes) -> str:
    """Read a path as git prints it: with C escapes where it stands in double quotes."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return from_bytes(name)

    def one(found: re.Match[bytes]) -> bytes:
        text = found[1]
        return bytes([int(text, 8) & 0xFF]) if len(text) == 3 else _ESCAPES.get(text, text)

    return from_bytes(_ESCAPED.sub(one, name[1:-1]))
