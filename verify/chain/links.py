"""A chain of commits, each judged by itself: claimed moves are proved, the others are looked at.

A commit that names its plan is replayed against its own parent, with the plan read from that
parent: so proofs survive a rebase, and a commit cannot choose what it is judged by.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.reading.model import Plan
from transforms.result.outcome import Outcome
from transforms.tree import GitTree
from verify.chain import cache as kept
from verify.chain.cache import VerdictCache, claim_key
from verify.chain.looking import ADDED, REMOVED, Spot, look, places_to_read
from verify.history.claims import entry_at, plan_fault
from verify.history.commits import Commit, commits_between, read_commits
from verify.history.merges import is_plain
from verify.history.ranges import differing
from verify.history.trailers import Trailer, read_trailer
from verify.history.workers import shared
from verify.kernel.verdict import (
    BREAKS,
    CERTIFIED,
    RESIDUAL,
    RESIDUALS,
    TARGET,
    UNJUDGED,
    Certificate,
)
from verify.proofs.gate import weighed
from verify.proofs.prove import prove
from verify.proofs.replay import Hunk
from verify.report.report import counted, refusal_data

Say = Callable[[int, int], None]  # told how many of how many commits are judged

PROVED = kept.PROVED  # a claimed move that its plan reproduces
NOT_PROVED = "not proved"  # a claimed move that differs, or that could not be judged
FAULTY = "faulty trailer"
PURE = "certified"  # no claim, and a pure move all the same
MERGE = "merge"
EMPTY = "empty"
UNREAD = "for human eyes"
UNDECLARED = "undeclared"  # asked to declare, it says nothing
MISDECLARED = "declared none"  # it says that it is no move, and a plan would give it
RED = frozenset({NOT_PROVED, FAULTY, UNDECLARED, MISDECLARED})
NOT_LOOKED_AT = "not looked at: too large"

_REVERT = re.compile(r"\A(?:Revert|Reapply) \"|^This reverts commit [0-9a-f]{7,64}", re.MULTILINE)
# A name such as `dependabot[bot]` or `Renovate Bot`, an address such as GitLab gives its own.
_BOT = re.compile(r"\[bot\](?: <|\Z)|\b[Bb]ot <|<(?:project|group)_\d+_bot")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one commit is. It depends on two trees and a plan alone, so that it can be kept.

    `unjudged`: a claim could not be judged at all. `symbols` and `modules` are what moves, by its
    plan where it names one, `files` what that changes, `accepted` how many findings it accepts,
    `differs` the hunks that the plan does not explain, `residuals` what is no move by the
    certificate, which takes so many `assumptions`; `lines` to `strict` are the ancestry, with
    `derived` beside it.

    `to_read` are the places that a reader is left with, `moved_lines` what moved without a claim.
    `breaks` counts the findings by which a proved move breaks a reader and that its plan does not
    accept. `looked` is false of a commit that would have taken too long, `could_have` the plan of
    one that says it is no move, `first` the first file that it changes. `refusal` is why a claim
    could not be judged, as every report holds it.
    """

    verdict: str
    reason: str
    unjudged: bool = False
    symbols: int = 0
    files: int = 0
    authored_lines: int = 0
    differs: tuple[Spot, ...] = ()
    certificate: str = ""
    residuals: tuple[Spot, ...] = ()
    added_lines: int = 0
    removed_lines: int = 0
    lines: int = 0
    traced: int = 0
    strict: int = 0
    modules: int = 0
    derived: int = 0
    assumptions: int = 0
    accepted: int = 0
    to_read: tuple[Spot, ...] = ()
    moved_lines: int = 0
    breaks: int = 0
    looked: bool = True
    could_have: str = ""
    first: str = ""
    refusal: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Link:
    """One commit of the chain with its judgement; `plan` is what its trailer names.

    `seconds` is what judging it took, 0 if it was known.
    """

    commit: str
    subject: str
    plan: str | None
    judgement: Judgement
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_red(self) -> bool:
        """Whether the commit fails the chain."""
        return self.judgement.verdict in RED

    @property
    def breaks(self) -> bool:
        """Whether it is a proved move that breaks a reader all the same: red under `--strict`."""
        return self.judgement.verdict == PROVED and self.judgement.breaks > 0

    @property
    def leaves_to_read(self) -> bool:
        """Whether it is a proved move that leaves something to read, or that its plan accepts."""
        judgement = self.judgement
        return judgement.verdict == PROVED and bool(judgement.to_read or judgement.accepted)


def judge_chain(
    repo: Path,
    base: GitTree,
    head: GitTree,
    *,
    jobs: int = 0,
    cache: VerdictCache | None = None,
    declare: bool = False,
    say: Say | None = None,
) -> tuple[Link, ...]:
    """Judge every commit that leads from `base` to `head`, oldest first.

    `jobs` processes share the work, one a core for 0; the result is the same for any number.
    `declare`: each commit has to say whether it is a move. `say` is told how many of how many
    commits are judged.
    """
    commits = commits_between(base, head)
    return judge_commits(repo, head, commits, jobs=jobs, cache=cache, declare=declare, say=say)


