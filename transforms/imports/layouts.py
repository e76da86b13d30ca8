"""Layouts of a statement: filled rows, one line, several lines as a style says.

Everything here maps one `Body` to another with the same names in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from transforms.imports.edits import cleaned, joined_comments
from transforms.imports.names import ImportedName, ImportStyle, Layout, NameComments, is_pragma
from transforms.imports.order import orders_of
from transforms.imports.rows import NEWLINE, Body, Cell, Row, layout_of, row_text

# Widths in use: what a statement was filled to is one of them, or it was not filled.
WIDTHS = (79, 80, 88, 100, 120, 99, 119, 72, 110)
_UNLIMITED = 10_000
_NO_COMMENTS = NameComments()


def physical_lengths(body: Body, indent: str) -> list[int]:
    """Each row's length in characters with comma, backslash and glued bracket, without comment."""
    lengths = []
    for number, row in enumerate(body.rows):
        text = row_text(body, number)
        if number == 0 and body.inline:
            text = last_line(indent + body.prefix) + text
        if number == len(body.rows) - 1 and body.bracketed and body.closing is None:
            text += body.glue + ")"
        elif not row.comment:
            text += row.tail.rstrip()
        lengths.append(len(last_line(text)))
    return lengths


def last_line(text: str) -> str:
    """What stands behind the last line end."""
    return NEWLINE.split(text)[-1]


def fits(body: Body, indent: str, width: int) -> bool:
    """Whether a statement on one line fits, not counting a comment for tools."""
    size = len(indent + body.prefix) + len(row_text(body, 0))
    size += len(body.glue + ")") if body.bracketed else 0
    comment = body.tail.strip()
    return size + (0 if not comment or is_pragma(comment) else len(body.tail)) <= width


def fill_range(body: Body, indent: str) -> tuple[int, int]:
    """The least and the greatest width to which the rows could have been filled."""
    never = (1, 0)
    if body.leading_commas or any(row.tail.strip(" \t\\") or row.above for row in body.rows):
        return never
    if any(NEWLINE.search(cell.text) for cell in body.cells):
        return never
    lengths = physical_lengths(body, indent)
    highest = _UNLIMITED
    for number, row in enumerate(body.rows[1:]):
        following = row.cells[0]
        last = number + 2 == len(body.rows) and len(row.cells) == 1
        size = len(following.gap + following.text) + (_end_size(body) if last else 1)
        highest = min(highest, lengths[number] + size - 1)
    return max(lengths), highest


def _end_size(body: Body) -> int:
    """How many characters follow the last name on its line."""
    glued = body.bracketed and body.closing is None
    return int(body.trailing_comma) + (len(body.glue) + 1 if glued else 0)


def filled_width(body: Body, indent: str, preferred: int) -> int | None:
    """The width that the rows are filled to, or None if they were arranged otherwise.

    Filling means that each row holds as many names as fit, as a sorter leaves them; people who do
    not sort their names edit the one row and leave the others. The preferred width wins if the
    rows could have been filled to it.
    """
    if not orders_of(body.names):
        return None
    lowest, highest = fill_range(body, indent)
    widths = [width for width in (preferred, *WIDTHS) if lowest <= width <= highest]
    return widths[0] if widths else None


def one_each(body: Body, indent: str, width: int) -> bool:
    """Whether the author gives each name a line of its own."""
    if layout_of(body) is Layout.EXPLODED:
        return True
    single = all(len(row.cells) == 1 for row in body.rows)
    return single and len(body.rows) > 1 and filled_width(body, indent, width) is None


def flowed(body: Body, cells: Sequence[Cell], indent: str, width: int) -> Body:
    """The statement with these cells, each row filled up to `width` characters."""
    later = body.rows[min(int(body.inline), len(body.rows) - 1)].indent
    if body.inline and len(body.rows) == 1:
        later = " " * len(last_line(indent + body.prefix))
    first = last_line(indent + body.prefix) + body.rows[0].indent if body.inline else later
    end = "" if body.bracketed else " \\"
    rows: list[list[Cell]] = []
    used = 0
    for number, cell in enumerate(cells):
        size = len(cell.text + cell.comma_gap) + 1
        last = number == len(cells) - 1
        needed = size - 1 + _end_size(body) if last else size + len(end)
        if rows and used + len(cell.gap) + needed <= width:
            rows[-1].append(cell)
            used += len(cell.gap) + size
        else:
            used = len(later if rows else first) + size
            rows.append([cell])
    made = [
        Row(tuple(row), later if number else body.rows[0].indent, end)
        for number, row in enumerate(rows)
    ]
    return cleaned(replace(body, rows=tuple(made)))


