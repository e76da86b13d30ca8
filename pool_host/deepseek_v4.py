"""Host pools for DeepSeek V4's caches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from pool_host.buffers import SlotTransfer

from pool_host.base import HostBufferPool, SharedSlotPool
from pool_host.buffers import BufferLayout, HostBuffers
from pool_host.common import check_choice, check_int, check_tensor, round_up
from pool_host.hisparse import HiSparseHostPoolMixin
from pool_host.logical import LogicalHostPool

__all__ = [
    "DeepSeekV4PagedHostPool",
    "DeepSeekV4StateHostPool",
    "DeepSeekV4StatePool",
    "LogicalHostPool",  # here as well, since SGLang has it here
]


class _DeepSeekV4PagePool(HostBufferPool):
    """A pool whose row is a page's bytes, in whatever order a kernel packed them.

    With L layers, P pages and B = item_bytes bytes of a page in one layer, `kv_buffer` is uint8:

    - layer_first: a list of L tensors (P, B), page p at [p]
    - page_first: (P, L, B), page p of layer l at [p, l]
    - page_first_direct: (P, L, 1, B), at [p, l, 0]

    A flat page has L * B bytes. `size_per_token` is what one slot of a page comes to, rounded up.
    """

    rows_are_pages = True
    item_bytes: int
    device_buffers: list[torch.Tensor]

    def _set_up(self, num_host_pages: int, page_size: int, allocator_type: str) -> None:
        check_int("num_host_pages", num_host_pages, 1)
        self.layer_num = self.end_layer = len(self.device_buffers)
        page_bytes = self.item_bytes * self.layer_num
        self.size_per_token = round_up(page_bytes, page_size) // page_size
        device_type = self.device_buffers[0].device
        requested = num_host_pages * page_bytes
        HostBufferPool.__init__(
            self, num_host_pages * page_size, page_size, requested, device_type, allocator_type
        )

    def init_kv_buffer(self) -> torch.Tensor | list[torch.Tensor]:
        """Allocate the pages of all layers."""
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, 1, (self.item_bytes,), torch.uint8
        )
        buffer = self.memory.allocate(layout.dims(), torch.uint8)
        self.buffers = HostBuffers((layout, buffer))
        return list(buffer.unbind(0)) if self.layout == "layer_first" else buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [self.device_buffers[layer]]

    def _transfer(
        self,
        host_indices: torch.Tensor | None,
        device_indices: torch.Tensor | None,
        io_backend: str,
        pairs: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> SlotTransfer:
        # A cache that has nothing to move passes None.
        none = torch.empty(0, dtype=torch.int64)
        host_indices = none if host_indices is None else host_indices
        device_indices = none if device_indices is None else device_indices
        return super()._transfer(host_indices, device_indices, io_backend, pairs)


def _check_page_rows(name: str, buffers: Sequence[Any], item_bytes: int) -> list[torch.Tensor]:
    """Give device buffers that are uint8 (pages, item_bytes), one a layer."""
    if not buffers:
        raise ValueError(f"{name} must hold a buffer for each layer, at least one")
    for layer, buffer in enumerate(buffers):
        check_tensor(f"{name}[{layer}]", buffer, (torch.uint8,), 2)
        if buffer.shape[1] != item_bytes:
            raise ValueError(
                f"{name}[{layer}] must have rows of {item_bytes} bytes, not {buffer.shape[1]}"
            )
    return list(buffers)


class DeepSeekV4PagedHostPool(HiSparseHostPoolMixin, _DeepSeekV4PagePool):
    """Pages of one of DeepSeek V4's caches, with slots of their own.

    `device_buffers` holds a uint8 tensor (pages, item_bytes) a layer. A page has `slot_page_size`
    slots, of which only whole pages are copied: values and scales lie apart in a page.
    """

    def __init__(
        self,
        pool_name: str,
        device_buffers: Sequence[torch.Tensor],
        item_bytes: int,
        num_host_pages: int,
        slot_page_size: int,
        layout: str = "layer_first",
        device: str = "cpu",
        pin_memory: bool = True,
        allocator_type: str = "default",
    ) -> None:
        self.pool_label = self.pool_name = pool_name
        self._set_options(layout, pin_memory, device)
        self.item_bytes = check_int("item_bytes", item_bytes, 1)
        self.device_buffers = _check_page_rows("device_buffers", device_buffers, item_bytes)
        self.slot_page_size = check_int("slot_page_size", slot_page_size, 1)
        self._set_up(num_host_pages, slot_page_size, allocator_type)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give `need_size` slots, rounded up to whole pages; None if there are not so many."""
        return super().alloc(round_up(check_int("need_size", need_size, 0), self.page_size))

    def get_contiguous_buf_infos(self) -> tuple[list[int], list[int], list[int]]:
        """Give for each layer its address, its bytes, and the bytes of one page of it.

        Only the layout layer_first keeps a layer in one stretch.
        """
        self._check_alive()
        check_choice("layout for contiguous layers", self.layout, ("layer_first",))
        return (
            [layer.data_ptr() for layer in self.kv_buffer],
            [layer.nbytes for layer in self.kv_buffer],
            [self.item_bytes for _ in self.kv_buffer],
        )


class DeepSeekV4StatePool(Protocol):
    """A layer's compressor states on the device: `ring_size` slots for each page of the window.

    `state_buffer` is contiguous; its first dimension is the slot.
    """

    ring_size: int
    state_buffer: torch.Tensor


class DeepSeekV4StateHostPool(SharedSlotPool, _DeepSeekV4PagePool):
    """Compressor states of DeepSeek V4's layers, at the slots of the sliding-window pool.

    `state_pools` holds a device pool a layer, all of one shape. A page of `swa_page_size` slots
    owns ring_size states, which are its row here.
    """

    def __init__(
        self,
        pool_name: str,
        state_pools: Sequence[DeepSeekV4StatePool | None],
        num_host_pages: int,
        swa_page_size: int,
        layout: str = "layer_first",
        device: str = "cpu",
        pin_memory: bool = True,
        allocator_type: str = "default",
    ) -> None:
        self.pool_label = self.pool_name = pool_name
        self._set_options(layout, pin_memory, device)
        self.swa_page_size = check_int("swa_page_size", swa_page_size, 1)
        rows = [_state_rows(layer, pool) for layer, pool in enumerate(state_pools)]
        self.item_bytes = rows[0].shape[1] if rows else 0
        self.device_buffers = _check_page_rows("state_pools", rows, self.item_bytes)
        self._set_up(num_host_pages, swa_page_size, allocator_type)


def _state_rows(layer: int, pool: DeepSeekV4StatePool | None) -> torch.Tensor:
    """View a layer's states as uint8 (pages, bytes)."""
    if pool is None:
        raise ValueError(f"state_pools must not hold None, as for layer {layer}")
    ring_size = check_int(f"state_pools[{layer}].ring_size", pool.ring_size, 1)
    states = pool.state_buffer
    if not states.is_contiguous() or len(states) % ring_size:
        raise ValueError(
            f"state_pools[{layer}].state_buffer must be contiguous, with whole rings of "
            f"{ring_size} states, not of the shape {tuple(states.shape)}"
        )
    return states.view(torch.uint8).view(len(states) // ring_size, -1)