def judge_commits(
    repo: Path,
    head: GitTree,
    commits: Sequence[Commit],
    *,
    jobs: int = 0,
    cache: VerdictCache | None = None,
    declare: bool = False,
    say: Say | None = None,
) -> tuple[Link, ...]:
    """Judge each of these commits by itself, in their order: see `judge_chain`."""
    claims = [read_trailer(commit.message) for commit in commits]
    known: dict[str, Judgement] = {}
    keys: dict[str, str] = {}
    waiting: list[Commit] = []
    trees = _parent_trees(head, commits)
    for commit, trailer in zip(commits, claims, strict=True):
        at_once = _told_by_the_commit(commit, trailer, trees, head)
        if at_once is not None:
            known[commit.id] = _with_first(at_once, commit, head)
            continue
        plan = entry_at(head, commit.parents[0], trailer.path) if trailer.path else ""
        named = trailer.path or ("declared: none" if declare and trailer.none else "")
        keys[commit.id] = claim_key(trees[commit.parents[0]], commit.tree, plan, named)
        found = _kept(cache, keys[commit.id])
        if found is None:
            waiting.append(commit)
        else:
            known[commit.id] = found
    seconds: dict[str, float] = {}
    work = partial(_timed, repo.resolve(), declare=declare)
    judged = shared(work, waiting, jobs, say) if waiting else []
    for commit, (judgement, taken) in zip(waiting, judged, strict=True):
        known[commit.id], seconds[commit.id] = judgement, taken
        if cache is not None and not judgement.unjudged and judgement.looked:
            cache.put(keys[commit.id], judgement)
    return tuple(
        Link(
            commit.id,
            commit.subject,
            trailer.path,
            _declared(known[commit.id], commit, trailer) if declare else known[commit.id],
            seconds.get(commit.id, 0.0),
        )
        for commit, trailer in zip(commits, claims, strict=True)
    )


def _declared(judgement: Judgement, commit: Commit, trailer: Trailer) -> Judgement:
    """Find fault with a commit that does not say whether it is a move; some need not say it."""
    if trailer.declares or len(commit.parents) > 1:
        return judgement
    by = f"{commit.author} <{commit.address}"
    if _REVERT.search(commit.message) or _BOT.search(by):
        return judgement
    reason = f"it does not say whether it is a move; {judgement.reason}"
    return replace(judgement, verdict=UNDECLARED, reason=reason)


def _kept(cache: VerdictCache | None, key: str) -> Judgement | None:
    data = cache.get(key) if cache is not None else None
    if data is None:
        return None
    names = ("differs", "residuals", "to_read")
    spots = {name: tuple(Spot.kept(spot) for spot in data[name]) for name in names}
    return Judgement(**{**data, **spots})


def _parent_trees(head: GitTree, commits: Sequence[Commit]) -> dict[str, str]:
    """The tree of each commit's parent, by the parent's id."""
    trees = {commit.id: commit.tree for commit in commits}
    parents = dict.fromkeys(c.parents[0] for c in commits if len(c.parents) == 1)
    outside = [parent for parent in parents if parent not in trees]
    trees.update((commit.id, commit.tree) for commit in read_commits(head, outside))
    return trees


def _told_by_the_commit(
    commit: Commit, trailer: Trailer, trees: dict[str, str], head: GitTree
) -> Judgement | None:
    """Judge what needs no file to be read: merges, first and empty commits, faulty trailers."""
    at_once = None
    if not commit.parents:
        at_once = Judgement(UNREAD, "a first commit: all of it is new")
    elif len(commit.parents) > 1:
        if not trailer.claims and not is_plain(commit, head.repository):
            return Judgement(UNREAD, "a merge that adds to its parents; read what it resolves")
        at_once = Judgement(MERGE, "its commits are judged, and it adds nothing to them")
    elif trees[commit.parents[0]] == commit.tree:
        at_once = Judgement(EMPTY, "it changes nothing")
    if trailer.fault is not None:
        return Judgement(FAULTY, trailer.fault)
    if at_once is not None and trailer.claims:
        what = {UNREAD: "a first commit", MERGE: "a merge", EMPTY: "an empty commit"}
        return Judgement(FAULTY, f"{what[at_once.verdict]} claims to be a mechanical move")
    return at_once


def _timed(repo: Path, commit: Commit, *, declare: bool) -> tuple[Judgement, float]:
    start = time.perf_counter()
    return judge_commit(repo, commit, declare=declare), time.perf_counter() - start


