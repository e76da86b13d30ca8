"""Every family of host pools, made small, with what a test must know to check it from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pool_host import HostPoolGroup, PoolEntry
from pool_host.base import HostBufferPool
from pool_host.deepseek_v4 import DeepSeekV4PagedHostPool, DeepSeekV4StateHostPool, LogicalHostPool
from pool_host.dsa import DSAIndexerPoolHost
from pool_host.mamba import MambaPoolHost
from pool_host.mha import (
    AsymmetricMHATokenToKVPoolHost,
    HiSparseMHATokenToKVPoolHost,
    MHATokenToKOnlyPoolHost,
    MHATokenToKVPoolHost,
)
from pool_host.mla import MLATokenToKVPoolHost
from tests.pool_host.device_pools import (
    MambaPool,
    MHAPool,
    MLAPool,
    StatePool,
    numbered,
)

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
STORED = (*FLOATS, torch.uint8)  # fp8 is stored as bytes
DEVICE_PAGES = 6


@dataclass
class Case:
    """A host pool with its device pool.

    `rows` holds for each host buffer the device's rows of each layer, whose first dimension counts
    `unit` slots; `buffers` the host buffers, each with its layout.
    """

    host: Any
    device: Any
    rows: list[list[torch.Tensor]]
    buffers: list[tuple[str, Any]]
    unit: int = 1

    def host_rows(self, part: int, layer: int) -> torch.Tensor:
        """Give the rows of a layer, found in the host buffer where the layout says they lie."""
        layout, buffer = self.buffers[part]
        if layout == "layer_first":
            found = buffer[layer]
        elif layout == "page_head":
            found = buffer.permute(3, 0, 2, 1, 4)[layer].flatten(0, 1)
        elif layout == "page_first" or self.unit > 1:
            found = buffer[:, layer]
        else:
            found = buffer[:, layer].flatten(0, 1)
        rows: torch.Tensor = found.reshape(-1, *self.rows[part][layer].shape[1:])
        return rows

    def snapshot(self) -> list[list[torch.Tensor]]:
        return [[rows.clone() for rows in layers] for layers in self.rows]

    def empty_device(self) -> None:
        for layers in self.rows:
            for rows in layers:
                rows.view(torch.uint8).zero_()


@dataclass(frozen=True)
class Family:
    name: str
    host_class: type[HostBufferPool]
    make: Callable[..., Case]
    dtypes: tuple[torch.dtype, ...] = STORED
    page_sizes: tuple[int, ...] = (1, 16, 64)

    def copies(self) -> list[tuple[str, str]]:
        """Give each layout with an io backend that copies it."""
        backends = self.host_class.io_layouts
        return [(layout, backend) for backend, names in backends.items() for layout in names]


def sizes(page_size: int, pages: int) -> tuple[int, float]:
    """Give a device pool's size, and the ratio that makes a host pool of `pages` pages."""
    size = DEVICE_PAGES * page_size
    return size, pages / DEVICE_PAGES


def make_mha(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.float16,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    host_class: type[MHATokenToKVPoolHost] = MHATokenToKVPoolHost,
    **options: Any,
) -> Case:
    size, ratio = sizes(page_size, pages)
    pool = MHAPool(
        head_dim=8 // min(2, dtype.itemsize),
        size=size,
        page_size=page_size,
        layer_num=layers,
        dtype=dtype,
        device=on,
    )
    host = host_class(pool, ratio, 0, page_size, layout, **options)
    buffers = [(layout, host.k_buffer), (layout, host.v_buffer)]
    return Case(host, pool, [pool.k_buffer, pool.v_buffer], buffers)


def make_hisparse_mha(*args: Any, **options: Any) -> Case:
    return make_mha(*args, host_class=HiSparseMHATokenToKVPoolHost, **options)


