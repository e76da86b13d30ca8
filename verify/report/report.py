"""The one report: what every command says, the exit code it ends with, as text and as JSON.

A command builds a `Report`; nothing else words a result or chooses an exit code. Text inside a
report is raw, as the repository has it: each renderer escapes it for where it goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any
from unicodedata import east_asian_width

import verify
from transforms.errors import Place, Refusal
from verify.report.decision import Decision, Level
from verify.report.escape import foreign, visible
from verify.report.exhibits import Excerpt, Figure, Hunk, Sides
from verify.report.marks import Mark

SCHEMA = 1
_MOST_LINES = 20
_MOST_OF_HUNK = 40  # lines of one, in the text
_MOST_BLANK = 2
MOST_FOLDED = 6  # findings of a list that is folded
_MESSAGE = 1000  # characters at each end of a message that quotes code
EXCERPT_WIDTH = 160  # characters of a source line that are shown; a hostile line may be megabytes


class Verdict(Enum):
    """What a command concludes. Each has its own exit code: differing never looks like broken."""

    HOLDS = "holds"
    DIFFERS = "differs"
    UNJUDGED = "unjudged"
    FAULT = "fault"

    @property
    def exit_code(self) -> int:
        """0 it holds, 1 it differs, 2 it could not be judged, 3 a fault of Repot."""
        return list(Verdict).index(self)


_LEVELS = {
    Verdict.HOLDS: Level.GREEN,
    Verdict.DIFFERS: Level.RED,
    Verdict.UNJUDGED: Level.AMBER,
    Verdict.FAULT: Level.RED,
}


class Style(Enum):
    """What a piece of text is; a renderer decides how that looks."""

    PLAIN = "plain"
    TITLE = "title"
    PATH = "path"
    ADDED = "added"
    REMOVED = "removed"
    QUIET = "quiet"
    GOOD = "good"
    OPEN = "open"  # neither good nor bad: to be read
    BAD = "bad"


_OF_LEVEL = {Level.GREEN: Style.GOOD, Level.AMBER: Style.OPEN, Level.RED: Style.BAD}
_OF_MARK = {"+": Style.ADDED, "-": Style.REMOVED, ">": Style.TITLE, "…": Style.QUIET}
SIGNS = {Style.ADDED: "+", Style.REMOVED: "-"}  # of what is code


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled list inside a finding: `imports back`, then one value a line.

    `excerpt`: the lines of a file that the values are, or are the first of.
    """

    label: str
    values: tuple[tuple[str, Style], ...]
    excerpt: Excerpt | None = None

    @classmethod
    def of(
        cls,
        label: str,
        values: Iterable[str],
        style: Style = Style.PLAIN,
        excerpt: Excerpt | None = None,
    ) -> Row:
        """Give each of `values` the same style."""
        return cls(label, tuple((value, style) for value in values), excerpt)


def outside_ascii(text: str, label: str = "holds characters outside ASCII") -> tuple[Row, ...]:
    """Give the row that names such characters of new text, if there are any."""
    strange = foreign(text)
    return (Row.of(label, strange, Style.BAD),) if strange else ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found at one place, and what belongs to it.

    `sides` are the code that it is about, before and after; `hunks` the lines of it, with those
    around them. `share` is how much of what was
    measured holds, such as lines traced and lines in all; `None` where nothing was measured.
    """

    kind: str  # a stable word for programs
    place: Place
    message: str
    rows: tuple[Row, ...] = ()
    sides: Sides | None = None
    share: tuple[int, int] | None = None
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Findings of one sort under a title, and the sentence that sums them up.

    `drawn`: a page shows the report's figure in its place. `aside`: listed to be looked up, not to
    be read through. `folded`: of a long list the text has a few, and their sum; `closed`: it has
    but their number, and a page shows them when asked.
    """

    title: str
    findings: tuple[Finding, ...]
    total: str = ""
    drawn: bool = False
    aside: bool = False
    folded: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one command.

    `headline` is the first line and says what was judged; `lead`, where there is one, follows it
    and says the result for whoever reads no further; `summary` are the last ones and say the result
    in any case. `marks` are the places that a forge shows beside the code, `figure` is what moved
    as a picture. `data` is what the JSON adds for programs: plain values, ordered where order means
    something and sorted elsewhere. `timings` (seconds by phase) are shown only when asked for,
    since they differ from run to run. `decision`, where a command makes one, is what the reader is
    told first; `light` is how much of their time the result asks for, where the verdict alone does
    not tell.
    """

    command: str
    verdict: Verdict
    headline: str
    sections: tuple[Section, ...] = ()
    summary: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    timings: tuple[tuple[str, float], ...] = ()
    lead: tuple[str, ...] = ()
    figure: Figure | None = None
    decision: Decision | None = None
    light: Level | None = None

    @property
    def level(self) -> Level:
        """How much of a reader's time this asks for."""
        if self.decision is not None:
            return self.decision.level
        return self.light or _LEVELS[self.verdict]

    @property
    def exit_code(self) -> int:
        """The exit code of the command that made this report."""
        return self.verdict.exit_code


