"""How authored text is shown: all of it, since it is what no rule stands behind."""

from __future__ import annotations

from typing import Any

from transforms.errors import Place
from transforms.result.outcome import Accepted, Authored, Outcome
from verify.report.report import (
    Finding,
    Row,
    Section,
    Style,
    counted,
    cut,
    outside_ascii,
)

_MOST_ACCEPTED = 5  # that one sentence names


def authored_section(outcome: Outcome) -> Section:
    """Show every authored line, and what else an edit takes away."""
    return Section(
        "Authored, as the plan has it literally",
        tuple(
            Finding(
                "authored",
                Place(item.path),
                f"{item.kind}, {counted(item.lines, 'line')}",
                authored_rows(item),
            )
            for item in outcome.authored
        ),
    )


def authored_rows(item: Authored) -> tuple[Row, ...]:
    """Give what authored text takes away and adds, whole, and its characters outside ASCII."""
    rows = []
    if item.removed:
        rows.append(Row.of("", cut(item.removed, None), Style.REMOVED))
    if item.added:
        rows.append(Row.of("", cut(item.added, None), Style.ADDED))
    return (*rows, *outside_ascii("\n".join(item.added)))


def authored_words(outcome: Outcome) -> str:
    """Word the count that every summary gives: `7 authored lines`."""
    words = counted(outcome.authored_lines, "authored line")
    if outcome.deleted_lines:
        files = counted(sum(item.deletes for item in outcome.authored), "deleted file")
        words += f", {outcome.deleted_lines:,} of them in {files}"
    if outcome.unwritten_lines:
        words += f", and {outcome.unwritten_lines:,} taken away by authored edits"
    if outcome.accepted:
        words += f", {counted(len(outcome.accepted), 'accepted finding')}"
    return words


def accepted_section(outcome: Outcome) -> Section:
    """Show what the plan accepts, and why: it comes before all else, since nobody proves it."""
    return Section(
        "Accepted, as the plan says",
        tuple(
            Finding("accepted", Place(""), _accepted(item), (Row.of("because", (item.reason,)),))
            for item in outcome.accepted
        ),
    )


def accepted_first(outcome: Outcome) -> tuple[str, ...]:
    """Give the sentence with which a summary begins where the plan accepts anything."""
    if not outcome.accepted:
        return ()
    named = [_accepted(item) for item in outcome.accepted[:_MOST_ACCEPTED]]
    left = len(outcome.accepted) - len(named)
    more = [f"and {left:,} more"] if left else []
    return (f"Accepted by the plan, not proved: {'; '.join([*named, *more])}.",)


def _accepted(item: Accepted) -> str:
    return f"{item.kind} in {item.module}{f': {item.symbol}' if item.symbol else ''}"


def authored_data(outcome: Outcome) -> dict[str, Any]:
    """Give the authored text for programs, whole."""
    return {
        "authored_lines": outcome.authored_lines,
        "accepted": [
            {
                "kind": item.kind,
                "module": item.module,
                "symbol": item.symbol,
                "reason": item.reason,
            }
            for item in outcome.accepted
        ],
        "authored": [
            {
                "path": item.path,
                "lines": item.lines,
                "kind": item.kind,
                "added": list(item.added),
                "removed": list(item.removed),
            }
            for item in outcome.authored
        ],
    }
