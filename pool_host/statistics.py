"""What an allocator of slots has done so far, and how its free pages lie."""

from __future__ import annotations

from dataclasses import dataclass

# Allocations of 1 run, 2, up to 4, up to 8, and so on; the last bucket takes all that are longer.
HISTOGRAM_BUCKETS = 16


@dataclass(frozen=True)
class AllocatorStats:
    """A snapshot, read in constant time. Counts only ever grow, also where the pool is cleared.

    A run is a stretch of an allocation in which slots step by one, so a transfer to or from one
    stretch of device slots makes as many copies a layer as there are runs.
    """

    pages: int  # of the pool
    page_size: int  # slots of a page
    free_pages: int
    extents: int  # maximal runs of free pages
    largest_extent: int  # pages
    allocations: int  # that gave slots
    failures: int  # that gave None
    allocated_pages: int
    runs: int  # of all allocations
    runs_histogram: tuple[int, ...]  # allocations of at most 1, 2, 4, 8, ... runs
    releases: int
    released_pages: int
    materialisations: int  # how often `free_slots` was built

    @property
    def contiguous_allocations(self) -> int:
        """Allocations of one run."""
        return self.runs_histogram[0]

    @property
    def runs_per_allocation(self) -> float:
        """Mean number of runs, 0 before the first allocation."""
        return self.runs / self.allocations if self.allocations else 0.0

    @property
    def pages_per_run(self) -> float:
        """Mean length of a run in pages, 0 before the first allocation."""
        return self.allocated_pages / self.runs if self.runs else 0.0

    @property
    def fragmentation(self) -> float:
        """Share of free pages outside the largest extent: 0 if all are in it, or none is free."""
        return 1 - self.largest_extent / self.free_pages if self.free_pages else 0.0


class AllocatorCounts:
    """The counts that an `AllocatorStats` shows."""

    def __init__(self) -> None:
        self.allocations = 0
        self.failures = 0
        self.allocated_pages = 0
        self.runs = 0
        self.histogram = [0] * HISTOGRAM_BUCKETS
        self.releases = 0
        self.released_pages = 0
        self.materialisations = 0
        self.last: tuple[int, int, int, int, int] | None = None  # what the last allocation changed

    def allocated(self, pages: int, runs: int) -> None:
        """Count an allocation."""
        h, at = self.histogram, min((runs - 1).bit_length(), HISTOGRAM_BUCKETS - 1)
        self.last = (self.allocations, self.allocated_pages, self.runs, at, h[at])
        now = (self.allocations + 1, self.allocated_pages + pages, self.runs + runs, h[at] + 1)
        self.allocations, self.allocated_pages, self.runs, h[at] = now

    def undo_last(self) -> None:
        """Count the last allocation no more: nobody got it."""
        if self.last is not None:
            at = self.last[3]
            self.allocations, self.allocated_pages, self.runs = self.last[:3]
            self.histogram[at] = self.last[4]
            self.last = None

    def snapshot(
        self, pages: int, page_size: int, free_pages: int, extents: int, largest_extent: int
    ) -> AllocatorStats:
        """Give the counts beside the state of the pages."""
        return AllocatorStats(
            pages=pages,
            page_size=page_size,
            free_pages=free_pages,
            extents=extents,
            largest_extent=largest_extent,
            allocations=self.allocations,
            failures=self.failures,
            allocated_pages=self.allocated_pages,
            runs=self.runs,
            runs_histogram=tuple(self.histogram),
            releases=self.releases,
            released_pages=self.released_pages,
            materialisations=self.materialisations,
        )
