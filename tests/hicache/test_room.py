from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hicache.radix_tree import HiRadixCache
from hicache.room import FreeRoom, plan_eviction
from tests.hicache.rig import Rig

SIZES = st.integers(0, 200)


def roomy(pages: int, **shares: float) -> Rig:
    rig = Rig(pages=pages, host_pages=2 * pages)
    rig.cache = HiRadixCache(rig.controller, FreeRoom(**{"device": 0, "host": 0, **shares}))
    return rig


def add(rig: Rig, first: int, pages: int = 1) -> None:
    """Serve one prompt as an engine does."""
    tokens = [first] * 2 * pages
    slots = rig.cache.alloc_device(len(tokens))
    assert slots is not None
    rig.fill(tokens, slots)
    rig.cache.insert(tokens, slots)
    rig.settle()


class TestPlan:
    @pytest.mark.parametrize(
        ("need", "free", "room", "low", "pages"),
        [
            (5, 5, 10, 0, 0),  # enough: the room is not restored before it must be
            (5, 4, 10, 0, 11),  # one short: the room comes with it, what is free is not asked again
            (5, 4, 0, 0, 1),  # without room exactly what is missing
            (5, 7, 10, 2, 0),
            (5, 6, 10, 2, 9),  # below the low mark
            (0, 0, 10, 0, 0),
            (0, 0, 10, 1, 10),
            (100, 30, 10, 0, 70),  # never more than there is
            (900, 30, 10, 0, 70),
        ],
    )
    def test_it_evicts_need_and_room_less_what_is_free(
        self, need: int, free: int, room: int, low: int, pages: int
    ) -> None:
        assert plan_eviction(need, free, room, 100, low=low) == pages

    @given(SIZES, SIZES, SIZES, SIZES, SIZES)
    def test_after_it_there_is_what_was_asked_and_the_room(
        self, need: int, free: int, room: int, more: int, low: int
    ) -> None:
        capacity, low = free + more, min(low, room)
        pages = plan_eviction(need, free, room, capacity, low=low)
        assert 0 <= pages <= capacity - free
        if free >= need + low:
            assert pages == 0
        else:
            assert free + pages == max(free, min(need + room, capacity))

    @given(st.integers(1, 50), st.integers(0, 20), st.integers(20, 200))
    def test_one_eviction_serves_until_its_room_is_used_up(
        self, need: int, room: int, capacity: int
    ) -> None:
        need = min(need, capacity // 2)
        free = capacity - capacity
        free += plan_eviction(need, free, room, capacity) - need
        while free >= need:
            assert plan_eviction(need, free, room, capacity) == 0
            free -= need
        assert plan_eviction(need, free, room, capacity) > 0

    @pytest.mark.parametrize(
        ("arguments", "low", "words"),
        [
            ((-1, 0, 0, 9), 0, "need: expected 0 pages or more"),
            ((0, -1, 0, 9), 0, "free: expected 0 pages or more"),
            ((0, 0, -1, 9), 0, "room: expected 0 pages or more"),
            ((0, 0, 1, 9), -1, "low: expected 0 pages or more"),
            ((0, 10, 0, 9), 0, "free: expected at most the 9 pages"),
            ((0, 0, 1, 9), 2, "low: expected at most the room of 1 pages"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, arguments: tuple[int, int, int, int], low: int, words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            plan_eviction(*arguments, low=low)

    @pytest.mark.parametrize("options", [{"device": -0.1}, {"host": 0.6}, {"low": 2.0}])
    def test_a_share_that_is_none_is_refused(self, options: dict[str, float]) -> None:
        (name,) = options
        with pytest.raises(ValueError, match=f"{name}: expected 0 to"):
            FreeRoom(**options)

    def test_the_default_is_small(self) -> None:
        assert FreeRoom() == FreeRoom(device=0.01, host=0.01, low=0.0)
        assert FreeRoom().plan("device", 1, 0, 99) == 1
        assert FreeRoom().plan("host", 1, 0, 6000) == 61


class TestTree:
    def test_one_eviction_leaves_the_room_free(self) -> None:
        rig = roomy(20, device=0.25)
        for first in range(20):
            add(rig, first)
        assert rig.cache.evictions["device"].times == 0
        add(rig, 20)
        assert rig.cache.evictions["device"].times == 1
        assert rig.cache.evictions["device"].pages == 6
        assert rig.allocator.available_size() == 5 * 2
        for first in range(21, 26):
            add(rig, first)
        assert rig.cache.evictions["device"].times == 1

    def test_the_host_has_a_room_of_its_own(self) -> None:
        rig = roomy(10, host=0.2)
        for first in range(21):
            add(rig, first)
        assert rig.cache.evictions["host"].times == 1
        assert rig.host.available_size() == 4 * 2
        assert rig.cache.evictions["device"].pages == 11

    def test_below_the_low_mark_it_evicts_ahead(self) -> None:
        rig = roomy(20, device=0.5, low=0.5)
        for first in range(15):
            add(rig, first)
        assert rig.cache.evictions["device"].times == 0
        add(rig, 15)
        assert rig.cache.evictions["device"].times == 1
        assert rig.allocator.available_size() == 10 * 2

    def test_a_page_whose_backup_is_pending_stays(self) -> None:
        rig = roomy(8, device=0.5)
        kept = [1] * 2
        rig.cache.insert(kept, rig.compute(kept))  # nobody carries its write out
        for first in range(2, 9):
            tokens = [first] * 2
            rig.cache.insert(tokens, rig.compute(tokens))
        assert rig.cache.evict(8 * 2) == 0
        assert rig.allocator.available_size() == 0
        rig.workers["write"].run()
        rig.cache.poll()
        assert rig.cache.make_device_room(2)
        assert rig.cache.evictions["device"].pages == 1
        (node,) = rig.cache.match_prefix(kept).nodes
        assert node.device.page is None
        assert node.backed_up

    def test_what_a_request_holds_stays_however_large_the_room(self) -> None:
        rig = roomy(8, device=0.5, host=0.5)
        for first in range(8):
            add(rig, first)
        match = rig.cache.match_prefix([0, 0])
        rig.cache.lock(match)
        for first in range(8, 30):
            add(rig, first)
        assert match.nodes[0].device.page is not None
        assert rig.is_right("device", (0, 0), match.nodes[0].device.page)
