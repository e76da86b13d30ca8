"""Which slots of a pool are free: given out and taken back by whole pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from pool_host.buffers import SlotError, check_pages, check_slots, shown_slots, whole_pages
from pool_host.common import check_tensor
from pool_host.extents import MANY, ManyRuns, PageExtents, PageRun, pages_of_runs
from pool_host.statistics import AllocatorCounts, AllocatorStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Some runs one by one, and some of them together.
Runs = list["PageRun | ManyRuns"]
# Pages that a call has begun to give or take, and the flag that they had before.
_Begun = tuple[tuple[PageExtents, "Runs", int], ...]


class SlotAllocator:
    """The slots of a pool's pages: which of them are free, and in which runs they lie.

    An allocation costs what it gives and a release what it takes back, whatever the size of the
    pool. Not locked: the pool's lock guards it. What it gives belongs to the caller, and nothing
    that it is given is kept.

    A call that is interrupted, at whatever line, has not happened: the next one first undoes what
    it had begun. So nothing is given twice, and slots that nobody got are free. `give_out` counts
    as interrupted until `given` is noted, which its caller does when there is nothing left to do.
    """

    _listed: torch.Tensor | None  # `free_slots`, until something changes
    _begun: _Begun | None  # what a call that has not ended is about

    def __init__(self, page_size: int, pages: int = 0) -> None:
        self.page_size = page_size
        self.counts = AllocatorCounts()
        self.clear(pages)

    def clear(self, pages: int) -> None:
        """Make all of `pages` pages free."""
        self._become(pages, self._all_free(pages), None, None)

    def _all_free(self, pages: int) -> tuple[PageExtents, ...]:
        return (PageExtents(pages),)

    def _become(
        self,
        pages: int,
        parts: tuple[PageExtents, ...],
        withheld: NDArray[np.bool_] | None,
        listed_in_use: NDArray[np.int64] | None,
    ) -> None:
        """Have other pages, all at once."""
        self.pages, self._parts, self._withheld, self._listed_in_use, self._listed, self._begun = (
            pages,
            parts,
            withheld,
            listed_in_use,
            None,
            None,
        )

    @property
    def free_pages(self) -> int:
        """How many pages are free."""
        self._end_begun()
        return sum(part.free_pages for part in self._parts)

    def alloc(self, pages: int) -> torch.Tensor | None:
        """Give the slots of `pages` pages, int64, in as few runs as there can be, or None."""
        # fmt: off
        slots = self.give_out(pages); self.given(); return slots  # noqa: E702  nothing between
        # fmt: on

    def give_out(self, pages: int) -> torch.Tensor | None:
        """Give what `alloc` does, to be taken back unless `given` is noted before the next call."""
        self._begin_giving()
        if not pages:
            return torch.empty(0, dtype=torch.int64)
        [part] = self._parts
        if pages > part.free_pages:
            self.counts.failures += 1
            return None
        taken: Runs = []
        self._begun = ((part, taken, 0),)
        runs = part.take_into(taken, pages)
        slots = slots_of(taken, self.page_size)
        self._listed = None
        self.counts.allocated(pages, runs)
        return slots

    def given(self) -> None:
        """Note that whoever asked has the slots."""
        self._begun = None

    def free(self, indices: torch.Tensor) -> int:
        """Take back slots that were given out, whole pages of them in any order; give how many."""
        self._end_begun()
        try:
            runs = runs_of_slots("indices", indices, self.pages * self.page_size, self.page_size)
        except SlotError:
            self._refuse_free_slots(indices)
            raise
        if not runs:
            return 0
        parts = self._by_part(runs)
        for part, its in parts:  # all of them, before anything is changed
            if not part.are_taken(its):
                raise self._double_free(runs)
        if self._withheld is not None and self._withheld[pages_of(runs)].any():
            raise self._double_free(runs)
        self.counts.last = None
        self._begun = tuple((part, its, 1) for part, its in parts)
        pages = 0
        for part, its in parts:
            pages += part.give_runs(its)
        self._listed = None
        count, freed = self.counts, pages * self.page_size
        done = count.releases + 1, count.released_pages + pages, None
        # fmt: off
        count.releases, count.released_pages, self._begun = done; return freed  # noqa: E702  at once
        # fmt: on

    def _by_part(self, runs: Runs) -> Sequence[tuple[PageExtents, Runs]]:
        """Give of each part of the pool the runs that are there."""
        return ((self._parts[0], runs),)

    def _begin_giving(self) -> None:
        self._end_begun()
        self.counts.last = None
        if self._listed_in_use is not None:
            shown = shown_slots(self._listed_in_use)
            raise SlotError(f"Double-alloc detected: slots already allocated: {shown}")

    def _end_begun(self) -> None:
        """Undo what a call had begun that was interrupted."""
        if self._begun is None:
            return
        for part, runs, flag in self._begun:
            for run in runs:
                part.flags[pages_of([run])] = flag
        for part in self._parts:
            part.index()
        self.counts.undo_last()
        self._begun = None  # and what is listed is what was free before

    def _double_free(self, runs: Runs) -> SlotError:
        pages = pages_of(runs)
        return _double_free_of(slots_of_pages(pages[~self._in_use()[pages]], self.page_size))

    def _refuse_free_slots(self, indices: object) -> None:
        """Raise SlotError for slots among those that are free, whether or not they are pages."""
        slots = check_slots("indices", indices, self.pages * self.page_size)
        unused = slots[~self._in_use()[slots // self.page_size]]
        if unused.size:
            raise _double_free_of(unused)

    @property
    def free_slots(self) -> torch.Tensor:
        """Every free slot, int64, ascending; not to be written to.

        Built when it is read, which costs a look at each page, and the same object until something
        is given out or taken back. Nothing here reads it.

        Set to a list of whole pages, it makes those the free ones. Slots in use, single ones too,
        are no less so for being in the list: it is damaged, and until it is set again nothing is
        given out.
        """
        self._end_begun()
        if self._listed is None:
            self.counts.materialisations += 1
            pages = np.flatnonzero(self._flags() == 0)
            self._listed = torch.from_numpy(slots_of_pages(pages, self.page_size))
        return self._listed

    @free_slots.setter
    def free_slots(self, slots: torch.Tensor) -> None:
        self._end_begun()
        listed = np.sort(check_slots("free_slots", slots, self.pages * self.page_size))
        in_use = self._in_use()
        is_used = in_use[listed // self.page_size]
        flags = np.ones(self.pages, dtype=np.uint8)
        flags[check_pages("free_slots", listed[~is_used], self.page_size)] = 0
        withheld = (flags != 0) & ~in_use
        self._become(
            self.pages,
            self._with_flags(flags),
            withheld if withheld.any() else None,
            listed[is_used] if is_used.any() else None,
        )

    def _with_flags(self, flags: NDArray[np.uint8]) -> tuple[PageExtents, ...]:
        """Make parts of which the pages without a flag are free."""
        return (PageExtents.of(flags),)

    def _flags(self) -> NDArray[np.uint8]:
        """Give a flag for each page that is not free."""
        return self._parts[0].flags

    def _in_use(self) -> NDArray[np.bool_]:
        """Give whether each page is given out."""
        taken: NDArray[np.bool_] = self._flags() != 0
        if self._withheld is not None:
            taken &= ~self._withheld
        return taken

    def are_in_use(self, pages: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each of pages, whatever they are, whether it is given out."""
        self._end_begun()
        known = (pages >= 0) & (pages < self.pages)
        held = np.where(known, pages, 0)
        in_use: NDArray[np.bool_] = known & (self._flags()[held] != 0)
        if self._withheld is not None:
            in_use &= ~self._withheld[held]
        return in_use

    @property
    def slot_used(self) -> torch.Tensor:
        """Whether each slot is given out, bool; made when it is read."""
        self._end_begun()
        return torch.from_numpy(np.repeat(self._in_use(), self.page_size))

    def stats(self) -> AllocatorStats:
        """Give what was done so far, and how the free pages lie."""
        free = self.free_pages
        extents = sum(map(len, self._parts))
        largest = max(part.largest for part in self._parts)
        return self.counts.snapshot(self.pages, self.page_size, free, extents, largest)

    def check(self) -> None:
        """Raise RuntimeError if the parts of this allocator do not fit one another."""
        self._end_begun()
        for part in self._parts:
            part.check()


