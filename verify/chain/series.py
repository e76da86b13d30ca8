"""The series of a history: every commit that claims a mechanical move, found by its trailer."""

from __future__ import annotations

from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree import GitTree
from verify.chain.cache import VerdictCache
from verify.chain.links import Link, Say, judge_commits
from verify.history.commits import commits_that_say
from verify.history.trailers import TRAILER, read_trailer


def judge_series(
    repo: Path,
    rev: str,
    *,
    jobs: int = 0,
    cache: VerdictCache | None = None,
    say: Say | None = None,
) -> tuple[Link, ...]:
    """Judge every commit up to `rev` that claims a move, oldest first.

    Raises `Refusal` where there is no history, only a part of it, or no claim in it.
    """
    head = _open(repo, rev)
    commits = commits_that_say(head, lambda message: read_trailer(message).claims)
    if head.repository.is_shallow():
        raise Refusal(
            "shallow-history",
            "The clone is shallow: it holds only a part of the history, and perhaps no series.",
            next_step="Bring the rest with `git fetch --unshallow`, then run this again.",
            place=Place(str(repo)),
        )
    links = judge_commits(repo, head, commits, jobs=jobs, cache=cache, say=say)
    claims = tuple(link for link in links if link.plan is not None or link.is_red)
    if not claims:
        raise Refusal(
            "no-series",
            f"No commit up to `{rev}` has a `{TRAILER}:` trailer.",
            next_step="Name the branch that has the moves, or judge commits without trailers with "
            "`repot chain BASE..HEAD`.",
            place=Place(str(repo)),
        )
    return claims


def _open(repo: Path, rev: str) -> GitTree:
    try:
        return GitTree(repo, rev)
    except Refusal as refusal:
        if refusal.kind != "no-repository":
            raise
        raise Refusal(
            "no-repository",
            "This is no git repository: a bare source archive holds no history to replay.",
            next_step="Clone the repository, or name a clone with `--repo`.",
            place=refusal.place,
        ) from None
