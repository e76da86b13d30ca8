"""Which slots are free: every pool that gives out slots, one call at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pool_host import HostPoolGroup
from pool_host.base import SharedSlotPool
from pool_host.buffers import SlotError
from tests.pool_host.families import (
    FAMILIES,
    SLOT_POOLS,
    Case,
    Family,
    make_group,
    make_indexer,
    make_k_only,
    make_mamba,
    make_mha,
    make_mla,
    make_paged,
    make_state,
)

PAGES = 4


@pytest.fixture(params=SLOT_POOLS)
def pool(request: pytest.FixtureRequest) -> Any:
    """Give a pool of four pages; those of Mamba have one slot, the others four."""
    kind = request.param
    return SLOT_POOLS[kind](1 if kind == "mamba" else 4, PAGES)


def state(pool: Any) -> tuple[Any, ...]:
    """Give all that says which slots are free."""
    return (
        pool.available_size(),
        pool.free_slots.tolist(),
        pool.num_release_slots,
        pool.release_slots,
        pool.slot_used.tolist(),
    )


def take(pool: Any, pages: int) -> torch.Tensor:
    slots = pool.alloc(pages * pool.page_size)
    assert slots is not None
    assert isinstance(slots, torch.Tensor)
    return slots


def test_a_fresh_pool_gives_slots_in_ascending_order(pool: Any) -> None:
    first, second = take(pool, 1), take(pool, 3)
    assert first.dtype == torch.int64
    assert torch.cat([first, second]).tolist() == list(range(pool.size))
    assert pool.available_size() == 0


def test_an_allocation_is_whole_or_none_at_all(pool: Any) -> None:
    taken = take(pool, 2)
    before = state(pool)
    assert pool.alloc(3 * pool.page_size) is None
    assert state(pool) == before
    short = pool.available_size() // pool.page_size * pool.page_size
    assert len(take(pool, short // pool.page_size)) == short  # what a shorter prefetch asks for
    assert pool.alloc(pool.page_size) is None
    pool.free(taken)
    assert pool.available_size() == 2 * pool.page_size


def test_nothing_can_be_asked_for(pool: Any) -> None:
    before = state(pool)
    nothing = pool.alloc(0)
    assert (nothing.dtype, nothing.shape) == (torch.int64, (0,))
    assert state(pool) == before


def test_what_is_released_can_be_had_at_once(pool: Any) -> None:
    pages = [take(pool, 1) for _ in range(PAGES)]
    assert pool.free(pages[2]) == pool.page_size
    assert (pool.release_slots, pool.num_release_slots) == ([], 0)
    assert pool.available_size() == pool.size - 3 * pool.page_size
    assert torch.equal(take(pool, 1), pages[2])


def test_the_free_list_is_ascending_and_stays_one_object_until_something_changes(
    pool: Any,
) -> None:
    pages = [take(pool, 1) for _ in range(3)]
    pool.free(pages[2])
    pool.free(pages[0])
    listed = pool.free_slots
    assert (listed.dtype, listed.dim()) == (torch.int64, 1)
    assert listed.tolist() == [*pages[0].tolist(), *range(2 * pool.page_size, pool.size)]
    pool.alloc(0)
    pool.free(torch.empty(0, dtype=torch.int64))
    assert pool.alloc(pool.size) is None
    assert pool.free_slots is listed
    pool.free(pages[1])
    assert pool.free_slots.tolist() == list(range(pool.size))
    assert len(listed) == pool.size - pool.page_size  # whoever read it keeps what they read
    take(pool, 4)
    assert pool.free_slots.tolist() == []


def test_nothing_that_allocates_reads_the_free_list(pool: Any) -> None:
    for turn in range(30):
        slots = take(pool, 1 + turn % 3)
        pool.alloc_contiguous_preferred(pool.size)
        pool.available_size()
        pool.free(slots)
    assert pool.stats().materialisations == 0
    for _ in range(2):
        assert len(pool.free_slots) == pool.size
    assert pool.stats().materialisations == 1


def test_a_release_of_nothing_leaves_nothing_behind(pool: Any) -> None:
    take(pool, 1)
    for dtype in (torch.int64, torch.int32):
        assert pool.free(torch.empty(0, dtype=dtype)) == 0
    assert pool.release_slots == []


def test_slots_may_be_released_as_int32(pool: Any) -> None:
    assert pool.free(take(pool, 2).to(torch.int32)) == 2 * pool.page_size
    assert take(pool, 4).dtype == torch.int64


BAD_RELEASES: dict[str, tuple[Any, type[Exception], str]] = {
    "a list": (lambda s: s.tolist(), TypeError, "indices must be a tensor"),
    "nothing at all": (lambda s: None, TypeError, "indices must be a tensor"),
    "a mask": (
        lambda s: torch.ones(8, dtype=torch.bool),
        TypeError,
        "indices must be of torch.int64",
    ),
    "fractions": (lambda s: s.to(torch.float32), TypeError, "indices must be of torch.int64"),
    "two dimensions": (lambda s: s.view(1, -1), ValueError, "indices must have 1 dimensions"),
    "one slot without a dimension": (lambda s: s[0], ValueError, "indices must have 1 dimensions"),
    "no data": (lambda s: s.to("meta"), ValueError, "indices must be on a device that holds data"),
    "negative slots": (lambda s: s - 9, ValueError, "indices must lie in"),
    "slots past the end": (lambda s: s + 400, ValueError, "indices must lie in"),
    "slots twice": (lambda s: torch.cat([s, s]), SlotError, "indices must not repeat"),
    "a slot twice": (lambda s: torch.cat([s, s[:1]]), SlotError, "indices must not repeat"),
}


@pytest.mark.parametrize("case", BAD_RELEASES)
def test_what_is_no_slots_is_not_released(pool: Any, case: str) -> None:
    make, error, words = BAD_RELEASES[case]
    slots = take(pool, 2)
    before = state(pool)
    with pytest.raises(error, match=words):
        pool.free(make(slots))
    assert state(pool) == before
    assert pool.free(slots) == 2 * pool.page_size


def test_a_page_is_released_whole() -> None:
    for make in SLOT_POOLS.values():
        pool = make(4, PAGES)
        if pool.page_size == 1:
            continue
        slots = take(pool, 2)
        before = state(pool)
        for part in (slots[:2], slots[:6], slots[2:6], torch.cat([slots[:2], slots[4:6]])):
            with pytest.raises(SlotError, match="indices must be whole pages of 4 slots"):
                pool.free(part)
            assert state(pool) == before


def test_slots_are_released_once(pool: Any) -> None:
    slots = take(pool, 2)
    pool.free(slots)
    before = state(pool)
    for again in (slots, slots[: pool.page_size]):
        with pytest.raises(AssertionError, match="Double-free detected: slots not currently"):
            pool.free(again)
        assert state(pool) == before


def test_what_was_never_allocated_is_not_released(pool: Any) -> None:
    slots = take(pool, 1)
    before = state(pool)
    beside = torch.cat([slots, slots + pool.page_size])
    with pytest.raises(SlotError, match="Double-free detected"):
        pool.free(beside)  # all or nothing
    assert state(pool) == before


def test_slots_from_before_a_clear_are_not_released(pool: Any) -> None:
    slots = take(pool, 2)
    pool.free(slots[: pool.page_size])
    pool.clear()
    assert pool.available_size() == pool.size
    with pytest.raises(SlotError, match="Double-free"):
        pool.free(slots)
    assert take(pool, PAGES).tolist() == list(range(pool.size))


def test_pages_come_back_in_order_however_they_were_released(pool: Any) -> None:
    slots = take(pool, 4)
    shuffled = slots.flip(0)
    shuffled[[0, -1]] = shuffled[[-1, 0]]
    pool.free(shuffled)
    again = take(pool, 4).view(-1, pool.page_size)
    assert sorted(again[:, 0].tolist()) == list(range(0, pool.size, pool.page_size))
    assert torch.equal(again, again[:, :1] + torch.arange(pool.page_size))


@pytest.mark.parametrize("size", [-2, -4, -1])
def test_less_than_nothing_cannot_be_asked_for(pool: Any, size: int) -> None:
    before = state(pool)
    with pytest.raises(ValueError, match="need_size must be at least 0"):
        pool.alloc(size)
    assert state(pool) == before


@pytest.mark.parametrize("size", [1.0, "4", None, True, torch.tensor(4)], ids=repr)
def test_sizes_are_integers(pool: Any, size: Any) -> None:
    before = state(pool)
    with pytest.raises(TypeError, match="need_size must be an integer"):
        pool.alloc(size)
    assert state(pool) == before


@pytest.mark.parametrize("kind", sorted(set(SLOT_POOLS) - {"mamba", "v4 paged"}))
def test_slots_are_allocated_by_whole_pages(kind: str) -> None:
    pool = SLOT_POOLS[kind](4, PAGES)
    before = state(pool)
    for error in (ValueError, AssertionError):
        with pytest.raises(error, match="should be a multiple of the page size"):
            pool.alloc(6)
    assert state(pool) == before


def test_paged_pools_round_up_to_whole_pages() -> None:
    pool = make_paged(page_size=4, pages=3).host
    assert pool.alloc(5).tolist() == list(range(8))
    assert pool.alloc(5) is None
    assert pool.alloc(1).tolist() == [8, 9, 10, 11]


def test_a_result_holds_its_own_slots_alone(pool: Any) -> None:
    slots = take(pool, 2)
    assert slots.untyped_storage().nbytes() == 8 * len(slots)
    pool.free(slots)
    merged = take(pool, 4)
    assert merged.untyped_storage().nbytes() == 8 * pool.size


def test_a_result_stays_as_it_is(pool: Any) -> None:
    slots = take(pool, 2)
    kept = slots.clone()
    for turn in range(1000):
        other = take(pool, 1 + turn % 2)
        pool.free(other)
    assert torch.equal(slots, kept)
    assert pool.available_size() == 2 * pool.page_size


def test_callers_may_write_to_what_they_gave_and_got(pool: Any) -> None:
    slots = take(pool, 2)
    given = slots.clone()
    slots.fill_(3)
    pool.free(given)
    given.fill_(3)
    assert sorted(take(pool, 4).tolist()) == list(range(pool.size))


def test_a_damaged_free_list_gives_no_slot_to_two_owners(pool: Any) -> None:
    target = pool.anchor if isinstance(pool, HostPoolGroup) else pool
    slots = take(target, 2)
    target.free_slots = torch.cat([slots, target.free_slots])
    for _ in range(2):
        with pytest.raises(AssertionError, match="Double-alloc detected: slots already allocated"):
            target.alloc(target.page_size)
    assert target.available_size() == 2 * target.page_size
    target.free(slots)
    target.free_slots = torch.arange(target.size)
    assert take(target, PAGES).tolist() == list(range(target.size))


def test_a_free_list_is_damaged_by_a_single_slot_in_use(pool: Any) -> None:
    target = pool.anchor if isinstance(pool, HostPoolGroup) else pool
    slots = take(target, 2)
    target.free_slots = torch.cat([slots[1:2], target.free_slots])
    with pytest.raises(AssertionError, match=rf"Double-alloc.*\[{int(slots[1])}\]"):
        target.alloc(target.page_size)
    assert target.available_size() == 2 * target.page_size


def test_a_release_that_is_no_pages_names_what_is_free_already(pool: Any) -> None:
    target = pool.anchor if isinstance(pool, HostPoolGroup) else pool
    slots = take(target, 2)
    size = target.page_size
    target.free(slots[:size])
    with pytest.raises(AssertionError, match=rf"Double-free.*\[{int(slots[size - 1])}\]"):
        target.free(slots[size - 1 :])
    assert target.available_size() == 3 * size


def test_a_free_list_can_be_set(pool: Any) -> None:
    target = pool.anchor if isinstance(pool, HostPoolGroup) else pool
    size = target.page_size
    given = torch.cat([torch.arange(2 * size, 4 * size), torch.arange(size)])
    target.free_slots = given
    given.fill_(0)
    assert target.available_size() == 3 * size
    assert target.free_slots.tolist() == [*range(size), *range(2 * size, 4 * size)]
    assert take(target, 3).tolist() == [*range(2 * size, 4 * size), *range(size)]
    before = state(target)
    for wrong in (torch.arange(4 * size) + 1, torch.arange(size).repeat(2), [0]):
        with pytest.raises((TypeError, ValueError), match="free_slots must"):
            target.free_slots = wrong
        assert state(target) == before


def test_no_page_is_lost_where_there_is_no_memory_for_its_slots(
    pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(pool, 1)
    before = state(pool), pool.stats()

    def full(*args: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("pool_host.slot_allocator.slots_of_runs", full)
        with pytest.raises(MemoryError):
            pool.alloc(2 * pool.page_size)
    assert (state(pool), pool.stats()) == before


def test_nothing_is_lost_by_whoever_gives_up(pool: Any) -> None:
    """Whatever is aborted, available and held slots are all there are."""
    held: list[torch.Tensor] = []
    for turn in range(60):
        slots = pool.alloc((1 + turn % 3) * pool.page_size)
        if slots is None:
            pool.free(held.pop(0))
        elif turn % 4 == 3:
            pool.free(slots)
        else:
            held.append(slots)
        live = sum(len(slots) for slots in held)
        assert pool.available_size() + live == pool.size


def test_a_destroyed_pool_gives_nothing_and_says_so(pool: Any) -> None:
    slots = take(pool, 1)
    calls: list[Callable[[], Any]] = [lambda: pool.alloc(0), lambda: pool.free(slots)]
    for _ in range(2):
        pool.destroy()
        pool.clear()
        assert pool.available_size() == 0
        for call in calls:
            with pytest.raises(RuntimeError, match="was destroyed"):
                call()


@pytest.mark.parametrize("make", [make_k_only, make_indexer, make_state])
def test_slots_of_another_pool_are_asked_for_there(make: Callable[[], Case]) -> None:
    pool = make().host
    assert isinstance(pool, SharedSlotPool)
    calls: list[Callable[[], Any]] = [
        pool.available_size,
        lambda: pool.alloc(4),
        lambda: pool.alloc_contiguous_preferred(4),
        lambda: pool.free(torch.arange(4)),
        lambda: pool.free_slots,
        lambda: pool.slot_used,
        pool.stats,
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match="are another pool's"):
            call()
    pool.clear()
    assert pool.size == 20


def test_a_group_gives_and_takes_slots_of_its_anchor_alone() -> None:
    group = make_group()
    states = group.get_pool("mamba")
    slots = take(group, 2)
    assert states.available_size() == states.size
    assert group.anchor.available_size() == group.size - len(slots)
    for _ in range(3):
        group.free(slots)
        slots = take(group, 2)
    assert states.available_size() == states.size


SIZES = [
    ("a ratio that fits", 2, 0, 4, 16),
    ("a ratio within a page", 1.7, 0, 4, 16),
    ("a ratio of one page", 0.5, 0, 4, 4),
    ("a ratio of less than a page", 0.2, 0, 4, 4),
    ("single slots", 1.5, 0, 1, 12),
    ("GB that fit", 0, 16 * 96e-9, 4, 16),
    ("GB within a page", 0, 17 * 96e-9, 4, 20),
    ("GB before the ratio", 2, 4 * 96e-9, 4, 4),
]


@pytest.mark.parametrize(
    ("ratio", "host_size", "page_size", "slots"),
    [row[1:] for row in SIZES],
    ids=[row[0] for row in SIZES],
)
def test_a_pool_is_rounded_up_to_whole_pages_and_no_further(
    ratio: float, host_size: float, page_size: int, slots: int
) -> None:
    from pool_host.mha import MHATokenToKVPoolHost
    from tests.pool_host.device_pools import MHAPool

    device = MHAPool(size=8, page_size=page_size)
    host = MHATokenToKVPoolHost(device, ratio, host_size, page_size, "layer_first")
    assert host.size_per_token == 96
    assert (host.size, host.page_num) == (slots, slots // page_size)
    assert host.k_buffer.shape == (3, slots, 2, 4)
    assert host.available_size() == slots


@pytest.mark.parametrize("make", [make_mha, make_mla, make_mamba])
def test_a_host_pool_may_be_smaller_than_the_device_pool(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    host = make(pages=3).host
    assert host.page_num == 3
    assert "fewer than the device pool's" in caplog.text
    assert host.available_size() == host.size > 0


def test_an_indexer_has_as_many_pages_as_its_anchor() -> None:
    for page_size in (1, 4):
        case = make_indexer(page_size=page_size, pages=5)
        assert case.host.indexer_page_num == case.host.page_num == 5
        assert case.host.index_k_with_scale_buffer.shape == (3, 5, 132 * page_size)
        assert case.host.index_k_with_scale_buffer.nbytes == case.host.size * (
            case.host.size_per_token
        )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_pool_takes_the_bytes_that_it_was_checked_for(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "pool_host.common.check_host_memory", lambda size, reserve: asked.append(size)
    )
    host = family.make().host
    assert asked[-1] == sum(buffer.nbytes for buffer in host.get_hybrid_pool_buffer())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_pool_has_what_a_group_asks_for(family: Family) -> None:
    case = family.make()
    host = case.host
    assert host.kv_buffer is not None
    assert host.lock.acquire(blocking=False)
    host.lock.release()
    assert host.size == host.page_num * host.page_size
    assert host.size_per_token > 0
    assert host.layer_num == host.end_layer - host.start_layer == 3
    assert host.can_use_write_back_jit is False
    assert host.page_dtype in (host.dtype, torch.uint8)
    assert (host.device, host.pin_memory) == ("cpu", True)
    expected = {"mamba": 0, "v4 paged": 0, "v4 state": 0}.get(family.name, 2)
    assert host.start_layer == expected


def test_what_sglang_asks_of_a_pool_is_there(pool: Any) -> None:
    target = pool.anchor if isinstance(pool, HostPoolGroup) else pool
    assert (target.logical_size, target.logical_page_size) == (target.size, target.page_size)
    assert (target.dcp_size, target.dcp_rank, target.fd) == (1, 0, None)
    assert target.mem_state.tolist() == [0] * target.size
    slots = take(target, 1)
    assert target.maybe_dcp_kernel_indices(slots) is slots
    assert 0 <= target.get_ksize_per_token() <= target.get_size_per_token()
    assert target.get_size_per_token() == target.size_per_token
