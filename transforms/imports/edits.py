"""Edits of a statement's rows: names out with their comments, names in.

Everything here maps one `Body` to another. Rows that an edit does not touch keep every character.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from transforms.imports.names import ImportedName, NameComments, is_pragma
from transforms.imports.rows import NEWLINE, Body, Cell, Row

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Removal:
    """What is left of a statement (None if nothing) and the comments that left with the names."""

    body: Body | None
    comments: dict[ImportedName, NameComments]


def cleaned(body: Body) -> Body:
    """The statement with the oddities gone that an edit could trip over.

    Backslashes inside brackets go; commas stand after their names or, all of them, before.
    """
    rows = []
    last = len(body.rows) - 1
    for number, row in enumerate(body.rows):
        tail = row.tail
        if body.bracketed and tail.strip() == "\\":
            tail = ""
        elif not body.bracketed:
            tail = (tail or " \\") if number != last else ""
        indent = row.indent
        if "," in indent and (number == 0 or not body.leading_commas):
            indent = indent.replace(",", " ")
        elif body.leading_commas and number and "," not in indent:
            indent = indent[:-2] + ", " if len(indent) > 1 else indent + ", "
        rows.append(replace(row, tail=tail, indent=indent))
    return replace(body, rows=tuple(rows))


def remove(body: Body, names: Collection[ImportedName]) -> Removal:
    """Take names out; rows without names go, and comments go with the names they belong to."""
    travelling: dict[ImportedName, NameComments] = {}
    rows: list[Row] = []
    blank: tuple[str, ...] = ()
    for group in _groups(body.rows):
        left = [_thinned(row, names, travelling) for row in group]
        kept = [row for row in left if row is not None]
        above = group[0].above
        blanks = tuple(line for line in above[:1] if not line.strip())
        if not kept:
            _travel(travelling, group[0].cells[0].name, above=_comments(above))
            blank = blank or blanks
            continue
        owner = _owner(group, names)
        if owner is not None:
            _travel(travelling, owner, above=_comments(above))
            above = blanks
        if blank and rows and not (above and not above[0].strip()):
            above = (*blank, *above)
        blank = ()
        rows += [replace(kept[0], above=above), *kept[1:]]
    if not rows:
        return Removal(None, travelling)
    return Removal(cleaned(_reheaded(body, rows)), travelling)


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows up to the next comment line or blank line."""
    groups: list[list[Row]] = []
    for row in rows:
        if row.above or not groups:
            groups.append([])
        groups[-1].append(row)
    return groups


def _thinned(
    row: Row, names: Collection[ImportedName], travelling: dict[ImportedName, NameComments]
) -> Row | None:
    """The row without the names, None if it is empty; its comment goes with the last that may."""
    kept = tuple(cell for cell in row.cells if cell.name not in names)
    gone = [cell.name for cell in row.cells if cell.name in names]
    if not gone:
        return row
    for cell in row.cells:
        if cell.name in names and "#" in cell.text:
            _travel(travelling, cell.name, trailing=_inner_comment(cell))
    comment = row.comment
    if comment is None:
        return replace(row, cells=kept) if kept else None
    if not kept:
        _travel(travelling, gone[0], trailing=comment)
        return None
    if is_pragma(comment):
        for name in gone:
            _travel(travelling, name, trailing=comment)
        return replace(row, cells=kept)
    meant = _meant(comment, [cell.name for cell in row.cells])
    if meant in names and meant is not None:
        _travel(travelling, meant, trailing=comment)
        return replace(row, cells=kept, tail="")
    return replace(row, cells=kept)


def _travel(
    travelling: dict[ImportedName, NameComments],
    name: ImportedName,
    *,
    above: tuple[str, ...] = (),
    trailing: str | None = None,
) -> None:
    if not above and trailing is None:
        return
    known = travelling.get(name, NameComments())
    joined = joined_comments(known.trailing, trailing).strip() or None
    travelling[name] = NameComments(known.above + above, joined)


def _inner_comment(cell: Cell) -> str:
    """The comments inside an alias that is broken over lines."""
    found = [line[line.index("#") :] for line in NEWLINE.split(cell.text) if "#" in line]
    return joined_comments(*found).strip()


def _comments(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line.strip() for line in lines if line.strip())


def _owner(group: Sequence[Row], names: Collection[ImportedName]) -> ImportedName | None:
    """The leaving name that the comment above a group is about, if it is about one name only."""
    comments = _comments(group[0].above)
    if not comments:
        return None
    meant = _meant(" ".join(comments), [cell.name for row in group for cell in row.cells])
    return meant if meant is not None and meant in names else None


