"""Name resolution for one module, on the standard library's `ast`.

`resolve` tells, for every name in a parsed module, which scope's binding it finds by Python's
rules. The outcome does not depend on the version of the interpreter that runs it.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field, replace

from transforms.scopes.annotations import TypeStrings
from transforms.scopes.expressions import Use
from transforms.scopes.statements import Walk
from transforms.scopes.types import (
    Access,
    AnnotationKind,
    Binding,
    BindingKind,
    Reference,
    Scope,
    ScopeKind,
)

__all__ = [
    "Access",
    "AnnotationKind",
    "Binding",
    "BindingKind",
    "Reference",
    "Scope",
    "ScopeKind",
    "Scopes",
    "resolve",
]

_Position = tuple[int, int, int]  # line, column, and turn within the statement
_NEVER: _Position = (sys.maxsize, 0, 0)

# What Python binds in every class body before its first statement.
_CLASS_NAMES = frozenset({"__module__", "__qualname__"})


@dataclass(slots=True, eq=False)
class Scopes:
    """Every scope of a module, and every reference in it, in source order."""

    module: Scope
    scopes: list[Scope]
    references: list[Reference]
    _index: dict[tuple[Scope | None, str], list[Reference]] = field(default_factory=dict)

    def of(self, owner: Scope | None, name: str) -> list[Reference]:
        """Give the references that find `name` in `owner`, in source order.

        With None: those that the file binds nowhere. A read in a class body that may fall back
        on `owner` is among them.
        """
        if not self._index and self.references:
            for reference in self.references:
                key = (reference.owner, reference.name)
                self._index.setdefault(key, []).append(reference)
                if reference.fallback is not None:
                    key = (reference.fallback, reference.name)
                    self._index.setdefault(key, []).append(reference)
        return self._index.get((owner, name), [])


def resolve(tree: ast.Module, *, source_text: str | None = None) -> Scopes:
    """Resolve every name of `tree`. Invalid programs that parse are resolved as far as they go.

    `source_text` is the text that `tree` was parsed from, without a byte order mark. With it, the
    positions of nodes inside f-strings, which CPython before 3.12 gets wrong, are corrected in
    the tree; without it, references there are marked as not `exact` under such an interpreter.
    """
    walk = Walk(tree, source_text)
    walk.run()
    finder = _Finder(walk)
    finder.settle_nonlocals()
    TypeStrings(walk, finder.find).run()
    finder.order_bindings()
    walk.uses.sort(key=_position)
    references = [finder.reference(use) for use in walk.uses]
    return Scopes(walk.module, walk.scopes, references)


def _position(use: Use) -> tuple[int, int, int]:
    return use[:3]


class _Finder:
    """Looks names up once all bindings are known, and remembers what it found."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._module = walk.module
        self._found: dict[tuple[Scope, str], Scope | None] = {}
        self._first: dict[tuple[Scope, str], tuple[_Position, _Position]] = {}

    def find(self, scope: Scope, name: str) -> Scope | None:
        """Give the scope whose binding `name` finds when read in `scope`."""
        key = (scope, name)
        try:
            return self._found[key]
        except KeyError:
            owner = self._found[key] = self._look(scope, name)
            return owner

    def _look(self, start: Scope, name: str) -> Scope | None:
        scope: Scope = start
        visible = True  # whether a class on the way is in sight: only from its own body
        while scope.parent is not None:
            if scope.kind is not ScopeKind.CLASS or visible:
                if name in scope.global_names:
                    break
                if name in scope.bindings:
                    return scope
                if scope.kind is ScopeKind.CLASS and name in _CLASS_NAMES:
                    return scope
            if name == "__class__" and scope.kind is not ScopeKind.CLASS:
                enclosing = _class_cell(scope)
                if enclosing is not None:
                    return enclosing
            # Type parameters of a method or alias see the class that they stand in.
            visible = visible and scope.kind is ScopeKind.TYPE_PARAMETERS
            scope = scope.parent
        return self._module if name in self._module.bindings else None

    def settle_nonlocals(self) -> None:
        """Give every `nonlocal` binding to the function that owns the name."""
        for made in self._walk.nonlocal_bindings:
            name = made.name
            owner = made.within.parent
            while owner is not None and (
                owner.kind in (ScopeKind.CLASS, ScopeKind.MODULE) or name not in owner.bindings
            ):
                owner = owner.parent
            if owner is None:
                continue  # not a valid program: no function around it binds the name
            owner.bindings[name].append(replace(made, scope=owner))
            self._walk.out_of_order.add((owner, name))

    def order_bindings(self) -> None:
        """Bindings made from other scopes were met late: put them where the source has them."""
        for scope, name in self._walk.out_of_order:
            scope.bindings[name].sort(key=_binding_position)

    def reference(self, use: Use) -> Reference:
        context = use.context
        scope = context.scope
        owner = self.find(scope, use.name)
        fallback = None
        if scope.kind is ScopeKind.CLASS and owner is scope and use.access == "load":
            owner, fallback = self._class_read(use, scope)
        node: ast.AST = use.node
        span = None
        if context.holder is not None:
            node = context.holder
            if context.string:
                span = _span(use.node, context.string)
        return Reference(
            use.name, node, scope, owner, use.access, context.deferred, context.annotation,
            use.attributes, use.attribute_nodes, context.exact, use.statement, fallback, span,
        )  # fmt: skip

    def _class_read(self, use: Use, scope: Scope) -> tuple[Scope | None, Scope | None]:
        """Owner and fallback of a class body's read of a name that the class binds.

        Until the class has bound it, Python looks in the module, even from inside a function.
        """
        outside = self._module if use.name in self._module.bindings else None
        if use.name not in scope.bindings:  # `__module__`, `__qualname__`
            return scope, None
        if use.context.deferred and use.context.annotation:
            return scope, outside
        start = (use.statement.lineno, use.statement.col_offset, 1)
        first, first_sure = self._first_bindings(scope, use.name)
        if first >= start:
            return outside, None
        return scope, None if first_sure < start else outside

    def _first_bindings(self, scope: Scope, name: str) -> tuple[_Position, _Position]:
        """Where a class body first may have bound `name`, and where it surely has."""
        key = (scope, name)
        if key not in self._first:
            body = set(scope.node.body if isinstance(scope.node, ast.ClassDef) else ())
            first = sure = _NEVER
            for binding in scope.bindings[name]:
                # A statement's reads come before its binding, except after a walrus.
                statement = binding.statement
                turn = 0 if binding.kind == "walrus" else 1
                position = (statement.lineno, statement.col_offset, turn)
                if binding.kind != "delete":
                    first = min(first, position)
                    if statement in body:
                        sure = min(sure, position)
            self._first[key] = (first, sure)
        return self._first[key]


def _class_cell(scope: Scope) -> Scope | None:
    """Find the class whose `__class__` cell a function in its body sees."""
    parent = scope.parent
    while parent is not None and parent.kind is ScopeKind.TYPE_PARAMETERS:
        parent = parent.parent
    return parent if parent is not None and parent.kind is ScopeKind.CLASS else None


def _binding_position(binding: Binding) -> tuple[int, int, int, int]:
    statement, node = binding.statement, binding.node
    return (
        statement.lineno,
        statement.col_offset,
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
    )


def _span(node: ast.Name, text: str) -> tuple[int, int] | None:
    """Where `text`, read by `parse_expression`, has the name `node`, in characters."""
    lines = text.split("\n")
    line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
    column = node.col_offset - (1 if node.lineno == 1 else 0)
    before = line.encode()[:column].decode(errors="replace")
    start = sum(len(line) + 1 for line in lines[: node.lineno - 1]) + len(before)
    end = start + len(node.id)
    return (start, end) if text[start:end] == node.id else None
