"""What storage sees of a pool: pages, their shapes, addresses and formats."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

import pool_host.buffers
import pool_host.mamba
from pool_host.buffers import BufferLayout
from pool_host.logical import LogicalHostPool
from pool_host.mha import (
    AsymmetricMHATokenToKVPoolHost,
    MHATokenToKVPoolHost,
    get_mha_host_pool_cls,
)
from tests.pool_host.device_pools import MambaPool, MHAPool, raw, same
from tests.pool_host.families import (
    FAMILIES,
    FLOATS,
    Family,
    make_asymmetric,
    make_indexer,
    make_k_only,
    make_mamba,
    make_mha,
    make_mla,
    make_paged,
)

SHAPES: list[tuple[Any, str, tuple[int, ...], tuple[int, ...]]] = [
    (make_mha, "layer_first", (2, 3, 20, 2, 4), (2, 3, 4, 2, 4)),
    (make_mha, "page_first", (2, 20, 3, 2, 4), (2, 4, 3, 2, 4)),
    (make_mha, "page_first_direct", (2, 5, 3, 4, 2, 4), (2, 1, 3, 4, 2, 4)),
    (make_mha, "page_head", (2, 5, 2, 4, 3, 4), (2, 1, 2, 4, 3, 4)),
    (make_k_only, "layer_first", (3, 20, 1, 8), (3, 4, 1, 8)),
    (make_k_only, "page_first", (20, 3, 1, 8), (4, 3, 1, 8)),
    (make_k_only, "page_first_direct", (5, 3, 4, 1, 8), (1, 3, 4, 1, 8)),
    (make_mla, "layer_first", (3, 20, 1, 16), (3, 4, 1, 16)),
    (make_mla, "page_first", (20, 3, 1, 16), (4, 3, 1, 16)),
    (make_mla, "page_first_direct", (5, 3, 4, 1, 16), (1, 3, 4, 1, 16)),
    (make_indexer, "layer_first", (3, 5, 528), (3, 1, 528)),
    (make_indexer, "page_first", (5, 3, 1, 528), (1, 3, 1, 528)),
    (make_indexer, "page_first_direct", (5, 3, 1, 528), (1, 3, 1, 528)),
    (make_paged, "page_first", (5, 3, 64), (1, 3, 64)),
    (make_paged, "page_first_direct", (5, 3, 1, 64), (1, 3, 1, 64)),
]


@pytest.mark.parametrize(
    ("make", "layout", "buffer", "page"),
    SHAPES,
    ids=[f"{make.__name__[5:]}, {layout}" for make, layout, *_ in SHAPES],
)
def test_buffers_and_pages_have_the_shape_of_their_layout(
    make: Any, layout: str, buffer: tuple[int, ...], page: tuple[int, ...]
) -> None:
    host = make(layout).host
    assert host.kv_buffer.shape == buffer
    found = host.get_data_page(8, flat=False)
    assert found.shape == page
    assert same(found.flatten(), host.get_data_page(8))


def test_buffers_of_several_shapes_are_listed() -> None:
    asymmetric = make_asymmetric().host
    assert [tuple(part.shape) for part in asymmetric.kv_buffer] == [(20, 3, 2, 12), (20, 3, 2, 8)]
    for layout, temporal in (("layer_first", (3, 5, 2, 4)), ("page_first", (5, 3, 1, 2, 4))):
        states = make_mamba(layout).host
        assert [
            part is buffer
            for part, buffer in zip(states.kv_buffer, states.get_hybrid_pool_buffer(), strict=True)
        ] == [True] * 3
        assert states.temporal_buffer.shape == temporal
    paged = make_paged("layer_first").host
    assert [tuple(part.shape) for part in paged.kv_buffer] == [(5, 64)] * 3
    for host in (asymmetric, states):
        with pytest.raises(ValueError, match="flat must be True"):
            host.get_data_page(0, flat=False)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_page_is_a_copy(family: Family) -> None:
    for layout in family.host_class.layouts:
        host = family.make(layout, dtype=family.dtypes[0]).host
        page = host.get_data_page(0)
        assert page.untyped_storage().nbytes() == page.nbytes
        host.set_from_flat_data_page(0, torch.full_like(page, 3))
        assert not page.any()
        given = torch.full_like(page, 5)
        host.set_from_flat_data_page(0, given)
        given.fill_(7)
        assert torch.equal(host.get_data_page(0), torch.full_like(page, 5))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_batches_of_pages_land_where_they_belong(family: Family) -> None:
    """Each batch counts its pages from nought, and its slots do not start there."""
    page_size = 1 if family.name == "mamba" else 4
    host = family.make(family.host_class.layouts[0], page_size, family.dtypes[0]).host
    order = [3, 1, 4, 0]
    slots = torch.cat([torch.arange(page * page_size, (page + 1) * page_size) for page in order])
    for start in (0, 2):
        batch = slots[start * page_size : (start + 2) * page_size]
        for turn in range(2):
            page = torch.full_like(host.get_dummy_flat_data_page(), 1 + start + turn)
            host.set_from_flat_data_page(batch[turn * page_size], page)
    for turn, number in enumerate(order):
        found = host.get_data_page(number * page_size)
        assert torch.equal(found, torch.full_like(found, 1 + turn))
    assert not host.get_data_page(2 * page_size).any()


def test_formats_differ_wherever_bytes_are_read_differently() -> None:
    tags = []
    for family in FAMILIES:
        for layout in family.host_class.layouts:
            for dtype in family.dtypes:
                tags += [
                    family.make(layout, page_size, dtype).host.storage_format_tag
                    for page_size in family.page_sizes
                ]
    tags.append(make_mha(layers=4).host.storage_format_tag)
    later = MHAPool(size=8, page_size=4, start_layer=5)
    tags.append(MHATokenToKVPoolHost(later, 2, 0, 4, "layer_first").storage_format_tag)
    assert len(tags) == len(set(tags)) > 100
    assert make_mla().host.storage_format_tag == (
        "MLATokenToKVPoolHost-kv-layer_first-4-2:5-float16[1,16]"
    )
    assert not any(set(tag) & set("/ ") for tag in tags)


def test_pages_of_two_hosts_are_the_same_if_their_format_is() -> None:
    left, right = make_mha("page_head"), make_mha("page_head", pages=7)
    every = torch.arange(8)
    left.host.backup_from_device_all_layer(left.device, every, every, "kernel")
    page = left.host.get_data_page(4)
    right.host.set_from_flat_data_page(20, page, left.host.storage_format_tag)
    assert same(right.host.get_data_page(20), page)


# Addresses.


def test_keys_and_values_take_turns_layer_by_layer() -> None:
    host = make_mha("layer_first").host
    addresses, sizes = host.get_page_buffer_meta(torch.tensor([8, 9, 10, 11, 0, 1, 2, 3]))
    part = 4 * 2 * 4 * 2
    base, layer, values = host.kv_buffer.data_ptr(), 20 * 16, 3 * 20 * 16
    assert sizes == [part] * 12
    assert addresses == [
        base + kind * values + level * layer + first * 16
        for first in (8, 0)
        for level in range(3)
        for kind in range(2)
    ]


@pytest.mark.parametrize("layout", ["page_first", "page_first_direct", "page_head"])
def test_keys_and_values_take_turns_page_by_page(layout: str) -> None:
    host = make_mha(layout).host
    addresses, sizes = host.get_page_buffer_meta(torch.tensor([8, 9, 10, 11, 0, 1, 2, 3]))
    base, page = host.kv_buffer.data_ptr(), 4 * 3 * 2 * 4 * 2
    assert sizes == [page] * 4
    assert addresses == [base + 2 * page, base + 7 * page, base, base + 5 * page]


def test_keys_and_values_of_two_sizes_have_a_size_each() -> None:
    for layout in ("page_first", "page_first_direct"):
        host = make_asymmetric(layout).host
        addresses, sizes = host.get_page_buffer_meta(torch.arange(4, 12))
        assert sizes == [4 * 3 * 2 * 12 * 2, 4 * 3 * 2 * 8 * 2] * 2
        keys, values = host.k_buffer.data_ptr(), host.v_buffer.data_ptr()
        assert addresses[2:] == [keys + 2 * sizes[0], values + 2 * sizes[1]]
        assert host.get_ksize_per_token() == 3 * 2 * 12 * 2
        assert host.size_per_token == host.get_ksize_per_token() + 3 * 2 * 8 * 2


def test_heads_of_a_page_are_apart() -> None:
    device = MHAPool(head_num=2, head_dim=4, size=8, page_size=2)
    host = MHATokenToKVPoolHost(device, 1.0, 0, 2, "page_head")
    every = torch.arange(8)
    host.backup_from_device_all_layer(device, every, every, "kernel")
    base = host.kv_buffer.data_ptr()
    addresses, sizes = host.get_split_heads_page_buffer_meta(torch.tensor([2, 3]), 2)
    page, values = 96, 4 * 96
    assert [address - base for address in addresses] == [
        page,
        page + values,
        page + 48,
        page + 48 + values,
    ]
    assert sizes == [48] * 4
    for turn, (buffers, head) in enumerate(
        [(device.k_buffer, 0), (device.v_buffer, 0), (device.k_buffer, 1), (device.v_buffer, 1)]
    ):
        rows = torch.stack([buffer[2:4, head] for buffer in buffers], dim=1)
        assert ctypes.string_at(addresses[turn], 48) == raw(rows)
    whole, _ = host.get_split_heads_page_buffer_meta(every, 1)
    assert whole == host.get_page_buffer_meta(every)[0]
    assert host.get_split_heads_page_buffer_meta(every[:0], 2) == ([], [])


def test_each_layer_of_latent_rows_lies_together() -> None:
    host = make_mla("layer_first").host
    addresses, sizes, items = host.get_contiguous_buf_infos()
    base = host.kv_buffer.data_ptr()
    assert addresses == [base, base + 20 * 32, base + 40 * 32]
    assert (sizes, items) == ([20 * 32] * 3, [4 * 32] * 3)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_pages_are_aligned_where_their_stride_is(family: Family) -> None:
    page_size = 1 if family.name == "mamba" else 4
    for layout in family.host_class.layouts:
        host = family.make(layout, page_size, family.dtypes[0]).host
        assert host.is_stride_page_aligned(1) is (layout != "layer_first")
        assert host.is_stride_page_aligned() is False  # pages are smaller than 4096 bytes
    if family.name in {"mha", "asymmetric mha", "mla", "k only"}:
        host = family.make("page_first_direct", 64, torch.float32, layers=4).host
        assert host.is_stride_page_aligned() is True
        assert host.is_stride_page_aligned(10**6) is False


def test_the_units_of_a_pool_are_bytes() -> None:
    mha = make_mha().host
    assert (mha.token_stride_size, mha.layout_dim, mha.size_per_token) == (16, 48, 96)
    assert mha.get_ksize_per_token() == 48
    assert [ref.shape for ref in mha.k_data_refs] == [(5, 4, 2, 4)] * 3
    mla = make_mla().host
    assert (mla.kv_cache_dim, mla.token_stride_size, mla.size_per_token) == (16, 32, 96)
    assert mla.get_ksize_per_token() == 96
    keys = make_k_only().host
    assert keys.size_per_token == keys.get_ksize_per_token() == 48
    indexer = make_indexer().host
    assert (indexer.indexer_size_per_token, indexer.indexer_page_stride) == (132, 528)
    assert indexer.size_per_token == 396
    states = make_mamba().host
    assert states.size_per_token == 3 * (8 * 4 + 24 * 2 + 8 * 2) == states.page_numel
    assert make_paged().host.size_per_token == 48  # three layers' 64 bytes over four slots


# Families.


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_model_without_temporal_states_has_convolutions(dtype: torch.dtype) -> None:
    for layout in ("layer_first", "page_first", "page_first_direct"):
        case = make_mamba(layout, dtype=dtype, temporal=(0, 4))
        host = case.host
        assert host.temporal_buffer.numel() == 0
        assert host.size_per_token == 3 * 32 * dtype.itemsize
        backend = "kernel" if layout == "page_first" else "direct"
        slots = torch.tensor([4, 1])
        host.backup_from_device_all_layer(case.device, slots, slots, backend)
        page = host.get_data_page(4)
        host.set_from_flat_data_page(2, page)
        assert same(host.get_data_page(2), page)
        convolutions = case.device.mamba_cache.conv
        assert raw(page) == b"".join(raw(part[:, 4]) for part in convolutions)


def test_states_are_read_where_their_bytes_begin() -> None:
    """A convolution of one dtype begins amid the elements of the next."""
    pool = MambaPool(size=4, dtype=torch.bfloat16)
    pool.mamba_cache.conv[0] = pool.mamba_cache.conv[0][..., :1, :4].contiguous()
    pool.mamba_cache.temporal = pool.mamba_cache.temporal.to(torch.float16)[
        ..., :1, :3
    ].contiguous()
    pool.mamba_cache.conv[1] = pool.mamba_cache.conv[1].to(torch.float32)
    host = pool_host.mamba.MambaPoolHost(pool, 2, 0, layout="page_first_direct")
    assert (3 * 3 * 2 + 3 * 4 * 2) % 4
    slots = torch.tensor([0, 3])
    host.backup_from_device_all_layer(pool, slots, slots, "direct")
    page = host.get_data_page(3)
    host.set_from_flat_data_page(torch.tensor(1), page)
    assert same(host.get_data_page(1), page)
    cache = pool.mamba_cache
    assert raw(page) == b"".join(raw(state[:, 3]) for state in (cache.temporal, *cache.conv))


def test_the_class_of_a_host_pool_follows_from_its_head_sizes() -> None:
    assert get_mha_host_pool_cls(make_mha().device) is MHATokenToKVPoolHost
    assert get_mha_host_pool_cls(make_asymmetric().device) is AsymmetricMHATokenToKVPoolHost


def test_a_logical_pool_has_slots_and_nothing_else() -> None:
    pool = LogicalHostPool(8, 4)
    slots = torch.arange(4)
    pool.load_to_device_per_layer(None, slots, slots, 0, "kernel")
    pool.backup_from_device_all_layer(None, slots, slots, "kernel")
    pool.set_from_flat_data_page(0, pool.get_dummy_flat_data_page())
    assert pool.get_data_page(0).numel() == pool.get_dummy_flat_data_page().numel() == 0
    assert (pool.kv_buffer, pool.layer_num, pool.size_per_token) == (None, 0, 0)
    assert pool.get_hybrid_pool_buffer() == []
    assert pool.is_stride_page_aligned() is False
    assert pool.plan_load(None) == pool.plan_backup(None) == []


def test_an_unknown_layout_has_no_shape() -> None:
    layout = BufferLayout("page_last", 1, 1, 1, (1, 1), torch.float16)
    with pytest.raises(ValueError, match="Unsupported layout: page_last"):
        layout.dims()


def test_runs_are_as_long_as_both_sides_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied at once is a stretch in which host and device slots both step by one."""
    counted: list[list[tuple[int, int, int]]] = []
    plain = pool_host.buffers.SlotTransfer.store

    def noted(self: Any, pages: torch.Tensor, rows: torch.Tensor) -> None:
        counted.append(self.runs)
        plain(self, pages, rows)

    monkeypatch.setattr("pool_host.buffers.SlotTransfer.store", noted)
    case = make_mha("page_first_direct", layers=1)
    for host, device, runs in (
        (torch.arange(12), torch.arange(4, 16), [(0, 4, 12)]),
        (torch.arange(12), torch.tensor([*range(8, 16), *range(4)]), [(0, 8, 8), (8, 0, 4)]),
        (
            torch.tensor([8, 9, 10, 11, 0, 1, 2, 3]),
            torch.arange(8),
            [(8, 0, 4), (0, 4, 4)],
        ),
        (
            torch.arange(8),
            torch.tensor([5, 6, 7, 8, 9, 10, 0, 1]),
            [(0, 5, 4), (4, 9, 2), (6, 0, 2)],
        ),
        (
            torch.arange(8),
            torch.tensor([8, 9, 0, 1, 2, 3, 4, 5]),
            [(0, 8, 2), (2, 0, 2), (4, 2, 4)],
        ),
    ):
        case.host.backup_from_device_all_layer(case.device, host, device, "direct")
        assert counted.pop() == runs
        assert same(case.host_rows(0, 0)[host], case.device.k_buffer[0][device])
        counted.clear()


def test_packed_pages_of_a_layer_lie_in_one_stretch() -> None:
    host = make_paged(page_size=4).host
    addresses, sizes, items = host.get_contiguous_buf_infos()
    assert addresses == [layer.data_ptr() for layer in host.kv_buffer]
    assert (sizes, items) == ([5 * 64] * 3, [64] * 3)
    with pytest.raises(ValueError, match="layer_first"):
        make_paged("page_first").host.get_contiguous_buf_infos()


@pytest.mark.parametrize("make", [make_mha, make_mla])
def test_a_pool_can_be_given_a_name(make: Any) -> None:
    tags = {make(**options).host.storage_format_tag for options in ({}, {"pool_label": "draft"})}
    assert len(tags) == 2
    assert make(pool_label="kv").host.storage_format_tag in tags


def test_memory_that_others_can_map_has_a_descriptor() -> None:
    host = make_mha(allocator_type="shm", pin_memory=False).host
    assert host.fd == host.allocator.fd is not None
