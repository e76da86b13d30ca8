"""One import statement as rows of cells: what stands on which line, with its comments.

A `Body` keeps every character of the statement: `render(parse_body(text), newline)` is the text
again, except where commas stand in a mixture of places, which only an edit ever rewrites.
LibCST reads and prints it, and is loaded for the first statement that is edited or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from transforms.imports.names import ImportedName, Layout, Token, is_pragma

NEWLINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Cell:
    """One imported name as spelled, with the blanks before it in its row and before its comma.

    The first cell of a row carries the statement's usual gap, for when it is joined to a row.
    """

    name: ImportedName
    text: str
    gap: str = " "
    comma_gap: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of names.

    `above` holds the comment lines and blank lines right above it, `tail` what follows its last
    comma: blanks and a comment, or a backslash. With leading commas, `indent` ends in `, `.
    """

    cells: tuple[Cell, ...]
    indent: str = ""
    tail: str = ""
    above: tuple[str, ...] = ()

    @property
    def comment(self) -> str | None:
        """The comment at the end of the line."""
        tail = self.tail.strip()
        return tail if tail.startswith("#") else None


@dataclass(frozen=True, slots=True)
class Body:
    """A whole statement.

    `lead` + `module` + `head` is everything up to the bracket or the first name; `lead` and
    `module` are empty for a plain import. `opening` is what follows on that line when the names
    begin on the next one (`inline` is false then). `closing` is the indentation of the closing
    bracket on its own line, or None when it is glued to the last row, after `glue`.
    `below` holds the comment and blank lines between the last row and the closing bracket.
    """

    lead: str
    module: str
    head: str
    rows: tuple[Row, ...]
    bracketed: bool = False
    inline: bool = True
    opening: str = ""
    trailing_comma: bool = False
    leading_commas: bool = False
    below: tuple[str, ...] = ()
    closing: str | None = None
    glue: str = ""
    tail: str = ""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row by row."""
        return tuple(cell for row in self.rows for cell in row.cells)

    @property
    def names(self) -> tuple[ImportedName, ...]:
        """The names, in order."""
        return tuple(cell.name for cell in self.cells)

    @property
    def prefix(self) -> str:
        """What stands before the first name, or before the first line break."""
        return self.lead + self.module + self.head + ("(" if self.bracketed else "")


def render(body: Body, newline: str) -> str:
    """The statement as LibCST prints it, without the first indentation and the last line end.

    ValueError if LibCST reads other names in it than the body has: then an edit went wrong.
    """
    from transforms.imports.tokens import read

    reading = read(_joined(body, newline))
    if body.names != tuple(token.name for token in reading.tokens if token.name is not None):
        raise ValueError(f"not the names that were meant: {reading.code[:80]!r}")
    return reading.code


def _joined(body: Body, newline: str) -> str:
    parts = [body.prefix]
    if not body.inline:
        parts += [body.opening, newline]
    for number, row in enumerate(body.rows):
        last = number == len(body.rows) - 1
        if number or not body.inline:
            parts += [line + newline for line in row.above]
        parts.append(row_text(body, number))
        if not last:
            parts += [row.tail, newline]
        elif not body.bracketed:
            parts.append(row.tail)
        elif body.closing is None:
            parts += [body.glue, ")", row.tail]
        else:
            parts += [row.tail, newline, *(line + newline for line in body.below)]
            parts += [body.closing, ")"]
    parts.append(body.tail)
    return "".join(parts)


def row_text(body: Body, number: int) -> str:
    """A row's indentation, names and commas, without its tail and without a glued bracket."""
    row = body.rows[number]
    last = number == len(body.rows) - 1
    parts = [row.indent]
    for index, cell in enumerate(row.cells):
        if index:
            parts.append(cell.gap)
        parts.append(cell.text)
        ends = index == len(row.cells) - 1
        if not ends or (body.trailing_comma if last else not body.leading_commas):
            parts.append(cell.comma_gap + ",")
    return "".join(parts)


def layout_of(body: Body) -> Layout:
    """The statement's layout. A form between two kinds counts as the nearer one."""
    multiline = len(body.rows) > 1 or not body.inline or body.closing is not None
    if not multiline and not any(NEWLINE.search(cell.text) for cell in body.cells):
        if body.bracketed:
            return Layout.PARENTHESIZED
        return Layout.BACKSLASH if NEWLINE.search(body.prefix) else Layout.ONE_LINE
    if not body.bracketed:
        return Layout.BACKSLASH
    if body.inline:
        return Layout.GRID
    one_each = all(len(row.cells) == 1 for row in body.rows)
    return Layout.EXPLODED if one_each else Layout.HANGING


def parse_body(text: str) -> Body:
    """Read one import statement, through LibCST. ValueError if the text is anything else."""
    from transforms.imports.tokens import read

    return body_of(read(text).tokens)


