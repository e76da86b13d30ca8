"""Which modules moved whole, and the files that went along with their packages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname

from verify.kernel.both import Both
from verify.kernel.source import is_docstring


def relocated(both: Both) -> dict[str, str]:
    """Give the modules that moved with what is in them, each with its new path.

    What is left of an old file's statements, imports and docstrings aside, is in one new file, and
    nothing of another file is there. What came or went on the way is less than that.
    """
    goals: dict[str, Counter[str]] = defaultdict(Counter)
    origins: dict[str, set[str]] = defaultdict(set)
    for target, base in both.pairing.base_of.items():
        text = is_docstring(both.statement(both.base, base).node)
        if target not in both.pairing.copies and not text:
            goals[base[0]][target[0]] += 1
            origins[target[0]].add(base[0])
    gone = Counter(at[0] for at in both.pairing.gone)
    come = Counter(at[0] for at in both.pairing.new)
    found = {}
    for old, there in goals.items():
        (new, number), *others = there.items()
        if not others and new not in both.base.files and origins[new] == {old}:
            if gone[old] < number > come[new]:
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
