"""What `repot bundle` says: of the file that it wrote, and of one that it checked."""

from __future__ import annotations

import hashlib
from pathlib import Path

from transforms.errors import Place
from verify.bundle import VERSION
from verify.bundle.build import Subject
from verify.bundle.check import Checked, Difference
from verify.bundle.engine import engine_digest
from verify.bundle.installed import doubts
from verify.proofs.replay import Replay
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    cut,
    outside_ascii,
)
from verify.reports.verify import replayed

_MOST_DIFFERENCES = 20


def written(path: Path, plan: Path, title: str, data: bytes, done: Replay) -> Report:
    """Report a bundle that was written, or one that was not since its plan leaves a residual."""
    replay = replayed(str(plan), title, done)
    digest, engine = hashlib.sha256(data).hexdigest(), engine_digest()
    if not done.reproduces:
        last = f"{path} was not written: it would end in RESIDUAL."
        return Report(
            "bundle", Verdict.DIFFERS, replay.headline, replay.sections, (*replay.summary, last)
        )
    facts = {"SHA-256": digest, "engine": f"Repot {VERSION}, {engine}"}
    kept = tuple(Finding("fact", Place(name), value) for name, value in facts.items())
    return Report(
        command="bundle",
        verdict=Verdict.HOLDS,
        headline=replay.headline,
        sections=(*replay.sections, Section("Bundle", kept)),
        summary=(
            *replay.summary[:-1],
            f"Written: {path}, {counted(len(data), 'byte')}. Run it in a clone: python3 {path}",
        ),
        data={
            "file": str(path),
            "sha256": digest,
            "engine": engine,
            "base": done.base,
            "target": done.target,
            "authored_lines": done.outcome.authored_lines,
        },
    )


def checked(path: Path, found: Checked) -> Report:
    """Report a check: what differs, or the plan, which is then all that is left to read."""
    subject, engine = found.subject, engine_digest()
    ours = f"this Repot, {VERSION}, engine {engine}"
    if found.is_ours:
        summary = [f"SAME: all but the plan is, byte for byte, what {ours} writes.", *_doubts()]
        summary.append("Left to read: the plan above, and whether these are the right commits.")
    else:
        places = counted(len(found.differences), "place")
        summary = [f"DIFFERS in {places} from what {ours} writes. Do not run it."]
    return Report(
        command="bundle",
        verdict=Verdict.HOLDS if found.is_ours else Verdict.DIFFERS,
        headline=f"{path}, checked and not run",
        sections=tuple(s for s in (_differing(path, found.differences), _plan(subject)) if s),
        summary=tuple(summary),
        data={
            "file": str(path),
            "is_ours": found.is_ours,
            "engine": engine,
            "base": subject.base,
            "target": subject.target,
            "plan": subject.plan,
            "formatters": list(subject.installs),
            "differences": [
                {"line": one.line, "part": one.part, "repot": list(one.missing),
                 "file": list(one.extra)}
                for one in found.differences
            ],
        },
    )  # fmt: skip


def _differing(path: Path, differences: tuple[Difference, ...]) -> Section | None:
    if not differences:
        return None
    findings = []
    for one in differences[:_MOST_DIFFERENCES]:
        rows = []
        if one.missing:
            rows.append(Row.of("Repot writes", cut(one.missing), Style.REMOVED))
        if one.extra:
            rows.append(Row.of("the file has", cut(one.extra), Style.ADDED))
        rows += outside_ascii("\n".join(one.extra))
        findings.append(Finding("differs", Place(str(path), one.line), one.part, tuple(rows)))
    left_out = len(differences) - len(findings)
    total = f"... {counted(left_out, 'more place')}" if left_out else ""
    return Section("Not what Repot writes", tuple(findings), total)


def _plan(subject: Subject) -> Section:
    lines = Row.of("", cut(subject.plan.removesuffix("\n").split("\n"), None))
    strange = outside_ascii(subject.plan)
    installs = ", ".join(subject.installs)
    formatters = [Finding("formatters", Place("formatters"), installs)] if installs else []
    return Section(
        "What it is about",
        (
            Finding("base", Place("base"), subject.base),
            Finding("target", Place("target"), subject.target),
            *formatters,
            Finding("plan", Place("plan"), "", (lines, *strange)),
        ),
    )


def _doubts() -> list[str]:
    """Say so where this Repot is itself no release as installed."""
    why = doubts()
    if not why:
        return []
    return [f"{why}: hold the engine's digest against the one that the release publishes."]
