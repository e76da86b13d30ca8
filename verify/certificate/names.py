"""What a top-level statement refers to, by Python's scoping rules.

A `Ref` is a use of a name that may reach the module's globals, or an import within a function.
Uses come in the order of the syntax tree, so those of two statements with equal tokens
correspond one to one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from unicodedata import normalize

from verify.certificate.source import (
    FUNCTIONS,
    IMPORTS,
    Guard,
    Import,
    Module,
    blocks,
    bound,
    imports_of,
    only_imports,
)
from verify.kernel.trees.nodes import children, walk

NOW, LATER, HINT = "now", "later", "hint"  # run on import, run when called, never evaluated
# What these wrap stays what it is: nothing is registered, no annotation is evaluated.
HARMLESS = re.compile(
    "property|setter|getter|deleter|staticmethod|classmethod|abstractmethod|cached_property|"
    "overload|override|final|wraps|lru_cache|cache|contextmanager|asynccontextmanager|dataclass|"
    "total_ordering|no_type_check|runtime_checkable|unique|abstractproperty"
)
_PLAIN_BASES = {"object", "ABC", "Generic", "Protocol", "Exception", "ValueError", "RuntimeError"}
_PART = r"[^\W\d]\w*"  # no match begins or ends in two ways: a hostile text costs its length
PATH = re.compile(rf"(?<!\w)(?=\w+[.:][^\W\d]){_PART}(?:\.{_PART})*(?::{_PART}(?:\.{_PART})*)?")
_TYPE_CALLS = {"cast", "TypeVar", "NewType", "ForwardRef", "ParamSpec"}  # their strings are types


class Ref(NamedTuple):
    """A use of a name, with the attributes that follow it.

    `local` holds the imports of an enclosing function that bind it; None is a name of the module.
    """

    name: str
    attrs: tuple[str, ...]
    line: int
    column: int
    when: str
    action: str  # `load`, `store` or `del`: of the name, or of the last attribute
    condition: bool
    local: tuple[Import, ...] | None
    node: ast.expr


class LocalImport(NamedTuple):
    """An import within a function, and its place among the statements that are no imports."""

    scope: str  # the function's qualified name
    spot: tuple[str | int, ...]
    guards: tuple[Guard, ...]
    imported: Import


@dataclass
class Facts:
    """What one top-level statement refers to."""

    refs: list[Ref] = field(default_factory=list)
    guards: list[Ref] = field(default_factory=list)  # of import-only blocks within functions
    calls: list[tuple[Ref | None, ast.Call, str]] = field(default_factory=list)
    locals: list[LocalImport] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)  # of every scope
    used: set[tuple[str, str]] = field(default_factory=set)  # scope and name of local imports
    evaluated: list[Ref] = field(default_factory=list)  # annotations that a decorator may evaluate
    annotated: bool = False

    @cached_property
    def by_node(self) -> dict[ast.AST, Ref]:
        """The references by their nodes, once all are found."""
        return {ref.node: ref for ref in self.refs}


class _Scope:
    """A function, lambda, comprehension or class; `seen` is what a class has surely bound."""

    def __init__(self, kind: str, name: str, parent: _Scope | None) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.names: set[str] = set()
        self.seen: set[str] = set()
        self.globals: set[str] = set()
        self.evaluates = False  # a class whose fields' annotations something may evaluate
        self.imports: dict[str, tuple[Import, ...]] = {}

    def owner(self, name: str) -> _Scope | None:
        """Give the scope that a name belongs to, or None for the module."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.globals:
                return None
            if scope.kind == "class":
                if scope is self and name in scope.names:
                    return scope if name in scope.seen else None
            elif name in scope.names:
                return scope
            scope = scope.parent
        return None


@lru_cache(maxsize=50_000)
def words(text: str) -> frozenset[str]:
    """List the words of a statement, also as Python normalises identifiers."""
    return all_words(text)


def all_words(text: str) -> frozenset[str]:
    """List the words of any text, and keep none of it."""
    found = frozenset(re.findall(r"\w+", text))
    if text.isascii():
        return found
    whole = re.findall(r"[\w\x80-\U0010ffff]+", text)  # identifiers also hold marks
    whole = [part for part in whole if not part.isascii()]
    return found.union(whole, *(re.findall(r"\w+", normalize("NFKC", part)) for part in whole))


def last_name(node: ast.AST) -> str:
    """Give the last name of a dotted expression or of what it calls; empty for any other."""
    if isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def facts(node: ast.stmt, *, lazy_hints: bool, checking: bool = True, deep: bool = True) -> Facts:
    """Find what a top-level statement refers to.

    `lazy_hints` says that annotations are in force as strings, `checking` that TYPE_CHECKING is
    what `typing` calls so. Without `deep`, only what runs on import is looked at. Raises
    RecursionError where the statement nests too deeply.
    """
    walker = _Walker(lazy_hints, checking, deep)
    walker.visit(node, None, NOW)
    return walker.facts


