"""Which host pool goes with a device pool, and one way to move pages of a pool or of a group.

A family that keeps one kind of rows has a host pool. One that keeps several, such as latent rows
and the keys of an indexer, has a group: its anchor gives out slots, and the others' pages go with
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import torch

import pool_host
import pool_host.base
import pool_host.group
import pool_host.mha
import pool_host.mla
from hicache.device_pools import DSATokenToKVPool, KVCache, MHATokenToKVPool, MLATokenToKVPool
from hicache.statistics import Moved, count_runs

if TYPE_CHECKING:
    from pool_host import HostPoolGroup
    from pool_host.base import HostBufferPool
    from pool_host.mla import MLATokenToKVPoolHost


_Pool = TypeVar("_Pool", bound=pool_host.HostKVCache)


def host_pool_for(
    device_pool: KVCache,
    *,
    ratio: float = 2.0,
    size_gb: float = 0,
    layout: str = "layer_first",
    allocator_type: str = "default",
) -> pool_host.HostKVCache | HostPoolGroup:
    """Make the host pool of a device pool: `ratio` times as large, or of `size_gb` 10^9 bytes.

    Its memory is pinned if the device is CUDA's, whose copies need that. Raises `TypeError` for a
    device pool without a host pool, `ValueError` for a layout it has not or too little memory.
    """

    def make(family: type[_Pool]) -> _Pool:
        return family(
            device_pool,
            ratio,
            size_gb,
            device_pool.page_size,
            layout,
            pin_memory=device_pool.device.startswith("cuda"),
            allocator_type=allocator_type,
        )

    if isinstance(device_pool, MHATokenToKVPool):
        return make(pool_host.mha.get_mha_host_pool_cls(device_pool))
    if not isinstance(device_pool, MLATokenToKVPool):
        kind = type(device_pool).__name__
        raise TypeError(f"device_pool: expected an MHA, MLA or DSA pool, got a {kind}")
    latent = make(pool_host.mla.MLATokenToKVPoolHost)
    if not isinstance(device_pool, DSATokenToKVPool):
        return latent
    try:
        return _with_indexer(device_pool, latent, allocator_type)
    except BaseException:
        latent.destroy()
        raise


def _with_indexer(
    device_pool: DSATokenToKVPool, anchor: MLATokenToKVPoolHost, allocator_type: str
) -> HostPoolGroup:
    from pool_host import HostPoolGroup, PoolEntry
    from pool_host.dsa import DSAIndexerPoolHost

    indexer = DSAIndexerPoolHost(
        device_pool, anchor, anchor.layout, anchor.pin_memory, allocator_type=allocator_type
    )

    def local(layer: int) -> int | None:
        own = layer - device_pool.start_layer
        return own if 0 <= own < device_pool.layer_num else None

    return HostPoolGroup(
        [
            PoolEntry("kv", anchor, device_pool, local, is_primary_index_anchor=True),
            PoolEntry("indexer", indexer, device_pool, local),
        ]
    )


def io_backend_for(layout: str) -> str:
    """Give the io backend that copies a layout's rows: `direct` for whole pages, else `kernel`."""
    return "direct" if layout == "page_first_direct" else "kernel"


