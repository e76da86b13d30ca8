"""The report of `repot infer`: the plan, whether it replays, and what it had to hold literally."""

from __future__ import annotations

from transforms.errors import Place
from verify.inference.infer import Inferred
from verify.report.console import STDOUT
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Verdict,
    counted,
    refusal_data,
)
from verify.reports.apply import relocated_data
from verify.reports.authored import (
    accepted_first,
    accepted_section,
    authored_data,
    authored_section,
    authored_words,
)


def inferred(base: str, target: str, found: Inferred, output: str | None) -> Report:
    """Report an inference; `output` is where the plan went, if it was written."""
    outcome = found.replay.outcome
    sections = (
        accepted_section(outcome),
        _moved(found),
        authored_section(outcome),
        _notes(found),
        _left(found),
    )
    return Report(
        command="infer",
        verdict=Verdict.HOLDS if found.holds else Verdict.DIFFERS,
        headline=f"{base} .. {target}",
        sections=tuple(section for section in sections if section.findings),
        summary=(
            *accepted_first(outcome),
            f"{counted(len(outcome.changes), 'file')} from the plan; of "
            f"{counted(found.share.lines, 'line')} that moved, {found.share.moved:,} are moved by "
            "operations.",
            _where(output),
            f"{_verdict(found)}; {authored_words(outcome)}.",
        ),
        data={
            "plan": found.text,
            "reproduces": found.replay.reproduces,
            "moved_lines": found.share.lines,
            "moved_by_operations": found.share.moved,
            "relocated": relocated_data(outcome),
            "notes": list(found.notes),
            "without_formatters": str(found.without or ""),
            "no_formatters": refusal_data(found.without) if found.without else None,
            "left": list(found.left),
            **authored_data(outcome),
        },
    )


def _verdict(found: Inferred) -> str:
    if found.inferred and found.left:
        files = counted(len(found.left), "file")
        return f"The plan reproduces the change, but for {files} that no plan can say"
    if not found.replay.reproduces:
        return f"The plan leaves {counted(len(found.replay.hunks), 'hunk')} unexplained"
    if not found.share.enough:
        return "The plan reproduces the change exactly, but writes out what moved"
    return "The plan reproduces the change exactly"


def _where(output: str | None) -> str:
    if output is None:
        return "The plan is in the report: -o FILE writes it."
    return "The plan is on stdout." if output == STDOUT else f"Written: {output}."


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
    notes = [Finding("ambiguous", Place(""), note) for note in found.notes]
    if found.without:
        why = f"nothing was formatted, since the base's formatters cannot be had: {found.without}"
        notes.append(Finding("ambiguous", Place(""), why))
    return Section("Not certain", tuple(notes))


def _left(found: Inferred) -> Section:
    why = (
        "no plan can say this: a link, bytes that are no text, a path that is no UTF-8, or what "
        "machines run or obey by themselves"
    )
    return Section(
        "Left over", tuple(Finding("left over", Place(path), why) for path in found.left)
    )
