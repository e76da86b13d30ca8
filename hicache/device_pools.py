"""Keys and values on the device: a pool for each family of models, and the allocator of its pages.

Rows 0 to page_size - 1 of every buffer take what padded tokens write; slots that are handed out
begin behind them, so every buffer has size + page_size rows. Layers are named globally here
(start_layer to end_layer - 1), as a model names them; buffers are indexed from 0.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hicache.pages import pages_of
from hicache.transfers import LayerDoneCounter
from pool_host.slot_allocator import SlotAllocator
from pool_host.slot_pool import giving, synchronized
from pool_host.statistics import AllocatorStats

_LARGEST_FP8 = torch.finfo(torch.float8_e4m3fn).max
_STORED_AS_BYTES = (torch.float8_e4m3fn, torch.float8_e5m2)  # few kernels copy them as they are


class KVCache(ABC):
    """What all device pools have: geometry, dtypes, and the wait for layers that are being loaded.

    `dtype` is what the model computes with, `store_dtype` what the buffers hold. `size` is in
    slots. Raises `ValueError` for a size that is no whole number of pages, or nothing.
    """

    def __init__(
        self,
        size: int,
        page_size: int,
        dtype: torch.dtype,
        layer_num: int,
        device: str,
        *,
        start_layer: int = 0,
    ) -> None:
        for name, value in (("size", size), ("page_size", page_size), ("layer_num", layer_num)):
            if value <= 0:
                raise ValueError(f"{name}: expected a positive number, got {value}")
        if size % page_size:
            raise ValueError(f"size: expected a multiple of page_size {page_size}, got {size}")
        if start_layer < 0:
            raise ValueError(f"start_layer: expected 0 or more, got {start_layer}")
        self.size = size
        self.page_size = page_size
        self.dtype = dtype
        self.store_dtype = torch.uint8 if dtype in _STORED_AS_BYTES else dtype
        self.layer_num = layer_num
        self.start_layer = start_layer
        self.end_layer = start_layer + layer_num
        self.device = device
        self.layer_transfer_counter: LayerDoneCounter | None = None

    def register_layer_transfer_counter(self, counter: LayerDoneCounter | None) -> None:
        """Make every read of a layer wait until `counter` has it."""
        self.layer_transfer_counter = counter

    @abstractmethod
    def get_key_buffer(self, layer_id: int) -> torch.Tensor:
        """Give a layer's keys as `dtype`, once they are loaded: a view, rows by slot.

        Raises `IndexError` for a layer that is not here, `TransferError` where its load failed.
        """

    @abstractmethod
    def get_value_buffer(self, layer_id: int) -> torch.Tensor:
        """Give a layer's values as `dtype`, once they are loaded: a view, rows by slot.

        Raises what `get_key_buffer` does.
        """

    def _layer(self, layer_id: int, *, wait: bool) -> int:
        """Give the place of a layer's buffer, after its loads if the layer is to be read."""
        layer = layer_id - self.start_layer
        if not 0 <= layer < self.layer_num:
            raise IndexError(
                f"layer_id: expected {self.start_layer} to {self.end_layer - 1}, got {layer_id}"
            )
        if wait and self.layer_transfer_counter is not None:
            self.layer_transfer_counter.wait_until(layer)
        return layer

    def _buffers(self, *shape: int, dtype: torch.dtype | None = None) -> list[torch.Tensor]:
        """Make one buffer of zeros for each layer."""
        kind = dtype or self.store_dtype
        return [torch.zeros(shape, dtype=kind, device=self.device) for _ in range(self.layer_num)]

    def _stored(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.to(self.device, self.dtype).view(self.store_dtype)


class MHATokenToKVPool(KVCache):
    """Keys (size + page_size, head_num, head_dim) and values (..., v_head_dim) of each layer."""

    def __init__(
        self,
        size: int,
        page_size: int,
        dtype: torch.dtype,
        head_num: int,
        head_dim: int,
        layer_num: int,
        device: str = "cpu",
        *,
        v_head_dim: int | None = None,
        start_layer: int = 0,
    ) -> None:
        super().__init__(size, page_size, dtype, layer_num, device, start_layer=start_layer)
        self.head_num = head_num
        self.head_dim = head_dim
        self.v_head_dim = head_dim if v_head_dim is None else v_head_dim
        rows = size + page_size
        self.k_buffer = self._buffers(rows, head_num, self.head_dim)
        self.v_buffer = self._buffers(rows, head_num, self.v_head_dim)
        self.k_data_ptrs = _addresses(self.k_buffer)
        self.v_data_ptrs = _addresses(self.v_buffer)
        self.data_ptrs = torch.cat([self.k_data_ptrs, self.v_data_ptrs])

    def get_key_buffer(self, layer_id: int) -> torch.Tensor:
        """Give a layer's keys (size + page_size, head_num, head_dim) as `dtype`, loaded."""
        return self.k_buffer[self._layer(layer_id, wait=True)].view(self.dtype)

    def get_value_buffer(self, layer_id: int) -> torch.Tensor:
        """Give a layer's values (size + page_size, head_num, v_head_dim) as `dtype`, loaded."""
        return self.v_buffer[self._layer(layer_id, wait=True)].view(self.dtype)

    def set_kv_buffer(
        self, layer_id: int, loc: torch.Tensor, cache_k: torch.Tensor, cache_v: torch.Tensor
    ) -> None:
        """Write rows (len(loc), head_num, head dim) of a layer into the slots `loc`.

        `loc` is an int64 vector; the rows are of any dtype and come to the pool's. Raises
        `IndexError` for a layer that is not here.
        """
        layer = self._layer(layer_id, wait=False)
        self.k_buffer[layer][loc] = self._stored(cache_k)
        self.v_buffer[layer][loc] = self._stored(cache_v)


class MLATokenToKVPool(KVCache):
    """Latent rows (size + page_size, 1, kv_lora_rank + qk_rope_head_dim) of each layer."""

    def __init__(
        self,
        size: int,
        page_size: int,
        dtype: torch.dtype,
        kv_lora_rank: int,
        qk_rope_head_dim: int,
        layer_num: int,
        device: str = "cpu",
        *,
        start_layer: int = 0,
    ) -> None:
        super().__init__(size, page_size, dtype, layer_num, device, start_layer=start_layer)
        self.kv_lora_rank = kv_lora_rank
        self.qk_rope_head_dim = qk_rope_head_dim
        self.kv_cache_dim = kv_lora_rank + qk_rope_head_dim
        self.kv_buffer = self._buffers(size + page_size, 1, self.kv_cache_dim)
        self.data_ptrs = _addresses(self.kv_buffer)

    def get_key_buffer(self, layer_id: int) -> torch.Tensor:
        """Give a layer's rows (size + page_size, 1, kv_cache_dim) as `dtype`, once loaded."""
        return self.kv_buffer[self._layer(layer_id, wait=True)].view(self.dtype)

    def get_value_buffer(self, layer_id: int) -> torch.Tensor:
        """Give the latent part (size + page_size, 1, kv_lora_rank) of rows, once loaded."""
        return self.get_key_buffer(layer_id)[..., : self.kv_lora_rank]

    def set_kv_buffer(self, layer_id: int, loc: torch.Tensor, cache_k: torch.Tensor) -> None:
        """Write rows (len(loc), 1, kv_cache_dim) of a layer into the slots `loc`, an int64 vector.

        Raises `IndexError` for a layer that is not here.
        """
        self.kv_buffer[self._layer(layer_id, wait=False)][loc] = self._stored(cache_k)


class DSATokenToKVPool(MLATokenToKVPool):
    """MLA rows and, for sparse attention, an indexer's keys with their scales.

    A layer's `index_k_with_scale_buffer` has a row of bytes for each page, the padded one included:
    page_size keys of index_head_dim bytes, then four bytes of scale for each quant_block_size of
    them: the layout of SGLang's buffer of that name (0.5.18). Raises `ValueError` for an
    `index_head_dim` that is no whole number of blocks.
    """

    quant_block_size = 128

    def __init__(
        self,
        size: int,
        page_size: int,
        dtype: torch.dtype,
        kv_lora_rank: int,
        qk_rope_head_dim: int,
        layer_num: int,
        device: str = "cpu",
        *,
        index_head_dim: int = 128,
        start_layer: int = 0,
    ) -> None:
        super().__init__(
            size,
            page_size,
            dtype,
            kv_lora_rank,
            qk_rope_head_dim,
            layer_num,
            device,
            start_layer=start_layer,
        )
        if index_head_dim <= 0 or index_head_dim % self.quant_block_size:
            raise ValueError(
                f"index_head_dim: expected a multiple of {self.quant_block_size}, "
                f"got {index_head_dim}"
            )
        self.index_head_dim = index_head_dim
        row = page_size * (index_head_dim + index_head_dim // self.quant_block_size * 4)
        self.index_k_with_scale_buffer = self._buffers(
            size // page_size + 1, row, dtype=torch.uint8
        )

    def set_index_k(self, layer_id: int, loc: torch.Tensor, index_k: torch.Tensor) -> None:
        """Write the indexer's keys (len(loc), index_head_dim) of a layer, as fp8 with scales.

        A scale is the largest magnitude of a block of keys over fp8's, at least 1e-12. Raises
        `IndexError` for a layer that is not here.
        """
        keys, scales = self._index_parts(self._layer(layer_id, wait=False))
        blocks = index_k.unflatten(1, (-1, self.quant_block_size))
        scale = (blocks.abs().amax(2) / _LARGEST_FP8).clamp_min(1e-12).float()
        page, offset = loc // self.page_size, loc % self.page_size
        quantized = (blocks / scale[..., None]).to(torch.float8_e4m3fn)
        keys[page, offset] = quantized.view(torch.uint8).flatten(1)
        scales[page, offset] = scale.view(torch.uint8)

    def get_index_k(self, layer_id: int, loc: torch.Tensor) -> torch.Tensor:
        """Give the indexer's keys (len(loc), index_head_dim) at `loc` as float32, once loaded."""
        keys, scales = self._index_parts(self._layer(layer_id, wait=True))
        page, offset = loc // self.page_size, loc % self.page_size
        blocks = keys[page, offset].unflatten(1, (-1, self.quant_block_size))
        scale = scales[page, offset].view(torch.float32)
        index_k: torch.Tensor = blocks.view(torch.float8_e4m3fn).float() * scale[..., None]
        return index_k.flatten(1)

    def _index_parts(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """View a layer's keys as (pages, page_size, bytes), and its scales likewise."""
        pages = self.index_k_with_scale_buffer[layer]
        split = self.page_size * self.index_head_dim
        of_page = (self.page_size, -1)
        return pages[:, :split].unflatten(1, of_page), pages[:, split:].unflatten(1, of_page)


@dataclass(slots=True)
class MambaState:
    """States of all layers: `conv` (layers, size + 1, *shape) each, `temporal` likewise."""

    conv: list[torch.Tensor]
    temporal: torch.Tensor


class MambaPool:
    """Recurrent states: a slot is one request, so a page is one slot.

    `conv_shapes` and `temporal_shape` are those of one slot's states in one layer. Slot 0 takes
    what pads. Raises `ValueError` unless `size` and `num_mamba_layers` are positive.
    """

    def __init__(
        self,
        size: int,
        num_mamba_layers: int,
        conv_shapes: Sequence[tuple[int, ...]],
        temporal_shape: tuple[int, ...],
        dtype: torch.dtype,
        temporal_dtype: torch.dtype,
        device: str = "cpu",
    ) -> None:
        if size <= 0 or num_mamba_layers <= 0:
            raise ValueError(
                f"size, num_mamba_layers: expected positive numbers, got {size}, {num_mamba_layers}"
            )
        self.size = size
        self.page_size = 1
        self.dtype = self.store_dtype = dtype
        self.num_mamba_layers = self.layer_num = num_mamba_layers
        self.start_layer = 0
        self.end_layer = num_mamba_layers
        self.device = device
        head = (num_mamba_layers, size + 1)
        self.mamba_cache = MambaState(
            [torch.zeros((*head, *shape), dtype=dtype, device=device) for shape in conv_shapes],
            torch.zeros((*head, *temporal_shape), dtype=temporal_dtype, device=device),
        )


class PagedTokenToKVPoolAllocator:
    """Hands out whole pages of a device pool, in as few runs as there can be.

    Runs matter to transfers: a page that follows the one before it on both tiers goes in the same
    copy. Safe to call from several threads. What is refused raises `ValueError` and changes
    nothing; a call that is interrupted, at whatever line, has not happened.
    """

    def __init__(self, kvcache: KVCache) -> None:
        self._kvcache = kvcache
        self.size = kvcache.size
        self.page_size = kvcache.page_size
        self.lock = threading.RLock()
        # Its page p is page p + 1 of the pool, whose page 0 takes what pads.
        self._slots = SlotAllocator(self.page_size, self.size // self.page_size)

    def get_kvcache(self) -> KVCache:
        """Give the pool whose pages these are."""
        return self._kvcache

    @synchronized
    def clear(self) -> None:
        """Take every page back, whoever holds it."""
        self._slots.clear(self.size // self.page_size)

    @synchronized
    def available_size(self) -> int:
        """Give how many slots are free, those of whole pages."""
        return self._slots.free_pages * self.page_size

    @synchronized
    def stats(self) -> AllocatorStats:
        """Give what was done so far, and how the free pages lie."""
        return self._slots.stats()

    @giving
    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give `need_size` slots, page by page: int64, on the CPU. None if fewer are free.

        Raises `ValueError` for a negative number or no whole number of pages.
        """
        if need_size < 0 or need_size % self.page_size:
            raise ValueError(
                f"need_size: expected a multiple of {self.page_size}, 0 or more, got {need_size}"
            )
        slots = self._slots.give_out(need_size // self.page_size)
        return None if slots is None else slots.add_(self.page_size)

    @synchronized
    def free(self, free_index: torch.Tensor) -> None:
        """Take whole pages back: slots, an int64 vector on any device, each page in its order.

        Raises `ValueError`, and takes nothing, for what is not a page in use, or is there twice.
        """
        if self._in_use(free_index, "free_index"):
            self._slots.free(free_index.cpu() - self.page_size)

    @synchronized
    def check_in_use(self, slots: torch.Tensor, argument: str) -> list[int]:
        """Give the pages that `slots` are, counted from the padded one, which is 0.

        Raises `ValueError`, naming `argument`, for slots that are no whole pages in use.
        """
        return self._in_use(slots, argument)

    def _in_use(self, slots: torch.Tensor, argument: str) -> list[int]:
        pages = pages_of(slots, self.page_size, argument)
        found = np.array(pages, dtype=np.int64)
        unknown = found[~self._slots.are_in_use(found - 1)]
        if unknown.size:
            raise ValueError(f"{argument}: expected pages in use, got {unknown.tolist()}")
        return pages


def _addresses(buffers: list[torch.Tensor]) -> torch.Tensor:
    pointers = [buffer.data_ptr() for buffer in buffers]
    return torch.tensor(pointers, dtype=torch.uint64, device=buffers[0].device)
