"""Slots without memory: the pool that anchors caches whose rows all lie elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pool_host.base import _PAGE_MAJOR_LAYOUTS
from pool_host.buffers import check_page_start
from pool_host.common import check_choice, check_tensor
from pool_host.slot_pool import HostSlotPool


class LogicalHostPool(HostSlotPool):
    """Slots without memory, for caches whose rows lie in side pools alone.

    It anchors a group: its slots say which pages of the side pools belong together.
    """

    def __init__(self, size: int, page_size: int, layout: str = "layer_first") -> None:
        check_choice("layout", layout, ("layer_first", *_PAGE_MAJOR_LAYOUTS))
        super().__init__(size, page_size, layout)

    def load_to_device_per_layer(self, *args: Any, **options: Any) -> None:
        """Do nothing: there are no rows."""

    def backup_from_device_all_layer(self, *args: Any, **options: Any) -> None:
        """Do nothing: there are no rows."""

    def plan_load(self, *args: Any, **options: Any) -> list[Callable[[], None]]:
        """Give no copies: there are no rows."""
        return []

    def plan_backup(self, *args: Any, **options: Any) -> list[Callable[[], None]]:
        """Give no copies: there are no rows."""
        return []

    def get_data_page(self, index: int | torch.Tensor, flat: bool = True) -> torch.Tensor:
        """Give an empty page."""
        self._check_alive()
        check_page_start("index", index, self.size, self.page_size)
        return torch.empty(0, dtype=torch.uint8)

    def get_dummy_flat_data_page(self) -> torch.Tensor:
        """Give an empty page."""
        return torch.empty(0, dtype=torch.uint8)

    def set_from_flat_data_page(
        self, index: int | torch.Tensor, data_page: torch.Tensor, format_tag: str | None = None
    ) -> None:
        """Do nothing with an empty page; another is refused."""
        self._check_alive()
        check_page_start("index", index, self.size, self.page_size)
        if check_tensor("data_page", data_page, (torch.uint8,), 1).numel():
            raise ValueError(f"data_page must be empty, not of {data_page.numel()} bytes")

    def get_page_buffer_meta(self, indices: torch.Tensor) -> None:
        """Give None: no memory holds a page."""

    def get_hybrid_pool_buffer(self) -> list[torch.Tensor]:
        """Give no buffer."""
        return []

    def is_stride_page_aligned(self, page_size_bytes: int = 4096) -> bool:
        """Say no: there are no pages in memory."""
        return False
