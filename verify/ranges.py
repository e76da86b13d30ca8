"""What `BASE..TARGET` means in a repository: two commits, the first an ancestor of the second."""

from __future__ import annotations

from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.git import GitError, MissingObjectError
from transforms.tree import GitTree


def parse_range(text: str) -> tuple[str, str]:
    """Split `BASE..TARGET`; an empty side is HEAD, as git has it. Raises `Refusal`."""
    base, dots, target = text.partition("..")
    if not dots or target.startswith(".") or ".." in target:
        raise Refusal(
            "bad-range",
            f"`{text}` is no range of commits.",
            next_step="Write BASE..TARGET, such as `main..HEAD`.",
        )
    return base or "HEAD", target or "HEAD"


def open_range(repo: Path, base: str, target: str) -> tuple[GitTree, GitTree]:
    """Open both commits. Refuses a base that is no ancestor: the change would not be one."""
    before, after = GitTree(repo, base), GitTree(repo, target)
    if before.commit != after.commit and not is_ancestor(before, after):
        raise Refusal(
            "no-ancestor",
            f"`{base}` ({before.commit[:12]}) is not an ancestor of `{target}` "
            f"({after.commit[:12]}).",
            next_step="Name the commit that the target was built on: "
            f"git merge-base {before.commit[:12]} {after.commit[:12]}; in a shallow clone first "
            "`git fetch --unshallow`.",
            place=Place(before.commit[:12]),
        )
    return before, after


def is_ancestor(before: GitTree, after: GitTree) -> bool:
    """Whether history leads from the one commit to the other."""
    try:
        printed = after.repository.run("merge-base", before.commit, after.commit)
    except (GitError, MissingObjectError):
        return False
    return printed.decode().split() == [before.commit]
