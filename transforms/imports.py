"""Edits of one import statement: text in, text out.

An `ImportStatement` is read from the text of one statement and gives the texts of its edits:
names out, names in, another module. A statement that is not edited gives its own text back, byte
for byte, and an edit touches what it must: layout, comments, line endings and order stay as the
author chose them. `render_import` writes a new statement the way its file writes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from transforms.import_edits import (
    cleaned,
    fill_range,
    filled_width,
    flowed,
    insert_in_row,
    insert_row,
    joined_comments,
    overflow_moved,
    physical_lengths,
    remove,
)
from transforms.import_order import name_key, orders_of, position
from transforms.import_rows import Body, Cell, Row, layout_of, parse_body, render
from transforms.import_types import (
    ImportedName,
    ImportStyle,
    Layout,
    NameComments,
    NameOrder,
    Shrink,
    is_pragma,
)

__all__ = [
    "ImportStatement",
    "ImportStyle",
    "ImportedName",
    "Layout",
    "NameComments",
    "Shrink",
    "render_import",
]

_NEWLINE = re.compile(r"\r\n|\n|\r")
_SPACES = re.compile(r"\s+")
_NO_COMMENTS = NameComments()


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """One import statement, as its file spells it."""

    text: str
    body: Body
    newline: str
    indent: str
    style: ImportStyle

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        newline: str = "\n",
        width: int | None = None,
        indent: str | None = None,
        style: ImportStyle | None = None,
    ) -> ImportStatement:
        """Read the source of one statement.

        `text` has no indentation before the first line and no newline after the last; further
        lines are as in the file, and a trailing comment is part of it. `indent` is the
        indentation taken off the first line; if it is not given, the closing bracket's is used.
        `width` (characters a line) overrides the style's. ValueError if the text is not exactly
        one import statement.
        """
        body = parse_body(text)
        style = style or ImportStyle()
        if width is not None:
            style = replace(style, width=width)
        if indent is None:
            indent = body.closing if body.closing is not None and not body.inline else ""
        found = _NEWLINE.search(text)
        return cls(text, body, found.group() if found else newline, indent, style)

    @property
    def module(self) -> str | None:
        """The module names are imported from, `.` and `..x` if relative; None for `import x`."""
        return _SPACES.sub("", self.body.module.replace("\\", "")) if self.body.lead else None

    @property
    def names(self) -> tuple[ImportedName, ...]:
        """The names in the statement's order; `*` is a name."""
        return self.body.names

    @property
    def is_star(self) -> bool:
        """Whether it is `from m import *`."""
        return self.names == (ImportedName("*"),)

    @property
    def layout(self) -> Layout:
        """How the statement is laid out."""
        return layout_of(self.body)

    @property
    def comment(self) -> str | None:
        """The statement's own comment: after its end, and after its opening bracket."""
        return joined_comments(self.body.opening.strip(" \t\f\\"), self.body.tail).strip() or None

    @property
    def pragma(self) -> str | None:
        """The statement's comment if it speaks to a tool (`# noqa`): new statements copy it."""
        comments = [text.strip() for text in (self.body.opening, self.body.tail)]
        if self.body.inline and len(self.body.rows) > 1:
            comments.append(self.body.rows[0].comment or "")
        return joined_comments(*filter(is_pragma, comments)).strip() or None

    @property
    def fill_range(self) -> tuple[int, int]:
        """The widths (characters, both inclusive) to which the rows could have been filled.

        Empty (first above last) for rows that were arranged otherwise, or not at all.
        """
        return fill_range(self.body, self.indent)

    @property
    def order(self) -> NameOrder | None:
        """The order that the names follow, None if they follow none."""
        found = orders_of(self.names)
        if self.style.name_order in found:
            return self.style.name_order
        return found[0] if found else None

    def removed_comments(self, names: Collection[ImportedName]) -> dict[ImportedName, NameComments]:
        """The comments that leave with these names, for the statement that they go to.

        A comment that speaks to a tool about a line of several names is both kept and returned.
        """
        return remove(self.body, names).comments

    def without(self, names: Collection[ImportedName], shrink: Shrink) -> str | None:
        """The statement without these names, None if no name is left.

        Names that it does not hold are ignored. If none leaves, only `EXPLODE` changes anything.
        """
        if shrink is Shrink.EXPLODE:
            left = remove(self.body, names).body
            return None if left is None else self._rendered(self._exploded(left))
        if not set(self.names) & set(names):
            return self.text
        left = remove(self.body, names).body
        if left is None:
            return None
        alone = len(left.cells) == 1 and self.layout is Layout.BACKSLASH
        if shrink is Shrink.COLLAPSE or alone:
            collapsed = self._collapsed(left)
            if collapsed is not None:
                return self._rendered(collapsed)
        return self._rendered(self._filled_again(left))

    def laid_out(self, shrink: Shrink) -> str:
        """The statement with all its names, laid out as the choice says."""
        if shrink is Shrink.COLLAPSE:
            collapsed = self._collapsed(self.body)
            return self.text if collapsed is None else self._rendered(collapsed)
        return self.without((), shrink) or self.text

    def with_names(
        self,
        added: Sequence[ImportedName],
        *,
        comments: Mapping[ImportedName, NameComments] | None = None,
        style: ImportStyle | None = None,
    ) -> str:
        """The statement with these names too; names that it has already are left out.

        Sorted names stay sorted in the order they follow; otherwise the new ones are appended.
        ValueError for a star import, which can hold no other name.
        """
        if style is not None:
            return replace(self, style=style).with_names(added, comments=comments)
        if self.is_star:
            raise ValueError(f"a star import holds no other name: {self.text!r}")
        comments = comments or {}
        new = [name for name in dict.fromkeys(added) if name not in self.names]
        if not new:
            return self.text
        order = self.order
        if order is not None and len(self.names) == 1 and not self.style.sorted_names:
            order = None
        body = cleaned(self.body)
        if layout_of(body) in (Layout.ONE_LINE, Layout.PARENTHESIZED):
            return self._rendered(self._longer_line(body, new, order, comments))
        width = filled_width(body, self.indent, self.style.width)
        one_each = _one_each(body) or any(name in comments for name in new)
        if width is not None and not one_each:
            cells = _merged(body.cells, new, order)
            return self._rendered(flowed(body, cells, self.indent, width))
        for name in new:
            index = len(body.cells) if order is None else position(body.names, name, order)
            if one_each:
                row = _row_at(body, index)
                body = insert_row(body, row, _cell(name, body), comments.get(name, _NO_COMMENTS))
            else:
                body = insert_in_row(body, index, _cell(name, body))
                body = overflow_moved(body, self.indent, self.style.width)
        return self._rendered(body)

    def renamed(self, module: str) -> str:
        """The same statement for another module, in the same layout.

        A line that fitted and no longer does is wrapped as the style says. ValueError for
        `import x`, which names no module apart from its names.
        """
        if self.module is None:
            raise ValueError(f"not a from-import: {self.text!r}")
        if module == self.module:
            return self.text
        before = self.body
        body = _with_module(before, module)
        layout = layout_of(before)
        if layout in (Layout.ONE_LINE, Layout.PARENTHESIZED):
            if self._fits(before) and not self._fits(body) and not self.is_star:
                body = self._wrapped(body, {})
            return self._rendered(body)
        if before.inline and len(before.rows) > 1:
            column = len(self.indent + before.prefix)
            if layout is Layout.GRID and len(before.rows[1].indent) == column:
                body = _shifted(body, len(body.prefix) - len(before.prefix))
            width = filled_width(before, self.indent, self.style.width)
            if width is not None and not _one_each(before):
                return self._rendered(flowed(body, body.cells, self.indent, width))
            width = max(self.style.width, *physical_lengths(before, self.indent))
            body = overflow_moved(body, self.indent, width)
        return self._rendered(body)

    def replacing(self, old: ImportedName, new: ImportedName) -> str:
        """The statement with one name spelled otherwise, in its place."""
        rows = tuple(
            replace(
                row,
                cells=tuple(
                    replace(cell, name=new, text=str(new)) if cell.name == old else cell
                    for cell in row.cells
                ),
            )
            for row in self.body.rows
        )
        return self._rendered(replace(self.body, rows=rows))

    def _rendered(self, body: Body) -> str:
        return render(body, self.newline)

    def _fits(self, body: Body) -> bool:
        """Whether a statement on one line fits, not counting a comment for tools."""
        line = self.indent + render(replace(body, tail=""), self.newline)
        comment = body.tail.strip()
        size = 0 if not comment or is_pragma(comment) else len(body.tail)
        return len(line) + size <= self.style.width

    def _collapsed(self, body: Body) -> Body | None:
        """The statement on one line; None if it does not fit or a comment would be lost."""
        if any(row.comment or any(map(str.strip, row.above)) for row in body.rows):
            return None
        if any(map(str.strip, body.below)) or any(_NEWLINE.search(c.text) for c in body.cells):
            return None
        opening, tail = body.opening.strip(" \t\f\\"), body.tail.strip()
        if opening and tail and opening != tail:
            return None
        bracketed = self.layout is Layout.PARENTHESIZED and len(body.cells) > 1
        if bracketed:
            return body
        line = replace(
            body,
            lead=_SPACES.sub(" ", body.lead.replace("\\", "")),
            head=_one_space(body),
            rows=(Row(tuple(replace(cell, comma_gap="") for cell in body.cells)),),
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
        return line if self._fits(line) else None

    def _filled_again(self, left: Body) -> Body:
        """What is left of a statement, filled again if it was filled before."""
        if layout_of(self.body) in (Layout.GRID, Layout.HANGING, Layout.BACKSLASH):
            width = filled_width(self.body, self.indent, self.style.width)
            if width is not None and not _one_each(self.body):
                return flowed(left, left.cells, self.indent, width)
        return left

    def _exploded(self, body: Body) -> Body:
        if layout_of(body) is Layout.EXPLODED or not body.lead or self.is_star:
            return body
        style = replace(self.style, wrap="exploded")
        return replace(self, style=style)._wrapped(body, _row_comments(body))

    def _longer_line(
        self,
        body: Body,
        new: Sequence[ImportedName],
        order: NameOrder | None,
        comments: Mapping[ImportedName, NameComments],
    ) -> Body:
        cells = _merged(body.cells, new, order)
        line = replace(body, rows=(replace(body.rows[0], cells=tuple(cells)),))
        mine = {name: comments[name] for name in new if name in comments}
        if not mine and (self._fits(line) or not self._fits(body)):
            return line
        return self._wrapped(line, mine)

    def _wrapped(self, body: Body, comments: Mapping[ImportedName, NameComments]) -> Body:
        """A statement over several lines, as the style says."""
        head = _one_space(body)
        return _wrapped(
            replace(body, head=head), body.cells, self.style, self.indent, self.comment, comments
        )


def render_import(
    module: str | None,
    names: Iterable[ImportedName],
    *,
    style: ImportStyle,
    indent: str = "",
    newline: str = "\n",
    comment: str | None = None,
    comments: Mapping[ImportedName, NameComments] | None = None,
) -> str:
    """A new statement as the style writes it, without the first indentation and last newline.

    `module` is None for plain imports, which get one statement a name; so does a from-import in
    a file that imports one name a statement. `comment` is the statement's own, `comments` those of
    its names. ValueError if there are no names.
    """
    listed = list(dict.fromkeys(names))
    if not listed:
        raise ValueError("an import statement needs a name")
    if style.sorted_names:
        listed.sort(key=name_key(style.name_order))
    known = {name: found for name in listed if (found := (comments or {}).get(name))}
    if (module is None or style.one_name_per_statement) and len(listed) > 1:
        return (newline + indent).join(
            render_import(
                module,
                [name],
                style=style,
                indent=indent,
                newline=newline,
                comment=comment,
                comments=known,
            )
            for name in listed
        )
    cells = [Cell(name, str(name)) for name in listed]
    lead, head = ("", "import ") if module is None else ("from ", " import ")
    body = Body(lead, module or "", head, (Row(tuple(cells)),), tail=joined_comments(comment))
    statement = ImportStatement("", body, newline, indent, style)
    single = known.get(listed[0]) if len(cells) == 1 else None
    if single and (not single.above or module is None or style.one_name_per_statement):
        above = "".join(line + newline + indent for line in single.above)
        body = replace(body, tail=joined_comments(single.trailing, comment))
        return above + render(body, newline)
    if known or not statement._fits(body):
        body = statement._wrapped(body, known)
    return render(body, newline)


def _wrapped(
    body: Body,
    cells: Sequence[Cell],
    style: ImportStyle,
    indent: str,
    comment: str | None,
    comments: Mapping[ImportedName, NameComments],
) -> Body:
    """The cells over several lines, as the style says; with comments of names, one a line."""
    cells = [replace(cell, gap=" ", comma_gap="") for cell in cells]
    inner = indent + style.indent_unit
    base = Body(body.lead, body.module, body.head, (Row((cells[0],), inner),), tail="")
    wrap = style.wrap
    if not body.lead or (wrap == "backslash" and not comments):
        base = replace(base, rows=(Row((cells[0],)), Row((cells[0],), inner)))
        made = flowed(base, cells, indent, style.width)
        return replace(made, tail=joined_comments(comment))
    if wrap == "grid" and not comments:
        base = replace(base, bracketed=True, rows=(Row((cells[0],)),))
        made = flowed(base, cells, indent, style.width)
        if max(physical_lengths(made, indent)) <= style.width:
            return _with_grid_comment(made, comment)
        wrap = "hanging"
    closing = indent if style.closing_on_own_line else None
    base = replace(
        base, bracketed=True, inline=False, closing=closing, opening=joined_comments(comment)
    )
    if wrap == "hanging" and not comments:
        made = flowed(base, cells, indent, style.width)
        return replace(made, trailing_comma=style.trailing_comma)
    rows = []
    for cell in cells:
        own = comments.get(cell.name, _NO_COMMENTS)
        above = tuple(inner + line for line in own.above)
        rows.append(Row((cell,), inner, joined_comments(own.trailing), above))
    return replace(base, rows=tuple(rows), trailing_comma=style.trailing_comma)


def _with_grid_comment(body: Body, comment: str | None) -> Body:
    """A comment for tools stands on the first line, where they look for it; others at the end."""
    if comment and is_pragma(comment) and len(body.rows) > 1:
        first = replace(body.rows[0], tail=joined_comments(comment))
        return replace(body, rows=(first, *body.rows[1:]))
    return replace(body, tail=joined_comments(comment))


def _row_comments(body: Body) -> dict[ImportedName, NameComments]:
    """Each row's comments, given to its first name."""
    found = {}
    for number, row in enumerate(body.rows):
        above = tuple(line.strip() for line in row.above if line.strip())
        if number == len(body.rows) - 1 and not body.bracketed:
            above = ()
        if row.comment or above:
            found[row.cells[0].name] = NameComments(above, row.comment)
    return found


def _one_each(body: Body) -> bool:
    """Whether the author gives each name a line of its own."""
    if not body.bracketed and len(body.rows) == 1:
        return False
    single = all(len(row.cells) == 1 for row in body.rows)
    return single and (len(body.rows) > 1 or not body.inline)


def _merged(
    cells: Sequence[Cell], new: Sequence[ImportedName], order: NameOrder | None
) -> list[Cell]:
    merged = list(cells)
    for name in new:
        index = len(merged)
        if order is not None:
            index = position([cell.name for cell in merged], name, order)
        merged.insert(index, replace(cells[0], name=name, text=str(name)))
    return merged


def _cell(name: ImportedName, body: Body) -> Cell:
    return replace(body.cells[0], name=name, text=str(name))


def _row_at(body: Body, index: int) -> int:
    """The number of the row that begins at or after the cell of that index."""
    seen = 0
    for number, row in enumerate(body.rows):
        if seen >= index:
            return number
        seen += len(row.cells)
    return len(body.rows)


def _with_module(body: Body, module: str) -> Body:
    lead, head = body.lead, body.head
    if not module.startswith(".") and not lead[-1:].isspace():
        lead += " "
    if not module.endswith(".") and not head[:1].isspace():
        head = " " + head
    return replace(body, lead=lead, head=head, module=module)


def _one_space(body: Body) -> str:
    """The words before the first name, on one line."""
    if not body.lead:
        return "import "
    return " import "


def _shifted(body: Body, by: int) -> Body:
    """Move the continuation lines to stay aligned with the bracket."""

    def moved(blanks: str) -> str:
        return blanks + " " * by if by > 0 else blanks[: max(len(blanks) + by, 0)]

    rows = [body.rows[0]]
    for row in body.rows[1:]:
        above = tuple(_moved_comment(line, by) for line in row.above)
        rows.append(replace(row, indent=moved(row.indent), above=above))
    closing = body.closing
    if closing is not None and closing == body.rows[-1].indent:
        closing = moved(closing)
    return replace(body, rows=tuple(rows), closing=closing)


def _moved_comment(line: str, by: int) -> str:
    text = line.lstrip()
    if not text:
        return line
    blanks = line[: len(line) - len(text)]
    return (blanks + " " * by if by > 0 else blanks[: max(len(blanks) + by, 0)]) + text
