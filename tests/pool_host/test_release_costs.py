"""What a release copies, counted: it hangs on what is released, and not on the pool."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pool_host.logical import LogicalHostPool
from pool_host.owner_lanes import OwnerLanePool

PAGE = 16
SIZES = (100_000, 10_000_000)
POOLS: dict[str, Callable[[int], Any]] = {
    "one lane": lambda size: LogicalHostPool(size // 64 * 64, PAGE),
    "owner lanes": lambda size: OwnerLanePool(size // 64 * 64, PAGE, 4),
}


class Copies(TorchDispatchMode):
    """Counts the bytes of all tensors that torch's operations make; views make none."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        known = {leaf.untyped_storage().data_ptr() for leaf in tensors((args, kwargs))}
        for tensor in tensors(made):
            if tensor.untyped_storage().data_ptr() not in known:
                self.bytes += tensor.nbytes
        return made


def tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def test_copies_are_counted() -> None:
    with Copies() as copies:
        torch.cat([torch.zeros(8, dtype=torch.int64), torch.ones(2, dtype=torch.int64)])[1:]
    assert copies.bytes == 8 * (8 + 2 + 10)


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("pages", [1, 64])
def test_a_release_copies_what_it_releases_and_nothing_of_the_pool(kind: str, pages: int) -> None:
    copied, most = [], []
    for size in SIZES:
        pool = POOLS[kind](size)
        held = [pool.alloc(pages * PAGE) for _ in range(20)]
        peaks = []
        with Copies() as copies:
            for slots in held[::2] + held[1::2]:
                tracemalloc.start()
                pool.free(slots)
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
        copied.append(copies.bytes)
        most.append(max(peaks))
    assert copied == [0, 0]
    assert most[0] == pytest.approx(most[1], abs=2048)
    assert max(most) <= 4 * 8 * pages * PAGE + 16_384  # a few temporary tables of the slots


@pytest.mark.parametrize("kind", POOLS)
def test_a_fresh_pool_is_no_list_of_its_slots(kind: str) -> None:
    with Copies() as copies:
        tracemalloc.start()
        pool = POOLS[kind](10_000_000)
        pool.alloc(PAGE)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert copies.bytes == 0
    assert peak < 10_000_000 // PAGE * 4  # a byte for each page, and no number for each slot
