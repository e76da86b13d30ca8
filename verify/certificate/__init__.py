"""The kernel: judges without a plan whether a change is a move and nothing else.

`certify` takes the files that differ, from both trees, and looks into the others as needed. It
stands on the standard library alone and shares no code with the mover: it is a second opinion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from verify.certificate.binding import Judge
from verify.certificate.conserve import Shapes, pair
from verify.certificate.findings import (
    CERTIFIED,
    RESIDUAL,
    UNKNOWN,
    Certificate,
    Findings,
    Moved,
    Observable,
    Residual,
    Unknown,
)
from verify.certificate.reach import Reach
from verify.certificate.resolve import Side
from verify.certificate.source import OpaqueError, Source, is_python, parse

Files = Mapping[str, tuple[bytes, int]]  # path -> bytes and mode, as git has them
_REGULAR = {0o100644, 0o100755}


class Rest(Protocol):
    """The files that both trees share."""

    def paths(self) -> Collection[str]:
        """List all of them."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Read some of them."""

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        """List those whose bytes match."""


class _Held:
    """Shared files that are in memory anyway."""

    def __init__(self, files: Files) -> None:
        self._files = {path: data for path, (data, mode) in files.items() if mode in _REGULAR}

    def paths(self) -> Collection[str]:
        return self._files.keys()

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        return {path: self._files[path] for path in paths}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        return [path for path in paths if needle.search(self._files[path])]


def certify(base: Files, target: Files, rest: Rest | None = None) -> Certificate:
    """Judge a change from the files of two trees.

    `base` and `target` may be whole trees, or just what differs, with `rest` for all else. Never
    runs what it reads, and never raises for what it finds there.
    """
    shared = {p: base[p] for p in base.keys() & target.keys() if base[p] == target[p]}
    rest = rest if rest is not None else _Held(shared)
    found = Findings()
    ours = _sources(base, shared, found, "base")
    theirs = _sources(target, shared, found, "target")
    for path in sorted(base.keys() | target.keys()):
        if path not in shared:
            _other(path, base.get(path), target.get(path), found)
    _judge(ours, theirs, rest, found)
    return found.certificate()


def _sources(files: Files, shared: Files, found: Findings, side: str) -> dict[str, Source]:
    sources = {}
    for path, (data, mode) in sorted(files.items()):
        if path in shared or mode not in _REGULAR or not is_python(path, data):
            continue
        try:
            sources[path] = parse(path, data)
        except OpaqueError as error:
            found.unknown(path, error.line, f"{error.why} ({side})", error.needs)
    return sources


def _other(
    path: str, old: tuple[bytes, int] | None, new: tuple[bytes, int] | None, found: Findings
) -> None:
    """List what differs besides Python code."""
    for side, file in (("base", old), ("target", new)):
        if file is not None and file[1] not in _REGULAR:
            found.residual(side, path, 1, "link", "a link or a submodule changed")
            return
    if old and new and old[1] != new[1]:
        found.observe(path, 1, "mode", f"mode {old[1]:o} became {new[1]:o}")
    if not any(is_python(path, file[0]) for file in (old, new) if file is not None):
        state = "is new" if old is None else "is gone" if new is None else "changed"
        found.observe(path, 1, "file", f"a file that is no Python {state}")


def _judge(
    ours: Mapping[str, Source], theirs: Mapping[str, Source], rest: Rest, found: Findings
) -> None:
    cache: dict[str, bytes] = {}

    def read(path: str) -> bytes | None:
        if path not in cache:
            cache.update(rest.read_many([path]))
        return cache.get(path)

    shapes = Shapes()
    pairing = pair(ours, theirs, shapes)
    unchanged = {path for path in rest.paths() if path not in ours and path not in theirs}
    base = Side([*unchanged, *ours], ours, read, lambda path, index: (path, index))
    target = Side([*unchanged, *theirs], theirs, read, pairing.key)
    judge = Judge(base, target, pairing, shapes, found, ours, theirs)
    judge.run()
    python = sorted(path for path in unchanged if path.endswith(".py"))
    Reach(judge, rest.read_many, lambda needle: rest.search(needle, python)).run()


__all__ = [
    "CERTIFIED",
    "RESIDUAL",
    "UNKNOWN",
    "Certificate",
    "Files",
    "Moved",
    "Observable",
    "Residual",
    "Rest",
    "Unknown",
    "certify",
]
