"""One report of a move that was replayed, certified and blamed: the verdict is the replay's."""

from __future__ import annotations

from transforms.reading.model import Plan
from transforms.tree import GitTree
from verify.proofs.prove import Proof
from verify.report.report import Report
from verify.reports.blame import blamed
from verify.reports.certify import certified, residual_texts
from verify.reports.verify import replayed


def proved(plan: Plan, proof: Proof, base: GitTree, target: GitTree) -> Report:
    """Report all three; the last line is PASS, or what the replay leaves."""
    texts = residual_texts(base, target, proof.certificate)
    replay = replayed("PLAN", plan.title, proof.replay)
    certificate = certified(base.commit, target.commit, proof.certificate, texts)
    ancestry = blamed(base.commit, target.commit, proof.ancestry)
    counts, verdict = replay.summary
    return Report(
        command="bundle",
        verdict=replay.verdict,
        headline=plan.title or f"{base.commit[:12]} .. {target.commit[:12]}",
        sections=(*replay.sections, *certificate.sections, *ancestry.sections),
        summary=(*certificate.summary, *ancestry.summary, counts, verdict),
        data={
            "replay": dict(replay.data),
            "certificate": dict(certificate.data),
            "ancestry": dict(ancestry.data),
        },
        timings=replay.timings,
    )
