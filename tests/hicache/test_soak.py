"""A cache under threads that never rest: nothing is lost, held twice or wrong, and memory is flat.

It runs for a moment; REPOT_SOAK_S=300 makes it minutes.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import torch

from hicache.device_pools import MHATokenToKVPool
from hicache.nodes import TreeNode
from hicache.pages import page_slots, pages_of
from hicache.radix_tree import HiRadixCache, Match
from hicache.room import FreeRoom
from hicache.storage.base import PageFormat
from hicache.storage.file import HiCacheFile
from hicache.summary import CacheSummary
from hicache.transfers import Load, TransferError
from hicache.workers import Worker
from pool_host.mha import MHATokenToKVPoolHost as HostPool
from tests.hicache.rig import Rig, path_tokens

SECONDS = float(os.environ.get("REPOT_SOAK_S", "3"))
PAGE, PAGES, HOST_PAGES = 2, 64, 96
ROOM = FreeRoom(device=0.1, host=0.1)


class Faulty(HiCacheFile):
    """Files that cannot be read or written now and then."""

    chance = random.Random(1)  # noqa: S311  faults, not secrets

    def get(self, key: str, target: torch.Tensor) -> bool:
        if self.chance.random() < 0.02:
            raise OSError(5, "chosen to fail")
        return super().get(key, target)

    def set(self, key: str, page: torch.Tensor) -> None:
        if self.chance.random() < 0.02:
            raise OSError(28, "chosen to fail")
        super().set(key, page)


class Scheduler:
    """The one thread that gives out pages of the cache: requests at random, each held for a while.

    `step` does one thing; `requests` are what is open: its tokens, its match, its own slots.
    """

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig, self.cache = rig, rig.cache
        self.chance = random.Random(seed)  # noqa: S311
        self.requests: list[tuple[list[int], Match, torch.Tensor, tuple[Load, ...]]] = []
        self.done: Counter[str] = Counter()

    def step(self) -> None:
        act = self.chance.random()
        if act < 0.45 and len(self.requests) < 4:
            self.begin()
        elif act < 0.75 and self.requests:
            self.finish(self.requests.pop(self.chance.randrange(len(self.requests))))
        elif act < 0.85 and self.requests:
            _, match, own, _ = self.requests.pop(self.chance.randrange(len(self.requests)))
            self.rig.allocator.free(own)
            self.cache.unlock(match)
            self.done["aborted"] += 1
        elif act < 0.9:
            evict = self.chance.choice([self.cache.evict, self.cache.evict_host])
            evict(PAGE * self.chance.randint(1, 6))
            self.done["evicted"] += 1
        else:
            self.cache.poll()

    def begin(self) -> None:
        tokens = [self.chance.randint(0, 2) for _ in range(self.chance.randint(1, 8))]
        tokens = [token for token in tokens for _ in range(PAGE)]
        prefetch = self.cache.prefetch(tokens)
        if prefetch is not None and self.chance.random() < 0.3:
            prefetch.stop()
        elif prefetch is not None:
            assert prefetch.join(60)
            self.cache.poll()
        match = self.cache.match_prefix(tokens)
        self.cache.lock(match)
        self.cache.load_back(match)
        held = match.device_indices()
        before = self.rig.allocator.available_size()
        evictions = self.cache.evictions["device"].times
        own = self.cache.alloc_device(len(tokens) - held.numel())
        if own is None:
            self.cache.unlock(match)
            return
        if self.cache.evictions["device"].times == evictions:
            assert self.rig.allocator.available_size() == before - own.numel()
        self.requests.append((tokens, match, own, match.loads()))
        self.done["begun"] += 1

    def finish(self, request: tuple[list[int], Match, torch.Tensor, tuple[Load, ...]]) -> None:
        tokens, match, own, loads = request
        held = len(tokens) - own.numel()
        try:
            for load in loads:
                load.wait(60)
        except TransferError:
            self.rig.allocator.free(own)
        else:
            slots = torch.cat([match.device_indices()[:held], own])
            for end in range(PAGE, held + 1, PAGE):
                page = int(slots[end - PAGE]) // PAGE
                assert self.rig.is_right("device", tuple(tokens[:end]), page)
            self.rig.fill(tokens, slots, first=held)
            self.cache.insert(tokens, slots)
            self.done["finished"] += 1
        self.cache.unlock(match)

    def end(self) -> None:
        while self.requests:
            self.finish(self.requests.pop())
        self.cache.flush()


def check_books(scheduler: Scheduler) -> None:
    """Every page is free, a node's, a request's or a transfer's, and none is two of these."""
    rig, nodes = scheduler.rig, list(scheduler.cache.nodes())
    device = Counter(node.device.page for node in nodes if node.device.page is not None)
    for _, _, own, _ in scheduler.requests:
        device.update(pages_of(own, PAGE, "own"))
    assert max(device.values(), default=1) == 1
    assert len(device) + rig.allocator.stats().free_pages == PAGES


