"""What a call, a decorator or a chain of attributes is called."""

from __future__ import annotations

import ast

import pytest

from transforms.syntax.called import (
    bare,
    called_name,
    decorating,
    last_name,
    root,
    root_name,
)

ROWS = {
    # expression: last name, decorating, bare, root, root name
    "c": ("c", "c", "c", "c", "c"),
    "a.b.c": ("c", "a.b.c", "a.b.c", "a", "a"),
    "a.b(c)": ("", "a.b", "a.b", "a", ""),
    "a(b)(c)": ("", "a(b)", "a", "a", ""),
    "a[b]": ("", "a[b]", "a", "a", ""),
    "a[b].c(d)": ("", "a[b].c", "a[b].c", "a", ""),
    "a(b).c": ("c", "a(b).c", "a(b).c", "a", ""),
    "'a'.b": ("b", "'a'.b", "'a'.b", "'a'", ""),
    "(a or b)": ("", "a or b", "a or b", "a or b", ""),
}


@pytest.mark.parametrize("text", ROWS)
def test_an_expression_is_called(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    start = root_name(node)
    assert ROWS[text] == (
        last_name(node),
        ast.unparse(decorating(node)),
        ast.unparse(bare(node)),
        ast.unparse(root(node)),
        start.id if start else "",
    )


def test_nothing_is_called_nothing() -> None:
    assert last_name(None) == ""


@pytest.mark.parametrize(
    ("text", "name"), [("f()", "f"), ("a.f(x)", "f"), ("f()()", ""), ("f[0]()", ""), ("(f)()", "f")]
)
def test_a_call_is_called(text: str, name: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert called_name(call) == name
