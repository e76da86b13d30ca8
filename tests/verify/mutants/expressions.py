"""Faults within expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.verify.mutants.text import Edit, Text, kind


def _between(text: Text, left: Any, right: Any, table: Mapping[str, str]) -> Iterator[Edit]:
    start, end = text.span(left)[1], text.span(right)[0]
    gap = text.text[start:end]
    for old, new in table.items():
        found = re.search(rf"(?<![\w*/<>=!]){re.escape(old)}(?![\w*/<>=])", gap)
        if found and "#" not in gap:
            yield start + found.start(), start + found.end(), new
            return


@kind("comparison")
def _comparison(text: Text) -> Iterator[Edit]:
    table = {
        "==": "!=",
        "!=": "==",
        "<=": "<",
        ">=": ">",
        "<": "<=",
        ">": ">=",
        "is not": "is",
        "not in": "in",
        "is": "is not",
        "in": "not in",
    }
    for node in text.each(ast.Compare):
        yield from _between(text, node.left, node.comparators[0], table)


@kind("arithmetic operator")
def _arithmetic(text: Text) -> Iterator[Edit]:
    table = {
        "+": "-",
        "-": "+",
        "**": "*",
        "*": "+",
        "//": "%",
        "/": "*",
        "%": "//",
        "|": "&",
        "&": "|",
    }
    for node in text.each(ast.BinOp):
        yield from _between(text, node.left, node.right, table)


@kind("augmented operator")
def _augmented(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.AugAssign):
        start, end = text.span(node.target)[1], text.span(node.value)[0]
        new = " -= " if "+=" in text.text[start:end] else " += "
        yield start, end, new


@kind("boolean operator")
def _boolean(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.BoolOp):
        yield from _between(text, node.values[0], node.values[1], {"and": "or", "or": "and"})


@kind("condition negated")
def _negated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.If, ast.While, ast.IfExp, ast.Assert):
        start, end = text.span(node.test)
        yield start, end, f"not ({text.text[start:end]})"


@kind("number")
def _number(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if type(node.value) in {int, float}:
            yield *text.span(node), f"{node.value + 1!r}"


@kind("number spelled otherwise")
def _spelled(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if type(node.value) is int:
            yield *text.span(node), hex(node.value)


@kind("constant")
def _constant(text: Text) -> Iterator[Edit]:
    table = {True: "False", False: "True", None: "False"}
    for node in text.each(ast.Constant):
        value = node.value
        if value is None or isinstance(value, bool):
            yield *text.span(node), table[value]


@kind("string")
def _string(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        start, _ = text.span(node)
        plain = text.text[start : start + 1] in {"'", '"'}
        if isinstance(node.value, str) and plain and id(node) not in text.docstrings:
            quote = 3 if text.text[start : start + 3] in {"'''", '"""'} else 1
            yield start + quote, start + quote, "x"


@kind("docstring")
def _docstring(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if id(node) in text.docstrings and text.of(node).startswith('"""'):
            start, _ = text.span(node)
            yield start + 3, start + 3, "Not "


@kind("f-string")
def _fstring(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.JoinedStr):
        source = text.of(node)
        start, _ = text.span(node)
        found = re.match(r"[fFrR]+(\"\"\"|'''|\"|')", source)
        if found:
            yield start + found.end(), start + found.end(), "x"


@kind("attribute")
def _attribute(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Attribute):
        _, end = text.span(node)
        yield end, end, "_x"


@kind("local name")
def _name(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Name):
        if isinstance(node.ctx, ast.Load):
            _, end = text.span(node)
            yield end, end, "_x"


@kind("keyword argument")
def _keyword(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.keyword):
        if node.arg:
            start, _ = text.span(node)
            yield start, start + len(node.arg), f"{node.arg}_x"


@kind("argument dropped")
def _argument(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Call):
        if len(node.args) > 1 and not node.keywords:
            yield text.span(node.args[-2])[1], text.span(node.args[-1])[1], ""


@kind("arguments swapped")
def _swapped(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Call):
        if len(node.args) > 1 and text.of(node.args[0]) != text.of(node.args[1]):
            one, two = node.args[:2]
            start, end = text.span(one)[0], text.span(two)[1]
            gap = text.text[text.span(one)[1] : text.span(two)[0]]
            if (
                "#" not in gap
                and not isinstance(one, ast.Starred)
                and not isinstance(two, ast.Starred)
            ):
                yield start, end, text.of(two) + gap + text.of(one)