def _double_free_of(slots: NDArray[np.int64]) -> SlotError:
    shown = shown_slots(slots)
    return SlotError(f"Double-free detected: slots not currently allocated: {shown}")


def pages_of(runs: Runs) -> NDArray[np.int64]:
    """Give the pages of runs, in their order."""
    parts = [
        np.arange(start, start + int(length))
        if isinstance(start, int)
        else pages_of_runs(start, length)
        for start, length in runs
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def slots_of(runs: Runs, page_size: int) -> torch.Tensor:
    """Give the slots of runs of pages, int64, in their order and in memory of their own."""
    singles: list[PageRun] = []
    for start, length in runs:
        if not isinstance(start, int):
            pages = pages_of(runs)
            if page_size == 1:  # nothing else keeps them
                return torch.from_numpy(np.ascontiguousarray(pages))
            return torch.from_numpy(slots_of_pages(pages, page_size))
        singles.append((start, int(length)))
    return slots_of_runs(singles, page_size)


def runs_of_slots(name: str, indices: object, limit: int, page_size: int) -> Runs:
    """Give the pages of slots that make whole pages, as disjoint runs in ascending order.

    Takes and refuses what `whole_pages` does. Slots in transfer order are stretches of whole pages,
    and are looked through once; others are sorted first. Where there are many runs they are given
    together: as pages if nearly all are single, else so that none follows directly on another.
    """
    runs = _aligned_runs(_slots_in(name, indices), limit, page_size)
    if runs is None:
        slots = np.sort(whole_pages(name, indices, limit, page_size))
        runs = _aligned_runs(slots, limit, page_size)
        if runs is None:
            raise RuntimeError(f"{name} was written to while it was read")
    return runs


def _slots_in(name: str, indices: object) -> NDArray[np.int64] | NDArray[np.int32]:
    """Give a tensor's slots as an array. Raises TypeError or ValueError where it holds none.

    NumPy is asked what they are where that can be: each question to a tensor takes as long as the
    rest, in a process that has other things to do between two releases.
    """
    if type(indices) is torch.Tensor:
        try:
            found: NDArray[np.int64] | NDArray[np.int32] = indices.numpy()
        except (RuntimeError, TypeError):  # on another device, say
            pass
        else:
            if found.ndim == 1 and found.dtype.kind == "i" and found.itemsize >= 4:
                return found
    tensor = check_tensor(name, indices, (torch.int64, torch.int32), 1)
    return (tensor if tensor.is_cpu else tensor.cpu()).numpy()


def _aligned_runs(
    slots: NDArray[np.int64] | NDArray[np.int32], limit: int, page_size: int
) -> Runs | None:
    """Give the pages of slots, or None unless each stretch that steps by one is of whole pages.

    Also None where a slot is outside 0..limit-1 or repeated. Each value that is relied on is read
    once: whoever writes to the slots meanwhile can change the result, and not break it.
    """
    if not slots.size:
        return []
    breaks = (slots[1:] - slots[:-1] != 1).nonzero()[0]
    first = int(slots[0])
    if not breaks.size:  # one run, as most releases are
        whole = _are_pages(first, slots.size, limit, page_size)
        return [(first // page_size, slots.size // page_size)] if whole else None
    breaks += 1
    if breaks.size > MANY:
        return _many_aligned_runs(slots, breaks, limit, page_size)
    starts, firsts = [0, *breaks.tolist()], [first, *slots[breaks].tolist()]
    runs: list[PageRun] = []
    for first, begin, end in zip(firsts, starts, [*starts[1:], slots.size], strict=True):
        length = end - begin
        if not _are_pages(first, length, limit, page_size):
            return None
        runs.append((first // page_size, length // page_size))
    if len(runs) > 1:
        runs.sort()
        if any(a + n > b for (a, n), (b, _) in pairwise(runs)):
            return None
    return [*runs]


def _are_pages(first: int, length: int, limit: int, page_size: int) -> bool:
    return not (first % page_size or length % page_size or first < 0 or first + length > limit)


def _many_aligned_runs(
    slots: NDArray[np.int64] | NDArray[np.int32],
    breaks: NDArray[np.int64],
    limit: int,
    page_size: int,
) -> Runs | None:
    """Give what `_aligned_runs` does, of slots that step by another number than one at `breaks`."""
    if page_size == 1 and 2 * breaks.size > slots.size:  # as pages: few of them follow each other
        pages: NDArray[np.int64] = slots.astype(np.int64)
        if not np.all(pages[1:] > pages[:-1]):
            pages.sort()
            if not np.all(pages[1:] > pages[:-1]):
                return None
        return [(pages, 1)] if pages[0] >= 0 and pages[-1] < limit else None
    begins = np.concatenate([[0], breaks])
    starts = slots[begins].astype(np.int64, copy=False)
    stops = starts + np.diff(begins, append=slots.size)
    if page_size > 1:
        if np.any(starts % page_size) or np.any(stops % page_size):
            return None
        starts, stops = starts // page_size, stops // page_size
    if np.any(starts[1:] < starts[:-1]):
        order = np.argsort(starts)
        starts, stops = starts[order], stops[order]
    if starts[0] < 0 or stops[-1] > limit // page_size:
        return None
    gaps = starts[1:] - stops[:-1]
    least = int(gaps.min())
    if least < 0:
        return None
    if least == 0:  # what was in another order joins here
        apart = np.flatnonzero(gaps)
        starts, stops = starts[np.append(0, apart + 1)], stops[np.append(apart, gaps.size)]
    return [(starts, stops - starts)]


# Slots of several runs, or of a long one, are written straight into one tensor, a stretch of this
# at a time: what a large allocation costs is memory, and a tensor a run would take it twice.
_RAMP = np.arange(8192)


def slots_of_runs(runs: Sequence[PageRun], page_size: int) -> torch.Tensor:
    """Give the slots of runs of pages, int64, in their order and in memory of their own."""
    start, length = runs[0] if len(runs) == 1 else (0, _RAMP.size)
    if length * page_size < _RAMP.size:
        return torch.from_numpy(np.arange(start * page_size, (start + length) * page_size))
    slots = np.empty(sum(length for _, length in runs) * page_size, dtype=np.int64)
    end = 0
    for start, length in runs:
        begin, end = end, end + length * page_size
        shift = start * page_size - begin
        for at in range(begin, end, _RAMP.size):
            stop = min(at + _RAMP.size, end)
            np.add(_RAMP[: stop - at], shift + at, out=slots[at:stop])
    return torch.from_numpy(slots)


def slots_of_pages(pages: NDArray[np.int64], page_size: int) -> NDArray[np.int64]:
    """Give the slots of pages, in their order and in memory of their own."""
    slots: NDArray[np.int64] = pages.copy()
    if page_size > 1:
        slots = (pages[:, None] * page_size + np.arange(page_size)).reshape(-1)
    return slots
