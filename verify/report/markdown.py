"""The report as Markdown: the verdict, then what to read, then the rest.

It goes into a job summary or a comment, where GitHub and GitLab make links of names, numbers and
addresses, and act on some lines. So text stands in the open only if it is plain words; all else
is code, which nothing inside it can end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from verify.report.decision import NO_CLAIM, Level
from verify.report.escape import visible
from verify.report.exhibits import Hunk
from verify.report.report import (
    SIGNS,
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    excerpt_lines,
    hunk_rows,
    shortened,
    with_paths,
)

# A comment on GitHub holds 65,536 characters, a job summary 1 MiB: this is less than both.
_MOST = 60_000
_MOST_OF_ONE = 8_000  # characters of code in one finding
_MOST_LISTED = 100  # values of one row
_MOST_ROWS = 400  # lines of one hunk
_MOST_OPEN = 10  # rows of a table that is not what to read first
_SPAN = 200  # characters at each end of a code span
_SENTENCE = 1_000  # characters
_TICKS = 8  # a renderer may know no longer run of backticks

_HEADS = {
    Verdict.HOLDS: "✓ it holds",
    Verdict.DIFFERS: "✗ it differs",
    Verdict.UNJUDGED: "? it could not be judged",
    Verdict.FAULT: "! Repot failed",
}

# Of what holds, by the colour that a chain has.
_HELD = {
    "amber": "! it holds, and leaves something to read",
    NO_CLAIM: "no commit claims a move",
}

_SIGNS = {Level.GREEN: "✓ ", Level.AMBER: "", Level.RED: "✗ "}
# What comes first: what nobody proved, and a sentence that is a verdict, `GREEN: ...`.
_FIRST = re.compile(r"Accepted by the plan, |[A-Z]{3,}\b")
_COMMITS = {"chain": "commits", "series": "steps"}  # where a report's data lists its commits

# Letters, numbers and the marks of a sentence. Never a dot or colon inside a word (addresses,
# `::`), nor what may name an issue or a commit.
_WORDS = re.compile(r"[A-Za-z0-9 ,.;:?'()-]+")
_NO_WORDS = re.compile(
    r"[.:]\S|--|\(\)|\b\d{7}|\b(?=[a-f]*\d)[0-9a-f]{7}|[A-Za-z]-\d|^\s*(?:\d+[.)]|-)(?:\s|$)"
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A titled part of the page; its `number` of `units` may be left out for want of room."""

    title: str
    head: str
    units: Iterable[str]
    number: int
    foot: str = ""
    aside: bool = False


def to_markdown(report: Report) -> str:
    """Render for GitHub and GitLab, in at most 60,000 characters; what is left out is counted."""
    text = _head(report)
    left_out = 0
    for number, part in enumerate(_parts(report)):
        room = _MOST - len(text)
        rendered, missing = _rendered(part, room, folds=number > 0)
        text += rendered
        left_out += missing
    if report.decision is not None:
        sentences = "".join(f"- {words(sentence)}\n" for sentence in report.summary)
        text += f"\n<details><summary>In sum</summary>\n\n{sentences}\n</details>\n"
    if left_out:
        text += f"\n{counted(left_out, 'finding')} left out for want of room; the JSON has all.\n"
    return text


def _state(report: Report) -> str:
    """Word the verdict. What holds is not green for that: it may break a reader all the same."""
    held = _HELD.get(report.data.get("colour", "")) if report.verdict is Verdict.HOLDS else None
    return held or _HEADS[report.verdict]


def _head(report: Report) -> str:
    """The verdict, whom it is about, and what else is said first."""
    made = report.decision
    if made is None:
        word = _state(report)
        if report.level is Level.AMBER and report.verdict is Verdict.DIFFERS:
            word = "to be read"
        text = f"## repot {report.command}: {word}\n\n{code(report.headline)}\n\n"
        sentences = sorted(report.summary, key=lambda sentence: not _FIRST.match(sentence))
        return text + "".join(f"- {words(sentence)}\n" for sentence in sentences)
    text = f"## {_SIGNS[made.level]}{words(report.lead[0])}\n\n{words(report.headline)}\n\n"
    return text + "".join(f"- {words(sentence)}\n" for sentence in report.lead[1:])


def _rendered(part: _Part, room: int, *, folds: bool) -> tuple[str, int]:
    """Give a part with as many units as there is room for, and how many were left out."""
    name = part.title if _is_prose(part.title) else code(part.title)
    title = f"\n### {name}\n\n" if name else "\n"
    end = f"\n{words(part.foot)}\n" if part.foot else ""
    is_long = part.head and part.number > _MOST_OPEN
    if folds and (part.aside or is_long) and part.number and name == part.title:
        title = f"\n<details><summary>{name} ({part.number:,})</summary>\n\n"
        end += "\n</details>\n"
    room -= len(title) + len(part.head) + len(end)
    shown: list[str] = []
    for unit in part.units:
        room -= len(unit)
        if room < 0:
            break
        shown.append(unit)
    missing = part.number - len(shown)
    if not shown:
        return "", missing
    return title + part.head + "".join(shown).rstrip("\n") + "\n" + end, missing


def _parts(report: Report) -> Iterator[_Part]:
    commits = report.data.get(_COMMITS.get(report.command, ""))
    if not commits:
        yield from map(_section, report.sections)
        return
    marks = [
        (code(str(mark.place)), code(mark.commit), words(mark.title), words(mark.message))
        for mark in report.marks
        if mark.place.path
    ]
    if marks:
        yield _table("Lines to read", ("where", "commit", "what", "why"), marks)
    yield _table(
        report.sections[0].title, ("", "commit", "subject", "verdict"), map(_commit, commits)
    )
    shown = [finding for finding in report.sections[0].findings if any(map(_is_code, finding.rows))]
    if shown:
        yield _section(Section("These lines, commit by commit", tuple(shown)))


