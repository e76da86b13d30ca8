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

from transforms.imports.edits import (
    cleaned,
    insert_in_row,
    insert_row,
    joined_comments,
    last_moved_down,
    remove,
    split_rows,
)
from transforms.imports.layouts import (
    collapsed,
    filled_width,
    fits,
    flowed,
    last_line,
    one_each,
    physical_lengths,
    row_comments,
    shifted,
    wrapped,
)
from transforms.imports.names import (
    ImportedName,
    ImportStyle,
    Layout,
    NameComments,
    NameOrder,
    Shrink,
    normalized,
)
from transforms.imports.order import name_key, orders_of, position
from transforms.imports.rows import (
    NEWLINE,
    Body,
    Cell,
    Row,
    layout_of,
    parse_body,
    render,
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

_SPACES = re.compile(r"\s+")
_BY_CHANCE = 4


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
        found = NEWLINE.search(text)
        return cls(text, body, found.group() if found else newline, indent, style)

    @property
    def module(self) -> str | None:
        """The module names are imported from, `.` and `..x` if relative; None for `import x`."""
        return (
            _SPACES.sub("", normalized(self.body.module.replace("\\", "")))
            if self.body.lead
            else None
        )

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
        A backslash form that is left with one name is joined whatever `shrink` says.
        """
        explode = shrink is Shrink.EXPLODE
        if not explode and not set(self.names) & set(names):
            return self.text
        left = remove(self.body, names).body
        if left is None:
            return None
        if explode:
            return self._rendered(self._exploded(left))
        alone = len(left.cells) == 1 and self.layout is Layout.BACKSLASH
        if shrink is Shrink.COLLAPSE or alone:
            line = collapsed(left, self.indent, self.style.width)
            if line is not None:
                return self._rendered(line)
        return self._rendered(self._filled_again(left))

    def laid_out(self, shrink: Shrink) -> str:
        """The statement with all its names, laid out as the choice says."""
        if shrink is Shrink.COLLAPSE:
            line = collapsed(self.body, self.indent, self.style.width)
            return self.text if line is None else self._rendered(line)
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
        `style` replaces the statement's own. ValueError for a star import, which can hold no
        other name.
        """
        if style is not None:
            return replace(self, style=style).with_names(added, comments=comments)
        if self.is_star:
            raise ValueError(f"a star import holds no other name: {self.text!r}")
        new = [name for name in dict.fromkeys(added) if name not in self.names]
        if not new:
            return self.text
        found = {name: comments[name] for name in new if comments and name in comments}
        order = self._order_to_keep()
        body = cleaned(self.body)
        one_line = layout_of(body) in (Layout.ONE_LINE, Layout.PARENTHESIZED)
        if one_line or (found and not body.bracketed):
            return self._rendered(self._longer(body, new, order, found))
        width = filled_width(body, self.indent, self.style.width)
        each = bool(found) or one_each(body, self.indent, self.style.width)
        if width is not None and not each:
            return self._rendered(flowed(body, _merged(body, new, order), self.indent, width))
        for name in new:
            index = position(body.names, name, order)
            cell = replace(body.cells[0], name=name, text=str(name))
            if each:
                body, row = split_rows(body, index)
                body = insert_row(body, row, cell, found.get(name, NameComments()))
            else:
                body = self._with_cell(body, index, cell)
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
        before, width = self.body, self.style.width
        body = _with_module(before, module)
        layout = self.layout
        if layout in (Layout.ONE_LINE, Layout.PARENTHESIZED):
            fitted = fits(before, self.indent, width) and not self.is_star
            if fitted and not fits(body, self.indent, width):
                body = wrapped(body, self.style, self.indent, self.comment, {})
            return self._rendered(body)
        if not before.inline or len(before.rows) == 1:
            return self._rendered(body)
        if layout is Layout.GRID and self._is_aligned():
            body = shifted(body, len(body.prefix) - len(before.prefix))
        filled = filled_width(before, self.indent, width)
        if filled is not None and not one_each(before, self.indent, width):
            return self._rendered(flowed(body, body.cells, self.indent, filled))
        return self._rendered(self._overflow_moved(body, 0))

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

    def _order_to_keep(self) -> NameOrder | None:
        """The order that names coming in keep: a few names may be in order by chance."""
        if len(self.names) < _BY_CHANCE and not self.style.sorted_names:
            return None
        return self.order

    def _filled_again(self, left: Body) -> Body:
        """What is left of a statement, filled again if it was filled before."""
        if self.layout in (Layout.GRID, Layout.HANGING, Layout.BACKSLASH):
            width = filled_width(self.body, self.indent, self.style.width)
            if width is not None and not one_each(self.body, self.indent, self.style.width):
                return flowed(left, left.cells, self.indent, width)
        return left

    def _exploded(self, body: Body) -> Body:
        if layout_of(body) is Layout.EXPLODED or not body.lead or self.is_star:
            return body
        style = replace(self.style, wrap="exploded")
        return wrapped(body, style, self.indent, self.comment, row_comments(body))

    def _longer(
        self,
        body: Body,
        new: Sequence[ImportedName],
        order: NameOrder | None,
        comments: Mapping[ImportedName, NameComments],
    ) -> Body:
        """A statement on one line with names put in, wrapped if it fitted and no longer does."""
        row = replace(body.rows[0], cells=tuple(_merged(body, new, order)))
        longer = replace(body, rows=(row,))
        width = self.style.width
        if not body.lead:
            trailing = (found.trailing for found in comments.values())
            longer = replace(longer, tail=joined_comments(body.tail, *trailing) or body.tail)
        elif comments:
            return wrapped(longer, self.style, self.indent, self.comment, comments)
        if fits(longer, self.indent, width) or not fits(body, self.indent, width):
            return longer
        return wrapped(longer, self.style, self.indent, self.comment, {})

    def _with_cell(self, body: Body, index: int, cell: Cell) -> Body:
        longer, number = insert_in_row(body, index, cell)
        return self._overflow_moved(longer, number)

    def _overflow_moved(self, body: Body, number: int) -> Body:
        """Move names that no longer fit in a row down, as far as rows change."""
        before = physical_lengths(self.body, self.indent)
        width = max(self.style.width, *before)
        while number < len(body.rows):
            moved = False
            while (
                len(body.rows[number].cells) > 1
                and physical_lengths(body, self.indent)[number] > width
            ):
                body = last_moved_down(body, number)
                moved = True
            if not moved:
                break
            number += 1
        return cleaned(body)

    def _is_aligned(self) -> bool:
        """Whether the second row begins right below the first name."""
        return len(self.body.rows[1].indent) == len(last_line(self.indent + self.body.prefix))


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
    cells = tuple(Cell(name, str(name)) for name in listed)
    lead, head = ("", "import ") if module is None else ("from ", " import ")
    body = Body(lead, module or "", head, (Row(cells),), tail=joined_comments(comment))
    if len(cells) == 1 and known:
        single = known[listed[0]]
        above = "".join(line + newline + indent for line in single.above)
        body = replace(body, tail=joined_comments(single.trailing, comment))
        return above + render(body, newline)
    if known or not fits(body, indent, style.width):
        body = wrapped(body, style, indent, comment, known)
    return render(body, newline)


def _merged(body: Body, new: Sequence[ImportedName], order: NameOrder | None) -> list[Cell]:
    """The cells with those of new names among them."""
    merged = list(body.cells)
    for name in new:
        index = position([cell.name for cell in merged], name, order)
        merged.insert(index, replace(merged[0], name=name, text=str(name)))
    return merged


def _with_module(body: Body, module: str) -> Body:
    lead, head = body.lead, body.head
    if not module.startswith(".") and not lead[-1:].isspace():
        lead += " "
    if not module.endswith(".") and not head[:1].isspace():
        head = " " + head
    return replace(body, lead=lead, head=head, module=module)
