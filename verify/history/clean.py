"""Whether a working tree and its index are what HEAD is: nothing uncommitted anywhere."""

from __future__ import annotations

from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree import GitTree, git
from verify.history.ranges import differing
from verify.history.scratch import Scratch
from verify.history.snapshot import of_index, of_working_tree

_MOST = 5  # files that a refusal names


def require_clean(repo: Path) -> None:
    """Refuse where anything is not committed: changed, staged, new and not ignored, or in doubt."""
    head = GitTree(repo, "HEAD")
    judged = git.require(repo)
    if judged.top is None:
        raise Refusal(
            "bare-repository",
            "A bare repository has no working tree.",
            next_step="Name a checkout.",
            place=Place(str(repo)),
        )
    with Scratch(judged) as scratch:
        base = GitTree(scratch.repository.directory, head.commit)
        for found in (of_index(judged, scratch), of_working_tree(judged, scratch, head)):
            commit = scratch.commit(found.tree, [head.commit])
            paths = sorted(differing(base, GitTree(scratch.repository.directory, commit)))
            paths += [path for path, _why in found.unjudged]
            if paths:
                raise _unclean(paths)


def _unclean(paths: list[str]) -> Refusal:
    named = ", ".join(f"`{path}`" for path in paths[:_MOST])
    left = len(paths) - _MOST
    more = f" and {left:,} more" if left > 0 else ""
    return Refusal(
        "unclean-tree",
        f"Not everything is committed: {named}{more}.",
        next_step="Commit it, the plan by itself, or stash it; ignore what is never to be kept.",
        place=Place(paths[0]),
    )
