"""The import style of a file: what its own statements show, then its configuration, then PEP 8."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from transforms.import_layouts import WIDTHS
from transforms.import_order import ORDERS, orders_of
from transforms.import_runs import (
    ImportNode,
    Insertion,
    Lines,
    groups,
    import_nodes,
    insertion_point,
    module_of,
    orders_followed,
    runs,
    statement_text,
)
from transforms.import_types import (
    ImportedName,
    ImportStyle,
    Layout,
    NameOrder,
    StatementOrder,
    Wrap,
)
from transforms.imports import ImportStatement
from transforms.style_config import configured

__all__ = ["ImportStyle", "Insertion", "infer_style", "insertion_point"]

T = TypeVar("T")
_WRAPS: dict[Layout, Wrap] = {
    Layout.EXPLODED: "exploded",
    Layout.GRID: "grid",
    Layout.HANGING: "hanging",
    Layout.BACKSLASH: "backslash",
}
_USUAL_WIDTHS = tuple(sorted({72, *WIDTHS}))


def infer_style(
    text: str, tree: ast.Module, config: Mapping[str, bytes] | None = None
) -> ImportStyle:
    """The style that a file's own statements show, each trait by majority.

    A trait that they do not show comes from `config`, which maps names of configuration files
    (`pyproject.toml`, `setup.cfg`, `.isort.cfg`, `.editorconfig`, ...) to their bytes; else it is
    the default of `ImportStyle`. A configured line length goes before what the file shows.
    """
    base = configured(config or {})
    lines = Lines(text)
    nodes = list(import_nodes(tree))
    evidence = _Evidence()
    for node in nodes:
        evidence.add(lines, node)
    width = base.width or _width(lines, evidence)
    style = replace(base.style, width=width)
    style = replace(style, indent_unit=_indent_unit(tree, lines, style.indent_unit))
    style = _with_wrap(style, evidence)
    style = _with_names(style, nodes)
    return _with_statements(style, tree, lines)


@dataclass(slots=True)
class _Evidence:
    """What the statements of a file show about its width and wraps."""

    wrapped: list[ImportStatement] = field(default_factory=list)
    longest: int = 0  # characters of the longest one-line statement of several names

    def add(self, lines: Lines, node: ImportNode) -> None:
        if node.end_lineno != node.lineno:
            text, indent = statement_text(lines, node)
            self.wrapped.append(ImportStatement.parse(text, indent=indent, width=10_000))
        elif len(node.names) > 1:
            size = node.end_col_offset or 0
            self.longest = max(self.longest, size)


def _width(lines: Lines, evidence: _Evidence) -> int:
    """A usual width that the file's imports keep to; 88 unless they or its lines show another."""
    lowest, highest = evidence.longest, 10_000
    for statement in evidence.wrapped:
        lowest = max(lowest, statement.longest_row)
        if statement.layout is not Layout.EXPLODED and statement.order is not None:
            highest = min(highest, statement.fill_range[1] or highest)
    usual = [width for width in _USUAL_WIDTHS if lowest <= width <= max(highest, lowest)]
    if not usual:
        return max(88, min(lowest, 200))
    return next((width for width in _limits(lines) if width in usual), usual[0])


def _limits(lines: Lines) -> tuple[int, ...]:
    """Widths that the lines of the file speak for, the likeliest first.

    A file whose lines end just below 80 keeps to PEP 8; one in which many lines pass 88, but
    hardly one a larger usual width, keeps to that.
    """
    sizes = sorted(len(lines.line(number)) for number in range(1, len(lines) + 1))
    longest = sizes[-1]
    if 72 < longest <= 80:
        return (79, 80) if longest <= 79 else (80,)
    wide = sum(size > 88 for size in sizes)
    if wide >= 5 and wide * 50 >= len(sizes):
        for width in _USUAL_WIDTHS:
            if sum(size > width for size in sizes) * 20 <= wide:
                return (width, 88)
    return (88,)


def _with_wrap(style: ImportStyle, evidence: _Evidence) -> ImportStyle:
    wraps = [_WRAPS[s.layout] for s in evidence.wrapped if s.layout in _WRAPS]
    wrap = _majority(wraps, style.wrap)
    same = [s for s in evidence.wrapped if _WRAPS.get(s.layout) == wrap]
    if not same:
        return style
    comma = _majority((s.body.trailing_comma for s in same), style.trailing_comma)
    own_line = _majority((s.body.closing is not None for s in same), style.closing_on_own_line)
    return replace(style, wrap=wrap, trailing_comma=comma, closing_on_own_line=own_line)


def _with_names(style: ImportStyle, nodes: Sequence[ImportNode]) -> ImportStyle:
    """How names are ordered, and whether each has a statement of its own."""
    several = 0
    fitting: Counter[NameOrder] = Counter()
    unsorted = 0
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or len(node.names) < 2:
            continue
        several += 1
        found = orders_of([ImportedName(a.name, a.asname) for a in node.names])
        fitting.update(found)
        unsorted += not found
    if several:
        order = max((style.name_order, *ORDERS), key=lambda item: fitting[item])
        style = replace(style, name_order=order, sorted_names=several - unsorted >= unsorted)
        return replace(style, one_name_per_statement=False)
    modules = Counter(
        module_of(node) for node in nodes if isinstance(node, ast.ImportFrom) and node.names
    )
    repeated = sum(count - 1 for count in modules.values())
    return replace(style, one_name_per_statement=style.one_name_per_statement or repeated >= 2)


def _with_statements(style: ImportStyle, tree: ast.Module, lines: Lines) -> ImportStyle:
    """How statements are ordered and sections divided."""
    votes: Counter[tuple[StatementOrder, bool]] = Counter()
    gaps: list[int] = []
    sorted_groups = unsorted_groups = 0
    for run in runs(tree.body):
        divided = groups(lines, run)
        for before, after in pairwise(divided):
            between = range((before[-1].end_lineno or 0) + 1, after[0].lineno)
            gaps.append(sum(lines.is_blank(line) for line in between))
        for group in divided:
            if len(group) < 2:
                continue
            found = orders_followed(group)
            votes.update(found)
            sorted_groups += bool(found)
            unsorted_groups += not found
    if votes:
        best = max(votes.values())
        default = (style.statement_order, style.ignore_module_case)
        order, ignore = default
        if votes[default] < best:
            order, ignore = next(item for item in votes if votes[item] == best)
        style = replace(style, statement_order=order, ignore_module_case=ignore)
    if sorted_groups + unsorted_groups:
        style = replace(style, sorted_statements=sorted_groups >= unsorted_groups)
    return replace(style, section_gap=_majority(gaps, style.section_gap))


def _indent_unit(tree: ast.Module, lines: Lines, default: str) -> str:
    """The indentation of the first level of the file's blocks, by majority."""
    found = []
    for node in tree.body:
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and body[0].lineno != node.lineno:
            row = lines.line(body[0].lineno)
            blanks = row[: len(row) - len(row.lstrip(" \t"))]
            if blanks:
                found.append(blanks)
    return _majority(found, default)


def _majority(values: Iterable[T], default: T) -> T:
    """The most frequent value, the default if it is as frequent as any, else the first seen."""
    counts = Counter(values)
    if not counts:
        return default
    best = max(counts.values())
    if counts[default] == best:
        return default
    return next(value for value in counts if counts[value] == best)
