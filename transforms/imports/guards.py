"""Guards of imports: `if TYPE_CHECKING:`, `if flag:`, `try:`; pruned to what is needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeGuard

from transforms.imports.document import Document, is_empty_without
from transforms.imports.editor import ImportEditor
from transforms.imports.rebased import rebase
from transforms.imports.statement import Shrink
from transforms.source.edits import Edits
from transforms.source.imports import is_type_checking
from transforms.source.module import Statement
from transforms.syntax.called import called_name
from transforms.tree.names import Located

_PLAIN = (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)

ShrinkOf = Callable[[str, str | None], Shrink | None]


def may_stand_twice(node: ast.stmt, *, newer: bool = False) -> bool:
    """Whether a guard only imports, or falls back to constants, so that two modules may have it.

    `newer`: what has a name already is as good as a constant, and several may be set at once.
    """
    if isinstance(node, _PLAIN):
        return True
    if isinstance(node, ast.Assign):
        if newer:
            return _is_plain(node.value) and all(map(_is_plain, node.targets))
        return isinstance(node.value, ast.Constant) and all(
            isinstance(target, ast.Name) for target in node.targets
        )
    return _is_guard(node) and all(may_stand_twice(part, newer=newer) for part in _inside(node))


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is a constant, has a name, or is several of these; or names to be set."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_plain, value.elts))
    if isinstance(value, ast.Attribute):
        return isinstance(value.ctx, ast.Load) and _is_plain(value.value)
    return isinstance(value, (ast.Constant, ast.Name))


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, (ast.If, ast.Try)) or suppresses(node)


def _inside(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of all branches of a guard."""
    if isinstance(node, (ast.If, ast.Try, ast.With)):
        yield from node.body
    if isinstance(node, (ast.If, ast.Try)):
        yield from node.orelse
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield from handler.body
        yield from node.finalbody


def suppresses(node: ast.stmt) -> TypeGuard[ast.With]:
    """Whether a statement is a `try` in other words: `with suppress(ImportError):`."""
    return isinstance(node, ast.With) and all(
        isinstance(item.context_expr, ast.Call)
        and called_name(item.context_expr) == "suppress"
        and item.optional_vars is None
        for item in node.items
    )


def is_preset(node: ast.stmt) -> bool:
    """Whether a statement gives a flag the value that a guard of imports may then change."""
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and (
            node.value is None or isinstance(node.value, ast.Constant)
        )
    return isinstance(node, ast.Assign) and may_stand_twice(node)


def holds_imports(node: ast.stmt) -> bool:
    """Whether a statement is an `if` or a `try` with an import somewhere in it."""
    return _is_guard(node) and any(
        isinstance(child, (ast.Import, ast.ImportFrom)) for child in ast.walk(node)
    )


def stands_alone(guards: Sequence[ast.stmt]) -> bool:
    """Whether an import can be taken out of its guards, whatever else these hold.

    It stands right in one `if TYPE_CHECKING:` in which no two statements share a line.
    """
    if len(guards) != 1 or not (isinstance(guards[0], ast.If) and is_type_checking(guards[0])):
        return False
    last = guards[0].lineno
    for child in guards[0].body:
        if child.lineno <= last:
            return False
        last = child.end_lineno or child.lineno
    return True


def only_imports(node: ast.stmt) -> bool:
    """Whether a statement is an import, or an `if` around nothing else."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
        return True
    return isinstance(node, ast.If) and all(map(only_imports, [*node.body, *node.orelse]))


def guard_text(
    document: Document,
    statement: Statement,
    needed: Collection[ast.alias],
    destination: Located,
    shrink: ShrinkOf,
    *,
    alone: bool = False,
) -> str:
    """A guard as `destination` gets it, with the needed aliases only.

    A `try` is taken whole: whether it falls back depends on all that it imports. `alone`: of an
    `if TYPE_CHECKING:` the needed imports are taken and nothing that stands beside them.
    """
    module = document.module
    edits = Edits(module.text, module.newline)
    editor = document.editor.anew()
    inside = [s for s in editor.sites if s.guards and s.guards[0] is statement.node]
    alone = alone and is_type_checking(statement.node)
    if alone or only_imports(statement.node):
        for site in inside:
            for alias, name in zip(site.node.names, site.names, strict=True):
                if alias not in needed:
                    editor.remove(site, name)
    for site in inside:
        rule = shrink(destination.path, site.target)
        if rule is not None:
            editor.shrink[site] = rule
        rebase(editor, site, destination)
    drop_empty_branches(document, statement.node, editor, edits)
    if alone:
        _drop_others(document, statement.node, edits)
    editor.finish(edits)
    text = edits.apply_within(statement.start, statement.end)
    return _closed_up(text, module.newline) if alone else text


def _drop_others(document: Document, node: ast.stmt, edits: Edits) -> None:
    """Take out of a guard what is no import, with the comments that touch it."""
    module = document.module
    for child in node.body if isinstance(node, ast.If) else ():
        if not isinstance(child, (ast.Import, ast.ImportFrom)):
            start = module.line_start(module.span(child)[0])
            while module.line_text(module.line_of(start) - 1).lstrip(" \t\f").startswith("#"):
                start = module.line_start(start - 1)
            edits.delete_lines(start, module.after_line(module.span(child)[1]))


def _closed_up(text: str, newline: str) -> str:
    """A guard without the gaps that what was taken out leaves: at its ends, and doubled."""
    kept: list[str] = []
    for line in text.split(newline):
        if line.strip() or (len(kept) > 1 and kept[-1].strip()):
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return newline.join(kept)


def drop_empty_branches(
    document: Document, node: ast.stmt, editor: ImportEditor, edits: Edits
) -> None:
    """Inside a guard, guards and `else` branches that lost all their imports go as a whole."""
    gone = {site.node for site in editor.sites if editor.is_emptied(site)}
    module = document.module
    for child in ast.walk(node) if gone else ():
        if isinstance(child, (ast.If, ast.Try)) and child is not node:
            suite: list[ast.stmt] = [child]
            start = module.span(child)[0]
        elif isinstance(child, ast.If) and child.orelse and not _is_elif(document, child):
            suite = child.orelse
            start = _else_line(document, child)
        else:
            continue
        inside = [s for s in editor.sites if any(_holds(part, s.node) for part in suite)]
        if inside and all(is_empty_without(part, gone) for part in suite):
            if all(site.node in gone for site in inside):
                editor.forget(inside)
                end = module.span(suite[-1])[1]
                edits.delete_lines(module.line_start(start), module.after_line(end))


def _else_line(document: Document, node: ast.If) -> int:
    """The offset of the line `else:`."""
    module = document.module
    low, high = module.span(node.body[-1])[1], module.span(node.orelse[0])[0]
    found = re.search(r"(?:\r\n|\r|\n)[ \t\f]*(else\b)", module.text[low:high])
    return low + found.start(1) if found else high


def _is_elif(document: Document, node: ast.If) -> bool:
    first = node.orelse[0]
    start = document.module.span(first)[0]
    return isinstance(first, ast.If) and document.module.text.startswith("elif", start)


def _holds(node: ast.AST, wanted: ast.AST) -> bool:
    return any(child is wanted for child in ast.walk(node))
