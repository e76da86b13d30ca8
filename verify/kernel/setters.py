"""Writes to an attribute of an object that nobody knows: it may be a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from verify.kernel.both import Both
from verify.kernel.effects import NAMES_OF_BUILTINS, PATCHING
from verify.kernel.machine.scopes import binds, parameters
from verify.kernel.nodes import children, walk
from verify.kernel.source import DEFINITIONS, IMPORTS, OpaqueError
from verify.kernel.spelled import Spelled, chain
from verify.kernel.verdict import OPEN, Place

_ALL = re.compile(r"\bsys\.modules\s*\.\s*(?:values|items|copy)\b|\blist\(\s*sys\.modules")


class Setters:
    """Looks for such writes of some names, which modules of some names have."""

    def __init__(self, both: Both, apart: Mapping[str, set[str]]) -> None:
        self.both = both
        self.apart = apart
        self._spelled = Spelled(both)
        names = "|".join(sorted(map(re.escape, apart)))
        sets = rf"\.\s*(?:{names})\s*[-+*/|&%@]?=(?!=)|\bsetattr\s*\("
        self._sets = re.compile(sets.encode())
        self._values: set[str] | None = None

    def report(self, near: Iterable[str]) -> None:
        """Report those that may reach a module; `near` are the files that may have it."""
        files = self.both.target.files
        paths = [path for path in sorted(near) if path in files]
        for path in sorted(files):
            if path.endswith(".py") and self._sets.search(files[path]):
                for name, line in self._written(path):
                    every = [one for one in self.apart if one not in NAMES_OF_BUILTINS]
                    names = [name] if name else every
                    reached = sorted(
                        f"{module}.{one}"
                        for one in names
                        for module in self.apart.get(one, ())
                        if module in self._used(paths)
                    )
                    if reached:
                        why = "this may set it on a module that it is given, and its readers moved"
                        self.both.found.say(OPEN, reached[0], why, Place(path, line))

    def _written(self, path: str) -> Iterator[tuple[str, int]]:
        """List the names that functions set on what they are given; an empty one is any name."""
        try:
            tree = self.both.target.source(path).tree
        except OpaqueError:
            return
        for function, own in _functions(tree):
            known = binds(function).locals - own
            for node in walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    if node.attr in self.apart and _root(node.value) in known:
                        yield node.attr, node.lineno
                elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
                    wanted = node.args[1] if len(node.args) > 1 else None
                    name = wanted.value if isinstance(wanted, ast.Constant) else ""
                    if _root(node.args[0]) in known and (not name or name in self.apart):
                        yield str(name), node.lineno

    def _used(self, paths: Iterable[str]) -> set[str]:
        """Name the modules that are used as values: handed on, held or returned."""
        if self._values is None:
            self._values = set()
            wanted = {module for modules in self.apart.values() for module in modules}
            lasts = re.compile("|".join(re.escape(m.rpartition(".")[2]) for m in sorted(wanted)))
            for path in paths:
                text = self.both.target.text(path)
                if _ALL.search(text):
                    self._values |= wanted
                if lasts.search(text) and path.endswith(".py"):
                    self._values |= set(self._held(path)) & wanted
        return self._values

    def _held(self, path: str) -> Iterator[str]:
        try:
            tree = self.both.target.source(path).tree
        except OpaqueError:
            return
        todo: list[ast.AST] = [tree]
        while todo:
            node = todo.pop()
            if isinstance(node, IMPORTS):
                continue
            parts = chain(node)
            if parts:
                found = self._spelled.leads(self.both.target, path, parts)
                if isinstance(found, tuple) and found[0] == "module":
                    yield str(found[1])
                continue
            if isinstance(node, ast.Call) and self._outer(path, node):
                todo += [child for child in node.args if not chain(child)]
                todo += node.keywords
                continue
            todo.extend(children(node))

    def _outer(self, path: str, node: ast.Call) -> bool:
        """Tell whether a call is of the outside, or one that is known to replace a name."""
        parts = chain(node.func)
        if not parts or parts[-1] in PATCHING:
            return bool(parts)
        found = self._spelled.leads(self.both.target, path, parts)
        return isinstance(found, tuple) and found[0] in ("outside", "builtin")


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
