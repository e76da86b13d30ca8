"""Whether a merge adds anything of its own to what its parents bring."""

from __future__ import annotations

from transforms.tree.git import GitError, Repository
from verify.history.commits import Commit
from verify.history.scratch import Scratch


def is_plain(commit: Commit, judged: Repository) -> bool:
    """Whether git merges the two parents, without conflict, to exactly this commit's tree.

    Where that cannot be told (three parents, a git older than 2.38, history that is not all here)
    it is not: somebody must read what the merge resolves.
    """
    if len(commit.parents) != 2:
        return False
    try:
        with Scratch(judged) as scratch:
            printed = scratch.repository.run(
                "merge-tree", "--write-tree", "--allow-unrelated-histories", *commit.parents
            )
    except GitError:
        return False
    return printed.split()[:1] == [commit.tree.encode()]
