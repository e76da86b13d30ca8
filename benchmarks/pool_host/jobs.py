"""What is measured: churn, release by size of pool, owner lanes, and reading statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch

from benchmarks.pool_host.baselines import (
    Allocator,
    EagerList,
    FirstFitBitmap,
    LaneMasks,
    LazyList,
    PageQueue,
    Selecting,
    Selector,
    SortScan,
)
from benchmarks.pool_host.workload import (
    Churn,
    Figures,
    Samples,
    no_garbage,
    replay_pages,
    replay_slots,
    steps,
    timed,
)
from pool_host.extents import PageExtents
from pool_host.logical import LogicalHostPool
from pool_host.owner_lanes import OwnerLanePool

_Found = TypeVar("_Found")

OURS = "extents (pool_host)"
LAZY = "lazy list, used flags"
EAGER = "eager list, no checks"
SORT = "sort and scan"
BITMAP = "first-fit bitmap"
LIFO = "LIFO pages"
FIFO = "FIFO pages"
SCALE_SLOTS = 6_611_072  # of upstream's report: 103,298 pages of 64
FLAT_SLOTS = (100_000, 1_000_000, 10_000_000)
LANE_PAGES = 128  # of a request


class Contiguous:
    """Our pool, asked for contiguous slots."""

    def __init__(self, pages: int, page_size: int) -> None:
        self.pool = LogicalHostPool(pages * page_size, page_size)
        self.alloc = self.pool.alloc_contiguous_preferred
        self.free = self.pool.free


ALLOCATORS: dict[str, Callable[[int, int], Allocator]] = {
    OURS: Contiguous,
    LAZY: LazyList,
    EAGER: EagerList,
    SORT: SortScan,
    BITMAP: lambda pages, size: Selecting(FirstFitBitmap(pages), pages, size),
    LIFO: lambda pages, size: Selecting(PageQueue(pages, latest=True), pages, size),
}
SELECTORS: dict[str, Callable[[int], Selector]] = {
    OURS: PageExtents,
    BITMAP: FirstFitBitmap,
    LIFO: lambda pages: PageQueue(pages, latest=True),
    FIFO: PageQueue,
}
SLOW = (SORT, EAGER)  # one round is enough: they are far from any budget
# Of this one a tenth of the steps is measured, after a tenth of the others: all of them would take
# longer than all else together. Its median is the same, its runs are fewer than after all.
SLOWEST = SORT


@dataclass(frozen=True)
class ChurnResult:
    """Figures by allocator: end to end, and of choosing pages alone. `reads`: of `free_slots`."""

    slots: dict[str, Figures]
    selection: dict[str, Figures]
    statistics_p50: float
    available_p50: float
    reads: int
    extents: int


def churn_all(churn: Churn, rounds: int, names: Iterable[str] = tuple(ALLOCATORS)) -> ChurnResult:
    """Replay one churn with every allocator, by turns; of several rounds each keeps its best."""
    made = steps(churn)
    tenth = replace(churn, burn_in=churn.burn_in // 10, ops=-(-churn.ops // 10))
    slots: dict[str, Figures] = {}
    selection: dict[str, Figures] = {}
    ours = Contiguous(churn.pages, churn.page_size)
    for turn in range(rounds):
        for name in names:
            if turn and name in SLOW:
                continue
            allocator = ALLOCATORS[name](churn.pages, churn.page_size)
            if isinstance(allocator, Contiguous):
                ours = allocator
            found = (
                replay_slots(tenth, steps(tenth), allocator)
                if name == SLOWEST
                else replay_slots(churn, made, allocator)
            )
            _keep(slots, name, found)
        for name, make in SELECTORS.items():
            _keep(selection, name, replay_pages(churn, made, make(churn.pages)))
    statistics, available = Samples(), Samples()
    for _ in range(2000):
        timed(statistics, lambda pool: pool.stats(), ours.pool)
        timed(available, lambda pool: pool.available_size(), ours.pool)
    stats = ours.pool.stats()
    return ChurnResult(
        slots,
        selection,
        statistics.percentile(50),
        available.percentile(50),
        stats.materialisations,
        stats.extents,
    )


def _keep(found: dict[str, Figures], name: str, new: Figures) -> None:
    found[name] = found[name].best(new) if name in found else new


@dataclass(frozen=True)
class ReleaseResult:
    """Microseconds of a release, p50: ours and the eager list's by slots released; ours by pool."""

    ours: dict[int, float]
    eager: dict[int, float]
    flat: dict[int, float]
    reads: int


