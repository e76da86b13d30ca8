"""A pool of slots: given out and taken back by whole pages, from any thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import torch

from pool_host.buffers import SlotError
from pool_host.common import check_int
from pool_host.slot_allocator import SlotAllocator
from pool_host.statistics import AllocatorStats

_Pool = TypeVar("_Pool", bound="_HasSlots")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class _HasSlots(Protocol):
    """Whose methods the decorators are for: slots, and the lock that guards them."""

    @property
    def lock(self) -> Any:
        """An RLock."""

    @property
    def _slots(self) -> SlotAllocator: ...


def synchronized(
    func: Callable[Concatenate[_Pool, _Params], _Result],
) -> Callable[Concatenate[_Pool, _Params], _Result]:
    """Run a method while its object's `lock` is held."""

    @functools.wraps(func)
    def wrapper(self: _Pool, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        # On one line, so that an interrupt comes before it or within the method: after the method
        # no line of ours is begun that could be interrupted with the lock still held.
        # fmt: off
        with self.lock: return func(self, *args, **kwargs)  # noqa: E701
        # fmt: on

    return wrapper


def giving(
    func: Callable[Concatenate[_Pool, _Params], _Result],
) -> Callable[Concatenate[_Pool, _Params], _Result]:
    """Run a method that gives slots out while its object's `lock` is held.

    What it gives counts as given when it is through: if it is interrupted before, the next call
    takes it back.
    """

    @functools.wraps(func)
    def wrapper(self: _Pool, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        # fmt: off
        with self.lock: slots = func(self, *args, **kwargs); self._slots._begun = None; return slots  # noqa: E701, E702
        # fmt: on

    return wrapper


class HostSlotPool:
    """The slots of a pool, and which of them are free.

    All that is here may be called from any thread; it takes `lock`. What is given out belongs to
    the caller, and nothing that comes in is kept. An allocation costs what it gives and a release
    what it takes back, however large the pool.

    `release_slots` and `num_release_slots`, which callers of SGLang's pools read, stay empty:
    what is released is free at once.
    """

    # A group asks any of its pools for these.
    kv_buffer: Any = None
    dtype: torch.dtype = torch.uint8
    size_per_token: int = 0
    layer_num: int = 0
    start_layer: int = 0
    end_layer: int = 0
    device: str = "cpu"
    pin_memory: bool = False
    can_use_write_back_jit: bool = False
    allocator: Any = None
    # No ranks share a row here.
    dcp_size: int = 1
    dcp_rank: int = 0

    def __init__(self, size: int, page_size: int, layout: str) -> None:
        self.page_size = check_int("page_size", page_size, 1)
        self.size = check_int("size", size, 1)
        if self.size % self.page_size:
            raise ValueError(f"size must be a multiple of page_size {page_size}, not {size}")
        self.page_num = self.size // self.page_size
        self.layout = layout
        self.lock = threading.RLock()
        self.destroyed = False
        self.release_slots: list[torch.Tensor] = []
        self.num_release_slots = 0
        self.clear()

    @functools.cached_property
    def _slots(self) -> SlotAllocator:
        return SlotAllocator(self.page_size)

    @synchronized
    def clear(self) -> None:
        """Take every slot back."""
        self._slots.clear(0 if self.destroyed else self.page_num)

    @synchronized
    def available_size(self) -> int:
        """Give the number of slots that can be allocated."""
        return self._slots.free_pages * self.page_size

    @giving
    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give `need_size` slots, int64, by whole pages; None if there are not so many.

        Raises SlotError unless `need_size` is a multiple of the page size.
        """
        return self._slots.give_out(self._whole_pages(need_size))

    def _whole_pages(self, need_size: int) -> int:
        self._check_alive()
        need_size = check_int("need_size", need_size, 0)
        if need_size % self.page_size:
            raise SlotError(
                "The requested size should be a multiple of the page size. need_size is "
                f"{need_size}, the page size {self.page_size}"
            )
        return need_size // self.page_size

    def alloc_contiguous_preferred(self, need_size: int) -> torch.Tensor | None:
        """Give what `alloc` does, in as few runs of consecutive slots as there can be.

        Fragments are given where no stretch is long enough: it fails only where `alloc` does. Pages
        are in the order of transfer; `stats` tells how many runs there were.
        """
        return self.alloc(need_size)

    @synchronized
    def free(self, indices: torch.Tensor) -> int:
        """Release slots, whole pages of them; give how many.

        `indices` is a one-dimensional int64 or int32 tensor on any device. The pages of a call may
        come in any order, and so may the slots among them. Raises SlotError for slots that are not
        allocated, or for part of a page; then nothing is released.
        """
        self._check_alive()
        return self._slots.free(indices)

    @property
    @synchronized
    def free_slots(self) -> torch.Tensor:
        """Every free slot, int64, ascending: built when read, and kept until the next change."""
        return self._slots.free_slots

    @free_slots.setter
    @synchronized
    def free_slots(self, slots: torch.Tensor) -> None:
        self._slots.free_slots = slots

    @property
    @synchronized
    def slot_used(self) -> torch.Tensor:
        """Whether each slot is given out, bool: built when read."""
        return self._slots.slot_used

    @property
    def logical_size(self) -> int:
        """The slots that callers see."""
        return self.size

    @property
    def logical_page_size(self) -> int:
        """The slots of a page, as callers see it."""
        return self.page_size

    def maybe_dcp_kernel_indices(self, indices: torch.Tensor) -> torch.Tensor:
        """Give the rows of slots: the same, since no ranks share a row."""
        return indices

    @property
    def mem_state(self) -> torch.Tensor:
        """A zero for each slot, uint8: SGLang's pools have it, and nothing reads it."""
        return torch.zeros(self.size, dtype=torch.uint8)

    @property
    def fd(self) -> int | None:
        """The descriptor of the memory, where other processes can map it."""
        return getattr(self.allocator, "fd", None)

    def get_size_per_token(self) -> int:
        """Give the bytes that one slot needs, in the unit of `size_per_token`."""
        return self.size_per_token

    def get_ksize_per_token(self) -> int:
        """Give the bytes of the keys of one slot: all of them, where nothing else is kept."""
        return self.get_size_per_token()

    @synchronized
    def stats(self) -> AllocatorStats:
        """Give what the allocator has done and how its free pages lie, in constant time."""
        return self._slots.stats()

    @synchronized
    def destroy(self) -> None:
        """Give up all slots for good; a second call does nothing."""
        self.destroyed = True
        self.clear()

    def _check_alive(self) -> None:
        if self.destroyed:
            raise RuntimeError(f"This {type(self).__name__} was destroyed")
