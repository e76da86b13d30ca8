"""Positions inside f-strings, for interpreters that get them wrong.

CPython 3.10 and 3.11 parse each expression of an f-string apart and search its place by text, so
line and column of the nodes in it are often another's. They are put right here from the source.
The syntax is the one those interpreters read: no backslash and no quote of the string's own kind
in an expression, no comments.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Any

# Since 3.12 the tokenizer reads f-strings itself, and their nodes stand where they should.
PLACED_BY_PYTHON = sys.version_info >= (3, 12)

_LINE_END = re.compile(r"\r\n|\r|\n")
_OPENING = re.compile(r"([A-Za-z]{0,2})(\"\"\"|'''|\"|')")
_STRING = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"[^\"]*\"|'[^']*'", re.DOTALL)
_DOTTED = re.compile(r" *[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)* *\Z")
_DEBUG = re.compile(r"(?<![=!<>])=\s*\Z")


class FStrings:
    """Corrects the f-strings of one module, in place."""

    def __init__(self, source_text: str) -> None:
        self._text = source_text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(source_text))]

    def correct(self, node: ast.JoinedStr) -> bool:
        """Give every node in an outermost f-string its true place; False if it cannot be told."""
        try:
            start = self._offset(node.lineno, node.col_offset)
            end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
            return self._correct(node, start, end)
        except (IndexError, SyntaxError, ValueError, RecursionError, MemoryError):
            return False

    def _correct(self, node: ast.JoinedStr, start: int, end: int) -> bool:
        expressions = list(_expressions_of(node))
        spans = _Scanner(self._text, start, end).run()
        if len(spans) != len(expressions):
            return False
        for expression, (begin, stop) in zip(expressions, spans, strict=True):
            text = self._text[begin:stop]
            if _DOTTED.match(text) and self._correct_dotted(expression, begin, text):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fresh = ast.parse(f"({text})", mode="eval").body
            self._move(fresh, begin)
            if not self._nested(fresh) or not _copy_places(fresh, expression):
                return False
        return True

    def _correct_dotted(self, expression: ast.expr, begin: int, text: str) -> bool:
        """Place `a.b.c`, which most expressions are, without parsing it again."""
        line, column = self._position(begin + len(text) - len(text.lstrip(" ")))
        end = column + len(text.strip(" "))
        node = expression
        while True:
            node.lineno = node.end_lineno = line
            node.col_offset, node.end_col_offset = column, end
            if not isinstance(node, ast.Attribute):
                return isinstance(node, ast.Name) and end - column == len(node.id)
            end -= len(node.attr) + 1
            node = node.value

    def _nested(self, fresh: ast.expr) -> bool:
        """Correct the f-strings within an expression that already stands in its place."""
        waiting: list[ast.AST] = [fresh]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.JoinedStr):
                if not self.correct(node):
                    return False
            else:
                waiting += ast.iter_child_nodes(node)
        return True

    def _move(self, fresh: ast.expr, begin: int) -> None:
        """Shift an expression that was parsed in parentheses to where it was read from."""
        line, column = self._position(begin)
        for node in ast.walk(fresh):
            place: Any = node
            if hasattr(node, "lineno"):
                if place.lineno == 1:
                    place.col_offset += column - 1
                if place.end_lineno == 1:
                    place.end_col_offset += column - 1
                place.lineno += line - 1
                place.end_lineno += line - 1

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        stop = self._starts[line] if line < len(self._starts) else len(self._text)
        row = self._text[start:stop]
        if row.isascii():
            return start + column
        return start + len(row.encode("utf-8", "surrogatepass")[:column].decode("utf-8"))

    def _position(self, offset: int) -> tuple[int, int]:
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._starts[middle] <= offset:
                low = middle
            else:
                high = middle
        before = self._text[self._starts[low] : offset]
        return low + 1, len(before.encode("utf-8", "surrogatepass"))


class _Scanner:
    """Finds where the expressions of one string expression stand, in the order of the tree."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = end
        self._spans: list[tuple[int, int]] = []

    def run(self) -> list[tuple[int, int]]:
        """Scan adjacent literals; only those with an `f` hold expressions."""
        text = self._text
        while self._at < self._end:
            opening = _OPENING.match(text, self._at)
            if opening is None:  # between two literals
                if text[self._at] == "#":
                    line_end = _LINE_END.search(text, self._at)
                    self._at = line_end.end() if line_end else self._end
                else:
                    self._at += 1
                continue
            self._at = opening.end()
            prefix = opening[1].lower()
            self._literal(opening[2], raw="r" in prefix, formatted="f" in prefix)
        return self._spans

    def _literal(self, quote: str, *, raw: bool, formatted: bool) -> None:
        text = self._text
        while not text.startswith(quote, self._at):
            if text[self._at] == "\\":
                named = not raw and formatted and text.startswith("N{", self._at + 1)
                self._at = text.index("}", self._at) + 1 if named else self._escape()
            elif formatted and text[self._at] == "{":
                if text.startswith("{{", self._at):
                    self._at += 2
                else:
                    self._field(quote)
            else:
                self._at += 1
        self._at += len(quote)

    def _escape(self) -> int:
        """Give the offset after a backslash: a brace after it is no escape."""
        return self._at + (1 if self._text[self._at + 1] in "{}" else 2)

    def _field(self, quote: str) -> None:
        """Read `{expression!r:spec}` from its opening brace to after its closing one."""
        text = self._text
        self._at += 1
        begin = self._at
        depth = 0
        while depth or not self._ends_expression():
            string = _STRING.match(text, self._at)
            if string is not None:
                self._at = string.end()
                continue
            if text[self._at] in "([{":
                depth += 1
            elif text[self._at] in ")]}":
                depth -= 1
            self._at += 1
        debug = _DEBUG.search(text, begin, self._at)
        self._spans.append((begin, debug.start() if debug else self._at))
        if text[self._at] == "!":
            while text[self._at] not in ":}":
                self._at += 1
        if text[self._at] == ":":
            self._at += 1
            while text[self._at] != "}":
                if text[self._at] == "{":
                    self._field(quote)
                else:
                    self._at += 1
        self._at += 1

    def _ends_expression(self) -> bool:
        mark = self._text[self._at]
        return mark in ":}" or (mark == "!" and self._text[self._at + 1] != "=")


def _expressions_of(node: ast.JoinedStr) -> list[ast.expr]:
    """List the expressions of an f-string and of its format specs, in source order."""
    found: list[ast.expr] = []
    waiting: list[Any] = list(reversed(node.values))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.FormattedValue):
            found.append(part.value)
            if isinstance(part.format_spec, ast.JoinedStr):
                waiting += reversed(part.format_spec.values)
    return found


def _copy_places(source: ast.AST, target: ast.AST) -> bool:
    """Copy positions between two equal trees; False, with part copied, if they are not equal."""
    waiting: list[tuple[Any, Any]] = [(source, target)]
    while waiting:
        true, false = waiting.pop()
        if true.__class__ is not false.__class__:
            return False
        if hasattr(true, "lineno"):
            false.lineno, false.col_offset = true.lineno, true.col_offset
            false.end_lineno, false.end_col_offset = true.end_lineno, true.end_col_offset
        parts, others = list(ast.iter_child_nodes(true)), list(ast.iter_child_nodes(false))
        if len(parts) != len(others):
            return False
        waiting += zip(parts, others, strict=True)
    return True
