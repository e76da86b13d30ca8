"""Slots that several ranks hold together: each page is one rank's own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from pool_host.common import check_int
from pool_host.extents import PageExtents, PageRun
from pool_host.slot_allocator import SlotAllocator, runs_of_pages, slots_of_pages
from pool_host.slot_pool import HostSlotPool, synchronized

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LaneAllocator(SlotAllocator):
    """Pages in one lane an owner: page p is owner p % owners's, and its page p // owners there.

    A lane has extents of its own pages, so a request takes from each what it needs of it, in runs
    of that owner's memory, and a release gives each what is its. No other page is looked at.
    """

    def __init__(self, page_size: int, owners: int, pages: int = 0) -> None:
        self.owners = owners
        super().__init__(page_size, pages)

    def _make_free(self, runs: Sequence[PageRun]) -> None:
        self._lane_pages = self.pages // self.owners
        self._lanes = [PageExtents.holding(self._lane_pages, ()) for _ in range(self.owners)]
        self._give(runs)

    @property
    def free_pages(self) -> int:
        """How many pages are free, in all lanes."""
        return sum(lane.free_pages for lane in self._lanes)

    def free_pages_of(self, owner: int) -> int:
        """How many pages of one owner are free."""
        return self._lanes[owner].free_pages

    def take_owned(self, owners: NDArray[np.int64]) -> tuple[NDArray[np.int64], int] | None:
        """Take a page of each of `owners` out of its lane; None, and nothing, if a lane is short.

        Gives the pages in the order of `owners`, and in how many runs of their lanes they lie.
        """
        wanted = np.bincount(owners, minlength=self.owners).tolist()
        for lane, count in zip(self._lanes, wanted, strict=True):
            if count > lane.free_pages:
                return None
        parts: list[NDArray[np.int64]] = []
        for owner, count in enumerate(wanted):
            for start, length in self._lanes[owner].take(count) or ():
                first, stop = start * self.owners + owner, (start + length) * self.owners
                parts.append(np.arange(first, stop, self.owners))
        pages = np.empty(owners.size, dtype=np.int64)
        pages[owners.argsort(kind="stable")] = np.concatenate(parts)
        return pages, len(parts)

    def alloc_owned(self, owners: NDArray[np.int64]) -> torch.Tensor | None:
        """Give the slots of a page of each of `owners`, in that order; None if a lane is short."""
        self._check_listed()
        if not owners.size:
            return torch.empty(0, dtype=torch.int64)
        taken = self.take_owned(owners)
        if taken is None:
            self.counts.failures += 1
            return None
        pages, runs = taken
        try:
            slots = slots_of_pages(pages, self.page_size)
        except BaseException:  # no memory, or interrupted: nobody gets the pages
            self.put_back(pages)
            raise
        self._flags[pages] = 1
        self._listed = None
        self.counts.allocated(owners.size, runs)
        return torch.from_numpy(slots)

    def _give(self, runs: Sequence[PageRun]) -> None:
        if len(runs) == 1:  # a run of all owners' pages is one of each owner's own
            [(start, length)] = runs
            for owner, lane in enumerate(self._lanes):
                first, stop = (-((owner - at) // self.owners) for at in (start, start + length))
                if first < stop:
                    lane.give(first, stop - first)
            return
        self.put_back(_pages_of_runs(runs))

    def put_back(self, pages: NDArray[np.int64]) -> None:
        """Make pages that were taken free again, in any order."""
        # Lane after lane, with a place between, so that no run goes from one to the next.
        places = np.sort(pages % self.owners * (self._lane_pages + 1) + pages // self.owners)
        for place, length in runs_of_pages(places):
            owner, start = divmod(place, self._lane_pages + 1)
            self._lanes[owner].give(start, length)

    def _free_runs(self) -> list[PageRun]:
        lanes = [
            _pages_of_runs(lane.runs()) * self.owners + owner
            for owner, lane in enumerate(self._lanes)
        ]
        return runs_of_pages(np.sort(np.concatenate(lanes)))


def _pages_of_runs(runs: Sequence[PageRun]) -> NDArray[np.int64]:
    parts = [np.arange(start, start + length) for start, length in runs]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


class OwnerLanePool(HostSlotPool):
    """Slots whose pages belong to `owners` ranks by turns, as in context parallelism.

    Page p is owner p % owners's; there its rows are those of page p // owners. Every rank keeps one
    such pool and makes the same calls, and so finds the same pages without asking the others.
    `size` is a multiple of page_size * owners: all have equally many pages.
    """

    def __init__(self, size: int, page_size: int, owners: int, layout: str = "layer_first") -> None:
        self.owners = check_int("owners", owners, 1)
        unit = check_int("page_size", page_size, 1) * self.owners
        if check_int("size", size, 1) % unit:
            raise ValueError(
                f"size must be a multiple of page_size {page_size} * owners {owners}, not {size}"
            )
        super().__init__(size, page_size, layout)

    @functools.cached_property
    def _slots(self) -> LaneAllocator:
        return LaneAllocator(self.page_size, self.owners)

    @synchronized
    def available_size(self) -> int:
        """Give the number of slots that `alloc` can surely give: what all owners have alike."""
        least = min(map(self._slots.free_pages_of, range(self.owners)))
        return least * self.owners * self.page_size

    @synchronized
    def aggregate_free_size(self) -> int:
        """Give the number of free slots, whosesoever they are."""
        return self._slots.free_pages * self.page_size

    @synchronized
    def owner_free_size(self, owner: int) -> int:
        """Give the number of one owner's free slots, in constant time."""
        if check_int("owner", owner, 0) >= self.owners:
            raise ValueError(f"owner must be below {self.owners}, not {owner}")
        return self._slots.free_pages_of(owner) * self.page_size

    @synchronized
    def cyclic_owners(self, pages: int, first: int | None = None) -> list[int]:
        """Give owners for the next pages of a sequence, by turns from `first` on.

        A new sequence starts, where `first` is None, with the owner that has most pages free, the
        lowest of several.
        """
        pages = check_int("pages", pages, 0)
        if first is None:
            # `max` keeps the first of equals.
            first = max(range(self.owners), key=self._slots.free_pages_of)
        elif check_int("first", first, 0) >= self.owners:
            raise ValueError(f"first must be below {self.owners}, not {first}")
        return [(first + page) % self.owners for page in range(pages)]

    @synchronized
    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give slots of a new sequence, whose pages belong to all owners by turns, or None.

        Raises SlotError unless `need_size` is a multiple of the page size.
        """
        pages = self._whole_pages(need_size)
        return self._slots.alloc_owned(np.array(self.cyclic_owners(pages), dtype=np.int64))

    @synchronized
    def alloc_pages_with_owners(self, owners: Sequence[int] | torch.Tensor) -> torch.Tensor | None:
        """Give the slots of len(owners) pages, int64, of which page i belongs to owners[i].

        All of them, or None where an owner has too few. One owner's pages are given in as few runs
        of its memory as there can be. Raises TypeError or ValueError where `owners` is no sequence
        of owners.
        """
        self._check_alive()
        return self._slots.alloc_owned(self._checked_owners(owners))

    def _checked_owners(self, owners: Sequence[int] | torch.Tensor) -> NDArray[np.int64]:
        found = np.asarray(owners.cpu() if isinstance(owners, torch.Tensor) else owners)
        if found.ndim != 1:
            raise ValueError(f"owners must have 1 dimension, not the shape {found.shape}")
        if not found.size:
            return np.empty(0, dtype=np.int64)
        if found.dtype.kind not in "iu":
            raise TypeError(f"owners must be integers, not {found.dtype}")
        # As unsigned numbers, negative ones are the largest.
        if found.astype(np.uint64, copy=False).max() >= self.owners:
            wrong = found[(found < 0) | (found >= self.owners)]
            raise ValueError(f"owners must lie in 0..{self.owners - 1}; it holds {wrong[:8]}")
        return found.astype(np.int64, copy=False)
