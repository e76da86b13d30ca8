"""What a name can be bound to.

Two values are the same if their keys are equal. A definition is named after the statement of the
base that makes it, so that a moved one is still the same; a mutable object by the statement that
makes it and the how-manyth it is; an unknown one by the operation and what it was done to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from collections.abc import Collection as Some
from dataclasses import dataclass, field
from functools import lru_cache

Key = Hashable
GENERATOR = "generator"  # the kind of a collection that is gone once somebody runs through it
Made = tuple[Hashable, int]  # the statement that makes an object, and the how-manyth it is
Inner = Callable[["Value"], Key]
Space = dict[str, "Value"]

MOST_PARTS = 100  # of the key of an unknown value
MOST_DEPTH = 6  # of objects within objects that are compared


class Value:
    """What a name is bound to."""

    def describe(self, inner: Inner) -> Key:
        """Give the key; `inner` is that of a value within."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class Constant(Value):
    """A literal. `own` is a module's own `__name__`, which a move changes by its nature."""

    value: object
    own: bool = False

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        if self.own:
            return ("own name", self.value)
        return type(self.value).__name__, repr(self.value)


@dataclass(eq=False, slots=True)
class Unbound(Value):
    """No value: what a name has on the paths that do not bind it."""

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return ("unbound",)


@dataclass(eq=False, slots=True)
class Outside(Value):
    """Something that is not of the tree, by its full dotted name."""

    name: str

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "outside", self.name


@dataclass(eq=False)
class Module:
    """A module in a run, and the names it has, in the order of binding."""

    name: str
    path: str
    kind: str  # `module`, `package`, `space` or `script`
    folders: tuple[str, ...] = ()
    names: Space = field(default_factory=dict)
    postponed: bool = False  # annotations are text
    scope: Scope | None = None
    same: str = ""  # what it was called before it moved whole


@dataclass(eq=False, slots=True)
class Scope:
    """The names of a module, a class body, a function or a comprehension."""

    kind: str  # `module`, `class`, `function` or `inner`
    names: Space
    above: Scope | None
    module: Module
    globals: Some[str] = ()
    locals: Some[str] = ()


@dataclass(eq=False, slots=True)
class ModuleValue(Value):
    """A module of the tree."""

    module: Module

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "module", self.module.same or self.module.name


@dataclass(eq=False, slots=True)
class Names(Value):
    """A module's `__dict__`."""

    module: Module

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "names of", self.module.name


@dataclass(eq=False, slots=True)
class Function(Value):
    """A function or lambda of the tree; `attributes` is what was set on it."""

    name: Made
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    defaults: Space
    attributes: Space

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        if isinstance(self.node, ast.Lambda):  # nothing else compares what it was made with
            held = tuple((name, inner(value)) for name, value in self.defaults.items())
            return "function", self.name, held
        if self.attributes:
            held = tuple((name, inner(value)) for name, value in self.attributes.items())
            return "function", self.name, (), held
        return "function", self.name


@dataclass(eq=False, slots=True)
class Class(Value):
    """A class of the tree. `hooked`: its metaclass is not Python's own."""

    name: Made
    title: str
    bases: list[Value]
    attributes: Space
    hooked: bool
    node: ast.ClassDef
    scope: Scope

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "class", self.name


@dataclass(eq=False, slots=True)
class Instance(Value):
    """An object of a class of the tree."""

    made: Made
    of: Class
    attributes: Space

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        held = tuple((name, inner(value)) for name, value in self.attributes.items())
        return "instance", self.made, self.of.name, held


@dataclass(eq=False, slots=True)
class Collection(Value):
    """A list, tuple, set or dict; what it holds stands under `items` in `held`."""

    kind: str
    made: Made
    held: dict[str, tuple[Value, ...]]
    keys: dict[str, tuple[Value, ...]]  # of a dict, in the same order

    @property
    def items(self) -> tuple[Value, ...]:
        """Give what it holds; of a dict, the values."""
        return self.held["items"]

    @property
    def names(self) -> tuple[Value, ...]:
        """Give the keys of a dict."""
        return self.keys["items"]

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        made = () if self.kind == "tuple" else self.made
        keys = tuple(map(inner, self.names)) if self.kind == "dict" else ()
        return self.kind, made, keys, tuple(map(inner, self.items))


@dataclass(eq=False, slots=True)
class Product(Value):
    """What a listed maker of the outside gives. `wraps` is the function or class it was given."""

    maker: str
    arguments: Key
    made: Made
    attributes: Space
    wraps: Value | None = None
    immutable: bool = False

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        held = tuple((name, inner(value)) for name, value in self.attributes.items())
        name = () if self.immutable else self.made
        return "product", self.maker, self.arguments, name, held


@dataclass(eq=False, slots=True)
class Unknown(Value):
    """What cannot be told, named by how it came about."""

    how: Key
    options: tuple[Value, ...] = ()  # what it may be, where a body is read on all its paths

    def __post_init__(self) -> None:
        self.how = compact(self.how)

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "unknown", self.how


@dataclass(eq=False, slots=True)
class Bound(Value):
    """A method with the object it belongs to."""

    owner: Value
    method: Value

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "bound", inner(self.owner), inner(self.method)


@dataclass(eq=False, slots=True)
class Choice(Value):
    """One value or another, as a symbol turns out."""

    symbol: Key
    yes: Value
    no: Value

    def describe(self, inner: Inner) -> Key:
        """Give the key."""
        return "choice", self.symbol, inner(self.yes), inner(self.no)


@lru_cache(maxsize=1 << 16)
def compact(how: Key) -> Key:
    """Cut a key that has grown large down to its hash: it is only ever compared."""
    seen = 0
    todo = [how]
    while todo:
        at = todo.pop()
        seen += 1
        if seen > MOST_PARTS:
            return "deep", hash(how)
        if isinstance(at, tuple):
            todo.extend(at)
    return how


NONE = Constant(None)
UNBOUND = Unbound()


def key(value: Value, depth: int = 0, above: tuple[Value, ...] = ()) -> Key:
    """Give what a value is known by, cut off at cycles and at some depth."""
    if depth > MOST_DEPTH or any(value is one for one in above):
        return ("...",)
    return value.describe(lambda inner: key(inner, depth + 1, (*above, value)))


def leaves(value: Value) -> list[Value]:
    """List what a value may be."""
    if isinstance(value, Choice):
        return [*leaves(value.yes), *leaves(value.no)]
    return [value]
