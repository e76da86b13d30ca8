"""Calls that are not followed to their end: whether that leaves anything out that others see."""

from __future__ import annotations

import ast
from functools import lru_cache

from verify.kernel.machine.scopes import binds, parameters
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import DEFINITIONS, IMPORTS
from verify.kernel.trees.words import words

# Methods of texts, numbers and containers that change nothing.
_PURE = words(
    """split rsplit join strip lstrip rstrip lower upper title startswith endswith replace format
    items keys values get copy count index find partition rpartition encode decode isdigit union
    intersection difference removeprefix removesuffix zfill ljust rjust"""
)
_FILLING = words("append extend add update insert setdefault pop sort")
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_STORES = (ast.Store, ast.Del)


@lru_cache(maxsize=1 << 12)
def only_makes_values(node: ast.AST, *, filling: bool = False) -> bool:
    """Tell whether a function, whatever it is given, does nothing but compute.

    It calls itself and what is known to do nothing, and fills what it has made itself. `filling`
    is a method that makes an object, and gives it its attributes.
    """
    name, own = getattr(node, "name", ""), binds(node).locals
    made = _made(node) - {arg.arg for arg in parameters(node)}
    body = getattr(node, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        at = todo.pop()
        if isinstance(at, (*DEFINITIONS, *IMPORTS, ast.Global, ast.Nonlocal, *_ACTING)):
            return False
        if isinstance(at, (ast.Attribute, ast.Subscript)) and isinstance(at.ctx, _STORES):
            given = filling and isinstance(at, ast.Attribute) and _name(at.value) in own
            if not given and not (isinstance(at, ast.Subscript) and _name(at.value) in made):
                return False
        if isinstance(at, ast.Call) and not _harmless(at, name, own, made):
            return False
        todo.extend(children(at))
    return True


_ACTING = (ast.With, ast.AsyncWith, ast.Await, ast.AsyncFor, ast.YieldFrom, ast.Yield)


def _harmless(call: ast.Call, name: str, own: frozenset[str], made: frozenset[str]) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        plain = function.id in effects.PLAIN or function.id in effects.errors()
        return function.id == name or (plain and function.id not in own)
    if isinstance(function, ast.Attribute):
        filled = function.attr in _FILLING and _name(function.value) in made
        itself = function.attr == name and _name(function.value) in ("self", "cls")
        return function.attr in _PURE or filled or itself or function.attr == "__new__"
    return False


@lru_cache(maxsize=1 << 12)
def _made(node: ast.AST) -> frozenset[str]:
    """Give the names of a body that hold nothing but what it makes itself."""
    made: set[str] = set()
    other: set[str] = set()
    for at in walk(node):
        if isinstance(at, (ast.Assign, ast.AnnAssign)):
            targets = at.targets if isinstance(at, ast.Assign) else [at.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    (made if isinstance(at.value, _DISPLAYS) else other).add(target.id)
                else:
                    other |= _stored(target)
        elif isinstance(at, (ast.For, ast.comprehension, ast.AugAssign, ast.NamedExpr)):
            other |= _stored(at.target)
        elif isinstance(at, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and at.name:
            other.add(at.name)
    return frozenset(made - other)


def _stored(node: ast.AST) -> set[str]:
    return {name.id for name in walk(node) if isinstance(name, ast.Name)}


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
