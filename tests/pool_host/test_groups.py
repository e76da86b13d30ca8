"""Pools that back one cache together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import pool_host.buffers as pools
from pool_host import HostPoolGroup, PoolEntry
from pool_host.group import PoolTransfer
from pool_host.logical import LogicalHostPool
from tests.pool_host.device_pools import raw, same
from tests.pool_host.families import (
    make_group,
    make_indexer,
    make_mamba,
    make_mla,
    make_paged,
    make_state,
)


def local(layer: int) -> int | None:
    return layer - 2 if 2 <= layer < 5 else None


def nowhere(layer: int) -> int | None:
    return None


def entry(name: str, pool: Any = None, **options: Any) -> PoolEntry:
    return PoolEntry(name, pool or LogicalHostPool(8, 4), None, local, **options)


BAD_GROUPS: list[tuple[str, Callable[[], list[PoolEntry]], str]] = [
    ("no pools", list, "entries must hold at least one pool"),
    ("one name twice", lambda: [entry("kv"), entry("kv")], "entries must differ in name; kv"),
    (
        "two anchors",
        lambda: [
            entry("kv", is_primary_index_anchor=True),
            entry("swa", is_primary_index_anchor=True),
        ],
        "entries must have one anchor, not kv and swa",
    ),
]


@pytest.mark.parametrize(
    ("entries", "message"), [row[1:] for row in BAD_GROUPS], ids=[row[0] for row in BAD_GROUPS]
)
def test_a_group_has_one_anchor_and_many_names(
    entries: Callable[[], list[PoolEntry]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        HostPoolGroup(entries())


def test_the_first_pool_is_the_anchor_unless_another_says_so() -> None:
    first, second = LogicalHostPool(8, 4), LogicalHostPool(16, 4)
    assert HostPoolGroup([entry("a", first), entry("b", second)]).anchor is first
    marked = entry("b", second, is_primary_index_anchor=True)
    assert HostPoolGroup([entry("a", first), marked]).anchor is second


def test_a_group_is_asked_like_its_anchor() -> None:
    group = make_group()
    anchor = group.get_pool("kv")
    assert (group.size, group.page_size, group.layout) == (20, 4, "layer_first")
    assert group.kv_buffer is anchor.kv_buffer
    slots = torch.arange(8)
    assert group.get_page_buffer_meta(slots) == anchor.get_page_buffer_meta(slots)
    group.set_from_flat_data_page(4, torch.ones_like(group.get_dummy_flat_data_page()))
    assert same(group.get_data_page(4), anchor.get_data_page(4))
    assert group.can_use_write_back_jit is False
    anchor.can_use_write_back_jit = True
    assert group.can_use_write_back_jit is False  # not all can
    for name in ("no_such_field", "_private"):
        with pytest.raises(AttributeError):
            getattr(group, name)
    for call in (group.get_entry, group.get_pool):
        with pytest.raises(ValueError, match="name must be one of indexer, kv, mamba, not swa"):
            call("swa")


def device_bytes(group: HostPoolGroup) -> list[bytes]:
    latent = group.get_entry("kv").device_pool
    states = group.get_entry("mamba").device_pool.mamba_cache
    tensors = [*latent.kv_buffer, *latent.index_k_with_scale_buffer, states.temporal, *states.conv]
    return [raw(tensor) for tensor in tensors]


def test_side_pools_come_along_layer_by_layer() -> None:
    group = make_group()
    latent = group.get_entry("kv").device_pool
    states = group.get_entry("mamba").device_pool.mamba_cache
    slots = group.alloc(8)
    assert slots is not None
    device = torch.tensor([12, 13, 14, 15, 0, 1, 2, 3])
    transfers = [
        PoolTransfer("indexer", slots, device),
        PoolTransfer("mamba", torch.tensor([3]), torch.tensor([5])),
    ]
    before = device_bytes(group)
    group.backup_from_device_all_layer(None, slots, device, "kernel", transfers[1:])
    group.backup_from_device_all_layer(None, slots, device, "direct", transfers)
    for tensor in (*latent.kv_buffer, *latent.index_k_with_scale_buffer, *states.conv):
        tensor.view(torch.uint8).zero_()
    empty = device_bytes(group)
    for layer in (0, 1, 5):  # another stage's
        group.load_to_device_per_layer(None, slots, device, layer, "direct", transfers)
    assert device_bytes(group) == empty
    for layer in (2, 3, 4):
        group.load_to_device_per_layer(None, slots, device, layer, "direct", transfers)
    for number, (rows, index) in enumerate(
        [(t, device) for t in latent.kv_buffer]
        + [(t, torch.tensor([3, 0])) for t in latent.index_k_with_scale_buffer]
        + [(t.transpose(0, 1), torch.tensor([5])) for t in (states.temporal, *states.conv)]
    ):
        old = torch.frombuffer(bytearray(before[number]), dtype=rows.dtype)
        shape = rows.shape if number < 6 else rows.transpose(0, 1).shape
        old = old.view(shape) if number < 6 else old.view(shape).transpose(0, 1)
        assert raw(rows[index]) == raw(old[index])


def test_a_transfer_without_host_slots_is_passed_over() -> None:
    group = make_group()
    slots = torch.arange(4)
    before = raw(group.get_pool("mamba").temporal_buffer)
    group.backup_from_device_all_layer(None, slots, slots, "direct", [PoolTransfer("mamba")])
    assert raw(group.get_pool("mamba").temporal_buffer) == before
    assert group.get_data_page(0).any()


BAD_TRANSFERS: list[tuple[str, PoolTransfer, str]] = [
    ("an unknown pool", PoolTransfer("swa", torch.arange(4)), "name must be one of"),
    ("the anchor", PoolTransfer("kv", torch.arange(4), torch.arange(4)), "must name side pools"),
    (
        "slots that do not pair",
        PoolTransfer("mamba", torch.arange(2), torch.arange(1)),
        "mamba transfer index size mismatch",
    ),
    (
        "slots past the end",
        PoolTransfer("mamba", torch.tensor([5]), torch.tensor([0])),
        "host_indices must lie in",
    ),
    (
        "half a page",
        PoolTransfer("indexer", torch.arange(2), torch.arange(2)),
        "host_indices must be whole pages",
    ),
]


@pytest.mark.parametrize("load", [False, True], ids=["backup", "load"])
@pytest.mark.parametrize(
    ("transfer", "message"),
    [row[1:] for row in BAD_TRANSFERS],
    ids=[row[0] for row in BAD_TRANSFERS],
)
def test_nothing_is_moved_unless_all_can_be(
    transfer: PoolTransfer, message: str, load: bool
) -> None:
    group = make_group()
    slots = torch.arange(4)
    good = PoolTransfer("mamba", torch.tensor([0]), torch.tensor([0]))
    before = (device_bytes(group), raw(group.kv_buffer), raw(group.get_pool("mamba").kv_buffer[1]))
    move: Callable[..., None] = group.backup_from_device_all_layer
    if load:
        move = functools.partial(group.load_to_device_per_layer, layer_id=2)
    with pytest.raises(ValueError, match=message):
        move(
            device_pool=None,
            host_indices=slots,
            device_indices=slots,
            io_backend="direct",
            pool_transfers=[good, transfer],
        )
    after = (device_bytes(group), raw(group.kv_buffer), raw(group.get_pool("mamba").kv_buffer[1]))
    assert after == before


def test_slots_of_side_pools_are_all_given_or_none(caplog: pytest.LogCaptureFixture) -> None:
    first, second = make_mamba(pages=5), make_paged(page_size=4, pages=3)
    asked: list[str] = []
    held: list[torch.Tensor] = []

    def evict(count: int) -> None:
        asked.append(f"evict {count}")
        second.host.free(held.pop())

    group = HostPoolGroup(
        [
            entry("logical"),
            PoolEntry("b", first.host, first.device, local),
            PoolEntry("a", second.host, None, local, host_evict_fn=evict),
        ]
    )
    assert group.resolve_host_transfers({"b": 6, "a": 4}) is None
    assert "The side pool b has no 6 slots left" in caplog.text
    with pytest.raises(TypeError, match="need_size must be an integer"):
        group.resolve_host_transfers({"b": 1.5, "a": 4})  # type: ignore[dict-item]
    assert (first.host.available_size(), second.host.available_size()) == (5, 12)
    found = group.resolve_host_transfers({"b": 2, "a": 8})
    assert found is not None
    assert list(found) == ["a", "b"]  # in the order of names, on every rank
    assert found["a"].tolist() == list(range(8))  # the first two pages came back
    assert found["b"].tolist() == [0, 1]
    assert (first.host.available_size(), second.host.available_size()) == (3, 4)
    assert asked == []
    held.append(found["a"])
    again = group.resolve_host_transfers({"a": 8})
    assert again is not None
    assert asked == ["evict 8"]
    group.release_transfers({"a": again["a"], "b": found["b"]})
    assert first.host.available_size() == 5
    with pytest.raises(pools.SlotError, match="Double-free"):
        group.release_transfers({"b": found["b"]})
    with pytest.raises(ValueError, match="name must be one of"):
        group.resolve_host_transfers({"c": 1})


def test_a_logical_anchor_carries_its_side_pools() -> None:
    paged, state = make_paged("page_first"), make_state("page_first")
    group = HostPoolGroup(
        [
            PoolEntry("logical", LogicalHostPool(20, 4), None, local, is_primary_index_anchor=True),
            PoolEntry("c4", paged.host, None, local),
            PoolEntry("state", state.host, None, nowhere),
        ]
    )
    slots = group.alloc(8)
    assert slots is not None
    device = torch.arange(8, 16)
    transfers = [PoolTransfer("c4", slots, device), PoolTransfer("state", slots, device)]
    group.backup_from_device_all_layer(None, slots, device, "kernel", transfers)
    before = paged.snapshot(), state.snapshot()
    paged.empty_device()
    state.empty_device()
    for layer in range(2, 5):
        group.load_to_device_per_layer(None, slots, device, layer, "kernel", transfers)
    for part, layers in enumerate(paged.rows):
        for layer, rows in enumerate(layers):
            assert same(rows[2:4], before[0][part][layer][2:4])
    assert not any(rows.any() for layers in state.rows for rows in layers)  # no layer of its own


def test_clear_and_destroy_reach_every_pool() -> None:
    group = make_group()
    states = group.get_pool("mamba")
    states.alloc(3)
    group.alloc(8)
    group.clear()
    assert (group.available_size(), states.available_size()) == (20, 5)
    group.destroy()
    group.destroy()
    assert all(known.host_pool.destroyed for known in group.entries)


def test_a_side_pool_may_join_later() -> None:
    mla = make_mla()
    group = HostPoolGroup([PoolEntry("kv", mla.host, mla.device, local)])
    indexer = make_indexer()
    group.add_entry(PoolEntry("indexer", indexer.host, indexer.device, local))
    assert group.get_pool("indexer") is indexer.host
    with pytest.raises(ValueError, match="entries must differ in name"):
        group.add_entry(entry("kv"))