def collapsed(body: Body, indent: str, width: int) -> Body | None:
    """The statement on one line; None if it does not fit or a comment would be lost."""
    layout = layout_of(body)
    if layout is Layout.ONE_LINE or (layout is Layout.PARENTHESIZED and len(body.cells) > 1):
        return body
    if any(row.comment or any(map(str.strip, row.above)) for row in body.rows):
        return None
    if any(map(str.strip, body.below)) or any("#" in cell.text for cell in body.cells):
        return None
    opening, tail = body.opening.strip(" \t\f\\"), body.tail.strip()
    if opening and tail and opening != tail:
        return None
    cells = tuple(
        replace(cell, comma_gap="", text=str(cell.name) if NEWLINE.search(cell.text) else cell.text)
        for cell in body.cells
    )
    line = replace(
        _on_one_line(body),
        rows=(Row(cells),),
        bracketed=False,
        inline=True,
        opening="",
        trailing_comma=False,
        leading_commas=False,
        below=(),
        closing=None,
        glue="",
        tail=body.tail if tail else joined_comments(opening),
    )
    return line if fits(line, indent, width) else None


def _on_one_line(body: Body) -> Body:
    """The statement with no line break before its names, and a blank before the first one."""

    def joined(text: str) -> str:
        return " " if NEWLINE.search(text) else text

    lead, head = body.lead, body.head
    before, word, after = head.partition("import")
    head = joined(before) + word + (joined(after) if after.strip("\\\r\n") else " ")
    if NEWLINE.search(lead):
        lead = "from "
    module = body.module
    if NEWLINE.search(module):
        module = "".join(module.replace("\\", "").split())
    return replace(body, lead=lead, module=module, head=head)


def wrapped(
    body: Body,
    style: ImportStyle,
    indent: str,
    comment: str | None,
    comments: Mapping[ImportedName, NameComments],
) -> Body:
    """The statement over several lines, as the style says; one name a line if names have comments.

    A plain import knows only backslashes. `comment` becomes the statement's own.
    """
    cells = [_plain_cell(cell) for cell in body.cells]
    inner = indent + style.indent_unit
    head = " import " if body.lead else "import "
    lead, module = ("from ", _on_one_line(body).module) if body.lead else ("", "")
    base = Body(lead, module, head, (Row((cells[0],), inner),))
    wrap = style.wrap
    if not body.lead or (wrap == "backslash" and not comments):
        base = replace(base, rows=(Row((cells[0],)), Row((cells[0],), inner)))
        return replace(flowed(base, cells, indent, style.width), tail=joined_comments(comment))
    if wrap == "grid" and not comments:
        grid = replace(base, bracketed=True, rows=(Row((cells[0],)),))
        grid = replace(grid, trailing_comma=style.trailing_comma)
        grid = flowed(grid, cells, indent, style.width)
        if max(physical_lengths(grid, indent)) <= style.width:
            return _with_grid_comment(grid, comment)
    below = tuple(inner + line.strip() for line in body.below if line.strip())
    base = replace(
        base,
        bracketed=True,
        inline=False,
        opening=joined_comments(comment),
        closing=indent if style.closing_on_own_line or below else None,
        trailing_comma=style.trailing_comma,
        below=below,
    )
    if wrap in ("hanging", "grid") and not comments:
        return flowed(base, cells, indent, style.width)
    rows = []
    for cell in cells:
        own = comments.get(cell.name, _NO_COMMENTS)
        above = tuple(inner + line for line in own.above)
        rows.append(Row((cell,), inner, joined_comments(own.trailing), above))
    return replace(base, rows=tuple(rows))


def _plain_cell(cell: Cell) -> Cell:
    text = cell.text
    if NEWLINE.search(text) and "#" not in text:
        text = str(cell.name)
    return replace(cell, gap=" ", comma_gap="", text=text)


def _with_grid_comment(body: Body, comment: str | None) -> Body:
    """A comment for tools stands on the first line, where they look for it; others at the end."""
    if comment and is_pragma(comment) and len(body.rows) > 1:
        first = replace(body.rows[0], tail=joined_comments(comment))
        return replace(body, rows=(first, *body.rows[1:]))
    return replace(body, tail=joined_comments(comment))


def row_comments(body: Body) -> dict[ImportedName, NameComments]:
    """The comments of each row as those of its first name."""
    found = {}
    for number, row in enumerate(body.rows):
        above: tuple[str, ...] = ()
        if number or not body.inline:
            above = tuple(line.strip() for line in row.above if line.strip())
        if row.comment or above:
            found[row.cells[0].name] = NameComments(above, row.comment)
    return found


def shifted(body: Body, by: int) -> Body:
    """Move the continuation lines to stay aligned with the bracket."""

    def moved(line: str) -> str:
        text = line.lstrip(" \t\f")
        blanks = line[: len(line) - len(text)]
        return (blanks + " " * by if by > 0 else blanks[: max(len(blanks) + by, 0)]) + text

    rows = [body.rows[0]]
    for row in body.rows[1:]:
        above = tuple(moved(line) if line.strip() else line for line in row.above)
        rows.append(replace(row, indent=moved(row.indent), above=above))
    closing = body.closing
    if closing is not None and closing == body.rows[-1].indent:
        closing = moved(closing)
    return replace(body, rows=tuple(rows), closing=closing)
