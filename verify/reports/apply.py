"""The report of `repot apply`: what a plan changes, seen before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from transforms.errors import Place
from transforms.result.changes import Blob, Change
from transforms.result.outcome import (
    Caller,
    Destination,
    Note,
    Outcome,
    Relocated,
    SourceChange,
)
from verify.proofs.gate import Gate
from verify.report.hunks import change_hunks
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    kinds_words,
    listed,
    place_data,
)
from verify.reports.authored import (
    accepted_first,
    accepted_section,
    authored_data,
    authored_section,
    authored_words,
)
from verify.reports.certify import Texts
from verify.reports.gated import gate_data, gate_line, gate_sections, gate_verdict

# added and removed lines by path; a diff is too dear to be made twice
Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done with an outcome: `mode` is `preview`, `check`, `diff` or `write`.

    `gate` is what was judged of it, with the lines that it speaks of; `unjudged` says why nothing
    was, in words.
    """

    plan: str
    title: str
    tree: str
    mode: str
    outcome: Outcome
    gate: Gate | None = None
    texts: Texts = field(default_factory=dict)
    unjudged: str = ""

    @property
    def stopped(self) -> bool:
        """Whether what was to be written is not, by what was judged of it."""
        return self.mode == "write" and self.gate is not None and bool(self.gate.stops)


def applied(done: Applied) -> Report:
    """Report a plan that could be applied."""
    outcome = done.outcome
    counts = {path: change.counts() for path, change in outcome.changes.items()}
    verdict = Verdict.HOLDS
    if done.mode == "check" and len(outcome.changes) > 0:
        verdict = Verdict.DIFFERS
    elif done.stopped and done.gate is not None:
        verdict = gate_verdict(done.gate)
    judged = tuple(gate_sections(done.gate, done.texts, done.plan)) if done.gate is not None else ()
    return Report(
        command="apply",
        verdict=verdict,
        headline=f"{_name(done)} on {done.tree}",
        sections=tuple(s for s in (*_sections(outcome, counts), *judged) if s.findings),
        summary=(*accepted_first(outcome), _totals(outcome, counts), *_judged(done), _result(done)),
        data=_data(done, counts),
        timings=tuple((phase.name, phase.seconds) for phase in outcome.phases),
    )


def _name(done: Applied) -> str:
    return f"{done.title} ({done.plan})" if done.title else done.plan


def _totals(outcome: Outcome, counts: Counts) -> str:
    """Word the totals; the authored lines are always among them."""
    authored = f"{authored_words(outcome)}."
    if not outcome.changes:
        return f"Nothing changes. {authored}"
    kinds = Counter[str](change.kind for change in outcome.changes.values())
    added, removed = (sum(side) for side in zip(*counts.values(), strict=True))
    return (
        f"{counted(len(outcome.changes), 'file')}: {listed(kinds)}; "
        f"{counted(added, 'line')} added, {removed:,} removed. {authored}"
    )


def _judged(done: Applied) -> tuple[str, ...]:
    if done.gate is not None:
        return (gate_line(done.gate),)
    return (done.unjudged,) if done.unjudged else ()


def _result(done: Applied) -> str:
    if done.gate is not None and done.gate.stops and done.mode != "check":
        why = "behaviour would differ" if done.gate.breaks else "a lookup may reach what moved"
        nothing = "Nothing was written" + ("" if done.stopped else ", and `--write` would not")
        return f"{nothing}: {why}. Mend it, or accept it in the plan."
    if done.mode == "write":
        return f"Written: {counted(len(done.outcome.changes), 'file')}."
    if done.mode == "check":
        return "Nothing was written: --check only tells whether anything would change."
    if not done.outcome.changes:
        return "Nothing was written."
    return "Nothing was written: --write writes it, --diff shows it line by line."


def _sections(outcome: Outcome, counts: Counts) -> tuple[Section, ...]:
    return (
        accepted_section(outcome),
        relocated_section(outcome),
        Section("Sources", tuple(_source(item, counts) for item in outcome.sources)),
        Section("Destinations", tuple(_destination(item) for item in outcome.destinations)),
        callers_section(outcome),
        authored_section(outcome),
        notes_section(outcome),
        formatters_section(outcome),
    )


def relocated_section(outcome: Outcome) -> Section:
    """Modules and packages that go whole: where from and where to."""
    return Section("Modules", tuple(_relocated(item) for item in outcome.relocated))


def _relocated(item: Relocated) -> Finding:
    size = f", {counted(item.files, 'file')}" if item.files > 1 else ""
    kept = {"warn": ", the old name warns", "reexport": ", the old name stays"}
    message = f"-> {item.new_path}{size}{kept.get(item.kept or '', '')}"
    return Finding("relocated", Place(item.old_path), message)


def relocated_data(outcome: Outcome) -> list[dict[str, Any]]:
    """What went whole, for programs."""
    return [
        {
            "from": {"path": item.old_path, "module": item.old_module},
            "to": {"path": item.new_path, "module": item.new_module},
            "files": item.files,
            "old": item.kept,
        }
        for item in outcome.relocated
    ]


