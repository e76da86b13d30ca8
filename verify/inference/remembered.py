"""A commit that is searched and read once for each question: trials of like plans ask the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from transforms.tree import GitTree, Tree

_MOST_KEPT = 128 << 20  # bytes of files


class RememberedTree(Tree):
    """The files of a commit, with the answers that searches of it gave, and what was read."""

    def __init__(self, tree: GitTree) -> None:
        self.label = tree.label
        self._tree = tree
        self._found: dict[tuple[object, ...], list[str]] = {}
        self._read: dict[str, bytes] = {}
        self._room = _MOST_KEPT

    def entries(self) -> Mapping[str, int]:
        """Give each path's mode in the commit."""
        return self._tree.entries()

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str] | None = None) -> list[str]:
        """List the files whose bytes match: from memory, if this was asked before."""
        among = None if paths is None else tuple(paths)
        question = needle.pattern, needle.flags, among
        if question not in self._found:
            self._found[question] = super().search(needle, among)
        return list(self._found[question])

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        unread = []
        for path in paths:
            if path in self._read:
                yield path, self._read[path]
            else:
                unread.append(path)
        for path, data in self._tree._stream(unread) if unread else ():
            if len(data) <= self._room:
                self._read[path] = data
                self._room -= len(data)
            yield path, data