Piece = tuple[str, Style]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Word a count: `1 file`, `2 files`, `2 copies`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def cut(lines: Sequence[str], most: int | None = _MOST_LINES) -> list[str]:
    """Keep what a reader needs: the first lines, blank ones in a row as one, long ones cut.

    All of it is kept where `most` is None.

    Blank lines are counted, not shown, so that none of them can push the next line out of sight.
    """
    shown: list[str] = []
    for is_blank, run in groupby(lines, key=lambda line: not line.strip()):
        together = list(run)
        if is_blank and len(together) > _MOST_BLANK:
            shown.append(f"... {counted(len(together), 'blank line')}")
        else:
            shown += together
    if most is None:
        return shown
    shown = [shortened(line) for line in shown]
    if len(shown) <= most:
        return shown
    return [*shown[:most], f"... {counted(len(shown) - most, 'more line')}"]


def shortened(line: str, end: int = EXCERPT_WIDTH) -> str:
    """Keep both ends, of `end` characters each, of a line that nobody would read whole."""
    left_out = len(line) - 2 * end
    if left_out <= end:
        return line
    return f"{line[:end]} ... {counted(left_out, 'character')} ... {line[-end:]}"


def listed(counts: Mapping[str, int]) -> str:
    """Word counts by kind, the largest first: `7 import, 2 string`."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {kind}" for kind, number in ranked)


_UNCOUNTED = {"documentation": "documentation line", "configuration": "configuration line"}


def kinds_words(counts: Mapping[str, int]) -> str:
    """Word counts of kinds that are things, the largest first: `7 imports, 1 string`."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(counted(number, _UNCOUNTED.get(kind, kind)) for kind, number in ranked)


def place_data(place: Place | None) -> dict[str, Any] | None:
    """Give a place as JSON holds it; without its excerpt, which the tree has."""
    if place is None:
        return None
    return {"path": place.path, "line": place.line, "column": place.column}


def refusal_data(refusal: Refusal) -> dict[str, Any]:
    """Give a refusal as every command's JSON holds it: its id is `kind`."""
    return {
        "kind": refusal.kind,
        "cause": refusal.cause,
        "next_step": refusal.next_step,
        "place": place_data(refusal.place),
        "excerpt": _excerpt(refusal.place),
    }


def _excerpt(place: Place | None) -> str | None:
    """Give the lines of a place for programs: of a line of megabytes both ends."""
    if place is None or place.excerpt is None:
        return None
    return "\n".join(shortened(line, _MESSAGE) for line in place.excerpt.split("\n"))


def refused(command: str, refusal: Refusal, *, untouched: bool = True) -> Report:
    """Report that the input was refused: nothing was judged and, if `untouched`, written."""
    finding = Finding(refusal.kind, refusal.place or Place(""), refusal.cause)
    return Report(
        command=command,
        verdict=Verdict.UNJUDGED,
        headline=f"refused ({refusal.kind})",
        sections=(Section("", (finding,)),),
        summary=(refusal.next_step, *(("Nothing was written.",) if untouched else ())),
        marks=(Mark(finding.place, "refused", f"{refusal.cause} {refusal.next_step}"),),
        data={"refusal": refusal_data(refusal)},
    )


