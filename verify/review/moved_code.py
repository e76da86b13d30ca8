"""The code of what a certificate calls moved: both sides of it, and what flows where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from types import MappingProxyType

from transforms.errors import Refusal
from transforms.source.module import first_line
from transforms.syntax.parsing import parse
from transforms.tree import GitTree
from verify.history.ranges import entries_at
from verify.kernel.verdict import Moved
from verify.report.exhibits import Excerpt, Flow, Sides, Text

_LINE_END = re.compile(r"\r\n|\r|\n")  # where Python ends a line


def texts_at(tree: GitTree, paths: Iterable[str]) -> Mapping[str, Text]:
    """Read files of a commit, by path, split as Python counts lines."""
    found = {}
    for path, entry in entries_at(tree, sorted(set(paths))).items():
        lines = _LINE_END.split(entry.data.decode("utf-8", "backslashreplace"))
        found[path] = Text(path, tuple(lines if lines[-1] else lines[:-1]))
    return MappingProxyType(found)


def moved_sides(
    moved: tuple[Moved, ...], before: Mapping[str, Text], after: Mapping[str, Text]
) -> list[Sides | None]:
    """Give both sides of each moved statement, with the comments that touch it from above."""
    spans = cache(_spans)
    found: list[Sides | None] = []
    for item in moved:
        old, new = before.get(item.source), after.get(item.destination)
        if old is None or new is None:
            found.append(None)
            continue
        left = _excerpt(old, spans(old), item.source_line)
        right = _excerpt(new, spans(new), item.destination_line)
        found.append(Sides(left, right))
    return found


def flows_of(moved: tuple[Moved, ...], sides: list[Sides | None]) -> tuple[Flow, ...]:
    """Sum up what moved by where it left and where it came to, in the order it stands there."""
    groups: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    for item, pair in zip(moved, sides, strict=True):
        lines = len(pair.new.numbers) if pair else 0
        found = groups.setdefault((item.source, item.destination), [])
        found.append((item.destination_line, item.symbol, lines))
    return tuple(
        Flow(
            source,
            destination,
            tuple(dict.fromkeys(symbol for _, symbol, _ in sorted(found))),
            sum(lines for _, _, lines in found),
        )
        for (source, destination), found in sorted(groups.items())
    )


def _excerpt(text: Text, spans: list[tuple[int, int]], line: int) -> Excerpt:
    """The innermost statement that begins at a line; the line alone if none does."""
    begins = [(first, last) for first, last in spans if first <= line <= last]
    first, last = max(begins, default=(line, line))
    first = min(first, len(text.lines) or 1)
    while first > 1 and text.lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return Excerpt.of(text, first, last)


def _spans(text: Text) -> list[tuple[int, int]]:
    """First and last line of each statement that a module runs itself, guards' bodies included."""
    with suppress(Refusal):
        module = parse("\n".join(text.lines).encode("utf-8", "backslashreplace"), text.path)
        return list(_statement_spans(module.body))
    return []


def _statement_spans(body: list[ast.stmt]) -> Iterator[tuple[int, int]]:
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield first_line(node), node.end_lineno or node.lineno
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting += [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n is not node]
