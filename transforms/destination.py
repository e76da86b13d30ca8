"""Destinations: a new module composed from a preamble and moved statements, or an existing one extended."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence

from transforms.document import Document, Wanted
from transforms.edits import Block
from transforms.errors import Refusal, nearest
from transforms.import_sites import Site
from transforms.module import Module, Statement
from transforms.move import Group, Move, SourceState
from transforms.preamble import Piece, Preamble, refuse_future
from transforms.symbols import is_future, is_string

_FUTURE = "from __future__ import annotations"
_LICENCE = re.compile(r"(?i)copyright|licen[sc]e|spdx")


def definition_gap(module: Module) -> int:
    """Blank lines that the module puts before a top-level definition; two if it does not say."""
    gaps = Counter(
        module.blank_lines_before(statement.block_start)
        for statement in module.statements[1:]
        if statement.is_definition and not statement.shared
    )
    gaps.pop(0, None)
    return max(gaps, key=lambda gap: (gaps[gap], gap)) if gaps else 2


def body_text(group: Group, newline: str) -> str:
    """The group's statements as whole lines, in order, with the gaps between them."""
    module = group.source.document.module
    parts: list[str] = []
    previous: Statement | None = None
    for index in group.body:
        statement = module.statements[index]
        if previous is not None:
            parts.append(newline * gap_between(module, previous, statement))
        parts.append(_own_newlines(module, statement, newline) + newline)
        previous = statement
    return "".join(parts)


def _own_newlines(module: Module, statement: Statement, newline: str) -> str:
    text = module.text[statement.block_start : statement.end]
    return text if module.newline == newline else re.sub(r"\r\n|\r|\n", newline, text)


def gap_between(module: Module, above: Statement, below: Statement) -> int:
    """Blank lines between two moved statements: as in the source if they were neighbours there."""
    own = module.blank_lines_before(below.block_start)
    if below.index == above.index + 1 and not _has_comment_between(module, above, below):
        return own
    if above.is_definition or below.is_definition:
        return definition_gap(module)
    return min(own, 2)


def _has_comment_between(module: Module, above: Statement, below: Statement) -> bool:
    return bool(module.text[above.end : below.block_start].strip(" \t\f\r\n"))


def first_gap(module: Module, statement: Statement) -> int:
    """Blank lines between the head of a new module and its first moved statement."""
    if statement.is_definition:
        return definition_gap(module)
    return max(1, min(2, module.blank_lines_before(statement.block_start)))


def licence_of(module: Module) -> str:
    """The licence header: leading comments, or a leading string, that speak of one; "" if none."""
    statements = module.statements
    first = statements[0].start if statements else len(module.text)
    comments = module.text[:first]
    end = len(comments.rstrip())
    for paragraph in re.finditer(r"(?:#[^\r\n]*(?:\r\n|\r|\n)?)+", comments):
        if _LICENCE.search(paragraph[0]):
            start = paragraph.start()
            return comments[start : min(paragraph.end(), end)].rstrip()
    for statement in statements[:2]:
        if is_string(statement.node) and _LICENCE.search(
            module.text[statement.start : statement.end]
        ):
            return module.text[statement.start : statement.end]
        if not is_future(statement.node):
            break
    return ""


def compose(
    groups: Sequence[Group], preambles: Sequence[Preamble], move: Move, *, sorter: bool
) -> tuple[bytes, Document]:
    """A new module. Returns its bytes, and the document of its head for what was derived."""
    first = groups[0]
    source = first.source
    newline = source.document.module.newline
    head = _head_text(groups, preambles, newline)
    document = Document(
        first.located.path,
        head.encode(),
        first.located.package,
        sorter=sorter,
        style=source.document.style,
    )
    for preamble in preambles:
        for wanted in preamble.wanted:
            document.import_name(wanted)
    text = document.finish().decode()
    text += _tail_text(preambles, source, bool(text), newline)
    for position, group in enumerate(groups):
        if not group.body:
            continue
        module = group.source.document.module
        statement = module.statements[group.body[0]]
        if text:
            text += newline * (
                first_gap(module, statement)
                if position == 0
                else max(first_gap(module, statement), definition_gap(module))
            )
        text += body_text(group, newline)
    return text.encode(), document


def _head_text(groups: Sequence[Group], preambles: Sequence[Preamble], newline: str) -> str:
    parts: list[str] = []
    for group in groups:
        if group.spec.header is not None and not parts:
            parts.append(group.spec.header.rstrip("\n").replace("\n", newline))
        elif group.spec.licence and not parts:
            licence = licence_of(group.source.document.module)
            if not licence:
                raise Refusal(
                    "no-licence",
                    f"`{group.source.located.path}` starts with no licence text to copy.",
                    next_step="Drop `licence = true`, or write the text as `header`.",
                    place=group.source.place(1),
                )
            parts.append(licence)
    if any(preamble.future for preamble in preambles):
        parts.append(_FUTURE)
    blocks: list[str] = []
    for group, preamble in zip(groups, preambles, strict=True):
        module = group.source.document.module
        text = ""
        previous: Piece | None = None
        for piece in preamble.head:
            if any(piece.text == line for block in blocks for line in block.split(newline)):
                continue
            if previous is not None:
                text += newline * (1 + _gap_over(module, previous.index, piece.index))
            text += piece.text
            previous = piece
        if text:
            blocks.append(text)
    parts += [newline.join(blocks)] if blocks else []
    return (newline * 2).join(parts) + (newline if parts else "")


