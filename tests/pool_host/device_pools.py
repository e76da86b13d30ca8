"""Small device pools, with another value in every element."""

from __future__ import annotations

from typing import Any

import torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def numbered(shape: tuple[int, ...], dtype: torch.dtype, start: int) -> torch.Tensor:
    """Fill a tensor so that no two elements, or in bytes no two groups of four, are the same."""
    count = torch.Size(shape).numel()
    if dtype.itemsize == 1:
        words = torch.arange(start, start + -(-count // 4), dtype=torch.int32)
        return words.view(torch.uint8)[:count].view(dtype).view(shape)
    integer = torch.int16 if dtype.itemsize == 2 else torch.int32
    numbers = torch.arange(start, start + count, dtype=torch.int64)
    return numbers.to(integer).view(dtype).view(shape)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Compare bytes: a value that is not a number equals itself."""
    return left.shape == right.shape and raw(left) == raw(right)


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


class DevicePool:
    """What all device pools have; `page_size` spare rows pad the slots."""

    def __init__(
        self,
        *,
        size: int,
        page_size: int,
        layer_num: int = 3,
        start_layer: int = 2,
        dtype: torch.dtype = torch.float16,
        device: str = "cpu",
    ) -> None:
        self.size = size
        self.page_size = page_size
        self.store_dtype = dtype
        self.layer_num = layer_num
        self.start_layer = start_layer
        self.end_layer = start_layer + layer_num
        self.device = torch.device(device)
        self._filled = 0

    def layers(self, *row: int) -> list[torch.Tensor]:
        shape = (self.size + self.page_size, *row)
        return [self.filled(shape, self.store_dtype) for _ in range(self.layer_num)]

    def filled(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        tensor = numbered(shape, dtype, 1 + self._filled)
        self._filled += tensor.numel()
        return tensor.to(self.device)


class MHAPool(DevicePool):
    def __init__(
        self,
        *,
        head_num: int = 2,
        head_dim: int = 4,
        v_head_dim: int | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(**geometry)
        self.head_num = head_num
        self.head_dim = head_dim
        self.v_head_dim = v_head_dim or head_dim
        self.k_buffer = self.layers(head_num, head_dim)
        self.v_buffer = self.layers(head_num, self.v_head_dim)


class MLAPool(DevicePool):
    """Latent rows, of `packed` elements where that is given, and an indexer's keys beside them."""

    def __init__(self, *, packed: int | None = None, **geometry: Any) -> None:
        super().__init__(**geometry)
        self.kv_lora_rank = 12
        self.qk_rope_head_dim = 4
        self.kv_buffer = self.layers(1, packed or 16)
        self.index_head_dim = 128
        self.quant_block_size = 128
        shape = (self.size // self.page_size + 1, 132 * self.page_size)
        self.index_k_with_scale_buffer = [
            self.filled(shape, torch.uint8) for _ in range(self.layer_num)
        ]


class MambaStates:
    def __init__(self, conv: list[torch.Tensor], temporal: torch.Tensor) -> None:
        self.conv = conv
        self.temporal = temporal


class MambaPool:
    """States of recurrent layers: two convolutions, and a temporal state in float32."""

    def __init__(
        self,
        *,
        size: int,
        layer_num: int = 3,
        dtype: torch.dtype = torch.float16,
        temporal: tuple[int, ...] = (2, 4),
        device: str = "cpu",
    ) -> None:
        self.size = size
        self.num_mamba_layers = layer_num
        self.device = torch.device(device)
        shapes = [(layer_num, size + 1, 4, 6), (layer_num, size + 1, 8)]
        conv = [numbered(shape, dtype, 1 + 9000 * n) for n, shape in enumerate(shapes)]
        state = numbered((layer_num, size + 1, *temporal), torch.float32, 20000)
        self.mamba_cache = MambaStates([part.to(device) for part in conv], state.to(device))


class StatePool:
    """A layer's compressor states: `ring_size` of them a page."""

    def __init__(self, pages: int, start: int, device: str = "cpu") -> None:
        self.ring_size = 4
        self.state_buffer = numbered((pages * 4, 2, 3), torch.float32, start).to(device)
