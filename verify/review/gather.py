"""A review: everything that can be told of a change that somebody else made, from its two commits.

The plan behind it, whether that plan gives its bytes, the certificate, the ancestry. What one of
them cannot tell takes nothing from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum

from transforms.errors import Refusal
from transforms.formatters import no_formatters
from transforms.reading.model import Plan
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.ancestry.measure import Ancestry
from verify.inference.infer import infer
from verify.kernel.verdict import CERTIFIED, RESIDUAL, Certificate
from verify.proofs.certify import certifying
from verify.proofs.moved_names import measuring
from verify.proofs.prove import formatters_of
from verify.proofs.replay import Replay, replay

NOTHING_MOVED = "nothing-moved"  # the kind of the refusal where there is no move at all


class Conclusion(Enum):
    """What a review comes to, in the order in which it is decided."""

    NO_MOVE = "no move"
    RESIDUAL = "residual"
    UNKNOWN = "unknown"
    OTHER_FILES = "other files"
    NO_PLAN = "no plan"
    NOT_REPLAYED = "not replayed"
    CERTIFIED = "certified"


@dataclass(frozen=True, slots=True)
class Review:
    """What was found. Of `replay` and `no_plan` exactly one is there.

    `ancestry` is a refusal where history is missing. `plan` is the text of the inferred plan, empty
    where one was given; `notes` are what was ambiguous in finding it.
    """

    base: str
    target: str
    certificate: Certificate
    ancestry: Ancestry | Refusal
    replay: Replay | None
    no_plan: Refusal | None
    plan: str = ""
    notes: tuple[str, ...] = ()

    @property
    def other_files(self) -> list[str]:
        """Changed files that are no Python: no certificate vouches for them."""
        return list(self.certificate.other_files)

    @property
    def conclusion(self) -> Conclusion:
        """Decide. Nothing but a certified move that a plan reproduces is `CERTIFIED`."""
        if self.certificate.verdict == CERTIFIED:
            return self._of_certified()
        if self.certificate.verdict != RESIDUAL:
            return Conclusion.UNKNOWN
        no_move = self.no_plan is not None and self.no_plan.kind == NOTHING_MOVED
        return Conclusion.NO_MOVE if no_move and not self.certificate.moved else Conclusion.RESIDUAL

    def _of_certified(self) -> Conclusion:
        if not self.certificate.moved and not self.certificate.relocated:
            return Conclusion.NO_MOVE
        if self.other_files:
            return Conclusion.OTHER_FILES
        if self.replay is None:
            return Conclusion.NO_PLAN
        return Conclusion.CERTIFIED if self.replay.reproduces else Conclusion.NOT_REPLAYED


def review(base: GitTree, target: GitTree, plan: Plan | None = None) -> Review:
    """Review a change; `plan` is replayed in place of one that is found.

    Raises `Refusal` only for what keeps all of it from being judged. Blame is git's work, in
    processes of its own, and so, in a tree that is not small, is the certificate, while the plan is
    looked for.
    """
    with (
        certifying(base, target) as certificate,
        parsed_once(),
        measuring(base, target) as ancestry,
    ):
        done, no_plan, text = None, None, ""
        notes: tuple[str, ...] = ()
        try:
            if plan is not None:
                done, notes = _replayed(plan, base, target)
            else:
                found = infer(base, target)
                done, text, notes = found.replay, found.text, found.notes
                notes = (*notes, *_without(found.without))
        except Refusal as refusal:
            no_plan = refusal
        return Review(
            base.commit,
            target.commit,
            certificate.result(),
            _measured(ancestry, certificate),
            done,
            no_plan,
            text,
            notes,
        )


def _replayed(plan: Plan, base: GitTree, target: GitTree) -> tuple[Replay, tuple[str, ...]]:
    """Replay a plan, without the base's formatters where they cannot be had."""
    try:
        return replay(plan, base, target, formatters_of(plan.formatters, base)), ()
    except Refusal as refusal:
        if not refusal.kind.startswith("formatter-"):
            raise
        return replay(plan, base, target, no_formatters()), tuple(_without(str(refusal)))


def _without(why: str) -> Iterator[str]:
    if why:
        yield f"nothing was formatted, since the base's formatters cannot be had: {why}"


def _measured(
    ancestry: Callable[[Callable[[], Certificate]], Ancestry], certificate: Future[Certificate]
) -> Ancestry | Refusal:
    try:
        return ancestry(certificate.result)
    except Refusal as refusal:
        return refusal
