"""Calls: of the tree's own code, which is run, and of the outside, by the lists."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Collection as Collection_
from contextlib import suppress
from functools import partial
from types import FunctionType

from verify.kernel.machine.cut import only_makes_values
from verify.kernel.machine.frames import asks
from verify.kernel.machine.imports import ANNOTATIONS, Sites
from verify.kernel.machine.objects import Objects, held_by, identity, is_plain, made_by, names_one
from verify.kernel.machine.scopes import binds, parameters
from verify.kernel.machine.state import Raised
from verify.kernel.machine.units import FILL
from verify.kernel.machine.values import (
    GENERATOR,
    NONE,
    UNBOUND,
    Bound,
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Key,
    Module,
    ModuleValue,
    Names,
    Outside,
    Product,
    Scope,
    Unknown,
    Value,
    key,
)
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import IMPORTS, dotted, stored
from verify.kernel.trees.tree import Tree

MOST_CALLS = 12  # one within the other
MOST_READ = 2  # the same, where a body is read: what it calls is read for itself
MOST_ITEMS = 64  # of a collection that a loop runs through
_CODE = (Function, Bound, ModuleValue)
_GETTERS = ("operator.attrgetter", "operator.methodcaller")
FACTORY = "(factory)"  # the attribute of a field that has what makes its default
_FIELD = re.compile(r"\{(\w*)((?:\.\w+)+)")  # of a text that is formatted: `{0.name}`
_KEY = re.compile(r"\{([^\W\d]\w*)")
MOST_DIGITS = 4  # of the place of a field
OF_MODULE = "a name of"  # what is asked for, if it is one of the names of some module
OWN = "own name"  # the key of a module's `__name__`
_REGISTER = "functools.singledispatch.register"
# What a function runs and is given where a call gives nothing: somebody may set it anew.
_REMADE = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_KINDS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "dict": dict}
_ACCESSORS = {f"builtins.property.{name}" for name in ("getter", "setter", "deleter")}
_PLAIN = {f"builtins.{name}" for name in effects.PLAIN}
Named = dict[str, Value]

_ATTACH = "lazy_loader.attach"


class Returned(Exception):
    """A function returns."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Calls(Objects):
    """The part of the machine that calls."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__(tree, sites, folders)
        self.lists_subclasses: frozenset[str] = frozenset()  # who is asked for the classes below
        self.near: Collection_[str] | None = None  # files from which a change can be reached
        self._outside: dict[str, Callable[[list[Value], Named], Value | None]] = {
            "importlib.import_module": self._import_module,
            _ATTACH: self._attach,
            "builtins.__import__": self._dunder_import,
            "typing.cast": self._cast,
            "typing_extensions.cast": self._cast,
            "pydoc.locate": self._locate,
            "pkgutil.resolve_name": self._locate,
            "importlib.reload": self._reload,
            "builtins.getattr": self._getattr,
            "builtins.hasattr": self._hasattr,
            "builtins.setattr": self._setattr,
            "builtins.delattr": self._delattr,
            "operator.setitem": self._setitem,
            "builtins.vars": self._vars,
            "builtins.dir": self._dir,
            "inspect.getmembers": self._members,
            "builtins.globals": self._globals,
            "builtins.locals": self._locals,
            "builtins.exec": self._exec,
            "builtins.eval": self._exec,
            "builtins.compile": self._compiled,
            "builtins.len": self._len,
            "builtins.list": partial(self._copied, "list"),
            "builtins.tuple": partial(self._copied, "tuple"),
            "builtins.set": self._collection,
            "builtins.reversed": self._collection,
            "builtins.iter": self._collection,
            "builtins.enumerate": self._enumerated,
            "builtins.zip": self._zipped,
            "builtins.object.__setattr__": self._setattr,
            "types.ModuleType.__setattr__": self._setattr,
            "builtins.dict": self._dict,
            "builtins.str": self._str,
            "builtins.sorted": self._in_order,
            "builtins.map": self._mapped,
            "builtins.filter": self._sorted,
            "builtins.max": self._sorted,
            "builtins.min": self._sorted,
            "builtins.isinstance": self._isinstance,
            "builtins.super": self._super,
            "builtins.issubclass": self._issubclass,
            "builtins.type": self._type,
            "builtins.object": self._object,
            "functools.partial": self._partial,
            "functools.reduce": self._reduced,
            **{name: partial(self._getter, name) for name in _GETTERS},
            "sys.modules.get": self._sys_modules,
            "sys.path.insert": partial(self._sys_path, first=True),
            "sys.path.append": self._sys_path,
            "sys.path.extend": self._sys_path,
            "site.addsitedir": self._sys_path,
            "pkgutil.iter_modules": self._listing,
            "pkgutil.walk_packages": self._listing,
            "importlib.resources.files": self._listing,
            "glob.glob": self._listing,
            "os.listdir": self._listing,
            "os.scandir": self._listing,
            "os.walk": self._listing,
            "pathlib.Path.glob": self._listing,
            "pathlib.Path.rglob": self._listing,
            "pathlib.Path.iterdir": self._listing,
        }

    # --- what the language above does ---

    def block(self, body: list[ast.stmt], scope: Scope) -> None:
        """Run the statements of a block."""
        raise NotImplementedError

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Give the value of an expression."""
        raise NotImplementedError

    def operate(self, what: str, *values: Value) -> Value:
        """Give the value of an operation that may call the operands' own methods."""
        raise NotImplementedError

    # --- calls ---

    def call(self, function: Value, given: list[Value], named: Named) -> Value:
        """Call something."""
        self.step()
        function = self.pick(function)
        if isinstance(function, Function) and _REMADE.isdisjoint(function.attributes):
            return self.run_function(function, given, named)
        if isinstance(function, Outside):
            return self.call_outside(function.name, given, named)
        if isinstance(function, Class):
            return self.create(function, given, named)
        if isinstance(function, Product):
            return self._call_product(function, given, named)
        return self._call_object(function, given, named)

    def _call_object(self, function: Value, given: list[Value], named: Named) -> Value:
        if isinstance(function, Bound):
            if isinstance(function.method, Outside):
                return self.method(function.owner, function.method.name, given, named)
            return self.call(function.method, [function.owner, *given], named)
        if isinstance(function, Instance):
            own = self.in_class(function.of, "__call__")
            if own is not None:
                return self.call(own, [function, *given], named)
        for option in function.options if isinstance(function, Unknown) else ():
            if isinstance(option, (Function, Bound)):
                self.call(option, given, named)
        return self.act("call", key(function), given, named)

    def act(self, what: str, of: Key, given: list[Value], named: Named) -> Value:
        """Do what nobody can see into: an event."""
        arguments = told(given, named)
        if _is_register(of) and given:
            self.put(self.versions, "subclasses", Unknown(("registered", of, arguments)))
        for value in (*given, *named.values()) if of != "builtins.print" else ():
            self.handed(value)  # of what is printed, nobody gets more than its text
        self.event(what, of, arguments, *self._taker())
        return Unknown((what, of, arguments))

    def _taker(self) -> tuple[Key, ...]:
        """Give who has what an event gives: of two that are alike, each may give something else."""
        idle, self.idle = self.idle is not None, None
        imports = isinstance(self.site, tuple) and self.site[:1] == ("import",)
        return () if idle or imports or self.probing else (("for", self.site),)

    def handed(self, value: Value) -> None:
        """Note a module that is handed on as a value."""
        value = self.pick(value)
        if isinstance(value, (ModuleValue, Names)):
            self.open("handed on", value.module.name)

    def create(self, of: Class, given: list[Value], named: Named) -> Value:
        """Make an instance of a class of the tree."""
        if self.hooked(of):
            return self.act("call", key(of), given, named)
        made = Instance(self.make(), of, self.space())
        if self.in_class(of, "__del__") is not None:  # whoever drops it calls that
            self.act("create", key(of), given, named)
        missing = self.in_class(of, "_missing_")
        if isinstance(missing, Product) and missing.wraps is not None:
            missing = missing.wraps
        if isinstance(missing, Function) and not only_makes_values(missing.node):
            return self.act("call", key(of), given, named)
        maker = self.in_class(of, "__new__")
        if maker is not None:
            self.act("new", key(of), given, named)
            while isinstance(maker, Product) and maker.wraps is not None:
                maker = maker.wraps
            if isinstance(maker, Function) and not self._is_enum(of):
                self.call(maker, [of, *given], named)
        start = self.in_class(of, "__init__")
        if start is not None:
            self.call(start, [made, *given], named)
        elif not self._plain_bases(of):
            self.act("create", key(of), given, named)
        else:
            self._fill(made, given, named)
        return made

    def _is_enum(self, of: Class) -> bool:
        """Tell whether calling a class looks for one of its members."""
        bases = self.outer_bases(of)
        return any(isinstance(base, Outside) and base.name in effects.ENUMS for base in bases)

    def _fill(self, made: Instance, given: list[Value], named: Named) -> None:
        """Give an object its fields, as a dataclass does."""
        fields = self._fields(made.of)
        for name, value in (*zip(fields, given, strict=False), *named.items()):
            self.put(made.attributes, name, value)
        for name in fields:
            default = self.in_class(made.of, name)
            if name not in made.attributes and (default is None or isinstance(default, Product)):
                factory = default.attributes.get(FACTORY) if default is not None else None
                if factory is not None:
                    self.call(factory, [], {})
                self.put(made.attributes, name, Unknown(("field", made.made, name)))
        post = self.in_class(made.of, "__post_init__")
        if post is not None:
            self.call(post, [made], self._only_for_start(post, made))

    def _only_for_start(self, post: Value, made: Instance) -> Named:
        """Give a dataclass's `__post_init__` what it asks for: fields that are only given to it."""
        if not isinstance(post, Function):
            return {}
        spec = post.node.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)][1:]
        return {
            name: made.attributes.get(name)
            or self.in_class(made.of, name)
            or Unknown(("field", made.made, name))
            for name in names
        }

    def _fields(self, of: Class) -> list[str]:
        """List the annotated names of a class, those of its bases first."""
        found: dict[str, None] = {}
        for one in reversed([*self.above(of)]):
            for name in one.attributes:
                if name.startswith("(annotation "):
                    found[name[12:-1]] = None
        return list(found)

    def _plain_bases(self, of: Class) -> bool:
        return all(
            isinstance(base, Outside)
            and (base.name in effects.BASES or base.name.startswith("builtins."))
            for base in self.outer_bases(of)
        )

    def _call_product(self, function: Product, given: list[Value], named: Named) -> Value:
        maker = function.maker
        if maker == "functools.partial" and function.wraps is not None:
            return self._call_partial(function, function.wraps, given, named)
        first = self.pick(given[0]) if len(given) == 1 and not named else None
        if function.wraps is None and isinstance(first, (Function, Class, Product)):
            if effects.is_mark(maker):
                return first
            if maker in effects.WRAPPERS or maker in effects.SAME_CLASS:
                return self._wrapped(maker, first, function.arguments)
        if effects.is_mark(maker):
            return function
        return self._call_made(function, given, named)

    def _attach(self, given: list[Value], named: Named) -> Value | None:
        """Make what answers for a package's names by a table: `__getattr__`, `__dir__`, `__all__`.

        What it answers is asked name by name; two of them are equal if they know the same names.
        """
        words = ("package_name", "submodules", "submod_attrs")
        parts = [self.pick(v) for v in given] + [NONE] * (len(words) - len(given))
        parts = [self.pick(named.get(word, part)) for word, part in zip(words, parts, strict=True)]
        package, modules, table = parts
        home: dict[str, str] = {}
        for module in _texts_of(modules) if isinstance(modules, Collection) else ():
            home[module] = ""
        if isinstance(table, Collection) and table.kind == "dict":
            for name, items in zip(table.names, table.items, strict=True):
                listed = self.pick(items)
                for word in _texts_of(listed) if isinstance(listed, Collection) else ():
                    home[word] = str(literal(name))
        if not (isinstance(package, Constant) and home) or set(named) - set(words):
            return None
        held = {f"(at) {name}": Constant((package.value, home[name])) for name in sorted(home)}
        known = [Constant(name) for name in sorted(home)]
        made = [
            Product(_ATTACH, (what, *sorted(home)), self.make(), self.space(dict(held)), None)
            for what in ("getattr", "dir")
        ]
        return self.collection("tuple", [*made, self.collection("list", known)])

    def _answer(self, function: Product, given: list[Value]) -> Value:
        """Give what such a table answers."""
        names = [name[5:] for name in function.attributes if name.startswith("(at) ")]
        if not given:
            return self.collection("list", [Constant(name) for name in sorted(names)])
        word = str(literal(self.pick(given[0])))
        where = function.attributes.get(f"(at) {word}")
        if not isinstance(where, Constant) or not isinstance(where.value, tuple):
            raise Raised("AttributeError", word)
        package, module = where.value
        if not module:
            return self.load(f"{package}.{word}")
        return self.attribute(self.load(f"{package}.{module}"), word)

    def _call_made(self, function: Product, given: list[Value], named: Named) -> Value:
        maker = function.maker
        if maker == _ATTACH:
            return self._answer(function, given)
        if maker == _REGISTER and len(given) == 1:
            return given[0]
        if maker in _GETTERS and given:
            found = self._call_getter(function, given[0])
            if found is not None:
                return found
        if maker in effects.WRAPPERS and function.wraps is not None:
            if maker in effects.CACHES:
                self._cached(function, given, named)
            return self.call(function.wraps, given, named)
        if maker in effects.PURE:
            self.operate(maker, *given)
        if maker == "collections.namedtuple" or maker in effects.PURE:
            return Product(
                f"{maker}.()", (function.arguments, told(given, named)), self.make(), self.space()
            )
        return self.act("call", key(function), given, named)

    def _cached(self, function: Product, given: list[Value], named: Named) -> None:
        """Look for the arguments of a call in a cache, which somebody may count."""
        self.hashed(*given, *named.values())
        if not self.probing and self.tree.counts_calls:
            self.event("call", key(function), told(given, named))

    def _getter(self, maker: str, given: list[Value], named: Named) -> Value | None:
        held = self.space({"(given)": self.collection("tuple", given)})
        return Product(maker, told(given, named), self.make(), held, None, True)

    def _call_getter(self, function: Product, owner: Value) -> Value | None:
        """Read or call what `attrgetter` or `methodcaller` names, of a module."""
        owner = self.pick(owner)
        wanted = function.attributes.get("(given)")
        if not isinstance(owner, ModuleValue) or not isinstance(wanted, Collection):
            return None
        attributes = function.maker == "operator.attrgetter"
        found: Value = owner
        for path in wanted.items if attributes else wanted.items[:1]:
            name, found = self.pick(path), owner
            if not isinstance(name, Constant):
                self.open(f"asks {pattern(name)}", owner.module.name)
                return None
            for part in str(name.value).split(".") if attributes else [str(name.value)]:
                found = self.attribute(found, part)
        if attributes:
            return found if len(wanted.items) == 1 else None
        return self.call(found, [*wanted.items[1:]], {})

    def _call_partial(
        self, function: Product, inner: Value, given: list[Value], named: Named
    ) -> Value:
        before, words = function.attributes.get("(given)"), function.attributes.get("(named)")
        if isinstance(before, Collection) and isinstance(words, Collection):
            known = {
                str(literal(one)): two for one, two in zip(words.names, words.items, strict=True)
            }
            return self.call(inner, [*before.items, *given], {**known, **named})
        return self.act("call", key(function), given, named)

    def _wrapped(self, maker: str, inner: Value, arguments: Key) -> Value:
        if isinstance(inner, Class) and maker in effects.SAME_CLASS:
            told = f"{maker}{arguments!r}{self._special_fields(inner)!r}"
            self.put(inner.attributes, "__dataclass__", Constant(told))
            return inner
        return Product(maker, (arguments, key(inner)), self.make(), self.space(), inner)

    def _special_fields(self, of: Class) -> list[tuple[str, Key]]:
        """Give what a dataclass finds, as it is made, by the names that make a field special."""
        found: list[tuple[str, Key]] = []
        for node in of.node.body:
            note = node.annotation if isinstance(node, ast.AnnAssign) else None
            text = note.value if isinstance(note, ast.Constant) else note and ast.unparse(note)
            first, *rest = re.findall(r"[^\W\d]\w*", str(text).partition("[")[0]) or [""]
            if (rest or [first])[-1] in _SPECIAL:
                value = self.pick(of.scope.module.names.get(first, UNBOUND))
                inner = key(value)
                if isinstance(value, Outside):
                    inner = ".".join((value.name, *rest))
                found.append((ast.unparse(node)[:80], inner))
        return found

    # --- the tree's own functions ---

    def run_function(self, function: Function, given: list[Value], named: Named) -> Value:
        """Run a function's body."""
        self.idle = None
        node = function.node
        asynchronous = isinstance(node, ast.AsyncFunctionDef)
        most = MOST_READ if self.probing else MOST_CALLS
        if self.probing and self._far(function, [*given, *named.values()]):
            return Unknown(("call", function.name, told(given, named)))
        deep = len(self.stack) > most or sum(f is function for f in self.stack) > 2
        if asynchronous or deep:
            return self._unfollowed(function, given, named, called=not asynchronous)
        names = self.space(self.arguments(function, given, named))
        bound = binds(node)
        module = function.scope.module
        scope = Scope("function", names, function.scope, module, bound.globals, bound.locals)
        made: list[Value] | None = [] if bound.generator else None
        outer, self.yielded = self.yielded, made
        self.stack.append(function)
        self.at.append((module.path, node.lineno))
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body, scope)
            self.block(node.body, scope)
        except Returned as back:
            return back.value if made is None else self.collection(GENERATOR, made)
        finally:
            self.stack.pop()
            self.at.pop()
            self.yielded = outer
        return NONE if made is None else self.collection(GENERATOR, made)

    def _unfollowed(
        self, function: Function, given: list[Value], named: Named, *, called: bool
    ) -> Value:
        """Give what a call gives that is not followed: what it does is read by itself.

        But for a module that it is handed; and while modules are imported nothing but its being
        called tells that it did something.
        """
        if called and not self.probing and not only_makes_values(function.node):
            return self.act("call", function.name, given, named)
        for value in (*given, *named.values()):
            self.handed(value)
        return Unknown(("later", function.name, told(given, named)))

    def _far(self, function: Function, given: list[Value]) -> bool:
        """Tell whether a function can neither reach a change nor is handed a module."""
        if self.near is None or function.scope.module.path in self.near:
            return False
        if any(isinstance(self.pick(v), (ModuleValue, Names, Function)) for v in given):
            return False
        return not asks(function.node)

    def arguments(self, function: Function, given: list[Value], named: Named) -> Named:
        """Bind a function's parameters."""
        spec = function.node.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        found = dict(zip(names, given, strict=False))
        if spec.vararg:
            found[spec.vararg.arg] = self.collection("tuple", given[len(names) :])
        elif len(given) > len(names) and "**" not in named:
            raise Raised("TypeError", "too many arguments")
        known = {arg.arg for arg in parameters(function.node)}
        more = {name: value for name, value in named.items() if name not in known}
        found.update((name, value) for name, value in named.items() if name in known)
        if spec.kwarg:
            keys = [Constant(name) for name in more]
            found[spec.kwarg.arg] = self.mapping(keys, list(more.values()))
        for name, value in function.defaults.items():
            found.setdefault(name, value)
        for name in (*names, *(arg.arg for arg in spec.kwonlyargs)):
            if name not in found:
                if self.reader is not function and "**" not in named:
                    raise Raised("TypeError", f"no argument {name}")
                found[name] = Unknown(("argument", function.name, name))
        return found

    # --- containers ---

    def collection(self, kind: str, items: Sequence[Value]) -> Collection:
        """Make a list, tuple or set."""
        if kind in ("set", "frozenset"):
            self.hashed(*items)
        return Collection(kind, self.make(), self.space({"items": tuple(items)}), {"items": ()})

    def mapping(self, keys: Sequence[Value], items: Sequence[Value]) -> Collection:
        """Make a dict."""
        self.hashed(*keys)
        held, names = self.space({"items": tuple(items)}), self.space({"items": tuple(keys)})
        return Collection("dict", self.make(), held, names)

    def set_items(
        self, of: Collection, items: Sequence[Value], keys: Sequence[Value] | None = None
    ) -> None:
        """Change what a container holds."""
        self.put(of.held, "items", tuple(items))
        if of.kind == "dict":
            known = tuple(of.names if keys is None else keys)
            more = tuple(Unknown(("key", at)) for at in range(len(known), len(items)))
            self.put(of.keys, "items", (*known, *more)[: len(items)])

    def hashed(self, *values: Value) -> None:
        """Look for values as keys, or among the items of a set: their own methods are called."""
        for value in map(self.pick, values):
            if not isinstance(value, Instance):
                continue
            for hook in ("__hash__", "__eq__"):
                method = self.in_class(value.of, hook)
                if isinstance(method, Function):
                    more = [Unknown(("other", key(value)))] if hook == "__eq__" else []
                    with suppress(Raised):
                        self.call(method, [value, *more], {})

    def set_item(self, of: Collection, name: Value, value: Value) -> None:
        """Set an item of a dict or list."""
        if of.kind == "dict":
            self.hashed(name)
            wanted = key(name)
            kept = [(k, v) for k, v in zip(of.names, of.items, strict=True) if key(k) != wanted]
            kept.append((name, value))
            self.set_items(of, [v for _, v in kept], [k for k, _ in kept])
        elif (
            isinstance(name, Constant)
            and isinstance(name.value, int)
            and -len(of.items) <= name.value < len(of.items)
        ):
            items = list(of.items)
            items[name.value] = value
            self.set_items(of, items)
        else:  # where it goes cannot be told
            self.blur(of, ("item", key(name)), value)
        self._changed(of, "item", key(name), key(value))

    def blur(self, of: Collection, *how: Hashable) -> None:
        """Note that nobody can tell what a container holds now, but for code among it."""
        held = [*map(self.pick, of.items)]
        told = [key(part) if isinstance(part, Value) else part for part in how]
        changed = Unknown(
            ("changed", key(of), *told), tuple(v for v in held if isinstance(v, _CODE))
        )
        self.set_items(of, (changed,), (changed,))

    def method(self, owner: Value, name: str, given: list[Value], named: Named) -> Value:
        """Call a method of something that is not an object of the tree."""
        owner = self.pick(owner)
        if isinstance(owner, Names):
            return self._of_names(owner, name, given, named)
        if isinstance(owner, ModuleValue):
            return self._of_module_method(owner, name, given, named)
        if isinstance(owner, Constant):
            return self._of_constant(owner, name[1:], given, named)
        if isinstance(owner, Collection):
            return self._of_collection(owner, name[1:], given, named)
        if isinstance(owner, Product):
            return self._of_product(owner, name, given, named)
        return self._of_unknown(owner, name, given, named)

    def set_held(self, of: Value, space: Value, name: Value, value: Value) -> None:
        """Set an attribute of an object through its `__dict__`, or a function's default."""
        special = (
            space.how[0] if isinstance(space, Unknown) and isinstance(space.how, tuple) else ""
        )
        if special == "__dict__" and isinstance(name, Constant):
            self.set_attribute(of, str(name.value), value)
        else:
            told = Unknown(("set", key(name), key(value)))
            self.set_attribute(of, str(special), told)

    def _change_held(self, of: Value, space: Value, given: list[Value], named: Named) -> Value:
        first = self.pick(given[0]) if given else None
        pairs: list[tuple[Value, Value]] = [(Constant(word), v) for word, v in named.items()]
        if isinstance(first, Collection) and first.kind == "dict":
            pairs += zip(first.names, first.items, strict=True)
        elif given:
            pairs.append((first or NONE, given[-1]))
        for name, value in pairs:
            self.set_held(of, space, name, value)
        return Unknown(("result", key(space), told(given, named)))

    def _of_module_method(
        self, owner: ModuleValue, name: str, given: list[Value], named: Named
    ) -> Value:
        wanted = self.pick(given[0]) if given else None
        if name == ".__getattribute__" and isinstance(wanted, Constant):
            return self.attribute(owner, str(wanted.value))
        found = self._setattr([owner, *given], named) if name == ".__setattr__" else None
        return found or self.act("set", name, given, named)

    def _of_unknown(self, owner: Value, name: str, given: list[Value], named: Named) -> Value:
        """Call a method of what nobody knows: of a plain value it does nothing to others."""
        of = held_by(owner)
        if of is not None and name[1:] in effects.CHANGING:
            return self._change_held(of, owner, given, named)
        plain = isinstance(owner, Unknown) and is_plain(owner.how)
        if plain and name[1:] not in effects.CHANGING:
            if not any(map(self.acts, (*given, *named.values()))):
                return Unknown(("method", key(owner), name, told(given, named)))
        return self.act("method", (key(owner), name), given, named)

    def _of_product(self, owner: Product, name: str, given: list[Value], named: Named) -> Value:
        if effects.inert_call(name) and not any(map(self.acts, given)):
            self.observe_object(owner)
            if name in effects.PURE and name.startswith("pathlib.Path."):
                arguments = (key(owner), name, told(given, named))
                return Product("pathlib.Path", arguments, self.make(), self.space(), immutable=True)
            return Unknown((name, key(owner), told(given, named)))
        if name in _ACCESSORS:  # a property with one function more
            arguments = (key(owner), name, told(given, named))
            return Product(
                owner.maker, arguments, self.make(), self.space(), owner.wraps, immutable=True
            )
        listed = self._outside.get(name)
        if listed is not None:
            found = listed([owner, *given], named)
            if found is not None:
                return found
        last = name.rpartition(".")[2]
        if last in effects.TOUCHING and self._sets_up(owner, given):
            used = owner.attributes.get("(set up)")
            before = used.value if isinstance(used, Constant) else ()
            self.put(owner.attributes, "(set up)", Constant((before, name, told(given, {}))))
            return NONE
        if last in effects.TOUCHING:
            self.touch(owner)
        who: Key = identity(owner)
        if self.probing:  # one that a body made for itself is seen nowhere else
            who = who, owner.arguments
        if name == _REGISTER and self._fills(owner.made[0]):
            self.event(FILL, identity(owner), name, told(given, named))
            found = self._registered(owner, given, named)
        else:
            found = self.act("method", (who, name), given, named)
        same = owner.maker in effects.LOGGERS and last in effects.RECORDING
        if not self.probing and names_one(owner) and not same:
            self.changes[identity(owner)].add(self.site)
        elif not self.probing and not same:
            used = owner.attributes.get("(used)")
            times = used.value if isinstance(used, Constant) else 0
            self.put(owner.attributes, "(used)", Constant((times, name, told(given, named))))
            self.changes[identity(owner)].add(self.site)
        return found

    def _sets_up(self, owner: Product, given: list[Value]) -> bool:
        """Tell whether a module gives its own logger a handler that drops all.

        That is part of what this logger is: each module has one of its own name.
        """
        own = owner.maker in effects.LOGGERS and owner.arguments == (((OWN,),), ())
        if not own or self.stack or self.probing:
            return False
        values = [*map(self.pick, given)]
        plain = all(isinstance(v, Product) and v.maker == "logging.NullHandler" for v in values)
        module = self.modules.get(self.here())
        held = module.names.values() if isinstance(module, Module) else ()
        return plain and any(value is owner for value in held)

    def _registered(self, owner: Product, given: list[Value], named: Named) -> Value:
        """Give what a generic function gives that is given one more way: that, or a decorator."""
        if len(given) == 1 and not isinstance(self.pick(given[0]), Function):
            return Product(_REGISTER, told(given, named), self.make(), self.space(), owner)
        return given[-1] if given else NONE

    def _of_names(self, owner: Names, name: str, given: list[Value], named: Named) -> Value:
        module = ModuleValue(owner.module)
        first = self.pick(given[0]) if given else None
        if name in (".get", ".pop") and isinstance(first, Constant):
            default = given[1] if len(given) > 1 else NONE
            found = self.attribute(module, str(first.value), default)
            self.has_name(module, first, key(found))
            return found
        if name == ".get" and first is not None:
            self.open(f"asks {pattern(first)}", owner.module.name)
            return Unknown(("names", owner.module.name, key(first)))
        if name in (".update", ".setdefault", ".__setitem__"):
            if isinstance(first, Constant) and len(given) == 2:
                self.write(owner.module, str(first.value), given[1])
            elif isinstance(first, Collection) and first.kind == "dict":
                for one, value in zip(first.names, first.items, strict=True):
                    if isinstance(one, Constant):
                        self.write(owner.module, str(one.value), value)
            elif given or "**" in named:
                self._sets_any(owner.module)
            for one_name, value in named.items():
                self.write(owner.module, one_name, value)
            return NONE
        self.open(self._lists(), owner.module.name)
        return Unknown(("names", name, self._names_there(owner.module)))

    def _lists(self) -> str:
        """Say that names are listed, with how those must begin that are taken."""
        begins, kept = self.left
        if begins and not self.prefix:
            return " ".join(("lists all but", f"{begins}*", *sorted(kept)))
        return f"lists {self.prefix}*" if self.prefix else "lists"

    def takes(self, name: str) -> bool:
        """Tell whether a name is one of those that the present listing of a module takes."""
        begins, kept = self.left
        left = bool(begins) and name.startswith(begins) and name not in kept
        return name.startswith(self.prefix) and not left

    def _sets_any(self, module: Module) -> None:
        """Note that names of a module are set by what nobody can tell."""
        self.open("handed on", module.name)
        for name in module.names:
            self.note_write(module, name)

    def _names_there(self, module: Module) -> Key:
        """Give the names of a module that somebody lists; for a body that is read, it is open.

        They come in the order in which they were bound. Where the outside is bound does not count.
        """
        if self.probing:
            return module.name
        outer = (ModuleValue, Outside)
        names = {n: v for n, v in module.names.items() if self.takes(n)}
        own = [n for n, v in names.items() if not isinstance(self.pick(v), outer)]
        return (*own, *sorted(names.keys() - {*own}))

    def _of_constant(self, owner: Constant, name: str, given: list[Value], named: Named) -> Value:
        plain = [literal(self.pick(value)) for value in given]
        words = {word: literal(self.pick(value)) for word, value in named.items()}
        known = not owner.own and UNBOUND not in (*plain, *words.values())
        if known and isinstance(owner.value, (str, int, float, bytes)):
            try:
                found = getattr(owner.value, name)(*plain, **words)
            except Exception as error:
                raise Raised(type(error).__name__, str(error)) from None
            return self.from_python(found)
        if name in ("format", "format_map"):
            self._formatted(str(owner.value), name, given, named)
        asks = name in ("join", "format", "format_map")
        if any(self.acts(v) for v in given if asks or isinstance(self.pick(v), Instance)):
            self.operate(f".{name}", *given)
        return Unknown(("method", key(owner), name, told(given, named)))

    def _formatted(self, text: str, name: str, given: list[Value], named: Named) -> None:
        """Read the attributes that the fields of a text ask of what it is given."""
        first = self.pick(given[0]) if given and name == "format_map" else None
        if isinstance(first, Names):
            for top in _KEY.findall(text):
                self.attribute(ModuleValue(first.module), top)
        if isinstance(first, Collection):
            named = {str(literal(n)): v for n, v in zip(first.names, first.items, strict=False)}
        for top, rest in _FIELD.findall(text):
            place = int(top) if top.isdigit() and len(top) < MOST_DIGITS else 0
            value = named.get(top) or (given[place] if place < len(given) else NONE)
            for part in rest.split(".")[1:]:
                value = self.attribute(value, part)

    def from_python(self, found: object) -> Value:
        """Turn what Python gave into a value."""
        if isinstance(found, (list, tuple)):
            kind = "list" if isinstance(found, list) else "tuple"
            return self.collection(kind, [self.from_python(item) for item in found])
        if found is None or isinstance(found, (str, int, float, bytes, bool)):
            if isinstance(found, (str, bytes)) and len(found) > 1 << 16:
                return Unknown(("long", type(found).__name__, len(found)))
            return Constant(found)
        return Unknown(("python", type(found).__name__, repr(found)[:80]))

    def _of_collection(
        self, owner: Collection, name: str, given: list[Value], named: Named
    ) -> Value:
        if name in effects.CHANGING and owner.kind != "tuple":
            return self._change(owner, name, given, named)
        self.observe_object(owner)
        if owner.kind in ("dict", "set"):
            self.hashed(*given[:1])
        if name == "get" and owner.kind == "dict" and given:
            found = self.item(owner, self.pick(given[0]))
            if found is None and not self.plain_keys(owner, self.pick(given[0])):
                return self.any_of(owner, Unknown(("get", key(owner), told(given, named))))
            return found if found is not None else given[1] if len(given) > 1 else NONE
        if owner.kind == "dict" and name in ("values", "keys", "items", "copy"):
            return self._dict_view(owner, name)
        if name == "copy":
            return self.collection(owner.kind, owner.items)
        if any(map(self.acts, given)) or self.acts(owner):
            self.operate(f".{name}", owner, *given)
        return Unknown(("method", key(owner), name, told(given, named)))

    def _dict_view(self, owner: Collection, name: str) -> Value:
        if name in ("values", "keys"):  # they show what the dict holds when they are read
            space = owner.held if name == "values" else owner.keys
            return Collection("list", owner.made, space, {"items": ()})
        if name == "copy":
            return self.mapping(owner.names, owner.items)
        pairs = zip(owner.names, owner.items, strict=True)
        return self.collection("list", [self.collection("tuple", pair) for pair in pairs])

    def plain_keys(self, owner: Collection, name: Value) -> bool:
        """Tell whether a key, and those of a dict, are known, so that it has the key or not."""
        return isinstance(name, Constant) and all(isinstance(n, Constant) for n in owner.names)

    def any_of(self, owner: Collection, found: Unknown) -> Unknown:
        """Give an item that nobody can name: where it is code or a module, any of what is held."""
        held = [item for item in map(self.pick, owner.items) if isinstance(item, _CODE)]
        return Unknown(found.how, tuple(held[:MOST_ITEMS]))

    def item(self, owner: Collection, name: Value) -> Value | None:
        """Give the item of a dict under a key, if it is known."""
        wanted = key(name)
        for one, value in zip(owner.names, owner.items, strict=True):
            if key(one) == wanted:
                return value
        return None

    def _change(self, owner: Collection, name: str, given: list[Value], named: Named) -> Value:
        """Change a container by one of its methods."""
        result: Value = NONE
        items = owner.items
        first = self.pick(given[0]) if given else None
        if owner.kind in ("dict", "set"):
            self.hashed(*given[:1])
        elif name in ("remove", "sort"):
            self.operate(f".{name}", owner, *given)
        if owner.kind == "dict":
            result = self._change_dict(owner, name, given, named)
        elif name in ("append", "add", "appendleft") and first is not None:
            self.set_items(owner, (*items, first))
        elif name in ("extend", "update") and isinstance(first, Collection):
            self.set_items(owner, (*items, *first.items))
        elif name == "clear":
            self.set_items(owner, ())
        elif name == "pop" and items and not given:
            result = items[-1]
            self.set_items(owner, items[:-1])
        else:
            changed = Unknown((name, key(owner), told(given, named)))
            self.set_items(owner, (changed,))
            result = Unknown(("result", name, key(owner)))
        self._changed(owner, name, told(given, named))
        return result

    def _change_dict(self, owner: Collection, name: str, given: list[Value], named: Named) -> Value:
        first = self.pick(given[0]) if given else None
        if name == "setdefault" and first is not None:
            known = self.item(owner, first)
            if known is not None:
                return known
            value = given[1] if len(given) > 1 else NONE
            self.set_items(owner, (*owner.items, value), (*owner.names, first))
            return value
        if name == "clear":
            self.set_items(owner, (), ())
            return NONE
        if name == "update" and (first is None or isinstance(first, Collection)):
            pairs = [(Constant(word), value) for word, value in named.items()]
            if isinstance(first, Collection) and first.kind == "dict":
                pairs = [*zip(first.names, first.items, strict=True), *pairs]  # type: ignore[list-item]
            for one, value in pairs:
                self.set_item(owner, one, value)
            return NONE
        if isinstance(first, Instance):
            self.operate("unpack", first)
        changed = Unknown((name, key(owner), told(given, named)))
        self.set_items(owner, (changed,), (changed,))
        return Unknown(("result", name, key(owner)))

    # --- the outside ---

    def call_outside(self, name: str, given: list[Value], named: Named) -> Value:
        """Call something outside, by the lists."""
        self.ask_call(name, given, named)
        for value in map(self.pick, (*given, *named.values())):
            if isinstance(value, Names) and name not in _NOT_LOOKING:
                self.open("lists", value.module.name)
        self._asks_modules(name, given)
        found = self._understood(name, given, named)
        if found is not None:
            return found
        values = [*map(self.pick, given), *map(self.pick, named.values())]
        first = values[0] if len(values) == 1 else None
        if isinstance(first, (Function, Class, Product)):
            if effects.is_mark(name):
                return first
            decorates = name in effects.WRAPPERS or name in effects.SAME_CLASS
            if decorates and name not in effects.FACTORIES:
                return self._wrapped(name, first, ())
        if name in effects.READINGS:
            source = effects.READS_OF.get(name, name.rpartition(".")[0])
            version = key(self.versions.get(source, NONE))
            self.sees["outside", source].add(self.site)
            self.frame.reads |= {source}
            return Unknown((name, told(given, named), version))
        hooks = name == "dataclasses.make_dataclass" and ("bases" in named or len(given) > 2)
        inert = self._listed(name) and not hooks and not any(map(self.acts, values))
        if effects.is_mark(name) or inert:
            for value in values:
                self.observe_object(value)
            return self._product(name, given, named)
        found = self.act("call", name, given, named)
        if not self.probing and name not in _SHOWING:
            self._handed_out(name, values)
        return found

    def _handed_out(self, name: str, values: Sequence[Value]) -> None:
        """Note that the outside may change the containers that it is handed."""
        for value in values:
            if isinstance(value, Collection) and value.kind in _KINDS and value.kind != "tuple":
                if made_by(value)[0] != self.site:
                    self.blur(value, name)
                    self.changes[identity(value)].add(self.site)

    def _asks_modules(self, name: str, given: list[Value]) -> None:
        """Note what a call reads of modules that it is handed, or may set there."""
        values = [*map(self.pick, given)]
        if name in ("types.FunctionType", "types.LambdaType"):
            for value in values[1:2]:
                if isinstance(value, Names):
                    self._sets_any(value.module)
        elif name in effects.EVALUATING:
            for value in values:
                if isinstance(value, ModuleValue):
                    self.open(ANNOTATIONS, value.module.name)

    def _understood(self, name: str, given: list[Value], named: Named) -> Value | None:
        """Do a call that the machine knows, if it is one."""
        owner, _, last = name.rpartition(".")
        if owner == "sys.modules" and last == "pop":
            self.unload(given)
        if owner == "os.environ" and last in effects.CHANGING:
            self.outside_changed(owner, (last, told(given, named)))
            return Unknown((name, told(given, named)))
        if name in effects.LOGGERS:
            return self._logger(name, given, named)
        special = self._outside.get(name)
        return special(given, named) if special is not None else None

    def _logger(self, name: str, given: list[Value], named: Named) -> Value | None:
        """Give the logger of a name, which may be put together from the module's own."""
        if any(map(self.acts, (*given, *named.values()))):
            return None
        arguments = unnamed(told(given, named))
        return Product(name, arguments, self.make(), self.space(), None, immutable=True)

    def outside_changed(self, name: str, how: Hashable) -> None:
        """Note that the tree changes outside state, so that later readings differ."""
        before = key(self.versions.get(name, NONE))
        self.put(self.versions, name, Unknown((before, how)))
        self.event("write outside", name, how)
        self.changes["outside", name].add(self.site)

    def _listed(self, name: str) -> bool:
        last = name.removeprefix("builtins.")
        return (
            effects.inert_call(name)
            or name in _PLAIN
            or (last in effects.errors() and name != last)
        )

    def _product(self, name: str, given: list[Value], named: Named) -> Value:
        arguments = told(given, named)
        if name in effects.ITERATORS:
            return self.collection(GENERATOR, [Unknown((name, arguments))])
        if effects.asks_text(name):
            return Unknown((name, arguments))
        if name in effects.QUESTIONS or (
            name in _PLAIN and name not in ("builtins.property", "builtins.staticmethod")
        ):
            return Unknown((name, arguments))
        for value in (*given, *named.values()):
            self.handed(value)
        wraps = self.pick(given[0]) if given else None
        immutable = name in effects.PURE or effects.is_mark(name)
        calls = name.startswith("builtins.") or name == "functools.cached_property"
        inner = wraps if calls and isinstance(wraps, Function) else None
        factory = self._factory(name, given, named) if name in effects.FIELDS else None
        held = self.space({} if factory is None else {FACTORY: factory})
        if name in effects.SHOWING:  # what it shows is what that holds when it is read
            held["(of)"] = self.collection("tuple", given)
        return Product(name, arguments, self.make(), held, inner, immutable)

    def _factory(self, name: str, given: list[Value], named: Named) -> Value | None:
        """Give what is called for the default of a field, each time that an object is made."""
        for word in ("default_factory", "factory"):
            if word in named:
                return named[word]
        if name.endswith(".Factory"):
            return given[0] if given else None
        default = self.pick(named.get("default", NONE))
        return default.attributes.get(FACTORY) if isinstance(default, Product) else None

    # --- calls that the machine understands ---

    def _cast(self, given: list[Value], named: Named) -> Value | None:
        """Give what is cast: the type, as a text or not, is only evaluated."""
        return given[1] if len(given) == 2 and not named else named.get("val")

    def _import_module(self, given: list[Value], named: Named) -> Value | None:
        first = _whole(self.pick(given[0])) if given else None
        if isinstance(first, Constant) and isinstance(first.value, str):
            name = first.value
            if name.startswith("."):
                around = self.pick(given[1] if len(given) > 1 else named.get("package", NONE))
                if not isinstance(around, Constant):
                    self.open("imports", pattern(first))
                    return Unknown(("imported", told(given, named)))
                level = len(name) - len(name.lstrip("."))
                parts = str(around.value).split(".")
                name = ".".join([*parts[: len(parts) - level + 1], name[level:]])
            return self.load(name)
        self.open("imports", pattern(first))
        return Unknown(("imported", told(given, named)))

    def _dunder_import(self, given: list[Value], named: Named) -> Value | None:
        """Import as the statement does: by a level, and what it gives without a `fromlist`."""
        arguments = dict(
            zip(("name", "globals", "locals", "fromlist", "level"), given, strict=False)
        )
        arguments.update(named)
        name, level = (literal(self.pick(arguments.get(n, NONE))) for n in ("name", "level"))
        if not isinstance(name, str) or "**" in named:
            return self._import_module([arguments.get("name", NONE)], {})
        if isinstance(level, int) and level > 0:
            module = self.modules.get(self.here())
            inside = isinstance(module, Module) and module.kind == "package"
            parts = self.here().split(".")[: None if inside else -1]
            name = ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])
            return self.load(name)
        found = self.load(name)
        listed = literal(self.pick(arguments.get("fromlist", NONE)))
        return found if listed or "." not in name else self.load(name.partition(".")[0])

    def _locate(self, given: list[Value], named: Named) -> Value | None:
        first = self.pick(given[0]) if given else None
        if not isinstance(first, Constant):
            self.open("imports", pattern(first))
            return Unknown(("located", told(given, named)))
        parts = str(first.value).replace(":", ".").split(".")
        try:
            found = self.load(parts[0])
            for part in parts[1:]:
                found = self.taken(found, part)
        except Raised:
            return NONE
        return found

    def _reload(self, given: list[Value], named: Named) -> Value | None:
        first = self.pick(given[0]) if given else None
        if isinstance(first, ModuleValue):
            self.event("reload", first.module.name)
            self.open("reloads", first.module.name)
            if not self.probing:
                self.run_module(first.module)
            return first
        return None

    def _getattr(self, given: list[Value], named: Named) -> Value | None:
        if len(given) < 2:
            return None
        owner, name = self.pick(given[0]), self.pick(given[1])
        default = given[2] if len(given) > 2 else None
        if isinstance(name, Constant):
            found = self.attribute(owner, str(name.value), default)
            if default is not None:
                self.has_name(owner, name, key(found))
            return found
        if isinstance(owner, ModuleValue):
            self.open(f"asks {pattern(name)}", owner.module.name)
        elif isinstance(owner, Unknown):
            self.open(f"asks {pattern(name)}", "")
        return Unknown(("getattr", key(owner), key(name)))

    def _hasattr(self, given: list[Value], named: Named) -> Value | None:
        if len(given) != 2:
            return None
        owner, name = self.pick(given[0]), self.pick(given[1])
        if isinstance(name, Constant) and isinstance(owner, (ModuleValue, Class, Instance)):
            try:
                found = self.attribute(owner, str(name.value), UNBOUND)
            except Raised:
                found = UNBOUND
            if isinstance(found, Unknown):
                return Unknown(("hasattr", key(owner), name.value))
            self.has_name(owner, name, found is not UNBOUND)
            return Constant(found is not UNBOUND)
        if isinstance(owner, ModuleValue):
            self.open(f"asks {pattern(name)}", owner.module.name)
        return Unknown(("hasattr", key(owner), key(name)))

    def has_name(self, owner: Value, name: Constant, answer: Hashable) -> None:
        """Note what a body is told that asks whether a module has a name."""
        if self.probing and isinstance(owner, ModuleValue):
            self.event("asks", name.value, answer)

    def _setattr(self, given: list[Value], named: Named) -> Value | None:
        if len(given) != 3:
            return None
        name = self.pick(given[1])
        if isinstance(name, Constant):
            self.set_attribute(given[0], str(name.value), given[2])
            return NONE
        return None

    def _delattr(self, given: list[Value], named: Named) -> Value | None:
        name = self.pick(given[1]) if len(given) == 2 else None
        if isinstance(name, Constant):
            self.delete_attribute(given[0], str(name.value))
            return NONE
        return None

    def _setitem(self, given: list[Value], named: Named) -> Value | None:
        owner, name = (
            (self.pick(given[0]), self.pick(given[1])) if len(given) == 3 else (None, None)
        )
        if isinstance(owner, Names) and isinstance(name, Constant):
            self.write(owner.module, str(name.value), given[2])
            return NONE
        return None

    def _vars(self, given: list[Value], named: Named) -> Value | None:
        owner = self.pick(given[0]) if given else None
        if not given and not self.stack:
            return self._globals(given, named)
        if isinstance(owner, Instance):
            return self.attribute(owner, "__dict__")
        return Names(owner.module) if isinstance(owner, ModuleValue) else None

    def _dir(self, given: list[Value], named: Named) -> Value | None:
        owner = self.pick(given[0]) if given else None
        if isinstance(owner, ModuleValue):
            self.open(self._lists(), owner.module.name)
            hook = owner.module.names.get("__dir__")
            if hook is not None:
                return self.call(hook, [], {})
            names = sorted(filter(self.takes, owner.module.names))
            return Unknown(("names", owner.module.name if self.probing else tuple(names)))
        if not given and self.at[-1][0]:
            module = self.modules.get(self.here())
            if isinstance(module, Module) and not self.probing and not self.stack:
                return self.collection("list", sorted_names(self.names_now(module)))
            self.open("lists", self.here())
            return Unknown(("names here", self.here()))
        return None

    def names_now(self, module: Module) -> list[Value]:
        """Give the names that a module has while it is imported, in the order of binding."""
        return [Constant(name) for name in dict.fromkeys([*_OWN_NAMES, *module.names])]

    def _members(self, given: list[Value], named: Named) -> Value | None:
        self._dir(given, {})
        return Unknown(("members", told(given, named)))

    def _globals(self, given: list[Value], named: Named) -> Value | None:
        for module in self.modules.values():
            if getattr(module, "path", None) == self.at[-1][0]:
                return Names(module)
        return Unknown(("globals",))

    def _locals(self, given: list[Value], named: Named) -> Value | None:
        """Give the names of a function, which no module has, or those of the module."""
        function = self.stack[-1] if self.stack else None
        if function is None or function.scope.module.path != self.at[-1][0]:
            return self._globals(given, named)
        if any(isinstance(node, (ast.ClassDef, *IMPORTS)) for node in walk(function.node)):
            return self._globals(given, named)  # those of a class, or modules among them
        nodes = walk(function.node)
        owners = {n.value for n in nodes if isinstance(n, ast.Attribute)}
        names = {n.id for n in nodes if isinstance(n, ast.Name) and n not in owners}
        held = (self.named(function.scope.module, name) for name in sorted(names))
        for value in (*held, *function.defaults.values()):
            self.handed(value)  # a module may be among them, for whoever gets them all
        lasts = {n.attr for n in nodes if isinstance(n, ast.Attribute) and n not in owners}
        for name, module in [*self.modules.items()] if lasts else ():
            if str(name).rpartition(".")[2] in lasts and isinstance(module, Module):
                self.handed(ModuleValue(module))
        return Unknown(("locals", function.name))

    def here(self) -> str:
        """Give the name of the module whose code is running."""
        for name, module in self.modules.items():
            if getattr(module, "path", None) == self.at[-1][0]:
                return str(name)
        return ""

    def _exec(self, given: list[Value], named: Named) -> Value | None:
        code = self.pick(given[0]) if given else None
        names = self.pick(given[1]) if len(given) > 1 else self._here_names()
        if isinstance(code, Constant) and isinstance(names, Names) and names.module.scope:
            return self._exec_among(str(code.value), names.module, names.module.scope)
        if isinstance(code, Constant) and not isinstance(names, Names):
            self._exec_here(str(code.value))
        for value in (names, *map(self.pick, given[2:3])):
            if isinstance(value, Collection):  # what the text binds
                self.blur(value, "exec", key(code) if code else "")
        self.open("runs text", self.here())
        return None

    def _exec_among(self, code: str, module: Module, scope: Scope) -> Value | None:
        """Run text among the names of a module; statements, where it is not loading, are noted."""
        try:
            tree = ast.parse(code.lstrip(" \t"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            return self.value(tree.body[0].value, scope)
        if scope is self.running and not self.probing:
            self.block(tree.body, scope)
            return NONE
        for node in tree.body:
            inner = (n for n in walk(node) if isinstance(n, ast.Name))
            bound = {n.id for n in inner if isinstance(n.ctx, ast.Store)}
            for name in sorted(bound.union(stored(node))):
                self.write(module, name, Unknown(("exec", code)))
        found = tuple(self._named_in(tree, scope))
        self.event("exec", module.name, code, found)
        self._set_by(tree, scope, code)
        return Unknown(("exec", code, found))

    def _compiled(self, given: list[Value], named: Named) -> Value | None:
        """Note what text names that is compiled: whoever runs it finds that."""
        code = self.pick(given[0]) if given else None
        if isinstance(code, Constant) and isinstance(code.value, str):
            self._exec_here(code.value)
        return None

    def _exec_here(self, code: str) -> None:
        """Note what text sets of modules that it names as the code around it does."""
        module = self.modules.get(self.here())
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if isinstance(module, Module) and module.scope is not None:
            self.event("exec", code, tuple(self._named_in(tree, module.scope)))
            self._set_by(tree, module.scope, code)

    def _set_by(self, tree: ast.AST, scope: Scope, code: str) -> None:
        """Set what text sets of what it names."""
        for node in walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                try:
                    owner = self.value(node.value, scope)
                except Raised:
                    continue
                self.set_attribute(owner, node.attr, Unknown(("exec", code)))

    def _named_in(self, tree: ast.AST, scope: Scope) -> Iterator[Key]:
        """Give what the names of some code lead to, in the module around it."""
        for node in walk(tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                chain = dotted(node)
                try:
                    value = self.look_up(chain[1][0], scope) if chain else NONE
                    for part in chain[1][1:] if chain else ():
                        value = self.attribute(value, part)
                except Raised as error:
                    yield error.error
                    continue
                yield key(value)

    def _here_names(self) -> Value | None:
        module = self.modules.get(self.here()) if not self.stack else None
        if isinstance(module, Module):
            self.running = module.scope
            return Names(module)
        return None

    running: Scope | None = None

    def _len(self, given: list[Value], named: Named) -> Value | None:
        owner = self.pick(given[0]) if given else None
        if isinstance(owner, Collection):
            self.observe_object(owner)
            if not any(isinstance(item, Unknown) for item in owner.items):
                return Constant(len(owner.items))
        elif isinstance(owner, Constant) and isinstance(owner.value, (str, bytes)):
            return Constant(len(owner.value))
        elif isinstance(owner, Instance):
            return self.operate("len", owner)
        return None

    def _collection(self, given: list[Value], named: Named) -> Value | None:
        raise NotImplementedError

    def _enumerated(self, given: list[Value], named: Named) -> Value | None:
        raise NotImplementedError

    def _zipped(self, given: list[Value], named: Named) -> Value | None:
        raise NotImplementedError

    def _mapped(self, given: list[Value], named: Named) -> Value | None:
        """Call the tree's own function with each item that is known."""
        values = [*map(self.pick, given)]
        known = [value for value in values[1:] if isinstance(value, Collection)]
        if len(values) < 2 or not isinstance(values[0], Function) or len(known) != len(values) - 1:
            return self._sorted(given, named)
        for value in known:
            self.observe_object(value)
        rows = zip(*(value.items for value in known), strict=False)
        found = [self.call(values[0], list(row), {}) for row in [*rows][:MOST_ITEMS]]
        return self.collection("list", found)

    def _reduced(self, given: list[Value], named: Named) -> Value | None:
        """Call a function with each of some known items, and what it gave before."""
        items = self.pick(given[1]) if len(given) > 1 else None
        if not isinstance(items, Collection) or len(items.items) > MOST_ITEMS:
            return self._sorted(given, named)
        self.observe_object(items)
        rest = [*given[2:3], *items.items]
        found = rest[0] if rest else NONE
        for item in rest[1:]:
            found = self.call(given[0], [found, item], {})
        return found

    def _dict(self, given: list[Value], named: Named) -> Value | None:
        if given:
            return None
        return self.mapping([Constant(name) for name in named], list(named.values()))

    def _str(self, given: list[Value], named: Named) -> Value | None:
        first = self.pick(given[0]) if given else None
        if isinstance(first, Constant) and not first.own:
            return Constant(str(first.value))
        return self.operate("str", first) if isinstance(first, Instance) else None

    def _copied(self, kind: str, given: list[Value], named: Named) -> Value | None:
        """Give a list or tuple of texts and numbers that are known."""
        items = self._known_items(given)
        return self._collection(given, named) if items is None else self.collection(kind, items)

    def _in_order(self, given: list[Value], named: Named) -> Value | None:
        items = self._known_items(given) if not named else None
        texts = [str(literal(item)) for item in items or () if type(literal(item)) is str]
        if items is None or len(texts) != len(items):
            return self._sorted(given, named)
        return self.collection("list", [Constant(text) for text in sorted(texts)])

    def _known_items(self, given: list[Value]) -> list[Value] | None:
        """List what a container holds, if it is texts and numbers alone."""
        first = self.pick(given[0]) if len(given) == 1 else None
        if not isinstance(first, Collection) or first.kind == "set":
            return None
        held = [*map(self.pick, first.names if first.kind == "dict" else first.items)]
        if not all(isinstance(item, Constant) and not item.own for item in held):
            return None
        self.observe_object(first)
        return held

    def _sorted(self, given: list[Value], named: Named) -> Value | None:
        for value in (*given, *named.values()):
            if isinstance(self.pick(value), (Function, Bound, Class)):
                return self.act("call", "builtins.sorted", given, named)
        return None

    def _isinstance(self, given: list[Value], named: Named) -> Value | None:
        values = [self.pick(value) for value in given]
        if any(
            isinstance(v, Instance) or (isinstance(v, Class) and self.hooked(v)) for v in values[1:]
        ):
            return self.operate("isinstance", *values)
        known = _is_of(values[0], values[1]) if len(values) == 2 and not named else None
        if known is not None:
            return Constant(known)
        return Unknown(("isinstance", tuple(map(key, values)), *self._subclasses_now()))

    def _issubclass(self, given: list[Value], named: Named) -> Value | None:
        values = [self.pick(value) for value in given]
        if self._subclasses_now() and not any(map(self.acts, values)):
            return Unknown(("issubclass", tuple(map(key, values)), *self._subclasses_now()))
        return None

    def _subclasses_now(self) -> tuple[Key, ...]:
        """Give what was registered as a subclass so far, if anything was."""
        version = self.versions.get("subclasses")
        return () if version is None else (key(version),)

    def _super(self, given: list[Value], named: Named) -> Value | None:
        return Unknown(("super", tuple(map(key, given))))

    def _type(self, given: list[Value], named: Named) -> Value | None:
        first = self.pick(given[0]) if given else None
        if len(given) == 1:
            if isinstance(first, ModuleValue):
                return Outside("types.ModuleType")
            return first.of if isinstance(first, Instance) else Unknown(("type", told(given, {})))
        bases = self.pick(given[1]) if len(given) == 3 else None
        plain = isinstance(bases, Collection) and not any(
            self.hooked(base) or self.in_class(base, "__init_subclass__") for base in bases.items
        )
        if plain:
            return Product("builtins.type", told(given, named), self.make(), self.space())
        return self.act("call", "builtins.type", given, named)

    def _object(self, given: list[Value], named: Named) -> Value | None:
        return Product("builtins.object", (), self.make(), self.space())

    def _partial(self, given: list[Value], named: Named) -> Value | None:
        for value in (*given, *named.values()):
            self.handed(value)
        if not given:
            return None
        held = self.space(
            {
                "(given)": self.collection("tuple", given[1:]),
                "(named)": self.mapping([Constant(name) for name in named], list(named.values())),
            }
        )
        return Product("functools.partial", told(given, named), self.make(), held, given[0])

    def _sys_modules(self, given: list[Value], named: Named) -> Value | None:
        first = self.pick(given[0]) if given else None
        if not (isinstance(first, Constant) and first.own):
            self.stain()  # whatever else was imported is seen
        if isinstance(first, Constant) and first.value in self.modules:
            return self.as_value(self.modules[str(first.value)])
        return Unknown(("sys.modules", told(given, named)))

    def unload(self, given: Sequence[Value]) -> None:
        """Note that a module is taken out of `sys.modules`, to be run again by its next import."""
        first = self.pick(given[0]) if given else None
        if isinstance(first, Constant) and isinstance(first.value, str):
            self.open("reloads", first.value)

    def _sys_path(self, given: list[Value], named: Named, *, first: bool = False) -> Value | None:
        """Search what is added; where that cannot be told, the top of the tree and `src`."""
        added = self.pick(given[-1]) if given else None
        parts = added.items if isinstance(added, Collection) else [added]
        for part in parts:
            plain = isinstance(part, Constant) and isinstance(part.value, str)
            text = str(part.value).strip("./") if isinstance(part, Constant) and plain else ""
            wanted = [text] if plain else ["", "src"]
            there = [f for f in wanted if f in self.tree.folders]
            if first and plain:
                self.folders[:] = [*there, *(f for f in self.folders if f not in there)]
            self.folders += [f for f in there if f not in self.folders]
        self.event("call", "sys.path", len(given))
        return NONE

    def _listing(self, given: list[Value], named: Named) -> Value | None:
        """Note that a folder is listed; which one is told by what the path was made of."""
        for folder in sorted(folders_in(told(given, named))):
            self.open("lists the folder", folder)
        return Unknown(("listing", told(given, named)))


def sorted_names(names: Sequence[Value]) -> list[Value]:
    """Sort names as `dir` does."""
    return sorted(names, key=lambda name: str(literal(name)))


def _is_register(of: Key) -> bool:
    """Tell whether what is called may be the `register` of an abstract base class."""
    if isinstance(of, str):
        return of.endswith(".register")
    how = of[-1] if isinstance(of, tuple) and of[:1] == ("unknown",) else ()
    return isinstance(how, tuple) and how[:1] == ("attribute",) and how[-1] == "register"


def _is_of(value: Value, kinds: Value) -> bool | None:
    """Tell whether a plain value is of one of several built-in types, where that can be told."""
    if isinstance(kinds, Collection) and kinds.kind == "tuple":
        found = [_is_of(value, kind) for kind in kinds.items]
        return True if True in found else None if None in found else False
    if not isinstance(kinds, Outside) or not kinds.name.startswith("builtins."):
        return None
    kind = getattr(builtins, kinds.name.removeprefix("builtins."), None)
    if not isinstance(kind, type):
        return None
    known = _type_of(value)
    if known is not None:
        return issubclass(known, kind)
    return False if isinstance(value, ModuleValue) and kind in _KINDS.values() else None


_OWN_NAMES = (
    "__name__",
    "__doc__",
    "__package__",
    "__loader__",
    "__spec__",
    "__file__",
    "__builtins__",
)
# Calls that do nothing to what they are handed.
_SHOWING = {"builtins.print", "builtins.sorted", "builtins.map", "builtins.setattr"}
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")  # read by name off the module of a dataclass
# Built-in functions that do not look at what a dictionary holds.
_NOT_LOOKING = frozenset(
    f"builtins.{name}" for name in ("id", "type", "isinstance", "callable", "getattr", "hasattr")
)


def _type_of(value: Value) -> type | None:
    """Give the type of a value that is of one of Python's own."""
    if isinstance(value, Constant):
        return type(value.value)
    if isinstance(value, Collection):
        return _KINDS.get(value.kind)
    if isinstance(value, Class):
        return type  # or of one that is made from it
    return FunctionType if isinstance(value, Function) else None


def told(given: Sequence[Value], named: Named) -> Key:
    """Give the arguments of a call as a key."""
    words = tuple(sorted((name, key(value)) for name, value in named.items()))
    return tuple(map(key, given)), words


def unnamed(told_key: Key) -> Key:
    """Take the names of the modules that use their own name out of a key."""
    if not isinstance(told_key, tuple):
        return told_key
    if len(told_key) == 2 and told_key[0] == "own name":
        return (OWN,)
    return tuple(map(unnamed, told_key))


def _whole(value: Value) -> Value:
    """Give a text that is put together of known ones and of a module's own name as it is."""
    how = value.how if isinstance(value, Unknown) else ()
    if not isinstance(how, tuple) or how[:1] not in (("text",), ("Add",)):
        return value
    said = []
    for part in how[1:]:
        if not isinstance(part, tuple) or len(part) != len((OWN, "")):
            return value
        if part[0] not in ("str", OWN):
            return value
        said.append(str(part[1]) if part[0] == OWN else str(ast.literal_eval(str(part[1]))))
    return Constant("".join(said))


def literal(value: Value) -> object:
    """Give a value as Python's own, or `UNBOUND` where it is none."""
    if isinstance(value, Constant):
        return UNBOUND if value.own else value.value
    if isinstance(value, Collection) and value.kind in ("list", "tuple"):
        parts = [literal(item) for item in value.items]
        if any(part is UNBOUND for part in parts):
            return UNBOUND
        return parts if value.kind == "list" else tuple(parts)
    return UNBOUND


def pattern(value: Value | None) -> str:
    """Give the literal parts of a text that is put together at run time, `*` for the others."""
    if isinstance(value, Constant):
        return str(value.value)
    if not isinstance(value, Unknown):
        return "*"
    if listed := _listed_of(value.how):
        return f"{OF_MODULE} {listed}"
    parts = list(_parts(value.how))
    return "".join(parts) if parts else "*"


def _listed_of(how: Hashable) -> str:
    """Give the module of whose names a value is one, if a body that is read runs through them."""
    of_pairs = isinstance(how, tuple) and how[:2] == ("part", 0)
    item = how[2] if of_pairs else ("unknown", how)  # type: ignore[index]
    match item:
        case ("unknown", ("iterate", ("names of", str(module)))) if not of_pairs:
            return module
        case ("unknown", ("iterate", ("unknown", ("names", str(module))))) if not of_pairs:
            return module
        case ("unknown", ("iterate", ("unknown", ("names", str(method), str(module))))):
            return module if method == (".items" if of_pairs else ".keys") else ""
    return ""


def _parts(how: Hashable) -> list[str]:
    if isinstance(how, tuple):
        if len(how) == 2 and how[0] == "str" and isinstance(how[1], str):
            return [how[1][1:-1]]
        if len(how) == 2 and how[0] == OWN and isinstance(how[1], str):
            return [how[1]]
        if how and how[0] in ("Add", "Mod", "text", "method", "unknown"):
            return [part for inner in how[1:] for part in _parts(inner)] or ["*"]
        if how and all(isinstance(inner, tuple) for inner in how):
            return [part for inner in how for part in _parts(inner)]
        return ["*"]
    return []


def folders_in(told_key: Hashable) -> set[str]:
    """Find the folders whose `__file__` or `__path__` a value was made of."""
    found: set[str] = set()
    todo = [told_key]
    while todo:
        at = todo.pop()
        if isinstance(at, tuple):
            if len(at) == 2 and at[0] in ("__file__", "__path__") and isinstance(at[1], str):
                found.add(at[1])
            todo.extend(at)
    return found


def _texts_of(value: Collection) -> list[str]:
    """Give the texts that a collection lists."""
    return [str(item.value) for item in value.items if isinstance(item, Constant)]
