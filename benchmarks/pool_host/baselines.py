"""What the pools' allocator is compared with, each as small as it can be and do the same job.

The lists behave as SGLang's host pools do, from notes of their behaviour: `EagerList` as up to
0.5.14, `LazyList` as from 0.5.16 on. The others pick pages as other caches' allocators do, and
share with ours the making of slot tensors and the checks of a release, so that only the choice of
pages differs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
import torch

from pool_host.extents import PageRun, single_runs
from pool_host.slot_allocator import runs_of_slots, slots_of_runs


class Allocator(Protocol):
    """Gives slots by whole pages, and takes them back."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give slots, or None if there are not so many."""

    def free(self, indices: torch.Tensor) -> int:
        """Take slots back."""


class Selector(Protocol):
    """Picks pages."""

    def take(self, pages: int) -> list[PageRun] | None:
        """Give pages as runs, or None if there are not so many."""

    def give(self, start: int, length: int) -> None:
        """Take a run of pages back."""


class EagerList:
    """One tensor of free slots, joined anew by each release."""

    def __init__(self, pages: int, page_size: int) -> None:
        self.page_size = page_size
        self.free_slots = torch.arange(pages * page_size)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give the first slots of the list."""
        if need_size % self.page_size:
            raise AssertionError("whole pages")
        if need_size > len(self.free_slots):
            return None
        selected = self.free_slots[:need_size]
        self.free_slots = self.free_slots[need_size:]
        return selected

    def free(self, indices: torch.Tensor) -> int:
        """Copy the whole list, with the slots behind it."""
        self.free_slots = torch.cat([self.free_slots, indices.cpu()])
        return len(indices)


class LazyList:
    """Released slots wait in chunks until the list is short; a flag a slot finds a double free."""

    def __init__(self, pages: int, page_size: int) -> None:
        self.page_size = page_size
        self.free_slots = torch.arange(pages * page_size)
        self.release_slots: list[torch.Tensor] = []
        self.num_release_slots = 0
        self.slot_used = torch.zeros(pages * page_size, dtype=torch.bool)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give the first slots of the list; join the chunks to it where it is too short."""
        if need_size % self.page_size:
            raise AssertionError("whole pages")
        if need_size > len(self.free_slots) + self.num_release_slots:
            return None
        if need_size > len(self.free_slots):
            self.free_slots = torch.cat([self.free_slots, *self.release_slots])
            self.release_slots, self.num_release_slots = [], 0
        selected = self.free_slots[:need_size]
        self.free_slots = self.free_slots[need_size:]
        if self.slot_used[selected].any():
            raise AssertionError("double allocation")
        self.slot_used[selected] = True
        return selected

    def free(self, indices: torch.Tensor) -> int:
        """Note a chunk."""
        indices = indices.cpu()
        if not self.slot_used[indices].all():
            raise AssertionError("double free")
        self.slot_used[indices] = False
        self.release_slots.append(indices)
        self.num_release_slots += indices.numel()
        return len(indices)


