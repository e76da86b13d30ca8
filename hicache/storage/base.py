"""What a storage back end is asked, and the format that its pages are in.

A page is named by its content (`hicache.pages.page_key`) and kept apart by its format: bytes that
another model, dtype or layout wrote under the same content mean something else.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch

from hicache.host_pools import HostPages

if TYPE_CHECKING:
    from pool_host import HostKVCache, HostPoolGroup


@dataclass(frozen=True, slots=True)
class PageFormat:
    """All that decides what a page's bytes mean, but for its content.

    `model` names weights, not only an architecture: other weights compute other keys and values.
    `shard` says which part of the heads a rank keeps, such as `0/4`; it is "" where every rank
    keeps the same, as with MLA, whose ranks share their pages.
    """

    model: str
    pool: str
    dtype: str
    page_bytes: int
    shard: str = ""

    @classmethod
    def of(cls, host: HostKVCache | HostPoolGroup, model: str, shard: str = "") -> PageFormat:
        """Give the format of the pages of a host pool or group.

        Its `pool` is the pool's own tag: family, layout, page size, layers and rows. Its `dtype`
        is the device pool's, since two kinds of fp8 are stored as the same kind of bytes.
        """
        pages = HostPages(host, host.device_pool)
        return cls(model, pages.tag, str(host.device_pool.dtype), pages.page_bytes, shard)

    @property
    def digest(self) -> bytes:
        """32 bytes that differ if anything of the format differs."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.model, self.pool, self.dtype, self.shard)))


class HiCacheStorage(ABC):
    """Keeps pages by key. Called from two worker threads and the scheduler at once.

    A back end never gives bytes that were not set under the same key and format: what is lost,
    damaged or foreign is a miss. `format` is that of every page it keeps; `refused` counts the
    pages that were found and not believed.
    """

    def __init__(self, page_format: PageFormat) -> None:
        self.format = page_format
        self.refused = 0

    @abstractmethod
    def get(self, key: str, target: torch.Tensor) -> bool:
        """Fill `target`, uint8 of shape (page_bytes,), and give True; False for a miss.

        On a miss `target` is unchanged. Raises `OSError` where the storage itself fails.
        """

    @abstractmethod
    def set(self, key: str, page: torch.Tensor) -> None:
        """Keep `page`, uint8 of shape (page_bytes,), all of it or nothing.

        Raises `OSError` where the storage fails; then the key is as it was before.
        """

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Whether `get` may find the page; cheap, so damage may only show there."""

    def batch_exists(self, keys: Sequence[str]) -> int:
        """Give how many of `keys`, counted from the first, exist without a gap."""
        for number, key in enumerate(keys):
            if not self.exists(key):
                return number
        return len(keys)

    def register_mem_pool_host(self, pages: HostPages) -> None:  # noqa: B027  few need it
        """Learn which memory `set_pages` and `get_pages` will be about. Called once, before them.

        Raises `OSError` where that memory cannot be used.
        """

    def set_pages(self, keys: Sequence[str], pages: HostPages, slots: Sequence[int]) -> None:
        """Keep host pages, each given by its first slot, under `keys`.

        Raises `OSError` where the storage fails; then some of them may be kept, each whole.
        """
        for key, slot in zip(keys, slots, strict=True):
            self.set(key, pages.read(slot))

    def get_pages(
        self, keys: Sequence[str], pages: HostPages, slots: Sequence[int]
    ) -> Iterator[bool]:
        """Fill host pages, each given by its first slot; say of each, in order, if it is right.

        One that is not may hold anything. Raises `OSError` where the storage fails, and
        `hicache.storage.timed.Stalled` where it may go on to write into pages not yet told of.
        """
        page = torch.empty(pages.page_bytes, dtype=torch.uint8)
        for key, slot in zip(keys, slots, strict=True):
            found = self.get(key, page)
            if found:
                pages.write(slot, page)
            yield found

    def close(self) -> None:  # noqa: B027  most back ends hold nothing open
        """Give back what is held open. Idempotent."""

    def _check(self, page: torch.Tensor, argument: str) -> None:
        """Raise `ValueError` unless `page` is a vector of this format's bytes."""
        if page.dtype != torch.uint8 or page.shape != (self.format.page_bytes,):
            raise ValueError(
                f"{argument}: expected uint8 of shape ({self.format.page_bytes},), "
                f"got {page.dtype} of shape {tuple(page.shape)}"
            )
