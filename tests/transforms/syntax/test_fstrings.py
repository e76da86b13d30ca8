"""Names inside f-strings stand where the source has them, under every interpreter."""

from __future__ import annotations

import ast
import sys

import pytest

from transforms.scopes.resolve import Reference, resolve
from transforms.syntax.parsing import parse


def _rows(*rows: tuple) -> list:
    return [pytest.param(row[1], id=row[0]) for row in rows]


PLACED = _rows(
    ("one name", 'f"{xx}"'),
    ("the same name twice", 'f"{xx} {xx}"'),
    ("a name that the text holds as well", 'f"xx {xx} xx"'),
    ("spaces around", 'f"{  xx }"'),
    ("letters outside ASCII before", 'größe = f"äö {xx} ü {xx}"'),
    ("doubled braces", 'f"{{xx}} {xx} {{{xx}}}"'),
    ("a conversion", 'f"{xx!r}{xx!s:>3}"'),
    ("a comparison is no conversion", 'f"{xx!=xx}{xx==xx}{xx<=xx}"'),
    ("a debug expression", 'f"{xx=}{xx = !r}{xx==xx=}"'),
    ("a format spec with a name", 'f"{xx:{xx}.{xx}}"'),
    ("a format spec with text", 'f"{xx:%Y-%m-%d xx}{xx}"'),
    ("a subscript with a string", "f\"{xx['xx']}{xx}\""),
    ("a dictionary", 'f"{ {xx: xx}[xx] }"'),
    ("a lambda and a slice", 'f"{(lambda a: xx)(xx)} {xx[1:xx]}"'),
    ("a call with strings that hold braces", "f\"{xx('}{', '!:')} {xx}\""),
    ("attributes", 'f"{xx.a.b} {xx.a}"'),
    ("several lines", 'f"""\nxx {xx}\n  {xx} {\nxx\n}\n"""'),
    ("adjacent strings", "('xx' f'{xx}'\n  'xx {xx}' # {xx}\n  rf'{xx}' f\"\"\"{xx}\n{xx}\"\"\")"),
    ("a backslash between", "'xx' \\\n f'{xx}'"),
    ("an escape", "f'\\'{xx}\\\\{xx}\\x41'"),
    ("a raw string's backslash", "rf'\\{xx}\\\\{xx}'"),
    ("a named character", "f'\\N{BULLET}{xx}'"),
    ("an f-string within", "f'{f\"{xx}\"} {xx}'"),
    ("an f-string within, over lines", "f'''{f\"xx {xx}\" + f\"\"\"{xx}\n{xx}\"\"\"}'''"),
    ("a comprehension", 'f"{[xx for a in xx]}"'),
    ("a walrus in parentheses", 'f"{(yy:=xx)}{xx}"'),
    ("capital prefixes", "F'{xx}' fR'{xx}' Rf'{xx}'"),
    ("bytes and plain strings beside", "a(b'{xx}', '{xx}', u'{xx}', f'{xx}')"),
)  # fmt: skip


def _references(source: str) -> list[Reference]:
    scopes = resolve(parse(source, "m.py"), source_text=source)
    return [reference for reference in scopes.references if reference.name == "xx"]


def _text(source: str, node: ast.AST) -> str | None:
    return ast.get_source_segment(source, node)


@pytest.mark.parametrize("source", PLACED)
def test_names_are_placed(source: str) -> None:
    found = _references(source)
    assert found
    places = [(it.node.lineno, it.node.col_offset) for it in found]  # type: ignore[attr-defined]
    assert len(set(places)) == len(found)
    assert places == sorted(places)
    for reference in found:
        assert reference.exact
        assert _text(source, reference.node) == "xx"
        for depth, node in enumerate(reference.attribute_nodes, 1):
            expected = ".".join(["xx", *reference.attributes[:depth]])
            assert _text(source, node) == expected


def test_without_the_source_a_place_is_exact_only_where_python_gives_it() -> None:
    found = resolve(parse('f"{xx} {xx}"; xx', "m.py")).references
    assert [it.exact for it in found] == [sys.version_info >= (3, 12)] * 2 + [True]


def test_line_ends_of_every_kind_count() -> None:
    source = 'a\r\nb\rc\n\x0cf"{xx}"\r\n'
    (reference,) = _references(source)
    assert (reference.node.lineno, reference.exact) == (4, True)  # type: ignore[attr-defined]
