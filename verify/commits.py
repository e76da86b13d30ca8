"""Commit objects, read raw: no replacement, no graft, and the message as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


def commits_between(base: GitTree, head: GitTree) -> list[str]:
    """List the ids of all commits that lead from `base` to `head`, each after its parents."""
    printed = head.repository.run(
        "rev-list", "--reverse", "--topo-order", f"{base.commit}..{head.commit}"
    )
    return printed.decode().split()


def commits_that_name(head: GitTree, word: str) -> list[str]:
    """List the commits up to `head` with a message line that begins so, each after its parents.

    `word` is letters and hyphens; its case does not matter. A quick look, not a verdict.
    """
    printed = head.repository.run(
        "rev-list", "--reverse", "--topo-order", "--regexp-ignore-case",
        f"--grep=^{word}[ \t]*:", head.commit,
    )  # fmt: skip
    return printed.decode().split()


def read_commits(tree: GitTree, ids: Sequence[str]) -> Iterator[Commit]:
    """Read commits in one batch, in order. Raises `Refusal` where one is not here."""
    try:
        for name, raw in tree.repository.objects(ids, "commit"):
            yield _parsed(name, raw)
    except (MissingObjectError, GitError):
        raise tree.repository.missing("A commit of the range") from None


def _parsed(name: str, raw: bytes) -> Commit:
    head, _, message = raw.partition(b"\n\n")
    fields = [line.decode("ascii", "replace").partition(" ") for line in head.split(b"\n")]
    tree = next((value for key, _, value in fields if key == "tree"), "")
    parents = tuple(value for key, _, value in fields if key == "parent")
    return Commit(name, tree, parents, message.decode("utf-8", "replace"))
