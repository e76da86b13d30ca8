"""The expression half of the walk behind `transforms.scopes.resolve`.

It never recurses, so depth costs no stack. What opens a scope waits in a queue and is walked
first in, first out: when a function body is walked, every statement of the scopes around it has
been seen. What a name resolves to is decided afterwards, once all bindings are known.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from transforms.scopes.types import Access, AnnotationKind, Binding, BindingKind, Scope, ScopeKind
from transforms.syntax.called import root_name
from transforms.syntax.fstrings import PLACED_BY_PYTHON, FStrings

# Builtins whose subscripts are types wherever they stand: `list["Later"]`.
_GENERIC_BUILTINS = frozenset({"list", "dict", "tuple", "set", "frozenset", "type"})


@dataclass(slots=True, eq=False)
class Context:
    """Where an expression stands: its scope, and what is special about the place."""

    scope: Scope
    deferred: bool = False
    annotation: AnnotationKind = ""
    exact: bool = True
    private: str | None = None  # the class whose name mangles `__private` names
    in_fstring: bool = False
    anchor: ast.AST | None = None  # what gives the position, where nodes have none of their own
    string: str | None = None  # what is read as code: a string's value; "" within one or a comment
    holder: ast.AST | None = None  # the node that holds the string or the comment
    annotated: Context | None = None  # the same place, for annotations; made when first needed


class Use(NamedTuple):
    """A name as met by the walk. The first three fields order uses as the source does."""

    line: int
    column: int
    sequence: int
    name: str
    node: ast.Name
    access: Access
    attributes: tuple[str, ...]
    attribute_nodes: tuple[ast.Attribute, ...]
    context: Context
    statement: ast.stmt


class TypePlace(NamedTuple):
    """An expression, or a call or subscript of `typing`, whose strings are to be read as code."""

    node: ast.expr
    context: Context
    statement: ast.stmt


class Task(NamedTuple):
    """A scope that waits to be walked."""

    nodes: Sequence[ast.AST]
    context: Context
    statement: ast.stmt | None  # None: the nodes are the statements of a body
    kind: BindingKind


_PLAIN_FIELDS: dict[str, tuple[str, ...]] = {
    "BoolOp": ("values",),
    "BinOp": ("left", "right"),
    "UnaryOp": ("operand",),
    "IfExp": ("body", "test", "orelse"),
    "Set": ("elts",),
    "Await": ("value",),
    "Yield": ("value",),
    "YieldFrom": ("value",),
    "Compare": ("left", "comparators"),
    "FormattedValue": ("value", "format_spec"),
    "Starred": ("value",),
    "List": ("elts",),
    "Tuple": ("elts",),
    "Slice": ("lower", "upper", "step"),
    "keyword": ("value",),
    "withitem": ("context_expr", "optional_vars"),
    "Interpolation": ("value", "format_spec"),
    "Dict": ("keys", "values"),
    "MatchValue": ("value",),
    "MatchSingleton": (),
    "MatchSequence": ("patterns",),
    "MatchClass": ("cls", "patterns", "kwd_patterns"),
    "MatchOr": ("patterns",),
}


def classes(table: dict[str, tuple[str, ...]]) -> dict[type, tuple[str, ...]]:
    """`table` by the classes of `ast` that this interpreter has."""
    found = ((getattr(ast, name, None), fields) for name, fields in table.items())
    return {cls: fields for cls, fields in found if cls is not None}


_FIELDS: dict[type, tuple[str, ...]] = {type(None): (), **classes(_PLAIN_FIELDS)}
_ACCESS: dict[type, Access] = {ast.Load: "load", ast.Store: "store", ast.Del: "delete"}


def mangled(name: str, private: str | None) -> str:
    """Give the name that Python looks up for `name` inside the class `private`."""
    if private is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{private}{name}"


class Expressions:
    """What a walk collects, and its expressions. After the walk, the lists hold what was met."""

    def __init__(self, tree: ast.Module, source_text: str | None = None) -> None:
        self._fstrings = None if source_text is None else FStrings(source_text)
        self.module = Scope(ScopeKind.MODULE, tree, None)
        self.scopes = [self.module]
        self.uses: list[Use] = []
        self.type_places: list[TypePlace] = []
        self.type_calls: list[TypePlace] = []
        self.type_names = set(_GENERIC_BUILTINS)
        self.nonlocal_bindings: list[Binding] = []
        self.out_of_order: set[tuple[Scope, str]] = set()
        self.queue: deque[Task] = deque()
        self.strings_seen = False  # whether an annotation since the last reset held a string

    # -- scopes and bindings

    def open_scope(self, kind: ScopeKind, node: ast.AST, parent: Scope) -> Scope:
        """Add a scope; what stands in it is walked later."""
        scope = Scope(kind, node, parent)
        self.scopes.append(scope)
        return scope

    def bind(
        self, name: str, node: ast.AST, kind: BindingKind, context: Context, statement: ast.stmt
    ) -> None:
        """Record that `statement` binds `name`, in the scope that Python binds it in."""
        within = owner = context.scope
        if context.private is not None:
            name = mangled(name, context.private)
        if kind == "walrus":
            while owner.kind is ScopeKind.COMPREHENSION and owner.parent is not None:
                owner = owner.parent
        if name in owner.global_names:
            owner = self.module
        elif name in owner.nonlocal_names:
            # The function that owns it may not have been walked to its end.
            binding = Binding(name, node, within, kind, statement, within)
            self.nonlocal_bindings.append(binding)
            return
        if owner is not within:
            self.out_of_order.add((owner, name))
        binding = Binding(name, node, owner, kind, statement, within)
        known = owner.bindings.get(name)
        if known is None:
            owner.bindings[name] = [binding]
        else:
            known.append(binding)

    # -- expressions

    def expressions(
        self, roots: Iterable[ast.AST], context: Context, statement: ast.stmt, kind: BindingKind
    ) -> None:
        """Walk expressions; a name they store is a binding of `kind`."""
        stack: list[Any] = list(roots)
        stack.reverse()
        pop, push = stack.pop, stack.append
        uses = self.uses
        private = context.private
        anchor: Any = context.anchor
        while stack:
            node = pop()
            cls = node.__class__
            if cls is ast.Name:
                name = node.id
                if private is not None:
                    name = mangled(name, private)
                place = anchor or node
                access = _ACCESS[node.ctx.__class__]
                uses.append(
                    Use(place.lineno, place.col_offset, len(uses), name, node, access, (), (),
                        context, statement)
                )  # fmt: skip
                if access != "load":
                    bound = kind if access == "store" else "delete"
                    self.bind(node.id, node, bound, context, statement)
            elif cls is ast.Attribute:
                self._attribute(node, context, statement, stack)
            elif cls in _FIELDS:
                for field in reversed(_FIELDS[cls]):
                    value = getattr(node, field)
                    if value.__class__ is list:
                        stack += reversed(value)
                    else:
                        push(value)
            elif cls in _EXPRESSIONS:
                _EXPRESSIONS[cls](self, node, context, statement, stack)

    def _attribute(
        self, node: ast.Attribute, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        nodes = [node]
        base = node.value
        while isinstance(base, ast.Attribute):
            nodes.append(base)
            base = base.value
        if isinstance(base, ast.Name):
            nodes.reverse()
            self._chain(base, tuple(nodes), context, statement)
        else:
            stack.append(base)

    def _constant(
        self, node: ast.Constant, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        if node.value.__class__ is str:
            self.strings_seen = True

    def _chain(
        self,
        base: ast.Name,
        nodes: tuple[ast.Attribute, ...],
        context: Context,
        statement: ast.stmt,
    ) -> None:
        """Record a name and the attributes taken from it."""
        name = base.id
        attributes = tuple([node.attr for node in nodes])
        private = context.private
        if private is not None:
            name = mangled(name, private)
            attributes = tuple([mangled(attribute, private) for attribute in attributes])
        place: Any = context.anchor or base
        uses = self.uses
        uses.append(
            Use(place.lineno, place.col_offset, len(uses), name, base, "load", attributes, nodes,
                context, statement)
        )  # fmt: skip

    def _call(
        self, node: ast.Call, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        func = node.func
        stack += [keyword.value for keyword in reversed(node.keywords)]
        stack += reversed(node.args)
        stack.append(func)
        root = root_name(func)
        if root is not None and root.id in self.type_names:
            self.type_calls.append(TypePlace(node, context, statement))

    def _subscript(
        self, node: ast.Subscript, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        stack.append(node.slice)
        stack.append(node.value)
        if not context.annotation:
            root = root_name(node.value)
            if root is not None and root.id in self.type_names:
                self.type_calls.append(TypePlace(node, context, statement))

    def _lambda(
        self, node: ast.Lambda, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        stack += reversed(defaults(node.args))
        scope = self.open_scope(ScopeKind.FUNCTION, node, context.scope)
        body = self._nested(context, scope, deferred=True)
        for argument in parameters(node.args):
            self.bind(argument.arg, argument, "parameter", body, statement)
        self.queue.append(Task((node.body,), body, statement, "assign"))

    def _comprehension(
        self, node: Any, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        first, *others = node.generators
        stack.append(first.iter)
        scope = self.open_scope(ScopeKind.COMPREHENSION, node, context.scope)
        lazy = isinstance(node, ast.GeneratorExp)
        body = self._nested(context, scope, deferred=lazy or context.deferred)
        nodes = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        nodes += [first.target, *first.ifs]
        for generator in others:
            nodes += [generator.target, generator.iter, *generator.ifs]
        self.queue.append(Task(nodes, body, statement, "for"))

    def _nested(self, context: Context, scope: Scope, *, deferred: bool) -> Context:
        return replace(context, scope=scope, deferred=deferred, annotated=None)

    def _walrus(
        self, node: ast.NamedExpr, context: Context, statement: ast.stmt, stack: list[Any]
    ) -> None:
        self.expressions([node.target], context, statement, "walrus")
        stack.append(node.value)

    def _fstring(self, node: Any, context: Context, statement: ast.stmt, stack: list[Any]) -> None:
        if context.in_fstring:
            stack += reversed(node.values)
            return
        exact = context.exact
        if context.string is None and not PLACED_BY_PYTHON:
            exact = self._fstrings is not None and self._fstrings.correct(node)
        anchor = context.anchor if exact or context.anchor is not None else node
        place = replace(context, exact=exact, in_fstring=True, anchor=anchor, annotated=None)
        self.expressions(node.values, place, statement, "assign")

    def _capture(self, node: Any, context: Context, statement: ast.stmt, stack: list[Any]) -> None:
        """`case pattern as name`, `case [*name]`, `case {**name}`."""
        if isinstance(node, ast.MatchMapping):
            stack += reversed(node.patterns)
            stack += reversed(node.keys)
            name = node.rest
        else:
            name = node.name
            if isinstance(node, ast.MatchAs) and node.pattern is not None:
                stack.append(node.pattern)
        if name is not None:
            self.bind(name, node, "match", context, statement)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Every parameter, in source order."""
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg is not None:
        found.append(arguments.vararg)
    found += arguments.kwonlyargs
    if arguments.kwarg is not None:
        found.append(arguments.kwarg)
    return found


def defaults(arguments: ast.arguments) -> list[ast.expr]:
    """Every default value that is given, in source order."""
    return [*arguments.defaults, *(value for value in arguments.kw_defaults if value is not None)]


_EXPRESSIONS: dict[type, Callable[[Expressions, Any, Context, ast.stmt, list[Any]], None]] = {
    ast.Constant: Expressions._constant,
    ast.Call: Expressions._call,
    ast.Subscript: Expressions._subscript,
    ast.Lambda: Expressions._lambda,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.NamedExpr: Expressions._walrus,
    ast.JoinedStr: Expressions._fstring,
    ast.MatchAs: Expressions._capture,
    ast.MatchStar: Expressions._capture,
    ast.MatchMapping: Expressions._capture,
}
if hasattr(ast, "TemplateStr"):
    _EXPRESSIONS[ast.TemplateStr] = Expressions._fstring
