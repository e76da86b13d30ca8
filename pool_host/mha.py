"""Host pools for the keys and values of multi-head attention."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import torch

from pool_host.base import _PAGE_MAJOR_LAYOUTS, HostKVCache, SharedSlotPool
from pool_host.buffers import BufferLayout, DevicePool, HostBuffers, device_rows
from pool_host.common import check_choice, check_int
from pool_host.hisparse import HiSparseHostPoolMixin
from pool_host.slot_pool import HostSlotPool

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None


class MHADevicePool(DevicePool, Protocol):
    """A device pool of keys and values: rows (head_num, head_dim), in one buffer a layer each."""

    layer_num: int
    head_num: int
    head_dim: int
    k_buffer: list[torch.Tensor]
    v_buffer: list[torch.Tensor]


class MHATokenToKVPoolHost(HostKVCache):
    """Keys and values of multi-head attention, of one head size.

    `kv_buffer` is one tensor whose first dimension parts keys from values; `k_buffer` and
    `v_buffer` are its halves. With L layers, S slots, P pages of ps slots, H heads of D elements:

    - layer_first: (2, L, S, H, D), token t of layer l at [:, l, t]
    - page_first: (2, S, L, H, D), at [:, t, l]
    - page_first_direct: (2, P, L, ps, H, D), at [:, t // ps, l, t % ps]
    - page_head: (2, P, H, ps, L, D), at [:, t // ps, :, t % ps, l]

    `k_data_refs` and `v_data_refs` view each layer as (P, ps, H, D). Where a GPU can reach host
    memory, `k_data_ptrs` and `v_data_ptrs` are the layers' addresses, on the device.

    A flat page has 2 * L * ps * H * D elements, keys before values. `size_per_token` and
    `layout_dim` are bytes of all layers, `token_stride_size` bytes of one; the latter two count
    keys alone.
    """

    layouts = ("layer_first", "page_first", "page_first_direct", "page_head")
    io_layouts: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kernel": ("layer_first", "page_first", "page_head"),
        "direct": ("layer_first", "page_first_direct"),
    }
    device_pool: MHADevicePool
    k_buffer: torch.Tensor
    v_buffer: torch.Tensor
    k_data_ptrs: torch.Tensor | None = None
    v_data_ptrs: torch.Tensor | None = None

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.head_num, self.head_dim = pool.head_num, pool.head_dim
        if getattr(pool, "v_head_dim", self.head_dim) != self.head_dim:
            raise ValueError(
                "device_pool has another v_head_dim than head_dim: take "
                "AsymmetricMHATokenToKVPoolHost"
            )
        self.layer_num = pool.layer_num
        self.token_stride_size = self.head_num * self.head_dim * self.dtype.itemsize
        self.layout_dim = self.token_stride_size * self.layer_num
        return self.layout_dim * 2

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        return self.get_size_per_token() // 2

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate keys and values in one tensor."""
        row = (self.head_num, self.head_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        kv_buffer = self.memory.allocate((2, *layout.dims()), self.dtype)
        self.k_buffer, self.v_buffer = kv_buffer.unbind(0)
        self.buffers = HostBuffers((layout, self.k_buffer), (layout, self.v_buffer))
        self.k_data_refs = self.buffers.layer_views(0)
        self.v_data_refs = self.buffers.layer_views(1)
        if _is_cuda or _is_hip:
            self.k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
            self.v_data_ptrs = self.buffers.layer_addresses(1, self.device_pool.device)
        logger.info("Keys and values of %d layers: %s", self.layer_num, self.buffers.describe())
        return kv_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, name, layer) for name in ("k_buffer", "v_buffer")]

    def get_split_heads_page_buffer_meta(
        self, indices: torch.Tensor, split_factor: int
    ) -> tuple[list[int], list[int]]:
        """Give address and size of the pages' heads in `split_factor` groups.

        Page by page and group by group, keys then values. Only the layout page_head keeps the heads
        of a page together.
        """
        check_choice("layout for split heads", self.layout, ("page_head",))
        split_factor = check_int("split_factor", split_factor, 1)
        if self.head_num % split_factor:
            raise ValueError(f"split_factor must divide {self.head_num} heads, not {split_factor}")
        pages, sizes = self.get_page_buffer_meta(indices)
        addresses = [
            address + group * (sizes[0] // split_factor)
            for pair in zip(pages[::2], pages[1::2], strict=True)
            for group in range(split_factor)
            for address in pair
        ]
        return addresses, [size // split_factor for size in sizes for _ in range(split_factor)]


class MHATokenToKOnlyPoolHost(SharedSlotPool):
    """Keys alone, such as those by which sparse attention chooses tokens, beside an anchor pool.

    `anchor_host` gives slots, pages and their number. With L layers, S slots, P pages of ps slots,
    H heads of D elements, `kv_buffer`, also `k_buffer`, is

    - layer_first: (L, S, H, D), token t of layer l at [l, t]
    - page_first: (S, L, H, D), at [t, l]
    - page_first_direct: (P, L, ps, H, D), at [t // ps, l, t % ps]

    A flat page has L * ps * H * D elements.
    """

    pool_label = "k_only"
    k_data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: MHADevicePool,
        anchor_host: HostSlotPool,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
    ) -> None:
        self._set_options(layout, pin_memory, device)
        self.device_pool = device_pool
        with self._reading("device_pool"):
            self.dtype, device_type = device_pool.store_dtype, device_pool.device
            self.start_layer, self.end_layer = device_pool.start_layer, device_pool.end_layer
            self.layer_num = device_pool.layer_num
            self.head_num, self.head_dim = device_pool.head_num, device_pool.head_dim
        self.size_per_token = self.get_ksize_per_token()
        with self._reading("anchor_host"):
            size, page_size = anchor_host.size, anchor_host.page_size
        requested = size * self.size_per_token
        super().__init__(size, page_size, requested, device_type, allocator_type)

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        self.token_stride_size = self.head_num * self.head_dim * self.dtype.itemsize
        return self.token_stride_size * self.layer_num

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the keys."""
        row = (self.head_num, self.head_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        self.k_buffer = self.memory.allocate(layout.dims(), self.dtype)
        self.buffers = HostBuffers((layout, self.k_buffer))
        self.k_data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        return self.k_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "k_buffer", layer)]


class AsymmetricMHADevicePool(MHADevicePool, Protocol):
    """A device pool whose values are of another head size than its keys."""

    v_head_dim: int


class AsymmetricMHATokenToKVPoolHost(HostKVCache):
    """Keys and values of multi-head attention whose head sizes differ.

    `k_buffer` and `v_buffer` are two tensors, which `kv_buffer` lists. With L layers, S slots, P
    pages of ps slots, H heads of D elements, D another for keys than for values, each is

    - page_first: (S, L, H, D), token t of layer l at [t, l]
    - page_first_direct: (P, L, ps, H, D), at [t // ps, l, t % ps]

    A flat page holds the keys' page, then the values'; page buffers alternate likewise, each with a
    size of its own.
    """

    layouts = _PAGE_MAJOR_LAYOUTS
    io_layouts: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kernel": ("page_first",),
        "direct": ("page_first_direct",),
    }
    device_pool: AsymmetricMHADevicePool
    k_buffer: torch.Tensor
    v_buffer: torch.Tensor

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.head_num, self.layer_num = pool.head_num, pool.layer_num
        self.head_dim, self.v_head_dim = pool.head_dim, pool.v_head_dim
        width = self.head_dim + self.v_head_dim
        return self.head_num * width * self.dtype.itemsize * self.layer_num

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        return self.head_num * self.head_dim * self.dtype.itemsize * self.layer_num

    def init_kv_buffer(self) -> list[torch.Tensor]:
        """Allocate keys and values in two tensors."""
        parts = []
        for dim in (self.head_dim, self.v_head_dim):
            row = (self.head_num, dim)
            layout = BufferLayout(
                self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
            )
            parts.append((layout, self.memory.allocate(layout.dims(), self.dtype)))
        self.buffers = HostBuffers(*parts)
        self.k_buffer, self.v_buffer = (buffer for _, buffer in parts)
        return [self.k_buffer, self.v_buffer]

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, name, layer) for name in ("k_buffer", "v_buffer")]


class HiSparseMHATokenToKVPoolHost(HiSparseHostPoolMixin, MHATokenToKVPoolHost):
    """Keys and values of sparse attention that keeps whole requests on the host."""


def get_mha_host_pool_cls(
    device_pool: MHADevicePool,
) -> type[MHATokenToKVPoolHost] | type[AsymmetricMHATokenToKVPoolHost]:
    """Give the class of host pool for a device pool of keys and values."""
    if getattr(device_pool, "v_head_dim", device_pool.head_dim) != device_pool.head_dim:
        return AsymmetricMHATokenToKVPoolHost
    return MHATokenToKVPoolHost
