"""A review: everything that can be told of a change that somebody else made, from its two commits.

The plan behind it, whether that plan gives its bytes, the certificate, the ancestry. What one of
them cannot tell takes nothing from the others.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import Enum

from transforms.errors import Refusal
from transforms.formatters import no_formatters
from transforms.reading.load import dump_plan, parse_plan
from transforms.reading.model import Plan
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from verify.ancestry.measure import Ancestry
from verify.history.claims import plan_fault
from verify.history.trailers import Trailer
from verify.inference.infer import infer
from verify.kernel.verdict import CERTIFIED, RESIDUAL, Certificate
from verify.proofs.certify import certifying
from verify.proofs.moved_names import measuring
from verify.proofs.prove import formatters_of
from verify.proofs.replay import Replay, replay
from verify.review.change import Size, size_of, trailer_of

_NO_SIZE = Size(0, None)
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


class Source(Enum):
    """Where the plan came from that was replayed."""

    GIVEN = "given"
    NAMED = "named by the commit"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class Claim:
    """That a commit is the move of a plan: the path that it names, and why that is not so.

    `fault` is empty where nothing is wrong with the plan; whether it gives the commit's bytes is
    for the replay to say.
    """

    path: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """What was found. Of `replay` and `no_plan` exactly one is there.

    `ancestry` is a refusal where history is missing. `plan` is the text of the plan, wherever it
    came from; `notes` are what was ambiguous in finding it. `claim` is what the commit says of
    itself, where it is one commit.
    """

    base: str
    target: str
    certificate: Certificate
    ancestry: Ancestry | Refusal
    replay: Replay | None
    no_plan: Refusal | None
    plan: str = ""
    notes: tuple[str, ...] = ()
    source: Source = Source.INFERRED
    claim: Claim | None = None
    size: Size = _NO_SIZE
    without: Refusal | None = None  # why nothing was formatted: the base's cannot be had

    @property
    def false_claim(self) -> str:
        """Say why the commit is not what it says of itself; empty if it is, or says nothing."""
        if self.claim is None or self.source is Source.GIVEN:
            return ""
        if self.claim.fault:
            return self.claim.fault
        if self.source is Source.NAMED and self.replay is not None and not self.replay.reproduces:
            return f"`{self.claim.path}` does not give its bytes"
        return ""

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


def review(
    base: GitTree,
    target: GitTree,
    plan: Plan | None = None,
    *,
    say: Callable[[str, int, int], None] = lambda _what, _number, _of: None,
) -> Review:
    """Review a change; `plan` is replayed in place of one that the commit names or that is found.

    Raises `Refusal` only for what keeps all of it from being judged. Blame is git's work, in
    processes of its own, and so, in a tree that is not small, is the certificate, while the plan is
    looked for. `say` is told what is done or waited for, the how-manyth step it is of how many.
    """
    with (
        certifying(base, target) as certificate,
        parsed_once(),
        measuring(base, target) as ancestry,
    ):
        claim = _claim(trailer_of(base, target), base, target)
        found = _given(plan) if plan is not None else _named(claim, base)
        done, no_plan = None, None
        notes: tuple[str, ...] = ()
        without: Refusal | None = None
        say("finding the plan" if plan is None else "replaying the plan", 2, 5)
        try:
            if found is not None:
                done, without = _replayed(found.plan, base, target)
            else:
                inferred = infer(base, target)
                done, notes, without = inferred.replay, inferred.notes, inferred.without
                found = _Chosen(inferred.plan, inferred.text, Source.INFERRED)
        except Refusal as refusal:
            no_plan = refusal
            if found is not None and found.source is Source.NAMED and claim is not None:
                claim = replace(claim, fault=f"its plan is refused: {refusal.cause}")
        say("certifying", 3, 5)
        judged = certificate.result()
        say("blaming", 4, 5)
        return Review(
            base.commit,
            target.commit,
            judged,
            _measured(ancestry, certificate),
            done,
            no_plan,
            found.text if found is not None else "",
            notes,
            found.source if found is not None else Source.INFERRED,
            claim,
            size_of(base, target),
            without,
        )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The plan that is replayed."""

    plan: Plan
    text: str
    source: Source


def _given(plan: Plan) -> _Chosen:
    return _Chosen(plan, dump_plan(plan, {}), Source.GIVEN)


def _claim(trailer: Trailer, base: GitTree, target: GitTree) -> Claim | None:
    if not trailer.claims:
        return None
    if trailer.path is None:
        return Claim("", trailer.fault or "")
    return Claim(trailer.path, plan_fault(base, target, trailer.path) or _unreadable(trailer, base))


def _unreadable(trailer: Trailer, base: GitTree) -> str:
    try:
        parse_plan(base.read(trailer.path or ""), trailer.path or "")
    except Refusal as refusal:
        return f"its plan is refused: {refusal.cause}"
    return ""


def _named(claim: Claim | None, base: GitTree) -> _Chosen | None:
    """Read the plan that the commit names, as its parent has it; none where that is no plan."""
    if claim is None or claim.fault:
        return None
    data = base.read(claim.path)
    return _Chosen(parse_plan(data, claim.path), data.decode("utf-8", "replace"), Source.NAMED)


def _replayed(plan: Plan, base: GitTree, target: GitTree) -> tuple[Replay, Refusal | None]:
    """Replay a plan: without the base's formatters where they cannot be had, which is told."""
    try:
        return replay(plan, base, target, formatters_of(plan.formatters, base)), None
    except Refusal as refusal:
        if not refusal.kind.startswith("formatter-"):
            raise
        return replay(plan, base, target, no_formatters()), refusal


def _measured(
    ancestry: Callable[[Callable[[], Certificate]], Ancestry], certificate: Future[Certificate]
) -> Ancestry | Refusal:
    try:
        return ancestry(certificate.result)
    except Refusal as refusal:
        return refusal
