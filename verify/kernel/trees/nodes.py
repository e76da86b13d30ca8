"""Walks over syntax trees: what the standard library does, at a fraction of its cost.

Contexts and operators are left out: nobody looks for them, and they are a third of all nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

_Kind = TypeVar("_Kind", bound=ast.AST)

# Fields that never hold a node that is listed, whatever the kind of node.
_WITHOUT = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "lineno", "is_async", "level"}
    | {"module", "asname", "rest", "simple", "conversion", "type_ignores"}
)
# Lists that hold something else than nodes: names, or nothing where there is no default or key.
_MIXED = frozenset({"names", "kw_defaults", "keys", "kwd_attrs"})
_NODE = ast.AST


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of each kind of node below which others may lie."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        apart = frozenset(("value", "kind")) if issubclass(kind, ast.Constant) else _WITHOUT
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        found = self[kind] = tuple(name for name in names if name not in apart)
        return found


_fields = _Fields()


def fields(node: ast.AST) -> tuple[str, ...]:
    """Give the fields of a node below which others may lie, in the order of the text."""
    return _fields[node.__class__]


def children(node: ast.AST) -> list[ast.AST]:
    """List the nodes directly below one, in the order of the text."""
    found: list[ast.AST] = []
    for name in _fields[node.__class__]:
        value = getattr(node, name, None)
        if value:  # most are empty
            if value.__class__ is not list:
                if isinstance(value, _NODE):
                    found.append(value)
            elif name in _MIXED:
                found += [part for part in value if isinstance(part, _NODE)]
            else:
                found += value
    return found


@lru_cache(maxsize=1 << 14)
def walk(node: ast.AST) -> tuple[ast.AST, ...]:
    """List a node and all below it, parents first; kept, since many ask for the same."""
    found = [node]
    for part in found:
        for name in _fields[part.__class__]:  # `children`, without a call and a list for each
            value = getattr(part, name, None)
            if value:
                if value.__class__ is not list:
                    if isinstance(value, _NODE):
                        found.append(value)
                elif name in _MIXED:
                    found += [below for below in value if isinstance(below, _NODE)]
                else:
                    found += value
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def by_kind(node: ast.AST) -> Mapping[type, list[ast.AST]]:
    """Give a node and all below it by their kinds; who looks for a few need not look at all."""
    found: dict[type, list[ast.AST]] = {}
    for part in walk(node):
        kind = part.__class__
        if kind in found:
            found[kind].append(part)
        else:
            found[kind] = [part]
    return found


def of_kind(node: ast.AST, *kinds: type[_Kind]) -> Iterator[_Kind]:
    """List the nodes of some kinds, a node itself among them, kind by kind."""
    every = by_kind(node)
    for kind in kinds:
        yield from every.get(kind, ())  # type: ignore[misc]
