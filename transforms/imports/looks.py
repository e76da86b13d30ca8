"""What an import statement shows to who only looks at it: its layout, its order, its comments.

`ast` knows where the names stand; what lies between them is commas, brackets, blanks and comments.
LibCST is not asked: nearly all statements are looked at only, and loading it takes 0.2 s.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from transforms.imports.edits import joined_comments
from transforms.imports.layouts import fill_range, physical_lengths
from transforms.imports.names import ImportedName, Layout, Token, is_pragma
from transforms.imports.order import orders_of
from transforms.imports.rows import NEWLINE, Body, body_of, layout_of
from transforms.source.imports import ImportNode

_COMMENT = re.compile(r"#[^\r\n]*")


class Look:
    """A look at the statement `node`, whose text and indentation are as `ImportStatement` has them.

    `text` begins with the statement; a trailing comment may follow it.
    """

    def __init__(self, text: str, indent: str, node: ImportNode) -> None:
        self.text = text
        self.indent = indent
        self._node = node

    @cached_property
    def body(self) -> Body:
        """The statement in rows. What precedes the first name is not told apart: it is the head."""
        return body_of(_tokens(self.text, self._node))

    @property
    def layout(self) -> Layout:
        """How the statement is laid out."""
        return layout_of(self.body)

    @property
    def is_sorted(self) -> bool:
        """Whether the names stand in some order."""
        return bool(orders_of(self.body.names))

    @property
    def pragma(self) -> str | None:
        """The statement's comment if it speaks to a tool (`# noqa`): new statements copy it."""
        if "#" not in self.text:
            return None
        comments = [text.strip() for text in (self.body.opening, self.body.tail)]
        if self.body.inline and len(self.body.rows) > 1:
            comments.append(self.body.rows[0].comment or "")
        return joined_comments(*filter(is_pragma, comments)).strip() or None

    @property
    def widest_fill(self) -> int:
        """The greatest width (characters) to which the rows could have been filled.

        0 for rows that were arranged otherwise.
        """
        return fill_range(self.body, self.indent)[1]

    @property
    def longest_row(self) -> int:
        """The length of the longest row that holds several names, in characters; 0 if none does."""
        lengths = physical_lengths(self.body, self.indent)
        rows = zip(self.body.rows, lengths, strict=True)
        return max((length for row, length in rows if len(row.cells) > 1), default=0)


def _tokens(text: str, node: ImportNode) -> Iterator[Token]:
    """The pieces of a statement, in order: joined they are the text."""
    bare = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    starts = [0, *(found.end() for found in NEWLINE.finditer(text))]
    spans = [_span(text, starts, node, alias) for alias in node.names]
    first, last = spans[0][0], spans[-1][1]
    bracket = bare.find("(", 0, first)
    if bracket >= 0:
        yield Token("head", text[:bracket])
        yield Token("(", "(")
        yield Token("blank", text[bracket + 1 : first])
    else:
        behind = bare.rindex("import", 0, first) + len("import")
        broken = NEWLINE.search(text, behind, first)
        yield Token("head", text[:behind])
        yield Token("blank" if broken else "head", text[behind:first])
    end = bare.index(")", last) if bracket >= 0 else last
    for number, (start, stop) in enumerate(spans):
        alias = node.names[number]
        yield Token("name", text[start:stop], ImportedName(alias.name, alias.asname))
        following = spans[number + 1][0] if number + 1 < len(spans) else end
        blank, comma, _ = bare[stop:following].partition(",")
        at = stop + len(blank)
        yield Token("blank", text[stop:at])
        if comma:
            yield Token(",", ",")
            yield Token("blank", text[at + 1 : following])
    if bracket >= 0:
        yield Token(")", ")")
    yield Token("tail", text[end + (bracket >= 0) :])


def _span(text: str, starts: list[int], node: ImportNode, alias: ast.alias) -> tuple[int, int]:
    """The offsets of a name in the text of its statement, whose lines begin at `starts`."""

    def offset(line: int, column: int) -> int:
        start = starts[line - node.lineno]
        column -= node.col_offset if line == node.lineno else 0
        if text.isascii():
            return start + column
        row = text[start:].encode("utf-8", "surrogatepass")
        return start + len(row[:column].decode("utf-8", "surrogatepass"))

    return (
        offset(alias.lineno, alias.col_offset),
        offset(alias.end_lineno or alias.lineno, alias.end_col_offset or 0),
    )
