"""Writes to a module in files that no run reaches, to names whose readers are others now."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from verify.kernel.edits.spelled import Spelled, chain
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow
from verify.kernel.reach.computed import Pattern
from verify.kernel.reach.lookups import fits
from verify.kernel.trees.effects import PATCHING, targeted
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, last, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw
from verify.kernel.verdict import BREAKS, OPEN, Place

_PATCHES = re.compile(rb"\b(?:patch|setattr|delattr|multiple)\s*\(")
MOST_BY_TEXT = 2  # arguments of a call that replaces what a text names: that, and by what
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


def by_texts(both: Both, apart: Mapping[Name, str], noted: Collection[tuple[Name, str]]) -> None:
    """Report who patches what a text names that is put together, or comes from elsewhere.

    `noted` are the names that somebody was seen to write, each with the file.
    """
    for path in sorted(both.target.files) if apart else ():
        data = both.target.files[path]
        if not path.endswith(".py") or _PATCHES.search(data) is None:
            continue
        source = both.target.readable(path)
        flow = Flow(source) if source else None
        wanted = {*_patterns(both.target, path, flow)} if flow else set()
        said = _said(source.tree) if source and wanted else set()
        for (module, name), why in sorted(apart.items()):
            if ((module, name), path) in noted:
                continue
            for pattern, line in sorted(wanted):
                whole = f"{module}.{name}"
                part = pattern.strip("*.") and fits(pattern, whole) and name in said
                if whole in said or part:
                    both.found.say(OPEN, whole, why, Place(path, line))
                    break


def _said(tree: ast.AST) -> set[str]:
    """Give the texts of a file but for those that a call of a patch says itself."""
    nodes = walk(tree)
    calls = [node for node in nodes if isinstance(node, ast.Call) and last(node.func) in PATCHING]
    plain = {targeted(call) for call in calls}
    said = {node.value for node in nodes if isinstance(node, ast.Constant) and node not in plain}
    return {text for text in said if isinstance(text, str)}


def _patterns(tree: Tree, path: str, flow: Flow) -> Iterator[tuple[str, int]]:
    """List what calls patch, by the parts of it that are texts, where it is no plain text."""
    pattern = Pattern(tree, path)
    for call, within in flow.calls:
        function, first = call.func, targeted(call)
        bare = last(function) == "patch" or last(function) in ("setattr", "delattr", "multiple")
        plain = isinstance(first, ast.Constant) or (first is None and not call.keywords)
        if not bare or plain or (isinstance(function, ast.Name) and function.id != "patch"):
            continue
        if last(function) != "patch" and len(call.args) > MOST_BY_TEXT:
            continue  # of an object, which names it
        text = pattern.text(first, within) if first is not None else "*"
        by_text = last(function) == "setattr" and len(call.args) == MOST_BY_TEXT
        if last(function) == "patch" or by_text or text.strip("*."):
            yield text, call.lineno


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
