"""The methods and attributes of SGLang's host pools that `pool_host` answers instead."""

from __future__ import annotations

import functools
import logging
import operator
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from pool_host.slot_pool import HostSlotPool
from pool_host.statistics import AllocatorStats

logger = logging.getLogger(__name__)

# In a pool's own attributes: what keeps its slots. Pools that were made before have none.
KEEPER = "_pool_host_slots"

# The size of a pool in slots, and of a page.
Geometry = Callable[[Any], tuple[int, int]]


def _widened(pool: Any) -> tuple[int, int]:
    """Count as callers do where ranks share rows (DCP): slots and pages are widened by them."""
    return (
        getattr(pool, "logical_size", pool.size),
        getattr(pool, "logical_page_size", pool.page_size),
    )


def _plain(pool: Any) -> tuple[int, int]:
    return pool.size, pool.page_size


def _paged(pool: Any) -> tuple[int, int]:
    return pool.size, pool.slot_page_size


GEOMETRIES: dict[str, Geometry] = {
    "HostKVCache": _widened,
    "MambaPoolHost": _plain,
    "LogicalHostPool": _plain,
    "DeepSeekV4PagedHostPool": _paged,
}
# Gives whole pages whatever number of slots is asked for.
_ROUNDS_UP = frozenset({"DeepSeekV4PagedHostPool"})
# Takes slots back in a tensor of any shape.
_FLATTENS = frozenset({"LogicalHostPool", "DeepSeekV4PagedHostPool"})


class Keepers:
    """The pools whose slots are kept here, and which classes are taken at all."""

    def __init__(self) -> None:
        self._pools: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._methods: set[Any] = set()
        self._left: set[type] = set()

    def add_method(self, function: Any) -> None:
        """Note a method that was put in the place of SGLang's."""
        self._methods.add(function)

    def living(self) -> list[Any]:
        """Give the pools that are still there."""
        # fmt: off
        with self._lock: return list(self._pools)  # noqa: E701  an interrupt leaves it free
        # fmt: on

    def takes(self, kind: type) -> bool:
        """Whether a pool of that class may be kept: no class below SGLang's has a way of its own.

        One that overrides a method of them keeps all its slots itself, as it did.
        """
        names = {function.__name__ for function in self._methods}
        own = sorted(name for name in names if getattr(kind, name, None) not in self._methods)
        own = [name for name in own if hasattr(kind, name)]
        if own and kind not in self._left:
            self._left.add(kind)
            words = "%s keeps its slots itself: it has its own %s"
            logger.warning(words, kind.__qualname__, ", ".join(own))
        return not own

    def begin(self, pool: Any, size: int, page_size: int) -> None:
        """Keep the slots of a pool from here on, all of them free."""
        keeper = HostSlotPool(size, page_size, getattr(pool, "layout", ""))
        keeper.lock = getattr(pool, "lock", keeper.lock)
        # fmt: off
        with self._lock: self._pools.add(pool)  # noqa: E701
        # fmt: on
        vars(pool)[KEEPER] = keeper


def keeper_of(pool: Any) -> HostSlotPool | None:
    """Give what keeps a pool's slots, or None if SGLang does."""
    keeper: HostSlotPool | None = vars(pool).get(KEEPER)
    return keeper


def make_method(kind: str, name: str, original: Any, keepers: Keepers) -> Any:
    """Make what stands for a class's method. A pool without a keeper comes to the original."""
    method = functools.wraps(original)(_MAKERS[name](kind, original, keepers))
    keepers.add_method(method)
    return method


def _make_clear(kind: str, original: Any, keepers: Keepers) -> Any:
    geometry = GEOMETRIES[kind]

    def clear(self: Any) -> None:
        keeper = keeper_of(self)
        if keeper is not None:
            keeper.clear()
        elif "free_slots" in vars(self) or not keepers.takes(type(self)):
            original(self)
        else:  # its constructor is at its end
            keepers.begin(self, *geometry(self))

    return clear


