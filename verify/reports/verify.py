"""The report of `repot verify`: PASS, or every hunk that the plan does not explain."""

from __future__ import annotations

from collections import Counter
from typing import Any

from transforms.errors import Place
from verify.proofs.replay import Hunk, Replay
from verify.report.marks import Mark
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    cut,
    listed,
    outside_ascii,
)
from verify.reports.apply import relocated_data
from verify.reports.authored import (
    accepted_first,
    accepted_section,
    authored_data,
    authored_section,
    authored_words,
)

PASS = "PASS: transform reproduces the commit exactly."  # noqa: S105 - no password


def replayed(plan: str, title: str, done: Replay) -> Report:
    """Report a replay."""
    outcome = done.outcome
    name = f"{title} ({plan})" if title else plan
    files = counted(len(outcome.changes), "file")
    authored, accepted = authored_words(outcome), accepted_first(outcome)
    replays = f"{files} from the plan, {counted(done.changed, 'path')} changed; {authored}."
    if done.reproduces:
        summary: tuple[str, ...] = (*accepted, replays, PASS)
    else:
        by_operation = listed(Counter(hunk.operation for hunk in done.hunks))
        summary = (
            *accepted,
            replays,
            f"RESIDUAL: {counted(len(done.hunks), 'hunk')} differ: {by_operation}.",
        )
    return Report(
        command="verify",
        verdict=Verdict.HOLDS if done.reproduces else Verdict.DIFFERS,
        headline=f"{name}: {done.base} .. {done.target}",
        sections=tuple(s for s in _sections(done) if s.findings),
        summary=summary,
        marks=tuple(_mark(hunk) for hunk in done.hunks),
        data=_data(plan, done),
        timings=tuple((phase.name, phase.seconds) for phase in outcome.phases),
    )


def _sections(done: Replay) -> tuple[Section, ...]:
    paths = tuple(
        Finding("path", Place(path), "", strange)
        for path in done.outcome.changes
        if (strange := outside_ascii(path, ""))
    )
    return (
        accepted_section(done.outcome),
        Section("Residual", tuple(map(hunk_finding, done.hunks))),
        authored_section(done.outcome),
        Section("Written to, and named in characters outside ASCII", paths),
    )


def hunk_finding(hunk: Hunk) -> Finding:
    """A stretch of lines that differs, with both sides of it."""
    rows = []
    if hunk.missing:
        rows.append(Row.of("the plan gives", cut(hunk.missing), Style.REMOVED))
    if hunk.extra:
        rows.append(Row.of("the target has", cut(hunk.extra), Style.ADDED))
    rows += outside_ascii("\n".join(hunk.extra))
    message = hunk.operation + (f"; {hunk.note}" if hunk.note else "")
    return Finding("residual", Place(hunk.path, hunk.line or None), message, tuple(rows))


def _mark(hunk: Hunk) -> Mark:
    return Mark(
        Place(hunk.path, hunk.line or None),
        "not what the plan gives",
        hunk.operation + (f"; {hunk.note}" if hunk.note else ""),
    )


def _data(plan: str, done: Replay) -> dict[str, Any]:
    return {
        "plan": plan,
        "base": done.base,
        "target": done.target,
        "reproduces": done.reproduces,
        "files": len(done.outcome.changes),
        "relocated": relocated_data(done.outcome),
        **authored_data(done.outcome),
        "hunks": [
            {
                "path": hunk.path,
                "line": hunk.line,
                "operation": hunk.operation,
                "note": hunk.note,
                "plan": list(hunk.missing),
                "target": list(hunk.extra),
            }
            for hunk in done.hunks
        ],
    }
