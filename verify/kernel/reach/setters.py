"""Writes to an attribute of an object that nobody knows: it may be a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property

from verify.kernel.edits.spelled import chain
from verify.kernel.machine.scopes import binds, parameters
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow, Within
from verify.kernel.reach.computed import Pattern
from verify.kernel.reach.held import Held
from verify.kernel.reach.lookups import fits
from verify.kernel.trees.effects import NAMES_OF_BUILTINS
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, IMPORTS, Source, last
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

# A name, a line, and which modules may be meant: a pattern, or those that are used as values.
Set = tuple[str, int, str]
_ANY, _USED = "*", ""
_LOADED = ("sys", "modules")
_READS = words("get pop keys values items copy __contains__ __getitem__")
_RSPLIT, _RPARTITION = "rsplit", "rpartition"
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
        self._aliased: bool | None = None

    def report(self, near: Iterable[str]) -> None:
        """Report those that may reach a module; `near` are the files that may have it."""
        files = self.both.target.files
        paths = [path for path in sorted(near) if path in files]
        used: set[str] | None = None
        for path in sorted(files):
            if path.endswith(".py") and self._sets.search(files[path]):
                for name, line, meant in self._written(path):
                    if used is None:
                        wanted = {one for modules in self.apart.values() for one in modules}
                        used = Held(self.both, self.both.target).modules(wanted, paths)
                    every = [one for one in self.apart if one not in NAMES_OF_BUILTINS]
                    names = [name] if name else every
                    reached = sorted(
                        f"{module}.{one}"
                        for one in names
                        for module in self.apart.get(one, ())
                        if module in used or _may_be(meant, module)
                    )
                    if reached:
                        why = "this may set it on a module that it is given, and its readers moved"
                        self.both.found.say(OPEN, reached[0], why, Place(path, line))

    def _written(self, path: str) -> Iterator[Set]:
        """List the names that functions set on what they are given; an empty one is any name."""
        source = self.both.target.readable(path)
        named = _Named(self.both, source, self._aliases) if source else None
        for function, own in _functions(source.tree) if source else ():
            known = _Known(binds(function).locals, own)
            for node in walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, _STORES):
                    if node.attr in self.apart and known.given(node.value):
                        of_all = _is_module(node.value)
                        yield node.attr, node.lineno, _ANY if of_all else _USED
                elif isinstance(node, ast.Call):
                    for name, line, meant in self._called(node, known):
                        yield from _narrowed(named, function, node, (name, line, meant))
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, _STORES):
                    if isinstance(node.value, ast.Attribute) and node.value.attr == "__globals__":
                        yield from self._named(node.slice, node.lineno, every=True)

    def _aliases(self) -> bool:
        """Tell whether one of the modules may be put into the table of all by another name."""
        if self._aliased is None:
            tree = self.both.target
            names = {module for modules in self.apart.values() for module in modules}
            paths = (p for p in tree.python() if b"modules" in tree.files[p])
            sources = filter(None, map(tree.readable, paths))
            named = (_Named(self.both, source, lambda: True) for source in sources)
            self._aliased = any(one.puts(names) for one in named)
        return self._aliased

    def _called(self, node: ast.Call, known: _Known) -> Iterator[Set]:
        """List the names that a call may set on what a function is given."""
        for value in node.args:  # for somebody who calls it
            if isinstance(value, ast.Name) and value.id in _SETTING:
                yield "", node.lineno, _USED
        if getattr(node.func, "id", "") in _SETTING and len(node.args) > 1:
            if known.given(node.args[0]):
                every = _of_a_table(node.args[0]) or _is_module(node.args[0])
                yield from self._named(node.args[1], node.lineno, every=every)
        elif getattr(node.func, "attr", "") in ("update", "__setitem__", "setdefault"):
            owner = getattr(node.func, "value", node)
            if isinstance(owner, ast.Attribute) and owner.attr == "__globals__":
                yield "", node.lineno, _ANY

    def _named(self, node: ast.AST, line: int, *, every: bool) -> Iterator[Set]:
        """Give the name that a text says, an empty one if that is not known."""
        name = node.value if isinstance(node, ast.Constant) else ""
        if not name or name in self.apart:
            yield str(name), line, _ANY if every else _USED


class _Named:
    """Tells by which names a file takes modules from the table of all that are loaded."""

    def __init__(self, both: Both, source: Source, aliases: Callable[[], bool]) -> None:
        self._both = both
        self._source = source
        self._aliases = aliases

    @cached_property
    def _flow(self) -> Flow:
        return Flow(self._source)

    def meant(self, owner: ast.AST, function: ast.AST) -> str:
        """Give a pattern of the names that a module may have which an expression gives."""
        within = next((w for w in self._flow.scopes if w.of is function), None)
        if within is None or not _of_all(owner) or self._aliases():
            return _ANY
        return self._pattern(owner.slice, within)  # type: ignore[attr-defined]

    def _pattern(self, name: ast.AST, within: Within) -> str:
        pattern = Pattern(self._both.target, self._source.path)
        whole = _parted(name, within.of) if within.of else None
        if whole is None:
            return pattern.text(name, within)
        known = pattern.text(whole, within).partition("*")[0]
        return known.rpartition(".")[0] + "*"  # what stands before the last dot is kept at least

    def puts(self, names: Collection[str]) -> bool:
        """Tell whether it may put one of some modules into that table by another name."""
        nodes = walk(self._source.tree)
        tables = {node.value for node in nodes if isinstance(node, (ast.Subscript, ast.Attribute))}
        for node in nodes:
            if isinstance(node, ast.Attribute) and chain(node) == _LOADED and node not in tables:
                return True  # whoever has the table may fill it
            if isinstance(node, IMPORTS) and any(map(_hides_table, node.names)):
                return True
            if isinstance(node, ast.Attribute) and chain(node.value) == _LOADED:
                if node.attr not in _READS:
                    return True
            if isinstance(node, ast.Assign) and any(map(_of_all, node.targets)):
                found = self._taken(node)
                if found is None or any(_may_be(text, name) for text in found for name in names):
                    return True
        return False

    def _taken(self, node: ast.Assign) -> list[str] | None:
        """Give the names by which a module is taken to be put there, nothing if nobody knows."""
        if isinstance(node.value, ast.Call) and last(node.value.func) == "ModuleType":
            return []
        scopes = (w for w in self._flow.scopes if w.of and node in walk(w.of))
        within = next(scopes, self._flow.top)
        if not _of_all(node.value):
            return None
        name: ast.AST = node.value.slice  # type: ignore[attr-defined]
        if isinstance(name, ast.Name) and name.id in within.takes and within.of:
            return self._texts(name.id, within)
        return [self._pattern(name, within)]

    def _called_alone(self, name: str) -> bool:
        """Tell whether a function is called here alone, and nobody hands it on."""
        said = re.compile(re.escape(raw(name)) + rb"\b")  # also within a name that Python mangles
        tree = self._both.target
        others = (p for p in tree.python() if p != self._source.path and said.search(tree.files[p]))
        if any(_says(source.tree, name) for source in map(tree.readable, others) if source):
            return False
        nodes = walk(self._source.tree)
        called = {node.func for node in nodes if isinstance(node, ast.Call)}
        return all(node in called for node in nodes if last(node) == name) and not any(
            isinstance(node, ast.Constant) and str(node.value).endswith(name) for node in nodes
        )

    def given(self, name: ast.AST, function: ast.AST) -> list[str] | None:
        """Give all the texts that a parameter may be, nothing if nobody knows."""
        within = next((w for w in self._flow.scopes if w.of is function), None)
        if within is None or not isinstance(name, ast.Name):
            return None
        return self._texts(name.id, within)

    def _texts(self, name: str, within: Within) -> list[str] | None:
        """Give what a parameter is handed by every call, if each is a text."""
        if name not in within.takes or within.of is None:
            return None
        function, nodes = within.of, walk(self._source.tree)
        stores = (n for n in walk(function) if isinstance(n, ast.Name) and n.id == name)
        calls = [n for n in nodes if isinstance(n, ast.Call) and last(n.func) == function.name]
        if function.decorator_list or any(isinstance(n.ctx, _STORES) for n in stores):
            return None
        if any(isinstance(arg, ast.Starred) for call in calls for arg in call.args):
            return None
        if any(word.arg is None for call in calls for word in call.keywords):
            return None
        values = [getattr(value, "value", None) for value, _ in within.given[name]]
        called = self._called_alone(within.of.name)
        known = called and values and all(isinstance(value, str) for value in values)
        return [str(value) for value in values] if known else None


def _says(tree: ast.AST, name: str) -> bool:
    """Tell whether a name stands in a file, be it as a text."""
    return any(
        str(getattr(node, word, "")).endswith(name)
        for node in walk(tree)
        for word in ("id", "attr", "name", "value", "arg")
    )


def _hides_table(alias: ast.alias) -> bool:
    """Tell whether an import gives the table of all modules another name."""
    return alias.name == "modules" or (alias.name == "sys" and alias.asname not in (None, "sys"))


def _narrowed(named: _Named | None, function: ast.AST, call: ast.Call, found: Set) -> Iterator[Set]:
    """Give which names a call sets on which modules, as far as its file tells."""
    name, line, meant = found
    if named is None or getattr(call.func, "id", "") not in _SETTING:
        yield found
        return
    meant = named.meant(call.args[0], function) if meant else meant
    texts = None if name else named.given(call.args[1], function)
    yield from ((text, line, meant) for text in texts or [name])


def _of_all(node: ast.AST) -> bool:
    """Tell whether a node is an item of the table of all modules."""
    return isinstance(node, ast.Subscript) and chain(node.value) == _LOADED


def _parted(name: ast.AST, function: ast.AST) -> ast.AST | None:
    """Give the text of which a name is what stands before its last dot, and is nothing else."""
    if not isinstance(name, ast.Name):
        return None
    stored = [n for n in walk(function) if isinstance(n, ast.Name) and n.id == name.id]
    if sum(isinstance(n.ctx, _STORES) for n in stored) != 1:
        return None
    for node in walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and getattr(target.elts[0], "id", "") == name.id:
            call = node.value  # type: ignore[attr-defined]
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                given = [getattr(arg, "value", None) for arg in call.args]
                if (call.func.attr, given) in ((_RSPLIT, [".", 1]), (_RPARTITION, ["."])):
                    return call.func.value
    return None


def _may_be(pattern: str, module: str) -> bool:
    """Tell whether a module may have such a name, from whatever root it is imported."""
    parts = module.split(".")
    if pattern and module == "__main__":
        return True
    return pattern == _ANY or (
        bool(pattern) and any(fits(pattern, ".".join(parts[at:])) for at in range(len(parts)))
    )


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