def make_asymmetric(
    layout: str = "page_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.float16,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    size, ratio = sizes(page_size, pages)
    pool = MHAPool(
        head_dim=12,
        v_head_dim=8,
        size=size,
        page_size=page_size,
        layer_num=layers,
        dtype=dtype,
        device=on,
    )
    host = AsymmetricMHATokenToKVPoolHost(pool, ratio, 0, page_size, layout, **options)
    buffers = [(layout, host.k_buffer), (layout, host.v_buffer)]
    return Case(host, pool, [pool.k_buffer, pool.v_buffer], buffers)


def make_k_only(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.float16,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    anchor = make_mha("layer_first", page_size, pages=pages)
    size, _ = sizes(page_size, pages)
    pool = MHAPool(
        head_num=1,
        head_dim=8,
        size=size,
        page_size=page_size,
        layer_num=layers,
        dtype=dtype,
        device=on,
    )
    host = MHATokenToKOnlyPoolHost(pool, anchor.host, layout, **options)
    return Case(host, pool, [pool.k_buffer], [(layout, host.k_buffer)])


def make_mla(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.float16,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    size, ratio = sizes(page_size, pages)
    packed = 656 if dtype == torch.uint8 else None  # values, scales and positions in one row
    pool = MLAPool(
        packed=packed,
        size=size,
        page_size=page_size,
        layer_num=layers,
        dtype=dtype,
        device=on,
    )
    host = MLATokenToKVPoolHost(
        pool, ratio, 0, page_size, layout, override_kv_cache_dim=packed, **options
    )
    return Case(host, pool, [pool.kv_buffer], [(layout, host.kv_buffer)])


def make_mamba(
    layout: str = "layer_first",
    page_size: int = 1,
    dtype: torch.dtype = torch.float16,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    temporal: tuple[int, ...] = (2, 4),
    **options: Any,
) -> Case:
    assert page_size == 1
    size, ratio = sizes(page_size, pages)
    pool = MambaPool(size=size, layer_num=layers, dtype=dtype, temporal=temporal, device=on)
    host = MambaPoolHost(pool, ratio, 0, layout=layout, **options)
    cache = pool.mamba_cache
    name = "layer_first" if layout == "layer_first" else "page_first_direct"
    return Case(
        host,
        pool,
        [list(state.unbind(0)) for state in (cache.temporal, *cache.conv)],
        [(name, buffer) for buffer in (host.temporal_buffer, *host.conv_buffer)],
    )


def make_indexer(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.uint8,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    assert dtype == torch.uint8
    anchor = make_mla("layer_first", page_size, layers=layers, pages=pages, on=on)
    host = DSAIndexerPoolHost(anchor.device, anchor.host, layout, **options)
    name = "layer_first" if layout == "layer_first" else "page_first_direct"
    return Case(
        host,
        anchor.device,
        [anchor.device.index_k_with_scale_buffer],
        [(name, host.index_k_with_scale_buffer)],
        unit=page_size,
    )


def make_paged(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.uint8,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    assert dtype == torch.uint8
    shape = (DEVICE_PAGES, 16 * page_size)
    buffers = [numbered(shape, dtype, 1 + 10000 * n).to(on) for n in range(layers)]
    host = DeepSeekV4PagedHostPool("c4", buffers, shape[1], pages, page_size, layout, **options)
    return Case(host, None, [buffers], [(layout, host.kv_buffer)], unit=page_size)


def make_state(
    layout: str = "layer_first",
    page_size: int = 4,
    dtype: torch.dtype = torch.uint8,
    *,
    layers: int = 3,
    pages: int = 5,
    on: str = "cpu",
    **options: Any,
) -> Case:
    assert dtype == torch.uint8
    pools = [StatePool(DEVICE_PAGES, 1 + 10000 * n, on) for n in range(layers)]
    host = DeepSeekV4StateHostPool("state", pools, pages, page_size, layout, **options)
    rows = [pool.state_buffer.view(torch.uint8).view(DEVICE_PAGES, -1) for pool in pools]
    return Case(host, None, [rows], [(layout, host.kv_buffer)], unit=page_size)


BYTES = (torch.uint8,)
FAMILIES = [
    Family("mha", MHATokenToKVPoolHost, make_mha),
    Family("hisparse mha", HiSparseMHATokenToKVPoolHost, make_hisparse_mha, FLOATS[:1], (16,)),
    Family("asymmetric mha", AsymmetricMHATokenToKVPoolHost, make_asymmetric),
    Family("k only", MHATokenToKOnlyPoolHost, make_k_only),
    Family("mla", MLATokenToKVPoolHost, make_mla),
    Family("mamba", MambaPoolHost, make_mamba, page_sizes=(1,)),
    Family("indexer", DSAIndexerPoolHost, make_indexer, BYTES),
    Family("v4 paged", DeepSeekV4PagedHostPool, make_paged, BYTES),
    Family("v4 state", DeepSeekV4StateHostPool, make_state, BYTES),
]


def make_group(page_size: int = 4, pages: int = 5) -> HostPoolGroup:
    """Give latent rows with an indexer beside them, and a pool with slots of its own."""
    mla = make_mla("layer_first", page_size, pages=pages)
    indexer = DSAIndexerPoolHost(mla.device, mla.host, "layer_first")
    states = make_mamba(pages=pages)

    def local(layer: int) -> int | None:
        return layer - 2 if 2 <= layer < 5 else None

    return HostPoolGroup(
        [
            PoolEntry("indexer", indexer, mla.device, local),
            PoolEntry("kv", mla.host, mla.device, local, is_primary_index_anchor=True),
            PoolEntry("mamba", states.host, states.device, local),
        ]
    )


# Whatever gives out slots of its own, made of a page size and a number of pages.
SLOT_POOLS: dict[str, Callable[[int, int], Any]] = {
    "mha": lambda page_size, pages: make_mha("layer_first", page_size, pages=pages).host,
    "asymmetric mha": lambda page_size, pages: (
        make_asymmetric("page_first", page_size, pages=pages).host
    ),
    "mla": lambda page_size, pages: make_mla("page_first", page_size, pages=pages).host,
    "mamba": lambda page_size, pages: make_mamba(pages=pages * page_size).host,
    "v4 logical": lambda page_size, pages: LogicalHostPool(page_size * pages, page_size),
    "v4 paged": lambda page_size, pages: make_paged("layer_first", page_size, pages=pages).host,
    "group": make_group,
}


def transfer(case: Case, *, load: bool, **changed: Any) -> None:
    """Back up or load two pages, but for what is changed."""
    backends = case.host.io_layouts
    given = {
        "device_pool": case.device,
        "host_indices": torch.arange(2 * case.host.page_size),
        "device_indices": torch.arange(2 * case.host.page_size),
        "layer_id": 1,
        "io_backend": next(b for b, layouts in backends.items() if case.host.layout in layouts),
        **changed,
    }
    if load:
        case.host.load_to_device_per_layer(**given)
    else:
        del given["layer_id"]
        case.host.backup_from_device_all_layer(**given)