def faulted(command: str, error: BaseException) -> Report:
    """Report a fault of Repot itself, and ask for it to be told."""
    where = _own_frame(error.__traceback__)
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Report(
        command=command,
        verdict=Verdict.FAULT,
        headline="failed",
        sections=(Section("", (Finding("fault", where or Place(""), cause),)),),
        summary=(
            "This is a fault of Repot, not of your input.",
            "Please report it with the command line and what the command prints with --traceback.",
        ),
        marks=(Mark(Place(""), "failed", cause),),
        data={"fault": {"error": type(error).__name__, "message": str(error)}},
    )


def _own_frame(trace: TracebackType | None) -> Place | None:
    """Find the innermost line of Repot's own code in a traceback."""
    root = Path(verify.__file__).resolve().parent.parent
    found = None
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(root) and file.relative_to(root).parts[0] in _PACKAGES:
            found = Place(file.relative_to(root).as_posix(), trace.tb_lineno)
        trace = trace.tb_next
    return found


_PACKAGES = {"transforms", "verify"}


def to_json(report: Report, *, timings: bool = False) -> str:
    """Render for programs: sorted keys, ASCII only, the same bytes for the same result."""
    document: dict[str, Any] = {
        **report.data,
        "schema": SCHEMA,
        "command": report.command,
        "verdict": report.verdict.value,
        "exit_code": report.exit_code,
        "headline": report.headline,
        "summary": list(report.summary),
        "level": report.level.value,
    }
    if timings:
        document["seconds"] = {name: round(seconds, 6) for name, seconds in report.timings}
    text = json.dumps(document, indent=2, sort_keys=True)
    # Printed, it may come to stand in a log whose reader obeys `##[...]`.
    return text.replace("##", "#\\u0023") + "\n"


def to_text(report: Report, *, timings: bool = False) -> str:
    """Render for people without colour: what `to_lines` gives, joined."""
    lines = to_lines(report, timings=timings)
    return "".join("".join(text for text, _ in line) + "\n" for line in lines)


def to_lines(report: Report, *, timings: bool = False) -> Iterator[tuple[Piece, ...]]:
    """Render for people: lines of styled pieces, each piece without control characters.

    Lines are not wrapped: a terminal wraps them, and a program finds them whole.
    """
    style = _OF_LEVEL[report.level]
    title = Style.TITLE if style is Style.GOOD else style
    yield (_piece(f"repot {report.command}: {report.headline}", title),)
    yield from _sentences(report.lead, style)
    for section in report.sections:
        if section.closed:
            continue
        yield ()
        if section.title:
            yield (_piece(section.title, Style.TITLE),)
        found = section.findings
        most = MOST_FOLDED if section.folded and len(found) > MOST_FOLDED + 1 else len(found)
        for finding in found[:most]:
            yield from _finding_lines(finding)
        if most < len(found):
            more = f"... {len(found) - most:,} more, which --json, --html and --markdown list"
            yield (_piece(f"  {more}", Style.QUIET),)
        if section.total:
            yield (_piece(f"  {section.total}", Style.QUIET),)
    if timings and report.timings:
        yield ()
        yield (_piece("Seconds", Style.TITLE),)
        widest = max(8, *(len(name) for name, _ in report.timings))
        for name, seconds in report.timings:
            yield (_piece(f"  {name:<{widest}} {seconds:8.3f}"),)
    closed = [section for section in report.sections if section.closed]
    if closed:
        yield ()
        names = ", ".join(f"{s.title} ({len(s.findings):,})" for s in closed)
        yield (_piece(f"Folded, shown by --markdown - and --html FILE: {names}.", Style.QUIET),)
    yield from _sentences(report.summary, style)


def _sentences(sentences: tuple[str, ...], style: Style) -> Iterator[tuple[Piece, ...]]:
    """Give a paragraph whose first sentence is the one that counts."""
    if sentences:
        yield ()
    for index, sentence in enumerate(sentences):
        yield (_piece(sentence, Style.PLAIN if index else style),)


def _piece(text: str, style: Style = Style.PLAIN) -> Piece:
    return visible(text), style


