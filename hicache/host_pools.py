"""Which host pool goes with a device pool, and how its rows are copied."""

from __future__ import annotations

import memory_pool_host
from hicache.device_pools import KVCache, MHATokenToKVPool, MLATokenToKVPool

LAYOUTS = ("layer_first", "page_first", "page_first_direct", "page_head")


def host_pool_for(
    device_pool: KVCache,
    *,
    ratio: float = 2.0,
    size_gb: float = 0,
    layout: str = "layer_first",
    allocator_type: str = "default",
) -> memory_pool_host.HostKVCache:
    """Make the host pool of a device pool: `ratio` times as large, or `size_gb` if that is given.

    Its memory is pinned if the device is CUDA's, whose copies need that. Raises `TypeError` for a
    device pool without a host pool, `ValueError` for a layout it has not or too little memory.
    """
    families: dict[type[KVCache], type[memory_pool_host.HostKVCache]] = {
        MHATokenToKVPool: memory_pool_host.MHATokenToKVPoolHost,
        MLATokenToKVPool: memory_pool_host.MLATokenToKVPoolHost,
    }
    family = families.get(type(device_pool))
    if family is None:
        raise TypeError(
            f"device_pool: expected one of {', '.join(kind.__name__ for kind in families)}, "
            f"got a {type(device_pool).__name__}"
        )
    return family(
        device_pool,
        ratio,
        size_gb,
        device_pool.page_size,
        layout,
        pin_memory=device_pool.device.startswith("cuda"),
        allocator_type=allocator_type,
    )


def io_backend_for(layout: str) -> str:
    """Give the io backend that copies a layout's rows: `direct` for whole pages, else `kernel`."""
    return "direct" if layout == "page_first_direct" else "kernel"
