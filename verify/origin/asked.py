"""What a person names: a file, a line or a stretch of lines of it, in a commit."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal, nearest
from transforms.paths import from_bytes, to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK, Blob
from transforms.tree import GitTree
from transforms.tree.base import listed
from transforms.tree.git import GitError

_LINES = re.compile(r"(.+):(\d+)(?:-(\d+))?", re.DOTALL)
_MAILMAP = ".mailmap"
_SHORT = 12


@dataclass(frozen=True, slots=True)
class Asked:
    """Lines `first` to `last` of a file of a commit, 1-based, by its path from the top.

    `rows` are all lines of the file, without their ends; `mailmap` the id of the commit's own.
    """

    head: GitTree
    path: str
    first: int
    last: int
    rows: tuple[bytes, ...]
    mailmap: str = ""


def asked(repo: Path, texts: Sequence[str], rev: str) -> list[Asked]:
    """Read `FILE`, `FILE:LINE` or `FILE:FIRST-LAST` each, FILE as seen from the folder `repo`.

    Raises `Refusal` where there is no such file or line, or where it has no lines.
    """
    head = GitTree(repo, rev)
    named = [_Named.read(head, repo, text) for text in texts]
    there = _look(head, [_MAILMAP, *(path for name in named for path in name.paths)])
    wanted = [name.chosen(there) for name in named]
    for path, _, _ in wanted:
        _require_file(head, path, there.get(path, (0, ""))[0])
    try:
        blobs = dict(head.repository.blobs({there[path][1] for path, _, _ in wanted}))
    except GitError:
        raise head.repository.missing(f"A file of {head.label}") from None
    mode, mailmap = there.get(_MAILMAP, (0, ""))
    names = mailmap if mode in (REGULAR, EXECUTABLE) else ""
    return [
        _opened(head, path, lines, blobs[there[path][1]], names, exact)
        for path, lines, exact in wanted
    ]


@dataclass(frozen=True, slots=True)
class _Named:
    """What was typed, read both ways: a file of just that name, or one with lines behind it."""

    whole: str
    part: str
    lines: tuple[int, int]

    @classmethod
    def read(cls, head: GitTree, repo: Path, text: str) -> _Named:
        whole = _path(head, repo, text)
        found = _LINES.fullmatch(text)
        if found is None:
            return cls(whole, "", (0, 0))
        return cls(whole, _path(head, repo, found[1]), (int(found[2]), int(found[3] or found[2])))

    @property
    def paths(self) -> list[str]:
        return [path for path in (self.whole, self.part) if path]

    def chosen(self, there: Container[str]) -> tuple[str, tuple[int, int], bool]:
        """Give the path, the lines, and whether lines were named: a file goes before its part."""
        if self.part and self.whole not in there:
            return self.part, self.lines, True
        return self.whole, (0, 0), False


def _opened(
    head: GitTree, path: str, lines: tuple[int, int], data: bytes, mailmap: str, exact: bool
) -> Asked:
    if Blob(data).binary:
        raise _refused("The file is binary: it has no lines.", path, head)
    rows = data.split(b"\n")
    rows = rows if rows[-1] else rows[:-1]
    first, last = lines if exact else (1, len(rows))
    if exact:
        _require_lines(path, first, last, len(rows), head)
    return Asked(head, path, first, last, tuple(rows), mailmap)


def _path(head: GitTree, repo: Path, text: str) -> str:
    """Name a file from the top of the tree: as seen from the folder, or by its whole path."""
    given = from_bytes(os.fsencode(text))
    top = head.repository.top
    if top is None:
        return posixpath.normpath(given)
    here = repo.resolve()
    if posixpath.isabs(given):
        whole = Path(given)
        real = (whole.parent.resolve() / whole.name).as_posix()
        return posixpath.relpath(real, top.resolve().as_posix())
    inside = here.relative_to(top.resolve()).as_posix()
    return posixpath.normpath(posixpath.join(inside, given))


def _look(head: GitTree, paths: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Give mode and id of each path that the commit has."""
    inside = [path for path in paths if path not in {"..", "."} and not path.startswith("../")]
    names = [os.fsdecode(to_bytes(path)) for path in inside if "\0" not in path]
    try:
        printed = head.repository.run("ls-tree", "-z", "--full-tree", head.commit, "--", *names)
    except GitError:
        raise head.repository.missing(f"A directory of {head.label}") from None
    return {name: (mode, id_) for name, mode, id_ in listed(printed)}


def _require_file(head: GitTree, path: str, mode: int) -> None:
    if mode in (REGULAR, EXECUTABLE):
        return
    why = {
        SUBMODULE: "It is a submodule: a commit of another repository.",
        SYMLINK: "It is a symbolic link: it has no lines.",
    }
    if mode or path == ".":
        raise _refused(why.get(mode, "It is a directory."), path, head)
    files = head.entries()
    beside = [name for name in files if posixpath.dirname(name) == posixpath.dirname(path)]
    similar = [name for name in files if name.endswith(f"/{path}")][:3] or nearest(path, beside)
    next_step = "Name a file by its path, as `git ls-files` lists it."
    if similar:
        next_step = f"Did you mean {' or '.join(f'`{name}`' for name in similar)}?"
    cause = f"Commit {head.commit[:_SHORT]} has no such file."
    top = head.repository.top
    if top is not None and (top / os.fsdecode(to_bytes(path))).exists():
        cause = f"The file lies in the working tree, and not in commit {head.commit[:_SHORT]}."
        next_step = "Commit it first, or name a commit that has it: `repot origin FILE REV`."
    raise Refusal("no-such-file", cause, next_step=next_step, place=Place(path))


def _require_lines(path: str, first: int, last: int, count: int, head: GitTree) -> None:
    if 1 <= first <= last <= count:
        return
    if first > last:
        cause, next_step = "The range ends before it begins.", f"Type `{path}:{last}-{first}`."
    else:
        lines = "is empty" if not count else f"has {count:,} line{'s' if count > 1 else ''}"
        cause = f"The file {lines} in commit {head.commit[:_SHORT]}."
        next_step = f"Name lines from 1 to {count}." if count else "Name another file."
    raise Refusal("no-such-line", cause, next_step=next_step, place=Place(path, first or None))


def _refused(cause: str, path: str, head: GitTree) -> Refusal:
    return Refusal(
        "not-lines",
        cause,
        next_step=f"Name a text file: `git ls-tree -r --name-only {head.commit[:_SHORT]}` lists "
        "those there are.",
        place=Place(path),
    )
