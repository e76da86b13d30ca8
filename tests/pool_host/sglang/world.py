"""SGLang's own cache controller at work on a CPU: rows made from tokens, backed up, loaded back.

To be imported where SGLang can be, as `stubs` makes it. The copies between device and host, which
are kernels, are plain indexed copies of our own.
"""

from __future__ import annotations

import importlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

_POOLS = "sglang.srt.mem_cache.memory_pool_host"
_MODULES = (_POOLS, "sglang.srt.mem_cache.pool_host.mha", "sglang.srt.mem_cache.pool_host.mla")
LAYERS = 2


def _copy_rows(
    src_layers: list[torch.Tensor],
    dst_layers: list[torch.Tensor],
    src_indices: torch.Tensor,
    dst_indices: torch.Tensor,
    page_size: int,
) -> None:
    for source, target in zip(src_layers, dst_layers, strict=True):
        target[dst_indices] = source[src_indices]


def _copy_to_pages(
    src_ptrs: list[torch.Tensor],
    dst_ptrs: list[torch.Tensor],
    src_indices: torch.Tensor,
    dst_indices: torch.Tensor,
    page_size: int,
) -> None:
    page, place = dst_indices // page_size, dst_indices % page_size
    layers = len(src_ptrs) // len(dst_ptrs)
    for at, source in enumerate(src_ptrs):
        dst_ptrs[at // layers][page, at % layers, place] = source[src_indices]


def _copy_from_pages(
    src_ptrs: list[torch.Tensor],
    dst_ptrs: list[torch.Tensor],
    src_indices: torch.Tensor,
    dst_indices: torch.Tensor,
    layer_id: int,
    page_size: int,
) -> None:
    page, place = src_indices // page_size, src_indices % page_size
    for source, target in zip(src_ptrs, dst_ptrs, strict=True):
        target[dst_indices] = source[page, layer_id, place]


_BODIES: dict[str, Callable[..., None]] = {
    "transfer_kv_direct": _copy_rows,
    "transfer_kv_all_layer_direct_lf_pf": _copy_to_pages,
    "transfer_kv_per_layer_direct_pf_lf": _copy_from_pages,
}


def give_bodies() -> None:
    """Put plain copies where SGLang's pools look for kernels, and keep no memory in reserve."""
    for name in _MODULES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:  # an older release has it all in one
            continue
        vars(module).update(_BODIES, HICACHE_HOST_MEMORY_RESERVE_BYTES=0)
    try:
        base = importlib.import_module("sglang.srt.mem_cache.pool_host.base")
    except ModuleNotFoundError:
        return
    vars(base)["HICACHE_HOST_MEMORY_RESERVE_BYTES"] = 0


@dataclass
class Node:
    """Tokens of a prompt, and where their rows stand."""

    tokens: torch.Tensor
    host: torch.Tensor


@dataclass
class Clocked:
    """What calls of one kind took, in nanoseconds of CPU time."""

    times: list[int] = field(default_factory=list)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Give the call with a clock around it: for calls that give something."""

        def clocked(*given: Any) -> Any:
            before = time.thread_time_ns()
            result = call(*given)
            if result is not None:
                self.times.append(time.thread_time_ns() - before)
            return result

        return clocked


class World:
    """A device pool, a host pool and SGLang's controller between them."""

    def __init__(self, layout: str, page_size: int, device_pages: int, host_pages: int) -> None:
        memory = importlib.import_module("sglang.srt.mem_cache.memory_pool")
        allocators = importlib.import_module("sglang.srt.mem_cache.allocator")
        controllers = importlib.import_module("sglang.srt.managers.cache_controller")
        self.page_size = page_size
        self.device = memory.MHATokenToKVPool(
            size=device_pages * page_size,
            page_size=page_size,
            dtype=torch.float32,
            head_num=1,
            head_dim=2,
            layer_num=LAYERS,
            device="cpu",
            enable_memory_saver=False,
        )
        ratio = (host_pages - 0.5) / device_pages
        self.host = importlib.import_module(_module_of_mha()).MHATokenToKVPoolHost(
            self.device, ratio, 0, page_size, layout, pin_memory=False, device="cpu"
        )
        self.slots = _Pages(allocators, self.device, device_pages, page_size)
        self.controller = controllers.HiCacheController(
            self.slots,
            self.host,
            page_size,
            None,
            load_cache_event=threading.Event(),
            io_backend="direct",
        )
        self.nodes: list[Node] = []
        self.alloc, self.free = Clocked(), Clocked()
        self.host.alloc = self.alloc.around(self.host.alloc)
        self.host.free = self.free.around(self.host.free)
        self.runs = self.transfers = self.compared = self.wrong = 0
        self._next = 1

    def write(self, pages: int) -> bool:
        """Compute a node on the device, back it up, and evict it there; say if there was room."""
        tokens = torch.arange(self._next, self._next + pages * self.page_size)
        self._next += len(tokens)
        rows = self.slots.alloc(len(tokens))
        for buffer, value in self._rows(rows, tokens):
            buffer[rows] = value
        host = self.controller.write(rows)
        if host is None:
            self.slots.free(rows)
            return False
        self._settle()
        self.slots.free(rows)
        self.nodes.append(Node(tokens, host.clone()))
        self.runs += 1 + int((host[1:] - host[:-1] != 1).sum())
        self.transfers += 1
        return True

    def evict(self, at: int) -> None:
        """Have a node leave the host."""
        self.controller.evict_host(self.nodes.pop(at).host)

    def load(self, at: int) -> None:
        """Load a node back to other rows of the device, and compare them with its tokens."""
        node = self.nodes[at]
        rows = self.controller.load(node.host)
        self.controller.start_loading()
        self._settle()
        for buffer, value in self._rows(rows, node.tokens):
            self.compared += len(rows)
            self.wrong += int((buffer[rows] != value).any(dim=(1, 2)).sum())
            buffer[rows] = -1
        self.slots.free(rows)

    def churn(self, rounds: int, seed: int, largest: int, check: bool = True) -> None:
        """Write, load and evict at random; every node is compared in the end."""
        chance = random.Random(seed)  # noqa: S311  the same each time
        for _ in range(rounds):
            pages = chance.randint(1, largest)
            while not self.write(pages):
                self.evict(chance.randrange(len(self.nodes)))
            if check and chance.random() < 0.5:
                self.load(chance.randrange(len(self.nodes)))
        for at in range(len(self.nodes) if check else 0):
            self.load(at)

    def _rows(
        self, rows: torch.Tensor, tokens: torch.Tensor
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Give each device buffer with what it must hold of tokens."""
        told = tokens.to(torch.float32)[:, None, None]
        kinds = (self.device.k_buffer, self.device.v_buffer)
        return [
            (buffer, told * 8 + 2 * layer + kind)
            for kind, buffers in enumerate(kinds)
            for layer, buffer in enumerate(buffers)
        ]

    def _settle(self) -> None:
        self.controller.ack_write_queue.clear()
        self.controller.ack_load_queue.clear()


def _module_of_mha() -> str:
    """Give the module that has the host pool of keys and values."""
    pools = importlib.import_module(_POOLS)
    return _POOLS if hasattr(pools, "MHATokenToKVPoolHost") else _MODULES[1]


class _Pages:
    """The device's slots, by pages that lie in no order."""

    def __init__(self, allocators: Any, pool: Any, pages: int, page_size: int) -> None:
        self.pool = pool
        self.page_size = page_size
        self.free_pages = [*range(1, pages)]

    def get_kvcache(self) -> Any:
        return self.pool

    def alloc(self, need_size: int) -> torch.Tensor:
        pages = [self.free_pages.pop(0) for _ in range(need_size // self.page_size)]
        starts = torch.tensor(pages)[:, None] * self.page_size
        return (starts + torch.arange(self.page_size)).flatten()

    def free(self, indices: torch.Tensor) -> None:
        self.free_pages += (indices[:: self.page_size] // self.page_size).tolist()
