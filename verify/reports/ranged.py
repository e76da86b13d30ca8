"""What every report of a typed range says: which two trees were judged, and what was left out."""

from __future__ import annotations

from dataclasses import replace

from transforms.errors import Place
from verify.history.revisions import Change
from verify.report.marks import Mark
from verify.report.report import Finding, Report, Section, Verdict, counted

_WHY = "what git would store of it hangs on {}, which is not judged"


def ranged(report: Report, change: Change) -> Report:
    """Add to a report how the range was read, for people and for programs.

    A file that could not be judged keeps the whole from holding.
    """
    left_out = tuple(
        Finding("not judged", Place(path), _WHY.format(why)) for path, why in change.unjudged
    )
    verdict = report.verdict
    summary = report.summary
    sections = report.sections
    if left_out:
        verdict = Verdict.UNJUDGED if verdict is Verdict.HOLDS else verdict
        sections = (Section("Not judged", left_out), *sections)
        summary = (*summary, f"{counted(len(left_out), 'file')} not judged, listed above.")
    return replace(
        report,
        verdict=verdict,
        headline=f"{report.headline} ({change.said})" if change.said else report.headline,
        sections=sections,
        summary=summary,
        marks=(*report.marks, *(Mark(f.place, f.kind, f.message) for f in left_out)),
        data={
            **report.data,
            "range": {
                "typed": change.typed or None,
                "read_as": change.said or None,
                "base": change.base.commit,
                "target": None if change.place else change.target.commit,
                "place": change.place or None,
                "tree": change.tree or None,
                "not_judged": [{"path": path, "why": why} for path, why in change.unjudged],
            },
        },
    )
