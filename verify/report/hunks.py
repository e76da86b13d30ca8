"""Hunks: lines of a change as a diff shows them, with what stands around them.

Those of a file are what `git diff` has. Those of places are the lines to be read alone: what has
moved away between them, or has come from elsewhere, is context and no change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache, partial

from transforms.errors import Refusal
from transforms.result.changes import Blob, Change
from transforms.result.diff import CONTEXT, Edit, edits, groups
from transforms.syntax.parsing import parse
from verify.report.exhibits import Hunk, HunkRow, Text

_IMPORT = re.compile(r"(?:from|import)\s")
_ALIKE = 0.6  # of two lines of which one is the other, edited
_LINE_END = re.compile(r"\r\n|\r|\n")  # where Python ends a line
_Heading = Callable[[Text, int], str]


def split(data: bytes) -> tuple[str, ...]:
    """Give the lines of a file as Python counts them."""
    lines = _LINE_END.split(data.decode("utf-8", "backslashreplace"))
    return tuple(lines if lines[-1] else lines[:-1])


def change_hunks(change: Change) -> tuple[Hunk, ...]:
    """Give the hunks of one path of a change set; none where a side is binary."""
    if change.binary:
        return ()
    old, new = (_text(change.path, side) for side in (change.before, change.after))
    return file_hunks(old, new)


def _text(path: str, blob: Blob | None) -> Text:
    return Text(path, () if blob is None else split(blob.data))


def file_hunks(old: Text, new: Text) -> tuple[Hunk, ...]:
    """Give all hunks between two sides of a file."""
    heading = partial(_heading, cache(_definitions))
    return tuple(
        _file_hunk(group, old, new, heading) for group in groups(edits(old.lines, new.lines))
    )


def _file_hunk(group: Sequence[Edit], old: Text, new: Text, heading: _Heading) -> Hunk:
    before = min(CONTEXT, group[0].old_start)
    after = min(CONTEXT, len(old.lines) - group[-1].old_end)
    old_from, old_to = group[0].old_start - before, group[-1].old_end + after
    new_from, new_to = group[0].new_start - before, group[-1].new_end + after
    rows: list[HunkRow] = []
    at = new_from
    for edit in group:
        rows += [HunkRow(" ", n + 1) for n in range(at, edit.new_start)]
        rows += [HunkRow("-", n + 1, True) for n in range(edit.old_start, edit.old_end)]
        rows += [HunkRow("+", n + 1) for n in range(edit.new_start, edit.new_end)]
        at = edit.new_end
    rows += [HunkRow(" ", n + 1) for n in range(at, new_to)]
    first = group[0]
    where = (
        (new, first.new_start + 1)
        if first.new_end > first.new_start
        else (old, first.old_start + 1)
    )
    return Hunk(
        old, new, tuple(rows), heading(*where), _span(old_from, old_to), _span(new_from, new_to)
    )


def _span(start: int, end: int) -> tuple[int, int]:
    """The first line and how many; of none the line above, as git has it."""
    return (start + 1 if end > start else start), end - start


def place_hunks(
    old: Text,
    new: Text,
    gone: Collection[int],
    come: Collection[int],
    at: Collection[int] = (),
) -> tuple[Hunk, ...]:
    """Give the hunks of some lines that went and came, and of those `at` which to look.

    The two sides may be two files: what was edited as it moved. Numbers that a side does not have
    are left out. A line to look at that is another one than before is shown with the one it was.
    """
    went = {number for number in gone if 0 < number <= len(old.lines)}
    came = {number for number in come if 0 < number <= len(new.lines)}
    spots = {number for number in at if 0 < number <= len(new.lines)} - came
    for number, was in list(_otherwise(old, new, spots)):
        came.add(number)
        went |= was
    spots -= came
    came |= set(_instead(old, new, went))
    heading = partial(_heading, cache(_definitions))
    rows = list(_aligned(old, new, went, came)) if went else [_new(n) for n in _count(new)]
    rows = [
        HunkRow(">", row.number) if row.number in spots and row.mark == " " and not row.is_old
        else HunkRow("+", row.number) if row.number in came and not row.is_old
        else row
        for row in rows
    ]  # fmt: skip
    return tuple(_place_hunk(old, new, part, heading) for part in _around(rows))


def _otherwise(old: Text, new: Text, spots: set[int]) -> Iterator[tuple[int, set[int]]]:
    """Tell which of some lines of the target did not stand there before, and what did.

    Code that came from elsewhere is new in its file, too, and yet the same: only a line in place of
    one much like it, and an import of the module's, are told.
    """
    if not spots or not old.lines or old is new:
        return
    for edit in edits(old.lines, new.lines):
        for number in sorted(spots & set(range(edit.new_start + 1, edit.new_end + 1))):
            line = new.lines[number - 1]
            was = number - edit.new_start + edit.old_start
            paired = edit.old_end - edit.old_start == edit.new_end - edit.new_start
            if paired and _are_alike(old.lines[was - 1], line):
                yield number, {was}
            elif _IMPORT.match(line):
                yield number, set()


def _instead(old: Text, new: Text, went: Collection[int]) -> Iterator[int]:
    """Give the lines that stand in place of some that went from a file: each much like the other.

    Of an import that brings less the reader sees what it is now.
    """
    for edit in edits(old.lines, new.lines) if went and old.path == new.path else ():
        if edit.old_end - edit.old_start == edit.new_end - edit.new_start:
            for number in range(edit.old_start + 1, edit.old_end + 1):
                now = number - edit.old_start + edit.new_start
                if number in went and _are_alike(old.lines[number - 1], new.lines[now - 1]):
                    yield now


def _are_alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _count(text: Text) -> range:
    return range(1, len(text.lines) + 1)


def _new(number: int) -> HunkRow:
    return HunkRow(" ", number)


def _aligned(
    old: Text, new: Text, went: Collection[int], came: Collection[int]
) -> Iterator[HunkRow]:
    """All lines of the target, and those of the base that went, each where it stood among them."""
    if not new.lines:
        yield from (HunkRow("-" if n in went else " ", n, True) for n in _count(old))
        return
    at = 0
    for edit in edits(old.lines, new.lines):
        yield from map(_new, range(at + 1, edit.new_start + 1))
        taken = [n for n in range(edit.old_start + 1, edit.old_end + 1) if n in went]
        put = range(edit.new_start + 1, edit.new_end + 1)
        first = next((n for n in put if n in came), edit.new_start + 1) if taken else 0
        for number in put:
            if number == first:
                yield from (HunkRow("-", n, True) for n in taken)
            yield _new(number)
        if taken and first not in put:
            yield from (HunkRow("-", n, True) for n in taken)
        at = edit.new_end
    yield from map(_new, range(at + 1, len(new.lines) + 1))


def _around(rows: Sequence[HunkRow]) -> Iterator[list[HunkRow]]:
    """Cut out what is marked, with the lines around it."""
    marked = [index for index, row in enumerate(rows) if row.mark != " "]
    runs: list[list[int]] = []
    for index in marked:
        if runs and index - runs[-1][-1] - 1 <= 2 * CONTEXT:
            runs[-1].append(index)
        else:
            runs.append([index])
    for run in runs:
        yield list(rows[max(0, run[0] - CONTEXT) : run[-1] + CONTEXT + 1])


def _place_hunk(old: Text, new: Text, rows: list[HunkRow], heading: _Heading) -> Hunk:
    there = [row.number for row in rows if not row.is_old]
    here = [row.number for row in rows if row.is_old]
    first = next((row for row in rows if row.mark != " "), rows[0])
    text, number = (old, first.number) if first.is_old else (new, first.number)
    return Hunk(
        old,
        new,
        tuple(rows),
        heading(text, number),
        (min(here), len(here)) if here and not there else None,
        (min(there), len(there)) if there else None,
    )


def added_lines(hunks: Iterable[Hunk]) -> Iterator[str]:
    """Give the lines that came."""
    for hunk in hunks:
        yield from (hunk.line_of(row) for row in hunk.rows if row.mark == "+")


def shown_once(hunks: Iterable[Hunk], seen: set[tuple[object, ...]]) -> tuple[Hunk, ...]:
    """Leave out hunks that were shown before: `seen` remembers them."""
    kept = []
    for hunk in hunks:
        key = (hunk.old.path, hunk.new.path, hunk.rows)
        if key not in seen:
            seen.add(key)
            kept.append(hunk)
    return tuple(kept)


def _heading(
    definitions: Callable[[Text], list[tuple[int, int, str]]], text: Text, number: int
) -> str:
    """Name the definition around a line, outermost first; empty at the top of a module."""
    if not text.path.endswith((".py", ".pyi")) or number > len(text.lines):
        return ""
    if not text.lines[number - 1][:1].isspace():
        return ""
    return " > ".join(_around_line(definitions(text), number))


def _around_line(found: Sequence[tuple[int, int, str]], number: int) -> Iterator[str]:
    yield from (name for first, last, name in found if first < number <= last)


_KINDS = {ast.ClassDef: "class", ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def"}


def _definitions(text: Text) -> list[tuple[int, int, str]]:
    """First line, last line and name of each definition, the outer ones first."""
    with suppress(Refusal):
        module = parse("\n".join(text.lines).encode("utf-8", "backslashreplace"), text.path)
        return sorted(
            (node.lineno, node.end_lineno or node.lineno, f"{_KINDS[type(node)]} {node.name}")
            for node in ast.walk(module)
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        )
    return []
