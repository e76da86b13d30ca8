"""What stands twice: only what makes an immutable value and does nothing may be copied."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from verify.kernel.edits.conserve import sets_up, symbol
from verify.kernel.machine import Machine
from verify.kernel.machine.objects import is_plain
from verify.kernel.machine.values import (
    NONE,
    UNBOUND,
    Class,
    Collection,
    Constant,
    Instance,
    Key,
    Module,
    ModuleValue,
    Outside,
    Product,
    Unknown,
    Value,
    key,
    leaves,
)
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.running.runs import Run
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, last, stored
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import BREAKS, TEXT


class Copies:
    """Checks the statements of the target that stand a second time."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self._by_path: dict[str, list[At]] = {}
        self._seen: set[int] = set()
        for at in sorted(both.pairing.copies):
            self._by_path.setdefault(at[0], []).append(at)
            node = both.statement(both.target, at).node
            if (isinstance(node, DEFINITIONS) or not set(stored(node))) and not sets_up(both, at):
                place = both.place(both.target, at)
                both.found.say(TEXT, symbol(node), "this statement stands twice", place)

    def check(self, run: Run) -> None:
        """Check the copies that a run of the target has met."""
        if not self._by_path:
            return
        for unit in run.units:
            if unit.number in self._seen:
                continue
            self._seen.add(unit.number)
            for module in unit.modules.values():
                if isinstance(module, Module):
                    for at in self._by_path.get(module.path, ()):
                        self._copy(run.machine, module, at)

    def _nodes(self) -> Iterator[ast.AST]:
        """List what stands in the changed files of both sides, and in those that say a copy."""
        names = {
            raw(name)
            for at in self.both.pairing.copies
            for name in stored(self.both.statement(self.both.target, at).node)
        }
        names |= {raw(name) for name in self._returning}
        said = re.compile(rb"\b(?:" + b"|".join(sorted(map(re.escape, names))) + rb")\b")
        for tree in (self.both.base, self.both.target):
            for source in self.both.sources(tree):
                yield from walk(source.tree)
        for path in self.both.target.python() if names else ():
            if path not in self.both.changed and said.search(self.both.target.files[path]):
                other = self.both.target.readable(path)
                yield from walk(other.tree) if other is not None else ()

    @cached_property
    def _returning(self) -> dict[str, set[str]]:
        """Give the functions of the changed files that give a copy back, each with what it gives.

        Of a value that Python has but once, nobody can tell one copy from the other.
        """
        copied: set[str] = set()
        for at in self.both.pairing.copies:
            copy = self.both.statement(self.both.target, at).node
            if not _is_one(getattr(copy, "value", None)):
                copied.update(stored(copy))
        found: dict[str, set[str]] = {}
        for source in self.both.sources(self.both.target) if copied else ():
            for node in walk(source.tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    given = (n.value for n in walk(node) if isinstance(n, ast.Return))
                    names = copied.intersection(map(last, filter(None, given)))
                    if names:
                        found.setdefault(node.name, set()).update(names)
        return found

    @cached_property
    def _identities(self) -> set[str]:
        """Give the names that the changed files compare by `is`, or ask for the `id` of."""
        found: set[str] = set()
        called: set[ast.AST] = set()
        for node in self._nodes():
            if isinstance(node, ast.Call):
                called.add(node.func)
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
                same = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
                if same and not any(isinstance(part, ast.Constant) for part in parts):
                    found |= self._meant(parts)
            elif isinstance(node, ast.Call) and last(node.func) in ("id", "is_", "is_not"):
                found |= self._meant(node.args)
            elif isinstance(node, ast.Name) and node.id == "id" and node not in called:
                found = found.union(*self._returning.values())  # for somebody who calls it
        return found

    def _meant(self, parts: Iterable[ast.AST]) -> set[str]:
        """Give the names that expressions are, or that the functions which they call give back."""
        named = {last(part) for part in parts if not isinstance(part, ast.Call)} - {""}
        calls = [last(part.func) for part in parts if isinstance(part, ast.Call)]
        return named.union(*(self._returning.get(name, ()) for name in calls))

    @cached_property
    def _values(self) -> set[str]:
        """Give the names that the changed files compare, or have as keys."""
        return {
            last(part)
            for node in self._nodes()
            for value in _looked_up(node)
            for part in walk(value)
            if isinstance(part, (ast.Name, ast.Attribute))
        }

    @cached_property
    def _variables(self) -> bool:
        """Tell whether somebody asks which type variables something has."""
        tree = self.both.target
        return any(_OF_TYPES.search(tree.files[path]) for path in tree.python())

    def _named(self, at: At, name: str) -> str:
        """Spell a copy as somebody imports it."""
        return f"{self.both.name(at[0])}.{name}"

    def _copy(self, machine: Machine, module: Module, at: At) -> None:
        node = self.both.statement(self.both.target, at).node
        place = self.both.place(self.both.target, at)
        if isinstance(node, ast.ImportFrom):
            return
        if machine.acted.get(repr(at)):
            self.both.found.say(
                BREAKS, self._named(at, symbol(node)), "importing both copies acts twice", place
            )
        for name in stored(node):
            value = module.names.get(name)
            if name in self._identities:
                why = "code asks by `is` whether a value is this one, and now there are two"
                self.both.found.say(BREAKS, self._named(at, name), why, place)
            parts = [part for part in leaves(value) if part is not UNBOUND] if value else []
            if any(isinstance(part, Product) and part.maker in _ALONE for part in parts):
                if name in self._values or self._variables:
                    why = "code compares it, or looks it up, and now there are two"
                    self.both.found.say(BREAKS, self._named(at, name), why, place)
            if not all(map(constant, parts)):
                why = (
                    "there are two such objects now, and what changes one is not seen in the other"
                )
                self.both.found.say(BREAKS, self._named(at, name), why, place)


def _is_one(value: ast.AST | None) -> bool:
    """Tell whether Python keeps one object of a value: small numbers, and texts that are names."""
    held = value.value if isinstance(value, ast.Constant) else value
    if isinstance(held, str):
        return held.isascii() and all(c.isalnum() or c == "_" for c in held)
    if isinstance(held, int):
        return _SMALLEST <= held <= _LARGEST
    return held is None or held is Ellipsis


def _looked_up(node: ast.AST) -> list[ast.AST]:
    """List what a node compares, or has as keys."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Dict):
        return [name for name in node.keys if name is not None]
    if isinstance(node, ast.Set):
        return [*node.elts]
    if isinstance(node, ast.Call) and last(node.func) in ("id", "isinstance", "get", "hash"):
        return [*node.args]
    return []


def constant(value: Value) -> bool:
    """Tell whether a value made twice is the same value."""
    if isinstance(value, (Constant, Outside, ModuleValue)):
        return True
    if isinstance(value, Collection):
        return value.kind == "tuple" and all(map(constant, value.items))
    if isinstance(value, Product):
        set_up = value.maker in effects.LOGGERS and value.attributes.keys() <= {"(set up)"}
        plain = not value.attributes or set_up
        return value.immutable and plain and value.maker not in _CLASSES
    if isinstance(value, Instance):
        return _is_logger(value.of)
    if isinstance(value, Unknown):
        how = value.how
        name = how[0] if isinstance(how, tuple) and how else ""
        return (
            isinstance(name, str)
            and not _differs(name, how)
            and (
                name in effects.QUESTIONS
                or name in effects.PURE
                or effects.asks_text(name)
                or name in _OPERATIONS
                or (name in _FIXED and is_plain(how))
                or (name in effects.READINGS and isinstance(how, tuple) and how[-1] == key(NONE))
            )
        )
    return False


def _differs(name: str, how: Key) -> bool:
    """Tell whether a value made twice is another one: a time, or a number that is none."""
    moment = name in effects.QUESTIONS and name.startswith(("time.", "datetime."))
    return moment or (name == "builtins.float" and "nan" in repr(how).lower())


def _is_logger(of: Class) -> bool:
    """Tell whether a class is one of loggers, which are looked up by their name."""
    outer = [base.name for base in of.bases if isinstance(base, Outside)]
    inner = [base for base in of.bases if isinstance(base, Class)]
    return any(name in _LOGGERS for name in outer) or any(map(_is_logger, inner))


_SMALLEST, _LARGEST = -5, 256
# What makes a class: whoever asks for its instances knows one of two.
_CLASSES = words("collections.namedtuple typing.NamedTuple typing.TypedDict")
# What makes something that is equal to nothing but itself.
_ALONE = words(
    """typing.TypeVar typing.ParamSpec typing.TypeVarTuple typing.NewType typing_extensions.TypeVar
    typing_extensions.ParamSpec typing_extensions.TypeVarTuple typing_extensions.NewType"""
)
_OF_TYPES = re.compile(rb"\b(?:__parameters__|__type_params__|__args__|get_args)\b")
_LOGGERS = ("logging.Logger", "logging.LoggerAdapter")

# Built-in functions that give a value which nobody can change, if they are given none.
_FIXED = words(
    """builtins.bool builtins.int builtins.float builtins.str builtins.len builtins.abs
    builtins.round builtins.ord builtins.chr builtins.hex builtins.oct builtins.bin
    builtins.frozenset builtins.tuple builtins.range builtins.bytes builtins.complex"""
)
# Operations on values that nobody can change: what they give can be given again.
_OPERATIONS = words(
    """item Add Sub Mult Div FloorDiv Mod Pow LShift RShift BitOr BitXor BitAnd Not Invert USub
    Eq NotEq Lt LtE Gt GtE In NotIn Is IsNot either text format method __file__ isinstance
    attribute alias"""
)
