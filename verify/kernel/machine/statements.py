"""Statements: the whole machine."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from verify.kernel.machine.calls import Returned, literal
from verify.kernel.machine.cut import only_makes_values
from verify.kernel.machine.expressions import Expressions, builtin_error, names_what_it_sets
from verify.kernel.machine.imports import Sites
from verify.kernel.machine.objects import held_by, identity
from verify.kernel.machine.patches import Replaced
from verify.kernel.machine.scopes import binds, parameters, type_parameters
from verify.kernel.machine.state import Raised
from verify.kernel.machine.units import LOAD
from verify.kernel.machine.values import (
    NONE,
    Class,
    Collection,
    Constant,
    Function,
    Instance,
    Key,
    Made,
    Module,
    ModuleValue,
    Names,
    Outside,
    Product,
    Scope,
    Space,
    Unknown,
    Value,
    compact,
    key,
)
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import imports_only, last
from verify.kernel.trees.tree import Tree

MOST_TURNS = 20  # of a `while` whose condition is known


_NOTHING = ast.Constant(None)


# Of what ends exceptions, the calls that say which.
_NAMES = (ast.Name, ast.Attribute)
_MADE_FOR = frozenset(name.rpartition(".")[2] for name in effects.SWALLOWING)


class LeftError(Exception):
    """`break` or `continue`."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again


@dataclass(slots=True)
class Definition:
    """A function or class that a run made at its top level, and what was evaluated with it."""

    value: Function | Class
    parts: tuple[Hashable, ...]
    notes: tuple[Hashable, ...] | None = None  # annotations of a function, if they are evaluated


