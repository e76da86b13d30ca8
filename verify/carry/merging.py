"""Three-way merges of trees, and what is left of one that conflicts.

Git merges, in a repository of our own: no driver, attribute or setting of the user's has a say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from transforms.errors import Refusal
from transforms.result.changes import SUBMODULE
from transforms.tree import GitTree
from transforms.tree.git import GitError
from verify.history.scratch import Scratch

_MOST_KEPT = 8  # trees of which the listing is kept
OURS = "carried"  # how conflict markers name what the branch comes to stand on


@dataclass(frozen=True, slots=True)
class Conflict:
    """What git could not merge at a path, in git's words."""

    path: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Merge:
    """The tree of a merge. Where it conflicts its files hold markers; `stages` are index lines."""

    tree: str
    conflicts: tuple[Conflict, ...] = ()
    stages: tuple[str, ...] = field(default=())

    @property
    def clean(self) -> bool:
        """Whether nothing is left to a person."""
        return not self.stages


class Merges:
    """Merges trees in a scratch repository."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._trees: dict[str, GitTree] = {}

    def tree(self, name: str) -> GitTree:
        """Open a tree as what plans are applied to. The last few are kept: a listing is large."""
        if name not in self._trees:
            if len(self._trees) >= _MOST_KEPT:
                del self._trees[next(iter(self._trees))]
            tree = GitTree.known(self._scratch.repository, self._scratch.commit(name))
            tree.label = "branch"
            self._trees[name] = tree
        return self._trees[name]

    def as_git(self, base: str, ours: str, theirs: str, label: str) -> Merge:
        """Merge as git does by itself, renamed files included."""
        return self._merge(base, ours, theirs, label, renames=True)

    def exactly(self, base: str, ours: str, theirs: str, label: str) -> Merge:
        """Merge so that of what one side renamed only files with equal bytes are followed."""
        merge = self._merge(base, ours, theirs, label, renames=False)
        if merge.clean:
            return merge
        followed = self._followed(base, ours, theirs)
        if followed is None:
            return merge
        return self._merge(*followed, theirs, label, renames=False)

    def _merge(self, base: str, ours: str, theirs: str, label: str, *, renames: bool) -> Merge:
        if base in (ours, theirs) or ours == theirs:
            return Merge(ours if theirs in {base, ours} else theirs)
        try:
            printed = self._scratch.merge(base, (ours, OURS), (theirs, label), renames=renames)
        except GitError as error:
            raise _unmergeable(error) from None
        return _parsed(printed)

    def _followed(self, base: str, ours: str, theirs: str) -> tuple[str, str] | None:
        """Give base and ours with the files renamed that `theirs` renamed: R100, and no other."""
        trees = self.tree(base), self.tree(ours), self.tree(theirs)
        renamed = exact_renames(trees[0], trees[2])
        mine = trees[1].ids()
        pairs = {o: n for o, n in renamed.items() if o in mine and n not in mine}
        if not pairs:
            return None
        moved = []
        for tree, name in zip(trees[:2], (base, ours), strict=True):
            blobs = {new: tree.blob(old) for old, new in pairs.items()}
            moved.append(self._scratch.changed(name, {**dict.fromkeys(pairs), **blobs}))
        return moved[0], moved[1]


def exact_renames(before: GitTree, after: GitTree) -> dict[str, str]:
    """Find files that one commit has under another path, byte for byte: what git calls R100.

    Empty files and those that went to, or came from, several places are renamed nowhere.
    """
    old, new = before.ids(), after.ids()
    gone, come = _by_id(before, set(old) - set(new)), _by_id(after, set(new) - set(old))
    pairs = {
        gone[name][0]: come[name][0]
        for name in gone.keys() & come.keys()
        if len(gone[name]) == len(come[name]) == 1
    }
    data = before.read_many(pairs)
    return {path: pairs[path] for path in sorted(pairs) if data[path]}


def _by_id(tree: GitTree, paths: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        if tree.entries()[path] != SUBMODULE:
            found.setdefault(f"{tree.entries()[path]:o} {tree.ids()[path]}", []).append(path)
    return found


def _parsed(printed: bytes) -> Merge:
    """Read what `git merge-tree --write-tree -z` prints: a tree, and for conflicts what is left."""
    fields = iter(printed.decode("utf-8", "surrogateescape").split("\0")[:-1])
    tree = next(fields)
    stages = []
    for row in fields:
        if not row:
            break
        stages.append(row)
    told = tuple(c for c in _messages(fields) if c.kind.startswith("CONFLICT") or not c.path)
    return Merge(tree, told if stages else (), tuple(stages))


def _messages(fields: Iterator[str]) -> Iterator[Conflict]:
    for count in fields:
        paths = [next(fields, "") for _ in range(int(count) if count.isdecimal() else 0)]
        kind, message = next(fields, ""), next(fields, "")
        yield Conflict(paths[0] if paths else "", kind, message.strip())


def _unmergeable(error: GitError) -> Refusal:
    if "merge-tree" in str(error) or "usage" in str(error):
        return Refusal(
            "old-git",
            "This git cannot merge two trees by itself.",
            next_step="Install git 2.38 or newer.",
        )
    return Refusal(
        "malformed-repository",
        f"Git cannot merge: {str(error).removeprefix('fatal: ').rstrip('.')}.",
        next_step="Run `git fsck` in the repository.",
    )
