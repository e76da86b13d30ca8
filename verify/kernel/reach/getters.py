"""Reads of an attribute of an object that nobody knows: it may be a module that lost the name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from verify.kernel.edits.spelled import Parts, chain
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow, Within
from verify.kernel.reach.held import Held
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import last
from verify.kernel.trees.words import words
from verify.kernel.verdict import OPEN, Place

_BY_TEXT = words("getattr hasattr attrgetter methodcaller __getattribute__")
# What gives the module of an object, or one for its name.
_OF_OTHERS = words("getmodule import_module __import__ importorskip resolve_name locate")
_GETS = re.compile(
    rb"\b(?:getmodule|import_module|__import__|importorskip|resolve_name|locate)\b"
    rb"|\bmodules\s*[.\[]|__globals__|f_globals"
)
_WORDS = re.compile(rb"\w+")
# What Python calls for what a loop or a `with` gives, and what of these gives its own object.
_ENTERED = words("__enter__ __aenter__")
_ENTERS = re.compile(rb"\b__a?enter__\b")
_PLAIN_BASES = words("object Generic Protocol ABC")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where a node stands: the object whose method that is, and what names are given there."""

    own: str = ""
    module: bool = False  # whether that object may be a module
    within: Within | None = None
    body: bool = False  # whether it is the body of a class
    handing: frozenset[ast.AST] = frozenset()  # what hands something else on: to a `for`, a `with`