def _meant(comment: str, names: Sequence[ImportedName]) -> ImportedName | None:
    """The only one of the names that the comment mentions, None if it mentions none or several."""
    words = set(_WORD.findall(comment))
    found = [name for name in names if words & {name.name, name.asname}]
    return found[0] if len(found) == 1 else None


def _reheaded(body: Body, rows: list[Row]) -> Body:
    """The statement with these rows; what belongs to the first and the last line stays there."""
    before = body.rows[0]
    first = rows[0]
    if first.cells[0] is not before.cells[0]:
        led = bool(before.above) and not before.above[0].strip()
        if not led:
            while first.above and not first.above[0].strip():
                first = replace(first, above=first.above[1:])
        gone = before.cells[-1] not in {cell for row in rows for cell in row.cells}
        if body.inline and first.above:
            return replace(body, inline=False, rows=(first, *rows[1:]))
        if body.inline:
            first = replace(first, indent=before.indent)
            if gone and before.comment and is_pragma(before.comment):
                first = replace(first, tail=joined_comments(before.tail, first.tail))
    rows = [first, *rows[1:]]
    if not rows[-1].comment:
        rows[-1] = replace(rows[-1], tail="" if body.bracketed else rows[-1].tail)
    return replace(body, rows=tuple(rows))


def joined_comments(*tails: str | None) -> str:
    """Comments one after the other, two blanks before each, none twice."""
    texts: list[str] = []
    for tail in tails:
        text = (tail or "").strip()
        if text and text not in texts:
            texts.append(text)
    return "".join(f"  {text}" for text in texts)


def insert_row(body: Body, index: int, cell: Cell, comments: NameComments) -> Body:
    """Put a cell on a line of its own before the row of that number."""
    rows = list(body.rows)
    indent = rows[-1].indent
    if body.inline and len(rows) == 1:
        indent = " " * len(NEWLINE.split(body.prefix)[-1])
    above = tuple(indent.replace(",", " ") + line for line in comments.above)
    new = Row((cell,), indent, joined_comments(comments.trailing), above)
    if index == 0 and body.inline:
        if above:
            rows[0] = replace(rows[0], indent=indent)
            return cleaned(replace(body, inline=False, rows=(new, *rows)))
        new = replace(new, indent=rows[0].indent)
        rows[0] = replace(rows[0], indent=indent)
    elif index == 0 and rows[0].above and len(_groups(rows)) == 1:
        new = replace(new, above=(*rows[0].above, *above))
        rows[0] = replace(rows[0], above=())
    rows.insert(index, new)
    return cleaned(replace(body, rows=tuple(rows)))


def split_rows(body: Body, index: int) -> tuple[Body, int]:
    """Break the line before the cell of that index; also the number of the row it then begins."""
    seen = 0
    for number, row in enumerate(body.rows):
        if index <= seen:
            return body, number
        at = index - seen
        if at < len(row.cells):
            indent = body.rows[-1].indent if len(body.rows) > 1 else row.indent
            if body.inline and len(body.rows) == 1:
                indent = " " * len(NEWLINE.split(body.prefix)[-1])
            parts = (
                replace(row, cells=row.cells[:at], tail=""),
                replace(row, cells=row.cells[at:], indent=indent, above=()),
            )
            rows = (*body.rows[:number], *parts, *body.rows[number + 1 :])
            return cleaned(replace(body, rows=rows)), number + 1
        seen += len(row.cells)
    return body, len(body.rows)


def insert_in_row(body: Body, index: int, cell: Cell) -> tuple[Body, int]:
    """Put a cell at a place among all cells, in the row of the cell before it; also that row."""
    seen = 0
    rows = list(body.rows)
    for number, row in enumerate(rows):
        if index <= seen + len(row.cells):
            at = index - seen
            rows[number] = replace(row, cells=(*row.cells[:at], cell, *row.cells[at:]))
            return replace(body, rows=tuple(rows)), number
        seen += len(row.cells)
    raise IndexError(index)


def last_moved_down(body: Body, number: int) -> Body:
    """Move a row's last cell to the head of the next row, or to a new row if that has comments."""
    rows = list(body.rows)
    row = rows[number]
    moved = row.cells[-1]
    rows[number] = replace(row, cells=row.cells[:-1])
    following = rows[number + 1] if number + 1 < len(rows) else None
    if following is not None and not following.above and not following.comment:
        rows[number + 1] = replace(following, cells=(moved, *following.cells))
        return cleaned(replace(body, rows=tuple(rows)))
    indent = row.indent
    if body.inline and number == 0:
        column = " " * len(NEWLINE.split(body.prefix)[-1])
        indent = following.indent if following is not None else column
    rows.insert(number + 1, Row((moved,), indent))
    return cleaned(replace(body, rows=tuple(rows)))
