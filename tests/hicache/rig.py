"""Small caches to test with: workers that work when told to, storage in a dict, known contents."""

from __future__ import annotations

import functools
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hicache.cache_controller import HiCacheController
from hicache.device_pools import MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.nodes import TreeNode
from hicache.radix_tree import HiRadixCache
from hicache.storage.base import HiCacheStorage, PageFormat
from hicache.transfers import Transfer
from hicache.workers import Closed
from pool_host.mha import MHATokenToKVPoolHost as HostPool

PATIENCE = 30.0  # seconds for what takes a moment: only a fault lets it pass
LAYERS, HEADS, DIM = 2, 1, 4

_Kind = TypeVar("_Kind", bound=Transfer)


class HandWorker(Generic[_Kind]):
    """A worker without a thread: `run` carries out the next transfer, or fails it."""

    def __init__(
        self,
        name: str,
        handle: Callable[[_Kind], None],
        ended: Callable[[_Kind, BaseException | None], None],
    ) -> None:
        self.name = name
        self._handle = handle
        self._ended = ended
        self.queued: deque[_Kind] = deque()

    def submit(self, transfer: _Kind) -> None:
        self.queued.append(transfer)

    def run(self, *, failing: bool = False) -> bool:
        if not self.queued:
            return False
        transfer = self.queued.popleft()
        error: BaseException | None = None
        try:
            if failing:
                raise OSError("chosen to fail")
            self._handle(transfer)
        except Exception as caught:
            error = caught
        self._ended(transfer, error)
        return True

    def close(self, limit: float | None = None) -> bool:
        while self.queued:
            self._ended(self.queued.popleft(), Closed("closed"))
        return True

    def abandon(self) -> None:
        """Nothing runs here that could hang."""


class MemoryStorage(HiCacheStorage):
    """Pages in a dict."""

    def __init__(self, page_format: PageFormat) -> None:
        super().__init__(page_format)
        self.pages: dict[str, torch.Tensor] = {}

    def get(self, key: str, target: torch.Tensor) -> bool:
        if key in self.pages:
            target.copy_(self.pages[key])
        return key in self.pages

    def set(self, key: str, page: torch.Tensor) -> None:
        self._check(page, "page")
        self.pages[key] = page.clone()

    def exists(self, key: str) -> bool:
        return key in self.pages


class Rig:
    """A device pool, a host pool, storage in a dict, a controller driven by hand, and a tree."""

    def __init__(
        self,
        *,
        page_size: int = 2,
        pages: int = 8,
        host_pages: int = 8,
        layout: str = "layer_first",
        storage: bool = True,
        **options: Any,
    ) -> None:
        self.page_size = page_size
        self.device = MHATokenToKVPool(
            pages * page_size, page_size, torch.float32, HEADS, DIM, LAYERS
        )
        self.allocator = PagedTokenToKVPoolAllocator(self.device)
        self.host = HostPool(
            self.device, host_pages / pages, 0, page_size, layout, pin_memory=False
        )
        self.storage = MemoryStorage(PageFormat.of(self.host, "rig")) if storage else None
        self.workers: dict[str, HandWorker[Any]] = {}
        self.controller = HiCacheController(
            self.allocator,
            self.host,
            storage=self.storage,
            **{"worker": self._worker, **options},
        )
        self.cache = HiRadixCache(self.controller)
        self._rows = {
            tier: [[layer.numpy() for layer in part] for part in (pool.k_buffer, pool.v_buffer)]
            for tier, pool in (("device", self.device), ("host", self.host))
        }

    def _worker(self, name: str, handle: Any, ended: Any) -> HandWorker[Any]:
        worker: HandWorker[Any] = HandWorker(name, handle, ended)
        self.workers[name.removeprefix("hicache-")] = worker
        return worker

    def run_all(self) -> None:
        """Carry out everything that is queued."""
        while any(worker.run() for worker in self.workers.values()):
            pass

    def settle(self) -> None:
        """Carry everything out and take it back, until nothing is left to do."""
        while self.controller.open_transfers:
            self.run_all()
            self.cache.poll()

    def fill(self, tokens: Sequence[int], slots: torch.Tensor, first: int = 0) -> None:
        """Write what a model would for tokens from `first` on: rows that depend on all before."""
        for start in range(first, len(tokens), self.page_size):
            rows = page_content(tuple(tokens[: start + self.page_size]), self.page_size)
            here = slots[start : start + self.page_size]
            for layer in range(LAYERS):
                self.device.k_buffer[layer][here] = torch.from_numpy(rows[0, layer])
                self.device.v_buffer[layer][here] = torch.from_numpy(rows[1, layer])

    def compute(self, tokens: Sequence[int]) -> torch.Tensor:
        """Allocate device pages for tokens, and fill them."""
        slots = self.allocator.alloc(len(tokens))
        assert slots is not None
        self.fill(tokens, slots)
        return slots

    def add(self, tokens: Sequence[int]) -> None:
        """Compute tokens, insert them, and settle."""
        self.cache.insert(tokens, self.compute(tokens))
        self.settle()

    def is_right(self, tier: str, tokens: tuple[int, ...], page: int) -> bool:
        """Whether a page of `device` or `host` holds the last tokens of `tokens`."""
        rows = slice(page * self.page_size, (page + 1) * self.page_size)
        buffers = self._rows[tier]
        found = np.stack([[layer[rows] for layer in part] for part in buffers])
        return np.array_equal(found, page_content(tokens, self.page_size))


@functools.cache
def page_content(tokens: tuple[int, ...], page_size: int) -> NDArray[np.float32]:
    """Give the rows of the last page: (2, LAYERS, page_size, HEADS, DIM), keys then values.

    They differ for other tokens, also for others before the page, and for each layer and part.
    """
    seed = zlib.crc32(repr(tokens).encode())
    values = np.random.default_rng(seed).random((2, LAYERS, page_size, HEADS, DIM))
    return values.astype(np.float32)


def path_tokens(node: TreeNode) -> tuple[int, ...]:
    """Give all tokens from the first to a node's last."""
    tokens: tuple[int, ...] = ()
    above: TreeNode | None = node
    while above is not None:
        tokens = above.tokens + tokens
        above = above.parent
    return tokens
