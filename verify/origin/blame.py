"""`git blame` of one file, read: which commit and place each line is credited to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from transforms.paths import from_bytes, to_bytes
from transforms.tree.git import Repository

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: (\d+))?")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A line: the commit that it is credited to, and its path and 1-based line there.

    `stopped`: blame went no further, since it was told so or since history ends there; the line may
    be older. `previous` is what git says the file was before: a commit and a path, if any.
    """

    commit: str
    path: str
    line: int
    stopped: bool = False
    previous: tuple[str, ...] = ()


def blame(
    repository: Repository, commit: str, path: str, stops: Iterable[str], *, copies: bool
) -> dict[int, Row]:
    """Blame a file of a commit, and go no further than to `stops`, whose lines end there.

    With `copies` it follows lines to other files as `git blame -C` does, else nowhere. It is the
    whole file, whichever lines are asked for: how far git follows one hangs on those around. Raises
    `GitError` where an object is missing.
    """
    how = ["-C"] if copies else ["--no-follow"]
    printed = repository.run(
        "-c", "core.quotePath=false", "blame", "--porcelain", "--no-progress", "--no-textconv",
        *how, commit, *(f"^{stop}" for stop in stops), "--", os.fsdecode(to_bytes(path)),
    )  # fmt: skip
    return _read(printed.split(b"\n"))


def _read(printed: Sequence[bytes]) -> dict[int, Row]:
    """Read `--porcelain`: a header, then what is told once of a commit or file, then the line."""
    found: dict[int, Row] = {}
    files: dict[str, tuple[str, tuple[str, ...]]] = {}
    stopped: set[str] = set()
    rows = iter(printed)
    for row in rows:
        header = _HEADER.fullmatch(row)
        if header is None:
            continue
        commit = header[1].decode()
        told = list(_until_text(rows))
        if b"boundary" in told:
            stopped.add(commit)
        name = next((line for line in told if line.startswith(b"filename ")), None)
        if name is not None:
            previous = next((line for line in told if line.startswith(b"previous ")), b"")
            files[commit] = _path(name.removeprefix(b"filename ")), _previous(previous)
        path, before = files[commit]
        found[int(header[3])] = Row(commit, path, int(header[2]), commit in stopped, before)
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
