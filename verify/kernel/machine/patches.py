"""Patches: calls that replace a name of a module, which they name by a text or hand on as a value.

Which module is named follows who reads the name; that is compared by who reaches whom. What the
call does is the same wherever that is, so the module is taken out of what it is given.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence

from verify.kernel.machine.calls import Calls, Named
from verify.kernel.machine.imports import Sites
from verify.kernel.machine.state import Raised
from verify.kernel.machine.values import (
    NONE,
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
    Scope,
    Unknown,
    Value,
    key,
)
from verify.kernel.trees.effects import PATCHING
from verify.kernel.trees.source import OpaqueError, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import words

OWN_WORDS = words("spec create spec_set autospec new_callable values clear")  # of `patch` itself
_GIVEN = ("target", "attribute")  # of `patch` and its like, where they are not given by place
Replaced = tuple[Module, str, Value]  # a module's name, and what it was


class Patches(Calls):
    """The part of the machine that knows what patches replace."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__(tree, sites, folders)
        self.patched: dict[str, Hashable] = {}  # what each text that was patched leads to

    def patch(self, function: Value, given: list[Value], named: Named) -> list[Value]:
        """Note what a call replaces, and give its arguments without the module that they name."""
        last = last_name(function)
        if last in PATCHING and not given:
            given = [named.pop(word) for word in _GIVEN if word in named]
        if last == "delitem" and len(given) > 1 and _is_loaded(self.pick(given[0])):
            self.unload(given[1:])
        if last not in PATCHING or not given or isinstance(function, (Function, Class, Instance)):
            return given
        first = self.pick(given[0])
        if isinstance(first, Constant) and isinstance(first.value, str):
            return self._by_text(last, first.value, given, named)
        if last == "object":
            self.touch(first)
        if last == "dict" and isinstance(first, Names):
            self._patch_names(first.module, given[1:], named)
        if isinstance(first, ModuleValue):
            second = self.pick(given[1]) if len(given) > 1 else None
            wanted = [str(second.value)] if isinstance(second, Constant) else []
            wanted += [word for word in named if word not in OWN_WORDS and last == "multiple"]
            for name in wanted:
                self.note_write(first.module, name)
            understood = isinstance(function, Outside) and function.name.startswith("builtins.")
            if wanted and not understood and stands_for_patch(function):
                there = all(name in first.module.names for name in wanted)
                return [Constant(("patched module", there)), *given[1:]]
        return given

    def _patch_names(self, module: Module, given: list[Value], named: Named) -> None:
        """Note what `patch.dict` sets among the names of a module."""
        wanted = [word for word in named if word not in OWN_WORDS]
        items = self.pick(given[0] if given else named.get("values", NONE))
        keys = items.names if isinstance(items, Collection) else ()
        wanted += [str(name.value) for name in map(self.pick, keys) if isinstance(name, Constant)]
        for name in wanted:
            self.note_write(module, name)

    def _by_text(self, last: str, text: str, given: list[Value], named: Named) -> list[Value]:
        if last == "multiple":
            found = self.target(f"{text}.*")
            if found is None or not isinstance(found[0], ModuleValue):
                return given
            module = found[0].module
            wanted = [word for word in named if word not in OWN_WORDS]
            for word in wanted:
                self.note_write(module, word)
            self.patched[text] = "names of a module"
            there = all(self._there(module, word) for word in wanted)
            return [Constant(("patched module", there)), *given[1:]]
        found = self.target(text)
        if found is None:
            return given
        owner, name = found
        if last == "dict":
            return self._dict_by_text(text, owner, name, given, named)
        if isinstance(owner, ModuleValue):
            self.note_write(owner.module, name)
            told: Hashable = "name", name, self._there(owner.module, name)
        else:
            told = "attribute", key(owner), name
        self.patched[text] = told
        return [Constant(("patched", told)), *given[1:]]

    def _dict_by_text(
        self, text: str, owner: Value, name: str, given: list[Value], named: Named
    ) -> list[Value]:
        if isinstance(owner, ModuleValue) and name == "__dict__":
            self._patch_names(owner.module, given[1:], named)
            self.patched[text] = "names of a module"
            return [Constant(("patched module",)), *given[1:]]
        held = self._held(owner, name)
        if held is None and not isinstance(owner, Class):
            return given
        self.patched[text] = "object", key(held) if held else (key(owner), name)
        return [held or Constant(("patched", self.patched[text])), *given[1:]]

    def _there(self, module: Module, name: str) -> bool:
        """Tell whether a module has a name; of one that nobody has loaded, by how it is spelled."""
        if module.names or not module.path:
            return name in module.names or not module.path
        try:
            body = self.tree.source(module.path).tree.body
        except OpaqueError:
            return True
        bound = {word for node in body for word in stored(node)}
        return not bound.isdisjoint({name, "*", "__getattr__"})

    def _held(self, owner: Value, name: str) -> Value | None:
        try:
            return self.attribute(owner, name)
        except Raised:
            return None

    def enter_patch(
        self, manager: Product, call: ast.expr, scope: Scope, replaced: list[Replaced]
    ) -> Value:
        """Replace what a patch names, as `with` does. Notes what to put back."""
        if not isinstance(call, ast.Call) or not call.args:
            return Unknown(("entered", key(manager)))
        value: Value = Unknown(("patched", key(manager)))
        owner, new = self._replaces(manager, call, scope)
        for name, given in new.items():
            value = self.value(given, scope) if given is not None else value
            if isinstance(owner, ModuleValue) and name:
                before = self.attribute(owner, name)
                self.write(owner.module, name, value)
                replaced.append((owner.module, name, before))
        return value

    def _replaces(
        self, manager: Product, call: ast.Call, scope: Scope
    ) -> tuple[Value, dict[str, ast.expr | None]]:
        """Give whose names a patch replaces, and with what."""
        more = call.args[1:]
        first = self.pick(self.value(call.args[0], scope))
        text = str(first.value) if isinstance(first, Constant) else ""
        if manager.maker.endswith(".multiple"):
            owner = (self.target(f"{text}.*", load=True) or (first, ""))[0] if text else first
            given = [(word.arg, word.value) for word in call.keywords]
            return owner, {word: new for word, new in given if word and word not in OWN_WORDS}
        if text:
            owner, name = self.target(text, load=True) or (first, "")
            return owner, {name: more[0] if more else None}
        second = self.pick(self.value(more[0], scope)) if more else NONE
        name = str(second.value) if isinstance(second, Constant) else ""
        return first, {name: more[1] if len(more) > 1 else None}

    def target(self, text: str, *, load: bool = False) -> tuple[Value, str] | None:
        """Give whose attribute a dotted path names, and which; modules may not be loaded yet."""
        *parts, last = text.split(".")
        owner: Value | None = None
        rest = parts
        folders: Sequence[str] = self.folders
        for index, part in enumerate(parts):
            found = self.tree.find(part, folders)
            if found is None:
                break
            name = ".".join(parts[: index + 1])
            if load:
                owner = self.load(name)
            else:
                known = self.modules.get(name)
                made = known if isinstance(known, Module) else None
                owner = ModuleValue(made or Module(name, found.path, found.kind, found.folders))
            rest = parts[index + 1 :]
            folders = found.folders
        if owner is None:
            return (Outside(".".join(parts)), last) if parts else None
        for part in rest:
            held = self._held(owner, part) or self._class(owner, part)
            if held is None or held is UNBOUND:
                return None
            owner = self.pick(held)
        return owner, last

    def _class(self, owner: Value, name: str) -> Value | None:
        """Give a class of a module that nobody has loaded, by how it is spelled."""
        if not isinstance(owner, ModuleValue) or owner.module.names or not owner.module.path:
            return None
        try:
            body = self.tree.source(owner.module.path).tree.body
        except OpaqueError:
            return None
        found = [(at, node) for at, node in enumerate(body) if name in stored(node)]
        at, node = found[0] if len(found) == 1 else (0, None)
        if not isinstance(node, ast.ClassDef) or node.decorator_list:
            return None
        made = ("definition", self.sites(owner.module.path, at), name), 1
        scope = Scope("class", {}, None, owner.module)
        return Class(made, name, [], {}, False, node, scope)


def _is_loaded(value: Value) -> bool:
    return isinstance(value, Outside) and value.name == "sys.modules"


def stands_for_patch(function: Value) -> bool:
    """Tell whether what is called is `patch`, `monkeypatch` or another of that kind by its name."""
    if isinstance(function, Outside):
        return function.name.startswith(("unittest.mock.", "mock.", "pytest."))
    if isinstance(function, Product):
        return function.maker.startswith("unittest.mock.")
    return isinstance(function, Unknown) and is_patch_name(str(function.how))


def is_patch_name(text: str) -> bool:
    """Tell whether something is called after what patches."""
    return "patch" in text or "mock" in text


def last_name(function: Value) -> str:
    """Give the last name of what is called, whatever it is."""
    if isinstance(function, Bound):
        function = function.method
    if isinstance(function, Outside):
        return function.name.rpartition(".")[2]
    if isinstance(function, Product):
        return function.maker.rpartition(".")[2]
    how = function.how if isinstance(function, Unknown) else ()
    last = how[-1] if isinstance(how, tuple) and how else ""
    return last if isinstance(last, str) else ""
