"""The statement half of the walk behind `transforms.scopes.resolve`: what each statement binds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from transforms.scopes.expressions import (
    Context,
    Expressions,
    Task,
    TypePlace,
    classes,
    defaults,
    mangled,
    parameters,
)
from transforms.scopes.types import ScopeKind
from transforms.syntax.called import last_name
from transforms.syntax.kinds import postpones_annotations

TYPING_MODULES = frozenset({"typing", "typing_extensions"})
# What a star import from `typing` is taken to bring.
_STARRED_TYPING_NAMES = frozenset(
    {
        *("Annotated", "Callable", "ClassVar", "Concatenate", "Dict", "Final", "ForwardRef"),
        *("FrozenSet", "Generator", "Generic", "Iterable", "Iterator", "List", "Literal"),
        *("Mapping", "NamedTuple", "NewType", "NotRequired", "Optional", "ParamSpec", "Protocol"),
        *("Required", "Sequence", "Set", "Tuple", "Type", "TypeAliasType", "TypeGuard", "TypeVar"),
        *("TypeVarTuple", "TypedDict", "Union", "Unpack", "assert_type", "cast"),
    }
)
# Statements that only hold expressions; the names they store are plain assignments.
_PLAIN_STATEMENTS: dict[str, tuple[str, ...]] = {
    "Expr": ("value",),
    "Return": ("value",),
    "Delete": ("targets",),
    "Raise": ("exc", "cause"),
    "Assert": ("test", "msg"),
    "Pass": (),
    "Break": (),
    "Continue": (),
}


_FIELDS = classes(_PLAIN_STATEMENTS)


class TypeComment(NamedTuple):
    """A `# type:` comment that the parser attached to a statement or an argument."""

    node: ast.stmt | ast.arg
    text: str
    context: Context
    statement: ast.stmt


class Walk(Expressions):
    """One pass over a module."""

    def __init__(self, tree: ast.Module, source_text: str | None = None) -> None:
        super().__init__(tree, source_text)
        self.type_comments: list[TypeComment] = []
        self._body_of_module = tree.body
        self._postponed = any(map(postpones_annotations, tree.body))
        self._parts: dict[ast.AST, ast.stmt] = {}  # handlers and cases, by their statement

    def run(self) -> None:
        """Walk the module and everything in it."""
        self.queue.append(Task(self._body_of_module, Context(self.module), None, "assign"))
        self.drain()

    def drain(self) -> None:
        """Walk every scope that waits."""
        queue = self.queue
        while queue:
            nodes, context, statement, kind = queue.popleft()
            if statement is None:
                self._body(nodes, context)
            else:
                self.expressions(nodes, context, statement, kind)

    # -- statements

    def _body(self, body: Sequence[ast.AST], context: Context) -> None:
        stack: list[Any] = list(reversed(body))
        while stack:
            node = stack.pop()
            cls = node.__class__
            fields = _FIELDS.get(cls)
            if fields is not None:
                roots: list[Any] = []
                for name in fields:
                    value = getattr(node, name)
                    if value.__class__ is list:
                        roots += value
                    elif value is not None:
                        roots.append(value)
                if roots:
                    self.expressions(roots, context, node, "assign")
            else:
                handler = _STATEMENTS.get(cls)
                if handler is not None:
                    handler(self, node, context, stack)

    def _assign(self, node: ast.Assign, context: Context, stack: list[Any]) -> None:
        self.expressions([*node.targets, node.value], context, node, "assign")
        self._comment(node, context, node)

    def _aug_assign(self, node: ast.AugAssign, context: Context, stack: list[Any]) -> None:
        self.expressions([node.target], context, node, "augmented assign")
        self.expressions([node.value], context, node, "assign")

    def _ann_assign(self, node: ast.AnnAssign, context: Context, stack: list[Any]) -> None:
        target = node.target
        if node.value is None:
            if not isinstance(target, ast.Name):
                self.expressions([target], context, node, "assign")
            elif node.simple:
                self.expressions([target], context, node, "bare annotation")
        else:
            self.expressions([target], context, node, "annotated assign")
        # The annotation of a local variable is never evaluated.
        local = context.scope.kind is ScopeKind.FUNCTION
        self.annotation(node.annotation, context, node, evaluated=not local)
        if node.value is not None:
            self.expressions([node.value], context, node, "assign")
            if _is_type_alias(node.annotation):
                self.type_places.append(TypePlace(node.value, context, node))

    def _for(self, node: ast.For, context: Context, stack: list[Any]) -> None:
        self.expressions([node.target, node.iter], context, node, "for")
        self._comment(node, context, node)
        stack += reversed(node.orelse)
        stack += reversed(node.body)

    def _while(self, node: ast.While | ast.If, context: Context, stack: list[Any]) -> None:
        self.expressions([node.test], context, node, "assign")
        stack += reversed(node.orelse)
        stack += reversed(node.body)

    def _with(self, node: ast.With, context: Context, stack: list[Any]) -> None:
        self.expressions(node.items, context, node, "with")
        self._comment(node, context, node)
        stack += reversed(node.body)

    def _try(self, node: ast.Try, context: Context, stack: list[Any]) -> None:
        stack += reversed(node.finalbody)
        stack += reversed(node.orelse)
        for handler in reversed(node.handlers):
            self._parts[handler] = node
            stack.append(handler)
        stack += reversed(node.body)

    def _handler(self, node: ast.ExceptHandler, context: Context, stack: list[Any]) -> None:
        statement = self._parts[node]
        if node.type is not None:
            self.expressions([node.type], context, statement, "assign")
        if node.name is not None:
            self.bind(node.name, node, "except", context, statement)
        stack += reversed(node.body)

    def _match(self, node: ast.Match, context: Context, stack: list[Any]) -> None:
        self.expressions([node.subject], context, node, "assign")
        for case in reversed(node.cases):
            self._parts[case] = node
            stack.append(case)

    def _case(self, node: ast.match_case, context: Context, stack: list[Any]) -> None:
        statement = self._parts[node]
        self.expressions([node.pattern], context, statement, "match")
        if node.guard is not None:
            self.expressions([node.guard], context, statement, "assign")
        stack += reversed(node.body)

    def _import(self, node: ast.Import, context: Context, stack: list[Any]) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if alias.name in TYPING_MODULES:
                self.type_names.add(name)
            self.bind(name, alias, "import", context, node)

    def _import_from(self, node: ast.ImportFrom, context: Context, stack: list[Any]) -> None:
        typed = node.module in TYPING_MODULES or node.module == "collections.abc"
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name == "*":
                if typed:
                    self.type_names |= _STARRED_TYPING_NAMES
                self.bind("*", alias, "star import", context, node)
                continue
            if typed:
                self.type_names.add(name)
            self.bind(name, alias, "from import", context, node)

    def _declare(self, node: ast.Global | ast.Nonlocal, context: Context, stack: list[Any]) -> None:
        scope = context.scope
        names = [mangled(name, context.private) for name in node.names]
        for name in names:
            scope.declarations.setdefault(name, []).append(node)
        if isinstance(node, ast.Nonlocal):
            scope.nonlocal_names.update(names)
        elif scope is not self.module:
            scope.global_names.update(names)
        for name in names:
            # The compiler lets an import stand before the declaration of what it binds.
            for early in scope.bindings.pop(name, []) if scope is not self.module else []:
                self.bind(name, early.node, early.kind, context, early.statement)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: Context, stack: list[Any]
    ) -> None:
        arguments = node.args
        roots = [*node.decorator_list, *defaults(arguments)]
        if roots:
            self.expressions(roots, context, node, "assign")
        inner = self._type_parameters(node, context)
        for argument in parameters(arguments):
            if argument.annotation is not None:
                self.annotation(argument.annotation, inner, node)
            self._comment(argument, inner, node)
        if node.returns is not None:
            self.annotation(node.returns, inner, node)
        self._comment(node, inner, node)
        self.bind(node.name, node, "def", context, node)
        scope = self.open_scope(ScopeKind.FUNCTION, node, inner.scope)
        body = Context(scope, True, private=context.private)
        for argument in parameters(arguments):
            self.bind(argument.arg, argument, "parameter", body, node)
        self.queue.append(Task(node.body, body, None, "assign"))

    def _class(self, node: ast.ClassDef, context: Context, stack: list[Any]) -> None:
        if node.decorator_list:
            self.expressions(node.decorator_list, context, node, "assign")
        private = node.name.lstrip("_") or None
        inner = self._type_parameters(node, context, private)
        if node.bases or node.keywords:
            self.expressions([*node.bases, *node.keywords], inner, node, "assign")
        self.bind(node.name, node, "class", context, node)
        scope = self.open_scope(ScopeKind.CLASS, node, inner.scope)
        body = Context(scope, context.deferred, private=private)
        self.queue.append(Task(node.body, body, None, "assign"))

    def _type_parameters(self, node: Any, context: Context, private: str | None = None) -> Context:
        """Give the place of what sees the type parameters of `node`."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return context
        scope = self.open_scope(ScopeKind.TYPE_PARAMETERS, node, context.scope)
        inner = Context(scope, context.deferred, private=private or context.private)
        # Bounds and defaults are evaluated when asked for.
        lazy = Context(scope, True, private=inner.private)
        for parameter in parameters:
            self.bind(parameter.name, parameter, "type parameter", inner, node)
            for name in ("bound", "default_value"):
                value = getattr(parameter, name, None)
                if value is not None:
                    self.expressions([value], lazy, node, "assign")
                    self.type_places.append(TypePlace(value, lazy, node))
        return inner

    def _type_alias(self, node: Any, context: Context, stack: list[Any]) -> None:
        self.expressions([node.name], context, node, "type alias")
        inner = self._type_parameters(node, context)
        lazy = Context(inner.scope, True, private=inner.private)
        self.expressions([node.value], lazy, node, "assign")
        self.type_places.append(TypePlace(node.value, lazy, node))

    # -- annotations

    def annotation(
        self, node: ast.expr, context: Context, statement: ast.stmt, *, evaluated: bool = True
    ) -> None:
        """Walk an annotation, and keep it for later if it holds strings."""
        place = context.annotated
        if place is None or (place.annotation == "evaluated") is not (
            evaluated and not self._postponed
        ):
            place = self._annotated(context, evaluated and not self._postponed)
            context.annotated = place
        self.strings_seen = False
        self.expressions([node], place, statement, "assign")
        if self.strings_seen:
            self.type_places.append(TypePlace(node, place, statement))

    def _annotated(self, context: Context, evaluated: bool) -> Context:
        if evaluated:
            return Context(context.scope, context.deferred, "evaluated", private=context.private)
        return Context(context.scope, True, "postponed")

    def _comment(self, node: ast.stmt | ast.arg, context: Context, statement: ast.stmt) -> None:
        text = getattr(node, "type_comment", None)
        if text:
            self.type_comments.append(TypeComment(node, text, context, statement))


