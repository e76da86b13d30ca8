"""Imports and guards of a source, put into a module that has imports of its own."""

from __future__ import annotations

import ast

from transforms.imports.document import Document, Wanted
from transforms.imports.looks import Look
from transforms.imports.rebased import with_newlines
from transforms.imports.statement import ImportedName
from transforms.move.preamble import Piece
from transforms.move.state import Group
from transforms.scopes.resolve import resolve
from transforms.source.edits import Block, Rank
from transforms.source.imports import is_type_checking
from transforms.source.module import Statement
from transforms.tree.names import resolve_import


def add_piece(document: Document, piece: Piece, group: Group, before: int | None = None) -> None:
    """Merge an import into the module's own, or put it where they have it; a guard below them.

    `before`: the offset of what needs it first.
    """
    text = with_newlines(piece.text, document.module.newline)
    node = ast.parse(text).body[0]
    if not is_type_checking(node):
        for name in sorted(piece.binds):
            document.drop_checked(name)
    if isinstance(node, ast.ImportFrom):
        comment = with_newlines(piece.comment, document.module.newline)
        _add_from(document, text, node, group, before, comment)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            imported = ImportedName(alias.name, alias.asname)
            comment = with_newlines(piece.comment, document.module.newline)
            document.import_plain(imported, before=before, comment=comment)
    elif not (isinstance(node, ast.If) and _into_type_checking(document, node, group)):
        _add_guard(document, text, node)


def _add_from(
    document: Document, text: str, node: ast.ImportFrom, group: Group, before: int | None,
    comment: str,
) -> None:  # fmt: skip
    """One that carries comments of its own stays as it is written; names of others are merged."""
    target = resolve_import(group.located.package, node.level, node.module) or ""
    spelled = "." * node.level + (node.module or "")
    names = [ImportedName(alias.name, alias.asname) for alias in node.names]
    plain = "#" not in text and not comment
    pragma = Look(text, "", node).pragma
    fitting = document.statement_from(target, before, pragma)
    mergeable = plain or (pragma is not None and text.count("#") == 1 and not comment)
    if node.names[0].name == "*" or not mergeable or (fitting is None and not plain):
        document.import_text(comment + text, spelled, before=before)
        return
    for name in names:
        document.import_name(Wanted(target, spelled, name, pragma=pragma), before=before)


def _into_type_checking(document: Document, node: ast.If, group: Group) -> bool:
    """Put the imports of `if TYPE_CHECKING:` under the module's own guard, if it has one."""
    inside = document.type_checking_guard() if is_type_checking(node) else []
    imports = [child for child in node.body if isinstance(child, ast.ImportFrom)]
    if not inside or len(imports) != len(node.body):
        return False
    for child in imports:
        target = resolve_import(group.located.package, child.level, child.module) or ""
        spelled = "." * child.level + (child.module or "")
        for alias in child.names:
            name = ImportedName(alias.name, alias.asname)
            document.import_name(Wanted(target, spelled, name, type_checking=True))
    return True


def _add_guard(document: Document, text: str, node: ast.stmt) -> None:
    """Put a guard below the imports, and below what its condition reads; once."""
    if any(ast.dump(statement.node) == ast.dump(node) for statement in document.symbols.statements):
        return
    offset = document.head.end
    read = {r.name for r in resolve(ast.Module([node], [])).references if r.access == "load"}
    for statement in document.symbols.statements:
        if document.symbols.binds(statement.index) & read:
            offset = max(offset, _below_guards(document, statement))
    block = Block(text + document.module.newline, 1, document.gap_after(offset), Rank.HELPERS)
    document.edits.insert_block(offset, block)


def _below_guards(document: Document, statement: Statement) -> int:
    """The offset of the line after a statement and the guards of imports right below it."""
    last = statement
    for other in document.symbols.statements[statement.index + 1 :]:
        if not isinstance(other.node, (ast.If, ast.Try)):
            break
        last = other
    return document.module.after_line(last.end)
