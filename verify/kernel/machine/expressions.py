"""Expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache

from verify.kernel.machine.calls import MOST_ITEMS, literal, pattern
from verify.kernel.machine.objects import identity
from verify.kernel.machine.patches import Patches
from verify.kernel.machine.scopes import type_parameters
from verify.kernel.machine.state import NOTHING_LEFT, Raised
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
from verify.kernel.trees.effects import PATCHING, STANDARD
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import last
from verify.kernel.trees.words import words

MOST_TURNS_READ = 2  # of a loop, where a body is read
MOST_TEXT = 1 << 16  # characters of a constant that is computed
_BINARY: dict[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[object, object], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,  # type: ignore[dict-item]
    ast.LtE: operator.le,  # type: ignore[dict-item]
    ast.Gt: operator.gt,  # type: ignore[dict-item]
    ast.GtE: operator.ge,  # type: ignore[dict-item]
    ast.In: lambda one, two: one in two,  # type: ignore[operator]
    ast.NotIn: lambda one, two: one not in two,  # type: ignore[operator]
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_NOTHING = ast.Constant(None)
_ONLY_ASKING = words("startswith endswith isupper islower isinstance issubclass isclass callable")
_HELD_TEXTS = (ast.Name, ast.List, ast.Tuple, ast.Set)
_HELD = (Function, Class, ModuleValue, Bound, Outside)
_IDENTITY = (ast.Is, ast.IsNot)


class Expressions(Patches):
    """The part of the machine that evaluates."""

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Give the value of an expression."""
        self.step()
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is not None:
            found: Value = method(node, scope)
            return found
        parts = [
            self.value(child, scope) for child in children(node) if isinstance(child, ast.expr)
        ]
        return self.operate(type(node).__name__, *parts)

    def operate(self, what: str, *values: Value) -> Value:
        """Give the value of an operation that may call the operands' own methods."""
        values = tuple(map(self.pick, values))
        keys = tuple(map(key, values))
        for value in values:
            self.observe_object(value)
            if isinstance(value, Names):
                self.open("lists", value.module.name)
        if any(self._overrides(value) for value in values):
            self.event("operation", what, keys)
        return Unknown((what, *keys))

    def _overrides(self, value: Value) -> bool:
        if isinstance(value, Instance):
            return not self.quiet(value.of)
        if isinstance(value, Collection):
            return any(isinstance(self.pick(v), Instance) and self.acts(v) for v in value.items)
        return isinstance(value, Class) and self.acts(value)

    def truth(self, value: Value) -> bool:
        """Tell whether a value counts as true."""
        value = self.pick(value)
        if isinstance(value, Constant):
            return bool(value.value)
        if isinstance(value, Collection):
            self.observe_object(value)
            return bool(value.items)
        module = (
            isinstance(value, Outside) and value.name in STANDARD and value.name in self.outside
        )
        if module or isinstance(value, (Function, Class, ModuleValue, Bound)):
            return True
        if isinstance(value, Instance):
            for hook in ("__bool__", "__len__"):
                method = self.in_class(value.of, hook)
                if method is not None:
                    self.event("operation", hook, key(value))
                    return self.truth(self.call(method, [value], {}))
            return True
        return self.ask(("if", key(value)))

    # --- literals and names ---

    def _on_constant(self, node: ast.Constant, scope: Scope) -> Value:
        return Constant(node.value)

    def _on_name(self, node: ast.Name, scope: Scope) -> Value:
        return self.look_up(node.id, scope)

    def _on_attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        return self.attribute(self.value(node.value, scope), node.attr)

    def _on_namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        found = self.value(node.value, scope)
        self.bind(node.target.id, found, scope)
        return found

    def _on_starred(self, node: ast.Starred, scope: Scope) -> Value:
        return self.value(node.value, scope)

    def _on_lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        return self.function(node, scope)

    def _on_yield(self, node: ast.Yield, scope: Scope) -> Value:
        value = self.value(node.value, scope) if node.value else NONE
        self.handed(value)
        if self.yielded is not None:
            self.yielded.append(value)
        return Unknown(("yield",))

    def _on_yieldfrom(self, node: ast.YieldFrom, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        if self.yielded is not None:
            self.yielded += self.unpacked(value)
        return Unknown(("yield",))

    def _on_await(self, node: ast.Await, scope: Scope) -> Value:
        return Unknown(("await", key(self.value(node.value, scope))))

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        within: Scope | None = None,
    ) -> Function:
        """Make a function, its defaults evaluated."""
        raise NotImplementedError

    # --- containers ---

    def many(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        """Give the values of several expressions, stars unpacked."""
        found: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.unpacked(self.value(node.value, scope))
            else:
                found.append(self.value(node, scope))
        return found

    def unpacked(self, value: Value) -> list[Value]:
        """List what a value gives when it is unpacked."""
        value = self.pick(value)
        if isinstance(value, Collection):
            self.observe_object(value)
            return list(value.names if value.kind == "dict" else value.items)
        return [self.operate("unpack", value)]

    def _on_list(self, node: ast.List, scope: Scope) -> Value:
        return self.collection("list", self.many(node.elts, scope))

    def _on_tuple(self, node: ast.Tuple, scope: Scope) -> Value:
        return self.collection("tuple", self.many(node.elts, scope))

    def _on_set(self, node: ast.Set, scope: Scope) -> Value:
        return self.collection("set", self.many(node.elts, scope))

    def _on_dict(self, node: ast.Dict, scope: Scope) -> Value:
        names: list[Value] = []
        items: list[Value] = []
        for one, two in zip(node.keys, node.values, strict=True):
            value = self.value(two, scope)
            if one is not None:
                names.append(self.value(one, scope))
                items.append(value)
                continue
            value = self.pick(value)
            if isinstance(value, Collection) and value.kind == "dict":
                names += value.names
                items += value.items
            else:
                mixed = self.operate("unpack", value)
                names.append(mixed)
                items.append(mixed)
        return self.mapping(names, items)

    def _collection(self, given: list[Value], named: dict[str, Value]) -> Value | None:
        first = self.pick(given[0]) if len(given) == 1 else None
        if isinstance(first, Collection) and any(map(_is_held, first.items)):
            return self.collection("list", self.unpacked(first))
        return None

    def _enumerated(self, given: list[Value], named: dict[str, Value]) -> Value | None:
        first = self.pick(given[0]) if given else None
        if not isinstance(first, Collection) or not any(map(_is_held, first.items)):
            return None
        pairs = enumerate(self.unpacked(first))
        rows = [self.collection("tuple", (Constant(number), item)) for number, item in pairs]
        return self.collection("list", rows)

    def _zipped(self, given: list[Value], named: dict[str, Value]) -> Value | None:
        parts = [part for part in map(self.pick, given) if isinstance(part, Collection)]
        if len(parts) != len(given) or not any(_is_held(v) for part in parts for v in part.items):
            return None
        rows = zip(*map(self.unpacked, parts), strict=False)
        return self.collection("list", [self.collection("tuple", row) for row in rows])

    # --- text ---

    def _on_joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        parts = [self.value(part, scope) for part in node.values]
        if all(isinstance(part, Constant) and not part.own for part in parts):
            return Constant("".join(str(literal(part)) for part in parts))
        return Unknown(("text", *map(key, parts)))

    def _on_formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> Value:
        value = self.pick(self.value(node.value, scope))
        if node.format_spec:
            self.value(node.format_spec, scope)
        if isinstance(value, Constant) and not node.format_spec and node.conversion == -1:
            return value if value.own else Constant(format(value.value))
        return self.operate("format", value)

    def _on_templatestr(self, node: ast.expr, scope: Scope) -> Value:
        parts = [self.value(part, scope) for part in getattr(node, "values", ())]
        return Unknown(("template", *map(key, parts)))

    def _on_interpolation(self, node: ast.expr, scope: Scope) -> Value:
        """Give what a template holds; nothing is formatted yet."""
        value = self.value(getattr(node, "value", node), scope)
        told = getattr(node, "str", ""), getattr(node, "conversion", -1)
        spec = getattr(node, "format_spec", None)
        inner = key(self.value(spec, scope)) if spec is not None else ()
        return Unknown(("interpolation", key(value), told, inner))

    # --- operators ---

    def _on_binop(self, node: ast.BinOp, scope: Scope) -> Value:
        one, two = self.pick(self.value(node.left, scope)), self.pick(self.value(node.right, scope))
        nested = _is_nested(one) or _is_nested(two)
        compute = None if nested else _BINARY.get(type(node.op))
        left, right = literal(one), literal(two)
        if compute and left is not UNBOUND and right is not UNBOUND and _small(left, right):
            try:
                found = compute(left, right)
            except Exception as error:
                raise Raised(type(error).__name__, str(error)) from None
            return self.from_python(found)
        joined = isinstance(one, Collection) and isinstance(two, Collection)
        if joined and isinstance(node.op, ast.Add):
            return self._concatenated(one, two)
        if nested and isinstance(node.op, ast.Mult) and isinstance(right, int):
            items = one.items[:MOST_ITEMS] if isinstance(one, Collection) else ()
            return self.collection("list", items * min(right, MOST_ITEMS))
        paths = isinstance(one, Product) and one.maker == "pathlib.Path"
        if paths and isinstance(node.op, ast.Div) and not self.acts(two):
            arguments = ("/", key(one), key(two))
            return Product("pathlib.Path", arguments, self.make(), self.space(), immutable=True)
        return self.operate(type(node.op).__name__, one, two)

    def _concatenated(self, one: Value, two: Value) -> Value:
        if isinstance(one, Collection) and isinstance(two, Collection):
            self.observe_object(one)
            self.observe_object(two)
            return self.collection(one.kind, (*one.items, *two.items))
        return self.operate("Add", one, two)

    def _on_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.pick(self.value(node.operand, scope))
        if isinstance(node.op, ast.Not):
            if self.probing and isinstance(value, (Unknown, Product, Outside)):
                return Unknown(("not", key(value)))
            return Constant(not self.truth(value))
        number = literal(value)
        if isinstance(node.op, ast.USub) and isinstance(number, (int, float)):
            return Constant(-number)
        return self.operate(type(node.op).__name__, value)

    def _on_boolop(self, node: ast.BoolOp, scope: Scope) -> Value:
        value: Value = NONE
        found: list[Value] = []  # what it may be, where that cannot be told
        for part in node.values:
            value = self.value(part, scope)
            if part is node.values[-1]:
                break
            if self.probing and not isinstance(value, Constant):
                self.truth_of_unknown(value)
                found.append(value)
                continue
            if self.truth(value) != isinstance(node.op, ast.And):
                break
        if not found:
            return value
        found.append(value)
        held = any(isinstance(one, _HELD) or _options(one) for one in found)
        options = tuple(each for one in found for each in _options(one) or (one,)) if held else ()
        return Unknown(("either", *map(key, found)), options)

    def truth_of_unknown(self, value: Value) -> None:
        """Ask for the truth of a value while both answers are followed."""
        value = self.pick(value)
        if isinstance(value, Instance):
            self.operate("truth", value)

    def _on_ifexp(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.pick(self.value(node.test, scope))
        if self.probing and not isinstance(test, Constant):
            one, two = self.value(node.body, scope), self.value(node.orelse, scope)
            held = any(isinstance(value, _HELD) or _options(value) for value in (one, two))
            options = (*(_options(one) or (one,)), *(_options(two) or (two,))) if held else ()
            return Unknown(("either", key(test), key(one), key(two)), options)
        return self.value(node.body if self.truth(test) else node.orelse, scope)

    def _on_compare(self, node: ast.Compare, scope: Scope) -> Value:
        left = self.pick(self.value(node.left, scope))
        rights = [self.pick(self.value(right, scope)) for right in node.comparators]
        if len(rights) == 1:
            known = self._compared(left, node.ops[0], rights[0])
            if known is not None:
                return known
        name = ".".join(type(op).__name__ for op in node.ops)
        if all(isinstance(op, _IDENTITY) for op in node.ops):
            return Unknown((name, key(left), *map(key, rights)))
        return self.operate(name, left, *rights)

    def _compared(self, one: Value, op: ast.cmpop, two: Value) -> Value | None:
        left, right = self._plain(one), self._plain(two)
        if isinstance(op, _IDENTITY):
            return self._same(one, op, two)
        if left is not UNBOUND and right is not UNBOUND:
            for value in (one, two):
                self.observe_object(value)
            try:
                return Constant(bool(_COMPARE[type(op)](left, right)))
            except Exception:
                return None
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._contained(one, op, two)
        return None

    def _plain(self, value: Value) -> object:
        if isinstance(value, Constant) and value.own:
            return value.value
        if isinstance(value, Collection) and value.kind in ("list", "tuple"):
            return literal(value)
        return literal(value)

    def _among(self, one: Constant, op: ast.cmpop, module: Module, name: str) -> Value | None:
        """Tell whether a module has a name, of somebody who asks for that one alone."""
        there = self.named(module, name) is not UNBOUND
        if there:
            self.observe(module, name)
        elif "*" in module.names or self.own_name(module, name) is not UNBOUND:
            return None
        if not self.probing:
            return Constant(there == isinstance(op, ast.In))
        self.has_name(ModuleValue(module), one, there)
        return Unknown(("among", name, there, type(op).__name__))

    def _contained(self, one: Value, op: ast.cmpop, two: Value) -> Value | None:
        name = literal(one)
        if isinstance(two, Outside) and two.name == "sys.modules" and isinstance(name, str):
            if name in self.modules or name in self.tree.named:
                return Constant((name in self.modules) == isinstance(op, ast.In))
        if isinstance(two, Names) and isinstance(one, Constant) and isinstance(name, str):
            return self._among(one, op, two.module, name)
        if not isinstance(two, Collection):
            return None
        held = two.names if two.kind == "dict" else two.items
        if not isinstance(one, Constant) or not all(isinstance(v, Constant) for v in held):
            return None
        self.observe_object(two)
        return Constant((key(one) in map(key, held)) == isinstance(op, ast.In))

    def _same(self, one: Value, op: ast.cmpop, two: Value) -> Value | None:
        if isinstance(one, (Unknown, Product)) or isinstance(two, (Unknown, Product)):
            return None
        if isinstance(one, Outside) != isinstance(two, Outside):
            other = two if isinstance(one, Outside) else one
            if not isinstance(other, _HELD):
                return None
        return Constant((key(one) == key(two)) == isinstance(op, ast.Is))

    # --- items and calls ---

    def _on_subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        owner = self.pick(self.value(node.value, scope))
        part = node.slice if isinstance(node.slice, ast.Slice) else None
        known = self._part_of_text(owner, part, scope) if part is not None else None
        name = self.pick(self.value(node.slice, scope)) if known is None else NONE
        known = known or self._known_item(owner, name)
        if known is not None:
            return known
        if isinstance(owner, Class):
            hook = self.in_class(owner, "__class_getitem__")
            if hook is not None or self.hooked(owner):
                self.event("operation", "item of a class", key(owner), key(name))
                return Unknown(("item", key(owner), key(name)))
            if not (self.probing or self.outer_bases(owner) or type_parameters(owner.node)):
                raise Raised("TypeError", owner.title)
            return Unknown(("item", key(owner), key(name)), (owner,))
        if isinstance(owner, Product) and owner.maker == "collections.defaultdict":
            self.event("change", identity(owner), key(name))
            self.changes[identity(owner)].add(self.site)
        if isinstance(owner, Collection):
            found = self.operate("item", owner, name)
            return self.any_of(owner, found) if isinstance(found, Unknown) else found
        if isinstance(owner, Outside) and owner.name in ("os.environ", "sys.argv"):
            self.sees["outside", owner.name].add(self.site)
            self.frame.reads |= {owner.name}
            version = key(self.versions.get(owner.name, NONE))
            return Unknown(("item", owner.name, key(name), version))
        return self.operate("item", owner, name)

    def _known_item(self, owner: Value, name: Value) -> Value | None:
        if isinstance(owner, Names):
            return self._name_of(owner, name)
        if isinstance(owner, Outside) and owner.name == "sys.modules":
            return self._loaded(name)
        if not isinstance(owner, Collection):
            return _letter(owner, name)
        self.observe_object(owner)
        if owner.kind == "dict":
            self.hashed(name)
            found = self.item(owner, name)
            plain = isinstance(name, Constant) and all(isinstance(n, Constant) for n in owner.names)
            if found is None and plain and not self.probing:
                raise Raised("KeyError", repr(literal(name)))
            return found
        index = literal(name)
        if isinstance(index, int) and -len(owner.items) <= index < len(owner.items):
            return owner.items[index]
        return None

    def _part_of_text(self, owner: Value, part: ast.Slice, scope: Scope) -> Value | None:
        """Give a part of a text that is known."""
        text = literal(owner) if isinstance(owner, Constant) else None
        ends = (part.lower, part.upper, part.step)
        known = all(end is None or isinstance(end, (ast.Constant, ast.UnaryOp)) for end in ends)
        if not isinstance(text, str) or not known:
            return None
        given = [literal(self.pick(self.value(end or _NOTHING, scope))) for end in ends]
        numbers = [end for end in given if isinstance(end, int) or end is None]
        whole = len(numbers) == len(ends) and numbers[2] != 0
        return Constant(text[slice(*numbers)]) if whole else None

    def _name_of(self, owner: Names, name: Value) -> Value:
        """Give what a module has under a name, or note that the name is put together."""
        if isinstance(name, Constant):
            return self.attribute(ModuleValue(owner.module), str(name.value))
        self.open(f"asks {pattern(name)}", owner.module.name)
        return Unknown(("names", owner.module.name, key(name)))

    def _loaded(self, name: Value) -> Value | None:
        wanted = name.value if isinstance(name, Constant) else None
        if isinstance(name, Constant) and name.own:
            wanted = self.here() or wanted
        if not (isinstance(name, Constant) and name.own):
            self.stain()  # whatever else was imported is seen
        if isinstance(wanted, str) and wanted in self.modules:
            return self.as_value(self.modules[wanted])
        if isinstance(wanted, str) and wanted in self.tree.named:
            self.event("not loaded", wanted)
            if self.probing:
                self.bring(wanted)
                return self.as_value(self.modules[wanted]) if wanted in self.modules else None
            self.open("handed on", wanted)  # another entry may have loaded it before
        return None

    def _on_call(self, node: ast.Call, scope: Scope) -> Value:
        idle, self.idle = self.idle, None
        function = self.value(node.func, scope)
        given = self.many(node.args, scope)
        named: dict[str, Value] = {}
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            if any(map(_unpacked, given)):
                named["**"] = Unknown(("unpack",))
        for word in node.keywords:
            value = self.pick(self.value(word.value, scope))
            if word.arg:
                named[word.arg] = value
            elif isinstance(value, Collection) and value.kind == "dict":
                for one, two in zip(value.names, value.items, strict=True):
                    named[str(literal(one))] = two
            else:
                named["**"] = self.operate("unpack", value)
        if given or "target" in named:
            given = self.patch(self.pick(function), given, named)
        self.idle = idle if idle is node else None
        return self.call(function, given, named)

    # --- comprehensions ---

    def each(self, value: Value, *, every: bool = False) -> list[Value]:
        """List what a loop runs through; where a body is read, two stand for all that are alike.

        `every` is a loop whose items may name what it sets.
        """
        value = self.pick(value)
        if isinstance(value, Collection):
            self.observe_object(value)
            held = list(value.names if value.kind == "dict" else value.items)
            few = self.probing and not every and not any(map(_is_held, held))
            return held[: MOST_TURNS_READ if few else MOST_ITEMS]
        if isinstance(value, Names) and not self.probing and "*" not in value.module.names:
            if value.module.scope is not None and self.here() == value.module.name:
                return self.names_now(value.module)
        if isinstance(value, Constant) and isinstance(value.value, str):
            return [Constant(letter) for letter in value.value[:MOST_ITEMS]]
        return [self.operate("iterate", value)]

    def _rows(self, node: ast.expr, scope: Scope, parts: list[ast.expr]) -> list[list[Value]]:
        generators: list[ast.comprehension] = getattr(node, "generators", [])
        inner = Scope("inner", self.space(), scope, scope.module)

        def rows(rest: list[ast.comprehension], around: Scope) -> list[list[Value]]:
            if not rest:
                return [[self.value(part, inner) for part in parts]]
            found = []
            self.prefix, self.left = prefix_of(rest[0]), self._left_out(rest[0], inner)
            listed = self.value(rest[0].iter, around)
            self.prefix, self.left = "", NOTHING_LEFT
            for item in self.each(listed, every=names_what_it_sets(node)):
                self.bind_inner(rest[0].target, item, inner)
                if all(self._passes(test, inner) for test in rest[0].ifs):
                    found += rows(rest[1:], inner)
                if len(found) > MOST_ITEMS * 4:
                    break
            return found

        return rows(generators, scope)

    def _left_out(self, node: ast.comprehension, scope: Scope) -> tuple[str, frozenset[str]]:
        """Give how names begin that are left out of a listing, and which are not nevertheless."""
        begins, held = left_of(node)
        if held is None:
            return begins, frozenset()
        kept = self.pick(self.value(held, scope)) if isinstance(held, _HELD_TEXTS) else None
        items = kept.items if isinstance(kept, Collection) and kept.kind != "dict" else ()
        texts = [item.value for item in items if isinstance(item, Constant)]
        if not items or len(texts) != len(items):
            return NOTHING_LEFT
        return begins, frozenset(map(str, texts))

    def _passes(self, test: ast.expr, scope: Scope) -> bool:
        value = self.pick(self.value(test, scope))
        if self.probing and not isinstance(value, Constant):
            return True
        return self.truth(value)

    def bind_inner(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind the target of a comprehension, in a scope of its own."""
        if isinstance(target, ast.Name):
            self.put(scope.names, target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part, item in zip(target.elts, self.parts(value, len(target.elts)), strict=True):
                self.bind_inner(part, item, scope)
        elif isinstance(target, ast.Starred):
            self.bind_inner(target.value, value, scope)
        else:
            self.assign(target, value, scope)

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Give a target its value."""
        raise NotImplementedError

    def parts(self, value: Value, number: int) -> list[Value]:
        """Give the parts that a value is unpacked into."""
        value = self.pick(value)
        if isinstance(value, Collection) and len(value.items) == number and value.kind != "dict":
            return list(value.items)
        if isinstance(value, Instance):
            self.operate("unpack", value)
        known: Key = key(value)
        return [Unknown(("part", index, known)) for index in range(number)]

    def _on_listcomp(self, node: ast.ListComp, scope: Scope) -> Value:
        rows = self._rows(node, scope, [node.elt])
        return self.collection("list", [row[0] for row in rows])

    def _on_generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> Value:
        rows = self._rows(node, scope, [node.elt])
        return self.collection(GENERATOR, [row[0] for row in rows])

    def _on_setcomp(self, node: ast.SetComp, scope: Scope) -> Value:
        rows = self._rows(node, scope, [node.elt])
        return self.collection("set", [row[0] for row in rows])

    def _on_dictcomp(self, node: ast.DictComp, scope: Scope) -> Value:
        rows = self._rows(node, scope, [node.key, node.value])
        return self.mapping([row[0] for row in rows], [row[1] for row in rows])


def _is_nested(value: Value) -> bool:
    """Tell whether a container holds others, which are the same wherever they stand."""
    return isinstance(value, Collection) and any(isinstance(v, Collection) for v in value.items)


def _letter(owner: Value, at: Value) -> Value | None:
    """Give a letter of a text that is known."""
    text, index = literal(owner), literal(at)
    if isinstance(text, str) and isinstance(index, int) and -len(text) <= index < len(text):
        return Constant(text[index])
    return None


def _options(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, Unknown) else ()


def _is_held(value: Value) -> bool:
    """Tell whether a value is code or a module, or a container of such."""
    inner = value.items if isinstance(value, Collection) else (value,)
    return any(isinstance(item, _HELD) for item in inner)


@lru_cache(maxsize=1 << 12)
def listed_name(node: ast.comprehension) -> str:
    """Give the name that the names of a module have in turn, an empty one where others do.

    Nothing but the listing stands where they are taken from: `sorted(vars(m).items())`, `dir(m)`.
    """
    listed: ast.expr = node.iter
    while isinstance(listed, ast.Call) and getattr(listed.func, "id", "") in ("sorted", "list"):
        if len(listed.args) != 1 or listed.keywords:
            return ""
        listed = listed.args[0]
    pairs = False
    if isinstance(listed, ast.Call) and isinstance(listed.func, ast.Attribute):
        if listed.args or listed.func.attr not in ("items", "keys"):
            return ""
        pairs, listed = listed.func.attr == "items", listed.func.value
    if isinstance(listed, ast.Call):
        plain = getattr(listed.func, "id", "") in ("vars", "dir") and len(listed.args) == 1
        if not (plain and isinstance(listed.args[0], (ast.Name, ast.Attribute))):
            return ""
    elif getattr(listed, "attr", "") != "__dict__":
        return ""
    target = node.target.elts[0] if pairs and isinstance(node.target, ast.Tuple) else node.target
    return target.id if isinstance(target, ast.Name) else ""


def _first_test(node: ast.comprehension) -> list[ast.expr]:
    """Give what is asked first of each item, where all of it has to hold.

    What calls somebody else with the item ends it: that sees the ones that do not pass, too.
    """
    test = node.ifs[0] if node.ifs else None
    tests = [test] if test is not None else []
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        tests = test.values
    calling = (at for at, part in enumerate(tests) if any(map(_tells_others, walk(part))))
    return tests[: next(calling, len(tests))]


def _tells_others(node: ast.AST) -> bool:
    called = last(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Call) and called not in _ONLY_ASKING


def _begins(test: ast.expr, name: str) -> str:
    """Give how a test says that a name begins: `name.startswith("_")`, `name[0] == "_"`."""
    text: ast.expr | None = None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        if (
            test.func.attr == "startswith"
            and len(test.args) == 1
            and _is_name(test.func.value, name)
        ):
            text = test.args[0]
    elif isinstance(test, ast.Compare) and isinstance(test.left, ast.Subscript):
        first = getattr(test.left.slice, "value", None) == 0 and _is_name(test.left.value, name)
        if first and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            text = test.comparators[0]
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


@lru_cache(maxsize=1 << 12)
def prefix_of(node: ast.comprehension) -> str:
    """Give how the names must begin that are taken of those that a module has, if that is told."""
    name = listed_name(node)
    begins = (_begins(test, name) for test in _first_test(node))
    return next(filter(None, begins), "") if name else ""


@lru_cache(maxsize=1 << 12)
def left_of(node: ast.comprehension) -> tuple[str, ast.expr | None]:
    """Give how the names begin that are left out of those that a module has, if that is told.

    With it comes what holds those that are taken nevertheless: `or name in ("__all__",)`.
    """
    name = listed_name(node)
    for test in _first_test(node) if name else ():
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        begins, kept = _left(parts[0], name), None
        if isinstance(test, ast.BoolOp):
            kept = parts[1] if len(parts) == len(("left", "kept")) else None
            held = kept if isinstance(kept, ast.Compare) and _is_name(kept.left, name) else None
            if held is None or len(held.ops) != 1 or not isinstance(held.ops[0], ast.In):
                continue
            kept = held.comparators[0]
        if begins:
            return begins, kept
    return "", None


def _left(test: ast.expr, name: str) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _begins(test.operand, name)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq):
        return _begins(ast.Compare(test.left, [ast.Eq()], test.comparators), name)
    return ""


@lru_cache(maxsize=1 << 12)
def names_what_it_sets(node: ast.AST) -> bool:
    """Tell whether a loop may set, patch or import something whose name it runs through."""
    return any(
        getattr(inner, "id", "") in _BY_NAME or getattr(inner, "attr", "") in _BY_NAME
        for inner in walk(node)
    )


_BY_NAME = PATCHING | {"import_module", "__import__", "getattr", "__setattr__", "reload"}


def _unpacked(value: Value) -> bool:
    """Tell whether an argument stands for any number of them."""
    how = value.how if isinstance(value, Unknown) else ()
    return isinstance(how, tuple) and how[:1] == ("unpack",)


def _small(one: object, two: object) -> bool:
    """Tell whether what two values make is of a size that may be computed here."""
    for value in (one, two):
        if isinstance(value, (str, bytes, list, tuple)) and len(value) > MOST_TEXT:
            return False
        if isinstance(value, int) and abs(value) > 1 << 64:
            return False
    numbers = [value for value in (one, two) if isinstance(value, int)]
    texts = [value for value in (one, two) if isinstance(value, (str, bytes, list, tuple))]
    return not (numbers and texts) or abs(numbers[0]) * len(texts[0]) < MOST_TEXT


def builtin_error(value: Value) -> str | None:
    """Give the name of one of Python's own exceptions, if a value is one."""
    if isinstance(value, Outside):
        last = value.name.rpartition(".")[2]
        return last if last in effects.errors() else None
    return None
