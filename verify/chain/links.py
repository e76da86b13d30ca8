"""A chain of commits, each judged by itself: claimed moves are proved, the others are looked at.

A commit that names its plan is replayed against its own parent, with the plan read from that
parent: so proofs survive a rebase, and a commit cannot choose what it is judged by.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from transforms.errors import Refusal
from transforms.paths import to_bytes
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.chain.cache import VerdictCache
from verify.history.claims import plan_fault
from verify.history.commits import Commit, commits_between, read_commits
from verify.history.merges import is_plain
from verify.history.trailers import Trailer, read_trailer
from verify.history.workers import shared
from verify.kernel.verdict import CERTIFIED, RESIDUAL, RESIDUALS, Certificate
from verify.proofs.certify import certify_commits
from verify.proofs.prove import prove

PROVED = "proved"  # a claimed move that its plan reproduces
NOT_PROVED = "not proved"  # a claimed move that differs, or that could not be judged
FAULTY = "faulty trailer"
PURE = "certified"  # no claim, and a pure move all the same
MERGE = "merge"
EMPTY = "empty"
UNREAD = "for human eyes"
RED = frozenset({NOT_PROVED, FAULTY})


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that a reader should look at, and why. `side`: where the path and line hold.

    `kind` is that of the certificate's finding, if it is one.
    """

    path: str
    line: int
    side: str
    why: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one commit is. It depends on two trees and a plan alone, so that it can be kept.

    `unjudged`: a claim could not be judged at all. `symbols` and `modules` are what its plan
    moves, `files` what it changes, `accepted` how many findings it accepts, `differs` the hunks
    that the plan does not explain, `residuals` what is no move by the certificate, which takes so
    many `assumptions`; `lines` to `strict` are the ancestry, with `derived` beside it.
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


def judge_chain(
    repo: Path, base: GitTree, head: GitTree, *, jobs: int = 0, cache: VerdictCache | None = None
) -> tuple[Link, ...]:
    """Judge every commit that leads from `base` to `head`, oldest first.

    `jobs` processes share the work, one a core for 0; the result is the same for any number.
    """
    return judge_commits(repo, head, commits_between(base, head), jobs=jobs, cache=cache)


def judge_commits(
    repo: Path,
    head: GitTree,
    commits: Sequence[Commit],
    *,
    jobs: int = 0,
    cache: VerdictCache | None = None,
) -> tuple[Link, ...]:
    """Judge each of these commits by itself, in their order."""
    claims = [read_trailer(commit.message) for commit in commits]
    known: dict[str, Judgement] = {}
    keys: dict[str, str] = {}
    waiting: list[Commit] = []
    trees = _parent_trees(head, commits)
    for commit, trailer in zip(commits, claims, strict=True):
        at_once = _told_by_the_commit(commit, trailer, trees, head)
        if at_once is not None:
            known[commit.id] = at_once
            continue
        plan = _entry(head, commit.parents[0], trailer.path) if trailer.path else ""
        keys[commit.id] = f"{trees[commit.parents[0]]} {commit.tree} {plan} {trailer.path or ''}"
        found = _kept(cache, keys[commit.id])
        if found is None:
            waiting.append(commit)
        else:
            known[commit.id] = found
    seconds: dict[str, float] = {}
    judged = shared(partial(_timed, repo.resolve()), waiting, jobs) if waiting else []
    for commit, (judgement, taken) in zip(waiting, judged, strict=True):
        known[commit.id], seconds[commit.id] = judgement, taken
        if cache is not None and not judgement.unjudged:
            cache.put(keys[commit.id], judgement)
    return tuple(
        Link(commit.id, commit.subject, trailer.path, known[commit.id], seconds.get(commit.id, 0.0))
        for commit, trailer in zip(commits, claims, strict=True)
    )


def _kept(cache: VerdictCache | None, key: str) -> Judgement | None:
    data = cache.get(key) if cache is not None else None
    if data is None:
        return None
    spots = {name: tuple(Spot(**spot) for spot in data[name]) for name in ("differs", "residuals")}
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


def _timed(repo: Path, commit: Commit) -> tuple[Judgement, float]:
    start = time.perf_counter()
    return judge_commit(repo, commit), time.perf_counter() - start


def judge_commit(repo: Path, commit: Commit) -> Judgement:
    """Judge a commit with one parent by what it changes."""
    trailer = read_trailer(commit.message)
    parent, tree = GitTree(repo, commit.parents[0]), GitTree(repo, commit.id)
    if trailer.path is not None:
        return _judge_claim(parent, tree, trailer.path)
    certificate = certify_commits(parent, tree)
    verdict, reason = UNREAD, _reason_to_read(certificate)
    if certificate.verdict == CERTIFIED and certificate.moved:
        if certificate.other_files:
            others = len(certificate.other_files)
            reason = f"what is Python is a pure move; {others} other files changed"
        else:
            verdict, reason = PURE, f"a pure move of {len(certificate.moved)} statements"
    return _with_certificate(Judgement(verdict, reason), certificate)


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
        proof = prove(parse_plan(parent.read(path), path), parent, tree)
    except Refusal as refusal:
        return Judgement(NOT_PROVED, f"its plan is refused: {refusal}", unjudged=True)
    hunks, outcome, ancestry = proof.replay.hunks, proof.replay.outcome, proof.ancestry
    judgement = Judgement(
        NOT_PROVED if hunks else PROVED,
        "it differs from what its plan gives" if hunks else "its plan reproduces it exactly",
        symbols=sum(len(item.symbols) for item in outcome.destinations),
        files=len(outcome.changes),
        authored_lines=outcome.authored_lines,
        differs=tuple(Spot(hunk.path, hunk.line, "target", hunk.operation) for hunk in hunks),
        lines=ancestry.lines,
        traced=ancestry.traced,
        strict=ancestry.strict,
        accepted=len(outcome.accepted),
        modules=sum(item.files for item in outcome.relocated),
        derived=ancestry.derived,
    )
    return _with_certificate(judgement, proof.certificate)


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


def _entry(head: GitTree, commit: str, path: str) -> str:
    """What a commit has at a path: mode and id, as a key; empty where it has nothing."""
    name = os.fsdecode(to_bytes(path))  # as bytes under any locale
    printed = head.repository.run("ls-tree", "-z", "--full-tree", commit, "--", name)
    return printed.partition(b"\t")[0].decode("ascii", "replace")
