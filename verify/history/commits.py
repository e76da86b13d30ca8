"""Commit objects, read raw: no replacement, no graft, and the message as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from transforms.tree import GitTree
from transforms.tree.git import GitError

_OLDEST_FIRST = ("--reverse", "--topo-order")


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says of itself; `tree` and `parents` are ids."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str = ""  # a name, without its address

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.strip("\n").split("\n", 1)[0]


def commits_between(base: GitTree, head: GitTree) -> list[Commit]:
    """List all commits that lead from `base` to `head`, each after its parents.

    Raises `Refusal` where the repository says that a commit has other parents than it has: a clone
    that is shallow there hides what leads to it.
    """
    options = (*_OLDEST_FIRST, "--parents")
    listed = _rev_list(head, "A commit of the range", *options, _range(base, head))
    rows = [line.split() for line in listed]
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
    ids = _rev_list(head, "A commit of the history", *_OLDEST_FIRST, head.commit)
    folded = word.casefold()
    commits = read_commits(head, ids)
    return [commit for commit in commits if folded in commit.message.casefold()]


def count_between(base: GitTree, head: GitTree) -> int:
    """Count the commits that lead from `base` to `head`. Raises `Refusal` where one is not here."""
    return int(*_rev_list(head, "A commit between the two", "--count", _range(base, head)))


def _range(base: GitTree, head: GitTree) -> str:
    return f"{base.commit}..{head.commit}"


def _rev_list(head: GitTree, what: str, *arguments: str) -> list[str]:
    """Give the lines that `git rev-list` prints; `what` may not be here, for a refusal."""
    try:
        return head.repository.run("rev-list", *arguments).decode().splitlines()
    except GitError:
        raise head.repository.missing(what) from None


def read_commits(tree: GitTree, ids: Sequence[str]) -> Iterator[Commit]:
    """Read commits in one batch, in order. Raises `Refusal` where one is not here."""
    try:
        for name, raw in tree.repository.objects(ids, "commit"):
            yield _parsed(name, raw)
    except GitError:
        raise tree.repository.missing("A commit of the range") from None


def _parsed(name: str, raw: bytes) -> Commit:
    """Read a commit as git does: its tree, then its parents, and no parent further down."""
    head, _, message = raw.partition(b"\n\n")
    first, *rest = [line.decode("ascii", "replace").partition(" ") for line in head.split(b"\n")]
    parents = tuple(value for _, _, value in takewhile(lambda field: field[0] == "parent", rest))
    tree = first[2] if first[0] == "tree" else ""
    return Commit(name, tree, parents, message.decode("utf-8", "replace"), _author(head))


def _author(head: bytes) -> str:
    """Name the author: what stands before the address, in the first line that says who it was."""
    lines = (line for line in head.split(b"\n") if line.startswith(b"author "))
    line = next(lines, b"").decode("utf-8", "replace").removeprefix("author ")
    return line.partition(" <")[0].strip()
