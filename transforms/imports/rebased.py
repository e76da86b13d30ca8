"""The text of statements as another module gets it: spliced as it stands, its dots counted anew."""

from __future__ import annotations

import ast
import re

from transforms.imports.document import Document
from transforms.imports.editor import ImportEditor
from transforms.imports.statement import ImportStatement
from transforms.source.edits import Edits
from transforms.source.imports import Site
from transforms.source.module import Statement
from transforms.tree.names import Located, respelled_relative


def moved_text(document: Document, statement: Statement, destination: Located) -> str:
    """A statement with its comments, as `destination` gets it, without the last line end.

    Relative imports inside it start in another package there, and are re-levelled.
    """
    module = document.module
    text = module.text[statement.block_start : statement.end]
    inside = [
        site
        for site in document.editor.sites
        if site.is_relative and statement.start <= site.start < statement.end
    ]
    if inside:
        edits = Edits(module.text, module.newline)
        editor = document.editor.anew()
        for site in inside:
            rebase(editor, site, destination)
        editor.finish(edits)
        text = edits.apply_within(statement.block_start, statement.end)
    return text


def rebase(editor: ImportEditor, site: Site, destination: Located) -> None:
    """Let a relative import mean in `destination` what it means where it stands."""
    node = site.node
    if not isinstance(node, ast.ImportFrom) or not node.level or site.target is None:
        return
    spelled = respelled_relative(
        editor.package, destination.package, node.level, node.module, site.target
    )
    if spelled != "." * node.level + (node.module or ""):
        editor.respell(site, spelled)


def respelled(text: str, spelled: str, document: Document) -> str:
    """An import statement that names its module otherwise."""
    statement = ImportStatement.parse(
        text, newline=document.module.newline, indent="", style=document.style
    )
    return statement.renamed(spelled)


def with_newlines(text: str, newline: str) -> str:
    """Text with one kind of line end."""
    return re.sub(r"\r\n|\r|\n", newline, text)
