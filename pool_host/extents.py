"""Free pages as maximal runs of them: taken and given back in constant time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

# The first page of a run, and how many pages it has.
PageRun = tuple[int, int]


class PageExtents:
    """The free pages among 0..pages-1, kept as extents: runs of free pages that nothing can extend.

    An extent is found by either of its ends, so that pages given back join their neighbours without
    a search, and by its length. Lengths in use are size classes, kept in order: the shortest extent
    that holds a request is found by bisection, and the longest is the last. There are few of them,
    however large the pool: d different lengths take at least d * (d + 1) / 2 free pages, so 48,918
    pages have at most 312 lengths, and 6,611,072 have 3,635. Nothing else grows with the pool, and
    a fresh pool is one extent.

    The same calls give the same pages in every process. Not locked: its owner's lock guards it.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.free_pages = 0
        self._length_at: dict[int, int] = {}  # first page -> length
        self._start_before: dict[int, int] = {}  # the page after the last -> first page
        self._starts_of: dict[int, dict[int, None]] = {}  # length -> first pages, latest last
        self._lengths: list[int] = []  # those of `_starts_of`, ascending
        if pages:
            self.give(0, pages)

    @classmethod
    def holding(cls, pages: int, runs: Iterable[PageRun]) -> PageExtents:
        """Make extents of `pages` pages, of which those in `runs` are free; runs are disjoint."""
        extents = cls(0)
        extents.pages = pages
        for start, length in runs:
            extents.give(start, length)
        return extents

    def __len__(self) -> int:
        """Give the number of extents."""
        return len(self._length_at)

    @property
    def largest(self) -> int:
        """Pages of the longest extent, 0 if there is none."""
        return self._lengths[-1] if self._lengths else 0

    def take(self, pages: int) -> list[PageRun] | None:
        """Take pages, in as few runs as there can be; None, and nothing, if so many are not free.

        They come from the shortest extent that holds them all. Where none does, the longest are
        taken whole, until one holds the rest. Among extents of one length the latest made is taken:
        its rows were in use last. No run follows directly on the one before it.
        """
        if pages > self.free_pages:
            return None
        self.free_pages -= pages
        taken: list[PageRun] = []
        while pages:
            at = bisect_left(self._lengths, pages)
            whole = at == len(self._lengths)
            length = self._lengths[-1] if whole else self._lengths[at]
            start = self._remove_latest(length)
            part = length if whole else pages
            if length > part:
                self._insert(start + part, length - part)
            taken.append((start, part))
            pages -= part
        return taken

    def give(self, start: int, length: int) -> None:
        """Give back `length` pages from `start` on, at least one; none of them may be free."""
        self.free_pages += length
        stop = start + length
        after = self._length_at.get(stop)
        if after is not None:
            self._remove(stop, after)
            length += after
        before = self._start_before.get(start)
        if before is not None:
            self._remove(before, start - before)
            length += start - before
            start = before
        self._insert(start, length)

    def runs(self) -> list[PageRun]:
        """Give all extents in ascending order; costs what there are."""
        return sorted(self._length_at.items())

    def check(self) -> None:
        """Raise RuntimeError that names what is wrong, if extents do not fit one another."""
        last = -1
        for start, length in self.runs():
            stop = start + length
            _hold(length > 0, f"extent {start} has {length} pages")
            _hold(start > last, f"extent {start} begins before {last + 1}, or where another ends")
            _hold(stop <= self.pages, f"extent {start} ends at {stop}, past {self.pages} pages")
            _hold(self._start_before.get(stop) == start, f"extent {start} is not known by its end")
            _hold(start in self._starts_of.get(length, ()), f"extent {start} is not in its class")
            last = stop
        free = sum(self._length_at.values())
        _hold(free == self.free_pages, f"{free} pages are free, {self.free_pages} are counted")
        _hold(len(self._start_before) == len(self), "an end is known that no extent has")
        _hold(all(self._starts_of.values()), "a class is kept that has no extent")
        known = sum(map(len, self._starts_of.values()))
        _hold(known == len(self), "an extent is in a class that is not its own")
        _hold(self._lengths == sorted(self._starts_of), "classes are not in order")

    def _insert(self, start: int, length: int) -> None:
        self._length_at[start] = length
        self._start_before[start + length] = start
        starts = self._starts_of.get(length)
        if starts is None:
            self._starts_of[length] = {start: None}
            insort(self._lengths, length)
        else:
            starts[start] = None

    def _remove(self, start: int, length: int) -> None:
        starts = self._starts_of[length]
        del starts[start], self._length_at[start], self._start_before[start + length]
        if not starts:
            self._drop_class(length)

    def _remove_latest(self, length: int) -> int:
        """Remove the extent of that length that was made last; give its first page."""
        starts = self._starts_of[length]
        start, _ = starts.popitem()  # unlike `del`, leaves no gap for the next call to step over
        del self._length_at[start], self._start_before[start + length]
        if not starts:
            self._drop_class(length)
        return start

    def _drop_class(self, length: int) -> None:
        del self._starts_of[length]
        del self._lengths[bisect_left(self._lengths, length)]


def _hold(holds: bool, words: str) -> None:
    if not holds:
        raise RuntimeError(f"Free pages are not what they should be: {words}")
