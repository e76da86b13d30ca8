"""Which modules moved whole, and the files that went along with their packages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname

from verify.kernel.pairs.pairing import Pairing
from verify.kernel.trees.source import is_docstring
from verify.kernel.trees.tree import Tree


def relocated(base: Tree, target: Tree, pairing: Pairing) -> dict[str, str]:
    """Give the modules that moved with what is in them, each with its new path.

    What is left of an old file's statements, imports and docstrings aside, is in one new file, and
    nothing of another file is there. What came or went on the way is less than that.
    """
    goals: dict[str, Counter[str]] = defaultdict(Counter)
    origins: dict[str, set[str]] = defaultdict(set)
    for to, at in pairing.base_of.items():
        text = is_docstring(base.source(at[0]).statements[at[1]].node)
        if to not in pairing.copies and not text:
            goals[at[0]][to[0]] += 1
            origins[to[0]].add(at[0])
    gone = Counter(at[0] for at in pairing.gone)
    come = Counter(at[0] for at in pairing.new)
    found = {}
    for old, there in goals.items():
        (new, number), *others = there.items()
        if not others and new not in base.files and origins[new] == {old}:
            if gone[old] < number > come[new]:
                found[old] = new
    found |= dict(_beside(base, target, found))
    return found


def along(base: Tree, target: Tree, moved: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give the files, not Python, that went along with a package byte for byte: old, new path."""
    for old, new in _folders(moved):
        for path in base.files:
            if dirname(path) == old and not path.endswith(".py") and path not in target.files:
                there = f"{new}/{basename(path)}"
                if there not in base.files:
                    if target.files.get(there) == base.files[path]:
                        yield path, there


def _beside(base: Tree, target: Tree, moved: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Give each `__init__` of imports alone that went with the modules of its folder."""
    for old, new in _folders(moved):
        path, there = f"{old}/__init__.py", f"{new}/__init__.py"
        if path in base.files and path not in target.files and path not in moved:
            if there in target.files and there not in base.files:
                yield path, there


def _folders(moved: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pair the folders whose modules went from one to the other under their names."""
    pairs = ((dirname(o), dirname(n)) for o, n in moved.items() if basename(o) == basename(n))
    return {(old, new) for old, new in pairs if old and new and old != new}
