"""Pages that belong to ranks: each request gets its owners' pages, all of them or none."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import settings
from hypothesis.stateful import initialize, rule

from pool_host.buffers import SlotError
from pool_host.owner_lanes import OwnerLanePool
from tests.effort import examples
from tests.pool_host.overlaps import fewest, stretches
from tests.pool_host.test_slot_machine import SlotMachine


def make(owners: int = 4, pages: int = 6, page_size: int = 2) -> OwnerLanePool:
    return OwnerLanePool(pages * owners * page_size, page_size, owners)


def pages_of(pool: OwnerLanePool, slots: torch.Tensor | None) -> list[int]:
    assert slots is not None
    whole = slots.view(-1, pool.page_size)
    assert torch.equal(whole, whole[:, :1] + torch.arange(pool.page_size))
    return [int(slot) // pool.page_size for slot in whole[:, 0]]


def test_each_position_gets_a_page_of_its_owner() -> None:
    pool = make()
    assert pages_of(pool, pool.alloc_pages_with_owners([2, 0, 2, 3])) == [2, 0, 6, 3]
    assert pages_of(pool, pool.alloc_pages_with_owners(torch.tensor([1, 2]))) == [1, 10]


def test_pages_of_one_owner_lie_together_in_its_memory() -> None:
    pool = make(owners=2, pages=10)
    first = pool.alloc_pages_with_owners([0] * 3)
    second = pool.alloc_pages_with_owners([0] * 2)
    assert first is not None
    assert second is not None
    pool.free(first)
    assert pages_of(pool, pool.alloc_pages_with_owners([0] * 5)) == [10, 12, 14, 16, 18]
    assert pages_of(pool, pool.alloc_pages_with_owners([0] * 2)) == [0, 2]
    assert pool.stats().runs == 4


def test_an_owner_who_is_short_lets_nobody_have_anything() -> None:
    pool = make(owners=2, pages=3)
    assert pool.alloc_pages_with_owners([1, 1]) is not None
    before = pool.free_slots.tolist(), pool.slot_used.tolist()
    assert pool.alloc_pages_with_owners([0, 0, 1, 1]) is None
    assert (pool.free_slots.tolist(), pool.slot_used.tolist()) == before
    assert pool.stats().failures == 1
    assert pool.alloc_pages_with_owners([0, 0, 0, 1]) is not None


def test_what_is_free_is_told_by_owner() -> None:
    pool = make(owners=3, pages=4, page_size=2)
    pool.alloc_pages_with_owners([1, 1, 2])
    assert [pool.owner_free_size(owner) for owner in range(3)] == [8, 4, 6]
    assert pool.aggregate_free_size() == 18
    assert pool.available_size() == 3 * 4  # what all of them have


def test_a_new_sequence_starts_where_most_is_free() -> None:
    pool = make(owners=3, pages=4)
    assert pool.cyclic_owners(4) == [0, 1, 2, 0]
    pool.alloc_pages_with_owners([0])
    assert pool.cyclic_owners(4) == [1, 2, 0, 1]
    assert pool.cyclic_owners(4, first=2) == [2, 0, 1, 2]
    assert [page % 3 for page in pages_of(pool, pool.alloc(5 * 2))] == [1, 2, 0, 1, 2]


def test_a_release_goes_to_the_owners() -> None:
    pool = make(owners=3, pages=4)
    slots = pool.alloc(12 * 2)
    assert slots is not None
    assert pool.free(slots[2:-2].flip(0)) == 20
    assert [pool.owner_free_size(owner) for owner in range(3)] == [6, 8, 6]
    with pytest.raises(SlotError, match="Double-free"):
        pool.free(slots)
    pool.free(slots[[0, 1, -2, -1]])
    assert pool.stats().extents == 3
    assert pool.stats().largest_extent == 4


def test_nothing_is_asked_of_nobody() -> None:
    pool = make()
    empty: list[int] = []
    for nothing in (empty, torch.empty(0, dtype=torch.int64)):
        slots = pool.alloc_pages_with_owners(nothing)
        assert slots is not None
        assert (slots.dtype, slots.shape) == (torch.int64, (0,))
    assert pool.stats().allocations == 0


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "an owner too many": ([0, 4], ValueError, "owners must lie in 0..3; it holds"),
    "a negative owner": ([0, -1], ValueError, "owners must lie in 0..3; it holds"),
    "a number past all memory": ([10**18], ValueError, "owners must lie in 0..3; it holds"),
    "fractions": ([0.0, 1.0], TypeError, "owners must be integers"),
    "flags": ([True, False], TypeError, "owners must be integers"),
    "words": (["a"], TypeError, "owners must be integers"),
    "a table": ([[0, 1]], ValueError, "owners must have 1 dimension"),
    "a number": (3, ValueError, "owners must have 1 dimension"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_owners_is_refused(case: str) -> None:
    owners, error, words = WRONG[case]
    pool = make()
    with pytest.raises(error, match=words):
        pool.alloc_pages_with_owners(owners)
    assert pool.available_size() == pool.size


def test_all_owners_have_equally_many_pages() -> None:
    with pytest.raises(ValueError, match="size must be a multiple of page_size 2 \\* owners 4"):
        OwnerLanePool(20, 2, 4)
    with pytest.raises(ValueError, match="owners must be at least 1"):
        OwnerLanePool(20, 2, 0)
    with pytest.raises(ValueError, match="owner must be below 4"):
        make().owner_free_size(4)
    with pytest.raises(ValueError, match="first must be below 4"):
        make().cyclic_owners(2, first=4)


def test_nothing_that_allocates_reads_the_free_list() -> None:
    pool = make()
    for owners in ([0, 1, 2, 3], [1, 1], [0] * 7):
        slots = pool.alloc_pages_with_owners(owners)
        if slots is not None:
            pool.free(slots)
    assert pool.stats().materialisations == 0
    assert torch.equal(pool.free_slots, torch.arange(pool.size))


def test_a_damaged_free_list_gives_no_page_to_two_owners() -> None:
    pool = make(owners=2)
    slots = pool.alloc(2)
    assert slots is not None
    pool.free_slots = torch.cat([slots, pool.free_slots])
    with pytest.raises(AssertionError, match="Double-alloc detected"):
        pool.alloc_pages_with_owners([1])


def test_no_page_is_lost_where_there_is_no_memory_for_its_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = make()

    def full(*args: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("pool_host.owner_lanes.slots_of_pages", full)
        with pytest.raises(MemoryError):
            pool.alloc_pages_with_owners([1, 2, 1])
    assert pool.available_size() == pool.size
    pool._slots.check()


def test_a_destroyed_pool_gives_nothing() -> None:
    pool = make()
    pool.destroy()
    assert (pool.available_size(), pool.aggregate_free_size()) == (0, 0)
    with pytest.raises(RuntimeError, match="was destroyed"):
        pool.alloc_pages_with_owners([0])


class LaneMachine(SlotMachine):
    """The same calls as every pool's, and requests of any owners."""

    pool: OwnerLanePool

    @initialize(
        kind=st.just("owner lanes"),
        page_size=st.sampled_from([1, 2, 3, 16]),
        pages=st.integers(1, 5),
    )
    def start(self, kind: str, page_size: int, pages: int) -> None:
        self.kind = kind
        owners = 1 + pages % 4
        self.pool = OwnerLanePool(pages * owners * page_size, page_size, owners)
        self.ends()

    def lane(self, owner: int) -> set[int]:
        """Give the free pages of an owner, numbered as in its own memory."""
        owners = self.pool.owners
        return {page // owners for page in self.free_pages() if page % owners == owner}

    @rule(pages=st.integers(0, 10), contiguous=st.booleans())
    def alloc(self, pages: int, contiguous: bool) -> None:
        counts = [len(self.lane(owner)) for owner in range(self.pool.owners)]
        first = counts.index(max(counts))
        owners = [(first + page) % self.pool.owners for page in range(pages)]
        ask = self.pool.alloc_contiguous_preferred if contiguous else self.pool.alloc
        self.answered(owners, lambda: ask(pages * self.pool.page_size))

    @rule(data=st.data())
    def alloc_with_owners(self, data: st.DataObject) -> None:
        owner = st.integers(0, self.pool.owners - 1)
        owners = data.draw(st.lists(owner, max_size=8))
        self.answered(owners, lambda: self.pool.alloc_pages_with_owners(owners))

    def answered(self, owners: list[int], ask: Any) -> None:
        wanted = {owner: owners.count(owner) for owner in set(owners)}
        short = any(len(self.lane(owner)) < count for owner, count in wanted.items())
        runs = 0 if short else sum(fewest(n, self.lane(owner)) for owner, n in wanted.items())
        before = self.pool.stats()
        slots = ask()
        assert self.pool.stats().runs - before.runs == runs
        if short:
            assert slots is None
            return
        self.note(slots, len(owners) * self.pool.page_size)
        pages = pages_of(self.pool, slots)
        assert [page % self.pool.owners for page in pages] == owners
        # In the owner's memory, too, there are no more runs than were told.
        lanes = [
            [p // self.pool.owners for p in pages if p % self.pool.owners == o] for o in wanted
        ]
        assert sum(len(stretches(torch.tensor(lane))) for lane in lanes) == runs

    def counts_are_right(self) -> None:
        lanes = [self.lane(owner) for owner in range(self.pool.owners)]
        unit = self.pool.page_size
        assert self.pool.available_size() == min(map(len, lanes)) * len(lanes) * unit
        assert self.pool.aggregate_free_size() == sum(map(len, lanes)) * unit == len(self.free)
        for owner, lane in enumerate(lanes):
            assert self.pool.owner_free_size(owner) == len(lane) * unit
        extents = [stretches(torch.tensor(sorted(lane))) for lane in lanes]
        stats = self.pool.stats()
        assert stats.free_pages == sum(map(len, lanes))
        assert stats.extents == sum(map(len, extents))
        self.pool._slots.check()


TestLaneMachine = LaneMachine.TestCase
TestLaneMachine.settings = settings(max_examples=examples(60), stateful_step_count=30)
