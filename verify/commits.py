"""Commit objects, read raw: no replacement, no graft, and the message as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from transforms.git import GitError, MissingObjectError
from transforms.tree import GitTree


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says of itself; `tree` and `parents` are ids."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.strip("\n").split("\n", 1)[0]


def commits_between(base: GitTree, head: GitTree) -> list[Commit]:
    """List all commits that lead from `base` to `head`, each after its parents.

    Raises `Refusal` where the repository says that a commit has other parents than it has: a clone
    that is shallow there hides what leads to it.
    """
    try:
        printed = head.repository.run(
            "rev-list", "--reverse", "--topo-order", "--parents", f"{base.commit}..{head.commit}"
        )
    except (GitError, MissingObjectError):
        raise head.repository.missing("A commit of the range") from None
    rows = [line.split() for line in printed.decode().splitlines()]
    commits = list(read_commits(head, [row[0] for row in rows]))
    for commit, (_, *parents) in zip(commits, rows, strict=True):
        if commit.parents != tuple(parents):
            raise head.repository.missing(f"What leads to {commit.id[:12]}")
    return commits


def commits_that_name(head: GitTree, word: str) -> list[Commit]:
    """List the commits up to `head` whose message holds a word in any case, after their parents.

    Messages are searched as they are stored: `git log --grep` reads them in the encoding that the
    repository or the commit claims, which may hide the word. A quick look, not a verdict.
    """
    try:
        printed = head.repository.run("rev-list", "--reverse", "--topo-order", head.commit)
    except (GitError, MissingObjectError):
        raise head.repository.missing("A commit of the history") from None
    folded = word.casefold()
    commits = read_commits(head, printed.decode().split())
    return [commit for commit in commits if folded in commit.message.casefold()]


def read_commits(tree: GitTree, ids: Sequence[str]) -> Iterator[Commit]:
    """Read commits in one batch, in order. Raises `Refusal` where one is not here."""
    try:
        for name, raw in tree.repository.objects(ids, "commit"):
            yield _parsed(name, raw)
    except (MissingObjectError, GitError):
        raise tree.repository.missing("A commit of the range") from None


def _parsed(name: str, raw: bytes) -> Commit:
    """Read a commit as git does: its tree, then its parents, and no parent further down."""
    head, _, message = raw.partition(b"\n\n")
    first, *rest = [line.decode("ascii", "replace").partition(" ") for line in head.split(b"\n")]
    parents = tuple(value for _, _, value in takewhile(lambda field: field[0] == "parent", rest))
    tree = first[2] if first[0] == "tree" else ""
    return Commit(name, tree, parents, message.decode("utf-8", "replace"))
