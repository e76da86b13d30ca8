"""Doctests: examples in docstrings, which run in the names of their module."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache

from verify.kernel.pairs.both import Both
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.settings import collection
from verify.kernel.trees.source import DEFINITIONS, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.verdict import BREAKS, OPEN, Place

_RUN = re.compile(
    rb"doctest[-_](?:modules|glob|files)|testmod|testfile|DocTestSuite|DocFileSuite|-m doctest"
    rb"|DocTestFinder|sphinx\.ext\.doctest|doctest_optionflags"
)
_RUNNERS = re.compile(r"\b(?:testmod|DocTestSuite|DocFileSuite|DocTestFinder)\b")


@lru_cache(maxsize=1 << 12)
def examples(node: ast.AST) -> ast.Module | None:
    """Give the examples in a definition's docstring as one module, or None if there are none."""
    if not isinstance(node, (*DEFINITIONS, ast.Module)):
        return None
    text = ast.get_docstring(node) or ""
    return parsed(text) if ">>>" in text else None


def parsed(text: str) -> ast.Module:
    """Give the examples in a text as one module."""
    body: list[ast.stmt] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        bare = line.strip()
        if lines and bare.startswith("..."):
            lines.append(bare[4:])
            continue
        if lines:
            body += _statements("\n".join(lines))
        lines = [bare[4:]] if bare.startswith(">>>") else []
    return ast.Module(body, [])


def _statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text + "\n").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def named(module: ast.Module, gone: Mapping[str, Container[str]]) -> Iterator[tuple[str, str]]:
    """List the names that examples take from where they no longer are, each with its module."""
    modules: dict[str, str] = {}
    stars = []
    for node in walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                modules[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            stars += [node.module for alias in node.names if alias.name == "*"]
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name in gone.get(node.module, ()):
                    yield node.module, alias.name
    longest = max((name.count(".") + 1 for name in gone), default=0)
    for node in walk(module):
        if isinstance(node, ast.Attribute):
            top, *rest = _chain(node.value, longest) or [""]
            owner = ".".join([modules.get(top, top), *rest])
            if node.attr in gone.get(owner, ()):
                yield owner, node.attr
        elif isinstance(node, ast.Name):
            yield from ((star, node.id) for star in stars if node.id in gone.get(star, ()))


def _chain(node: ast.AST, longest: int) -> list[str]:
    """Give `a.b.c` as its parts; nothing for all else, and for more parts than any module has."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < longest:
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def runs(tree: Tree) -> bool:
    """Tell whether something in a tree says that examples are run."""
    return any(
        path.endswith((".py", ".toml", ".cfg", ".ini", ".sh", ".yml", ".yaml", "Makefile"))
        and b"doctest" in data
        and _RUN.search(data) is not None
        for path, data in tree.files.items()
    )


def bound(module: ast.Module) -> frozenset[str]:
    """Give the names that examples bind themselves."""
    return frozenset(name for node in module.body for name in stored(node))


def check(both: Both) -> None:
    """Report examples that leave a module whose doctests somebody runs by the module."""
    leaving = [
        (base, target)
        for base, target in both.pairing.moved()
        if _tested(both.statement(both.base, base).node)
    ]
    settings = collection(both.base)
    for base, target in leaving if settings.doctests else ():
        if _around(both.base, base[0]) != _around(both.target, target[0]):
            why = "other fixtures are around its doctests"
            both.found.say(OPEN, both.name(target[0]), why, both.place(both.target, target))
        if settings.enters(base[0]) and not settings.enters(target[0]):
            why = "pytest no longer comes to its doctests"
            both.found.say(BREAKS, both.name(target[0]), why, both.place(both.target, target))
    conftests = any(path.endswith("conftest.py") for path in both.changed)
    for path in sorted(both.base.files) if settings.doctests and conftests else ():
        if b">>>" in both.base.files[path] and path in both.target.files:
            if _around(both.base, path) != _around(both.target, path):
                why = "other fixtures are around its doctests"
                both.found.say(OPEN, both.name(path), why, Place(path, 1))
    if not leaving or not any(_RUNNERS.search(both.base.text(p)) for p in both.base.python()):
        return
    for base, target in leaving:
        why = "its doctests are no longer among those of its module, which somebody runs"
        both.found.say(BREAKS, both.name(base[0]), why, both.place(both.target, target))


def _around(tree: Tree, path: str) -> set[str]:
    """List the `conftest.py` above a file that give examples names, or fixtures by themselves."""
    found = set()
    while path:
        path = path.rpartition("/")[0]
        where = f"{path}/conftest.py" if path else "conftest.py"
        data = tree.files.get(where, b"")
        if b"doctest_namespace" in data or b"autouse" in data:
            found.add(where)
    return found


def _tested(node: ast.AST) -> bool:
    return any(examples(inner) is not None for inner in walk(node))
