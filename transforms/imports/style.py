"""The import style of a file: what its own statements show, then PEP 8."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from transforms.imports.layouts import WIDTHS
from transforms.imports.looks import Look
from transforms.imports.names import (
    ImportedName,
    ImportStyle,
    Layout,
    NameOrder,
    StatementOrder,
    Wrap,
)
from transforms.imports.order import ORDERS, orders_followed, orders_of, sorting_of
from transforms.imports.runs import (
    groups,
    module_of,
    runs,
    spelled,
    statement_text,
)
from transforms.source.imports import ImportNode, Site
from transforms.source.module import Module

T = TypeVar("T")
_WRAPS: dict[Layout, Wrap] = {
    Layout.EXPLODED: "exploded",
    Layout.GRID: "grid",
    Layout.HANGING: "hanging",
    Layout.BACKSLASH: "backslash",
}
_SEVERAL = 5


def infer_style(
    module: Module, sites: Sequence[Site], default: ImportStyle | None = None
) -> ImportStyle:
    """The style that a module's own import statements show, each trait by majority.

    `sites` are all of them. A trait that they do not show comes from `default`, as the style of a
    file next to this one.
    """
    style = default or ImportStyle()
    nodes = [site.node for site in sites]
    evidence = _Evidence()
    for node in nodes:
        evidence.add(module, node)
    style = replace(style, width=_width(module, evidence, style.width))
    style = replace(style, indent_unit=_indent_unit(module, style.indent_unit))
    style = _with_wrap(style, evidence)
    style = _with_names(style, nodes)
    return _with_statements(style, module)


@dataclass(slots=True)
class _Evidence:
    """What the statements of a file show about its width and wraps."""

    wrapped: list[Look] = field(default_factory=list)
    longest: int = 0  # characters of the longest one-line statement of several names

    def add(self, module: Module, node: ImportNode) -> None:
        """Look at a statement."""
        if node.end_lineno != node.lineno:
            self.wrapped.append(Look(*statement_text(module, node), node))
        elif len(node.names) > 1:
            self.longest = max(self.longest, node.end_col_offset or 0)


def _width(module: Module, evidence: _Evidence, default: int) -> int:
    """A usual width that the file's imports keep to, by default unless its lines show another."""
    lowest, highest = evidence.longest, 10_000
    for look in evidence.wrapped:
        lowest = max(lowest, look.longest_row)
        if look.layout is not Layout.EXPLODED and look.is_sorted:
            highest = min(highest, look.widest_fill or highest)
    usual = [width for width in WIDTHS if lowest <= width <= max(highest, lowest)]
    if not usual:
        return max(default, min(lowest, 200))
    limits = (*_limits(module, default), default)
    return next((width for width in limits if width in usual), usual[0])


def _limits(module: Module, default: int) -> tuple[int, ...]:
    """Widths that the lines of the file speak for, the likeliest first.

    A file with several lines that end just below 80 and none beyond keeps to PEP 8; one in which
    many lines pass the default, but hardly one a larger usual width, keeps to that.
    """
    sizes = [len(module.line_text(line + 1)) for line in range(len(module.line_starts))]
    longest = max(sizes)
    if longest <= 80 and sum(size > 72 for size in sizes) >= _SEVERAL:
        return (79, 80) if longest <= 79 else (80,)
    wide = sum(size > default for size in sizes)
    if wide >= _SEVERAL and wide * 50 >= len(sizes):
        for width in (100, 110, 120):
            if width > default and sum(size > width for size in sizes) * 20 <= wide:
                one_less = width not in sizes and width - 1 in sizes
                return (width - 1, width) if one_less else (width, width - 1)
    return ()


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


def _with_statements(style: ImportStyle, module: Module) -> ImportStyle:
    """How statements are ordered and sections divided."""
    votes: Counter[tuple[StatementOrder, bool]] = Counter()
    gaps: list[int] = []
    sorted_groups = unsorted_groups = 0
    for run in runs(module.tree.body):
        divided = groups(module, run)
        for before, after in pairwise(divided):
            between = range((before[-1].end_lineno or 0) + 1, after[0].lineno)
            gaps.append(sum(not module.line_text(line).strip(" \t\f") for line in between))
        for group in divided:
            if len(group) < 2:
                continue
            votes.update(orders_followed(spelled(group)))
            followed = sorting_of(spelled(group), style) is not None
            sorted_groups += followed
            unsorted_groups += not followed
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


def _indent_unit(module: Module, default: str) -> str:
    """The indentation of the first level of the file's blocks, by majority."""
    found = []
    for node in module.tree.body:
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and body[0].lineno != node.lineno:
            row = module.line_text(body[0].lineno)
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
