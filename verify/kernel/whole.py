"""Which modules moved whole, and the files that went along with their packages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname

from verify.kernel.both import Both
from verify.kernel.source import is_docstring
from verify.kernel.tree import Tree


def relocated(both: Both) -> dict[str, str]:
    """Give the modules that moved with all that is in them, each with its new path.

    All statements of the old file, imports left out, are in one new file, and nothing else is.
    """
    goals: dict[str, set[str]] = defaultdict(set)
    origins: dict[str, set[str]] = defaultdict(set)
    for target, base in both.pairing.base_of.items():
        goals[base[0]].add(target[0])
        origins[target[0]].add(base[0])
    torn = {at[0] for at in both.pairing.gone if not _is_docstring(both, both.base, at)}
    grown = {at[0] for at in both.pairing.new if not _is_docstring(both, both.target, at)}
    found = {}
    for old, new in ((old, *there) for old, there in goals.items() if len(there) == 1):
        if new not in both.base.files and old not in torn and new not in grown:
            if origins[new] == {old}:
                found[old] = new
    found |= dict(_beside(both, found))
    return found


def along(both: Both, moved: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Give the files, not Python, that went along with a package byte for byte: old, new path."""
    for old, new in _folders(moved):
        for path in both.base.files:
            if dirname(path) == old and not path.endswith(".py") and path not in both.target.files:
                there = f"{new}/{basename(path)}"
                if there not in both.base.files:
                    if both.target.files.get(there) == both.base.files[path]:
                        yield path, there


def _beside(both: Both, moved: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Give each `__init__` of imports alone that went with the modules of its folder."""
    for old, new in _folders(moved):
        path, there = f"{old}/__init__.py", f"{new}/__init__.py"
        if path in both.base.files and path not in both.target.files and path not in moved:
            if there in both.target.files and there not in both.base.files:
                yield path, there


def _folders(moved: dict[str, str]) -> set[tuple[str, str]]:
    """Pair the folders whose modules went from one to the other under their names."""
    pairs = ((dirname(o), dirname(n)) for o, n in moved.items() if basename(o) == basename(n))
    return {(old, new) for old, new in pairs if old and new and old != new}


def _is_docstring(both: Both, tree: Tree, at: tuple[str, int]) -> bool:
    return at[1] == 0 and is_docstring(both.statement(tree, at).node)
