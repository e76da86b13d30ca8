"""A commit that is searched once for each question: trials of like plans ask the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from transforms.tree import GitTree, Tree


class RememberedTree(Tree):
    """The files of a commit, with the answers that searches of it gave."""

    def __init__(self, tree: GitTree) -> None:
        self.label = tree.label
        self._tree = tree
        self._found: dict[tuple[object, ...], list[str]] = {}

    def entries(self) -> Mapping[str, int]:
        """Give each path's mode in the commit."""
        return self._tree.entries()

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str] | None = None) -> list[str]:
        """List the files whose bytes match: from memory, if this was asked before."""
        among = None if paths is None else tuple(paths)
        question = needle.pattern, needle.flags, among
        if question not in self._found:
            self._found[question] = self._tree.search(needle, among)
        return list(self._found[question])

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        yield from self._tree._stream(paths)
