"""The bound before parsing, which only CPython 3.10 needs, and the depth after it."""

from __future__ import annotations

import ast

import pytest

from transforms.syntax.depth import longest_chain, too_deep
from transforms.syntax.parsing import parse


def _rows(*rows: tuple) -> list:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


# Source, longest chain of operators in it, its line.
CHAINS = _rows(
    ("a sum", b"a = 1\nb = 1+2+3+4\n", 3, 2),
    ("attributes, calls and subscripts", b"a.b(c)[d].e(f, g)", 5, 1),
    ("what commas part is not added up", b"a = [1.5, -2.5, -3.5, 4+5+6]", 3, 1),
    ("a chain goes on after a call with commas", b"a(b, c)(d, e)(f, g)", 3, 1),
    ("line ends part statements, not brackets", b"a = (1+\n2+\n3)\nb = 1+2\n", 3, 2),
    ("a backslash joins lines", b"a = 1+2 \\\n+3\n", 2, 2),
    ("comments and strings do not count", b"a = 'b.c.d.e'  # f.g.h\nx.y.z\n", 2, 2),
    ("strings end where they end", b"'\\'+' \"\"\"+\"+'''\"\"\" rb'''+\\''' a.b.c", 2, 1),
    ("an f-string's expressions may count", b"f'{a+b+c}'", 3, 1),
    ("powers and floor divisions are one operator", b"2**3//4<<5", 3, 1),
    ("unmatched brackets never become a tree", b"a.b.c.d.e)", 0, 1),
    ("unclosed brackets never become a tree", b"(a.b.c.d.e", 0, 1),
)


@pytest.mark.parametrize(("source", "length", "line"), CHAINS)
def test_chain_is_bounded(source: bytes, length: int, line: int) -> None:
    assert longest_chain(source, 1) == (length, line)


def test_short_chains_are_not_looked_for() -> None:
    assert longest_chain(b"a+b+c", 4) == (0, 1)


DEEP = _rows(
    ("a sum", "a = 1\nb = 1" + "+1" * 30),
    ("within a function", "def f():\n  return " + "-" * 30 + "1"),
    ("within a header", "if " + "not " * 30 + "a:\n  b"),
    ("within a decorator", "@a" + ".b" * 30 + "\ndef f(): ..."),
    ("within a default", "def f(a=b" + ".c" * 30 + "): ..."),
    ("within a pattern", "match a:\n  case b" + ".c" * 30 + ": ..."),
    ("within a handler", "try: a\nexcept a" + ".b" * 30 + ": ..."),
    ("branches", "if a: b\n" + "elif c: d\n" * 30),
)


@pytest.mark.parametrize("source", [pytest.param(*row.values, id=row.id) for row in DEEP])
def test_depth_is_found_whatever_the_statement(source: str) -> None:
    tree = parse(source, "m.py")
    lines = source.encode().splitlines(keepends=True)
    found = too_deep(tree, lines, 25)
    assert isinstance(found, ast.AST)
    assert too_deep(tree, lines, 40) is None


def test_width_is_no_depth() -> None:
    source = "a = [" + "f(-1, b.c), " * 50 + "]\n" + "b = 1\n" * 50
    assert too_deep(parse(source, "m.py"), source.encode().splitlines(keepends=True), 10) is None
