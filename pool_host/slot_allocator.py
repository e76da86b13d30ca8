"""Which slots of a pool are free: given out and taken back by whole pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from pool_host.buffers import SlotError, check_pages, shown_slots, whole_pages
from pool_host.common import check_tensor
from pool_host.extents import PageExtents, PageRun
from pool_host.statistics import AllocatorCounts, AllocatorStats

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SlotAllocator:
    """The slots of a pool's pages: free ones as extents of pages, and a flag for each page in use.

    An allocation costs what it gives and a release what it takes back, whatever the size of the
    pool. Not locked: the pool's lock guards it. What it gives belongs to the caller, and nothing
    that it is given is kept.
    """

    def __init__(self, page_size: int, pages: int = 0) -> None:
        self.page_size = page_size
        self.counts = AllocatorCounts()
        self.clear(pages)

    def clear(self, pages: int) -> None:
        """Make all of `pages` pages free."""
        self.pages = pages
        self._in_use = bytearray(pages)
        self._flags = np.frombuffer(self._in_use, dtype=np.uint8)  # the same bytes
        self._listed: torch.Tensor | None = None  # `free_slots`, until something changes
        self._listed_in_use: NDArray[np.int64] | None = None
        self._make_free([(0, pages)] if pages else [])

    def _make_free(self, runs: Sequence[PageRun]) -> None:
        """Make the pages of disjoint runs the free ones."""
        self._lanes = [PageExtents.holding(self.pages, runs)]

    @property
    def free_pages(self) -> int:
        """How many pages are free."""
        return self._lanes[0].free_pages

    def alloc(self, pages: int) -> torch.Tensor | None:
        """Give the slots of `pages` pages, int64, in as few runs as there can be, or None."""
        self._check_listed()
        if not pages:
            return torch.empty(0, dtype=torch.int64)
        runs = self._lanes[0].take(pages)
        if runs is None:
            self.counts.failures += 1
            return None
        try:
            slots = slots_of_runs(runs, self.page_size)
        except BaseException:  # no memory, or interrupted: nobody gets the pages
            self._give(runs)
            raise
        for start, length in runs:
            self._in_use[start : start + length] = b"\1" * length
        self._listed = None
        self.counts.allocated(pages, len(runs))
        return slots

    def free(self, indices: torch.Tensor) -> int:
        """Take back slots that were given out, whole pages of them in any order; give how many."""
        runs = runs_of_slots("indices", indices, self.pages * self.page_size, self.page_size)
        if not runs:
            return 0
        pages = 0
        for start, length in runs:  # all of them, before anything is changed
            if self._in_use.find(0, start, start + length) >= 0:
                raise self._double_free(runs)
            pages += length
        for start, length in runs:
            self._in_use[start : start + length] = bytes(length)
        self._give(runs)
        self._listed = None
        self.counts.released(pages)
        return pages * self.page_size

    def _give(self, runs: Sequence[PageRun]) -> None:
        """Make the pages of disjoint runs free again."""
        for start, length in runs:
            self._lanes[0].give(start, length)

    def _double_free(self, runs: Sequence[PageRun]) -> SlotError:
        unused = [page for at, n in runs for page in range(at, at + n) if not self._in_use[page]]
        shown = shown_slots(slots_of_pages(np.array(unused), self.page_size))
        return SlotError(f"Double-free detected: slots not currently allocated: {shown}")

    @property
    def free_slots(self) -> torch.Tensor:
        """Every free slot, int64, ascending; not to be written to.

        Built when it is read, which costs what is free, and the same object until something is
        given out or taken back. Nothing here reads it.

        Set to a list of whole pages, it makes those the free ones. Slots in use are no less so for
        being in the list: it is damaged, and until it is set again nothing is given out.
        """
        if self._listed is None:
            self.counts.materialisations += 1
            self._listed = slots_of_runs(self._free_runs(), self.page_size)
        return self._listed

    @free_slots.setter
    def free_slots(self, slots: torch.Tensor) -> None:
        limit = self.pages * self.page_size
        listed = whole_pages("free_slots", slots, limit, self.page_size)
        pages = np.sort(check_pages("free_slots", listed, self.page_size))
        in_use = pages[self._flags[pages] != 0]
        self._make_free(runs_of_pages(pages[self._flags[pages] == 0]))
        self._listed = None
        self._listed_in_use = slots_of_pages(in_use, self.page_size) if in_use.size else None

    def _free_runs(self) -> list[PageRun]:
        return self._lanes[0].runs()

    def _check_listed(self) -> None:
        if self._listed_in_use is not None:
            shown = shown_slots(self._listed_in_use)
            raise SlotError(f"Double-alloc detected: slots already allocated: {shown}")

    @property
    def slot_used(self) -> torch.Tensor:
        """Whether each slot is given out, bool; made when it is read."""
        return torch.from_numpy(np.repeat(self._flags.view(np.bool_), self.page_size))

    def stats(self) -> AllocatorStats:
        """Give what was done so far, and how the free pages lie."""
        extents = sum(map(len, self._lanes))
        largest = max(lane.largest for lane in self._lanes)
        return self.counts.snapshot(self.pages, self.page_size, self.free_pages, extents, largest)

    def check(self) -> None:
        """Raise RuntimeError if the parts of this allocator do not fit one another."""
        for lane in self._lanes:
            lane.check()
        for start, length in self._free_runs():
            if self._in_use.find(1, start, start + length) >= 0:
                raise RuntimeError(f"Of the free pages {start}..{start + length - 1} one is in use")


def runs_of_slots(name: str, indices: object, limit: int, page_size: int) -> list[PageRun]:
    """Give the pages of slots that make whole pages, as disjoint runs in ascending order.

    Takes and refuses what `whole_pages` does. Slots in transfer order are few stretches of whole
    pages, and are looked through once; others are sorted first.
    """
    tensor = check_tensor(name, indices, (torch.int64, torch.int32), 1)
    runs = _aligned_runs((tensor if tensor.is_cpu else tensor.cpu()).numpy(), limit, page_size)
    if runs is None:
        slots = np.sort(whole_pages(name, indices, limit, page_size))
        runs = _aligned_runs(slots, limit, page_size)
        if runs is None:
            raise RuntimeError(f"{name} was written to while it was read")
    return runs


def _aligned_runs(
    slots: NDArray[np.int64] | NDArray[np.int32], limit: int, page_size: int
) -> list[PageRun] | None:
    """Give the pages of slots, or None unless each stretch that steps by one is of whole pages.

    Also None where a slot is outside 0..limit-1 or repeated. Each value that is relied on is read
    once: whoever writes to the slots meanwhile can change the result, and not break it.
    """
    if not slots.size:
        return []
    apart = slots[1:] - slots[:-1] != 1
    starts, firsts = [0], [int(slots[0])]
    if np.count_nonzero(apart):
        breaks = np.flatnonzero(apart) + 1
        starts += breaks.tolist()
        firsts += slots[breaks].tolist()
    runs: list[PageRun] = []
    for first, begin, end in zip(firsts, starts, [*starts[1:], slots.size], strict=True):
        length = end - begin
        if first % page_size or length % page_size or first < 0 or first + length > limit:
            return None
        runs.append((first // page_size, length // page_size))
    if len(runs) > 1:
        runs.sort()
        if any(a + n > b for (a, n), (b, _) in pairwise(runs)):
            return None
    return runs


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
    """Give the slots of pages, in their order."""
    return (pages[:, None] * page_size + np.arange(page_size)).reshape(-1)


def runs_of_pages(pages: NDArray[np.int64]) -> list[PageRun]:
    """Give ascending pages as runs."""
    if not pages.size:
        return []
    ends = [*(np.flatnonzero(np.diff(pages) != 1) + 1).tolist(), pages.size]
    begins = [0, *ends[:-1]]
    return [(int(pages[begin]), end - begin) for begin, end in zip(begins, ends, strict=True)]