class HostPages:
    """The pages of a host pool or of a group: copied layer by layer, or taken as bytes.

    Raises `ValueError` for a group whose side pools have slots of their own: a page of the anchor
    would not say which of theirs belong to it.
    """

    def __init__(self, host: pool_host.HostKVCache | HostPoolGroup, device_pool: KVCache) -> None:
        self._host = host
        self._device_pool = device_pool
        self._sides: list[str] = []
        self._pools: list[HostBufferPool] = []
        if isinstance(host, pool_host.HostPoolGroup):
            self._pools.append(host.anchor)
            for entry in host.entries:
                if entry is not host.anchor_entry:
                    self._add_side(entry)
        else:
            self._pools.append(host)
        self.page_size: int = host.page_size
        self.page_bytes = sum(pool.page_numel * pool.page_dtype.itemsize for pool in self._pools)
        self.tag = "+".join(pool.storage_format_tag for pool in self._pools)
        # Latent rows have no heads to share out, so each rank's pages are what every other's are.
        self.is_replicated = isinstance(self._pools[0], pool_host.mla.MLATokenToKVPoolHost)

    def _add_side(self, entry: pool_host.PoolEntry) -> None:
        if not isinstance(entry.host_pool, pool_host.base.SharedSlotPool):
            raise ValueError(f"host: expected side pools without slots, {entry.name} has its own")
        self._sides.append(entry.name)
        self._pools.append(entry.host_pool)

    def store(
        self, host_indices: torch.Tensor, device_indices: torch.Tensor, io_backend: str
    ) -> None:
        """Copy all layers from the device to the host."""
        args = (self._device_pool, host_indices, device_indices, io_backend)
        if isinstance(self._host, pool_host.HostPoolGroup):
            sides = self._transfers(host_indices, device_indices)
            self._host.backup_from_device_all_layer(*args, sides)
        else:
            self._host.backup_from_device_all_layer(*args)

    def load(
        self, layer: int, host_indices: torch.Tensor, device_indices: torch.Tensor, io_backend: str
    ) -> None:
        """Copy one layer, local and counted from 0, from the host to the device."""
        args = (self._device_pool, host_indices, device_indices)
        if isinstance(self._host, pool_host.HostPoolGroup):
            sides = self._transfers(host_indices, device_indices)
            of_model = self._device_pool.start_layer + layer  # the entries map it to their own
            self._host.load_to_device_per_layer(*args, of_model, io_backend, sides)
        else:
            self._host.load_to_device_per_layer(*args, layer, io_backend)

    def moved(
        self, host: Sequence[int], device: Sequence[int] | None = None, io_backend: str = ""
    ) -> Moved:
        """Give what it takes to move pages between the tiers, or to or from storage.

        `host` and `device` are pages in the order of the transfer. Storage, without `device`, is
        handed each page by itself.
        """
        pages = len(host)
        if device is None:
            return Moved(pages, count_runs(host), pages, pages * self.page_bytes)
        runs = count_runs(host, device)
        copies = 0
        for pool in self._pools:
            for layout, _ in pool.buffers.parts:
                if not layout.row_bytes:
                    continue
                # Elsewhere a layer's rows of one page do not touch those of the next.
                in_stretches = layout.name == "layer_first" or layout.layers == 1
                by_run = runs if in_stretches else pages
                copies += layout.layers * (by_run if io_backend == "direct" else pages > 0)
        return Moved(pages, runs, copies, pages * self.page_bytes)

    def read(self, slot: int) -> torch.Tensor:
        """Copy the host page that begins at `slot`: uint8 of shape (page_bytes,), on the CPU."""
        return torch.cat([pool.get_data_page(slot).view(torch.uint8) for pool in self._pools])

    def write(self, slot: int, page: torch.Tensor) -> None:
        """Set the page that begins at `slot` from what `read` gave, maybe of another pool.

        `page` is uint8 of shape (page_bytes,). Raises `SlotError` where `slot` begins no page.
        """
        sizes = [pool.page_numel * pool.page_dtype.itemsize for pool in self._pools]
        for pool, part in zip(self._pools, page.split(sizes), strict=True):
            rows = part.clone().view(pool.page_dtype)  # a part may start where its dtype may not
            pool.set_from_flat_data_page(slot, rows, pool.storage_format_tag)

    def stretches(self, slot: int) -> list[tuple[int, int]]:
        """Give address and bytes of each stretch of memory that holds the page at `slot`.

        One after another they are what `read` gives.
        """
        page = slot // self.page_size
        found: list[tuple[int, int]] = []
        for pool in self._pools:
            for layout, buffer in pool.buffers.parts:
                found += [(at, size) for at, size in layout.page_meta(buffer, page) if size]
        return found

    def buffers(self) -> list[torch.Tensor]:
        """Give every buffer that holds pages, for storage that must know its memory before."""
        return [buffer for pool in self._pools for buffer in pool.get_hybrid_pool_buffer()]

    def _transfers(
        self, host_indices: torch.Tensor, device_indices: torch.Tensor
    ) -> list[pool_host.group.PoolTransfer]:
        return [
            pool_host.group.PoolTransfer(name, host_indices, device_indices) for name in self._sides
        ]