class _Walker:
    def __init__(self, lazy_hints: bool, checking: bool, deep: bool) -> None:
        self.lazy = lazy_hints
        self.checking = checking
        self.deep = deep
        self.facts = Facts()
        self.guard = 0  # within so many import-only blocks

    def visit(self, node: ast.AST, scope: _Scope | None, when: str, cond: bool = False) -> None:
        method = _METHODS.get(node.__class__)
        if method is not None:
            method(self, node, scope, when, cond)
        else:
            self.every(children(node), scope, when)

    def every(self, nodes: Iterable[ast.AST | None], scope: _Scope | None, when: str) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, scope, when)

    # --- names ---

    def _name(self, node: ast.Name, scope: _Scope | None, when: str, cond: bool) -> None:
        self.refer(node, node, (), scope, when, cond)

    def _attribute(self, node: ast.Attribute, scope: _Scope | None, when: str, cond: bool) -> None:
        attrs = [node.attr]
        root = node.value
        while isinstance(root, ast.Attribute):
            attrs.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            self.refer(node, root, tuple(reversed(attrs)), scope, when, cond)
        else:
            self.visit(root, scope, when)

    def refer(
        self,
        node: ast.Name | ast.Attribute,
        root: ast.Name,
        attrs: tuple[str, ...],
        scope: _Scope | None,
        when: str,
        cond: bool,
    ) -> None:
        action = {ast.Load: "load", ast.Store: "store", ast.Del: "del"}[type(node.ctx)]
        owner = scope.owner(root.id) if scope is not None else None
        name, local = root.id if owner is not None else _mangled(scope, root.id), None
        if owner is not None:
            local = owner.imports.get(name)
            if isinstance(root.ctx, ast.Del) and owner.kind == "class":
                owner.seen.discard(name)
            if local is None:
                return
            if not isinstance(root.ctx, ast.Store):
                self.facts.used.add((owner.name, name))
        elif isinstance(root.ctx, ast.Store):
            if scope is None or root.id not in _declared(scope):
                return
        where = (root.lineno, root.col_offset)
        ref = Ref(name, attrs, *where, when, action, cond, local, node)
        (self.facts.guards if self.guard else self.facts.refs).append(ref)

    # --- statements ---

    def _import(self, node: ast.AST, *_: object) -> None:
        self.facts.imports.extend(imports_of(node))

    _importfrom = _import

    def _global(self, *_: object) -> None:
        """Leave declarations out: they refer to nothing."""

    _nonlocal = _global

    def _functiondef(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        scope: _Scope | None,
        when: str,
        _: bool,
    ) -> None:
        self.every(node.decorator_list, scope, when)
        self.every([*node.args.defaults, *node.args.kw_defaults], scope, when)
        scope = self.parameters(node, scope)
        evaluated = any(not HARMLESS.fullmatch(last_name(d)) for d in node.decorator_list)
        for argument in arguments(node.args):
            self.hint(argument.annotation, scope, when, evaluated)
        self.hint(node.returns, scope, when, evaluated)
        if not self.deep:
            return
        inner = _Scope("function", _path(scope, node.name), scope)
        inner.names.update(argument.arg for argument in arguments(node.args))
        self.fill(inner, node.body)
        self.every(node.body, inner, HINT if when == HINT else LATER)

    _asyncfunctiondef = _functiondef

    def fill(self, scope: _Scope, body: Sequence[ast.stmt]) -> None:
        """Enter what a function's body binds."""
        outer: set[str] = set()
        for name, part in bound(body):
            if isinstance(part, ast.Global):
                scope.globals.add(name)
            else:
                (outer if isinstance(part, ast.Nonlocal) else scope.names).add(name)
        scope.names -= outer
        for item in _local_imports(scope.name, body, (), ()):
            self.facts.locals.append(item)
            name = item.imported.name
            scope.imports[name] = (*scope.imports.get(name, ()), item.imported)

    def parameters(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: _Scope | None
    ) -> _Scope | None:
        """Give the scope of PEP 695 type parameters, if there are any."""
        found = getattr(node, "type_params", None)
        if not found:
            return scope
        inner = _Scope("function", _path(scope, node.name), scope)
        inner.names.update(parameter.name for parameter in found)
        self.every(found, inner, LATER)
        return inner

    def _classdef(self, node: ast.ClassDef, scope: _Scope | None, when: str, _: bool) -> None:
        self.every(node.decorator_list, scope, when)
        scope = self.parameters(node, scope)
        self.every([*node.bases, *node.keywords], scope, when)
        inner = _Scope("class", _path(scope, node.name), scope)
        inner.evaluates = any(
            not HARMLESS.fullmatch(last_name(d)) for d in node.decorator_list
        ) or any(
            last_name(getattr(b, "value", b) if isinstance(b, ast.Subscript) else b)
            not in _PLAIN_BASES
            for b in node.bases
        )
        for name, part in bound(node.body):
            (inner.globals if isinstance(part, ast.Global) else inner.names).add(name)
        self.facts.locals.extend(_local_imports(inner.name, node.body, (), ()))
        for statement in node.body:
            self.visit(statement, inner, when)
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Assign, *IMPORTS)) or (
                isinstance(statement, ast.AnnAssign) and statement.value is not None
            ):
                inner.seen.update(name for name, _ in bound([statement]))

    def _if(self, node: ast.If, scope: _Scope | None, when: str, _: bool) -> None:
        within = scope is not None and scope.kind != "class" and only_imports(node)
        self.guard += within
        self.visit(node.test, scope, when, True)
        name = getattr(node.test, "id", "")
        owned = scope is not None and scope.owner(name) is not None
        checking = self.checking and name == "TYPE_CHECKING" and not owned
        self.every(node.body, scope, HINT if checking else when)
        self.every(node.orelse, scope, when)
        self.guard -= within

    def _try(self, node: ast.Try, scope: _Scope | None, when: str, _: bool) -> None:
        within = scope is not None and scope.kind != "class" and only_imports(node)
        self.guard += within
        self.every(children(node), scope, when)
        self.guard -= within

    _trystar = _try

    def _while(self, node: ast.While, scope: _Scope | None, when: str, _: bool) -> None:
        self.visit(node.test, scope, when, True)
        self.every([*node.body, *node.orelse], scope, when)

    def _assert(self, node: ast.Assert, scope: _Scope | None, when: str, _: bool) -> None:
        self.visit(node.test, scope, when, True)
        self.every([node.msg], scope, when)

    def _annassign(self, node: ast.AnnAssign, scope: _Scope | None, when: str, _: bool) -> None:
        inside = scope is not None and scope.kind == "function"
        evaluated = scope is not None and scope.evaluates
        self.hint(node.annotation, scope, HINT if inside else when, evaluated)
        self.every([node.value, node.target], scope, when)

    def _augassign(self, node: ast.AugAssign, scope: _Scope | None, when: str, _: bool) -> None:
        if isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.visit(read, scope, when)
        self.every([node.target, node.value], scope, when)

    def _typealias(self, node: ast.AST, scope: _Scope | None, when: str, _: bool) -> None:
        inner = _Scope("function", "", scope)
        inner.names.update(p.name for p in node.type_params)  # type: ignore[attr-defined]
        self.every(children(node), inner, LATER)

    # --- expressions ---

    def _call(self, node: ast.Call, scope: _Scope | None, when: str, _: bool) -> None:
        before = len(self.facts.refs)
        self.visit(node.func, scope, when)
        ref = self.facts.refs[before] if len(self.facts.refs) == before + 1 else None
        self.facts.calls.append((ref, node, when))
        for argument in [*node.args, *node.keywords]:
            if last_name(node) in _TYPE_CALLS:
                self.strings(argument, scope)
            self.visit(argument, scope, when)

    def _lambda(self, node: ast.Lambda, scope: _Scope | None, when: str, _: bool) -> None:
        self.every([*node.args.defaults, *node.args.kw_defaults], scope, when)
        if self.deep:
            inner = _Scope("function", _path(scope, "<lambda>"), scope)
            inner.names.update(argument.arg for argument in arguments(node.args))
            inner.names.update(name for name, _ in bound([node.body]))
            self.visit(node.body, inner, HINT if when == HINT else LATER)

    def _listcomp(self, node: ast.ListComp, scope: _Scope | None, when: str, _: bool) -> None:
        inner = _Scope("function", _path(scope, "<comprehension>"), scope)
        for generator in node.generators:
            inner.names.update(name for name, _ in bound([generator.target]))
        for index, generator in enumerate(node.generators):
            self.visit(generator.iter, inner if index else scope, when)
            self.visit(generator.target, inner, when)
            for test in generator.ifs:
                self.visit(test, inner, when, True)
        whole: list[ast.expr | None] = [getattr(node, n, None) for n in ("elt", "key", "value")]
        self.every(whole, inner, when)

    _setcomp = _dictcomp = _generatorexp = _listcomp

    def _boolop(self, node: ast.BoolOp, scope: _Scope | None, when: str, cond: bool) -> None:
        for value in node.values:
            decides = isinstance(node.op, ast.And) and value is not node.values[-1]
            self.visit(value, scope, when, cond or decides)

    def _unaryop(self, node: ast.UnaryOp, scope: _Scope | None, when: str, _: bool) -> None:
        self.visit(node.operand, scope, when, isinstance(node.op, ast.Not))

    def _ifexp(self, node: ast.IfExp, scope: _Scope | None, when: str, _: bool) -> None:
        self.visit(node.test, scope, when, True)
        self.every([node.body, node.orelse], scope, when)

    # --- annotations ---

    def hint(self, node: ast.expr | None, scope: _Scope | None, when: str, evaluated: bool) -> None:
        """Visit an annotation: it runs where it stands, unless it stays a string."""
        if node is not None:
            before = len(self.facts.refs)
            self.facts.annotated = True
            self.visit(node, scope, HINT if self.lazy else when)
            self.strings(node, scope)
            if evaluated:
                self.facts.evaluated.extend(self.facts.refs[before:])

    def strings(self, node: ast.AST, scope: _Scope | None) -> None:
        """Visit the types that stand as strings within an annotation."""
        if isinstance(node, ast.Subscript):
            name = getattr(node.value, "attr", getattr(node.value, "id", ""))
            if name == "Literal":
                return
            if name == "Annotated" and isinstance(node.slice, ast.Tuple) and node.slice.elts:
                self.strings(node.slice.elts[0], scope)
                return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                parsed = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, MemoryError):
                return
            for part in walk(parsed):
                ast.copy_location(part, node)
            self.visit(parsed, scope, HINT)
            self.strings(parsed, scope)
        for child in children(node):
            self.strings(child, scope)


