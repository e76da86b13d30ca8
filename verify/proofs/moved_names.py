"""Which files a change moved code between, told from the two trees alone.

A top-level name that one file stops defining and another starts to define has moved. This only
chooses the files whose ancestry is measured; it proves nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.syntax.parsing import parse
from transforms.tree import GitTree
from verify.ancestry.explain import RELOCATED, explainer
from verify.ancestry.measure import Ancestry, explained, measure
from verify.history.ranges import differing, entries_at
from verify.kernel.verdict import Certificate
from verify.proofs.definitions import defined_names

# What may bind a name: more than enough lines, since a file left out is never measured.
_BINDS = re.compile(rb"=|\b(?:def|class|as|for|type|del)\b")
_IMPORTS = re.compile(rb"\s*(?:from|import)\s")


@dataclass(frozen=True, slots=True)
class MovedFiles:
    """Paths of the base that lost names, and paths of the target that received them."""

    sources: tuple[str, ...]
    destinations: tuple[str, ...]


def measure_move(
    base: GitTree, target: GitTree, certificate: Callable[[], Certificate]
) -> Ancestry:
    """Measure the ancestry of every file that a change moved code to."""
    with measuring(base, target) as measured:
        return measured(certificate)


@contextmanager
def measuring(
    base: GitTree, target: GitTree
) -> Iterator[Callable[[Callable[[], Certificate]], Ancestry]]:
    """Measure beside the block: what it is given is asked for the ancestry, which may refuse.

    Blame is git's work and waits in a thread. Nothing is parsed there: where two threads parse at
    once, CPython loses count of depth (python/cpython#106905).
    """
    moved = find_moved(base, target)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(
            measure, base.again(), target.again(), moved.sources, moved.destinations, _unexplained
        )

        def measured(certificate: Callable[[], Certificate]) -> Ancestry:
            ancestry = coming.result()
            texts = target.read_many(moved.destinations)
            return explained(ancestry, explainer(texts, certificate), RELOCATED)

        yield measured


def _unexplained(_path: str, _line: int) -> str:
    return ""


def find_moved(base: GitTree, target: GitTree) -> MovedFiles:
    """Compare what the changed Python files define at top level."""
    changed = [path for path in differing(base, target) if path.endswith(".py")]
    apart = _binding_otherwise(base, target, changed)
    defined, defines = _defined(base, changed, apart), _defined(target, changed, apart)
    lost = {path: defined[path] - defines[path] for path in changed}
    gained = {path: defines[path] - defined[path] for path in changed}
    sources = [p for p in changed if any(lost[p] & gained[other] for other in changed)]
    destinations = [p for p in changed if any(gained[p] & lost[other] for other in changed)]
    gone = [path for path in changed if path in base.entries() and path not in target.entries()]
    come = [path for path in changed if path in target.entries() and path not in base.entries()]
    bare = [path for path in (*gone, *come) if not defined[path] and not defines[path]]
    for old, new in _renamed(base, target, set(gone) & set(bare), set(come) & set(bare)):
        sources.append(old)
        destinations.append(new)
    return MovedFiles(tuple(sorted(sources)), tuple(sorted(destinations)))


def _renamed(
    base: GitTree, target: GitTree, gone: set[str], come: set[str]
) -> Iterator[tuple[str, str]]:
    """Pair files that define nothing, an `__init__` of imports: most of each is the same."""
    before = {p: _lines(entry.data) for p, entry in entries_at(base, sorted(gone)).items()}
    after = {p: _lines(entry.data) for p, entry in entries_at(target, sorted(come)).items()}
    for new, theirs in sorted(after.items()):
        for old, ours in sorted(before.items()):
            if posixpath.basename(old) == posixpath.basename(new) and ours and theirs:
                if 2 * len(ours & theirs) >= max(len(ours), len(theirs)):
                    yield old, new
                    del before[old]
                    break


def _lines(data: bytes) -> set[bytes]:
    return {line for line in data.split(b"\n") if line.strip()}


def _binding_otherwise(base: GitTree, target: GitTree, paths: list[str]) -> list[str]:
    """Leave out files whose lines that may bind a name are the same in both trees.

    Most callers of what moved change in their imports alone, and need not be parsed.
    """
    before, after = (
        {path: _binding(entry.data) for path, entry in entries_at(tree, paths).items()}
        for tree in (base, target)
    )
    return [path for path in paths if before.get(path) != after.get(path)]


def _binding(data: bytes) -> set[bytes]:
    return {line for line in data.split(b"\n") if _BINDS.search(line) and not _IMPORTS.match(line)}


def _defined(tree: GitTree, paths: list[str], read: list[str]) -> dict[str, set[str]]:
    """What each file defines: nothing where there is none, or it cannot be read, or is not."""
    found: dict[str, set[str]] = {path: set() for path in paths}
    for path, entry in entries_at(tree, read).items():
        with suppress(Refusal):
            found[path] = set(defined_names(*parse(entry.data, path).body))
    return found
