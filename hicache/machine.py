"""A decoder with all three tiers below it, made in one call: what the commands run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hicache.cache_controller import HiCacheController
from hicache.decoder import Decoder
from hicache.device_pools import PagedTokenToKVPoolAllocator
from hicache.engine import Engine, Generation
from hicache.host_pools import host_pool_for, io_backend_for
from hicache.radix_tree import HiRadixCache
from hicache.room import FreeRoom
from hicache.storage.base import PageFormat
from hicache.storage.file import HiCacheFile

if TYPE_CHECKING:
    from pool_host import HostKVCache as HostPool
    from pool_host import HostPoolGroup

PAGE_SIZE = 16
POOL_PAGES = 16


@dataclass(frozen=True, slots=True)
class Taken:
    """Where a prompt's tokens came from, and the bytes loaded to the device and from files."""

    device: int = 0
    host: int = 0
    files: int = 0
    computed: int = 1
    loaded_bytes: int = 0
    read_bytes: int = 0
    refused: int = 0  # page files that could not be believed


class Machine:
    """A decoder with pools of its own, and files that machines before it may have filled.

    The device has `pages` pages, the host `ratio` times as many. Raises `ValueError` where the
    host pool refuses the layout, or the host has too little memory.
    """

    def __init__(
        self,
        decoder: Decoder,
        layout: str,
        dtype: torch.dtype,
        folder: Path,
        *,
        pages: int = POOL_PAGES,
        ratio: float = 2.0,
        room: FreeRoom | None = None,
    ) -> None:
        device_pool = decoder.device_pool(pages * PAGE_SIZE, PAGE_SIZE, dtype)
        self.allocator = PagedTokenToKVPoolAllocator(device_pool)
        self.host: HostPool | HostPoolGroup = host_pool_for(device_pool, ratio=ratio, layout=layout)
        self.storage = HiCacheFile(folder, PageFormat.of(self.host, decoder.config.name))
        self.controller = HiCacheController(
            self.allocator, self.host, io_backend=io_backend_for(layout), storage=self.storage
        )
        self.cache = HiRadixCache(self.controller, room)
        self._engine = Engine(decoder, self.allocator, self.cache)

    def serve(
        self, prompt: Sequence[int], new_tokens: int, extra_key: str | None = None
    ) -> tuple[Generation, Taken]:
        """Serve a prompt, wait until its pages are in the files, and say what was taken."""
        before, refused = self.controller.stats.moved, self.storage.refused
        done = self._engine.generate(prompt, new_tokens, extra_key)
        self.cache.flush()
        moved = self.controller.stats.moved - before
        taken = Taken(
            done.device,
            done.host,
            done.storage,
            done.computed,
            moved["load"],
            moved["prefetch"],
            self.storage.refused - refused,
        )
        return done, taken

    def flip(self, prompt: Sequence[int]) -> None:
        """Flip a bit of the first page of a prompt on the host: the top one of an exponent."""
        (node, *_) = self.cache.match_prefix(prompt).nodes
        slot = (node.host.page or 0) * PAGE_SIZE
        page: torch.Tensor = self.host.get_data_page(slot)
        # Of a number below 1, which so becomes huge but not infinite.
        element = int(((page != 0) & (page.abs() < 1)).nonzero()[0])
        page.view(torch.uint8)[(element + 1) * page.element_size() - 1] ^= 0x40
        self.host.set_from_flat_data_page(slot, page)

    def close(self) -> None:
        """End the threads and give the memory back."""
        self.controller.close()
        self.host.destroy()
