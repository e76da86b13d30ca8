"""Which modules of the tree a body gets hold of as values, itself or through what it names.

Every chain of names in a body is resolved where it stands. What is left is a module that is handed
on, kept or asked for by a text: there only a run of the body tells what is read of it. No run is
needed where no module can be got hold of, or none but those that are the same on both sides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from verify.kernel.machine import Machine
from verify.kernel.machine.frames import FRAMES, asks
from verify.kernel.machine.scopes import parameters
from verify.kernel.machine.values import (
    MOST_PARTS,
    UNBOUND,
    Choice,
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Module,
    ModuleValue,
    Outside,
    Product,
    Unknown,
    Value,
    key,
    leaves,
)
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.words import words

Modules = frozenset[Module]

MOST_HELD = 50  # of a collection that is looked through for modules
MOST_DEPTH = 4  # of collections in it
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*){0,12}")
_COMPUTED = ("builtins.property", "functools.cached_property")
# Names by which a function may give a module that it does not name.
_GIVING = words("""import_module __import__ globals exec eval reload resolve_name import_string""")
# The same, as they are called in the standard library, with those that ask a module where it
# stands; and modules that hold them, as values.
_GIVERS = FRAMES | words(
    """sys.modules pydoc.locate typing.get_type_hints sys importlib builtins inspect pydoc
    pkgutil"""
)
# Names by which a function may write to a module that it is handed.
_WRITING = words(
    """setattr delattr __setattr__ __delattr__ __dict__ vars patch monkeypatch multiple mocker"""
)


@lru_cache(maxsize=1 << 15)
def gives(node: ast.AST) -> bool:
    """Tell whether a body may get a module by a lookup."""
    return any(
        getattr(inner, "id", "") in _GIVING or getattr(inner, "attr", "") in _GIVING
        for inner in walk(node)
    )


@lru_cache(maxsize=1 << 15)
def writes(node: ast.AST) -> bool:
    """Tell whether a body may set an attribute of something else than the object it belongs to."""
    first = next(iter(parameters(node)), None)
    for inner in walk(node):
        if getattr(inner, "id", "") in _WRITING or getattr(inner, "attr", "") in _WRITING:
            return True
        if isinstance(inner, ast.Constant) and inner.value in ("__setattr__", "__delattr__"):
            return True  # for somebody who calls what a text names
        if isinstance(inner, ast.Attribute) and not isinstance(inner.ctx, ast.Load):
            own = isinstance(inner.value, ast.Name) and first is not None
            if not own or getattr(inner.value, "id", "") != first.arg:  # type: ignore[union-attr]
                return True
    return False


@lru_cache(maxsize=1 << 15)
def texts(node: ast.AST) -> frozenset[str]:
    """Give the texts in a body that may name a module, each with the names of those above it."""
    found: set[str] = set()
    for inner in walk(node):
        text = inner.value if isinstance(inner, ast.Constant) else None
        if isinstance(text, str) and _DOTTED.fullmatch(text):
            parts = text.split(".")
            found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


@dataclass(slots=True)
class _Direct:
    """What one body gets hold of itself."""

    modules: set[Module] = field(default_factory=set)
    functions: list[Function] = field(default_factory=list)
    any: bool = False  # whichever it asks for
    writes: bool = False  # whether it may write to one

    def add(self, value: Value, depth: int = 0) -> None:
        """Take in what a reference leads to."""
        inner: Iterable[Value] = ()
        if isinstance(value, Function):
            self.functions.append(value)
        elif isinstance(value, ModuleValue):
            self.modules.add(value.module)
        elif isinstance(value, Outside):
            self.any |= value.name in _GIVERS or value.name.startswith("inspect.")
            self.writes |= value.name.rpartition(".")[2] in _WRITING
        elif isinstance(value, Class):
            inner = [v for v in value.attributes.values() if isinstance(v, ModuleValue)]
        elif depth >= MOST_DEPTH:
            self.any = not isinstance(value, (Constant, Unknown))
        elif isinstance(value, Collection):
            inner = [*value.items, *value.names]
        elif isinstance(value, Instance):
            inner = [*value.attributes.values()]
        elif isinstance(value, Choice):
            inner = leaves(value)
        elif isinstance(value, Product) and not _names_modules(value.arguments):
            inner = [*value.attributes.values(), *([value.wraps] if value.wraps else ())]
        elif not (value is UNBOUND or isinstance(value, (Constant, Unknown))):
            self.any = True
        inner = [*inner]
        self.any |= len(inner) > MOST_HELD
        for one in inner if not self.any else ():
            self.add(one, depth + 1)


class Grasps:
    """What the bodies of one side get hold of. Functions that name each other hold the same."""

    def __init__(
        self, machine: Machine, met: Callable[[Function | Class], Iterable[Value]]
    ) -> None:
        self.machine = machine
        self._met = met  # what the references in a body lead to
        self._known: dict[Function | Class, tuple[Modules | None, bool]] = {}
        self._order: dict[Function | Class, int] = {}
        self._open: list[Function | Class] = []
        self._own: dict[Function | Class, _Direct] = {}  # of those that are open

    def by(self, made: Function | Class, owner: Class | None) -> Modules | None:
        """Give the modules that a body may get hold of, those of its object among them.

        Gives nothing where it may be any module, where one may be written to, and where the body
        asks where something stands.
        """
        bodies: list[Function | Class] = [made]
        modules: set[Module] = set()
        writing = False
        if owner is not None:
            held = owner.attributes.values()
            modules |= {value.module for value in held if isinstance(value, ModuleValue)}
            start = self.machine.in_class(owner, "__init__")
            given = [v.wraps for v in held if isinstance(v, Product) and v.maker in _COMPUTED]
            bodies += [one for one in (start, *given) if isinstance(one, Function)]
        for body in bodies:
            if body not in self._known:
                self._visit(body)
            found, writes_one = self._known[body]
            if found is None:
                return None
            modules |= found
            writing |= writes_one
        if writing and (modules or any(self._spells(body) for body in bodies)):
            return None
        return frozenset(modules)

    def _spells(self, made: Function | Class) -> bool:
        """Tell whether a body says a module in a text, for somebody who patches what that names."""
        return not texts(made.node).isdisjoint(self.machine.tree.named.keys())

    def _visit(self, made: Function | Class) -> int:
        """Follow what a body names; those that name each other are known when the first is."""
        number = lowest = self._order[made] = len(self._order)
        self._open.append(made)
        direct = _Direct(any=gives(made.node) or bool(asks(made.node)), writes=writes(made.node))
        for value in self._met(made):
            direct.add(value)
        for function in dict.fromkeys(direct.functions):
            if function in self._known:
                self._take(direct, function)
            elif function in self._order:
                lowest = min(lowest, self._order[function])
            else:
                lowest = min(lowest, self._visit(function))
                if function in self._known:
                    self._take(direct, function)
        self._own[made] = direct
        if lowest == number:
            self._close(made)
        return lowest

    def _take(self, direct: _Direct, function: Function) -> None:
        found, writing = self._known[function]
        direct.writes |= writing
        if found is None:
            direct.any = True
        else:
            direct.modules |= found

    def _close(self, made: Function | Class) -> None:
        """Note what a circle of bodies holds together."""
        at = self._open.index(made)
        circle, self._open[at:] = self._open[at:], []
        parts = [self._own.pop(one) for one in circle]
        any_ = any(part.any for part in parts)
        modules = frozenset(module for part in parts for module in part.modules)
        known = None if any_ else modules, any(part.writes for part in parts)
        self._known.update(dict.fromkeys(circle, known))


def _names_modules(arguments: object) -> bool:
    """Tell whether a module was among the arguments of a call, or may have been."""
    todo = [arguments]
    for seen, part in enumerate(todo):
        if not isinstance(part, tuple):
            continue
        if part[:1] in (("module",), ("deep",), ("many",)) or seen > MOST_PARTS:
            return True
        todo.extend(part)
    return False


class Alike:
    """Which modules are the same on both sides, with all that can be reached through them."""

    def __init__(self, base: Machine, target: Machine) -> None:
        self.base, self.target = base, target
        self._alike: dict[tuple[Module, Module], bool] = {}

    def all(self, ours: Modules, theirs: Modules) -> bool:
        """Tell whether these are the same modules, each with the same names."""
        one, two = ({_name(module): module for module in side} for side in (ours, theirs))
        return one.keys() == two.keys() and all(self._deep(one[n], two[n]) for n in one)

    def _deep(self, one: Module, two: Module) -> bool:
        if self.base.changed or self.target.changed:
            return False  # somebody wrote to modules that had loaded
        todo = [(one, two)]
        seen: dict[tuple[Module, Module], bool] = {}
        for pair in todo:
            if pair in seen or pair in self._alike:
                if not self._alike.get(pair, True):
                    return False
                continue
            inner = self._shallow(*pair)
            if inner is None:
                self._alike[pair] = self._alike[one, two] = False
                return False
            seen[pair] = True
            todo += inner
        self._alike.update(seen)
        return True

    def _shallow(self, one: Module, two: Module) -> list[tuple[Module, Module]] | None:
        """Give the modules below two that have the same names and values, or nothing if not."""
        same = one.kind == two.kind and one.names.keys() == two.names.keys()
        if not same or "__getattr__" in one.names:
            return None
        if self.base.tree.inside(one.folders) != self.target.tree.inside(two.folders):
            return None  # somebody may load what the other side does not have
        found = []
        for name, value in one.names.items():
            other = two.names[name]
            if key(value) != key(other):
                return None
            if isinstance(value, ModuleValue) and isinstance(other, ModuleValue):
                found.append((value.module, other.module))
        return found


def _name(module: Module) -> str:
    return module.same or module.name
