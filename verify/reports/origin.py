"""The report of `repot origin`: what comes from which commit, and the claims that stand in the way.

The answer itself is a table, as `git blame` has it (`verify.origin.shown`). This is what is said
besides, and the same for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transforms.errors import Place
from verify.origin.claims import Claim
from verify.origin.kept import COPIED, MOVED
from verify.origin.shown import date_of, field_of
from verify.origin.trace import Origin, Traced
from verify.report.marks import Mark
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, counted

_SHORT = 12
_FIELDS = ("author", "committer")


def originated(traced: Traced) -> Report:
    """Report where lines come from."""
    sections = []
    if traced.claims:
        found = tuple(_claim(claim, traced) for claim in traced.claims)
        sections.append(Section("Claims that are not proved: nothing is followed past them", found))
    if traced.lines:
        commits = dict.fromkeys(line.commit for line in traced.lines)
        found = tuple(_commit(name, traced) for name in commits)
        sections.append(Section("Where the lines come from", found, folded=True))
    return Report(
        command="origin",
        verdict=Verdict.HOLDS,
        headline=f"{_asked(traced)} at {traced.asked.head.commit[:_SHORT]}",
        sections=tuple(sections),
        summary=tuple(_summary(traced)),
        marks=tuple(_mark(claim, traced) for claim in traced.claims),
        data=origin_data(traced),
    )


def says_more(traced: Traced) -> bool:
    """Whether there is anything that the table alone does not tell."""
    return bool(traced.claims) or _cut_short(traced)


def _cut_short(traced: Traced) -> bool:
    return traced.shallow and any(line.boundary for line in traced.lines)


def _asked(traced: Traced) -> str:
    asked = traced.asked
    if (asked.first, asked.last) == (1, len(asked.rows)):
        return asked.path
    return f"{asked.path}:{_span([asked.first, asked.last])}"


def _claim(claim: Claim, traced: Traced) -> Finding:
    lines = [line.number for line in traced.lines if line.claim == claim]
    rows = (Row.of("lines", [_spans(lines)]), Row.of("", [claim.fault], Style.BAD))
    kind = "unjudged-claim" if claim.unjudged else "unproved-claim"
    return Finding(kind, Place(claim.commit[:_SHORT]), claim.subject, rows)


def _mark(claim: Claim, traced: Traced) -> Mark:
    line = next(line.number for line in traced.lines if line.claim == claim)
    text = f"{claim.commit[:_SHORT]} claims a move and is followed no further: {claim.fault}"
    return Mark(Place(traced.asked.path, line), "claim not proved", text)


def _commit(name: str, traced: Traced) -> Finding:
    details = traced.details[name]
    lines = [line for line in traced.lines if line.commit == name]
    author, date = (b.decode("utf-8", "replace") for b in (_author(details), date_of(details)))
    rows = [Row.of("lines", [_spans([line.number for line in lines])])]
    paths = dict.fromkeys(line.path for line in lines)
    if set(paths) != {traced.asked.path}:
        rows.append(Row.of("in", paths))
    plans = dict.fromkeys(p.plan for line in lines for p in line.passed if p.plan)
    if plans:
        rows.append(Row.of("through", plans))
    summary = field_of(details, "summary").decode("utf-8", "replace")
    message = f"{counted(len(lines), 'line')}, {author}, {date}: {summary}"
    return Finding("origin", Place(name[:_SHORT]), message, tuple(rows))


def _author(details: Sequence[bytes]) -> bytes:
    return field_of(details, "author")


def _summary(traced: Traced) -> list[str]:
    lines, commits = len(traced.lines), len({line.commit for line in traced.lines})
    said = [
        f"{counted(lines, 'line')} from {counted(commits, 'commit')}: "
        f"{traced.through(MOVED):,} through proved moves, {traced.through(COPIED):,} through "
        "renames and copies that git finds."
    ]
    if traced.claims:
        stopped = sum(line.claim is not None for line in traced.lines)
        said.append(f"{counted(stopped, 'line')} marked `!`: a claimed move that is not proved.")
    if _cut_short(traced):
        said.append(
            "The clone is shallow: lines marked `^` may be older. `git fetch --unshallow` brings "
            "the rest."
        )
    return said


def _spans(numbers: Sequence[int]) -> str:
    """Word line numbers: `3, 7-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(map(_span, runs))


def _span(run: Sequence[int]) -> str:
    return str(run[0]) if run[0] == run[-1] else f"{run[0]}-{run[-1]}"


def origin_data(traced: Traced) -> dict[str, Any]:
    """The answer for programs; `docs/origin.md` says what each key is."""
    return {
        "path": traced.asked.path,
        "commit": traced.asked.head.commit,
        "shallow": traced.shallow,
        "counts": {
            "lines": len(traced.lines),
            "moved": traced.through(MOVED),
            "copied": traced.through(COPIED),
            "claimed": sum(line.claim is not None for line in traced.lines),
        },
        "lines": list(map(_line_data, traced.lines)),
        "commits": {
            name: _details(traced.details[name]) for name in {line.commit for line in traced.lines}
        },
        "claims": [
            {
                "commit": claim.commit,
                "subject": claim.subject,
                "plan": claim.plan or None,
                "fault": claim.fault,
                "unjudged": claim.unjudged,
            }
            for claim in traced.claims
        ],
    }


def _line_data(line: Origin) -> dict[str, Any]:
    return {
        "line": line.number,
        "text": line.text.decode("utf-8", "backslashreplace"),
        "origin": {"commit": line.commit, "path": line.path, "line": line.line},
        "boundary": line.boundary,
        "claimed": line.claim is not None,
        "through": [
            {
                "kind": passed.step.kind,
                "commit": passed.commit or None,
                "plan": passed.plan or None,
                "from": {
                    "commit": passed.step.commit,
                    "path": passed.step.path,
                    "line": passed.step.line,
                },
            }
            for passed in line.passed
        ],
    }


def _details(details: Sequence[bytes]) -> dict[str, Any]:
    def text(name: str) -> str:
        return field_of(details, name).decode("utf-8", "backslashreplace")

    found: dict[str, Any] = {"summary": text("summary")}
    for who in _FIELDS:
        found[who] = text(who)
        found[f"{who}_mail"] = text(f"{who}-mail").removeprefix("<").removesuffix(">")
        found[f"{who}_time"] = int(text(f"{who}-time") or 0)
        found[f"{who}_tz"] = text(f"{who}-tz")
    return found
