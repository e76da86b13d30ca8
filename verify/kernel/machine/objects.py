"""Attributes of objects, as they are read and written."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from functools import lru_cache

from verify.kernel.machine.frames import ASKED, Frames
from verify.kernel.machine.imports import ANNOTATIONS, home
from verify.kernel.machine.state import Raised
from verify.kernel.machine.units import FILL
from verify.kernel.machine.values import (
    GENERATOR,
    UNBOUND,
    Bound,
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Module,
    ModuleValue,
    Names,
    Outside,
    Product,
    Unknown,
    Value,
    key,
)
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import last
from verify.kernel.trees.words import words

MOST_BASES = 30  # of one class, one above the other
_QUIET = words(
    """__init__ __module__ __doc__ __slots__ __annotations__ __dataclass__ __qualname__ __name__
    __match_args__ __post_init__ __all__"""
)


class Objects(Frames):
    """The part of the machine that knows attributes."""

    # --- classes ---

    def above(self, of: Value, depth: int = 0) -> Iterator[Class]:
        """List a class and the classes of the tree above it."""
        of = self.pick(of)
        if isinstance(of, Class) and depth < MOST_BASES:
            yield of
            for base in of.bases:
                yield from self.above(base, depth + 1)

    def in_class(self, of: Value, name: str) -> Value | None:
        """Give what a class or one above it has under a name."""
        for one in self.above(of):
            if name in one.attributes:
                return one.attributes[name]
        return None

    def outer_bases(self, of: Value) -> list[Value]:
        """List the bases of a class that are not of the tree."""
        found = []
        for one in self.above(of):
            bases = map(self.pick, one.bases)
            found += [base for base in bases if not isinstance(base, Class) and not is_object(base)]
        return found

    def whole(self, of: Value) -> bool:
        """Tell whether everything that a class has is in the tree."""
        return not self.outer_bases(of) and not self.hooked(of)

    def hooked(self, of: Value) -> bool:
        """Tell whether a class is made by a metaclass of its own."""
        return any(
            one.hooked or any(is_type(self.pick(base)) for base in one.bases)
            for one in self.above(of)
        )

    def quiet(self, of: Value) -> bool:
        """Tell whether no operation on an instance can call code of the tree."""
        return self.whole(of) and not any(
            (name.startswith("__") and name.endswith("__") and name not in _QUIET)
            or name == "keys"  # Python takes what has it for a mapping
            for one in self.above(of)
            for name in one.attributes
        )

    def acts(self, value: Value, depth: int = 0) -> bool:
        """Tell whether an operation on a value may call code that nobody sees here."""
        value = self.pick(value)
        if isinstance(value, Instance):
            return not self.quiet(value.of)
        if isinstance(value, Class):
            return self.hooked(value) or self.in_class(value, "__subclasshook__") is not None
        if isinstance(value, Collection):
            inner = value.items[:200] if depth < 4 else ()
            return any(self.acts(item, depth + 1) for item in inner)
        return isinstance(value, Unknown) and not is_plain(value.how)

    # --- reading ---

    def attribute(self, owner: Value, name: str, default: Value | None = None) -> Value:
        """Give an attribute of anything; `default` is what `getattr` was given."""
        owner = self.pick(owner)
        if name in ASKED:
            self.ask_attribute(owner, name)
        if isinstance(owner, ModuleValue):
            return self._of_module(owner.module, name, default)
        if isinstance(owner, Outside):
            return self.outside_attribute(owner, name)
        if isinstance(owner, Function):
            return self._of_function(owner, name, default)
        if isinstance(owner, Class):
            return self._of_class(owner, name, default)
        if isinstance(owner, Instance):
            return self._of_instance(owner, name, default)
        return self._of_rest(owner, name)

    def _of_module(self, module: Module, name: str, default: Value | None) -> Value:
        if self.reads:
            self.reads(module, name)
        value = self.named(module, name)
        self.slot(module, name, value)
        if value is not UNBOUND:
            self.observe(module, name)
            return value
        special = name.startswith("__") and name not in ("__getattr__", "__dir__", "__all__")
        if special:
            return self._special(module, name)
        try:
            return self.missing(module, name, "AttributeError")
        except Raised as error:
            if default is not None and error.error == "AttributeError":
                return default
            raise

    def _special(self, module: Module, name: str) -> Value:
        if name == "__dict__":
            return Names(module)
        if name == "__annotations__":  # they name what the module has
            self.open(ANNOTATIONS, module.name)
        if name == "__getattribute__":
            self.open("handed on", module.name)
        if name in ("__setattr__", "__getattribute__"):
            return Bound(ModuleValue(module), Outside(f".{name}"))
        if name == "__name__":
            return Constant(module.name)
        if name == "__file__" and module.kind == "space":
            return Constant(None)
        return Unknown((name, module.name))

    def _of_function(self, owner: Function, name: str, default: Value | None) -> Value:
        value = owner.attributes.get(name)
        if value is not None:
            return self.pick(value)
        if name in ("__kwdefaults__", "__dict__"):
            return Unknown((name, key(owner)), (owner,))
        if default is not None and not name.startswith("__"):
            return default
        return Unknown(("attribute", key(owner), name))

    def _of_class(self, owner: Class, name: str, default: Value | None) -> Value:
        value = self.in_class(owner, name)
        if value is not None:
            return self._through_class(owner, self.pick(value))
        return self._absent(owner, owner, name, default)

    def _absent(self, owner: Value, of: Class, name: str, default: Value | None) -> Value:
        if name.startswith("__") or not self.whole(of):
            return Unknown(("attribute", key(owner), name))
        if isinstance(owner, Class) and (
            hasattr(type, name) or any(one.node.keywords for one in self.above(of))
        ):
            return Unknown(("attribute", key(owner), name))  # of its metaclass
        if default is not None:
            return default
        if self.probing or any({name, "*"} & assigned(one.node) for one in self.above(of)):
            return Unknown(("attribute", key(owner), name))
        raise Raised("AttributeError", name)

    def _through_class(self, owner: Class, value: Value) -> Value:
        if isinstance(value, Instance) and self.in_class(value.of, "__get__"):
            self.event("descriptor", key(value), key(owner))
            return Unknown(("descriptor", key(value), key(owner)))
        if isinstance(value, Product) and value.wraps is not None:
            if value.maker == "builtins.classmethod":
                return Bound(owner, value.wraps)
            if value.maker == "builtins.staticmethod":
                return value.wraps
        return value

    def _of_instance(self, owner: Instance, name: str, default: Value | None) -> Value:
        if name in owner.attributes:
            return self.pick(owner.attributes[name])
        value = self.in_class(owner.of, name)
        if value is not None:
            return self._through_instance(owner, self.pick(value))
        if name == "__class__":
            return owner.of
        if name == "__dict__":
            return Unknown((name, key(owner)), (owner,))
        hook = self.in_class(owner.of, "__getattr__")
        if hook is not None:
            return self.call(hook, [owner, Constant(name)], {})
        return self._absent(owner, owner.of, name, default)

    def _through_instance(self, owner: Instance, value: Value) -> Value:
        if isinstance(value, Function):
            return Bound(owner, value)
        if isinstance(value, Product) and value.wraps is not None:
            return self._descriptor(owner, value, value.wraps)
        if isinstance(value, Instance) and self.in_class(value.of, "__get__"):
            self.event("descriptor", key(value), key(owner))
            return Unknown(("descriptor", key(value), key(owner)))
        return value

    def _descriptor(self, owner: Instance, value: Product, inner: Value) -> Value:
        if value.maker in ("builtins.property", "functools.cached_property"):
            return self.call(inner, [owner], {})
        if value.maker == "builtins.classmethod":
            return Bound(owner.of, inner)
        if value.maker == "builtins.staticmethod":
            return inner
        return Bound(owner, inner) if value.maker in effects.WRAPPERS else value

    def _of_rest(self, owner: Value, name: str) -> Value:
        if isinstance(owner, Product):
            if name in owner.attributes:
                return self.pick(owner.attributes[name])
            return Bound(owner, Outside(f"{owner.maker}.{name}"))
        if isinstance(owner, (Collection, Constant)):
            return Bound(owner, Outside(f".{name}"))
        if isinstance(owner, Names) or held_by(owner) is not None:
            return Bound(owner, Outside(f".{name}"))
        if isinstance(owner, Unknown) and is_plain(owner.how):
            return Bound(owner, Outside(f".{name}"))
        for option in owner.options if isinstance(owner, Unknown) else ():
            if isinstance(option, ModuleValue) and self.reads:
                self.reads(option.module, name)
        return Unknown(("attribute", key(owner), name))

    # --- writing ---

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        """Set an attribute of anything."""
        owner = self.pick(owner)
        if isinstance(owner, ModuleValue):
            self.write(owner.module, name, value)
        elif isinstance(owner, Outside):
            full = f"{owner.name}.{name}"
            self.put(self.replaced, full, value)
            self.event("write outside", full, key(value))
        elif isinstance(owner, Instance) and self.in_class(owner.of, "__setattr__") is not None:
            hook = self.in_class(owner.of, "__setattr__")
            self.call(hook or owner, [owner, Constant(name), value], {})
        elif isinstance(owner, (Instance, Function, Class, Product)):
            self.put(owner.attributes, name, value)
            self._changed(owner, "set", name, key(value))
        else:
            self.event("set", key(owner), name, key(value))
            for option in owner.options if isinstance(owner, Unknown) else ():
                self.set_attribute(option, name, value)

    def touch(self, owner: Value) -> None:
        """Note that a logger changes: whoever has this one under a name reads the change."""
        if isinstance(owner, Product) and names_one(owner):
            self.written.setdefault((self.site, *logger_name(owner)), self.at[-1])
        elif isinstance(owner, Product) and owner.maker in effects.LOGGERS:
            for module in self.modules.values():
                for name, value in module.names.items() if isinstance(module, Module) else ():
                    if value is owner:
                        self.note_write(module, name)

    def _changed(self, owner: Value, *how: object) -> None:
        """Note that an object changes, unless the same statement made it."""
        self.touch(owner)
        made = made_by(owner)
        if self.site in (made[0], made[0][1] if isinstance(made[0], tuple) else ""):
            return
        if isinstance(owner, Collection) and self._fills(made[0]):
            self.event(FILL, identity(owner), *how)
        else:
            self.event("change", identity(owner), *how)
            self.changes[identity(owner)].add(self.site)

    def _fills(self, made: object) -> bool:
        """Tell whether a module that is loading made something itself, and nobody came between."""
        known = self.site in self.tops and not self.probing
        return known and self.tops.get(made) == self.imported

    def observe_object(self, value: Value) -> None:
        """Note that a statement reads what an object of another holds."""
        made = made_by(value)[0]
        if isinstance(value, (Collection, Instance, Product)) and made != self.site:
            if isinstance(value, Collection) and value.kind == GENERATOR:
                self._changed(value, "run through", self.site)
            if self._fills(made):
                return  # what a module made itself just now: nobody else has come to it
            if not (isinstance(value, Collection) and value.kind == "tuple"):
                self.sees[identity(value)].add(self.site)

    def delete_attribute(self, owner: Value, name: str) -> None:
        """Delete an attribute of anything."""
        owner = self.pick(owner)
        if isinstance(owner, ModuleValue):
            module = owner.module
            where = self.homes.get(home(module, name), ("written", name))
            self.remove(module.names, name)
            self.note_write(module, name)
            self.event("delete", where)
            self.changes[where].add(self.site)
        else:
            self.event("delete", key(owner), name)


@lru_cache(maxsize=1 << 12)
def assigned(node: ast.ClassDef) -> frozenset[str]:
    """Give the attributes that the code of a class sets on something, or declares.

    `*` are those whose names are put together.
    """
    found: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            found.add(inner.attr)
        elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            found.add(inner.target.id)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            found.add(inner.value)  # `setattr`, `__slots__`
        elif getattr(inner, "attr", "") == "__dict__" or _sets_any(inner):
            found.add("*")
    return frozenset(found)


def _sets_any(node: ast.AST) -> bool:
    """Tell whether an expression is a call that sets an attribute whose name is put together."""
    if not isinstance(node, ast.Call) or last(node.func) not in ("setattr", "__setattr__", "vars"):
        return False
    return not (len(node.args) > 1 and isinstance(node.args[-2], ast.Constant))


# What Python's own operators give of plain values is plain.
_OPERATORS = frozenset(
    kind.__name__
    for base in (ast.operator, ast.unaryop, ast.cmpop)
    for kind in base.__subclasses__()
)
_PLAIN_ITSELF = words("str int float bool bytes NoneType text format __file__") | {"own name"}
_DEEPEST = 60  # parts of a value within each other
_ONE_OF = frozenset({"unknown", "iterate", "either", "not"})


def is_plain(how: Hashable, depth: int = 0) -> bool:
    """Tell whether an unknown value was made of plain ones alone, by what Python itself does.

    It can then be no object of the tree, and no operation on it calls code of the tree.
    """
    if not isinstance(how, tuple) or not how or depth > _DEEPEST:
        return False
    head, inner = how[0], how[1:]
    if head in _PLAIN_ITSELF or (head == "outside" and _is_plain_name(str(inner[0]))):
        return True
    if head in _ONE_OF or (isinstance(head, str) and set(head.split(".")) <= _OPERATORS):
        return all(is_plain(part, depth + 1) for part in inner)
    if head in ("list", "tuple", "set", GENERATOR):
        return all(_all_plain(part, depth) for part in inner[1:])
    if head == "method" and len(inner) == 3:
        return is_plain(inner[0], depth + 1) and _all_plain(inner[2], depth)
    called = inner[0] if head == "product" else head
    known = effects.asks_text(str(called))
    known = (
        known or called in effects.PURE or called in effects.QUESTIONS or called in effects.READINGS
    )
    known = known or str(called).removeprefix("builtins.") in effects.PLAIN
    inner = inner[:-1] if head in effects.READINGS else inner  # the last is what was written
    return known and all(_all_plain(part, depth) for part in inner if part is not called)


def _is_plain_name(name: str) -> bool:
    """Tell whether something outside is a plain value, or a function of Python that gives one."""
    inner = name.removeprefix("builtins.")
    own = inner != name and (inner in effects.PLAIN or inner.startswith(("str.", "bytes.")))
    return own or name in effects.CONSTANTS


def _all_plain(told: Hashable, depth: int) -> bool:
    """Tell whether the arguments of a call, or the items of a list, are plain."""
    if not isinstance(told, tuple):
        return False
    if told and isinstance(told[0], str):  # a word and its value, or one value
        return is_plain(told, depth + 1) or (len(told) == 2 and is_plain(told[1], depth + 1))
    return all(_all_plain(part, depth + 1) for part in told)


def made_by(value: Value) -> tuple[object, int]:
    """Give the name of an object: who made it."""
    if isinstance(value, (Function, Class)):
        return value.name
    if isinstance(value, (Instance, Collection, Product)):
        return value.made
    return ("", 0)


def identity(value: Value) -> tuple[object, ...]:
    """Name an object whatever it holds."""
    if isinstance(value, Product) and value.immutable:
        return "object", value.maker, value.arguments
    return "object", made_by(value)


def names_one(logger: Product) -> bool:
    """Tell whether a logger is named by a text, so that all who say it have the same one."""
    if logger.maker not in effects.LOGGERS or not isinstance(logger.arguments, tuple):
        return False
    first = logger.arguments[0]
    told = first[0] if isinstance(first, tuple) and len(first) == 1 else ()
    return isinstance(told, tuple) and told[:1] == ("str",)


def logger_name(logger: Product) -> tuple[str, str]:
    """Give a name for what is set on a logger of some name, wherever it is held."""
    return "logging", str(logger.arguments)


def held_by(space: Value) -> Value | None:
    """Give the object whose `__dict__`, or the function whose defaults, a value is."""
    if not isinstance(space, Unknown) or not isinstance(space.how, tuple) or not space.options:
        return None
    return space.options[0] if space.how[0] in ("__dict__", "__kwdefaults__") else None


def is_object(value: Value) -> bool:
    """Tell whether a base is `object`."""
    return isinstance(value, Outside) and value.name == "builtins.object"


def is_type(value: Value) -> bool:
    """Tell whether a base is `type`, so that the class is a metaclass."""
    return isinstance(value, Outside) and value.name == "builtins.type"
