"""Serves requests one after another: what the tiers have is taken, the rest is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hicache.decoder import Decoder
from hicache.device_pools import PagedTokenToKVPoolAllocator
from hicache.radix_tree import HiRadixCache


class OutOfPages(RuntimeError):
    """The device pool has too few pages for a request, also after eviction."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The new tokens of a request, and how many tokens of its prompt came from where."""

    tokens: tuple[int, ...]
    device: int
    host: int
    storage: int
    computed: int


class Engine:
    """A decoder with its device pool, and a cache or none.

    A request waits `storage_limit` seconds for what storage has of it; the rest is computed.
    """

    def __init__(
        self,
        decoder: Decoder,
        allocator: PagedTokenToKVPoolAllocator,
        cache: HiRadixCache | None = None,
        *,
        storage_limit: float = 10.0,
    ) -> None:
        self.decoder = decoder
        self.allocator = allocator
        self.pool = allocator.get_kvcache()
        self.cache = cache
        self.storage_limit = storage_limit

    def generate(
        self, prompt: Sequence[int], new_tokens: int, extra_key: str | None = None
    ) -> Generation:
        """Continue `prompt` by `new_tokens` tokens, greedily.

        What is cached is found by those alone who give the same `extra_key`.
        Raises `OutOfPages` if the device has no room, and `TransferError` if a load failed. Then
        nothing of the request is left: its pages are given back and its path is unlocked.
        """
        if not prompt or new_tokens < 1:
            raise ValueError("prompt, new_tokens: expected at least one token of each")
        storage = self._prefetch(prompt[:-1], extra_key)
        with _Request(self, prompt, extra_key) as request:
            cached = request.filled
            tokens = list(prompt)
            for _ in range(new_tokens):
                slots = request.slots(len(tokens))
                tokens.append(self.decoder.forward(tokens[request.filled :], self.pool, slots))
                request.filled = slots.numel()
            request.keep(tokens)
        loaded = cached - request.on_device
        from_storage = min(storage, loaded)
        return Generation(
            tokens=tuple(tokens[len(prompt) :]),
            device=request.on_device,
            host=loaded - from_storage,
            storage=from_storage,
            computed=len(prompt) - cached,
        )

    def _prefetch(self, tokens: Sequence[int], extra_key: str | None) -> int:
        """Bring from storage what is in no other tier; give the number of tokens."""
        if self.cache is None:
            return 0
        self.cache.poll()
        prefetch = self.cache.prefetch(tokens, extra_key)
        if prefetch is None:
            return 0
        if not prefetch.join(self.storage_limit):
            prefetch.stop()
            return 0  # what has arrived joins the tree when the prefetch ends
        self.cache.poll()
        return prefetch.arrived().numel()


class _Request:
    """The slots of one request: those of its match, which the tree owns, then its own.

    `filled` counts the slots that hold keys and values; `on_device` those that did so from the
    start. Leaving it gives back whatever the tree did not take over.
    """

    def __init__(self, engine: Engine, prompt: Sequence[int], extra_key: str | None) -> None:
        self._allocator = engine.allocator
        self._extra_key = extra_key
        self._cache = engine.cache
        self._slots = torch.empty(0, dtype=torch.int64)
        self._own = 0  # where the request's own slots begin
        self.filled = 0
        self.on_device = 0
        if self._cache is None:
            return
        # The last token is always computed: its row gives the next one.
        self._match = self._cache.match_prefix(prompt[:-1], extra_key)
        self._cache.lock(self._match)
        try:
            self.on_device = self._match.device_indices().numel()
            self._cache.load_back(self._match)
            self._slots = self._match.device_indices()
            self._cache.controller.layer_done_counter.attach(self._match.loads())
        except BaseException:
            self._cache.unlock(self._match)
            raise
        self._own = self.filled = self._slots.numel()

    def __enter__(self) -> _Request:
        return self

    def __exit__(self, *_: object) -> None:
        if self._cache is not None:
            self._cache.controller.layer_done_counter.attach(())
            self._cache.unlock(self._match)
        self._allocator.free(self._slots[self._own :])

    def slots(self, count: int) -> torch.Tensor:
        """Give the first `count` slots, with new pages if need be."""
        page_size = self._allocator.page_size
        short = -(-(count - self._slots.numel()) // page_size) * page_size
        if short > 0:
            new = (
                self._allocator.alloc(short)
                if self._cache is None
                else self._cache.alloc_device(short)
            )
            if new is None:
                raise OutOfPages(f"{short} more slots are needed and the device pool has not them")
            self._slots = torch.cat([self._slots, new])
        return self._slots[:count]

    def keep(self, tokens: Sequence[int]) -> None:
        """Leave the whole pages to the tree."""
        if self._cache is not None:
            for load in self._match.loads():
                load.join()  # all has arrived: it ends at once, and what it held may be evicted
            whole = self.filled - self.filled % self._allocator.page_size
            self._cache.insert(tokens[:whole], self._slots[:whole], self._extra_key)
            self._own = whole
