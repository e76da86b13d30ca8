"""Writes to an attribute of an object that nobody knows: it may be a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from verify.kernel.machine.scopes import binds, parameters
from verify.kernel.pairs.both import Both
from verify.kernel.reach.held import Held
from verify.kernel.trees.effects import NAMES_OF_BUILTINS
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, last
from verify.kernel.verdict import OPEN, Place

Set = tuple[str, int, bool]  # a name, a line, and whether any module may be meant
_SETTING = ("setattr", "delattr")
_STORES = (ast.Store, ast.Del)


class Setters:
    """Looks for such writes of some names, which modules of some names have."""

    def __init__(self, both: Both, apart: Mapping[str, set[str]]) -> None:
        self.both = both
        self.apart = apart
        names = "|".join(sorted(map(re.escape, apart)))
        sets = (
            rf"\.\s*(?:{names})\s*[-+*/|&%@]?=(?!=)|\b(?:setattr|delattr|__globals__|getmodule)\b"
        )
        self._sets = re.compile(sets.encode())

    def report(self, near: Iterable[str]) -> None:
        """Report those that may reach a module; `near` are the files that may have it."""
        files = self.both.target.files
        paths = [path for path in sorted(near) if path in files]
        used: set[str] | None = None
        for path in sorted(files):
            if path.endswith(".py") and self._sets.search(files[path]):
                for name, line, anywhere in self._written(path):
                    if used is None:
                        wanted = {one for modules in self.apart.values() for one in modules}
                        used = Held(self.both, self.both.target).modules(wanted, paths)
                    every = [one for one in self.apart if one not in NAMES_OF_BUILTINS]
                    names = [name] if name else every
                    reached = sorted(
                        f"{module}.{one}"
                        for one in names
                        for module in self.apart.get(one, ())
                        if anywhere or module in used
                    )
                    if reached:
                        why = "this may set it on a module that it is given, and its readers moved"
                        self.both.found.say(OPEN, reached[0], why, Place(path, line))

    def _written(self, path: str) -> Iterator[Set]:
        """List the names that functions set on what they are given; an empty one is any name."""
        source = self.both.target.readable(path)
        for function, own in _functions(source.tree) if source else ():
            known = _Known(binds(function).locals, own)
            for node in walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, _STORES):
                    if node.attr in self.apart and known.given(node.value):
                        yield node.attr, node.lineno, _is_module(node.value)
                elif isinstance(node, ast.Call):
                    yield from self._called(node, known)
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, _STORES):
                    if isinstance(node.value, ast.Attribute) and node.value.attr == "__globals__":
                        yield from self._named(node.slice, node.lineno, every=True)

    def _called(self, node: ast.Call, known: _Known) -> Iterator[Set]:
        """List the names that a call may set on what a function is given."""
        for value in node.args:  # for somebody who calls it
            if isinstance(value, ast.Name) and value.id in _SETTING:
                yield "", node.lineno, False
        if getattr(node.func, "id", "") in _SETTING and len(node.args) > 1:
            if known.given(node.args[0]):
                every = _of_a_table(node.args[0]) or _is_module(node.args[0])
                yield from self._named(node.args[1], node.lineno, every=every)
        elif getattr(node.func, "attr", "") in ("update", "__setitem__", "setdefault"):
            owner = getattr(node.func, "value", node)
            if isinstance(owner, ast.Attribute) and owner.attr == "__globals__":
                yield "", node.lineno, True

    def _named(self, node: ast.AST, line: int, *, every: bool) -> Iterator[Set]:
        """Give the name that a text says, an empty one if that is not known."""
        name = node.value if isinstance(node, ast.Constant) else ""
        if not name or name in self.apart:
            yield str(name), line, every


class _Known:
    """Tells of an object whether a function got it from elsewhere."""

    def __init__(self, names: frozenset[str], own: frozenset[str]) -> None:
        self._names = names
        self._own = own

    def given(self, node: ast.AST) -> bool:
        """Tell whether it may be a module: not the object whose method this is."""
        root = _root(node)
        if root in self._own:
            return not isinstance(node, ast.Name)
        return _is_module(node) or root in self._names


def _of_a_table(node: ast.AST) -> bool:
    """Tell whether an expression takes something from a table that may be that of all modules.

    What an object holds by another name (`cache.parts[kind]`) is a module only if somebody put it
    there, so it was used as a value.
    """
    return isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Call))


def _is_module(node: ast.AST) -> bool:
    """Tell whether an expression gives a module that its text does not name."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return last(node.value) == "modules"
    return isinstance(node, ast.Call) and last(node.func) == "getmodule"


def _functions(tree: ast.AST) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """List functions, each with the name of the object whose method it is."""
    for node in walk(tree):
        inner = getattr(node, "body", ()) if isinstance(node, ast.ClassDef) else ()
        for method in inner:
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield method, frozenset(arg.arg for arg in parameters(method)[:1])
        if isinstance(node, (ast.Module, *DEFINITIONS)) and not isinstance(node, ast.ClassDef):
            for function in node.body:
                if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield function, frozenset()


def _root(node: ast.AST) -> str:
    """Give the name that an object is reached by."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