def releases(released: tuple[int, ...] = (64, 1024), times: int = 40) -> ReleaseResult:
    """Release from a pool that is nearly all free, as large as upstream's and in several sizes."""
    page = 64
    ours: dict[int, float] = {}
    eager: dict[int, float] = {}
    pool = Contiguous(SCALE_SLOTS // page, page)
    listed = EagerList(SCALE_SLOTS // page, page)
    for slots in released:
        ours[slots] = _release(pool, slots, times * 25)
        eager[slots] = _release(listed, slots, -(-times // 4))
    del listed
    pools = {size: Contiguous(size // page, page) for size in FLAT_SLOTS}
    samples = {size: list[float]() for size in FLAT_SLOTS}
    for _ in range(times):
        for size, each in pools.items():  # by turns, so that all see the same load
            samples[size].append(_release(each, 1024, 50))
    flat = {size: float(np.median(seen)) for size, seen in samples.items()}
    reads = sum(each.pool.stats().materialisations for each in (pool, *pools.values()))
    return ReleaseResult(ours, eager, flat, reads)


def _release(allocator: Allocator, slots: int, times: int) -> float:
    samples = Samples()
    with no_garbage():
        for _ in range(times):
            timed(samples, allocator.free, _there(allocator.alloc(slots)))
    return samples.percentile(50)


def _there(found: _Found | None) -> _Found:
    if found is None:
        raise RuntimeError("a pool that is nearly all free is short of slots")
    return found


@dataclass(frozen=True)
class LaneResult:
    """Microseconds, p50, of finding a request's pages; and of giving their slots, end to end."""

    owners: int
    ours: float
    mask: float
    ours_slots: float
    mask_slots: float
    reads: int


def lanes(churn: Churn, owners: int, times: int = 300) -> LaneResult:
    """Give pages of owners by turns, from a pool that is all free at first, and take them back."""
    pages = churn.pages // owners * owners
    pool = OwnerLanePool(pages * churn.page_size, churn.page_size, owners)
    masks = LaneMasks(pages, owners)
    wanted = [page % owners for page in range(LANE_PAGES)]
    found = torch.tensor(wanted)
    lane, unit = pool._slots, torch.arange(churn.page_size)  # below the lock, as the masks are
    samples = [Samples() for _ in range(4)]

    def slots_of_mask(owners: torch.Tensor) -> torch.Tensor:
        chosen = _there(masks.take_owned(owners))
        return (chosen[:, None] * churn.page_size + unit).view(-1)

    with no_garbage():
        for _ in range(times):
            chosen, _ = _there(timed(samples[0], lane.take_owned, found.numpy()))
            lane.given()
            lane.put_back(chosen)
        for _ in range(times):
            masks.give(_there(timed(samples[1], masks.take_owned, found)))
        for _ in range(times):
            pool.free(_there(timed(samples[2], pool.alloc_pages_with_owners, wanted)))
        for _ in range(times):
            slots = timed(samples[3], slots_of_mask, found)
            masks.give(slots[:: churn.page_size] // churn.page_size)
    ours, mask, ours_slots, mask_slots = (each.percentile(50) for each in samples)
    return LaneResult(owners, ours, mask, ours_slots, mask_slots, pool.stats().materialisations)
