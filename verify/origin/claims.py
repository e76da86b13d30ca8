"""Which commits claim a move, and whether one is: its plan, replayed on its parent, gives it.

That is all that is asked. A verdict that `repot chain` or `repot series` has kept is taken; where
there is none the plan is replayed, and nothing is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.reading.model import Plan
from transforms.tree import GitTree
from transforms.tree.git import GitError, Repository
from verify.chain.cache import PROVED, VerdictCache, claim_key
from verify.history.claims import entry_at, plan_fault
from verify.history.commits import Commit, read_commits
from verify.history.trailers import read_trailer


@dataclass(frozen=True, slots=True)
class Claim:
    """A commit that claims a move; `plan` is what its trailer names.

    `fault` says why the claim is not proved, and is empty where it is. `unjudged`: it could not be
    told today, and may be another day.
    """

    commit: str
    subject: str
    plan: str
    fault: str = ""
    unjudged: bool = False


@dataclass(frozen=True, slots=True)
class Claims:
    """All commits up to one that claim a move, and those of them that are met first from there."""

    commits: Sequence[str]
    first: Sequence[str]


def find_claims(head: GitTree, ours: Repository) -> Claims:
    """Find them by reading every message. Raises `Refusal` where a commit is missing."""
    parents = history(head, ours)
    found = [c.id for c in read_commits(head, list(parents)) if read_trailer(c.message).claims]
    return Claims(tuple(found), tuple(stops(head.commit, parents, set(found))))


def history(head: GitTree, ours: Repository) -> dict[str, list[str]]:
    """Give the parents of each commit up to one, as far as the clone goes."""
    try:
        printed = ours.run("rev-list", "--parents", head.commit).decode("ascii")
    except GitError:
        raise head.repository.missing("A commit of the history") from None
    rows = [row.split() for row in printed.splitlines()]
    return {row[0]: row[1:] for row in rows}


def stops(start: str, parents: Mapping[str, Sequence[str]], claims: Collection[str]) -> list[str]:
    """Give the claims that are met first on any way back from a commit, itself left out."""
    seen = {start}
    found: list[str] = []
    waiting = list(parents[start])
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in claims:
            found.append(name)
        else:
            waiting += parents[name]
    return sorted(found)


def read_claim(commit: Commit) -> Claim:
    """Read what a commit claims, and what is wrong with that by itself.

    Without a fault it is yet to be judged.
    """
    trailer = read_trailer(commit.message)
    fault = trailer.fault or ""
    if not fault and len(commit.parents) != 1:
        what = "a merge" if commit.parents else "a first commit"
        fault = f"{what} claims to be a mechanical move"
    return Claim(commit.id, commit.subject, trailer.path or "", fault)


def judged(
    claim: Claim,
    commit: Commit,
    head: GitTree,
    cache: VerdictCache | None,
    say: Callable[[str], None] | None = None,
) -> Claim:
    """Judge a claim by what is kept, or by its replay. `say` is told of an installation."""
    (parent,) = read_commits(head, commit.parents)
    if cache is not None:
        entry = entry_at(head, parent.id, claim.plan)
        kept = cache.get(claim_key(parent.tree, commit.tree, entry, claim.plan))
        if kept is not None:
            fault = "" if kept["verdict"] == PROVED else str(kept["reason"])
            return Claim(claim.commit, claim.subject, claim.plan, fault)
    fault, unjudged = _replayed(claim.plan, *_sides(head, commit), say)
    return Claim(claim.commit, claim.subject, claim.plan, fault, unjudged)


def plan_of(claim: Claim, commit: Commit, head: GitTree) -> tuple[Plan, GitTree, GitTree]:
    """Give the plan of a claim, as the parent has it, and both trees. Raises `Refusal`."""
    parent, tree = _sides(head, commit)
    return parse_plan(parent.read(claim.plan), claim.plan), parent, tree


def _sides(head: GitTree, commit: Commit) -> tuple[GitTree, GitTree]:
    (parent,) = commit.parents
    return GitTree.known(head.repository, parent), GitTree.known(head.repository, commit.id)


def _replayed(
    path: str, parent: GitTree, tree: GitTree, say: Callable[[str], None] | None
) -> tuple[str, bool]:
    """Say why the plan does not give the commit, and whether that could not be told."""
    from transforms.syntax.parsing import parsed_once
    from verify.proofs.prove import formatters_of
    from verify.proofs.replay import replay

    try:
        fault = plan_fault(parent, tree, path)
        if fault is not None:
            return fault, False
        plan = parse_plan(parent.read(path), path)
        with parsed_once():
            done = replay(plan, parent, tree, formatters_of(plan.formatters, parent, say=say))
    except Refusal as refusal:
        return f"its plan is refused: {refusal}", True
    if done.reproduces:
        return "", False
    first = done.hunks[0]
    return f"it differs from what its plan gives, first at {first.path}:{first.line}", False
