"""A new module, composed from its licence, its preamble, its helpers and the moved statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.imports.rebased import with_newlines
from transforms.move.gaps import body_text, first_gap
from transforms.move.pieces import add_piece
from transforms.move.preamble import Piece, Preamble
from transforms.move.state import Group
from transforms.source.module import Module
from transforms.syntax.comments import COOKIE, LICENCE
from transforms.syntax.kinds import is_future, is_string

_COMMENT_BLOCK = re.compile(r"(?m)(?:^#[^\r\n]*(?:\r\n|\r|\n|\Z))+")


def compose(
    groups: Sequence[Group], preambles: Sequence[Preamble], *, sorter: bool, newer: bool = False
) -> bytes:
    """The bytes of a new module."""
    first = groups[0]
    source = first.source.document
    newline = source.module.newline
    document = Document(
        first.located.path,
        _head_text(groups, preambles, newline, newer=newer).encode(),
        first.located.package,
        sorter=sorter,
        style=source.style,
        newer=newer,
        like=source,
    )
    for group, preamble in zip(groups, preambles, strict=True):
        if group.source is not first.source:
            for piece in preamble.head:
                add_piece(document, piece, group)
        for wanted in preamble.wanted:
            document.import_name(wanted)
    text = document.finish().decode()
    text += _tail_text(groups, preambles, newline, has_head=bool(text))
    for position, group in enumerate(groups):
        if not group.body:
            continue
        module = group.source.document.module
        gap = first_gap(module, module.statements[group.body[0]])
        if position and groups[position - 1].body:
            gap = max(gap, module.definition_gap)
        text += (newline * gap if text else "") + body_text(group, newline)
    return text.encode()


def _head_text(
    groups: Sequence[Group], preambles: Sequence[Preamble], newline: str, *, newer: bool
) -> str:
    """Header, `__future__` imports, and the imports of the first source as they stand there."""
    parts = [part for part in [_header(groups, newline, newer=newer)] if part]
    futures = list(dict.fromkeys(preamble.future for preamble in preambles if preamble.future))
    parts += [with_newlines(newline.join(futures), newline)] if futures else []
    first = groups[0].source
    pieces: dict[int, Piece] = {}
    for group, preamble in zip(groups, preambles, strict=True):
        if group.source is first:
            for piece in preamble.head:
                _unite(pieces, piece, first.document)
    text = ""
    previous: int | None = None
    for index in sorted(pieces):
        if previous is not None:
            text += newline * (1 + _gap_over(first.document.module, previous, index))
        text += pieces[index].comment + pieces[index].text
        previous = index
    parts += [text] if text else []
    return (newline * 2).join(parts) + (newline if parts else "")


def _unite(pieces: dict[int, Piece], piece: Piece, document: Document) -> None:
    """Two groups of one source may need different names of one statement."""
    other = pieces.setdefault(piece.index, piece)
    if other.text == piece.text:
        return
    statement = document.module.statements[piece.index]
    names = other.binds | piece.binds
    whole = document.module.text[statement.start : statement.end]
    longer = max((other, piece), key=lambda item: len(item.text))
    text = whole if names - longer.binds else longer.text
    pieces[piece.index] = Piece(piece.index, text, True, names, piece.comment)


def _gap_over(module: Module, above: int, below: int) -> int:
    """One blank line if any import between the two starts a new section in the source."""
    for index in range(above + 1, below + 1):
        statement = module.statements[index]
        if statement.is_import or index == below or isinstance(statement.node, (ast.If, ast.Try)):
            if module.blank_lines_before(statement.block_start):
                return 1
    return 0


def _header(groups: Sequence[Group], newline: str, *, newer: bool) -> str:
    """The plan's own header, or the source's licence; "" for neither.

    `newer`: a licence comes along unasked.
    """
    for group in groups:
        if group.spec.header is not None:
            return with_newlines(group.spec.header.rstrip("\n"), newline)
    for group in groups:
        if not (group.spec.licence or newer):
            continue
        licence = licence_of(group.source.document.module)
        if not licence and group.spec.licence:
            raise Refusal(
                "no-licence",
                f"`{group.source.located.path}` starts with no licence text to copy.",
                next_step="Drop `licence = true`, or write the text as `header`.",
                place=group.source.place(1),
            )
        if licence:
            return with_newlines(licence, newline)
    return ""


def licence_of(module: Module) -> str:
    """The licence header: leading comments, or a leading string, that speak of one; "" if none.

    A shebang and a coding line are not part of it.
    """
    statements = module.statements
    head = module.text[: statements[0].start] if statements else module.text
    for block in _COMMENT_BLOCK.finditer(head):
        if LICENCE.search(block[0]):
            lines = block[0].splitlines()
            while lines and (lines[0].startswith("#!") or COOKIE.match(lines[0])):
                lines.pop(0)
            return module.newline.join(lines)
    for statement in statements[:2]:
        text = module.text[statement.start : statement.end]
        if is_string(statement.node) and LICENCE.search(text):
            return text
        if not is_future(statement.node):
            break
    return ""


def _tail_text(
    groups: Sequence[Group], preambles: Sequence[Preamble], newline: str, *, has_head: bool
) -> str:
    """Helper statements and what depends on them; the same one is written once."""
    text = ""
    seen: set[str] = set()
    for group, preamble in zip(groups, preambles, strict=True):
        module = group.source.document.module
        for piece in preamble.tail:
            if piece.text in seen:
                continue
            seen.add(piece.text)
            if not text:
                text = newline if has_head else ""
            else:
                start = module.statements[piece.index].block_start
                text += newline * module.blank_lines_before(start)
            text += with_newlines(piece.text, newline) + newline
    return text


__all__ = ["compose", "licence_of"]
