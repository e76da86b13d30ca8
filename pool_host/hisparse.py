"""Host slots for requests of sparse attention that keep their whole context on the host."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import torch

from pool_host.common import check_int, check_tensor, round_up

logger = logging.getLogger(__name__)


class HiSparseHostPoolMixin:
    """Host slots for requests of sparse attention, which keep their whole context on the host.

    A table has a row of host slots a request, -1 where there is none yet. A request's slots are
    allocated by whole pages, in the order of its tokens.
    """

    page_size: int

    if TYPE_CHECKING:

        def alloc(self, need_size: int) -> torch.Tensor | None:
            """Give slots, as `HostSlotPool` does."""

    def _round_up_to_page_size(self, size: int) -> int:
        return round_up(size, self.page_size)

    def alloc_page(self, num_pages: int) -> torch.Tensor | None:
        """Give the slots of `num_pages` pages, or None if there are not so many."""
        return self.alloc(check_int("num_pages", num_pages, 0) * self.page_size)

    def alloc_paged_token_slots(
        self,
        req_to_host_pool: torch.Tensor,
        req_to_host_pool_allocated_len: torch.Tensor,
        req_pool_idx: int,
        start_pos: int,
        num_tokens: int,
    ) -> torch.Tensor:
        """Give the host slots of the tokens from `start_pos` on, int64, on the table's device.

        `req_to_host_pool` is the table, int64 (requests, positions), and
        `req_to_host_pool_allocated_len` how many positions of each row are filled, a multiple of
        the page size. Pages that are missing are allocated and noted in both. Raises RuntimeError
        if there are too few; then nothing is noted.
        """
        table, lengths = req_to_host_pool, req_to_host_pool_allocated_len
        row = _check_table(table, lengths, req_pool_idx)
        if check_int("num_tokens", num_tokens, -sys.maxsize) <= 0:
            return torch.empty(0, dtype=torch.int64, device=table.device)
        start_pos = check_int("start_pos", start_pos, 0)
        allocated = int(lengths[row])
        if start_pos > allocated:
            raise ValueError(f"start_pos must be at most {allocated}, what is allocated so far")
        stop = start_pos + num_tokens
        needed = self._round_up_to_page_size(stop)
        if needed > table.shape[1]:
            raise ValueError(
                f"req_to_host_pool must have {needed} positions for whole pages, not "
                f"{table.shape[1]}"
            )
        if needed > allocated:
            num_pages = (needed - allocated) // self.page_size
            slots = self.alloc_page(num_pages)
            if slots is None:
                message = f"HiSparse host mem pool alloc failed for {num_pages} pages"
                logger.error(message)
                raise RuntimeError(message)
            table[row, allocated:needed] = slots.to(table.device)
            lengths[row] = needed
        return table[row, start_pos:stop].clone()

    def allocated_host_indices(
        self, req_to_host_pool: torch.Tensor, req_pool_idx: int, allocated_len: int
    ) -> torch.Tensor:
        """Give the slots of the pages that hold a request's first `allocated_len` tokens."""
        row = _check_table(req_to_host_pool, None, req_pool_idx)
        allocated_len = check_int("allocated_len", allocated_len, 0)
        slots = req_to_host_pool[row, : self._round_up_to_page_size(allocated_len)]
        return slots[slots >= 0]


def _check_table(table: torch.Tensor, lengths: torch.Tensor | None, req_pool_idx: int) -> int:
    check_tensor("req_to_host_pool", table, (torch.int64,), 2)
    if lengths is not None:
        name = "req_to_host_pool_allocated_len"
        check_tensor(name, lengths, (torch.int64, torch.int32), 1)
        if len(lengths) != len(table):
            raise ValueError(f"{name} must have a length for each of {len(table)} requests")
    row = check_int("req_pool_idx", req_pool_idx, 0)
    if row >= len(table):
        raise ValueError(f"req_pool_idx must be below {len(table)}, not {row}")
    return row
