"""The host pool for the states of recurrent layers."""

from __future__ import annotations

import logging
import math
from typing import Any, Protocol

import torch

from pool_host.base import _PAGE_MAJOR_LAYOUTS, HostKVCache
from pool_host.buffers import BufferLayout, HostBuffers
from pool_host.common import check_choice, check_int

logger = logging.getLogger(__name__)


class MambaCache(Protocol):
    """The states that a Mamba device pool keeps: tensors (layers, slots, *shape)."""

    conv: list[torch.Tensor]
    temporal: torch.Tensor


class MambaDevicePool(Protocol):
    """A device pool of recurrent states: a slot holds what a request has come to."""

    size: int
    device: Any  # a torch.device, or the name of one
    num_mamba_layers: int

    @property
    def mamba_cache(self) -> MambaCache:
        """The states of all layers."""


class MambaPoolHost(HostKVCache):
    """States of recurrent layers: a slot is a request's state, and a page is one slot.

    Each layer has one temporal state and any number of convolution states, whose dtypes may differ;
    a model without temporal states has some of no element. `kv_buffer` lists `temporal_buffer` and
    all of `conv_buffer`. With L layers, S slots and states of the shape R, each of them is

    - layer_first: (L, S, *R), the state of slot t in layer l at [l, t]
    - page_first and page_first_direct: (S, L, 1, *R), at [t, l, 0]

    A flat page is uint8, `size_per_token` bytes: the temporal state of all layers, then each
    convolution of all layers.
    """

    pool_label = "mamba"
    device_pool: MambaDevicePool
    page_dtype = torch.uint8

    def __init__(
        self,
        device_pool: MambaDevicePool,
        host_to_device_ratio: float,
        host_size: float,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
        layout: str = "layer_first",
        *,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device_pool,
            host_to_device_ratio,
            host_size,
            1,
            layout,
            pin_memory,
            device,
            allocator_type,
            pipeline_group=pipeline_group,
        )

    def _set_device_traits(self) -> None:
        pool = self.device_pool
        self.layer_num = check_int("device_pool.num_mamba_layers", pool.num_mamba_layers, 1)
        self.dtype = pool.mamba_cache.conv[0].dtype
        self.temporal_dtype = pool.mamba_cache.temporal.dtype
        self.start_layer = getattr(pool, "start_layer", 0)
        self.end_layer = self.start_layer + self.layer_num

    def get_size_per_token(self) -> int:
        """Give the bytes of one request's states, all layers."""
        states = self._states(self.device_pool)
        return sum(math.prod(state.shape[2:]) * state.itemsize for state in states) * self.layer_num

    def init_kv_buffer(self) -> list[torch.Tensor]:
        """Allocate a buffer for the temporal states and one for each convolution."""
        name = "layer_first" if self.layout == "layer_first" else "page_first_direct"
        parts = []
        for state in self._states(self.device_pool):
            row = tuple(state.shape[2:])
            layout = BufferLayout(name, self.layer_num, self.page_num, 1, row, state.dtype)
            parts.append((layout, self.memory.allocate(layout.dims(), state.dtype)))
        self.buffers = HostBuffers(*parts)
        logger.info("States of %d layers: %s", self.layer_num, self.buffers.describe())
        self.temporal_buffer, *self.conv_buffer = (buffer for _, buffer in parts)
        return [self.temporal_buffer, *self.conv_buffer]

    @staticmethod
    def _states(device_pool: Any) -> list[torch.Tensor]:
        cache = device_pool.mamba_cache
        return [cache.temporal, *cache.conv]

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [state[layer] for state in self._states(device_pool)]

    def get_page_buffer_meta(self, indices: torch.Tensor) -> tuple[list[int], list[int]]:
        """Give address and size of each slot's temporal state, then its convolutions.

        The layout layer_first does not keep a slot's states together.
        """
        check_choice("layout for page buffers", self.layout, _PAGE_MAJOR_LAYOUTS)
        return super().get_page_buffer_meta(indices)
