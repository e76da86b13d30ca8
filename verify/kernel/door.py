"""The door: from the files of two trees to a certificate."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Protocol

from verify.kernel import judging
from verify.kernel.disk import files, symlinks
from verify.kernel.edits import conserve, lazily
from verify.kernel.edits.comments import Comments
from verify.kernel.edits.needs import Imports
from verify.kernel.edits.spelled import Spelled
from verify.kernel.pairs.both import Both
from verify.kernel.trees import versions
from verify.kernel.trees.source import OpaqueError, decode, is_python
from verify.kernel.trees.tree import Parsed
from verify.kernel.verdict import BASE, NOT_READ, OPEN, TARGET, Certificate, Findings, Place

Files = Mapping[str, tuple[bytes, int]]  # path -> bytes and mode, as git has them
# Calls of the machine within each other: a chain of a thousand imports. Before 3.11 each one takes
# its part of the thread's stack.
DEEPEST = 30_000 if sys.version_info >= (3, 11) else 9_000
HEAD, AT_ONCE = 1000, 256  # bytes that tell text from data; files that are read at once
REGULAR, LINK = (0o100644, 0o100755), 0o120000


class Rest(Protocol):
    """The files that both trees share."""

    def paths(self) -> Collection[str]:
        """List all of them."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Read some of them."""

    def links(self) -> Mapping[str, bytes]:
        """Give the symbolic links, and where each leads."""


def certify(
    base: Files,
    target: Files,
    rest: Rest | None = None,
    *,
    blank: Collection[str] = frozenset(),
    parsed: Parsed | None = None,
) -> Certificate:
    """Judge a change from the files of two trees.

    `base` and `target` may be whole trees, or just what differs, with `rest` for all else. Never
    runs what it reads, and never raises for what it finds there. Of the files of `rest` that are
    `blank` nothing is known: then this is no judgement of the whole, only what breaks or is open
    counts, and what is text, or follows from the move, is not looked for. What is in `parsed` is
    not parsed again.
    """
    with reading():
        return _certify(base, target, rest, blank, parsed or Parsed())


@contextmanager
def reading() -> Iterator[None]:
    """Let what is read nest as deeply as the machine may go, and warn nobody."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is parsed may warn, but not us
            yield
    finally:
        sys.setrecursionlimit(limit)


def _certify(
    base: Files, target: Files, rest: Rest | None, blank: Collection[str], parsed: Parsed
) -> Certificate:
    shared = _shared(rest) if rest is not None else {}
    pythons = versions.told(versions.required({**shared, **_regular(base)}))
    return replace(_judged(base, target, rest, shared, blank, parsed), pythons=pythons)


def _judged(
    base: Files,
    target: Files,
    rest: Rest | None,
    shared: Mapping[str, bytes],
    blank: Collection[str],
    parsed: Parsed,
) -> Certificate:
    ours = {**shared, **_regular(base)}
    theirs = {**shared, **_regular(target)}
    apart = {path for path in base.keys() | target.keys() if base.get(path) != target.get(path)}
    changed = {
        path
        for path in apart
        if any(path in side and is_python(path, side[path]) for side in (ours, theirs))
        and ours.get(path) != theirs.get(path)
    }
    unread = _unread(ours, theirs, changed, parsed)
    if unread is not None:
        return unread
    both: Both | None = None
    try:
        both = Both.of(ours, theirs, changed, blank, parsed)
        conserve.check(both)
        if not blank:  # what is found there never breaks and is never open
            Comments(both).check()
            imports = Imports(both, Spelled(both).same)
            imports.check()
            lazily.check(both, imports.unknown)
        judging.judge(both)
        symlinks.check(both, _links(base, target, rest))
        files.check(both, {p: (_mode(base, p), _mode(target, p)) for p in apart})
    except RecursionError:
        found = both.found if both is not None else Findings()
        found.say(OPEN, min(changed, default=""), "a statement nests too deeply")
        return found.certificate()
    return both.found.certificate()


def _shared(rest: Rest) -> dict[str, bytes]:
    """Read the shared files, and keep of those that are no text their beginning alone.

    Nobody asks for more of them than that they are there, and a tree may hold much of such data.
    """
    found: dict[str, bytes] = {}
    waiting = iter(sorted(rest.paths()))
    while batch := list(islice(waiting, AT_ONCE)):
        for path, data in rest.read_many(batch).items():
            text = path.endswith(".py") or b"\0" not in data[:HEAD]
            found[path] = data if text else data[:HEAD]
    return found


def _regular(files: Files) -> dict[str, bytes]:
    return {path: data for path, (data, mode) in files.items() if mode in REGULAR}


def _links(base: Files, target: Files, rest: Rest | None) -> dict[str, bytes]:
    found = dict(rest.links()) if rest is not None else {}
    for side in (base, target):
        found.update((path, data) for path, (data, mode) in side.items() if mode == LINK)
    return found


def _mode(files: Files, path: str) -> int | None:
    return files[path][1] if path in files else None


def _unread(
    ours: Mapping[str, bytes], theirs: Mapping[str, bytes], python: Iterable[str], parsed: Parsed
) -> Certificate | None:
    """Give a certificate that says which changed files cannot be read, if any cannot."""
    found = Findings()
    for name, side in ((BASE, ours), (TARGET, theirs)):
        for path in sorted(python):
            if path in side:
                try:
                    decode(side[path])
                    parsed.read(path, side[path])
                except OpaqueError as error:
                    asked = versions.required(ours)
                    why = error.why
                    if versions.oldest(asked)[:2] > sys.version_info[:2]:
                        why = f"Python {versions.here()} reads it, the tree wants {asked}: {why}"
                    place = Place(path, error.line, name)
                    found.say(NOT_READ, path, why, place, needs=error.needs)
    certificate = found.certificate()
    return certificate if certificate.findings else None
