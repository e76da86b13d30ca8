"""What a fault is put into: a file of the target, and the kinds of fault there are.

A kind yields edits: the span of the text to replace, and what replaces it. An edit is one that a
move would not make, but for the few that `proof` shows to be moves of the base themselves.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Edit = tuple[int, int, str]  # start and end offset, and the new text
Kind = Callable[["Text"], Iterator[Edit]]
KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Mutant:
    """A file of the target with one fault in it."""

    kind: str
    path: str
    line: int
    before: str
    after: str
    text: str
    whole: str  # all that was replaced


class Text:
    """A file that faults are put into."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.nodes: list[Any] = list(ast.walk(self.tree))
        self.imports = [n for n in self.nodes if isinstance(n, (ast.Import, ast.ImportFrom))]
        within = {id(part) for node in self.imports for part in ast.walk(node)}
        self.code = [node for node in self.nodes if id(node) not in within]
        self.docstrings = {
            id(node.body[0].value)
            for node in self.nodes
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
        }
        self.formatted = {
            id(part)
            for node in self.nodes
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }

    def offset(self, line: int, column: int) -> int:
        row = self.lines[line - 1]
        return self.starts[line - 1] + len(row.encode()[:column].decode())

    def span(self, node: Any) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def of(self, node: Any) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def each(self, *types: type) -> Iterator[Any]:
        return (
            node for node in self.code if isinstance(node, types) and id(node) not in self.formatted
        )

    def tokens(self, kind: int) -> Iterator[tuple[int, int, str]]:
        for tok in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if tok.type == kind:
                start = self.starts[tok.start[0] - 1] + tok.start[1]
                yield start, start + len(tok.string), tok.string

    def indent(self, node: Any) -> str:
        return str(self.lines[node.lineno - 1][: node.col_offset])

    def whole(self, node: Any) -> tuple[int, int]:
        """Give the lines of a statement that has them to itself, line end included."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return self.starts[first - 1], self.starts[node.end_lineno or node.lineno]


def kind(name: str) -> Callable[[Kind], Kind]:
    def enter(function: Kind) -> Kind:
        KINDS[name] = function
        return function

    return enter