def callers_section(outcome: Outcome) -> Section:
    """Every file that imports or names what moved, with its hunks as a diff has them."""
    findings = tuple(_caller(item, outcome) for item in outcome.callers)
    return Section("Callers", findings, callers_total(outcome), aside=True)


def callers_total(outcome: Outcome) -> str:
    """Count the callers and their edits, by kind."""
    edits = [edit for caller in outcome.callers for edit in caller.edits]
    by_kind = kinds_words(Counter(edit.kind for edit in edits))
    return f"{counted(len(edits), 'edit')} in {counted(len(outcome.callers), 'file')}: {by_kind}"


def notes_section(outcome: Outcome) -> Section:
    """What the mover leaves alone."""
    return Section(
        "Left alone, for a person to look at",
        tuple(_note(note) for note in outcome.notes),
        counted(len(outcome.notes), "note"),
        aside=True,
    )


def formatters_section(outcome: Outcome) -> Section:
    """Which formatters ran, and what each changed by itself."""
    return Section("Formatters", _formatters(outcome), aside=True)


def _source(source: SourceChange, counts: Counts) -> Finding:
    size = ""
    if source.path in counts:
        added, removed = counts[source.path]
        size = f", {counted(removed, 'line')} removed, {added:,} added"
    rows = (
        Row.of("no longer imports", source.removed_imports, Style.REMOVED),
        Row.of("imports back", source.imports_back, Style.ADDED),
    )
    return Finding("source", Place(source.path), f"{source.fate}{size}", _filled(rows))


def _destination(destination: Destination) -> Finding:
    state = "created" if destination.created else "extended"
    rows = (
        Row.of("receives", destination.symbols),
        Row.of("copies", destination.copied),
        Row.of("derived imports", destination.imports),
    )
    message = f"{state}, {counted(destination.lines, 'line')}"
    return Finding("destination", Place(destination.path), message, _filled(rows))


def _caller(caller: Caller, outcome: Outcome) -> Finding:
    kinds = kinds_words(Counter(edit.kind for edit in caller.edits))
    change = outcome.changes.get(caller.path)
    hunks = () if change is None else change_hunks(change)
    return Finding("caller", Place(caller.path), kinds, hunks=hunks)


def _note(note: Note) -> Finding:
    return Finding(note.kind, note.place, f"{note.kind}: {note.message}")


def _formatters(outcome: Outcome) -> tuple[Finding, ...]:
    """Name the formatters in the order they ran, then each file with those that changed it."""
    if not outcome.formatted:
        return ()
    ran = Finding("formatters", Place(""), ", then ".join(outcome.formatted))
    edits = tuple(
        Finding("formatted", Place(path), ", ".join(names))
        for path, names in sorted(outcome.formatter_edits.items())
    )
    return (ran, *edits)


def _filled(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.values)


def _data(done: Applied, counts: Counts) -> dict[str, Any]:
    """Give the outcome as plain values; lists are in the order of the plan or of the paths."""
    outcome = done.outcome
    edits = [edit for caller in outcome.callers for edit in caller.edits]
    return {
        "plan": done.plan,
        "title": done.title,
        "tree": done.tree,
        "mode": done.mode,
        "written": done.mode == "write" and not done.stopped,
        "judgement": None if done.gate is None else gate_data(done.gate, done.texts),
        "unjudged": done.unjudged,
        **authored_data(outcome),
        "files": [_change_data(change, counts) for change in outcome.changes.values()],
        "relocated": relocated_data(outcome),
        "sources": [
            {
                "path": item.path,
                "module": item.module,
                "fate": item.fate,
                "removed_imports": list(item.removed_imports),
                "imports_back": list(item.imports_back),
            }
            for item in outcome.sources
        ],
        "destinations": [
            {
                "path": item.path,
                "module": item.module,
                "created": item.created,
                "symbols": list(item.symbols),
                "copied": list(item.copied),
                "imports": list(item.imports),
                "lines": item.lines,
            }
            for item in outcome.destinations
        ],
        "callers": [_caller_data(caller) for caller in outcome.callers],
        "edits_by_kind": dict(Counter(edit.kind for edit in edits)),
        "notes": [
            {"kind": note.kind, "place": place_data(note.place), "message": note.message}
            for note in outcome.notes
        ],
        "formatters": {
            "ran": list(outcome.formatted),
            "edits": {path: list(names) for path, names in outcome.formatter_edits.items()},
        },
    }


def _change_data(change: Change, counts: Counts) -> dict[str, Any]:
    added, removed = counts[change.path]
    return {
        "path": change.path,
        "change": change.kind,
        "mode_before": _mode(change.before),
        "mode_after": _mode(change.after),
        "added": added,
        "removed": removed,
    }


def _mode(blob: Blob | None) -> str | None:
    return None if blob is None else f"{blob.mode:06o}"


def _caller_data(caller: Caller) -> dict[str, Any]:
    return {
        "path": caller.path,
        "edits": [
            {"kind": edit.kind, "line": edit.line, "before": edit.before, "after": edit.after}
            for edit in sorted(caller.edits, key=lambda edit: edit.line)
        ],
    }