# By the class of a node: looked up by name, they were a tenth of the walk.
_METHODS: dict[type, Callable[[_Walker, Any, _Scope | None, str, bool], None]] = {
    kind: vars(_Walker)[f"_{name.lower()}"]
    for name, kind in vars(ast).items()
    if f"_{name.lower()}" in vars(_Walker)
}


def _declared(scope: _Scope) -> set[str]:
    """Give the names that the scope a walrus or an assignment binds in declares `global`."""
    while scope.name.endswith("<comprehension>") and scope.parent is not None:
        scope = scope.parent
    return scope.globals


def _mangled(scope: _Scope | None, name: str) -> str:
    """Give a name as Python looks it up: one that is private to a class is spelled otherwise."""
    if not name.startswith("__") or name.endswith("__"):
        return name
    while scope is not None and scope.kind != "class":
        scope = scope.parent
    owner = scope.name.rpartition(".")[2].lstrip("_") if scope is not None else ""
    return f"_{owner}{name}" if owner else name


def _path(scope: _Scope | None, name: str) -> str:
    return f"{scope.name}.{name}" if scope is not None else name


def arguments(args: ast.arguments) -> list[ast.arg]:
    """List the parameters of a function."""
    several = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return [*several, *(a for a in (args.vararg, args.kwarg) if a is not None)]


