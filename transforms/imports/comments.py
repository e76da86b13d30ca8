"""Comments right above imports that go: which go with them, and which head what is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence

from transforms.imports.editor import ImportEditor
from transforms.source.edits import Edits
from transforms.source.imports import Site
from transforms.source.module import Module, Statement
from transforms.syntax.comments import is_banner, is_directive

_SECTION = re.compile(
    r"(?i)#.*\b(standard|stdlib|built-?ins?|third|3rd|external|first|local|own|project|internal"
    r"|library|libraries|imports?|packages|modules)\b"
)
_HEADING_WORDS = 5  # of a comment line, the sign among them
_WORD = re.compile(r"\w+")


def drop_comments(module: Module, editor: ImportEditor, edits: Edits) -> None:
    """Delete the comments of import statements that lose all their names.

    A comment above a group of imports heads the group: it stays while one of them does, unless it
    names what goes. What speaks to a tool, and what belongs to the file, stays.
    """
    emptied: dict[ast.AST, Site] = {s.node: s for s in editor.sites if _goes(editor, s)}
    for statement in module.statements:
        lines = _leaving(module, statement, emptied)
        if lines:
            edits.delete_lines(
                module.line_starts[lines.start - 1], module.line_starts[lines.stop - 1]
            )


def leaving_comment(module: Module, statement: Statement, emptied: Mapping[ast.AST, Site]) -> str:
    """The comment above an import that goes with it, with its line end; "" if none does.

    `emptied` are the import statements that lose all their names.
    """
    lines = _leaving(module, statement, emptied)
    texts = [module.line_text(line) for line in lines]
    if len(texts) == 1 and len(texts[0].split()) <= _HEADING_WORDS and _SECTION.search(texts[0]):
        return ""  # it heads a section of the source's imports
    if not texts:
        return ""
    return module.text[module.line_starts[lines.start - 1] : module.line_starts[lines.stop - 1]]


def _leaving(module: Module, statement: Statement, emptied: Mapping[ast.AST, Site]) -> range:
    """The lines of the comment above an import that go with it; an empty range if none do."""
    site = emptied.get(statement.node)
    if site is None or statement.shared or statement.block_start == statement.start:
        return range(0)
    first, last = module.line_of(statement.block_start), module.line_of(statement.start) - 1
    lines = [module.line_text(line) for line in range(first, last + 1)]
    while lines and is_directive(lines[-1]):
        lines.pop()
    own = _own_lines(lines)
    heads = bool(own) and _heads_more(module, module.statements, statement, emptied)
    if heads and (not _names(site, own) or any(map(_SECTION.search, own))):
        return range(0)
    stop = first + len(lines)
    return range(stop - len(own), stop)


def _goes(editor: ImportEditor, site: Site) -> bool:
    return not site.guards and site.alone and editor.is_emptied(site)


def _own_lines(lines: Sequence[str]) -> list[str]:
    """The last comment lines, up to one that speaks to a tool or is drawn."""
    own: list[str] = []
    for line in reversed(lines):
        if is_directive(line) or is_banner(line):
            break
        own.insert(0, line)
    return own


def _heads_more(
    module: Module,
    statements: Sequence[Statement],
    statement: Statement,
    emptied: Collection[ast.AST],
) -> bool:
    """Whether another import stands right below, in the same group, and stays."""
    for other in statements[statement.index + 1 :]:
        if not other.is_import or module.blank_lines_before(other.block_start):
            return False
        if other.block_start != other.start:
            return False  # it has a comment of its own
        if other.node not in emptied:
            return True
    return False


def _names(site: Site, lines: Sequence[str]) -> bool:
    """Whether the comment speaks of what the statement imports."""
    words = set(_WORD.findall(" ".join(lines)))
    imported = {part for name in site.names for part in name.name.split(".")}
    imported |= {name.asname for name in site.names if name.asname}
    return bool(words & (imported | set((site.target or "").split(".")) - {""}))
