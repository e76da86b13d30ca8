"""Statements are conserved one to one."""

from __future__ import annotations

import ast

from verify.kernel.both import Both
from verify.kernel.pairing import At
from verify.kernel.source import DEFINITIONS, is_docstring
from verify.kernel.tree import Tree
from verify.kernel.verdict import TEXT, Moved


def check(both: Both) -> None:
    """Report statements that are new, gone or edited, and list those that moved."""
    for at in both.pairing.gone:
        if not _header(both, both.base, at):
            _say(both, both.base, at, "is gone")
    for at in both.pairing.new:
        if not _header(both, both.target, at) and not _exports(both, at):
            _say(both, both.target, at, "is new")
    for base, target in both.pairing.moved():
        both.found.moved.append(_moved(both, base, target))
    for target in sorted(both.pairing.copies):
        both.found.copies.append(_moved(both, both.pairing.base_of[target], target))


def _header(both: Both, tree: Tree, at: At) -> bool:
    """Tell whether a statement is the docstring of a module that came or went whole."""
    other = both.base if tree is both.target else both.target
    node = both.statement(tree, at).node
    return at[1] == 0 and is_docstring(node) and at[0] not in other.files


def _exports(both: Both, at: At) -> bool:
    node = both.statement(both.target, at).node
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == "__all__"


def _say(both: Both, tree: Tree, at: At, what: str) -> None:
    title = symbol(both.statement(tree, at).node)
    both.found.say(TEXT, title, f"this statement {what}", both.place(tree, at))


def symbol(node: ast.stmt) -> str:
    """Name a statement by what it defines, or by its first words."""
    if isinstance(node, DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ast.unparse(node).split("\n")[0][:50]


def _moved(both: Both, base: At, target: At) -> Moved:
    one, two = both.statement(both.base, base), both.statement(both.target, target)
    return Moved(symbol(one.node), base[0], one.first, target[0], two.first)
