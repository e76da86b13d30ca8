"""What stands twice: only what makes an immutable value and does nothing may be copied."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from verify.kernel import effects
from verify.kernel.both import Both
from verify.kernel.conserve import sets_up, symbol
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
from verify.kernel.nodes import walk
from verify.kernel.pairing import At
from verify.kernel.runs import Run
from verify.kernel.source import DEFINITIONS, last, stored
from verify.kernel.verdict import BREAKS, TEXT
from verify.kernel.words import raw, words


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
        said = re.compile(rb"\b(?:" + b"|".join(sorted(map(re.escape, names))) + rb")\b")
        for tree in (self.both.base, self.both.target):
            for source in self.both.sources(tree):
                yield from walk(source.tree)
        for path in self.both.target.python() if names else ():
            if path not in self.both.changed and said.search(self.both.target.files[path]):
                other = self.both.target.readable(path)
                yield from walk(other.tree) if other is not None else ()

    @cached_property
    def _identities(self) -> set[str]:
        """Give the names that the changed files compare by `is`, or ask for the `id` of."""
        found: set[str] = set()
        for node in self._nodes():
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
                same = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
                if same and not any(isinstance(part, ast.Constant) for part in parts):
                    found |= {last(part) for part in parts} - {""}
            elif isinstance(node, ast.Call) and last(node.func) == "id" and node.args:
                found.add(last(node.args[0]))
        return found

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
