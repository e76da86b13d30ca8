"""Doctests: examples in docstrings, which run in the names of their module."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from verify.kernel.both import Both
from verify.kernel.source import DEFINITIONS, stored
from verify.kernel.verdict import BREAKS

_RUNNERS = re.compile(r"\b(?:testmod|DocTestSuite|DocFileSuite|DocTestFinder)\b")


@lru_cache(maxsize=1 << 12)
def examples(node: ast.AST) -> ast.Module | None:
    """Give the examples in a definition's docstring as one module, or None if there are none."""
    if not isinstance(node, (*DEFINITIONS, ast.Module)):
        return None
    text = ast.get_docstring(node) or ""
    if ">>>" not in text:
        return None
    body: list[ast.stmt] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        bare = line.strip()
        if lines and bare.startswith("..."):
            lines.append(bare[4:])
            continue
        if lines:
            body += _parsed("\n".join(lines))
        lines = [bare[4:]] if bare.startswith(">>>") else []
    return ast.Module(body, [])


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text + "\n").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


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
    if not leaving or not any(_RUNNERS.search(both.base.text(p)) for p in both.base.python()):
        return
    for base, target in leaving:
        why = "its doctests are no longer among those of its module, which somebody runs"
        both.found.say(BREAKS, both.name(base[0]), why, both.place(both.target, target))


def _tested(node: ast.AST) -> bool:
    return any(examples(inner) is not None for inner in ast.walk(node))