def body_of(tokens: Iterable[Token]) -> Body:
    """A statement from its pieces."""
    return _Builder(tokens).body()


class _Line:
    """A line of names under construction."""

    def __init__(self, indent: str) -> None:
        self.indent = indent
        self.cells: list[Cell] = []
        self.tail = ""
        self.comma_first = False
        self.comma_last = False


class _Builder:
    """Turns tokens into rows: the only place that decides which line a piece belongs to."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._heads = {"lead": "", "module": "", "head": "", "tail": ""}
        self._bracketed = False
        self._lines = [_Line("")]
        self._above: dict[int, tuple[str, ...]] = {}
        self._comma_gap = ""
        self._gap = ""
        self._own_lines: tuple[str, ...] = ()
        for token in tokens:
            self._take(token)

    def _take(self, token: Token) -> None:
        if token.kind in self._heads:
            self._heads[token.kind] += token.text
        elif token.kind == "(":
            self._bracketed = True
        elif token.kind == "name":
            assert token.name is not None  # noqa: S101 - it comes with this kind
            line = self._lines[-1]
            gap = self._gap if line.cells else ""
            if not line.cells:
                line.indent += self._gap
            line.cells.append(Cell(token.name, token.text, gap))
            line.comma_last = False
            self._gap = ""
        elif token.kind == ",":
            self._comma()
        elif token.kind == "blank":
            self._blank(token.text)

    def _comma(self) -> None:
        line = self._lines[-1]
        if line.cells:
            last = line.cells[-1]
            line.cells[-1] = replace(last, comma_gap=self._gap)
            line.comma_last = True
        else:
            line.indent += self._gap + ","
            line.comma_first = True
        self._gap = ""

    def _blank(self, text: str) -> None:
        pieces = NEWLINE.split(text)
        if len(pieces) == 1:
            self._gap += text
            return
        self._lines[-1].tail = self._gap + pieces[0]
        self._above[len(self._lines)] = tuple(pieces[1:-1])
        self._lines.append(_Line(""))
        self._gap = pieces[-1]

    def body(self) -> Body:
        lines = self._lines
        closing: str | None = None
        glue = self._gap
        below: tuple[str, ...] = ()
        if self._bracketed and len(lines) > 1 and not lines[-1].cells and not lines[-1].indent:
            closing, glue = self._gap, ""
            below = self._above[len(lines) - 1]
            lines = lines[:-1]
        lines, above = self._without_bare_commas(lines)
        inline = bool(lines[0].cells)
        opening = "" if inline else lines[0].tail
        kept = lines if inline else lines[1:]
        offset = 0 if inline else 1
        gaps = [cell.gap for line in kept for cell in line.cells[1:]]
        gap = gaps[0] if gaps else " "
        rows = tuple(
            Row(
                (replace(line.cells[0], gap=gap), *line.cells[1:]),
                line.indent,
                line.tail,
                above.get(number + offset, ()),
            )
            for number, line in enumerate(kept)
        )
        body = Body(
            lead=self._heads["lead"],
            module=self._heads["module"],
            head=self._heads["head"],
            rows=rows,
            bracketed=self._bracketed,
            inline=inline,
            opening=opening,
            trailing_comma=kept[-1].comma_last,
            leading_commas=len(kept) > 1 and all(line.comma_first for line in kept[1:]),
            below=below,
            closing=closing,
            glue=glue if self._bracketed else "",
            tail=self._heads["tail"],
        )
        return _with_last_comment(body)

    def _without_bare_commas(
        self, lines: list[_Line]
    ) -> tuple[list[_Line], dict[int, tuple[str, ...]]]:
        """Drop lines that hold nothing but a comma; their comments move to the line before."""
        kept: list[_Line] = []
        above: dict[int, tuple[str, ...]] = {}
        for number, line in enumerate(lines):
            own = self._above.get(number, ())
            if number and not line.cells:
                kept[-1].comma_last = True
                kept[-1].tail = " ".join(filter(str.strip, (kept[-1].tail, line.tail.strip())))
                above[len(kept)] = above.get(len(kept), ()) + own
            else:
                above[len(kept)] = above.get(len(kept), ()) + own
                kept.append(line)
        return kept, above


def _with_last_comment(body: Body) -> Body:
    """Give a comment behind a glued bracket to the last name if other names have such comments."""
    comment = body.tail.strip()
    if not body.bracketed or body.closing is not None or not comment or is_pragma(comment):
        return body
    if len(body.rows[-1].cells) > 1 or not any(row.comment for row in body.rows[:-1]):
        return body
    last = replace(body.rows[-1], tail=body.tail)
    return replace(body, rows=(*body.rows[:-1], last), tail="")