def _gap_over(module: Module, above: int, below: int) -> int:
    """One blank line if any import between the two starts a new section in the source."""
    statements = module.statements
    for index in range(above + 1, below + 1):
        statement = statements[index]
        if statement.is_import or index == below or _holds_import(statement.node):
            if module.blank_lines_before(statement.block_start):
                return 1
    return 0


def _holds_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.If, ast.Try))


def _tail_text(
    preambles: Sequence[Preamble], source: SourceState, has_head: bool, newline: str
) -> str:
    text = ""
    module = source.document.module
    for preamble in preambles:
        for piece in preamble.tail:
            gap = module.blank_lines_before(module.statements[piece.index].block_start)
            if not text:
                text += newline * (max(1, gap) if has_head else 0)
            else:
                text += newline * gap
            text += piece.text + newline
    return text


def extend(document: Document, groups: Sequence[Group], preambles: Sequence[Preamble]) -> None:
    """Put the groups' symbols, and the imports and helpers they need, into an existing module."""
    newline = document.module.newline
    for group, preamble in zip(groups, preambles, strict=True):
        refuse_future(group, document)
        _check_names_free(document, group)
        for wanted in preamble.wanted:
            document.import_name(wanted)
        for piece in preamble.head:
            _add_head_piece(document, piece, group)
        if preamble.tail:
            text = "".join(piece.text + newline for piece in preamble.tail)
            document.edits.insert_block(document.head_end(), Block(text, 1, 1))
        if group.body:
            _insert_body(document, group, newline)


def _add_head_piece(document: Document, piece: Piece, group: Group) -> None:
    """An import is merged into the destination's own; a guard is put below them."""
    tree = ast.parse(piece.text)
    package = group.located.package
    node = tree.body[0]
    if isinstance(node, ast.ImportFrom):
        from transforms.imports import ImportedName
        from transforms.names import resolve_import

        target = resolve_import(package, node.level, node.module) or ""
        spelled = "." * node.level + (node.module or "")
        for alias in node.names:
            document.import_name(Wanted(target, spelled, ImportedName(alias.name, alias.asname)))
    elif isinstance(node, ast.Import):
        from transforms.imports import ImportedName

        for alias in node.names:
            document.import_plain(ImportedName(alias.name, alias.asname))
    else:
        text = piece.text + document.module.newline
        offset = document.head_end()
        document.edits.insert_block(offset, Block(text, 1, 1))


def _check_names_free(document: Document, group: Group) -> None:
    for name in (*group.spec.symbols, *group.spec.carry):
        places = document.symbols.bindings.get(name, [])
        for index, binding in places:
            if _imports_moved(document, binding.statement, group, name):
                continue
            statement = document.symbols.statements[index]
            raise Refusal(
                "clash",
                f"`{group.located.dotted}` already binds `{name}`.",
                next_step="Rename one of the two first, in a commit of its own.",
                place=document.module.place(statement.line),
            )


def _imports_moved(document: Document, node: ast.stmt, group: Group, name: str) -> bool:
    """The destination had imported the symbol from its old home: that import goes."""
    for site in document.editor.sites:
        if site.node is node and site.target == group.source.located.dotted:
            return any(item.name == name and item.asname in (None, name) for item in site.names)
    return False


def _insert_body(document: Document, group: Group, newline: str) -> None:
    source = group.source.document.module
    first, last = source.statements[group.body[0]], source.statements[group.body[-1]]
    offset, above, below = _landing(document, group)
    before = _landing_gap(document.module, above, first, source)
    after = 0
    if below is not None:
        own = document.module.blank_lines_before(below.block_start)
        needs = last.is_definition or below.is_definition
        after = max(own, definition_gap(document.module)) if needs else own
    document.edits.insert_block(offset, Block(body_text(group, newline), before, after))


def _landing_gap(module: Module, above: Statement | None, first: Statement, source: Module) -> int:
    if above is None:
        return 1
    if above.is_definition or first.is_definition:
        return definition_gap(module)
    return (
        first_gap(source, first)
        if above.is_import
        else min(2, source.blank_lines_before(first.block_start))
    )


def _landing(document: Document, group: Group) -> tuple[int, Statement | None, Statement | None]:
    """Where the symbols land: the offset, and the statements above and below it."""
    spec, statements = group.spec, document.symbols.statements
    if spec.before or spec.after:
        anchor = spec.before or spec.after or ""
        if anchor not in document.symbols.defined:
            close = nearest(anchor, document.symbols.defined)
            hint = (
                "Did you mean " + " or ".join(f"`{item}`" for item in close) + "? " if close else ""
            )
            raise Refusal(
                "unknown-anchor",
                f"`{group.located.dotted}` defines no `{anchor}` to land beside.",
                next_step=f"{hint}Name a top-level symbol that is there before the move.",
                place=None,
            )
        indices = document.symbols.defined[anchor]
        if spec.before:
            return _beside(document, indices[0])
        last = document.symbols.attribute_docstring(indices[-1]) or indices[-1]
        return _beside(document, last + 1, after=statements[last])
    if spec.at == "start":
        index = next((s.index for s in statements if s.is_definition), len(statements))
        return _beside(document, index)
    main = next((s.index for s in statements if _is_main_guard(s.node)), len(statements))
    return _beside(document, main if main == len(statements) - 1 else len(statements))


def _beside(
    document: Document, index: int, *, after: Statement | None = None
) -> tuple[int, Statement | None, Statement | None]:
    statements = document.symbols.statements
    above = statements[index - 1] if index else None
    below = statements[index] if index < len(statements) else None
    if after is not None:
        return document.module.after_line(after.end), above, below
    offset = below.block_start if below else len(document.module.text)
    return offset, above, below


def _is_main_guard(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


__all__ = ["Site", "compose", "definition_gap", "extend", "licence_of"]
