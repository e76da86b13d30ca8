"""Imports inside functions and classes: one that is new must serve a name that is used there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from verify.kernel.edits.needs import Row, package_of, rows_of
from verify.kernel.machine.scopes import parameters
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, IMPORTS
from verify.kernel.trees.tree import Tree
from verify.kernel.verdict import EXPLAINED, TARGET, TEXT, Place


def check(both: Both, unknown: Callable[[Row], str]) -> None:
    """Report new imports in definitions. `unknown` tells what is wrong with where one leads."""
    for target, base in both.pairing.base_of.items():
        node = both.statement(both.target, target).node
        if not isinstance(node, DEFINITIONS):
            continue
        known = Counter(row.plain for row, _ in _within(both, both.base, base))
        found = [*_within(both, both.target, target)]
        used = _used(node) if len(found) > 0 else set()
        used |= {row.name for row, _ in _within(both, both.base, base)}  # it had them before
        for row, line in found:
            known[row.plain] -= 1
            if known[row.plain] >= 0:
                continue
            why = unknown(row) if row.name in used else "is needed by nothing"
            if row.name in _bound(node, line):
                why = "takes the place of what the function has by that name"
            kind = TEXT if why else EXPLAINED
            said = f"this import {why}" if why else "code here needs this import"
            spelled = f"from {row.module} import {row.member}" if row.member else row.module
            subject = spelled if row.member else f"import {spelled}"
            both.found.say(kind, subject, said, Place(target[0], line, TARGET, (line,)))


def _within(both: Both, tree: Tree, at: At) -> Iterator[tuple[Row, int]]:
    package = package_of(tree, at[0])
    for part in walk(both.statement(tree, at).node):
        if isinstance(part, IMPORTS):
            for row in rows_of(part, package, ()):
                yield row, part.lineno


def _bound(node: ast.AST, line: int) -> set[str]:
    """Give the names that the innermost function around a line binds otherwise than by imports."""
    around = [
        part
        for part in walk(node)
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
        and part.lineno <= line <= (part.end_lineno or 0)
    ]
    if not around:
        return set()
    names = {arg.arg for arg in parameters(around[-1])}
    stored = (p for p in walk(around[-1]) if isinstance(p, ast.Name))
    return names | {p.id for p in stored if not isinstance(p.ctx, ast.Load)}


def _used(node: ast.AST) -> set[str]:
    """Give the names that a definition uses, imports left out, those in texts of types too."""
    found: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            found.update(part.names)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.update(part.value.replace(".", " ").replace("[", " ").split()[:20])
    return found
