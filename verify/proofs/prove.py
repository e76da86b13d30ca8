"""All that can be told of a claimed move: replay, certificate and ancestry, at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from transforms.formatters import Formatters, no_formatters, repository_formatters
from transforms.reading.model import Plan
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.ancestry.measure import Ancestry
from verify.kernel.verdict import Certificate
from verify.proofs.certify import certifying
from verify.proofs.moved_names import measuring
from verify.proofs.replay import Replay, replay


@dataclass(frozen=True, slots=True)
class Proof:
    """The three verdicts on one move; none of them knows of the others."""

    replay: Replay
    certificate: Certificate
    ancestry: Ancestry


def formatters_of(
    kind: str, base: GitTree, *, say: Callable[[str], None] | None = None
) -> Formatters:
    """Give the formatters that a plan asks for, `repository` or `none`: the base's own, or none.

    `say` is told of an installation.
    """
    return no_formatters() if kind == "none" else repository_formatters(base, say=say)


def prove(
    plan: Plan, base: GitTree, target: GitTree, *, say: Callable[[str], None] | None = None
) -> Proof:
    """Replay, certify and blame one move. Raises `Refusal`; `say` is told of an installation.

    Blame is git's work, in processes of its own; so is the certificate of a tree that is not small.
    """
    with (
        certifying(base, target) as certificate,
        parsed_once(),
        measuring(base, target) as ancestry,
    ):
        done = replay(plan, base, target, formatters_of(plan.formatters, base, say=say))
        return Proof(done, certificate.result(), ancestry(certificate.result))