def judge_commit(repo: Path, commit: Commit, *, declare: bool = False) -> Judgement:
    """Judge a commit with one parent by what it changes."""
    trailer = read_trailer(commit.message)
    parent, tree = GitTree(repo, commit.parents[0]), GitTree(repo, commit.id)
    if trailer.path is not None:
        return replace(_judge_claim(parent, tree, trailer.path), first=_first(parent, tree))
    found = look(parent, tree, planning=declare and trailer.none)
    if found is None:
        return Judgement(UNREAD, NOT_LOOKED_AT, looked=False, first=_first(parent, tree))
    certificate = found.certificate
    verdict, reason = UNREAD, _reason_to_read(certificate)
    if certificate.verdict == CERTIFIED and certificate.moved:
        if certificate.other_files:
            others = len(certificate.other_files)
            reason = f"what is Python is a pure move; {counted(others, 'other file')} changed"
        else:
            verdict, reason = PURE, f"a pure move of {counted(len(certificate.moved), 'statement')}"
    if found.plan:
        verdict = MISDECLARED
        reason = f"it says that it is no move, and a plan gives it: {found.lines} lines moved"
    judgement = Judgement(
        verdict,
        reason,
        symbols=found.symbols,
        modules=len(certificate.relocated),
        moved_lines=found.lines,
        to_read=found.to_read,
        could_have=found.plan,
        first=_first(parent, tree),
    )
    return _with_certificate(judgement, certificate)


def _with_first(judgement: Judgement, commit: Commit, head: GitTree) -> Judgement:
    """Name the first file that a faulty commit changes: that is where a forge shows the fault."""
    if judgement.verdict != FAULTY or len(commit.parents) != 1:
        return judgement
    repo = head.repository.directory
    parent, tree = GitTree(repo, commit.parents[0]), GitTree(repo, commit.id)
    return replace(judgement, first=_first(parent, tree))


def _first(parent: GitTree, tree: GitTree) -> str:
    """Name the first file that a commit changes, a Python file if it can be."""
    changed = differing(parent, tree)
    return next((path for path in changed if path.endswith(".py")), next(iter(changed), ""))


def _reason_to_read(certificate: Certificate) -> str:
    if not certificate.moved:
        return "it claims no move"
    if certificate.verdict == RESIDUAL:
        return "it claims no move; some of it is one"
    return "it claims no move; what it moves cannot be judged"


def _judge_claim(parent: GitTree, tree: GitTree, path: str) -> Judgement:
    fault = plan_fault(parent, tree, path)
    if fault is not None:
        return Judgement(FAULTY, fault)
    try:
        plan = parse_plan(parent.read(path), path)
        proof = prove(plan, parent, tree)
    except Refusal as refusal:
        reason = f"its plan is refused: {refusal}"
        return Judgement(NOT_PROVED, reason, unjudged=True, refusal=refusal_data(refusal))
    certificate = proof.certificate
    hunks, outcome, ancestry = proof.replay.hunks, proof.replay.outcome, proof.ancestry
    breaks, waived = (0, 0) if hunks else _broken(plan, parent, outcome, certificate)
    judgement = Judgement(
        NOT_PROVED if hunks else PROVED,
        "it differs from what its plan gives" if hunks else "its plan reproduces it exactly",
        symbols=sum(len(item.symbols) for item in outcome.destinations),
        files=len(outcome.changes),
        authored_lines=outcome.authored_lines,
        differs=tuple(map(_differing, hunks)),
        lines=ancestry.lines,
        traced=ancestry.traced,
        strict=ancestry.strict,
        accepted=len(outcome.accepted) + waived,
        breaks=breaks,
        to_read=tuple(places_to_read(parent, tree, certificate)),
        modules=sum(item.files for item in outcome.relocated),
        derived=ancestry.derived,
    )
    return _with_certificate(judgement, certificate)


def _differing(hunk: Hunk) -> Spot:
    lines = [*((REMOVED, line) for line in hunk.missing), *((ADDED, line) for line in hunk.extra)]
    why = f"{hunk.operation} ({hunk.note})" if hunk.note else hunk.operation
    return Spot.of(hunk.path, hunk.line, TARGET, why, lines)


def _broken(
    plan: Plan, parent: GitTree, outcome: Outcome, certificate: Certificate
) -> tuple[int, int]:
    """Count by how many findings a move breaks a reader, and how many others its plan accepts.

    The first kernel looks for what is known to go wrong, and is wrong about it too often to fail
    anybody: what it finds is to read.
    """
    if certificate.judge or not certificate.of(*UNJUDGED, BREAKS):
        return 0, 0
    found = weighed(plan, parent, outcome, certificate)
    breaks = sum(finding.kind == BREAKS for finding in found.stops)
    return breaks, len(found.accepted) + len(found.standing)


def _with_certificate(judgement: Judgement, certificate: Certificate) -> Judgement:
    return replace(
        judgement,
        certificate=certificate.verdict,
        assumptions=len(certificate.assumptions),
        residuals=tuple(
            Spot(place.path, place.line, place.side, finding.sentence, finding.kind)
            for finding in certificate.of(*RESIDUALS)
            for place in finding.places
        ),
        added_lines=certificate.added_lines,
        removed_lines=certificate.removed_lines,
    )
