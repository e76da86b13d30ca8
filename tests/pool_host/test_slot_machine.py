"""Which slots are free: any sequence of calls against a set that does the same naively."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pool_host.owner_lanes import OwnerLanePool
from tests.effort import examples
from tests.pool_host.families import SLOT_POOLS
from tests.pool_host.interrupts import interrupted
from tests.pool_host.overlaps import Overlaps, fewest, stretches


class SlotMachine(RuleBasedStateMachine):
    """`held` is what callers own, a list of allocations; `free` a set of what nobody owns."""

    pool: Any
    held: list[torch.Tensor]
    free: set[int]
    overlaps: Overlaps

    @initialize(
        kind=st.sampled_from(sorted(SLOT_POOLS)),
        page_size=st.sampled_from([1, 2, 3, 16]),
        pages=st.integers(1, 9),
    )
    def start(self, kind: str, page_size: int, pages: int) -> None:
        self.kind = kind
        self.pool = SLOT_POOLS[kind](page_size, pages)
        self.ends()

    def ends(self) -> None:
        self.held = []
        self.free = set(range(self.pool.size))
        self.overlaps = Overlaps(self.pool.size)

    def free_pages(self) -> set[int]:
        return {slot // self.pool.page_size for slot in self.free}

    def note(self, slots: torch.Tensor, wanted: int) -> None:
        """Take an allocation for one's own, if it is what it should be."""
        assert len(slots) == wanted
        whole = slots.view(-1, self.pool.page_size)
        assert torch.equal(whole, whole[:, :1] + torch.arange(self.pool.page_size))
        assert not (whole[:, 0] % self.pool.page_size).any()
        self.overlaps.take(slots)
        given = set(slots.tolist())
        assert len(given) == wanted
        assert given <= self.free  # nobody else owns them
        self.free -= given
        if wanted:
            self.held.append(slots)

    @rule(pages=st.integers(0, 10), contiguous=st.booleans())
    def alloc(self, pages: int, contiguous: bool) -> None:
        wanted = pages * self.pool.page_size
        before = self.pool.stats()
        ask = self.pool.alloc_contiguous_preferred if contiguous else self.pool.alloc
        slots = ask(wanted)
        after = self.pool.stats()
        if wanted > len(self.free):
            assert slots is None
            assert after == replace(before, failures=before.failures + 1)
            return
        runs = len(stretches(slots))
        assert runs == fewest(pages, self.free_pages())
        assert after.runs - before.runs == runs
        assert after.allocations - before.allocations == bool(wanted)
        self.note(slots, wanted)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """Release some pages of several allocations in one call, in some order."""
        size = self.pool.page_size
        pages = [page for slots in self.held for page in slots.view(-1, size).tolist()]
        chosen = data.draw(st.lists(st.sampled_from(pages), unique_by=tuple, min_size=1))
        slots = torch.tensor(chosen).flatten()
        if data.draw(st.booleans()):
            slots = slots[torch.tensor(data.draw(st.permutations(range(len(slots)))))]
        assert self.pool.free(slots) == len(slots)
        self.overlaps.give(slots)
        gone = set(slots.tolist())
        assert not gone & self.free
        self.free |= gone
        left = [torch.tensor([s for s in h.tolist() if s not in gone]) for h in self.held]
        self.held = [slots.to(torch.int64) for slots in left if len(slots)]
        slots.fill_(0)  # the caller's own

    @rule(pages=st.integers(1, 10), line=st.integers(0, 60))
    def alloc_interrupted(self, pages: int, line: int) -> None:
        """Interrupt an allocation at a line; then nobody has got anything."""
        wanted = pages * self.pool.page_size
        stopped, slots = interrupted(functools.partial(self.pool.alloc, wanted), line)
        if not stopped and slots is not None:
            self.note(slots, wanted)

    @precondition(lambda self: self.held)
    @rule(line=st.integers(0, 90))
    def release_interrupted(self, line: int) -> None:
        """Interrupt a release at a line; it has happened, or it has not."""
        slots = self.held[-1]
        interrupted(functools.partial(self.pool.free, slots), line)
        count = getattr(self.pool, "aggregate_free_size", self.pool.available_size)()
        if count != len(self.free):
            self.held.pop()
            self.overlaps.give(slots)
            self.free |= set(slots.tolist())

    @precondition(lambda self: self.free)
    @rule(data=st.data())
    def release_what_is_free(self, data: st.DataObject) -> None:
        """Refuse a call in which one page was not allocated, whatever else is in it."""
        size = self.pool.page_size
        page = data.draw(st.sampled_from(sorted({slot // size for slot in self.free})))
        slots = torch.arange(page * size, (page + 1) * size)
        beside = data.draw(st.booleans())
        if self.held and beside:
            slots = torch.cat([self.held[0], slots])
        with pytest.raises(AssertionError, match="Double-free"):
            self.pool.free(slots)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release_wrongly(self, data: st.DataObject) -> None:
        slots = self.held[0]
        wrong = data.draw(
            st.sampled_from(
                [
                    torch.cat([slots, slots]),
                    slots - self.pool.size,
                    slots + self.pool.size,
                    slots.view(1, -1),
                    slots.to(torch.float64),
                    torch.ones(self.pool.size, dtype=torch.bool),
                    *([slots[1:], slots[:-1]] if self.pool.page_size > 1 else []),
                ]
            )
        )
        with pytest.raises((TypeError, ValueError), match="indices must"):
            self.pool.free(wrong)

    @precondition(lambda self: self.kind not in {"mamba", "v4 paged"} and self.pool.page_size > 1)
    @rule(size=st.integers(1, 40))
    def alloc_part_of_a_page(self, size: int) -> None:
        if size % self.pool.page_size:
            with pytest.raises(AssertionError, match="multiple of the page size"):
                self.pool.alloc(size)

    @rule()
    def clear(self) -> None:
        self.pool.clear()
        self.ends()

    @rule(page_size=st.sampled_from([1, 4]), pages=st.integers(1, 9))
    def destroy(self, page_size: int, pages: int) -> None:
        self.pool.destroy()
        assert self.pool.available_size() == 0
        with pytest.raises(RuntimeError, match="was destroyed"):
            self.pool.alloc(self.pool.page_size)
        self.start(self.kind, page_size, pages)

    @invariant()
    def every_slot_is_free_or_held(self) -> None:
        if not hasattr(self, "pool"):
            return
        self.counts_are_right()
        assert self.pool.free_slots.tolist() == sorted(self.free)
        used = {slot for slot, used in enumerate(self.pool.slot_used.tolist()) if used}
        assert used == {slot for slots in self.held for slot in slots.tolist()}

    def counts_are_right(self) -> None:
        assert self.pool.available_size() == len(self.free)
        pages = torch.tensor(sorted(self.free_pages()))
        extents = [stop - first for first, stop in stretches(pages)]
        stats = self.pool.stats()
        assert (stats.pages, stats.page_size) == (self.pool.page_num, self.pool.page_size)
        assert (stats.free_pages, stats.extents) == (len(pages), len(extents))
        assert stats.largest_extent == max(extents, default=0)
        allocator = self.pool.anchor if self.kind == "group" else self.pool
        allocator._slots.check()


TestSlotMachine = SlotMachine.TestCase
TestSlotMachine.settings = settings(max_examples=examples(60), stateful_step_count=30)


class Owners:
    """Who has which slot, as the threads themselves note it."""

    def __init__(self, size: int) -> None:
        self.of = [0] * size
        self.faults: list[str] = []

    def change(self, slots: torch.Tensor, before: int, after: int) -> None:
        for slot in slots.tolist():
            if self.of[slot] != before:
                self.faults.append(f"slot {slot} was {self.of[slot]}'s, not {before}'s")
            self.of[slot] = after


THREADED: dict[str, Callable[[int, int], Any]] = {
    **SLOT_POOLS,
    "owner lanes": lambda page_size, pages: OwnerLanePool(page_size * pages, page_size, 4),
}


@pytest.mark.parametrize("kind", THREADED)
def test_eight_threads_never_share_a_slot(kind: str) -> None:
    pool = THREADED[kind](1 if kind == "mamba" else 4, 24)
    owners = Owners(pool.size)
    start = threading.Barrier(8)

    def work(me: int) -> None:
        start.wait()
        held: list[torch.Tensor] = []
        for turn in range(120):
            slots = pool.alloc((1 + (turn + me) % 3) * pool.page_size)
            if slots is not None:
                owners.change(slots, 0, me)
                held.append(slots)
            if not 0 <= pool.available_size() <= pool.size:
                owners.faults.append("more slots are available than there are")
            while held and (slots is None or len(held) > 2 or turn == 119):
                slots = held.pop(turn % len(held))
                owners.change(slots, me, 0)
                pool.free(slots)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owners.faults == []
    assert pool.available_size() == pool.size
    slots = pool.alloc(pool.size)
    assert sorted(slots.tolist()) == list(range(pool.size))


@pytest.mark.parametrize("kind", THREADED)
def test_what_is_counted_is_right_at_every_moment(kind: str) -> None:
    """One thread allocates and releases a page at a time; others never see a page go missing."""
    pool = THREADED[kind](1 if kind == "mamba" else 4, 24)
    unit = pool.page_size * getattr(pool, "owners", 1)
    allowed = {pool.size - held * unit for held in range(4)}
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.0001):
            seen.add(pool.available_size())
            stats = pool.stats()
            seen.add(stats.free_pages * stats.page_size)

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    for turn in range(300):
        held = [pool.alloc(unit) for _ in range(1 + turn % 3)]
        for slots in held:
            pool.free(slots)
    done.set()
    for watcher in watchers:
        watcher.join()
    assert seen <= allowed
