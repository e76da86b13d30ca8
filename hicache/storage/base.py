"""What a storage back end is asked, and the format that its pages are in.

A page is named by its content (`hicache.pages.page_key`) and kept apart by its format: bytes that
another model, rank, dtype or layout wrote under the same content mean something else.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch

from hicache.host_pools import HostPages
from hicache.storage.timed import Stalled, TimedCalls

if TYPE_CHECKING:
    from pool_host import HostKVCache, HostPoolGroup

_Result = TypeVar("_Result")


def own_shard() -> str:
    """Name this process among those of its model: `RANK/RANKS`, `0/1` if it is alone.

    That is its rank in torch's process group if there is one, else what its launcher says in RANK
    and WORLD_SIZE.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return f"{torch.distributed.get_rank()}/{torch.distributed.get_world_size()}"
    return f"{os.environ.get('RANK', '0')}/{os.environ.get('WORLD_SIZE', '1')}"


def digest_of_weights(weights: Mapping[str, torch.Tensor]) -> str:
    """Name weights by their bytes: equal weights give the same name on every machine."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        head = json.dumps([name, str(tensor.dtype), list(tensor.shape)])
        digest.update(head.encode() + b"\n")
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class PageFormat:
    """All that decides what a page's bytes mean, but for its content.

    `model` is the model's name and `weights` says which of its weights: others compute other keys
    and values under the same name (`digest_of_weights` gives a name for any). `shard` says which
    rank of how many keeps the page, such as `0/4`; None is this process's own (`own_shard`), so
    that no rank reads another's pages unless it is told to. It is "" where every rank keeps the
    same and all share their pages.
    """

    model: str
    pool: str
    dtype: str
    page_bytes: int
    shard: str | None = None
    weights: str = ""

    def __post_init__(self) -> None:
        if self.shard is None:
            object.__setattr__(self, "shard", own_shard())

    @classmethod
    def of(
        cls,
        host: HostKVCache | HostPoolGroup,
        model: str,
        shard: str | None = None,
        *,
        weights: str = "",
    ) -> PageFormat:
        """Give the format of the pages of a host pool or group.

        Its `pool` is the pool's own tag: family, layout, page size, layers and rows. Its `dtype`
        is the device pool's, since two kinds of fp8 are stored as the same kind of bytes. Where
        `shard` is None, ranks share the pages of a family that every rank keeps whole, as MLA's,
        and have their own of any other.
        """
        pages = HostPages(host, host.device_pool)
        if shard is None and pages.is_replicated:
            shard = ""
        dtype = str(host.device_pool.dtype)
        return cls(model, pages.tag, dtype, pages.page_bytes, shard, weights)

    @property
    def digest(self) -> bytes:
        """32 bytes that differ if anything of the format differs."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def __str__(self) -> str:
        parts = (self.model, self.weights, self.pool, self.dtype, self.shard)
        return " ".join(filter(None, parts))


class NotKept(OSError):
    """Of the pages that were to be kept only the first `kept` are, for the reason that it gives."""

    def __init__(self, words: str, kept: int) -> None:
        super().__init__(words)
        self.kept = kept


class HeadMissing(NotKept):
    """None of the pages is kept: the storage has not, or not any more, the one they follow."""


class HiCacheStorage(ABC):
    """Keeps pages by key. Called from two worker threads and the scheduler at once.

    A back end never gives bytes that were not set under the same key and format: what is lost,
    damaged or foreign is a miss. `format` is that of every page it keeps; `refused` counts the
    pages that were found and not believed. A page takes at most `page_limit` seconds to be written
    or read; then it is given up.
    """

    page_limit: float = 5.0

    def __init__(self, page_format: PageFormat) -> None:
        self.format = page_format
        self.refused = 0
        self._sets, self._gets = TimedCalls("hicache-set"), TimedCalls("hicache-get")

    @abstractmethod
    def get(self, key: str, target: torch.Tensor) -> bool:
        """Fill `target`, uint8 of shape (page_bytes,), and give True; False for a miss.

        On a miss `target` is unchanged. Raises `OSError` where the storage itself fails.
        """

    @abstractmethod
    def set(self, key: str, page: torch.Tensor) -> None:
        """Keep `page`, uint8 of shape (page_bytes,), all of it or nothing.

        Nothing where the storage is full and this page is not worth another: `exists` tells.
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

    def set_pages(
        self, keys: Sequence[str], pages: HostPages, slots: Sequence[int], parent: str = ""
    ) -> None:
        """Keep host pages, each given by its first slot, under `keys`: each follows the one before.

        The first follows `parent`, if that is not "". No page is kept without the one that it
        follows, since nobody could use it. Raises `NotKept`, with how many are, where one cannot
        be: the storage fails twice, is late or full, or has not `parent`.
        """
        self._need_head(parent)
        again = True
        for number, (key, slot) in enumerate(zip(keys, slots, strict=True)):
            page = pages.read(slot)  # a copy: a late call must not read what is another's by then
            try:
                try:
                    kept = self._timed(self._sets, partial(self._keep, key, page))
                except OSError as error:
                    if isinstance(error, Stalled) or not again:
                        raise
                    again = False  # what fails for a moment costs one page; more is no moment
                    kept = self._timed(self._sets, partial(self._keep, key, page))
            except OSError as error:
                raise NotKept(str(error), number) from error
            if not kept:
                raise NotKept("the storage is full", number)

    def _keep(self, key: str, page: torch.Tensor) -> bool:
        self.set(key, page)
        return self.exists(key)

    def _need_head(self, parent: str) -> None:
        """Raise `NotKept` unless the page that others are to follow is there."""
        if not parent:
            return
        try:
            found = self._timed(self._sets, partial(self.exists, parent))
        except OSError as error:
            raise NotKept(str(error), 0) from error
        if not found:
            raise HeadMissing("the page that they follow is not in the storage", 0)

    def _timed(self, calls: TimedCalls, function: Callable[[], _Result]) -> _Result:
        return calls.call(function, self.page_limit)

    def get_pages(
        self, keys: Sequence[str], pages: HostPages, slots: Sequence[int]
    ) -> Iterator[bool]:
        """Fill host pages, each given by its first slot; say of each, in order, if it is right.

        One that is not may hold anything. Raises `OSError` where the storage fails, and
        `hicache.storage.timed.Stalled` where it may go on to write into pages not yet told of.
        """
        page = torch.empty(pages.page_bytes, dtype=torch.uint8)
        for key, slot in zip(keys, slots, strict=True):
            try:
                found = self._timed(self._gets, partial(self.get, key, page))
            except Stalled as error:  # it may write into `page`, and into nothing of the pool
                raise TimeoutError(str(error)) from None
            if found:
                pages.write(slot, page)
            yield found

    def give_up(self) -> None:
        """Wait for nothing any more: calls that are under way fail at once, and all later ones."""
        self._sets.give_up()
        self._gets.give_up()

    def close(self) -> None:
        """Give back what is held open; a call that is late is not waited for. Idempotent."""
        self.give_up()
        self._sets.close()
        self._gets.close()

    def _check(self, page: torch.Tensor, argument: str) -> None:
        """Raise `ValueError` unless `page` is a vector of this format's bytes."""
        if page.dtype != torch.uint8 or page.shape != (self.format.page_bytes,):
            raise ValueError(
                f"{argument}: expected uint8 of shape ({self.format.page_bytes},), "
                f"got {page.dtype} of shape {tuple(page.shape)}"
            )
