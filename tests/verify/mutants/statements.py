"""Faults in definitions, statements and comments."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.verify.mutants.text import Edit, Text, kind


def _bodies(text: Text) -> Iterator[list[Any]]:
    for node in text.code:
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield [s for s in body if not isinstance(s, (ast.Import, ast.ImportFrom))]


@kind("default")
def _default(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef):
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield *text.span(default), f"({text.of(default)}, 0)"


@kind("parameter renamed")
def _parameter(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.arg):
        start, _ = text.span(node)
        if node.arg not in {"self", "cls"}:
            yield start, start + len(node.arg), f"{node.arg}_x"


@kind("annotation")
def _annotation(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.arg, ast.AnnAssign):
        if node.annotation is not None:
            yield *text.span(node.annotation), "object"


@kind("decorator dropped")
def _undecorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for decorator in node.decorator_list:
            first, last = decorator.lineno, decorator.end_lineno or decorator.lineno
            yield text.starts[first - 1], text.starts[last], ""


@kind("decorator added")
def _decorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, _ = text.whole(node)
        yield start, start, f"{text.indent(node)}@staticmethod\n"


@kind("decorators swapped")
def _redecorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for one, two in pairwise(node.decorator_list):
            start, end = text.span(one)[0], text.span(two)[1]
            gap = text.text[text.span(one)[1] : text.span(two)[0]]
            yield start, end, text.of(two) + gap + text.of(one)


@kind("base dropped")
def _baseless(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        if len(node.bases) == 1 and not node.keywords:
            start, end = text.span(node.bases[0])
            yield start, end, "object"


@kind("bases swapped")
def _bases(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        if len(node.bases) > 1:
            one, two = node.bases[:2]
            start, end = text.span(one)[0], text.span(two)[1]
            yield start, end, f"{text.of(two)}, {text.of(one)}"


@kind("definition renamed")
def _renamed(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, end = text.span(node)
        found = re.compile(rf"\b{node.name}\b").search(text.text, start, end)
        if found:
            yield found.start(), found.end(), f"{node.name}_x"


@kind("made async")
def _async(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef):
        start, _ = text.span(node)
        yield start, start, "async "


@kind("statements swapped")
def _order(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for one, two in pairwise(body):
            top = one in text.tree.body
            simple = (
                ast.Assign,
                ast.Expr,
                ast.AugAssign,
                ast.Return,
                ast.Assert,
                ast.Delete,
                ast.If,
            )
            if top or not isinstance(one, simple) or not isinstance(two, simple):
                continue
            if not text.indent(one).strip() and not text.indent(two).strip():
                (a, b), (c, d) = text.whole(one), text.whole(two)
                if text.text[a:b] != text.text[c:d] and b <= c:
                    yield a, d, text.text[c:d] + text.text[b:c] + text.text[a:b]


@kind("methods swapped")
def _methods(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        inside = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        for one, two in pairwise(inside):
            (a, b), (c, d) = text.whole(one), text.whole(two)
            yield a, d, text.text[c:d] + text.text[b:c] + text.text[a:b]


@kind("statement dropped")
def _dropped(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body if len(body) > 1 else ():
            if not text.indent(node).strip():
                yield *text.whole(node), ""


@kind("statement repeated")
def _repeated(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            if not text.indent(node).strip() and isinstance(
                node, (ast.Assign, ast.Expr, ast.FunctionDef)
            ):
                start, end = text.whole(node)
                yield end, end, text.text[start:end]


@kind("statement added")
def _added(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            if not text.indent(node).strip():
                start, _ = text.whole(node)
                yield start, start, f"{text.indent(node)}print()\n"


@kind("pass added")
def _idle(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        if not text.indent(body[-1]).strip() if body else False:
            _, end = text.whole(body[-1])
            yield end, end, f"{text.indent(body[-1])}pass\n"


@kind("return value")
def _return(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Return):
        if node.value is not None and text.of(node.value) != "None":
            yield *text.span(node.value), "None"


@kind("raise silenced")
def _silenced(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Raise):
        yield *text.span(node), "pass"


@kind("branch moved")
def _branch(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.If):
        last = node.body[-1]
        if not node.orelse and len(node.body) > 1 and not text.indent(last).strip():
            start, end = text.whole(last)
            lines = text.text[start:end].split("\n")
            cut = len(text.indent(last)) - len(text.indent(node))
            if not isinstance(last, (ast.Import, ast.ImportFrom)):
                yield start, end, "\n".join(line[cut:] for line in lines)


@kind("exception type")
def _exception(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ExceptHandler):
        if node.type is not None:
            yield *text.span(node.type), "BaseException"


@kind("comment lost")
def _uncommented(text: Text) -> Iterator[Edit]:
    for start, end, _ in text.tokens(tokenize.COMMENT):
        line = text.text.rfind("\n", 0, start) + 1
        if text.text[line:start].strip():
            yield len(text.text[:start].rstrip(" ")), end, ""
        else:
            yield line, min(end + 1, len(text.text)), ""


@kind("comment changed")
def _commented(text: Text) -> Iterator[Edit]:
    for _, end, _ in text.tokens(tokenize.COMMENT):
        yield end, end, "x"


@kind("comment moved down")
def _comment_moved(text: Text) -> Iterator[Edit]:
    for start, end, comment in text.tokens(tokenize.COMMENT):
        line = text.text.rfind("\n", 0, start) + 1
        below = text.text.find("\n", end + 1)
        row = text.text[end + 1 : below]
        if not text.text[line:start].strip() and row.strip() and "#" not in row and below > 0:
            if len(row) - len(row.lstrip()) == start - line and not row.rstrip().endswith(
                ("(", "[", "{", "\\", ",", ":")
            ):
                if not re.match(r"\s*(import|from|[)\]}])", row):
                    yield line, below + 1, f"{row}\n{text.text[line:start]}{comment}\n"


@kind("suppression added")
def _suppressed(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            end = text.starts[node.end_lineno or node.lineno] - 1
            if "#" not in text.lines[(node.end_lineno or node.lineno) - 1]:
                yield end, end, "  # type: ignore"


@kind("look-alike letter")
def _alike(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, end = text.span(node)
        found = re.compile(rf"\b{node.name}\b").search(text.text, start, end)
        if found and "a" in node.name:
            yield found.start(), found.end(), node.name.replace("a", "а", 1)
