"""Writes to a module in files that no run reaches, to names whose readers are others now."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from verify.kernel.edits.spelled import Spelled, chain
from verify.kernel.pairs.both import Both
from verify.kernel.trees.effects import PATCHING, targeted
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, last, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw
from verify.kernel.verdict import BREAKS, Place

Name = tuple[str, str]  # a module and a name in it


def report(both: Both, apart: Mapping[Name, str], near: Collection[str]) -> None:
    """Report who writes one of these names; each comes with what is to be said of it."""
    names = {name for _, name in apart}
    if not names:
        return
    written = re.compile(rb"\b(?:" + b"|".join(sorted(raw(re.escape(n)) for n in names)) + rb")\b")
    spelled = Spelled(both)
    for path in sorted(both.base.files.keys() - set(near)):
        if path.endswith(".py") and written.search(both.base.files[path]):
            for module, name, line in _writes(both.base, path, spelled):
                why = apart.get((module, name))
                if why:
                    both.found.say(BREAKS, f"{module}.{name}", why, Place(path, line))


def _writes(tree: Tree, path: str, spelled: Spelled) -> Iterator[tuple[str, str, int]]:
    """List the names of modules that a file writes from elsewhere than their own top level."""
    source = tree.readable(path)
    for node in walk(source.tree) if source else ():
        if isinstance(node, DEFINITIONS) and not isinstance(node, ast.ClassDef):
            yield from _globals(tree, path, node)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            module = _module(tree, path, node.value, spelled)
            if module:
                yield module, node.attr, node.lineno
        elif isinstance(node, ast.Call) and targeted(node) and last(node.func) in PATCHING:
            yield from _replaced(tree, path, node, spelled)


def _globals(tree: Tree, path: str, node: ast.AST) -> Iterator[tuple[str, str, int]]:
    """List the names of its module that a function binds."""
    declared = [inner for inner in walk(node) if isinstance(inner, ast.Global)]
    bound = {name for part in getattr(node, "body", ()) for name in stored(part)}
    for inner in declared:
        for name in bound & {*inner.names}:
            yield from ((module, name, inner.lineno) for module in tree.names(path))


def _replaced(
    tree: Tree, path: str, node: ast.Call, spelled: Spelled
) -> Iterator[tuple[str, str, int]]:
    """List what a patch or `setattr` replaces."""
    first, *more = node.args or [
        word.value for word in node.keywords if word.arg in ("target", "attribute")
    ]
    texts = [a.value for a in (first, *more[:1]) if isinstance(a, ast.Constant)]
    if texts and isinstance(first, ast.Constant):
        module, _, name = str(texts[0]).rpartition(".")
        yield module, name, node.lineno
        yield from ((str(texts[0]), word.arg, node.lineno) for word in node.keywords if word.arg)
        return
    module = _module(tree, path, first, spelled)
    if module:
        words = [word.arg for word in node.keywords if word.arg]
        yield from ((module, str(name), node.lineno) for name in (*texts, *words))


def _module(tree: Tree, path: str, node: ast.AST, spelled: Spelled) -> str:
    parts = chain(node)
    found = spelled.leads(tree, path, parts) if parts else None
    return str(found[1]) if isinstance(found, tuple) and found[0] == "module" else ""
