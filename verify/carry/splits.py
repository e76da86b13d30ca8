"""The commits that a branch is carried over, each with its plan: given, its trailer's, or inferred.

A plan that a trailer names is read from the commit's parent, as a judge reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.reading.load import decode_plan, parse_plan, plan_text
from transforms.reading.model import Plan
from transforms.tree import GitTree
from verify.history.commits import Commit, read_commits
from verify.history.ranges import is_ancestor
from verify.history.trailers import TRAILER, read_trailer
from verify.inference.infer import infer


@dataclass(frozen=True)
class Split:
    """One commit that moved code. `origin` says where its plan is from, `text` is the plan's TOML.

    All of it is plain text, so that it can be kept from one run to the next.
    """

    commit: str
    parent: str
    tree: str
    origin: str
    text: str

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        return parse_plan(self.text.encode(), self.origin)


def read_splits(repo: Path, overs: Sequence[str], plans: Sequence[Path]) -> tuple[Split, ...]:
    """Read the commits in their order, and the plan of each.

    `plans` are files: none, or one for each commit. Raises `Refusal`.
    """
    if plans and len(plans) != len(overs):
        raise Refusal(
            "carry-over",
            f"{len(plans)} plans are given for {len(overs)} commits.",
            next_step="Give `--plan` once for each `--over`, in their order, or not at all.",
        )
    trees = [GitTree(repo, over) for over in overs]
    commits = [next(read_commits(tree, [tree.commit])) for tree in trees]
    for over, commit in zip(overs, commits, strict=True):
        if len(commit.parents) != 1:
            raise Refusal(
                "carry-over",
                f"`{over}` is a merge or a first commit, not one that moved code.",
                next_step="Name the commit that made the split.",
                place=Place(commit.id[:12]),
            )
    _require_order(trees)
    files: Sequence[Path | None] = plans or [None] * len(overs)
    found = zip(trees, commits, files, strict=True)
    return tuple(_split(*each) for each in found)


def _require_order(trees: Sequence[GitTree]) -> None:
    for before, after in pairwise(trees):
        if before.commit == after.commit or not is_ancestor(before, after):
            raise Refusal(
                "carry-over",
                f"Commit {after.commit[:12]} does not come after {before.commit[:12]}.",
                next_step="Name the splits in the order in which main made them.",
                place=Place(after.commit[:12]),
            )


def _split(tree: GitTree, commit: Commit, file: Path | None) -> Split:
    parent = GitTree.known(tree.repository, commit.parents[0])
    if file is not None:
        origin, text = str(file), plan_text(file)
    else:
        origin, text = _found(parent, tree, commit)
    split = Split(commit.id, commit.parents[0], commit.tree, origin, text)
    split.plan  # noqa: B018 - read now: a plan that is none is refused before anything is done
    return split


def _found(parent: GitTree, tree: GitTree, commit: Commit) -> tuple[str, str]:
    """Find where the plan is from, and its text: what the trailer names, or what is inferred."""
    trailer = read_trailer(commit.message)
    if trailer.fault is not None:
        raise Refusal(
            "carry-over",
            f"Commit {commit.id[:12]} claims a move, but {trailer.fault}.",
            next_step="Give its plan with `--plan FILE`.",
            place=Place(commit.id[:12]),
        )
    if trailer.path is not None:
        if trailer.path not in parent.entries():
            raise Refusal(
                "carry-over",
                f"The `{TRAILER}` trailer of {commit.id[:12]} names `{trailer.path}`, which its "
                "parent does not have.",
                next_step="Give its plan with `--plan FILE`.",
                place=Place(trailer.path),
            )
        return trailer.path, decode_plan(parent.read(trailer.path), trailer.path)
    return f"plan inferred from {commit.id[:12]}", infer(parent, tree).text
