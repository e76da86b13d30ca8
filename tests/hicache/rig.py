"""Small caches to test with: workers that work when told to, storage in a dict, known contents."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch
from memory_pool_host import MHATokenToKVPoolHost as HostPool

from hicache.cache_controller import HiCacheController
from hicache.device_pools import MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.radix_tree import HiRadixCache, TreeNode
from hicache.storage.base import HiCacheStorage, PageFormat
from hicache.transfers import Transfer
from hicache.workers import Closed

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

    def close(self) -> None:
        while self.queued:
            self._ended(self.queued.popleft(), Closed("closed"))


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

    def fill(self, tokens: Sequence[int], slots: torch.Tensor) -> None:
        """Write what a model would: rows that depend on all tokens up to each."""
        for place, slot in enumerate(slots.tolist()):
            for layer in range(LAYERS):
                for part, buffer in enumerate((self.device.k_buffer, self.device.v_buffer)):
                    buffer[layer][slot] = content(tokens[: place + 1], layer, part)

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

    def is_right(self, buffers: Any, tokens: Sequence[int], page: int) -> bool:
        """Whether a page holds the last tokens: `buffers` is the device's or the host's pool."""
        first = len(tokens) - self.page_size
        for offset in range(self.page_size):
            slot, seen = page * self.page_size + offset, tokens[: first + offset + 1]
            for layer in range(LAYERS):
                for part, rows in enumerate((buffers.k_buffer, buffers.v_buffer)):
                    if not (rows[layer][slot] == content(seen, layer, part)).all():
                        return False
        return True


def content(tokens: Sequence[int], layer: int, part: int) -> torch.Tensor:
    """Give the row of the last token: it differs for other tokens, layers, keys and values."""
    seed = zlib.crc32(repr((list(tokens), layer, part)).encode()) % 2**20
    return torch.arange(seed, seed + HEADS * DIM, dtype=torch.float32).view(HEADS, DIM)


def path_tokens(node: TreeNode) -> tuple[int, ...]:
    """Give all tokens from the first to a node's last."""
    tokens: tuple[int, ...] = ()
    above: TreeNode | None = node
    while above is not None:
        tokens = above.tokens + tokens
        above = above.parent
    return tokens
