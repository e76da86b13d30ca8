"""Slots that several ranks hold together: each page is one rank's own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from pool_host.common import check_int
from pool_host.extents import PageExtents, runs_of_pages
from pool_host.slot_allocator import Runs, SlotAllocator, pages_of, slots_of_pages
from pool_host.slot_pool import HostSlotPool, giving, synchronized

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

    def _all_free(self, pages: int) -> tuple[PageExtents, ...]:
        return tuple(PageExtents(pages // self.owners) for _ in range(self.owners))

    def free_pages_of(self, owner: int) -> int:
        """How many pages of one owner are free."""
        self._end_begun()
        return self._parts[owner].free_pages

    def take_owned(self, owners: NDArray[np.int64]) -> tuple[NDArray[np.int64], int] | None:
        """Take a page of each of `owners` out of its lane; None, and nothing, if a lane is short.

        Gives the pages in the order of `owners`, and in how many runs of their lanes they lie. They
        are taken back unless `given` is noted before the next call.
        """
        self._begin_giving()
        wanted = np.bincount(owners, minlength=self.owners).tolist()
        for lane, count in zip(self._parts, wanted, strict=True):
            if count > lane.free_pages:
                return None
        begun: list[tuple[PageExtents, Runs, int]] = [(lane, [], 0) for lane in self._parts]
        self._begun = tuple(begun)
        parts: list[NDArray[np.int64]] = []
        count, step = 0, self.owners
        for owner, (lane, taken, _) in enumerate(begun):
            if not wanted[owner]:
                continue
            count += lane.take_into(taken, wanted[owner])
            for start, length in taken:
                if isinstance(start, int):
                    first = start * step + owner
                    parts.append(np.arange(first, first + int(length) * step, step))
                else:
                    parts.append(pages_of([(start, length)]) * step + owner)
        found = np.empty(owners.size, dtype=np.int64)
        found[owners.argsort(kind="stable")] = np.concatenate(parts)
        return found, count

    def give_out_owned(self, owners: NDArray[np.int64]) -> torch.Tensor | None:
        """Give the slots of a page of each of `owners`, in that order; None if a lane is short.

        They are taken back unless `given` is noted before the next call.
        """
        if not owners.size:
            self._begin_giving()
            return torch.empty(0, dtype=torch.int64)
        taken = self.take_owned(owners)
        if taken is None:
            self.counts.failures += 1
            return None
        pages, runs = taken
        slots = slots_of_pages(pages, self.page_size)
        self._listed = None
        self.counts.allocated(owners.size, runs)
        return torch.from_numpy(slots)

    def put_back(self, pages: NDArray[np.int64]) -> None:
        """Make pages that were given free again, in any order."""
        for lane, runs in self._by_part([(pages, 1)]):
            lane.give_runs(runs)

    def _by_part(self, runs: Runs) -> Sequence[tuple[PageExtents, Runs]]:
        pages = np.sort(pages_of(runs))
        found: list[tuple[PageExtents, Runs]] = []
        for owner, lane in enumerate(self._parts):
            own = pages[pages % self.owners == owner] // self.owners
            if own.size:
                found.append((lane, [*runs_of_pages(own)]))
        return found

    def _with_flags(self, flags: NDArray[np.uint8]) -> tuple[PageExtents, ...]:
        return tuple(PageExtents.of(flags[owner :: self.owners]) for owner in range(self.owners))

    def _flags(self) -> NDArray[np.uint8]:
        return np.stack([lane.flags for lane in self._parts], axis=1).reshape(-1)


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

    @giving
    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give slots of a new sequence, whose pages belong to all owners by turns, or None.

        Raises SlotError unless `need_size` is a multiple of the page size.
        """
        pages = self._whole_pages(need_size)
        return self._slots.give_out_owned(np.array(self.cyclic_owners(pages), dtype=np.int64))

    @giving
    def alloc_pages_with_owners(self, owners: Sequence[int] | torch.Tensor) -> torch.Tensor | None:
        """Give the slots of len(owners) pages, int64, of which page i belongs to owners[i].

        All of them, or None where an owner has too few. One owner's pages are given in as few runs
        of its memory as there can be. Raises TypeError or ValueError where `owners` is no sequence
        of owners.
        """
        self._check_alive()
        return self._slots.give_out_owned(self._checked_owners(owners))

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
