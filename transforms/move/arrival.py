"""Symbols put into a module that exists, with the imports and helpers that they need."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from transforms.errors import Refusal, nearest
from transforms.imports.document import Document
from transforms.imports.rebased import with_newlines
from transforms.move.gaps import body_text, landing_gaps
from transforms.move.pieces import add_piece
from transforms.move.preamble import BUILTINS, Preamble
from transforms.move.soundness import refuse_unions
from transforms.move.state import Group
from transforms.reading.accepts import Accepts
from transforms.source.edits import Block, Rank
from transforms.source.module import Statement
from transforms.syntax.comments import is_modeline
from transforms.syntax.kinds import is_main_guard


def extend(
    document: Document, groups: Sequence[Group], preambles: Sequence[Preamble], accepts: Accepts
) -> None:
    """Put the groups' symbols, and the imports and helpers they need, into the module."""
    newline = document.module.newline
    for group, preamble in zip(groups, preambles, strict=True):
        _refuse_head(group)
        refuse_unions(document, group)
        _check_names_free(document, group, preamble, accepts)
        for wanted in preamble.wanted:
            document.import_name(wanted)
            if not wanted.type_checking:
                document.drop_checked(wanted.name.asname or wanted.name.name)
        for piece in preamble.head:
            add_piece(document, piece, group)
        if preamble.tail:
            _add_helpers(document, group, preamble)
        if group.body:
            offset, above, below = _landing(document, group)
            before, after = landing_gaps(document, group, offset, above, below)
            document.edits.insert_block(offset, Block(body_text(group, newline), before, after))


def _add_helpers(document: Document, group: Group, preamble: Preamble) -> None:
    """Put helper statements below the imports, behind those that stand there."""
    module, source = document.module, group.source.document.module
    offset, beside = document.head.end, False
    for statement in document.symbols.statements:
        if statement.block_start < document.head.end:
            continue
        follows = not module.text[offset : statement.block_start].strip(" \t\f\r\n")
        gap = module.blank_lines_before(statement.block_start)
        if not (isinstance(statement.node, ast.Assign) and follows and not (beside and gap)):
            break
        offset, beside = module.after_line(statement.end), True
    text = ""
    for number, piece in enumerate(preamble.tail):
        gap = source.blank_lines_before(source.statements[piece.index].block_start)
        text += module.newline * (min(gap, 2) if number else 0)
        text += with_newlines(piece.text, module.newline) + module.newline
    first = source.statements[preamble.tail[0].index]
    before = min(1, source.blank_lines_before(first.block_start)) if beside else 1
    below = next((s for s in module.statements if s.block_start >= offset), None)
    after = 1 if below is None else max(1, module.blank_lines_before(below.block_start))
    document.edits.insert_block(offset, Block(text, before, after, Rank.HELPERS))


def _refuse_head(group: Group) -> None:
    spec = group.spec
    if spec.header is not None or spec.licence:
        raise Refusal(
            "clash",
            f"`{group.located.dotted}` exists; it has a head of its own.",
            next_step=f"Drop `{'licence' if spec.licence else 'header'}`, or author an edit.",
            place=None,
        )


def _check_names_free(
    document: Document, group: Group, preamble: Preamble, accepts: Accepts
) -> None:
    """The symbols are bound by nothing else there, and hide nothing that the module reads."""
    for name in (*group.spec.symbols, *group.spec.carry):
        for index, binding in document.symbols.bindings.get(name, []):
            if not _imports_moved(document, binding.statement, group, name):
                statement = document.symbols.statements[index]
                raise Refusal(
                    "clash",
                    f"`{group.located.dotted}` already binds `{name}`.",
                    next_step="Rename one of the two first, in a commit of its own.",
                    place=document.module.place(statement.line),
                )
    new = {*group.spec.symbols, *group.spec.carry}
    new |= {item.name.asname or item.name.name for item in preamble.wanted}
    new |= {name for piece in (*preamble.head, *preamble.tail) for name in piece.binds}
    stars = _other_stars(document, group)
    for reference in document.module.scopes.references:
        name = reference.name
        if name not in new or reference.owner is not None or name in document.symbols.bindings:
            continue
        if name in BUILTINS or stars:
            refusal = Refusal(
                "clash",
                f"`{name}` would hide what `{group.located.dotted}` reads by that name here: "
                + ("a builtin." if name in BUILTINS else "what a star import may bring."),
                next_step="Rename the moved symbol first, in a commit of its own.",
                place=document.module.place(getattr(reference.node, "lineno", 1)),
            )
            accepts.refuse(refusal, (group.located.dotted, group.located.path), name)


def _other_stars(document: Document, group: Group) -> bool:
    """Whether the module has star imports from elsewhere than the source."""
    return any(
        site.is_star and site.target != group.source.located.dotted
        for site in document.editor.sites
    )


def _imports_moved(document: Document, node: ast.stmt, group: Group, name: str) -> bool:
    """The destination had imported the symbol from its old home: that import goes."""
    site = document.editor.site_of(node)
    if site is None or site.target != group.source.located.dotted:
        return False
    return any(item.name == name and item.asname in (None, name) for item in site.names)


def _landing(document: Document, group: Group) -> tuple[int, Statement | None, Statement | None]:
    """Where the symbols land: the offset, and the statements above and below it."""
    spec, statements = group.spec, document.symbols.statements
    if spec.before or spec.after:
        indices = _anchor(document, group, spec.before or spec.after or "")
        if spec.before:
            return _beside(document, indices[0])
        last = document.symbols.attribute_docstring(indices[-1]) or indices[-1]
        return _beside(document, last + 1, after=statements[last])
    if spec.at == "start":
        index = next((s.index for s in statements if s.is_definition), len(statements))
        return _beside(document, index)
    last = len(statements) - 1
    return _beside(
        document, last if last >= 0 and is_main_guard(statements[last].node) else last + 1
    )


def _anchor(document: Document, group: Group, anchor: str) -> list[int]:
    if anchor in document.symbols.defined:
        return document.symbols.defined[anchor]
    close = nearest(anchor, document.symbols.defined)
    hint = "Did you mean " + " or ".join(f"`{item}`" for item in close) + "? " if close else ""
    raise Refusal(
        "unknown-anchor",
        f"`{group.located.dotted}` defines no `{anchor}` to land beside.",
        next_step=f"{hint}Name a top-level symbol that is there before the move.",
        place=None,
    )


def _beside(
    document: Document, index: int, *, after: Statement | None = None
) -> tuple[int, Statement | None, Statement | None]:
    statements, module = document.symbols.statements, document.module
    above = statements[index - 1] if index else None
    below = statements[index] if index < len(statements) else None
    if after is not None:
        return module.after_line(after.end), above, below
    return below.block_start if below else _end(document, above), above, below


def _end(document: Document, last: Statement | None) -> int:
    """The end of the module, above a comment that editors look for there."""
    module = document.module
    start = module.after_line(last.end) if last else 0
    offset = start
    while offset < len(module.text):
        if is_modeline(module.line_text(module.line_of(offset))):
            return offset
        offset = module.after_line(offset)
    return len(module.text)