_STATEMENTS: dict[type, Callable[[Walk, Any, Context, list[Any]], None]] = {
    ast.Assign: Walk._assign,
    ast.AugAssign: Walk._aug_assign,
    ast.AnnAssign: Walk._ann_assign,
    ast.For: Walk._for,
    ast.AsyncFor: Walk._for,
    ast.While: Walk._while,
    ast.If: Walk._while,
    ast.With: Walk._with,
    ast.AsyncWith: Walk._with,
    ast.Try: Walk._try,
    ast.ExceptHandler: Walk._handler,
    ast.Match: Walk._match,
    ast.match_case: Walk._case,
    ast.Import: Walk._import,
    ast.ImportFrom: Walk._import_from,
    ast.Global: Walk._declare,
    ast.Nonlocal: Walk._declare,
    ast.FunctionDef: Walk._function,
    ast.AsyncFunctionDef: Walk._function,
    ast.ClassDef: Walk._class,
}
# Syntax that only newer interpreters parse.
for _name, _statement in (("TryStar", Walk._try), ("TypeAlias", Walk._type_alias)):
    if hasattr(ast, _name):
        _STATEMENTS[getattr(ast, _name)] = _statement


def _is_type_alias(annotation: ast.expr) -> bool:
    """Whether `annotation` spells `TypeAlias`, so that the value is a type."""
    if isinstance(annotation, ast.Constant):
        text = annotation.value
        return isinstance(text, str) and text.rpartition(".")[2].strip() == "TypeAlias"
    return last_name(annotation) == "TypeAlias"