class Getters:
    """Looks for such reads of the names that modules lost, where such a module is a value."""

    def __init__(self, both: Both, lost: Mapping[str, set[str]], held: Held) -> None:
        self.both = both
        self._tree = both.target
        self._held = held
        self._owners: dict[str, set[str]] = {}
        for module, names in lost.items():
            for name in names:
                self._owners.setdefault(name, set()).add(module)

    def report(self, values: Collection[str]) -> None:
        """Report them in whatever file; `values` are the modules that are values."""
        held = set(values)
        wanted = {name for name, owners in self._owners.items() if owners & held}
        for path, data in sorted(self._tree.files.items()):
            asks = _GETS.search(data) is not None
            if not path.endswith(".py") or not (wanted or asks):
                continue
            if _said(data).isdisjoint(self._owners if asks else wanted):
                continue
            for name, line in self._reads(path, wanted):
                module = min(self._owners[name] & held or self._owners[name])
                why = "this reads it of what may be that module, which has it no longer"
                self.both.found.say(OPEN, f"{module}.{name}", why, Place(path, line))

    def _reads(self, path: str, wanted: set[str]) -> Iterator[tuple[str, int]]:
        source = self._tree.readable(path)
        if source is None:
            return
        scopes: dict[ast.AST | None, Within] = {w.of: w for w in Flow(source).scopes}
        outer = _Inside(handing=frozenset(_handing(source.tree)))
        todo: list[tuple[ast.AST, _Inside]] = [(source.tree, outer)]
        while todo:
            node, inside = todo.pop()
            if isinstance(node, ast.Attribute) and node.attr in self._owners:
                unknown = node.attr in wanted and self._unknown(path, node.value, inside)
                if isinstance(node.ctx, ast.Load) and (unknown or _gets(node.value, inside)):
                    yield node.attr, node.lineno
            elif isinstance(node, ast.MatchClass):
                yield from ((n, node.lineno) for n in node.kwd_attrs if n in wanted)
            elif isinstance(node, ast.Subscript):
                yield from self._item(node.value, [node.slice])
            elif isinstance(node, ast.Call):
                if last(node.func) in _BY_TEXT:
                    yield from self._by_text(path, node, inside, wanted)
                elif last(node.func) == "get" and isinstance(node.func, ast.Attribute):
                    yield from self._item(node.func.value, node.args)
            inner = _within(node, inside, scopes)
            todo.extend((child, inner) for child in children(node))

    def _item(self, owner: ast.AST, keys: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
        """Give the name that is asked of the globals of some function."""
        if isinstance(owner, ast.Attribute) and owner.attr in ("__globals__", "f_globals"):
            for node in keys:
                if isinstance(node, ast.Constant) and node.value in self._owners:
                    yield str(node.value), node.lineno

    def _by_text(
        self, path: str, call: ast.Call, inside: _Inside, wanted: set[str]
    ) -> Iterator[tuple[str, int]]:
        """List the names that a call asks for by a text."""
        names = wanted
        if last(call.func) in ("getattr", "hasattr") and call.args:
            if _gets(call.args[0], inside):
                names = self._owners.keys() | wanted
            elif not self._unknown(path, call.args[0], inside):
                return
        for value in call.args:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield from ((n, call.lineno) for n in value.value.split(".") if n in names)

    def _unknown(self, path: str, node: ast.AST, inside: _Inside) -> bool:
        """Tell whether an object may be a module, for all that is seen."""
        if isinstance(node, ast.Call):
            return not self._makes(path, node)
        parts = chain(node)
        if not parts:
            return not isinstance(node, (ast.Constant, ast.JoinedStr, *_DISPLAYS))
        if parts == (inside.own,):
            return inside.module
        values = _given(parts[0], inside.within)
        if values is None:
            return self._unknown_top(path, parts)
        if len(parts) > 1 or not values:
            return True
        return not all(
            isinstance(v, ast.Call)
            and self._makes(path, v)
            and (v not in inside.handing or self._gives_itself(path, v))
            for v in values
        )

    def _gives_itself(self, path: str, call: ast.Call) -> bool:
        """Tell whether what a call makes gives itself to a `with`, or is of the outside."""
        of = self._class(self._held.leads(path, chain(call.func)))
        if of is None:
            return True
        methods = [m for m in of.body if isinstance(m, _FUNCTIONS) and m.name in _ENTERED]
        inherits = any(last(base) not in _PLAIN_BASES for base in of.bases)
        return all(map(_returns_itself, methods)) if methods else inherits and not self._near(of)

    def _near(self, of: ast.ClassDef) -> bool:
        """Tell whether a class of the tree is among the bases of a class, by its name."""
        return any(last(base) in self._classes for base in of.bases)

    @cached_property
    def _classes(self) -> frozenset[str]:
        """Give the names of all classes of the tree that say what a `with` is given."""
        found: set[str] = set()
        for path in self._tree.python():
            if _ENTERS.search(self._tree.files[path]):
                source = self._tree.readable(path)
                nodes = walk(source.tree) if source else ()
                found.update(node.name for node in nodes if isinstance(node, ast.ClassDef))
        return frozenset(found)

    def _unknown_top(self, path: str, parts: Parts) -> bool:
        """Tell the same of a name of a module, or of one beyond."""
        taken = self._held.taken(path, parts) or [self._held.leads(path, parts)]
        return not all(self._known(found) for found in taken)

    def _known(self, found: object) -> bool:
        """Tell whether where a chain of names leads is compared as such, or is no module."""
        if not isinstance(found, tuple):
            return False
        return found[0] in ("builtin", "outside", "module") or self._plain(found)

    def _makes(self, path: str, call: ast.Call) -> bool:
        """Tell whether a call makes an object of a class, or is of the outside."""
        parts = chain(call.func)
        if not parts:
            return False
        if parts == ("super",):
            return True
        found = self._held.leads(path, parts)
        if not isinstance(found, tuple):
            return False
        if found[0] == "outside":
            return str(found[1]).rpartition(".")[2] not in _GIVES
        return self._plain(found) or (found[0] == "builtin" and parts[-1] not in _GIVES)

    def _plain(self, found: tuple[object, ...]) -> bool:
        """Tell whether a name is that of a class which makes objects of its own."""
        of = self._class(found)
        if of is None or any(last(word.value) != "ABCMeta" for word in of.keywords if word.arg):
            return False
        return not any(isinstance(m, _FUNCTIONS) and m.name == "__new__" for m in of.body)

    def _class(self, found: object) -> ast.ClassDef | None:
        """Give the class that a chain of names leads to, if it is one of the tree."""
        if not isinstance(found, tuple):
            return None
        site = found[0][0] if isinstance(found[0], tuple) and found[0] else None
        if found[1:] != ((),) or not isinstance(site, tuple) or len(site) != 2:
            return None
        path, index = site
        if path not in self.both.base.files or not isinstance(index, int):
            return None
        node = self.both.statement(self.both.base, (path, index)).node
        return node if isinstance(node, ast.ClassDef) else None


_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
# Calls that may give back what they were handed, or a module for its name.
_GIVES = words(
    """import_module __import__ importorskip resolve_name locate reload getattr next iter min max
    get cast copy partial reduce getmodule pop popitem vars choice nth first list tuple set dict
    sorted values items module_from_spec load_module find_module nullcontext closing
    enter_context"""
)


def _handing(tree: ast.AST) -> Iterator[ast.AST]:
    """List the expressions of which a `for` or a `with` takes something else than themselves."""
    for node in walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield node.iter
        elif isinstance(node, ast.withitem):
            yield node.context_expr


def _returns_itself(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a method gives the object back whose method it is, and nothing else."""
    own = [arg.arg for arg in (*method.args.posonlyargs, *method.args.args)][:1]
    given = [node.value for node in walk(method) if isinstance(node, ast.Return)]
    return all(isinstance(value, ast.Name) and [value.id] == own for value in given)


def _said(data: bytes) -> set[str]:
    """Give the words of a file."""
    return {word.decode("utf-8", "replace") for word in _WORDS.findall(data)}


def _gets(node: ast.AST, inside: _Inside) -> bool:
    """Tell whether an object is the module of something else, or one by a name that is made."""
    if isinstance(node, ast.Name):
        given = _given(node.id, inside.within) or ()
        return any(not isinstance(v, ast.Name) and _gets(v, inside) for v in given)
    if isinstance(node, ast.Subscript):
        return chain(node.value)[-1:] == ("modules",) and not isinstance(node.slice, ast.Constant)
    if not (isinstance(node, ast.Call) and node.args):
        return False
    plain = isinstance(node.args[0], ast.Constant)
    if plain and all(word.arg != "level" for word in node.keywords):
        return False
    return last(node.func) in _OF_OTHERS or chain(node.func)[-2:] == ("modules", "get")


def _within(node: ast.AST, inside: _Inside, scopes: Mapping[ast.AST | None, Within]) -> _Inside:
    """Give what is known inside of a node."""
    if isinstance(node, ast.ClassDef):
        module = any(last(base) == "ModuleType" for base in node.bases)
        return replace(inside, own="", module=module, body=True)
    if isinstance(node, _FUNCTIONS):
        args = [*node.args.posonlyargs, *node.args.args][:1]
        own = (args[0].arg if args else "") if inside.body else inside.own
        return replace(inside, own=own, within=scopes.get(node, inside.within), body=False)
    return inside


def _given(name: str, within: Within | None) -> list[ast.AST] | None:
    """Give all that a local name is given, None if it is none, nothing if that is not known."""
    at = within
    while at is not None and at.of is not None:
        if name in at.takes:
            return []
        if name in at.given:
            return [value for value, _ in at.given[name]]
        at = at.above
    return None