class Machine(Expressions):
    """The abstract machine: runs the top level of modules."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__(tree, sites, folders)
        self.guards: dict[tuple[str, int], ast.expr] = {}  # conditions that act

    # --- blocks ---

    def block(self, body: list[ast.stmt], scope: Scope) -> None:
        """Run the statements of a block."""
        for node in body:
            self.run(node, scope)

    def run(self, node: ast.stmt, scope: Scope) -> None:
        """Run one statement."""
        self.step()
        self.at[-1] = scope.module.path, node.lineno
        method: Callable[[ast.stmt, Scope], None] = getattr(
            self, f"_do_{type(node).__name__.lower()}"
        )
        method(node, scope)

    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        self.import_module(node, scope)

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.import_from(node, scope)

    def _do_pass(self, node: ast.stmt, scope: Scope) -> None:
        pass

    _do_global = _do_nonlocal = _do_pass

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        self.idle = node.value
        self.value(node.value, scope)
        self.idle = None

    def _do_return(self, node: ast.Return, scope: Scope) -> None:
        raise Returned(self.value(node.value, scope) if node.value else NONE)

    def _do_break(self, node: ast.stmt, scope: Scope) -> None:
        raise LeftError(again=False)

    def _do_continue(self, node: ast.stmt, scope: Scope) -> None:
        raise LeftError(again=True)

    def _do_raise(self, node: ast.Raise, scope: Scope) -> None:
        value = self.pick(self.value(node.exc, scope)) if node.exc else NONE
        error, about = builtin_error(value) or "Exception", ""
        if isinstance(value, (Unknown, Product)):
            error, about = self._raised(value)
        elif isinstance(value, (Instance, Class)):
            raise Raised(self._own_error(value), value=value)
        raise Raised(error, str(about))

    def _raised(self, value: Unknown | Product) -> tuple[str, str]:
        if isinstance(value, Product):
            told = compact(value.arguments)
            return value.maker.rpartition(".")[2], repr(told)[:200]
        return "Exception", ""

    def _own_error(self, value: Instance | Class) -> str:
        of = value.of if isinstance(value, Instance) else value
        for base in self.outer_bases(of):
            name = builtin_error(base)
            if name:
                return name
        return "Exception"

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        value = self.value(node.test, scope)
        if not self.probing and isinstance(self.pick(value), (Constant, Collection)):
            if not self.truth(value):
                raise Raised("AssertionError")
        elif not self.probing and isinstance(self.pick(value), (Instance, Unknown)):
            self.event("assert", key(value))  # who fails here goes no further

    # --- binding ---

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind a target."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value, scope)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.value(target.value, scope), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value, scope)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part, item in zip(target.elts, self.parts(value, len(target.elts)), strict=True):
                self.assign(part, item, scope)

    def _assign_item(self, target: ast.Subscript, value: Value, scope: Scope) -> None:
        owner = self.pick(self.value(target.value, scope))
        name = self.pick(self.value(target.slice, scope))
        if isinstance(owner, Names) and isinstance(name, Constant):
            self.write(owner.module, str(name.value), value)
        elif isinstance(owner, Collection) and owner.kind in ("dict", "list"):
            self.set_item(owner, name, value)
        elif isinstance(owner, Outside):
            self._assign_outside(owner, target, name, value)
        elif (of := held_by(owner)) is not None:
            self.set_held(of, owner, name, value)
        else:
            self.event("set item", identity(owner), key(name), key(value))
            self.changes[identity(owner)].add(self.site)
            if isinstance(owner, Product):
                self.put(owner.attributes, f"[{key(name)!r}]", value)

    def _assign_outside(
        self, owner: Outside, target: ast.Subscript, name: Value, value: Value
    ) -> None:
        if owner.name == "sys.modules" and isinstance(name, Constant):
            wanted = (self.here() if name.own else "") or str(name.value)
            held = self.pick(value)
            self.put(self.modules, wanted, held.module if isinstance(held, ModuleValue) else held)
        if owner.name == "sys.path" and isinstance(target.slice, ast.Slice):
            held = self.pick(value)
            if isinstance(held, Collection):
                texts = [str(v.value) for v in held.items if isinstance(v, Constant)]
                self.folders[:0] = texts
        self.outside_changed(owner.name, ("item", key(name), key(value)))

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        asked = dict(self.asked) if _hands_on(node) else None
        value = self.value(node.value, scope)
        if asked is not None:
            self.asked = asked
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if not scope.module.postponed and scope.kind != "function":
            self.value(node.annotation, scope)
        if node.value:
            self.assign(node.target, self.value(node.value, scope), scope)
        if scope.kind == "class" and isinstance(node.target, ast.Name):
            # What the annotation means is compared among the references of the class.
            self.put(scope.names, f"(annotation {node.target.id})", NONE)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        one = self.pick(self.value(_loaded(node.target), scope))
        two = self.pick(self.value(node.value, scope))
        if isinstance(one, Collection) and one.kind == "list" and isinstance(two, Collection):
            self.set_items(one, (*one.items, *two.items))
            self._changed(one, "+=", key(two))
            self.assign(node.target, one, scope)
            return
        if isinstance(one, Names) and isinstance(two, Collection):
            self.method(one, ".update", [two], {})
            return
        plain = ast.BinOp(_Given(one), node.op, _Given(two))
        if isinstance(one, Collection) and one.kind not in ("tuple", "list"):
            self._changed(one, type(node.op).__name__, key(two))
            self.set_items(one, [*one.items, Unknown(("changed", key(two)))], None)
            return
        self.assign(node.target, self.value(plain, scope), scope)

    def _on__given(self, node: ast.expr, scope: Scope) -> Value:
        value = getattr(node, "held", NONE)
        return value if isinstance(value, Value) else NONE

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                within = target.id in scope.globals
                names = scope.module.names if within else scope.names
                if target.id not in names and not self.probing:
                    raise Raised("NameError", target.id)
                self.remove(names, target.id)
            elif isinstance(target, ast.Attribute):
                self.delete_attribute(self.value(target.value, scope), target.attr)
            elif isinstance(target, ast.Subscript):
                self._delete_item(target, scope)

    def _delete_item(self, target: ast.Subscript, scope: Scope) -> None:
        owner = self.pick(self.value(target.value, scope))
        name = self.pick(self.value(target.slice, scope))
        if isinstance(owner, Outside) and owner.name == "sys.modules":
            if isinstance(name, Constant):
                self.forget(str(name.value))
            self.unload([name])
            self.event("unload", key(name))
            return
        if isinstance(owner, Names) and isinstance(name, Constant):
            self.delete_attribute(ModuleValue(owner.module), str(name.value))
            return
        if isinstance(owner, Collection):
            self._changed(owner, "delete item", key(name))
        else:
            self.event("delete item", identity(owner), key(name))
            self.changes[identity(owner)].add(self.site)
        if isinstance(owner, Collection) and owner.kind == "list":
            self.blur(owner, "without", key(name))
        if isinstance(owner, Collection) and owner.kind == "dict":
            wanted = key(name)
            kept = [p for p in zip(owner.names, owner.items, strict=True) if key(p[0]) != wanted]
            self.set_items(owner, [value for _, value in kept], [one for one, _ in kept])

    def _do_typealias(self, node: ast.stmt, scope: Scope) -> None:
        name = getattr(node, "name", None)
        if isinstance(name, ast.Name):
            self.bind(name.id, Unknown(("alias", self.site, name.id)), scope)

    # --- conditions and loops ---

    def _do_if(self, node: ast.If, scope: Scope) -> None:
        events = len(self.trace)
        test = self.pick(self.value(node.test, scope))
        if any(event.what[0] != LOAD for event in self.trace[events:]):
            self.guards[scope.module.path, node.lineno] = node.test
        if self.probing and not isinstance(test, Constant):
            self.truth_of_unknown(test)
            self.each_way(scope, node.body, node.orelse)
            return
        self.block(node.body if self.truth(test) else node.orelse, scope)

    def each_way(self, scope: Scope, *bodies: list[ast.stmt]) -> None:
        """Run several branches one after the other, whatever way each is left."""
        before, found = dict(scope.names), []
        for body in bodies:
            try:
                self.block(body, scope)
            except (Returned, LeftError):
                self.event("leaves")
            except Raised as error:
                self.event("raises", error.error, error.about, error.outside)
            found.append(dict(scope.names))
        self._either(scope, [before, *found])

    def _either(self, scope: Scope, found: list[Space]) -> None:
        """Join what names are bound to where one of it is a module: it may be any of them."""
        for name in found[-1]:
            values = [names[name] for names in found if name in names]
            if any(isinstance(value, ModuleValue) for value in values):
                options = {key(value): value for value in values}
                if len(options) > 1:
                    told = Unknown(("either", *options), tuple(options.values()))
                    self.put(scope.names, name, told)

    def read_main(self, node: ast.stmt, scope: Scope) -> None:
        """Run what a script does when it is what starts: what it calls is read for itself."""
        self.probing = True
        try:
            self.block(node.body if isinstance(node, ast.If) else [node], scope)
        except (Returned, LeftError):
            self.event("leaves")
        except Raised as error:
            self.event("raises", error.error, error.about, error.outside)
        finally:
            self.probing = False

    def _do_for(self, node: ast.For, scope: Scope) -> None:
        items = self.each(self.value(node.iter, scope), every=names_what_it_sets(node))
        try:
            for item in items:
                self.assign(node.target, item, scope)
                try:
                    self.block(node.body, scope)
                except LeftError as left:
                    if not left.again:
                        raise
            self.block(node.orelse, scope)
        except LeftError:
            pass

    _do_asyncfor = _do_for

    def _do_while(self, node: ast.While, scope: Scope) -> None:
        for turn in range(MOST_TURNS):
            test = self.pick(self.value(node.test, scope))
            known = isinstance(test, Constant) and not self.probing
            if (turn and not known) or not (self.probing or self.truth(test)):
                break
            try:
                self.block(node.body, scope)
            except LeftError as left:
                if not left.again:
                    return
        self.block(node.orelse, scope)

    def _do_with(self, node: ast.With, scope: Scope) -> None:
        patches: list[Replaced] = []
        swallows = False
        for item in node.items:
            manager = self.pick(self.value(item.context_expr, scope))
            swallows |= self._swallows(manager) or self._guards(manager, item, scope)
            entered = self._enter(manager, item, scope, patches)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered, scope)
        try:
            if swallows:
                self._do_try(as_try(node), scope)
            else:
                self.block(node.body, scope)
        finally:
            for module, name, value in reversed(patches):
                self.put(module.names, name, value)

    _do_asyncwith = _do_with

    def _swallows(self, manager: Value) -> bool:
        """Tell whether a manager may end an exception, as `contextlib.suppress` does."""
        if isinstance(manager, Product):
            return manager.maker in effects.SWALLOWING
        leaves = self.in_class(manager.of, "__exit__") if isinstance(manager, Instance) else None
        return isinstance(leaves, Function) and any(
            isinstance(node, ast.Return) and not _is_false(node.value) for node in walk(leaves.node)
        )

    def _guards(self, manager: Value, item: ast.withitem, scope: Scope) -> bool:
        """Tell whether a manager is a generator that goes on where its `yield` raises."""
        made = manager.kind == "generator" if isinstance(manager, Collection) else False
        call = item.context_expr
        if not (made and isinstance(call, ast.Call) and isinstance(call.func, _NAMES)):
            return False
        function = self.pick(self.value(call.func, scope))
        while isinstance(function, Product) and function.wraps is not None:
            function = function.wraps
        return isinstance(function, Function) and any(
            isinstance(node, ast.Try)
            and node.handlers
            and any(isinstance(part, ast.Yield) for inner in node.body for part in walk(inner))
            for node in walk(function.node)
        )

    def _enter(
        self,
        manager: Value,
        item: ast.withitem,
        scope: Scope,
        patches: list[Replaced],
    ) -> Value:
        if isinstance(manager, Product):
            if manager.maker == "contextlib.nullcontext":
                call = item.context_expr
                given = isinstance(call, ast.Call) and call.args
                return self.value(call.args[0], scope) if given else NONE  # type: ignore[attr-defined]
            if manager.maker.startswith("unittest.mock.patch"):
                return self.enter_patch(manager, item.context_expr, scope, patches)
            return Unknown(("entered", key(manager)))
        if isinstance(manager, Instance):
            method = self.in_class(manager.of, "__enter__")
            if method is not None:
                return self.call(method, [manager], {})
        self.event("with", key(manager))
        return Unknown(("entered", key(manager)))

    # --- exceptions ---

    def _do_try(self, node: ast.Try, scope: Scope) -> None:
        try:
            self._guarded(node, scope)
        finally:
            self.block(node.finalbody, scope)

    _do_trystar = _do_try

    def _guarded(self, node: ast.Try, scope: Scope) -> None:
        before = len(self.trace)
        try:
            self._tried(node, scope)
        except Raised as error:
            for handler in node.handlers:
                if self._catches(handler, error, scope):
                    self._handle(handler, error.error, scope, error.value)
                    return
            raise
        if self.probing:
            self.each_way(scope, *(handler.body for handler in node.handlers), node.orelse)
            return
        acted = any(event.acts for event in self.trace[before:])
        if acted and self._may_raise(node, scope):
            return
        self.block(node.orelse, scope)

    def _tried(self, node: ast.Try, scope: Scope) -> None:
        """Run what a `try` guards."""
        caught, alone = bool(node.handlers), bool(node.handlers) and imports_only(node)
        self.tries += caught
        self.only_imports += alone
        try:
            self.block(node.body, scope)
        finally:
            self.tries -= caught
            self.only_imports -= alone

    def _may_raise(self, node: ast.Try, scope: Scope) -> bool:
        """Follow the path on which what acted in a `try` raised, once into each handler."""
        for number, handler in enumerate(node.handlers):
            if self.ask(("raises", self.site, ast.dump(handler), number), default=False):
                self._handle(handler, "Exception", scope)
                return True
        return False

    def _handle(
        self,
        handler: ast.ExceptHandler,
        error: str,
        scope: Scope,
        value: Value | None = None,
    ) -> None:
        if handler.name:
            known = isinstance(value, Instance)
            self.bind(handler.name, value if known else Unknown(("exception", error)), scope)  # type: ignore[arg-type]
        self.block(handler.body, scope)
        if handler.name:
            self.remove(scope.names, handler.name)

    def _catches(self, handler: ast.ExceptHandler, error: Raised, scope: Scope) -> bool:
        if handler.type is None:
            return True
        value = self.pick(self.value(handler.type, scope))
        kinds = value.items if isinstance(value, Collection) else [value]
        raised = effects.errors().get(error.error)
        for kind in map(self.pick, kinds):
            name = builtin_error(kind)
            if raised and name and issubclass(raised, effects.errors()[name]):
                return True
            if isinstance(kind, Class) and error.value is not None:
                of = error.value.of if isinstance(error.value, Instance) else error.value
                if any(one.name == kind.name for one in self.above(of)):
                    return True
            if not name and isinstance(kind, Outside):
                if kind.name.rpartition(".")[2] == error.error:
                    return True
        return False

    def _do_match(self, node: ast.stmt, scope: Scope) -> None:
        subject = self.value(getattr(node, "subject", _NOTHING), scope)
        cases: list[ast.match_case] = getattr(node, "cases", [])
        for case in cases:
            self._pattern(case, subject, scope)
            if self.probing:
                self.each_way(scope, case.body)
            elif _takes_all(case) or self.ask(("case", key(subject), ast.dump(case.pattern))):
                self.block(case.body, scope)
                return

    def _pattern(self, case: ast.match_case, subject: Value, scope: Scope) -> None:
        wholes = _wholes(case.pattern)
        for part in walk(case.pattern):
            if isinstance(part, ast.MatchValue):
                self.operate("match", self.pick(subject), self.value(part.value, scope))
            elif isinstance(part, ast.MatchClass):
                self._of_class_pattern(part, self.pick(subject), self.value(part.cls, scope))
            elif isinstance(part, ast.MatchMapping) and isinstance(subject, Names):
                self._of_names_pattern(part, subject.module)
            for attribute in ("name", "rest"):
                name = getattr(part, attribute, None)
                if isinstance(name, str):
                    captured = Unknown(("captured", name, key(subject)))
                    self.bind(name, subject if part in wholes else captured, scope)
        if case.guard is not None:
            self.value(case.guard, scope)

    def _of_names_pattern(self, part: ast.MatchMapping, module: Module) -> None:
        """Ask a module for the names that are the keys of a pattern."""
        for name in part.keys:
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                found = self.attribute(ModuleValue(module), name.value, NONE)
                self.has_name(ModuleValue(module), Constant(name.value), key(found))

    def _of_class_pattern(self, part: ast.MatchClass, subject: Value, of: Value) -> None:
        """Ask an object whether it is of a class, and for the attributes that a pattern names."""
        self.operate("match", subject, of)
        if isinstance(subject, Instance):
            places = self.in_class(of, "__match_args__")
            names = places.items if isinstance(places, Collection) else ()
            by_place = [str(literal(self.pick(name))) for name in names[: len(part.patterns)]]
            for name in (*by_place, *part.kwd_attrs):
                with suppress(Raised):
                    self.attribute(subject, name)

    # --- definitions ---

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        within: Scope | None = None,
    ) -> Function:
        """Make a function, its defaults evaluated. `within` is what its body sees around it."""
        spec = node.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        defaults: dict[str, Value] = {}
        for name, default in zip(
            names[len(names) - len(spec.defaults) :], spec.defaults, strict=True
        ):
            defaults[name] = self.value(default, scope)
        for arg, optional in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if optional is not None:
                defaults[arg.arg] = self.value(optional, scope)
        made = Function(self._named(node), node, within or scope, defaults, self.space())
        if self.inner is not None:
            self.inner.append(made)
        if isinstance(node, ast.Lambda):
            self._defined(made, tuple((name, key(value)) for name, value in defaults.items()))
        return made

    def _generic(self, node: ast.AST, scope: Scope) -> Scope:
        """Give the scope in which the type parameters of a definition are seen."""
        names = type_parameters(node)
        if not names:
            return scope
        held = {name: Unknown(("type parameter", self.site, name)) for name in sorted(names)}
        return Scope("inner", self.space(dict(held)), scope, scope.module)

    def _named(self, node: ast.AST) -> Made:
        """Name a definition: its statement, and the how-manyth of that name it makes."""
        name = "definition", self.site, getattr(node, "name", "lambda")
        self.counts[name] += 1
        return name, self.counts[name]

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        decorators = [self.value(decorator, scope) for decorator in node.decorator_list]
        within = self._generic(node, scope)
        made = self.function(node, scope, within)
        parts = [*map(key, decorators), *((n, key(v)) for n, v in made.defaults.items())]
        told: tuple[Hashable, ...] | None = None
        if not scope.module.postponed:
            notes = [arg.annotation for arg in parameters(node) if arg.annotation is not None]
            if node.returns:
                notes.append(node.returns)
            told = tuple(_without_texts(key(self.value(note, within))) for note in notes)
        value: Value = made
        for decorator in reversed(decorators):
            value = self.call(decorator, [value], {})
        self._defined(made, tuple(parts), told)
        self.bind(node.name, value, scope)

    _do_asyncfunctiondef = _do_functiondef

    def _defined(
        self,
        made: Function | Class,
        parts: tuple[Hashable, ...],
        notes: tuple[Hashable, ...] | None = None,
    ) -> None:
        if not self.stack and not self.probing:
            found = Definition(made, parts, notes)
            self.put(self.definitions, made.name, found)  # type: ignore[arg-type]

    def _do_classdef(self, node: ast.ClassDef, scope: Scope) -> None:
        decorators = [self.value(decorator, scope) for decorator in node.decorator_list]
        within = self._generic(node, scope)
        given = [*map(self.pick, self.many(node.bases, within))]
        for base in given:
            if not isinstance(base, Instance):
                continue
            entries = self.in_class(base.of, "__mro_entries__")
            if entries is not None:
                self.call(entries, [base, self.collection("tuple", given)], {})
        bases = [*map(_generic, given)]
        words = self._class_words(node, within)
        meta = words.pop("metaclass", None)
        meta = self.pick(meta) if meta is not None else None
        plain = isinstance(meta, Outside) and meta.name in effects.METACLASSES
        attributes = self.space()
        own = Scope("class", attributes, within, scope.module, binds(node).globals)
        hooked = (meta is not None and not plain) or "**" in words
        made = Class(self._named(node), node.name, bases, attributes, hooked, node, own)
        self.block(node.body, own)
        parts = [*map(key, decorators), *map(key, given)]
        parts += [(name, key(value)) for name, value in words.items()]
        self._hooks(made, meta, words)
        value: Value = made
        for decorator in reversed(decorators):
            value = self.call(decorator, [value], {})
        self._defined(made, tuple(parts))
        self.bind(node.name, value, scope)

    def _class_words(self, node: ast.ClassDef, scope: Scope) -> dict[str, Value]:
        """Give the keywords of a class, with those that a known dict brings."""
        found: dict[str, Value] = {}
        for word in node.keywords:
            value = self.pick(self.value(word.value, scope))
            if word.arg:
                found[word.arg] = value
            elif isinstance(value, Collection) and value.kind == "dict":
                names = (str(literal(self.pick(name))) for name in value.names)
                found.update(zip(names, value.items, strict=True))
            else:
                found["**"] = value
        return found

    def _hooks(self, made: Class, meta: Value | None, words: dict[str, Value]) -> None:
        """Do what a new class sets off."""
        if self.hooked(made):
            self.event("class", made.name, key(meta) if meta is not None else "")
        for base in self.outer_bases(made):
            if not self._quiet_base(base):
                self.event("class", made.name, "base", key(base))
        for base in made.bases:
            hook = self.in_class(base, "__init_subclass__")
            if hook is not None:
                inner = hook.wraps if isinstance(hook, Product) and hook.wraps else hook
                self.call(inner, [made], words)
                break
        if self.lists_subclasses and self._listed_below(made):
            self.sees["subclasses",].add(self.site)
            self.changes["subclasses",].add("whoever lists them")
            self.event("class", made.name, "listed")  # in the order in which they are made
        for held in [*map(self.pick, made.attributes.values())]:
            if isinstance(held, Instance) and self.in_class(held.of, "__set_name__") is not None:
                self.event("names", key(held), made.name)
        if any(isinstance(b, Outside) and b.name in effects.ENUMS for b in self.outer_bases(made)):
            self._make_members(made)

    def _make_members(self, made: Class) -> None:
        """Make the members of an enumeration, which its own methods may be called for."""
        held = [v for name, v in made.attributes.items() if not name.startswith("_")]
        members = [v for v in map(self.pick, held) if not isinstance(v, (Function, Class))]
        self.hashed(*members)
        for hook in ("__new__", "__init__", "_generate_next_value_") if members else ():
            method = self.in_class(made, hook)
            if isinstance(method, Product) and method.wraps is not None:
                method = method.wraps
            if isinstance(method, Function) and not only_makes_values(method.node, filling=True):
                self.event("class", made.name, "members", key(method))

    def _listed_below(self, made: Class) -> bool:
        """Tell whether somebody lists the classes below one that a class is made from."""
        titles = {one.title for base in made.bases for one in self.above(base)}
        return bool(titles) and not {*titles, "*"}.isdisjoint(self.lists_subclasses)

    def _quiet_base(self, base: Value) -> bool:
        if isinstance(base, Outside):
            return _quiet_name(base.name)
        if isinstance(base, Unknown) and isinstance(base.how, tuple) and base.how[0] == "item":
            inner = base.how[1]
            return isinstance(inner, tuple) and (
                (inner[0] == "outside" and _quiet_name(str(inner[1]))) or inner[0] == "class"
            )
        return isinstance(base, Product) and base.maker in (
            "collections.namedtuple",
            "builtins.type",
            "typing.NewType",
        )


def _quiet_name(name: str) -> bool:
    """Tell whether nothing happens where a class is made from one from outside."""
    last = name.removeprefix("builtins.")
    listed = name in effects.BASES or last in effects.errors()
    return listed or (name != last and last in effects.PLAIN)


def _generic(base: Value) -> Value:
    """Give the class of the tree that a base like `Plugin[int]` stands for."""
    options = base.options if isinstance(base, Unknown) else ()
    generic = (
        isinstance(base, Unknown) and isinstance(base.how, tuple) and base.how[:1] == ("item",)
    )
    return options[0] if generic and len(options) == 1 and isinstance(options[0], Class) else base


def _hands_on(node: ast.Assign) -> bool:
    """Tell whether `f.__module__` is given to another function, which asks nothing."""
    target = node.targets[0]
    return (
        isinstance(target, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and target.attr == node.value.attr == "__module__"
    )


def _without_texts(note: Key) -> Key:
    """Give what an annotation is made of; what its texts name is compared as references are."""
    if not isinstance(note, tuple):
        return note
    return ("str",) if note[:1] == ("str",) else tuple(map(_without_texts, note))


def _takes_all(case: ast.match_case) -> bool:
    """Tell whether a case takes whatever comes."""
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _wholes(pattern: ast.pattern) -> list[ast.pattern]:
    """List the parts of a pattern that capture the subject itself, or hold what does."""
    found = [pattern]
    for part in found:
        if isinstance(part, ast.MatchOr):
            found += part.patterns
        elif isinstance(part, ast.MatchAs) and part.pattern is not None:
            found.append(part.pattern)
    return [part for part in found if isinstance(part, ast.MatchAs)]


class _Given(ast.expr):
    """A value that stands where an expression is expected."""

    def __init__(self, held: Value) -> None:
        super().__init__()
        self.held = held


def _loaded(target: ast.expr) -> ast.expr:
    """Give the target of `x += 1` as it is read."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return target


@lru_cache(maxsize=1 << 10)
def as_try(node: ast.With) -> ast.Try:
    """Give a `with` that may end exceptions as the `try` that it stands for."""
    kinds = [
        kind
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and last(item.context_expr.func) in _MADE_FOR
        for kind in item.context_expr.args
    ]
    caught = ast.Tuple(kinds, ast.Load()) if kinds else None
    handler = ast.ExceptHandler(type=caught, name=None, body=[ast.Pass()])
    made = ast.Try(body=node.body, handlers=[handler], orelse=[], finalbody=[])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _is_false(node: ast.AST | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and not node.value)
