"""Free pages as maximal runs of them, found by their lengths and by their ends."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pool_host.scattered import choose_scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The first page of a run, and how many pages it has.
PageRun = tuple[int, int]
# Runs together: their first pages, and how many pages each has; one number if all have as many.
# Those of one page each may follow on one another.
ManyRuns = tuple["NDArray[np.int64]", "NDArray[np.int64] | int"]

# Extents of so many pages or more are known by their ends. Shorter ones are found by looking at the
# pages themselves, which for so few is as quick and takes no memory.
_LONG = 64
# So many extents or more are handled together.
MANY = 8
# What it costs, about: to make the index anew, by pages and extents; and to join many runs to it.
_ANEW_BASE_NS, _ANEW_PAGE_NS, _ANEW_EACH_NS = 40_000.0, 0.4, 10.0
_JOIN_NS, _JOIN_EACH_NS = 220_000.0, 60.0
_ONCE_BASE_NS, _ONCE_PAGE_NS = 20_000.0, 0.3  # and to take pages without one, by pages there are
_FEW = 16  # of so many pages or fewer to be taken, all are looked up
_COUNTED = 256  # extents of up to so many pages are counted by length, where the index is behind
_PAD = 8  # bytes before the first page and behind the last, always taken: a word may be read there
_TAKEN, _FREE = b"\1", b"\0"


class PageExtents:
    """The free pages among 0..pages-1, kept as extents: runs of free pages that nothing can extend.

    `taken`, a byte a page, says which pages are free, and nothing else does: the rest is an index
    of it, which `restore` makes anew. For each length in use the index has a list of first pages,
    the latest made last. An entry stays there when its extent is gone, and shows by the pages that
    it is stale; so an extent that grows or is split costs nothing where it was listed. Lists are
    cleared of stale entries before those outnumber the others. Extents of 64 pages or more are
    known by both ends as well, so that no length of them is ever looked through.

    Lengths in use are kept in order: the shortest extent that holds a request is found by
    bisection, and the longest is the last. There are few: d different lengths take at least
    d * (d + 1) / 2 free pages, so 48,918 pages have at most 312, and 6,611,072 have 3,635. Where
    many extents are taken or given at once, NumPy handles them together. Where so many are given
    that it costs less to make the index anew, it is left behind; what is then taken is chosen by
    the pages (`pool_host.scattered`), until that has cost as much as an index.

    The same calls give the same pages in every process. Not locked: its owner's lock guards it. An
    interrupted call leaves `taken` as far as it had come; whoever knows what was to be taken or
    given sets it right there and calls `restore`.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.taken = bytearray(pages + 2 * _PAD)
        self.taken[:_PAD] = self.taken[_PAD + pages :] = _TAKEN * _PAD
        self._bytes = np.frombuffer(self.taken, dtype=np.uint8)  # the same, also behind the ends
        self.flags = self._bytes[_PAD : _PAD + pages]  # the same, by page
        # And the eight of them from each byte on.
        self._words = np.ndarray((pages + _PAD + 1,), dtype="<u8", buffer=self.taken, strides=(1,))
        self._code = "i" if pages < 1 << 31 else "q"
        self.index()

    @classmethod
    def holding(cls, pages: int, runs: Iterable[PageRun]) -> PageExtents:
        """Make extents of `pages` pages, of which those in `runs` are free; runs are disjoint."""
        extents = cls(pages)
        extents.flags[:] = 1
        extents.index()
        for start, length in runs:
            extents.give(start, length)
        return extents

    @classmethod
    def of(cls, flags: NDArray[np.uint8]) -> PageExtents:
        """Make extents of pages of which those whose flag is 0 are free."""
        extents = cls(flags.size)
        extents.flags[:] = flags
        extents.index()
        return extents

    def index(self) -> None:
        """Make the index anew from `taken`."""
        self._is_behind, self._spent_ns = True, 0.0  # on pages taken without an index
        self._extents = 0
        self._entries: dict[int, array[int]] = {}  # length -> first pages, latest last
        self._live: dict[int, int] = {}  # length -> how many of the entries are not stale
        self._lengths: list[int] = []  # those of `_live`, ascending
        self._length_at: dict[int, int] = {}  # of long ones: first page -> length
        self._start_before: dict[int, int] = {}  # of long ones: the page after the last -> first
        starts, lengths = self._found()
        self._insert_all(starts, lengths)
        self.free_pages = int(lengths.sum())
        self._is_behind = False

    def __len__(self) -> int:
        """Give the number of extents."""
        self._catch_up()
        return self._extents

    @property
    def largest(self) -> int:
        """Pages of the longest extent, 0 if there is none."""
        self._catch_up()
        return self._lengths[-1] if self._lengths else 0

    def take(self, pages: int) -> list[PageRun] | None:
        """Take pages, in as few runs as there can be; None, and nothing, if so many are not free.

        They come from the shortest extent that holds them all. Where none does, the longest are
        taken whole, until one holds the rest. Among extents of one length the latest made is taken:
        its rows were in use last. No run follows directly on the one before it.
        """
        if pages > self.free_pages:
            return None
        taken: list[PageRun | ManyRuns] = []
        self.take_into(taken, pages)
        return single_runs(taken)

    def take_into(self, taken: list[PageRun | ManyRuns], pages: int) -> int:
        """Take pages that are free as `take` does; give in how many runs they lie.

        What is taken is added to `taken` before it is marked, so that who is interrupted can undo
        it.
        """
        if self._is_behind:
            self._spent_ns += _ONCE_BASE_NS + _ONCE_PAGE_NS * self.pages
            if pages > _FEW and self._spent_ns < self._anew_ns(0):
                return self._take_unindexed(taken, pages)
            self.index()
        self.free_pages -= pages
        runs = 0
        while pages:
            at = bisect_left(self._lengths, pages)
            if at < len(self._lengths):
                length = self._lengths[at]
                start = self._remove_latest(length)
                taken.append((start, pages))
                self.taken[_PAD + start : _PAD + start + pages] = _TAKEN * pages
                if length > pages:
                    self._insert(start + pages, length - pages)
                return runs + 1
            length = self._lengths[-1]
            count = min(self._live[length], (pages - 1) // length)
            if count < MANY:
                start = self._remove_latest(length)
                taken.append((start, length))
                self.taken[_PAD + start : _PAD + start + length] = _TAKEN * length
                pages -= length
                runs += 1
            else:
                starts = self._remove_many(length, count)
                taken.append((starts, length))
                mark_equal(self.flags, starts, length, 1)
                pages -= count * length
                runs += count
        return runs

    def give(self, start: int, length: int) -> None:
        """Give back `length` pages from `start` on, at least one.

        Raises RuntimeError, and changes nothing, if one of them is free or there is none such.
        """
        first, stop = _PAD + start, _PAD + start + length
        past = start < 0 or length < 1 or start + length > self.pages
        _hold(not past, f"{start}..{start + length - 1} are given, past {self.pages} pages")
        free = self.taken.find(_FREE, first, stop)
        _hold(free < 0, f"page {free - _PAD} is given, which is free")
        self.give_taken(start, length)

    def give_taken(self, start: int, length: int) -> None:
        """Give back a run of pages that are all taken."""
        self.free_pages += length
        if self._is_behind:
            self.taken[_PAD + start : _PAD + start + length] = bytes(length)
            return
        begin, stop = start, start + length
        first, behind = _PAD + start, _PAD + stop
        if not self.taken[behind]:
            end = self.taken.find(_TAKEN, behind, behind + _LONG)
            after = self._length_at[stop] if end < 0 else end - behind
            self._remove(stop, after)
            stop += after
        if not self.taken[first - 1]:
            low = max(0, first - _LONG)
            last = self.taken.rfind(_TAKEN, low, first)
            begin = self._start_before[start] if last < 0 else last + 1 - _PAD
            self._remove(begin, start - begin)
        self._insert(begin, stop - begin)
        self.taken[first:behind] = bytes(length)

    def give_many(self, starts: NDArray[np.int64], lengths: NDArray[np.int64] | int) -> None:
        """Give back runs of pages that are all taken, in ascending order.

        Those of different lengths must not follow directly on one another.
        """
        equal = isinstance(lengths, int)
        self.free_pages += int(np.sum(lengths)) * (starts.size if equal else 1)
        if self._is_behind or self._anew_ns(starts.size) < _JOIN_NS + starts.size * _JOIN_EACH_NS:
            self._is_behind, self._spent_ns = True, 0.0
            mark(self.flags, starts, lengths, 0)
            return
        stops = starts + lengths
        if equal:
            apart = np.flatnonzero(starts[1:] != stops[:-1])
            starts, stops = starts[np.append(0, apart + 1)], stops[np.append(apart, stops.size - 1)]
        lengths = stops - starts
        left = np.flatnonzero(self._bytes[starts + (_PAD - 1)] == 0)
        right = np.flatnonzero(self._bytes[stops + _PAD] == 0)
        if left.size or right.size:
            begins, ends = self._joined(starts, stops, left, right)
        else:
            begins, ends = starts, stops
        self._insert_all(begins, ends - begins)
        mark(self.flags, starts, lengths, 0)
        if left.size or right.size:
            for length in self._lengths[: bisect_left(self._lengths, _LONG)]:
                self._tidy(length)

    def are_taken(self, runs: Iterable[PageRun | ManyRuns]) -> bool:
        """Whether no page of runs is free."""
        for start, length in runs:
            if isinstance(start, int):
                first = _PAD + start
                if self.taken.find(_FREE, first, first + int(length)) >= 0:
                    return False
            elif not self.flags[pages_of_runs(start, length)].all():
                return False
        return True

    def give_runs(self, runs: Iterable[PageRun | ManyRuns]) -> int:
        """Give back runs of pages that are all taken, in ascending order; give how many pages."""
        pages = 0
        for start, length in runs:
            if isinstance(start, int):
                pages += int(length)
                self.give_taken(start, int(length))
            else:
                before = self.free_pages
                self.give_many(start, length)
                pages += self.free_pages - before
        return pages

    def runs(self) -> list[PageRun]:
        """Give all extents in ascending order; costs what pages there are."""
        starts, lengths = self._found()
        return list(zip(starts.tolist(), lengths.tolist(), strict=True))

    def check(self) -> None:
        """Raise RuntimeError that names what is wrong, if the index is not that of `taken`."""
        _hold(bool(self._bytes[:_PAD].all()), "a page before the first is free")
        _hold(bool(self._bytes[_PAD + self.pages :].all()), "a page past the last is free")
        starts, lengths = self._found()
        free = int(lengths.sum())
        _hold(free == self.free_pages, f"{free} pages are free, {self.free_pages} are counted")
        if self._is_behind:
            return
        _hold(len(starts) == len(self), f"there are {len(starts)} extents, {len(self)} are counted")
        _hold(self._lengths == sorted(self._live), "lengths are not in order")
        counted = (each.tolist() for each in np.unique(lengths, return_counts=True))
        found = dict(zip(*counted, strict=True))
        _hold(found == self._live, "extents are counted under lengths that they do not have")
        for length in found:
            listed = set(self._entries.get(length, ()))
            for start in starts[lengths == length].tolist():
                _hold(start in listed, f"extent {start} is not listed under its length")
            most = 2 * self._live[length] + _LONG
            _hold(len(self._entries[length]) <= most, f"of length {length} most entries are stale")
        _hold(set(self._entries) == set(found), "a list is kept of a length that no extent has")
        is_long = lengths >= _LONG
        long = dict(zip(starts[is_long].tolist(), lengths[is_long].tolist(), strict=True))
        _hold(self._length_at == long, "a long extent is not known by its start")
        ends = {start + length: start for start, length in long.items()}
        _hold(self._start_before == ends, "a long extent is not known by its end")

    # One extent

    def _insert(self, start: int, length: int) -> None:
        self._extents += 1
        entries = self._entries.get(length)
        if entries is None:
            self._entries[length] = array(self._code, (start,))
            self._live[length] = 1
            insort(self._lengths, length)
        else:
            entries.append(start)
            self._live[length] += 1
        if length >= _LONG:
            self._length_at[start] = length
            self._start_before[start + length] = start

    def _remove(self, start: int, length: int) -> None:
        """Forget an extent, whose entry so becomes stale."""
        left = self._live[length] - 1
        if left:
            self._extents -= 1
            self._live[length] = left
            if len(self._entries[length]) > 2 * left + _LONG:
                self._drop_stale(length)
        else:
            self._count_out(length, 1)
        if length >= _LONG:
            del self._length_at[start], self._start_before[start + length]

    def _remove_latest(self, length: int) -> int:
        """Remove the extent of that length that was made last; give its first page."""
        entries = self._entries[length]
        start = entries.pop()
        while not self._is_extent(start, length):
            start = entries.pop()
        self._remove(start, length)
        return start

    def _is_extent(self, start: int, length: int) -> bool:
        """Whether an entry is not stale."""
        if length >= _LONG:
            return self._length_at.get(start) == length
        first, stop = _PAD + start, _PAD + start + length
        taken = self.taken
        return bool(taken[first - 1] and taken[stop]) and taken.find(_TAKEN, first, stop) < 0

    def _count_out(self, length: int, extents: int) -> None:
        self._extents -= extents
        left = self._live[length] - extents
        if left:
            self._live[length] = left
        else:  # all entries are stale
            del self._live[length], self._entries[length]
            del self._lengths[bisect_left(self._lengths, length)]

    def _tidy(self, length: int) -> None:
        """Keep stale entries from being many."""
        entries = self._entries.get(length)
        if entries is not None and len(entries) > 2 * self._live[length] + _LONG:
            self._drop_stale(length)

    # Many of them

    def _catch_up(self) -> None:
        if self._is_behind:
            self.index()

    def _anew_ns(self, more: int) -> float:
        """Give about how long it takes to make the index anew, with so many extents more."""
        return _ANEW_BASE_NS + _ANEW_PAGE_NS * self.pages + _ANEW_EACH_NS * (self._extents + more)

    def _take_unindexed(self, taken: list[PageRun | ManyRuns], pages: int) -> int:
        """Take pages as `take_into` does, looked for among all, and leave the index behind.

        Where extents are short those pages are together, in ascending order.
        """
        chosen = choose_scattered(self.flags, self.free_pages, pages)
        if chosen is not None:
            self._extents = chosen.extents
            taken.append((chosen.pages, 1))
            self.free_pages -= pages
            self.flags[chosen.pages] = 1
            return chosen.runs
        starts, lengths = self._found()
        self._extents = starts.size
        counts = np.bincount(np.minimum(lengths, _COUNTED))
        # Pages in extents of each length or more, where that is counted.
        within = self.free_pages - np.cumsum(counts[:-1] * np.arange(counts.size - 1))
        shortest = int(np.count_nonzero(within >= pages))  # of those that are taken whole
        self.free_pages -= pages
        long = np.flatnonzero(lengths >= shortest)
        begins, sizes = starts[long], lengths[long]
        order = _by_length(sizes)
        begins, sizes = begins[order], sizes[order]
        # Whole extents from the longest on, while none of the others holds what is still missing.
        sums = np.cumsum(sizes[::-1])
        whole = int(np.searchsorted(sums, pages))
        left = begins.size - whole
        rest = pages - (int(sums[whole - 1]) if whole else 0)
        if whole:
            self._take_extents(taken, begins[left:][::-1], sizes[left:][::-1])
        # The shortest extent that holds the rest, which may be too short to be among these.
        fitting = np.flatnonzero(counts[rest:shortest])
        if fitting.size:
            length = rest + int(fitting[0])
            fits = np.flatnonzero(lengths == length)
            start = int(starts[fits[-1 if length == 1 else 0]])
        else:
            start = int(begins[np.searchsorted(sizes[:left], rest)])
        self._take_one(taken, start, rest)
        return whole + 1

    def _take_extents(
        self,
        taken: list[PageRun | ManyRuns],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        taken.append((starts, lengths))
        mark(self.flags, starts, lengths, 1)

    def _take_one(self, taken: list[PageRun | ManyRuns], start: int, length: int) -> None:
        taken.append((start, length))
        self.flags[start : start + length] = 1

    def _found(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give first pages and lengths of all extents, by the pages alone."""
        around = self._bytes[_PAD - 1 : _PAD + self.pages + 1]
        edges = np.flatnonzero(around[1:] != around[:-1])
        starts = edges[::2]
        return starts, edges[1::2] - starts

    def _insert_all(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Add extents, in that order."""
        if not starts.size:
            return
        shortest, longest = int(lengths.min()), int(lengths.max())
        if longest >= _LONG:
            is_long = lengths >= _LONG
            for start, length in zip(
                starts[is_long].tolist(), lengths[is_long].tolist(), strict=True
            ):
                self._insert(start, length)
            starts, lengths = starts[~is_long], lengths[~is_long]
            if not starts.size:
                return
        if shortest == longest:
            self._insert_equal(starts, shortest)
            return
        order = _by_length(lengths)
        ordered = starts[order]
        end = 0
        for length, count in enumerate(np.bincount(lengths).tolist()):
            if count:
                begin, end = end, end + count
                self._insert_equal(ordered[begin:end], length)

    def _insert_equal(self, starts: NDArray[np.int64], length: int) -> None:
        self._extents += starts.size
        entries = self._entries.get(length)
        if entries is None:
            entries = self._entries[length] = array(self._code)
            self._live[length] = 0
            insort(self._lengths, length)
        entries.frombytes(starts.astype(self._code).view(np.uint8).data)
        self._live[length] += starts.size

    def _remove_many(self, length: int, count: int) -> NDArray[np.int64]:
        """Remove so many extents of a length, those made last; give their first pages."""
        if len(self._entries[length]) != self._live[length]:
            self._drop_stale(length)
        entries = self._entries[length]
        starts = np.frombuffer(entries, dtype=self._code)[-count:].astype(np.int64)[::-1]
        del entries[-count:]
        if length >= _LONG:
            for start in starts.tolist():
                del self._length_at[start], self._start_before[start + length]
        self._count_out(length, count)
        return starts

    def _drop_stale(self, length: int) -> None:
        """Keep of the entries of a length those of extents, once each."""
        listed = np.frombuffer(self._entries[length], dtype=self._code).astype(np.int64)
        if length >= _LONG:
            known = self._length_at
            is_extent = np.array([known.get(start) == length for start in listed.tolist()], bool)
        else:
            is_extent = self._stretch(listed + _PAD, 1) == length
            is_extent &= self._bytes[listed + (_PAD - 1)] != 0
        listed = listed[is_extent]
        # Of an extent that is listed twice the later entry counts.
        _, last = np.unique(listed[::-1], return_index=True)
        listed = listed[np.sort(listed.size - 1 - last)]
        self._entries[length] = array(self._code)
        self._entries[length].frombytes(listed.astype(self._code).view(np.uint8).data)

    def _joined(
        self,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give where the extents begin and end that runs make with their neighbours.

        `left` and `right` say which runs have one before and behind. Those are forgotten.
        """
        before, behind = starts[left], stops[right]
        reach = self._stretch(before + (_PAD - 1), -1)
        for at in np.flatnonzero(reach >= _LONG).tolist():
            reach[at] = before[at] - self._start_before[int(before[at])]
        begins = np.concatenate([before - reach, behind])
        reach = self._stretch(behind + _PAD, 1)
        for at in np.flatnonzero(reach >= _LONG).tolist():
            reach[at] = self._length_at[int(behind[at])]
        ends = np.concatenate([before, behind + reach])
        begins, once = np.unique(begins, return_index=True)  # behind one run and before the next
        ends = ends[once]
        self._forget(begins, ends - begins)
        begins, ends = np.concatenate([starts, begins]), np.concatenate([stops, ends])
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], ends[order]
        apart = np.flatnonzero(begins[1:] != ends[:-1])
        return begins[np.append(0, apart + 1)], ends[np.append(apart, ends.size - 1)]

    def _forget(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Forget extents, whose entries so become stale."""
        is_long = lengths >= _LONG
        if is_long.any():
            for start, length in zip(
                starts[is_long].tolist(), lengths[is_long].tolist(), strict=True
            ):
                self._remove(start, length)
            lengths = lengths[~is_long]
        for length, count in enumerate(np.bincount(lengths).tolist()):
            if count:
                self._count_out(length, count)

    def _stretch(self, places: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        """Give how many bytes are free from each place on, upwards or (-1) downwards.

        Exact below 64; 64 or more is any number from there on.
        """
        found = np.zeros(places.size, dtype=np.int64)
        words = self._words[places if step > 0 else places - 7]
        free = _free_bytes(words, step)
        found += free
        more = np.flatnonzero(free == 8)
        while more.size:
            at = places[more] + step * found[more]
            free = _free_bytes(self._words[at if step > 0 else at - 7], step)
            found[more] += free
            more = more[(free == 8) & (found[more] < _LONG)]
        return found


def _free_bytes(words: NDArray[np.uint64], step: int) -> NDArray[np.int64]:
    """Give how many of a word's bytes are 0: before its first that is not, or (-1) behind its last.

    Bytes are 0 or 1, so the bit that is looked for is the lowest of its byte: a float's exponent
    tells which, as that of a sum of eight such bits is that of the highest.
    """
    if step > 0:
        words = words & (~words + np.uint64(1))
    bits = np.frexp(words.astype(np.float64))[1].astype(np.int64)  # 0 for none, else its place + 1
    if step > 0:
        return np.where(bits == 0, 8, (bits - 1) >> 3)
    return 7 - ((bits - 1) >> 3)


def single_runs(runs: Iterable[PageRun | ManyRuns]) -> list[PageRun]:
    """Give runs one by one, in their order; of single pages those that step by one together."""
    single: list[PageRun] = []
    for start, length in runs:
        if isinstance(start, int):
            single.append((start, int(length)))
        elif isinstance(length, int) and length == 1:
            single += runs_of_pages(start)
        else:
            lengths = np.broadcast_to(length, start.shape)
            single += zip(start.tolist(), lengths.tolist(), strict=True)
    return single


def runs_of_pages(pages: NDArray[np.int64]) -> list[PageRun]:
    """Give pages as runs, in their order."""
    if not pages.size:
        return []
    ends = [*(np.flatnonzero(np.diff(pages) != 1) + 1).tolist(), pages.size]
    begins = [0, *ends[:-1]]
    return [(int(pages[begin]), end - begin) for begin, end in zip(begins, ends, strict=True)]


def _by_length(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the order of extents by their lengths, equal ones as they were."""
    longest = int(lengths.max())
    kind = np.uint8 if longest < 1 << 8 else np.uint16 if longest < 1 << 16 else np.int64
    return np.argsort(lengths.astype(kind), kind="stable")  # of small numbers a radix sort


def mark(
    flags: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64] | int,
    value: int,
) -> None:
    """Set the flags of runs of pages."""
    if isinstance(lengths, int):
        mark_equal(flags, starts, lengths, value)
        return
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest == longest:
        mark_equal(flags, starts, longest, value)
    else:
        flags[pages_of_runs(starts, lengths)] = value


def mark_equal(
    flags: NDArray[np.uint8], starts: NDArray[np.int64], length: int, value: int
) -> None:
    """Set the flags of runs of equal length."""
    if length <= _LONG:
        for page in range(length):
            flags[starts + page if page else starts] = value
    else:
        for start in starts.tolist():
            flags[start : start + length] = value


def pages_of_runs(starts: NDArray[np.int64], lengths: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Give the pages of runs, in their order."""
    if not isinstance(lengths, int) and lengths.size and lengths[0] == 1 == lengths.max():
        return starts
    if isinstance(lengths, int):
        if lengths == 1:
            return starts
        return (starts[:, None] + np.arange(lengths)).reshape(-1)
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - ends + lengths, lengths)


def _hold(holds: bool, words: str) -> None:
    if not holds:
        raise RuntimeError(f"Free pages are not what they should be: {words}")
