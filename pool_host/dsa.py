"""The host pool for the indexer of DeepSeek's sparse attention."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from pool_host.mla import MLATokenToKVPoolHost

from pool_host.base import SharedSlotPool
from pool_host.buffers import BufferLayout, DevicePool, HostBuffers, device_rows

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None


class DSADevicePool(DevicePool, Protocol):
    """A device pool whose indexer has keys with scales: uint8 (pages, bytes), one a layer."""

    layer_num: int
    index_head_dim: int
    quant_block_size: int
    index_k_with_scale_buffer: list[torch.Tensor]


# A scale is a float32 for each quantised block of a key.
_SCALE_BYTES = 4


class DSAIndexerPoolHost(SharedSlotPool):
    """Keys and scales by which DeepSeek's sparse attention chooses tokens, beside an MLA pool.

    `anchor_host` gives slots, pages and their number. A row is a page of ps slots: their keys, then
    their scales, B = ps * (index_head_dim + index_head_dim // quant_block_size * 4) bytes. With L
    layers and P pages, `kv_buffer`, also `index_k_with_scale_buffer`, is uint8:

    - layer_first: (L, P, B), page p of layer l at [l, p]
    - page_first and page_first_direct: (P, L, 1, B), at [p, l, 0]

    `indexer_size_per_token` is the bytes of a slot in one layer, `indexer_page_stride` is B, and
    `size_per_token` the bytes of a slot in all layers. Keys that another kernel packed otherwise
    are copied as well, for nothing looks into a page.
    """

    rows_are_pages = True
    pool_label = "indexer"
    index_k_data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: DSADevicePool,
        anchor_host: MLATokenToKVPoolHost,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
    ) -> None:
        self._set_options(layout, pin_memory, device)
        self.device_pool = device_pool
        with self._reading("device_pool"):
            self.start_layer, self.end_layer = device_pool.start_layer, device_pool.end_layer
            self.layer_num, device_type = device_pool.layer_num, device_pool.device
            self.index_head_dim = device_pool.index_head_dim
            self.quant_block_size = device_pool.quant_block_size
        if self.index_head_dim % self.quant_block_size:
            raise ValueError(
                f"device_pool.index_head_dim must be whole blocks of {self.quant_block_size}, not "
                f"{self.index_head_dim}"
            )
        self.size_per_token = self.get_size_per_token()
        with self._reading("anchor_host"):
            size, page_size = anchor_host.size, anchor_host.page_size
        requested = size * self.size_per_token
        super().__init__(size, page_size, requested, device_type, allocator_type)
        self.indexer_page_num = self.page_num

    def get_size_per_token(self) -> int:
        """Give the bytes that one slot needs: a key and its scales in every layer."""
        blocks = self.index_head_dim // self.quant_block_size
        self.indexer_size_per_token = self.index_head_dim + blocks * _SCALE_BYTES
        return self.indexer_size_per_token * self.layer_num

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the pages of all layers."""
        self.indexer_page_stride = self.indexer_size_per_token * self.page_size
        name = "layer_first" if self.layout == "layer_first" else "page_first_direct"
        row = (self.indexer_page_stride,)
        layout = BufferLayout(name, self.layer_num, self.page_num, 1, row, torch.uint8)
        buffer = self.memory.allocate(layout.dims(), torch.uint8)
        self.index_k_with_scale_buffer = buffer
        self.buffers = HostBuffers((layout, buffer))
        self.index_k_data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.index_k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        logger.info("Index keys of %d layers: %s", self.layer_num, self.buffers.describe())
        return buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "index_k_with_scale_buffer", layer)]
