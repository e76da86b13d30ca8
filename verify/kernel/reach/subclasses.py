"""Whose subclasses somebody lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verify.kernel.edits.needs import every
from verify.kernel.pairs.flow import Flow, Part, Within
from verify.kernel.trees.source import last
from verify.kernel.trees.tree import Tree

ANY = "*"  # nobody can tell whose
# Who has all objects may look for classes among them; so may who asks for them by a text.
_ANY = re.compile(rb"\bget_(?:objects|referrers)\s*\(|[\"']__subclasses__[\"']")
_OF_CLASSES = re.compile(rb"\bissubclass\b|\bisclass\b|,\s*type\b|__mro__|__bases__|__subclasses__")
MOST_FILES = 100  # that may call a function which lists the subclasses of what it is given
_OWN = ("self", "cls", "mcs", "klass")
_ASKING = ("type", "super", "set", "list", "sorted", "frozenset", "iter", "reversed")


def listed(tree: Tree) -> frozenset[str]:
    """Give the names of the classes whose subclasses somebody lists, or `ANY` among them."""
    found: set[str] = set()
    for path in tree.files:
        if not path.endswith(".py"):
            continue
        if b"__subclasses__" in tree.files[path]:
            found.update(_in_file(tree, path))
        if _ANY.search(tree.files[path]) and _OF_CLASSES.search(tree.files[path]):
            found.add(ANY)
    return frozenset(found)


def _in_file(tree: Tree, path: str) -> Iterator[str]:
    flow = _flow(tree, path)
    if flow is None:
        yield ANY
        return
    known = {row.name: row.member for row in every(tree, tree.source(path)) if row.member}
    for call, within in flow.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__subclasses__":
            for title, taker in _whose(flow, (call.func.value, within)):
                if taker is None:
                    yield known.get(title, title)
                else:
                    yield from _handed(tree, taker)


def _flow(tree: Tree, path: str) -> Flow | None:
    source = tree.readable(path)
    return Flow(source) if source else None


def _whose(flow: Flow, part: Part) -> Iterator[tuple[str, str | None]]:
    """Give the classes that an expression may be, and the functions whose parameter it may be."""
    for node, within in flow.parts(part):
        if isinstance(node, ast.Attribute) and node.attr[:1].isupper():
            yield node.attr, None
        elif isinstance(node, ast.Name) and node.id not in _ASKING:
            owner = _taker(node.id, within)
            if owner is None:
                if not _given(node.id, within):
                    yield node.id if node.id != "object" else ANY, None
            elif node.id in _OWN and owner.above is not None and owner.above.title:
                yield owner.above.title, None
            elif owner.of is not None:
                yield node.id, owner.of.name
        elif isinstance(node, (ast.Subscript, ast.Lambda, ast.IfExp, ast.Await)):
            yield ANY, None


def _taker(name: str, within: Within) -> Within | None:
    """Give the function that has a name as its parameter."""
    at: Within | None = within
    while at is not None:
        if name in at.takes:
            return at
        at = at.above
    return None


def _given(name: str, within: Within) -> bool:
    at: Within | None = within
    while at is not None:
        if name in at.given:
            return True
        at = at.above
    return False


def _handed(tree: Tree, function: str) -> Iterator[str]:
    """Give the classes that somebody hands to a function."""
    needle = function.encode()
    files = [p for p in tree.files if p.endswith(".py") and needle in tree.files[p]]
    if len(files) > MOST_FILES:
        yield ANY
        return
    for path in files:
        flow = _flow(tree, path)
        for call, within in flow.calls if flow is not None else ():
            if last(call.func) == function and flow is not None:
                for value in (*call.args, *(word.value for word in call.keywords)):
                    for title, taker in _whose(flow, (value, within)):
                        if taker != function:
                            yield title if taker is None else ANY
