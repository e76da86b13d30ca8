"""The report of `repot infer`: the plan, whether it replays, and what it had to hold literally."""

from __future__ import annotations

from pathlib import Path

from transforms.errors import Place
from verify.inference.infer import Inferred
from verify.report.report import Finding, Report, Row, Section, Verdict, counted
from verify.reports.apply import relocated_data
from verify.reports.authored import (
    accepted_section,
    authored_data,
    authored_section,
    authored_words,
)


def inferred(base: str, target: str, found: Inferred, output: Path | None) -> Report:
    """Report an inference."""
    outcome = found.replay.outcome
    sections = (
        _moved(found),
        authored_section(outcome),
        accepted_section(outcome),
        _notes(found),
        _left(found),
    )
    written = f"Written: {output}." if output else "Nothing was written: -o FILE writes the plan."
    verdict = "The plan reproduces the change exactly."
    if not found.replay.reproduces:
        verdict = f"The plan leaves {counted(len(found.replay.hunks), 'hunk')} unexplained."
    return Report(
        command="infer",
        verdict=Verdict.HOLDS if found.replay.reproduces else Verdict.DIFFERS,
        headline=f"{base} .. {target}",
        sections=tuple(section for section in sections if section.findings),
        summary=(
            f"{counted(len(outcome.changes), 'file')} from the plan; {authored_words(outcome)}.",
            verdict,
            written,
        ),
        data={
            "plan": found.text,
            "reproduces": found.replay.reproduces,
            "relocated": relocated_data(outcome),
            "notes": list(found.notes),
            "left": list(found.left),
            **authored_data(outcome),
        },
    )


def _moved(found: Inferred) -> Section:
    modules = tuple(
        Finding("relocated", Place(str(move.module)), f"-> {move.to}") for move in found.plan.moves
    )
    return Section(
        "Moves",
        modules
        + tuple(
            Finding(
                "destination",
                Place(str(item.module)),
                counted(len(item.symbols) + len(item.carry), "symbol"),
                (Row.of("receives", (*item.symbols, *item.carry)),),
            )
            for item in found.plan.destinations
        ),
    )


def _notes(found: Inferred) -> Section:
    return Section(
        "Not certain", tuple(Finding("ambiguous", Place(""), note) for note in found.notes)
    )


def _left(found: Inferred) -> Section:
    why = (
        "no plan can say this: a deletion beside the move, a link, a mode, bytes that are no text, "
        "a path that is no UTF-8"
    )
    return Section(
        "Left over", tuple(Finding("left over", Place(path), why) for path in found.left)
    )
