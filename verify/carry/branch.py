"""The commits of a branch, and each of them written again on another parent.

A commit keeps its author, its committer, both dates, its encoding and its message byte for byte, so
that the same branch carried over the same split has the same ids everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transforms.errors import Place, Refusal
from transforms.tree import GitTree
from transforms.tree.git import GitError, Repository
from verify.history.commits import Commit, read_commits

_SIGNATURE = re.compile(rb"(?m)^(?:gpgsig|gpgsig-sha256|mergetag) [^\n]*(?:\n [^\n]*)*\n?")
_PLACE = re.compile(rb"(?m)^(?:tree|parent) [^\n]*\n")


@dataclass(frozen=True, slots=True)
class Own:
    """One of the branch's own commits. `base` and `tree` are the ids of the trees it leads between.

    `kept` is what stays of it on another parent, `signed` whether a signature does not.
    """

    commit: Commit
    base: str
    kept: bytes
    signed: bool

    @property
    def id(self) -> str:
        """The commit's id."""
        return self.commit.id

    @property
    def tree(self) -> str:
        """The id of the commit's tree."""
        return self.commit.tree

    def written(self, tree: str, parent: str) -> bytes:
        """Give the commit's bytes with another tree and parent."""
        return f"tree {tree}\nparent {parent}\n".encode("ascii") + self.kept


@dataclass(frozen=True, slots=True)
class Branch:
    """What a branch has that main has not, oldest first; `merges` of main are left out."""

    name: str
    tip: str
    commits: tuple[Own, ...]
    merges: tuple[str, ...]


def read_branch(name: str, tip: GitTree, main: Iterable[str]) -> Branch:
    """List the branch's own commits: those that lead to its tip and to none of `main`.

    Raises `Refusal` for a merge of another branch, for a history that does not begin in main's, and
    where a commit is not here.
    """
    repository = tip.repository
    without = [f"^{commit}" for commit in main]
    try:
        listed = repository.run("rev-list", "--topo-order", "--reverse", tip.commit, *without)
    except GitError:
        raise repository.missing("A commit of the branch") from None
    ids = listed.decode().split()
    commits = list(read_commits(tip, ids))
    own, merges = _parted(commits, set(ids))
    raw = _raw(repository, [commit.id for commit in own])
    parents = [commit.parents[0] for commit in own]
    trees = {c.id: c.tree for c in read_commits(tip, list(dict.fromkeys(parents)))}
    made = []
    for commit, data in zip(own, raw, strict=True):
        kept, signed = _kept(data)
        made.append(Own(commit, trees[commit.parents[0]], kept, signed))
    return Branch(name, tip.commit, tuple(made), tuple(merges))


def _parted(commits: Sequence[Commit], listed: set[str]) -> tuple[list[Commit], list[str]]:
    """Part the branch's own commits from merges of main. Raises `Refusal`."""
    own: list[Commit] = []
    merges: list[str] = []
    for commit in commits:
        if not commit.parents:
            raise Refusal(
                "no-common-commit",
                "The branch has a first commit of its own: its history does not begin in main's.",
                next_step="Name a branch that was begun on main.",
                place=Place(commit.id[:12]),
            )
        if len(commit.parents) == 1:
            own.append(commit)
        elif sum(parent in listed for parent in commit.parents) > 1:
            raise Refusal(
                "merged-branch",
                f"Commit {commit.id} merges another branch, one that main does not have: "
                f"{commit.subject}",
                next_step="Carry a branch that is a line of commits: rebase it first, or carry the "
                "other branch and merge it again.",
                place=Place(commit.id[:12]),
            )
        else:
            merges.append(commit.id)
    return own, merges


def _raw(repository: Repository, ids: Sequence[str]) -> list[bytes]:
    try:
        return [data for _, data in repository.objects(ids, "commit")]
    except GitError:
        raise repository.missing("A commit of the branch") from None


def _kept(raw: bytes) -> tuple[bytes, bool]:
    """Give a commit without tree, parents and signatures, and whether it had one of these."""
    head, gap, message = raw.partition(b"\n\n")
    fields = head + b"\n"
    placed = _PLACE.match(fields)
    while placed:  # only where they stand: a field further down may begin with the same word
        fields = fields[placed.end() :]
        placed = _PLACE.match(fields)
    unsigned = _SIGNATURE.sub(b"", fields)
    return unsigned.removesuffix(b"\n") + gap + message, unsigned != fields