def _commit(link: Mapping[str, Any]) -> tuple[str, ...]:
    """One commit of a chain as a row."""
    said = "; ".join(link["said"][:2] if link["plan"] is None else link["said"][:1])
    if link["lines"]:
        said += f"; {link['traced']:,} of {link['lines']:,} lines traced past the move"
    proved = {"proved": "✓", "certified": "✓"}.get(link["verdict"], "")
    mark = {"red": "✗", "amber": "!"}.get(link["colour"], proved)
    return mark, code(link["commit"][:12]), code(link["subject"]), words(said)


def _section(section: Section) -> _Part:
    """A table where findings are a place and a message, else a paragraph for each."""
    findings = section.findings
    if any(finding.rows or finding.hunks or finding.place.excerpt for finding in findings):
        blocks = ("\n".join(_block(finding)) + "\n\n" for finding in findings)
        part = _Part(section.title, "", blocks, len(findings), section.total)
    else:
        pairs = ((code(str(f.place)), words(f.message)) for f in findings)
        part = _table(section.title, ("where", "what"), pairs, section.total)
    return replace(part, aside=section.aside)


def _table(
    title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]], foot: str = ""
) -> _Part:
    """A table, or a list where a cell holds what parts cells: renderers differ in escaping that."""
    found = list(rows)
    if any("|" in cell for row in found for cell in row):
        units, rule = [f"- {' '.join(filter(None, row))}\n" for row in found], ""
    else:
        units = [f"| {' | '.join(row)} |\n" for row in found]
        rule = f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n"
    return _Part(title, rule, units, len(found), foot)


def _block(finding: Finding) -> Iterator[str]:
    where = str(finding.place)
    head = [f"**{code(where)}**"] if where else []
    if finding.message:
        head.append(words(finding.message))
    if head:
        yield " ".join(head)
    if finding.place.excerpt:
        yield from _fence(["".join(t for t, _ in line) for line in excerpt_lines(finding.place)])
    for path, hunk in with_paths(finding):
        if path:
            yield f"\n{code(path)}"
        yield from _fence(list(_hunk_lines(hunk)), "diff" if hunk.old_span or hunk.new_span else "")
    for (is_code, label), together in groupby(finding.rows, key=lambda r: (_is_code(r), r.label)):
        values = [value for row in together for value in row.values]
        if label:
            yield f"\n{words(label)}"
        if is_code:
            yield from _fence([line for value in values for line in _diff_lines(*value)], "diff")
        else:
            yield ""
            listed = [code(value) for value, _ in values[:_MOST_LISTED] if value]
            if len(values) > _MOST_LISTED:
                listed.append(f"... {len(values) - _MOST_LISTED:,} more")
            yield from (f"- {item}" for item in listed)


def _hunk_lines(hunk: Hunk) -> Iterator[str]:
    is_text = not hunk.old_span and not hunk.new_span  # a text as a whole, which marks no line
    if not is_text:
        yield visible(hunk.head)
    for mark, line in hunk_rows(hunk, _MOST_ROWS):
        shown = visible(line)
        yield shown if is_text or mark == "…" else f"{mark} {shown}".rstrip()


def _is_code(row: Row) -> bool:
    return any(style in SIGNS for _, style in row.values)


def _diff_lines(value: str, style: Style) -> Iterator[str]:
    sign = SIGNS.get(style, " ")
    return (f"{sign} {visible(line)}" for line in value.split("\n"))


def _fence(lines: Sequence[str], language: str = "text") -> Iterator[str]:
    """A block of code; of too much of it the first lines, and how many more there are."""
    kept: list[str] = []
    room = _MOST_OF_ONE
    for line in map(shortened, lines):
        room -= len(line)
        if room < 0:
            kept.append(f"  ... {counted(len(lines) - len(kept), 'more line')}")
            break
        kept.append(_few_ticks(line))
    fence = "`" * max(3, _longest("\n".join(kept)) + 1)
    yield f"\n{fence}{language}"
    yield from kept
    yield fence


def code(text: str) -> str:
    """Give text as a code span, on one line; nothing for no text."""
    if not text:
        return ""
    shown = _few_ticks(shortened(visible(text), _SPAN))
    ticks = "`" * (_longest(shown) + 1)
    # One blank at each end is taken off again (not of blanks alone), so that a backtick may be the
    # first or last sign.
    pad = " " if {shown[0], shown[-1]} & set("` ") and not shown.isspace() else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def words(text: str) -> str:
    """Give a sentence: plain words in the open, what stands in backticks as code.

    A sentence with anything else in it is code as a whole, and so is a single word.
    """
    parts = text.split("`")
    prose, quoted = parts[::2], parts[1::2]
    inner = prose[1:-1]
    is_sentence = " " in text and len(text) <= _SENTENCE
    if is_sentence and len(parts) % 2 and all(quoted) and all(inner):
        if all(_is_prose(part) for part in prose if part):
            spans = [*map(code, quoted), ""]
            return "".join(p + s for p, s in zip(prose, spans, strict=True)).strip()
    return code(text)


def _is_prose(text: str) -> bool:
    return _WORDS.fullmatch(text) is not None and not _NO_WORDS.search(text)


def _few_ticks(text: str) -> str:
    """Count a run of backticks that is longer than every renderer takes for one."""
    return re.sub(rf"`{{{_TICKS + 1},}}`*", lambda m: f"<{len(m[0]):,} backticks>", text)


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
