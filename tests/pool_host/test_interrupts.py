"""A call that is interrupted at any line of ours: nothing is given twice, and nothing is lost."""

from __future__ import annotations

import ctypes
import functools
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from pool_host import extents, scattered
from pool_host.group import HostPoolGroup, PoolEntry
from pool_host.logical import LogicalHostPool
from pool_host.owner_lanes import OwnerLanePool
from pool_host.scattered import choose_scattered
from tests.pool_host.families import make_mamba, make_mha, make_paged
from tests.pool_host.interrupts import interrupted

PAGES = 24


@functools.cache
def somebody_else() -> tuple[queue.SimpleQueue[Callable[[], int]], queue.SimpleQueue[int]]:
    """Give where to put calls that another thread is to make, and where it puts what they give."""
    asked: queue.SimpleQueue[Callable[[], int]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[int] = queue.SimpleQueue()

    def work() -> None:
        while True:
            answers.put(asked.get()())

    threading.Thread(target=work, daemon=True).start()
    return asked, answers


@dataclass
class Held:
    """A pool and what its callers hold of it."""

    pool: Any
    held: list[torch.Tensor] = field(default_factory=list)
    unit: int = 1  # the pages of an allocation are a multiple of it

    def take(self, pages: int) -> None:
        slots = self.pool.alloc(pages * self.pool.page_size)
        assert slots is not None
        self.held.append(slots)

    def break_up(self, step: int) -> None:
        """Release every so many-th page, out of order."""
        size = self.pool.page_size
        pages = torch.cat(self.held).view(-1, size)
        gone = pages[::step].flip(0)
        self.held = [pages[[at for at in range(len(pages)) if at % step]].flatten()]
        self.pool.free(gone.flatten())

    def check(self, available: set[int]) -> None:
        """Hold every slot once, free or held; `available` says how many may be free."""
        pool, size = self.pool, self.pool.size
        held = torch.cat([torch.empty(0, dtype=torch.int64), *self.held])
        count = getattr(pool, "aggregate_free_size", pool.available_size)()
        assert count in available
        assert count + len(held) == size
        slots = getattr(pool, "anchor", pool)._slots
        slots.check()
        free = pool.free_slots
        assert torch.equal(torch.cat([held, free]).sort()[0], torch.arange(size))
        stats = pool.stats()
        assert stats.allocated_pages - stats.released_pages == len(held) // pool.page_size
        assert sum(stats.runs_histogram) == stats.allocations
        rest = pool.alloc(pool.available_size())
        assert not set(rest.tolist()) & set(held.tolist())
        pool.free(rest)
        if len(held):
            pool.free(held)
        assert pool.available_size() == size
        slots.check()
        asked, answers = somebody_else()
        asked.put(pool.available_size)
        try:
            assert answers.get(timeout=10) == size
        except queue.Empty:
            somebody_else.cache_clear()
            pytest.fail("the lock is not free for others")


def plain(page_size: int) -> Callable[[], Held]:
    return lambda: Held(LogicalHostPool(PAGES * page_size, page_size))


def grouped() -> Held:
    entries = [
        PoolEntry(name, LogicalHostPool(PAGES * 4, 4), None, lambda layer: layer)
        for name in ("anchor", "side")
    ]
    return Held(HostPoolGroup(entries))


POOLS: dict[str, Callable[[], Held]] = {
    "single slots": plain(1),
    "pages": plain(4),
    "owner lanes": lambda: Held(OwnerLanePool(PAGES * 4, 4, 3), unit=3),
    "a group": grouped,
    "pages with rows": lambda: Held(make_mha(page_size=4, pages=12).host),
    "states": lambda: Held(make_mamba(pages=12).host),
    "packed pages": lambda: Held(make_paged(page_size=4, pages=12).host),
}
CALLS: dict[str, Callable[[Held], Any]] = {
    "one page": lambda h: h.pool.alloc(h.unit * h.pool.page_size),
    "half of what is free": lambda h: h.pool.alloc(
        h.pool.available_size() // h.pool.page_size // 2 // h.unit * h.unit * h.pool.page_size
    ),
    "all that is free": lambda h: h.pool.alloc(h.pool.available_size()),
    "more than there is": lambda h: h.pool.alloc(2 * h.pool.size // h.unit * h.unit),
    "contiguous": lambda h: h.pool.alloc_contiguous_preferred(2 * h.unit * h.pool.page_size),
}


def sweep(make: Callable[[], Held], broken: int, call: Callable[[Held], Any]) -> int:
    """Interrupt an allocation at every line in turn; give how many there are."""
    for line in range(100_000):
        held = make()
        pages = held.pool.size // held.pool.page_size
        for _ in range(pages // 6):
            held.take(6)
        if broken:
            held.break_up(broken)
        before = held.pool.size - sum(map(len, held.held))
        stopped, slots = interrupted(functools.partial(call, held), line)
        if slots is not None:
            held.held.append(slots)
        held.check({held.pool.size - sum(map(len, held.held))} if not stopped else {before})
        if not stopped:
            return line
    raise AssertionError("it never ends")


@pytest.mark.parametrize("broken", [2, 5], ids=["a checkerboard", "with gaps"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", POOLS)
def test_nobody_has_what_an_interrupted_allocation_took(kind: str, call: str, broken: int) -> None:
    if broken == 5 and kind not in {"single slots", "owner lanes"}:
        pytest.skip("these differ in what they do around it, not in how free pages lie")
    assert sweep(POOLS[kind], broken, CALLS[call]) > 5


@pytest.mark.parametrize("call", ["half of what is free", "all that is free"])
@pytest.mark.parametrize(
    ("kind", "least"), [("single slots", 1 << 15), ("pages", 1 << 15), ("single slots", 1)]
)
def test_nor_what_it_chose_of_all_pages_at_once(
    kind: str, call: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So pages are taken that lie scattered; these pools are small, and would look all up."""
    found: list[object] = []

    def choose(*given: Any) -> Any:
        found.append(choose_scattered(*given))
        return found[-1]

    monkeypatch.setattr(scattered, "_WIDE", least)  # of so many pages bits are kept in words
    monkeypatch.setattr(extents, "_FEW", 0)
    monkeypatch.setattr(extents, "choose_scattered", choose)
    assert sweep(POOLS[kind], 2, CALLS[call]) > 20
    assert found
    assert None not in found


RELEASES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the first page": lambda pages: pages[:1],
    "a run of them": lambda pages: pages[5:17],
    "every other": lambda pages: pages[::2],
    "every third, backwards": lambda pages: pages[::3].flip(0),
    "all but one": lambda pages: pages[1:],
}


@pytest.mark.parametrize("broken", [0, 5], ids=["whole", "with gaps"])
@pytest.mark.parametrize("chosen", RELEASES)
@pytest.mark.parametrize("kind", ["single slots", "pages", "owner lanes"])
def test_an_interrupted_release_has_happened_or_has_not(
    kind: str, chosen: str, broken: int
) -> None:
    for line in range(100_000):
        held = POOLS[kind]()
        held.take(PAGES)
        if broken:
            held.break_up(broken)
        pages = torch.cat(held.held).view(-1, held.pool.page_size)
        gone = RELEASES[chosen](pages).flatten().clone()
        before = held.pool.size - sum(map(len, held.held))
        stopped, freed = interrupted(functools.partial(held.pool.free, gone), line)
        count = getattr(held.pool, "aggregate_free_size", held.pool.available_size)()
        if not stopped or count == before + len(gone):
            left = set(pages.flatten().tolist()) - set(gone.tolist())
            held.held = [torch.tensor(sorted(left), dtype=torch.int64)]
        else:
            assert count == before, "not even in part"
            again = held.pool.free(gone)
            assert again == len(gone)
            left = set(pages.flatten().tolist()) - set(gone.tolist())
            held.held = [torch.tensor(sorted(left), dtype=torch.int64)]
        held.check({before + len(gone)})
        if not stopped:
            assert freed == len(gone)
            assert line > 10
            return


def double(pool: Any) -> None:
    with pytest.raises(AssertionError, match="Double-free"):
        pool.free(pool.free_slots[: pool.page_size])


OTHERS: dict[str, Callable[[Any], Any]] = {
    "clear": lambda pool: pool.clear(),
    "a reading of the list": lambda pool: pool.free_slots,
    "a reading of the flags": lambda pool: pool.slot_used,
    "statistics": lambda pool: pool.stats(),
    "the same list again": lambda pool: setattr(pool, "free_slots", pool.free_slots),
    "a double release": double,
}


@pytest.mark.parametrize("call", OTHERS)
@pytest.mark.parametrize("kind", ["single slots", "owner lanes"])
def test_other_calls_that_are_interrupted_leave_a_pool_whole(kind: str, call: str) -> None:
    for line in range(100_000):
        held = POOLS[kind]()
        held.take(PAGES)
        held.break_up(2)
        before = sum(map(len, held.held))
        stopped, _ = interrupted(functools.partial(OTHERS[call], held.pool), line)
        if call == "clear" and held.pool.stats().free_pages == PAGES:
            held.held = []
            released = held.pool.stats()
            held.pool._slots.counts.released_pages = released.allocated_pages
        held.check({held.pool.size - before, held.pool.size - sum(map(len, held.held))})
        if not stopped:
            return


def test_side_pools_lose_nothing_either() -> None:
    for line in range(100_000):
        held = grouped()
        side = held.pool.get_pool("side")
        stopped, found = interrupted(
            functools.partial(held.pool.resolve_host_transfers, {"side": 16}), line
        )
        taken = 0 if found is None else 16
        if stopped and side.available_size() == side.size - 16:
            # In its very last line the caller has them as good as got.
            raise AssertionError(f"slots are lost at line {line}")
        assert side.available_size() == side.size - taken
        side._slots.check()
        if not stopped:
            return


@pytest.mark.parametrize("make", [make_mha, make_paged, make_mamba])
def test_an_interrupted_destroy_can_be_finished(make: Any) -> None:
    for line in range(100_000):
        host = make(allocator_type="shm", pin_memory=False).host
        stopped, _ = interrupted(host.destroy, line)
        host.destroy()
        assert host.available_size() == 0
        assert host.kv_buffer is None
        assert host.allocator.fds == []
        if not stopped:
            return


def test_real_interrupts_from_another_thread() -> None:
    """Exceptions that arrive wherever the interpreter looks for them, while a thread works."""
    pool = LogicalHostPool(4096, 1)
    order = np.random.default_rng(1)
    mine: list[torch.Tensor] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                while not stop.is_set():
                    if len(mine) < 40:
                        slots = pool.alloc(int(order.integers(1, 60)))
                        assert slots is not None
                        mine.append(slots)
                    else:
                        pool.free(torch.cat([mine[-1], mine[-2]])[::2])
                        pool.clear()
                        mine.clear()
            except KeyboardInterrupt:
                pool._slots.check()
                pool.clear()
                mine.clear()
                assert pool.available_size() == pool.size

    faults: list[BaseException] = []

    def guarded() -> None:
        while not stop.is_set():
            try:
                work()
            except KeyboardInterrupt:
                pass
            except BaseException as error:
                faults.append(error)
                return

    thread = threading.Thread(target=guarded)
    thread.start()
    assert thread.ident is not None
    kill = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for _ in range(300):
        kill(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
        time.sleep(0.001)
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    assert faults == []
    pool._slots.check()
    pool.clear()
    slots = pool.alloc(4096)
    assert slots is not None
    assert sorted(slots.tolist()) == list(range(4096))
