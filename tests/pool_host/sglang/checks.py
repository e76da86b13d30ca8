"""What is tried with a release of SGLang, in a process of its own: `checks.py FOLDER` prints JSON.

FOLDER holds the package, as a wheel does.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from pool_host.sglang import install, uninstall
from pool_host.slot_pool import HostSlotPool
from tests.pool_host.sglang import world
from tests.pool_host.sglang.stubs import make_up_what_is_missing

LAYOUTS = ("layer_first", "page_first_direct")
ROOM = 800  # pages enough for nothing to be evicted


@contextmanager
def adapter(wanted: bool) -> Iterator[None]:
    """Have it installed meanwhile."""
    if wanted:
        install()
    yield
    gc.collect()
    uninstall()


def trial(layout: str, ours: bool, host_pages: int = 60) -> dict[str, Any]:
    """Write, load and evict with SGLang's controller; say how many rows came back wrong."""
    with adapter(ours):
        tried = world.World(layout, 4, 40, host_pages)
        has_ours = hasattr(tried.host, "_pool_host_slots")
        tried.churn(60, seed=1, largest=9)
        held = sum(len(node.host) for node in tried.nodes)
        accounted = tried.host.available_size() + held == tried.host.size
        result: dict[str, Any] = {"compared": tried.compared, "wrong": tried.wrong}
        result |= {"ours": has_ours, "accounted": accounted, "runs": tried.runs / tried.transfers}
        tried.controller = tried.host = None
        return result


def _twice(alloc: Callable[..., Any]) -> Callable[..., Any]:
    """Break it: the first page of an allocation is the one before's."""
    last: list[torch.Tensor] = []

    def broken(pool: HostSlotPool, need_size: int) -> Any:
        slots = alloc(pool, need_size)
        if slots is not None and last:
            slots[: pool.page_size] = last[0]
        if slots is not None:
            last[:] = [slots[: pool.page_size].clone()]
        return slots

    return broken


def _too_early(alloc: Callable[..., Any]) -> Callable[..., Any]:
    """Break it: what is given stays free."""

    def broken(pool: HostSlotPool, need_size: int) -> Any:
        slots = alloc(pool, need_size)
        if slots is not None and slots.numel():
            pool.free(slots[: pool.page_size])
        return slots

    return broken


def _askew(alloc: Callable[..., Any]) -> Callable[..., Any]:
    """Break it: slots begin one place too far, within another page."""

    def broken(pool: HostSlotPool, need_size: int) -> Any:
        slots = alloc(pool, need_size)
        return slots if slots is None else (slots + slots.numel() // 2) % pool.size

    return broken


BREAKS = {"twice": _twice, "too early": _too_early, "askew": _askew}


def families() -> dict[str, Any]:
    """Make each kind of pool that keeps slots, plain and with ours, and do the same with it."""
    pools = importlib.import_module("sglang.srt.mem_cache.memory_pool_host")
    try:
        mamba = importlib.import_module("sglang.srt.mem_cache.pool_host.mamba").MambaPoolHost
    except ModuleNotFoundError:
        mamba = pools.MambaPoolHost

    def states() -> Any:
        pool = mamba.__new__(mamba)
        pool.size, pool.page_size, pool.device, pool.lock = 8, 1, "cpu", threading.RLock()
        pool.clear()  # all that its constructor comes to, of slots
        return pool

    def packed() -> Any:
        buffers = [torch.zeros(8, 16, dtype=torch.uint8)]
        return pools.DeepSeekV4PagedHostPool("c4", buffers, 16, 4, 2, pin_memory=False)

    made: dict[str, Callable[[], Any]] = {
        "states": states,
        "packed": packed,
        "logical": lambda: pools.LogicalHostPool(8, 2),
    }
    told: dict[str, Any] = {}
    for name, make in made.items():
        told[name] = []
        for ours in (False, True):
            with adapter(ours):
                pool = make()
                seen: list[Any] = [hasattr(pool, "_pool_host_slots") == ours]
                slots = pool.alloc(4)
                seen += [slots.tolist(), pool.available_size(), pool.alloc(6) is None]
                seen += [pool.free(slots[2:]), pool.available_size(), pool.free(slots[:0])]
                seen += [sorted(pool.alloc(6).tolist()), pool.alloc(2) is None, pool.clear()]
                seen += [pool.available_size(), pool.free_slots.tolist(), pool.alloc(0).tolist()]
                told[name].append(seen)
                del pool
    return told


def shared_rows() -> list[Any] | None:
    """Give what two ranks that share rows (DCP) are given, where the release knows of it."""
    try:
        mla = importlib.import_module("sglang.srt.mem_cache.pool_host.mla").MLATokenToKVPoolHost
    except ModuleNotFoundError:
        return None
    memory = importlib.import_module("sglang.srt.mem_cache.memory_pool")
    device = memory.MLATokenToKVPool(
        size=16,
        page_size=4,
        dtype=torch.float32,
        kv_lora_rank=4,
        qk_rope_head_dim=2,
        layer_num=1,
        device="cpu",
        enable_memory_saver=False,
    )
    with adapter(True):
        seen = []
        for rank in range(2):
            pool = mla(device, 2.0, 0, 8, "layer_first", False, dcp_size=2, dcp_rank=rank)
            slots = pool.alloc(8)
            sizes = [pool.size, pool.page_size, pool.available_size(), len(pool.slot_used)]
            seen.append([*sizes, slots.tolist(), pool.maybe_dcp_kernel_indices(slots).tolist()])
            seen[-1].append(pool.stats().page_size)
            del pool, slots
    return seen


def main(folder: str) -> dict[str, Any]:
    """Try everything."""
    torch.set_num_threads(1)
    make_up_what_is_missing(folder)
    importlib.import_module("sglang.srt.managers.cache_controller")
    world.give_bodies()
    said: dict[str, Any] = {}
    for layout in LAYOUTS:
        said[layout] = [trial(layout, ours) for ours in (False, True)]
    said["whole"] = trial(LAYOUTS[0], True, ROOM)
    said["broken"] = {}
    for name, breaks in BREAKS.items():
        with mock.patch.object(HostSlotPool, "alloc", breaks(HostSlotPool.alloc)):
            said["broken"][name] = trial(LAYOUTS[0], True, ROOM)
    said["families"] = families()
    said["shared rows"] = shared_rows()
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))  # noqa: T201