def _local_imports(
    scope: str, body: Sequence[ast.stmt], spot: tuple[str | int, ...], guards: tuple[Guard, ...]
) -> Iterator[LocalImport]:
    count = 0
    for node in body:
        if isinstance(node, IMPORTS):
            for item in imports_of(node):
                yield LocalImport(scope, (*spot, count), guards, item)
            continue
        for branch, tests, block in blocks(node):
            inside = (*guards, Guard(branch, tests, node))
            yield from _local_imports(scope, block, (*spot, count, branch), inside)
        count += not only_imports(node)


def constant(module: Module, node: ast.AST) -> str | None:
    """Work out a string, also an f-string whose names are constants of the module."""
    if isinstance(node, ast.JoinedStr):
        parts = [constant(module, part) for part in node.values]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        found = module.names.get(node.value.id, [])
        owner = module.source.units[found[0].unit].node if len(found) == 1 else None
        node = getattr(owner, "value", node)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def logger_name(ref: Ref | None, call: ast.Call) -> int | None:
    """Give the `__name__` that only names a logger."""
    makes = ref is not None and last_name(call) == "getLogger" and len(call.args) == 1
    return id(call.args[0]) if makes and last_name(call.args[0]) == "__name__" else None


def immutable(node: ast.expr) -> bool:
    """Tell whether an expression is made of literals that cannot change."""
    if isinstance(node, (ast.Tuple, ast.UnaryOp, ast.BinOp)):
        return all(immutable(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
    return isinstance(node, ast.Constant)


def as_bytes(path: str) -> bytes:
    """Give the bytes of a path, which need not be text."""
    return path.encode("utf-8", "surrogateescape")
