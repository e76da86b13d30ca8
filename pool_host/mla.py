"""The host pool for the rows of multi-head latent attention."""

from __future__ import annotations

import logging
from typing import Any, Protocol

import torch

from pool_host.base import HostKVCache
from pool_host.buffers import BufferLayout, DevicePool, HostBuffers, device_rows
from pool_host.common import check_choice, check_int
from pool_host.hisparse import HiSparseHostPoolMixin

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None


class MLADevicePool(DevicePool, Protocol):
    """A device pool of latent attention: rows (1, kv_cache_dim), keys and values in one."""

    layer_num: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    kv_buffer: list[torch.Tensor]


class MLATokenToKVPoolHost(HiSparseHostPoolMixin, HostKVCache):
    """Latent rows of multi-head latent attention, keys and values in one.

    A row has C = kv_lora_rank + qk_rope_head_dim elements, or `override_kv_cache_dim` where the
    device packs something else into it, such as fp8 values with their scales and positions. With L
    layers, S slots and P pages of ps slots, `kv_buffer` is

    - layer_first: (L, S, 1, C), token t of layer l at [l, t]
    - page_first: (S, L, 1, C), at [t, l]
    - page_first_direct: (P, L, ps, 1, C), at [t // ps, l, t % ps]

    `data_refs` views each layer as (P, ps, 1, C). Where a GPU can reach host memory, `data_ptrs`
    are the layers' addresses, on the device.

    A flat page has L * ps * C elements. `size_per_token` and `layout_dim` are bytes of all layers,
    `token_stride_size` bytes of one.
    """

    device_pool: MLADevicePool
    data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: MLADevicePool,
        host_to_device_ratio: float,
        host_size: float,
        page_size: int,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
        override_kv_cache_dim: int | None = None,
        *,
        pool_label: str | None = None,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        if override_kv_cache_dim is not None:
            check_int("override_kv_cache_dim", override_kv_cache_dim, 1)
        self.override_kv_cache_dim = override_kv_cache_dim
        super().__init__(
            device_pool,
            host_to_device_ratio,
            host_size,
            page_size,
            layout,
            pin_memory,
            device,
            allocator_type,
            pool_label=pool_label,
            pipeline_group=pipeline_group,
        )

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.kv_lora_rank = pool.kv_lora_rank
        self.qk_rope_head_dim = pool.qk_rope_head_dim
        self.layer_num = pool.layer_num
        self.kv_cache_dim = self.override_kv_cache_dim or self.kv_lora_rank + self.qk_rope_head_dim
        for layer in range(self.layer_num):
            width = device_rows(pool, "kv_buffer", layer).shape[-1]
            if width != self.kv_cache_dim:
                raise ValueError(
                    f"override_kv_cache_dim must be {width}, the width of device_pool's rows: "
                    f"{self.kv_cache_dim} would cut or pad them"
                )
        self.token_stride_size = self.kv_cache_dim * self.dtype.itemsize
        self.layout_dim = self.token_stride_size * self.layer_num
        return self.layout_dim

    def get_ksize_per_token(self) -> int:
        """Give the bytes that one slot needs, for keys and values are one."""
        return self.get_size_per_token()

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the one buffer."""
        row = (1, self.kv_cache_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        kv_buffer = self.memory.allocate(layout.dims(), self.dtype)
        self.buffers = HostBuffers((layout, kv_buffer))
        self.data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        logger.info("Latent rows of %d layers: %s", self.layer_num, self.buffers.describe())
        return kv_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "kv_buffer", layer)]

    def get_contiguous_buf_infos(self) -> tuple[list[int], list[int], list[int]]:
        """Give for each layer its address, its bytes, and the bytes of one page of it.

        Only the layout layer_first keeps a layer in one stretch.
        """
        self._check_alive()
        check_choice("layout for contiguous layers", self.layout, ("layer_first",))
        layers = range(self.layer_num)
        return (
            [self.kv_buffer[layer].data_ptr() for layer in layers],
            [self.kv_buffer[layer].nbytes for layer in layers],
            [self.token_stride_size * self.page_size for _ in layers],
        )