class SortScan(EagerList):
    """Sorts the free slots for each allocation, and looks for a stretch that is long enough."""

    released = False  # a fresh list is in order, and one stretch

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give the first stretch that holds them all, else the first slots in order."""
        if not self.released:
            return super().alloc(need_size)
        if need_size > len(self.free_slots):
            return None
        ordered = np.sort(self.free_slots.numpy())
        breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
        starts = np.concatenate([[0], breaks])
        lengths = np.diff(starts, append=len(ordered))
        fitting = np.flatnonzero(lengths >= need_size)
        begin = int(starts[fitting[0]]) if len(fitting) else 0
        stop = begin + need_size
        self.free_slots = torch.from_numpy(np.concatenate([ordered[:begin], ordered[stop:]]))
        return torch.from_numpy(ordered[begin:stop].copy())

    def free(self, indices: torch.Tensor) -> int:
        """Copy the whole list, with the slots behind it."""
        self.released = True
        return super().free(indices)


class FirstFitBitmap:
    """A byte a page, searched from the start for a run; half of it where none is long enough."""

    def __init__(self, pages: int) -> None:
        self.free = bytearray(b"\1" * pages)
        self.free_pages = pages

    def take(self, pages: int) -> list[PageRun] | None:
        """Give the first run that fits, or the first of half its length, and so on."""
        if pages > self.free_pages:
            return None
        self.free_pages -= pages
        taken: list[PageRun] = []
        wish = pages
        while pages:
            wish = min(wish, pages)
            start = self.free.find(b"\1" * wish)
            if start < 0:
                wish //= 2
                continue
            self.free[start : start + wish] = bytes(wish)
            taken.append((start, wish))
            pages -= wish
        return taken

    def give(self, start: int, length: int) -> None:
        """Set the bytes."""
        self.free[start : start + length] = b"\1" * length
        self.free_pages += length


class PageQueue:
    """Pages in a queue: the oldest first, or the latest."""

    def __init__(self, pages: int, latest: bool = False) -> None:
        self.free = deque(range(pages - 1, -1, -1) if latest else range(pages))
        self.next: Callable[[], int] = self.free.pop if latest else self.free.popleft
        self.latest = latest

    @property
    def free_pages(self) -> int:
        """How many pages are free."""
        return len(self.free)

    def take(self, pages: int) -> list[PageRun] | None:
        """Give pages as they come."""
        if pages > len(self.free):
            return None
        taken: list[PageRun] = []
        for _ in range(pages):
            page = self.next()
            if taken and sum(taken[-1]) == page:
                taken[-1] = taken[-1][0], taken[-1][1] + 1
            else:
                taken.append((page, 1))
        return taken

    def give(self, start: int, length: int) -> None:
        """Put pages back, so that a queue of the latest gives them in ascending order."""
        pages: Iterable[int] = range(start, start + length)
        self.free.extend(reversed(range(start, start + length)) if self.latest else pages)


class Selecting:
    """Slots of the pages that a selector picks, with checks as ours."""

    def __init__(self, selector: Selector, pages: int, page_size: int) -> None:
        self.selector = selector
        self.pages = pages
        self.page_size = page_size
        self.in_use = bytearray(pages)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give slots by whole pages."""
        if need_size % self.page_size:
            raise AssertionError("whole pages")
        runs = self.selector.take(need_size // self.page_size)
        if runs is None:
            return None
        for start, length in runs:
            self.in_use[start : start + length] = b"\1" * length
        return slots_of_runs(runs, self.page_size)

    def free(self, indices: torch.Tensor) -> int:
        """Take slots back, whole pages of them in any order."""
        limit = self.pages * self.page_size
        runs = single_runs(runs_of_slots("indices", indices, limit, self.page_size))
        for start, length in runs:
            if self.in_use.find(0, start, start + length) >= 0:
                raise AssertionError("double free")
        for start, length in runs:
            self.in_use[start : start + length] = bytes(length)
            self.selector.give(start, length)
        return len(indices)


class LaneMasks:
    """Free pages as one tensor, of which each request masks its owners' and rebuilds the rest."""

    def __init__(self, pages: int, owners: int) -> None:
        self.owners = owners
        self.free = torch.arange(pages)

    def take_owned(self, owners: torch.Tensor) -> torch.Tensor | None:
        """Give a page of each owner, in that order; None if one has too few."""
        owner_of = self.free % self.owners
        taken = torch.empty_like(owners)
        keep = torch.ones(len(self.free), dtype=torch.bool)
        for owner in range(self.owners):
            positions = owners == owner
            count = int(positions.sum())
            found = (owner_of == owner).nonzero()[:count, 0]
            if len(found) < count:
                return None
            taken[positions] = self.free[found]
            keep[found] = False
        self.free = self.free[keep]
        return taken

    def give(self, pages: torch.Tensor) -> None:
        """Put pages back."""
        self.free = torch.cat([self.free, pages])


def runs_of(slots: torch.Tensor) -> int:
    """Count the stretches of slots that step by one: what a transfer copies at once."""
    values = slots.numpy()
    return 1 + int(np.count_nonzero(values[1:] - values[:-1] != 1)) if values.size else 0