def _finding_lines(finding: Finding) -> Iterator[tuple[Piece, ...]]:
    where = str(finding.place)
    head = [_piece(f"  {where}", Style.PATH)] if where else [_piece(" ")]
    if finding.message:
        message = shortened(finding.message, _MESSAGE)
        head.append(_piece(f"{':' if where else ''} {message}"))
    yield tuple(head)
    if finding.place.excerpt:
        yield from excerpt_lines(finding.place)
    for path, hunk in with_paths(finding):
        if path:
            yield (_piece(f"    {path}", Style.PATH),)
        yield from _hunk_lines(hunk)
    for row in finding.rows:
        if row.label:
            yield (_piece(f"    {row.label}", Style.QUIET),)
        for value, style in row.values:
            # Only code has lines of its own; in a path a line break is a character to be seen.
            is_code = style in SIGNS
            for line in value.split("\n") if is_code else (value,):
                yield (_piece(f"      {_marker(style)}{line}", style),)


def with_paths(finding: Finding) -> Iterator[tuple[str, Hunk]]:
    """Give the hunks, each with its path where that is not the one named last."""
    named = finding.place.path
    for hunk in finding.hunks:
        path = path_words(hunk)
        yield ("" if path == named else path), hunk
        named = path


def path_words(hunk: Hunk) -> str:
    """Name the file of a hunk; both, where it is about what was edited as it moved."""
    sides = {hunk.text_of(row).path for row in hunk.rows}
    if len(sides) == 2:
        return f"{hunk.old.path} -> {hunk.new.path}"
    return hunk.path


def hunk_rows(hunk: Hunk, most: int = _MOST_OF_HUNK) -> Iterator[tuple[str, str]]:
    """Give the lines of a hunk with their marks: the first ones; what is left out has the mark `…`.

    Blank lines are counted, so that none of them can push the next line out of sight.
    """
    shown: list[tuple[str, str]] = []
    rows = ((row.mark, hunk.line_of(row)) for row in hunk.rows)
    for (mark, is_blank), run in groupby(rows, key=lambda row: (row[0], not row[1].strip())):
        together = list(run)
        if is_blank and len(together) > _MOST_BLANK:
            shown.append(("…", f"{mark} ... {counted(len(together), 'blank line')}"))
        else:
            shown += [(mark, shortened(line)) for _, line in together]
    yield from shown[:most]
    if len(shown) > most:
        yield "…", f"... {counted(len(shown) - most, 'more line')}"


def _hunk_lines(hunk: Hunk) -> Iterator[tuple[Piece, ...]]:
    if hunk.old_span or hunk.new_span:
        yield (_piece(f"      {hunk.head}", Style.QUIET),)
    for mark, line in hunk_rows(hunk):
        text = line if mark == "…" else f"{mark} {line}"
        yield (_piece(f"      {text}".rstrip(), _OF_MARK.get(mark, Style.PLAIN)),)


def _marker(style: Style) -> str:
    """Mark what goes and what comes by a sign too: not every reader sees colour."""
    return f"{SIGNS[style]} " if style in SIGNS else ""


def excerpt_lines(place: Place) -> Iterator[tuple[Piece, ...]]:
    """Show the source line, and a caret under its column where that is known."""
    rows: Sequence[str] = (place.excerpt or "").rstrip("\r\n").split("\n")
    for offset, row in enumerate(rows):
        number = "" if place.line is None else str(place.line + offset)
        gutter = f"    {number:>5} | "
        text = row.rstrip("\r")
        start = 0
        if place.column is not None and offset == 0:
            start = max(0, place.column - 1 - EXCERPT_WIDTH // 2)
        shown = text[start : start + EXCERPT_WIDTH]
        before, after = ("…" if start else ""), ("…" if len(text) > start + EXCERPT_WIDTH else "")
        yield (
            _piece(gutter, Style.QUIET),
            _piece(before + shown.replace("\t", "    ") + after),
        )
        if place.column is not None and offset == 0:
            left = before + text[start : max(start, place.column - 1)].replace("\t", "    ")
            pad = " " * sum(width(character) for character in visible(left))
            yield (
                _piece(" " * (len(gutter) - 2) + "| ", Style.QUIET),
                _piece(f"{pad}^", Style.BAD),
            )


def width(character: str) -> int:
    """Count the columns that a character takes, in a terminal or a fixed-width font."""
    return 2 if east_asian_width(character) in {"W", "F"} else 1
