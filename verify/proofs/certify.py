"""Two commits, as the certificate kernel takes them: what differs, and a view of all the rest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from transforms.paths import to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR, SYMLINK, ChangeSet
from transforms.tree import GitTree, Tree
from transforms.tree.base import matcher
from verify import kernel
from verify.history.ranges import differing, entries_at
from verify.history.workers import meanwhile
from verify.kernel import Files
from verify.kernel.verdict import Certificate
from verify.proofs.adapter import certify, certify_part, is_large

# Python files up to which a tree is judged sooner than another process has loaded what judges.
FEW = 24
_MOST_HELD = 96 << 20  # bytes of files that are kept for the next question
_BATCH = 1_000  # files


class SharedFiles:
    """The regular files that two trees have in common, read from one of them as needed."""

    def __init__(self, tree: Tree, changed: Collection[str]) -> None:
        self._tree = tree
        apart = set(changed)
        self._paths = [
            path
            for path, mode in tree.entries().items()
            if path not in apart and mode in (REGULAR, EXECUTABLE)
        ]
        self._links = [
            path for path, mode in tree.entries().items() if path not in apart and mode == SYMLINK
        ]
        self._held: dict[str, bytes] = {}
        self._room = _MOST_HELD

    def paths(self) -> Collection[str]:
        """List all of them."""
        return self._paths

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Read some of them, in one batch."""
        wanted = list(paths)
        found = self._tree.read_many([path for path in wanted if path not in self._held])
        return {path: found[path] if path in found else self._held[path] for path in wanted}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        """List those among `paths` whose bytes match; what was read for that is kept for a while.

        One question follows another about the same files.
        """
        shared = set(self._paths)
        wanted = [path for path in dict.fromkeys(paths) if path in shared]
        matches = matcher(needle)
        known = [path for path in wanted if path in self._held]
        found = [path for path in known if matches(self._held[path])]
        others = [path for path in wanted if path not in self._held]
        for start in range(0, len(others), _BATCH):
            batch = others[start : start + _BATCH]
            if self._room <= 0:
                found += self._tree.search(needle, others[start:])
                break
            for path, data in self._tree.read_many(batch).items():
                self._held[path] = data
                self._room -= len(data)
                if matches(data):
                    found.append(path)
        return sorted(found, key=to_bytes)

    def links(self) -> Mapping[str, bytes]:
        """Give the symbolic links, and where each leads."""
        return self._tree.read_many(self._links)


@dataclass(frozen=True, slots=True)
class Range:
    """Two commits of one repository, named so that another process can read them."""

    repository: Path
    base: str
    target: str

    @classmethod
    def of(cls, base: GitTree, target: GitTree) -> Range:
        """Name the commits that two trees hold."""
        return cls(base.repository.directory.resolve(), base.commit, target.commit)


def certifying(base: GitTree, target: GitTree) -> AbstractContextManager[Future[Certificate]]:
    """Judge beside the block what changed between two commits; first, where there is little."""
    if sum(path.endswith(".py") for path in target.entries()) <= FEW:
        return meanwhile(partial(certify_commits, base), target, first=True)
    return meanwhile(certify_range, Range.of(base, target))


def certify_range(commits: Range) -> Certificate:
    """Judge what changed between two commits, which are read anew."""
    base, target = (GitTree(commits.repository, name) for name in (commits.base, commits.target))
    return certify_commits(base, target)


def certify_commits(base: GitTree, target: GitTree) -> Certificate:
    """Judge what changed from `base` to `target`, as one change; no plan takes part."""
    changed = differing(base, target)
    before, after = (
        {path: (entry.data, entry.mode) for path, entry in entries_at(tree, changed).items()}
        for tree in (base, target)
    )
    return certify(before, after, SharedFiles(target, changed))


def certify_changes(tree: Tree, changes: ChangeSet) -> Certificate | None:
    """Judge what a change set makes of a tree, by the second kernel alone.

    Of a tree that is too large for it only the part that names the change is judged, and none where
    the change itself is too large: the first one's false alarms would stop honest moves.
    """
    (before, after), rest = _sides(changes), SharedFiles(tree, changes)
    if is_large(before, after, rest):
        return certify_part(before, after, rest)
    return kernel.certify(before, after, rest)


def _sides(changes: ChangeSet) -> tuple[Files, Files]:
    before, after = (
        {path: (blob.data, blob.mode) for path, blob in side.items() if blob is not None}
        for side in (changes.before(), changes.after())
    )
    return before, after