def _make_alloc(kind: str, original: Any, keepers: Keepers) -> Any:
    rounds_up = kind in _ROUNDS_UP

    def alloc(self: Any, need_size: int) -> torch.Tensor | None:
        keeper = keeper_of(self)
        if keeper is None:
            return original(self, need_size)  # type: ignore[no-any-return]
        need_size = operator.index(need_size)
        if rounds_up:
            need_size = -(-need_size // keeper.page_size) * keeper.page_size
        return keeper.alloc(need_size)

    return alloc


def _make_free(kind: str, original: Any, keepers: Keepers) -> Any:
    flattens = kind in _FLATTENS

    def free(self: Any, indices: torch.Tensor) -> int:
        keeper = keeper_of(self)
        if keeper is None:
            return original(self, indices)  # type: ignore[no-any-return]
        try:
            return keeper.free(indices.flatten() if flattens else indices)
        except (TypeError, ValueError):
            if indices.numel():
                raise
            return 0  # of no slots it matters not of which kind

    return free


def _make_available_size(kind: str, original: Any, keepers: Keepers) -> Any:
    def available_size(self: Any) -> int:
        keeper = keeper_of(self)
        if keeper is None:
            return original(self)  # type: ignore[no-any-return]
        return keeper.available_size()

    return available_size


def _make_merge(kind: str, original: Any, keepers: Keepers) -> Any:
    def merge(self: Any) -> None:
        if keeper_of(self) is None:
            original(self)

    return merge


_MAKERS: dict[str, Callable[[str, Any, Keepers], Any]] = {
    "clear": _make_clear,
    "alloc": _make_alloc,
    "free": _make_free,
    "available_size": _make_available_size,
    "_merge_release_slots": _make_merge,
}
REPLACED = tuple(_MAKERS)


def stats(self: Any) -> AllocatorStats:
    """Give what the allocator has done and how its free pages lie, in constant time.

    Raises RuntimeError for a pool whose slots SGLang keeps.
    """
    keeper = keeper_of(self)
    if keeper is None:
        raise RuntimeError(f"SGLang keeps the slots of this {type(self).__name__}: it counts none")
    return keeper.stats()


def make_attributes() -> dict[str, property]:
    """Make the attributes that callers read slots from."""
    return {
        "free_slots": _attribute("free_slots", _free_slots, _set_free_slots),
        "slot_used": _attribute("slot_used", lambda keeper: keeper.slot_used, None),
        "release_slots": _attribute("release_slots", lambda keeper: [], None),
        "num_release_slots": _attribute("num_release_slots", lambda keeper: 0, None),
        "mem_state": _attribute("mem_state", _mem_state, None),
    }


def _attribute(
    name: str,
    read: Callable[[HostSlotPool], Any],
    write: Callable[[HostSlotPool, Any], None] | None,
) -> property:
    """Make an attribute that is the keeper's, or what was set where there is none."""

    def get(self: Any) -> Any:
        keeper = keeper_of(self)
        if keeper is not None:
            return read(keeper)
        try:
            return vars(self)[name]
        except KeyError:
            words = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(words) from None

    def put(self: Any, value: Any) -> None:
        keeper = keeper_of(self)
        if keeper is None:
            vars(self)[name] = value
        elif write is None:
            words = f"{name} of this {type(self).__name__} is kept by pool_host: use alloc and free"
            raise AttributeError(words)
        else:
            write(keeper, value)

    return property(get, put, doc=f"{name}, as pool_host keeps it.")


def _free_slots(keeper: HostSlotPool) -> torch.Tensor:
    return keeper.free_slots


def _set_free_slots(keeper: HostSlotPool, slots: torch.Tensor) -> None:
    keeper.free_slots = slots


def _mem_state(keeper: HostSlotPool) -> torch.Tensor:
    return torch.zeros(keeper.size, dtype=torch.uint8)
