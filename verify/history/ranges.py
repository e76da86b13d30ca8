"""What `BASE..TARGET` means in a repository: two commits, the first an ancestor of the second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.result.changes import SUBMODULE, Blob
from transforms.tree import GitTree
from transforms.tree.git import GitError, MissingObjectError


def open_range(
    repo: Path, base: str, target: str, *, form: str = "{base}..{target}"
) -> tuple[GitTree, GitTree]:
    """Open both commits. Raises `Refusal` where they are no change: see `require_range`."""
    before, after = GitTree(repo, base), GitTree(repo, target)
    require_range(before, after, base, target, form=form)
    return before, after


def require_range(
    before: GitTree, after: GitTree, base: str, target: str, *, form: str = "{base}..{target}"
) -> None:
    """Refuse a base that is no ancestor: the change would not be one.

    Refuses one commit as both, too: a verdict on nothing could be taken for one on something.
    `base` and `target` are what the commits were named by, `form` is how a person names two.
    """
    if before.commit == after.commit:
        raise Refusal(
            "nothing-to-judge",
            "Base and target are the same commit.",
            next_step="Name the commit before the change as the base.",
            place=Place(before.commit[:12]),
        )
    if not is_ancestor(before, after):
        raise Refusal(
            "no-ancestor",
            f"`{base}` ({before.commit[:12]}) is not an ancestor of `{target}` "
            f"({after.commit[:12]}).",
            next_step=_instead(before, after, target, form),
            place=Place(before.commit[:12]),
        )


def _instead(before: GitTree, after: GitTree, target: str, form: str) -> str:
    """Say what to type for a base that the target was not built on."""
    shallow = ""
    if after.repository.is_shallow():
        shallow = " The clone is shallow: first `git fetch --unshallow`."
    try:
        found = _merge_base(before, after)
    except GitError:
        return f"Name the commit that the target was built on.{shallow}"
    if found == after.commit:
        return f"The target is older than the base: name the two the other way round.{shallow}"
    typed = form.format(base=found[:12], target=target)
    return f"Name the commit that the target was built on: `{typed}`.{shallow}"


def common_ancestor(repo: Path, base: str, head: str) -> str:
    """Give the newest commit that two revisions have in common: where a branch left another.

    Raises `Refusal` where a revision is not here, or where they have nothing in common.
    """
    before, after = GitTree(repo, base), GitTree(repo, head)
    try:
        return _merge_base(before, after)
    except MissingObjectError:
        raise after.repository.missing("What leads to the two commits") from None
    except GitError:
        if after.repository.is_shallow():
            raise after.repository.missing("What leads to the two commits") from None
        raise Refusal(
            "no-common-commit",
            f"`{base}` ({before.commit[:12]}) and `{head}` ({after.commit[:12]}) have no commit "
            "in common.",
            next_step="Name as the base a commit that the other was built on.",
            place=Place(before.commit[:12]),
        ) from None


def is_ancestor(before: GitTree, after: GitTree) -> bool:
    """Whether history leads from the one commit to the other."""
    try:
        return _merge_base(before, after) == before.commit
    except GitError:
        return False


def _merge_base(before: GitTree, after: GitTree) -> str:
    return after.repository.run("merge-base", before.commit, after.commit).decode().strip()


def differing(before: GitTree, after: GitTree) -> list[str]:
    """List the paths whose bytes or modes differ between two commits, sorted."""
    old, new = before.ids(), after.ids()
    modes, new_modes = before.entries(), after.entries()
    return sorted(
        path
        for path in {*old, *new}
        if old.get(path) != new.get(path) or modes.get(path) != new_modes.get(path)
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """What a commit has at a path; a submodule's bytes are the id of the commit it points to."""

    data: bytes
    mode: int

    @classmethod
    def of(cls, blob: Blob | None) -> Entry | None:
        """Give what a commit would have, were this file in it."""
        return None if blob is None else cls(blob.data, blob.mode)

    @property
    def binary(self) -> bool:
        """Whether git would take it for binary."""
        return self.mode != SUBMODULE and Blob(self.data, self.mode).binary


def entries_at(tree: GitTree, paths: list[str]) -> dict[str, Entry]:
    """Read those of `paths` that the commit has, in one batch."""
    entries, ids = tree.entries(), tree.ids()
    here = [path for path in paths if path in entries]
    data = tree.read_many([path for path in here if entries[path] != SUBMODULE])
    return {
        path: Entry(data[path] if path in data else ids[path].encode(), entries[path])
        for path in here
    }