def check_at_rest(scheduler: Scheduler) -> None:
    """At rest every page is free or a node's, on both tiers, and holds what its tokens are."""
    rig, nodes = scheduler.rig, list(scheduler.cache.nodes())
    host = Counter(node.host.page for node in nodes if node.host.page is not None)
    assert max(host.values(), default=1) == 1
    assert len(host) * PAGE + rig.host.available_size() == rig.host.size
    assert not any(node.device.locks or node.host.locks for node in nodes)
    for node in nodes:
        check_content(rig, node)


def check_content(rig: Rig, node: TreeNode) -> None:
    for tier, page in (("device", node.device.page), ("host", node.host.page)):
        assert page is None or rig.is_right(tier, path_tokens(node), page)


def soaking(tmp_path: Path) -> Rig:
    rig = Rig(pages=PAGES, host_pages=HOST_PAGES, worker=Worker)
    rig.controller.close()
    storage = Faulty(tmp_path, PageFormat.of(rig.host, "soak"), limit_bytes=60_000)
    kind = type(rig.controller)
    rig.controller = kind(rig.allocator, rig.host, storage=storage)
    rig.cache = HiRadixCache(rig.controller, ROOM)
    return rig


def test_a_cache_that_never_rests_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")  # a fault in fifty, each with its trace, is memory as well
    rig = soaking(tmp_path)
    scheduler = Scheduler(rig, seed=2)
    stop = threading.Event()
    readings = 0

    def read() -> None:
        nonlocal readings
        while not stop.wait(0.01):
            summary = CacheSummary.of(rig.cache)
            assert 0 <= summary.tiers["device"].free <= PAGES * PAGE
            readings += 1

    reader = threading.Thread(target=read)
    reader.start()
    memory: list[int] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(200):
            scheduler.step()
        check_books(scheduler)
        scheduler.cache.flush()
        for node in scheduler.cache.nodes():
            check_content(rig, node)
        memory.append(psutil.Process().memory_info().rss)
    stop.set()
    reader.join()
    scheduler.end()
    check_at_rest(scheduler)
    check_room(rig)
    scheduler.cache.reset()
    assert rig.allocator.available_size() == PAGES * PAGE
    assert rig.host.available_size() == HOST_PAGES * PAGE
    assert readings
    assert all(scheduler.done[act] for act in ("begun", "finished", "aborted", "evicted"))
    # What was reached by the middle is enough for the rest, but for what allocators keep.
    assert memory[-1] - memory[len(memory) // 2] < 64 << 20
    rig.controller.close()


def check_room(rig: Rig) -> None:
    """What had to evict on a cache at rest has left the room free."""
    room = int(ROOM.device * PAGES)
    free = rig.allocator.available_size() // PAGE
    slots = rig.cache.alloc_device((free + 1) * PAGE)
    assert slots is not None
    assert rig.allocator.available_size() // PAGE == room
    rig.allocator.free(slots)


class Churn:
    """One thread at a host pool: what it holds it has marked, so that another's mark shows."""

    def __init__(self, pool: HostPool, marks: torch.Tensor, number: int) -> None:
        self.pool, self.marks, self.number = pool, marks, number
        self.chance = random.Random(number)  # noqa: S311
        self.held: list[torch.Tensor] = []
        self.fault: BaseException | None = None

    def run(self, goes_on: Callable[[], bool]) -> None:
        try:
            while goes_on():
                self.step()
            while self.held:
                self.give_back()
        except BaseException as error:
            self.fault = error

    def step(self) -> None:
        if self.held and self.chance.random() < 0.5:
            self.give_back()
            return
        slots = self.pool.alloc(PAGE * self.chance.randint(1, 20))
        if slots is not None:
            assert not self.marks[slots].any(), "held twice"
            self.marks[slots] = self.number
            self.held.append(slots)

    def give_back(self) -> None:
        slots = self.held.pop(self.chance.randrange(len(self.held)))
        assert (self.marks[slots] == self.number).all(), "another's"
        self.marks[slots] = 0
        if self.chance.random() < 0.5:
            slots = page_slots(pages_of(slots, PAGE, "slots")[::-1], PAGE)
        assert self.pool.free(slots) == slots.numel()


def test_threads_at_one_pool_hold_nothing_twice() -> None:
    device = MHATokenToKVPool(400 * PAGE, PAGE, torch.float32, 1, 4, 1)
    pool = HostPool(device, 1.0, 0, PAGE, "page_first", pin_memory=False)
    marks = torch.zeros(pool.size, dtype=torch.uint8)
    end = time.monotonic() + SECONDS / 2
    churns = [Churn(pool, marks, number) for number in range(1, 5)]
    threads = [
        threading.Thread(target=churn.run, args=(lambda: time.monotonic() < end,))
        for churn in churns
    ]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        stats = pool.stats()
        assert stats.free_pages * PAGE <= pool.size
        assert pool.available_size() % PAGE == 0
    for thread in threads:
        thread.join()
    assert [churn.fault for churn in churns] == [None] * len(churns)
    assert pool.available_size() == pool.size
    assert not marks.any()
    stats = pool.stats()
    assert stats.allocated_pages == stats.released_pages > 0
    assert (stats.extents, stats.largest_extent) == (1, stats.pages)
    pool.destroy()
