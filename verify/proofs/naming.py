"""Which of some words stand in which files, in one pass over each file's bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from verify.certificate import Rest
from verify.kernel.trees.words import raw

_AT_ONCE = 1_000  # files that are read at once
_NO_WORD = bytes(c if chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(128))
# A letter beyond ASCII parts words as a space does: rather one file more than one too few.
_PARTED = _NO_WORD + b" " * 128


class Naming:
    """Looks for words, whole ones, whatever is meant by them.

    A file is cut into its words once, however many are looked for: that is dearer than to search
    it for one and cheaper than for three.
    """

    def __init__(self, words: Iterable[str]) -> None:
        told = {raw(word): word for word in words}
        self._words = {word: text for word, text in told.items() if word.isascii()}
        self._wanted = frozenset(self._words)
        self._odd = {word: text for word, text in told.items() if word not in self._words}

    def among(
        self, rest: Rest, paths: Iterable[str]
    ) -> Iterator[tuple[str, bytes, frozenset[str]]]:
        """Give the files that say any of the words, in order: path, bytes, and which."""
        waiting = iter(paths)
        while batch := list(islice(waiting, _AT_ONCE)):
            for path, data in rest.read_many(batch).items():
                if said := self._said(data):
                    yield path, data, said

    def _said(self, data: bytes) -> frozenset[str]:
        found = self._wanted.intersection(data.translate(_PARTED).split())
        odd = (text for word, text in self._odd.items() if word in data)
        return frozenset((*map(self._words.__getitem__, found), *odd))
