"""Tables of programs, and what is said of the name `X` in each.

For each use, in source order: the scope it finds (`module`, `builtin or star` if the file binds it
nowhere, or kind and name), and marks: `store` or `delete`; `later` if it runs after import; the
kind of annotation; `.attributes`; the scope it may fall back on.
"""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from transforms.scopes.resolve import Reference, Scope, ScopeKind, Scopes, resolve
from transforms.syntax.parsing import parse

NEEDS_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of 3.12")
NEEDS_311 = pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of 3.11")
NEEDS_313 = pytest.mark.skipif(sys.version_info < (3, 13), reason="syntax of 3.13")


def resolved(source: str) -> Scopes:
    text = dedent(source)
    return resolve(parse(text, "row.py"), source_text=text)


def scope_name(scope: Scope | None) -> str:
    if scope is None:
        return "builtin or star"
    if scope.kind is ScopeKind.MODULE:
        return "module"
    name = getattr(scope.node, "name", "")
    return f"{scope.kind.value} {getattr(name, 'id', name)}".strip()


def said(reference: Reference) -> str:
    words = [scope_name(reference.owner)]
    if reference.access != "load":
        words.append(reference.access)
    if reference.deferred:
        words.append("later")
    if reference.annotation:
        words.append(reference.annotation)
    if reference.attributes:
        words.append("." + ".".join(reference.attributes))
    if reference.fallback is not None:
        words.append(f"or {scope_name(reference.fallback)}")
    return ", ".join(words)


def uses(source: str) -> list[str]:
    """What is said of each use of `X`."""
    return [said(it) for it in resolved(source).references if it.name == "X"]


def rows(*rows: tuple) -> list:
    """Give each row its sentence as id; a fourth field is a mark."""
    return [pytest.param(row[1], row[2], id=row[0], marks=row[3:]) for row in rows]
