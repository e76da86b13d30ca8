"""The reports of `repot carry`: a branch that was moved, one that stopped, and many checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from transforms.errors import Place
from verify.carry.checking import Checked
from verify.carry.job import Job, Note
from verify.carry.merging import Conflict
from verify.carry.moving import Carried, Stopped
from verify.carry.stages import Result
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    refusal_data,
)

_HOW = {
    "dropped": "dropped from the plan",
    "added": "added by the branch",
    "skipped": "literal text left out",
    "renamed": "renamed by the branch",
    "own plan": "the branch's own move",
}


def carried(done: Carried) -> Report:
    """Report a branch that was moved."""
    job, progress = done.job, done.progress
    moved = tuple(
        Finding("carried", Place(old[:12]), f"-> {new[:12]}: {subject}")
        for old, new, subject in done.commits
    )
    summary = [f"{counted(len(moved), 'commit')} carried; no stop is left."]
    summary += _left_out(done)
    summary.append(f"`{job.branch}` stands at {done.tip[:12]}; it stood at {job.tip[:12]}.")
    summary.append(f"The old tip is kept as {done.kept}.")
    sections = (Section("Commits, oldest first", moved), _notes(progress.notes))
    return Report(
        command="carry",
        verdict=Verdict.HOLDS,
        headline=_headline(job),
        sections=tuple(section for section in sections if section.findings),
        summary=tuple(summary),
        data={
            "outcome": "carried",
            "branch": job.branch,
            "tip": done.tip,
            "old_tip": job.tip,
            "onto": job.onto,
            "kept": done.kept,
            "commits": [{"old": old, "new": new} for old, new, _ in done.commits],
            "dropped": list(progress.dropped),
            "merges": list(done.merges),
            "signatures_dropped": done.signed,
            "notes": _notes_data(progress.notes),
        },
    )


def stopped(found: Stopped) -> Report:
    """Report a branch that waits for a person."""
    stop, halt = found.stop, found.halt
    findings: tuple[Finding, ...] = ()
    lead = ("The worktree of the stop was not there in full; it is laid out again.",)
    data: dict[str, Any] = {}
    if halt is not None:
        subject = found.subjects.get(halt.step.origin, "")
        lead = (_why(halt.label, halt.result),)
        rows = (Row.of("commit", (f"{halt.step.origin[:12]}: {subject}",)),)
        findings = tuple(_findings(halt.result, rows))
        data = {"commit": halt.step.origin, "stage": halt.label, **_result_data(halt.result)}
    sections = (
        Section("Where it stops", findings),
        _notes(stop.progress.notes),
    )
    return Report(
        command="carry",
        verdict=Verdict.DIFFERS,
        headline=_headline(stop.job),
        sections=tuple(section for section in sections if section.findings),
        summary=(
            f"STOPPED: `{stop.job.branch}` stands where it stood.",
            f"Worktree: {stop.worktree}",
            "Resolve it there, `git add` what you changed, then `repot carry --continue`; "
            "`repot carry --abort` gives up.",
        ),
        data={
            "outcome": "stopped",
            "branch": stop.job.branch,
            "worktree": str(stop.worktree),
            "left": len(stop.progress.chain) - stop.progress.at,
            "notes": _notes_data(stop.progress.notes),
            **data,
        },
        lead=lead,
    )


def aborted(worktree: Path) -> Report:
    """Report that a stop was given up."""
    return Report(
        command="carry",
        verdict=Verdict.HOLDS,
        headline="given up",
        summary=("The branch stands where it stood.", f"Removed: {worktree}"),
        data={"outcome": "aborted", "worktree": str(worktree)},
    )


def checked(found: Sequence[Checked]) -> Report:
    """Report which of many branches would carry clean."""
    clean = [item for item in found if item.clean]
    stops = [item for item in found if item.halt is not None]
    refused = [item for item in found if item.refusal is not None]
    verdict = Verdict.HOLDS
    if stops or refused:
        verdict = Verdict.DIFFERS if stops else Verdict.UNJUDGED
    sections = (
        Section("Would stop", tuple(map(_stop_line, stops))),
        Section("Refused", tuple(map(_refusal_line, refused))),
        Section("Would carry clean", tuple(map(_clean_line, clean))),
    )
    return Report(
        command="carry",
        verdict=verdict,
        headline=f"{counted(len(found), 'branch', 'branches')} checked",
        sections=tuple(section for section in sections if section.findings),
        summary=(
            f"{len(clean)} of {counted(len(found), 'branch', 'branches')} would carry clean; "
            f"{len(stops)} would stop, {len(refused)} refused.",
            "Nothing was written.",
        ),
        data={"outcome": "checked", "branches": [_checked_data(item) for item in found]},
    )


def _clean_line(item: Checked) -> Finding:
    return Finding("clean", Place(item.name), counted(item.commits, "commit"))


def _refusal_line(item: Checked) -> Finding:
    refusal = item.refusal
    return Finding("refused", Place(item.name), f"{refusal.cause}" if refusal else "")


def _stop_line(item: Checked) -> Finding:
    halt = item.halt
    if halt is None:
        return _clean_line(item)
    rows = [Row.of("commit", (f"{halt.step.origin[:12]}: {item.subject}",))]
    rows += [row for finding in _findings(halt.result, ()) for row in _as_row(finding)]
    return Finding("stop", Place(item.name), _why(halt.label, halt.result), tuple(rows))


def _as_row(finding: Finding) -> Iterable[Row]:
    yield Row.of("", (f"{finding.place}: {finding.message}",), Style.BAD)


def _why(label: str, result: Result) -> str:
    if result.refusal is not None:
        return f"The plan cannot be applied to this commit ({label})."
    if label.startswith("onto"):
        return f"An ordinary conflict with main, which git has too ({label})."
    return f"The branch and the split change the same lines ({label})."


def _findings(result: Result, rows: tuple[Row, ...]) -> Iterable[Finding]:
    if result.refusal is not None:
        refusal = result.refusal
        told = f"{refusal.cause} {refusal.next_step}"
        yield Finding(refusal.kind, refusal.place or Place(""), told, rows)
        rows = ()
    for conflict in result.merge.conflicts:
        yield Finding("conflict", Place(conflict.path), _words(conflict), rows)
        rows = ()


def _words(conflict: Conflict) -> str:
    return conflict.message or conflict.kind


def _headline(job: Job) -> str:
    overs = ", ".join(split.commit[:12] for split in job.splits)
    return f"{job.branch} over {overs}, onto {job.onto[:12]}"


def _left_out(done: Carried) -> list[str]:
    said = []
    if done.progress.dropped:
        said.append(f"{counted(len(done.progress.dropped), 'commit')} dropped: main has them.")
    if done.merges:
        said.append(f"{counted(len(done.merges), 'merge')} of main left out.")
    if done.signed:
        said.append(f"{counted(done.signed, 'signature')} dropped: what was signed is no more.")
    return said


def _notes(notes: Sequence[Note]) -> Section:
    return Section(
        "Told",
        tuple(
            Finding(
                note.kind,
                Place(note.path),
                f"{_HOW.get(note.kind, note.kind)}: {note.message}",
                (Row.of("commit", (note.commit[:12],)),),
            )
            for note in notes
        ),
    )


def _notes_data(notes: Sequence[Note]) -> list[dict[str, str]]:
    return [note._asdict() for note in notes]


def _result_data(result: Result) -> dict[str, Any]:
    refusal = result.refusal
    return {
        "refusal": None if refusal is None else refusal_data(refusal),
        "conflicts": [
            {"path": c.path, "kind": c.kind, "message": c.message} for c in result.merge.conflicts
        ],
    }


def _checked_data(item: Checked) -> dict[str, Any]:
    found: dict[str, Any] = {"branch": item.name, "commits": item.commits, "clean": item.clean}
    if item.refusal is not None:
        found["refusal"] = refusal_data(item.refusal)
    if item.halt is not None:
        found |= {"commit": item.halt.step.origin, "stage": item.halt.label}
        found |= _result_data(item.halt.result)
    return found
