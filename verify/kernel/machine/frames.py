"""Questions of where something stands: its module, its file, its source, the frames that run."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from functools import lru_cache

from verify.kernel.machine.imports import Imports, Sites
from verify.kernel.machine.values import (
    Bound,
    Class,
    Constant,
    Function,
    Instance,
    ModuleValue,
    Outside,
    Product,
    Unknown,
    Value,
)
from verify.kernel.trees.nodes import of_kind
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import words

_SOURCES = words(
    """inspect.getsource inspect.getsourcefile inspect.getsourcelines inspect.getfile
    inspect.getabsfile inspect.getmodule inspect.findsource inspect.getmodulename"""
)
_WRITES = words("enum.global_enum enum.global_flag_repr enum._old_convert_")
FRAMES = words(
    """sys._getframe sys._getframemodulename inspect.stack inspect.currentframe
    traceback.extract_stack inspect.getouterframes"""
)
_ASKING = words(
    """__module__ __globals__ getsource getsourcefile getsourcelines getfile getabsfile getmodule
    findsource _getframe _getframemodulename currentframe stack extract_stack co_filename
    co_firstlineno stacklevel"""
)
# What makes something that stands where it is made, as a class does.
_CLASSES = words(
    """collections.namedtuple typing.NamedTuple typing.TypedDict typing.NewType typing.TypeVar
    typing.ParamSpec enum.Enum enum.IntEnum enum.Flag enum.IntFlag enum.StrEnum builtins.type
    dataclasses.make_dataclass"""
)
WARNED = "the file of its caller, to warn"
WARNED_AS_SCRIPT = "the file of its caller, to warn of what it shows for scripts alone"
_SHOWN_OF_ALL = words(
    """builtins.Warning builtins.UserWarning builtins.FutureWarning builtins.RuntimeWarning
    builtins.SyntaxWarning builtins.UnicodeWarning builtins.BytesWarning"""
)
_CODE = ("co_filename", "co_firstlineno")
ASKED = frozenset({"__module__", "__globals__", *_CODE})  # attributes that say where


class Frames(Imports):
    """The part of the machine that notes who asks where something stands."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__(tree, sites, folders)
        # what is asked for, whose it is, and where
        self.asked: dict[tuple[str, Hashable, str, int], None] = {}

    def _ask_where(self, what: str, whose: Hashable) -> None:
        path, line = self.at[-1]
        self.asked[what, whose, path, line] = None

    def ask_attribute(self, owner: Value, name: str) -> None:
        """Note that an attribute is read that says where its owner stands."""
        if name in ("__module__", "__globals__"):
            self._ask_of(f"its `{name}`", owner)
        elif name in _CODE and isinstance(owner, Unknown):
            how = owner.how
            if isinstance(how, tuple) and len(how) == 3 and how[2] == "__code__":
                self._ask_where(f"its `{name}`", _function_of(how[1]))

    def ask_call(self, name: str, given: Sequence[Value], named: dict[str, Value]) -> None:
        """Note that something outside is called that looks where its argument or caller stands."""
        if name in _WRITES and given:
            self._ask_of(f"the names of its module, to add some (`{name}`)", self.pick(given[0]))
        elif name in _SOURCES and given:
            self._ask_of(f"its source or file (`{name}`)", self.pick(given[0]))
        elif name in FRAMES:
            for function in self.stack[:-1]:
                self._ask_where(f"the frame of its caller (`{name}`)", function.name)
            self._ask_where(f"the frame of its caller (`{name}`)", self.site)
        elif name == "builtins.globals" and self.stack:  # however it was got hold of
            self._ask_where("the names of its module (`globals`)", self.stack[-1].name)
        elif name == "warnings.warn":
            level = named.get("stacklevel", given[2] if len(given) > 2 else None)
            if level is not None:
                category = named.get("category", given[1] if len(given) > 1 else None)
                text = self.pick(given[0]) if given else None
                plain = _is_text(text) and _is_shown(category and self.pick(category))
                self._ask_level(self.pick(level), WARNED if plain else WARNED_AS_SCRIPT)

    def _ask_level(self, level: Value, what: str) -> None:
        """Note whose file and line a warning shows."""
        number = level.value if isinstance(level, Constant) else None
        if isinstance(number, int) and 1 < number <= len(self.stack):
            self._ask_where(what, self.stack[-number].name)
        elif isinstance(number, int) and number == len(self.stack) + 1:
            self._ask_where(what, self.site)

    def _ask_of(self, what: str, owner: Value) -> None:
        if isinstance(owner, Bound):
            owner = owner.method
        if isinstance(owner, Product) and owner.wraps is not None:
            owner = owner.wraps
        if isinstance(owner, Product) and owner.maker in _CLASSES:
            self._ask_where(what, owner.made)
        if isinstance(owner, Instance):
            owner = owner.of
        if isinstance(owner, (Class, Function)):
            self._ask_where(what, owner.name)
        elif isinstance(owner, ModuleValue):
            self._ask_where(what, owner.module.name)


def _is_text(value: Value | None) -> bool:
    """Tell whether a value is a text: a warning has a category of its own."""
    how = value.how if isinstance(value, Unknown) else ()
    put_together = isinstance(how, tuple) and how[:1] == ("text",)
    return put_together or (isinstance(value, Constant) and isinstance(value.value, str))


def _is_shown(category: Value | None) -> bool:
    """Tell whether Python shows a warning of a category whoever warns: a script or a module."""
    if category is None:
        return True  # a `UserWarning`
    return isinstance(category, Outside) and category.name in _SHOWN_OF_ALL


def _function_of(told: Hashable) -> Hashable:
    """Give the name of the function that a key is of, or of a method's."""
    while isinstance(told, tuple) and len(told) > 1 and told[0] in ("bound", "function"):
        told = told[2] if told[0] == "bound" else told[1]
    return told


@lru_cache(maxsize=1 << 15)
def asks(node: ast.AST) -> frozenset[str]:
    """Give the words of a body by which it may ask where something stands."""
    said: set[object] = {part.id for part in of_kind(node, ast.Name)}
    said.update(part.attr for part in of_kind(node, ast.Attribute))
    said.update(part.arg for part in of_kind(node, ast.arg))
    said.update(part.arg for part in of_kind(node, ast.keyword))
    found = said & _ASKING
    texts = (part.value for part in of_kind(node, ast.Constant))
    found |= {text for text in texts if isinstance(text, str) and text in _ASKING}
    for call in of_kind(node, ast.Call) if "warn" in said else ():
        if getattr(call.func, "attr", "") == "warn" and len(call.args) > 2:
            found.add("stacklevel")
    return frozenset(map(str, found))
