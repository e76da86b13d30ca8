"""Blank lines between moved statements, and between them and what they land beside."""

from __future__ import annotations

from transforms.imports.document import Document
from transforms.imports.rebased import moved_text, with_newlines
from transforms.move.state import Group, SourceState
from transforms.source.module import Module, Statement
from transforms.syntax.kinds import is_string


def body_text(group: Group, newline: str) -> str:
    """The group's statements as whole lines, in order, with the gaps between them."""
    document = group.source.document
    parts: list[str] = []
    previous: Statement | None = None
    for index in group.body:
        statement = document.module.statements[index]
        if previous is not None:
            parts.append(newline * gap_between(group.source, previous, statement))
        text = moved_text(document, statement, group.located)
        parts.append(with_newlines(text, newline) + newline)
        previous = statement
    return "".join(parts)


def gap_between(source: SourceState, above: Statement, below: Statement) -> int:
    """Blank lines between two moved statements: as in the source if they were neighbours there."""
    module = source.document.module
    own = module.blank_lines_before(below.block_start)
    if below.index == above.index + 1 and not _has_comment_between(module, above, below):
        return own
    if above.is_spaced or below.is_spaced:
        return module.definition_gap
    if _is_run(module, above, below) or _is_about(source, above, below):
        return 0
    return _own_gap(module, below)


def _own_gap(module: Module, statement: Statement) -> int:
    """The blank lines above a statement that is no definition; 1 if they are those of another."""
    return (
        min(2, module.blank_lines_before(statement.block_start)) if _tells(module, statement) else 1
    )


def _has_comment_between(module: Module, above: Statement, below: Statement) -> bool:
    return bool(module.text[above.end : below.block_start].strip(" \t\f\r\n"))


def _is_run(module: Module, above: Statement, below: Statement) -> bool:
    """Whether the two stood in one run of statements without blank lines."""
    low, high = sorted((above.index, below.index))
    return all(
        not module.blank_lines_before(statement.block_start)
        and not _has_comment_between(module, module.statements[statement.index - 1], statement)
        for statement in module.statements[low + 1 : high + 1]
    )


def _is_about(source: SourceState, above: Statement, below: Statement) -> bool:
    """Whether the lower statement binds or changes again what the upper one does."""
    return any(
        {above.index, below.index} <= set(events) for events in source.order.histories().values()
    )


def first_gap(module: Module, statement: Statement) -> int:
    """Blank lines between the head of a new module and its first moved statement."""
    if statement.is_definition:
        return module.definition_gap
    previous = module.statements[statement.index - 1] if statement.index else None
    if previous is None or previous.is_spaced:
        return 1  # the gap in the source was that of another kind
    return max(1, min(2, module.blank_lines_before(statement.block_start)))


def landing_gaps(
    document: Document,
    group: Group,
    offset: int,
    above: Statement | None,
    below: Statement | None,
) -> tuple[int, int]:
    """Blank lines above and below the symbols that land at an offset, between two statements."""
    module, source = document.module, group.source.document.module
    first, last = source.statements[group.body[0]], source.statements[group.body[-1]]
    after = max(1, module.blank_lines_before(offset)) if offset < len(module.text) else 0
    if below is not None:
        after = module.blank_lines_before(below.block_start)
        if last.is_spaced or below.is_spaced:
            after = max(after, module.definition_gap)
    if above is None or above.is_import or (above.index == 0 and is_string(above.node)):
        return first_gap(source, first), after
    if first.is_spaced or above.is_spaced:
        return module.definition_gap, after
    own = min(2, source.blank_lines_before(first.block_start))
    return (own if _tells(source, first) else _habit(module, above, below)), after


def _tells(module: Module, statement: Statement) -> bool:
    """Whether the gap above a statement that is no definition is one between two of its kind."""
    previous = module.statements[statement.index - 1] if statement.index else None
    return previous is not None and not (previous.is_spaced or previous.is_import)


def _habit(module: Module, above: Statement, below: Statement | None) -> int:
    """The gap that a module puts between statements like those that something lands beside."""
    if below is not None and not below.is_spaced:
        return min(2, module.blank_lines_before(below.block_start))
    if is_string(above.node) and above.index:
        above = module.statements[above.index - 1]  # what the string documents
    return min(2, module.blank_lines_before(above.block_start)) if _tells(module, above) else 1
