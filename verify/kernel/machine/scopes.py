"""Where a name is looked up: Python's own rules."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import DEFINITIONS, IMPORTS

INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_BARE = frozenset(
    {ast.Attribute, ast.Call, ast.Constant, ast.keyword, ast.Expr, ast.Subscript, ast.Assign}
    | {ast.BinOp, ast.Compare, ast.Return, ast.If, ast.Tuple, ast.List, ast.BoolOp, ast.UnaryOp}
)


@dataclass(frozen=True, slots=True)
class Binds:
    """What a function or class body says of names."""

    locals: frozenset[str]
    globals: frozenset[str]
    generator: bool


@lru_cache(maxsize=1 << 15)
def binds(node: ast.AST) -> Binds:
    """Read what a function, lambda or class body binds in its own scope."""
    found: set[str] = set()
    outer: set[str] = set()
    between: set[str] = set()
    generator = False
    if not isinstance(node, ast.ClassDef):
        found |= {arg.arg for arg in parameters(node)}
    body = getattr(node, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        at = todo.pop()
        kind = at.__class__
        if kind in _BARE:  # most of them: they say nothing of names, but what is below may
            todo += children(at)
            continue
        generator = generator or isinstance(at, (ast.Yield, ast.YieldFrom))
        if isinstance(at, ast.Global):
            outer |= set(at.names)
        elif isinstance(at, ast.Nonlocal):
            between |= set(at.names)
        elif kind is ast.Name:
            if not isinstance(at.ctx, ast.Load):  # type: ignore[attr-defined]
                found.add(at.id)  # type: ignore[attr-defined]
            continue
        found |= own_names(at)
        if isinstance(at, DEFINITIONS):
            todo += at.decorator_list
        elif not isinstance(at, INNER):
            todo.extend(children(at))
        else:
            todo += walrus(at)
    own = frozenset(found - outer - between)
    return Binds(own, frozenset(outer), generator)


def walrus(node: ast.AST) -> list[ast.AST]:
    """List the targets that a comprehension binds in the scope around it."""
    if isinstance(node, ast.Lambda):
        return []
    return [inner.target for inner in walk(node) if isinstance(inner, ast.NamedExpr)]


def own_names(node: ast.AST) -> set[str]:
    """Give the names that one node binds by itself."""
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return {node.id}
    if isinstance(node, IMPORTS):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        return {node.name}
    if isinstance(node, ast.MatchMapping) and node.rest:
        return {node.rest}
    return set()


def parameters(node: ast.AST) -> list[ast.arg]:
    """List the parameters of a function or lambda."""
    given = getattr(node, "args", None)
    if not isinstance(given, ast.arguments):
        return []
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [arg for arg in every if arg is not None]


def type_parameters(node: ast.AST) -> frozenset[str]:
    """Give the type parameters of a definition or alias: names that only its inside sees."""
    given = getattr(node, "type_params", None)
    return frozenset(param.name for param in given) if given else frozenset()
