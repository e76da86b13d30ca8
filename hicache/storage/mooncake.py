"""Pages in a Mooncake store, shared by machines: copied straight from and to the host pool.

An object is a page's header (`hicache.storage.envelope`) and its bytes, handed over as stretches of
memory where they lie. Its name is the format and the key. The header is checked when a page has
arrived: what other software put under that name, what was overwritten meanwhile or arrived in part
is refused, removed and a miss. So is whatever the store answers with an error.

Mooncake's calls have time limits of their own, half a minute and more. Here each is made on another
thread and waited for no longer than the configuration says; while one is late, others of its kind
are refused at once.

Mooncake does not ask who connects, and its client and its master listen on every interface, on
ports of their choice: run them where only machines that may read and write every page reach them.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from hicache.host_pools import HostPages
from hicache.storage.base import HiCacheStorage, NotKept, PageFormat
from hicache.storage.envelope import HEADER_BYTES, check_key, fault_of, header
from hicache.storage.timed import TimedCalls

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_Stretch = tuple[int, int]  # address, bytes

BATCH_PAGES = 128  # handed over in one call, as SGLang does
# What Mooncake answers for a key that it has not, and for an object of another size.
_NOT_FOUND = -704
_MAYBE_ANOTHER_SIZE = (-600, -800)


class MooncakeMissing(ImportError):
    """The package, or a library that it needs, is not installed."""


@dataclass(frozen=True, slots=True)
class MooncakeConfig:
    """How to reach a store, and how long to wait for it.

    `segment_bytes` of this process's memory are lent to the store: pages of all clients lie in
    what its clients lend. `protocol` is `tcp` or `rdma`, then with a `device`. Limits are seconds:
    `setup_limit` to join the store, `limit` for up to 128 pages, `ask_limit` to ask for keys,
    during which the scheduler waits, `close_limit` for calls that are late when it is closed.
    """

    master: str
    segment_bytes: int
    hostname: str = "127.0.0.1"
    metadata_server: str = "P2PHANDSHAKE"
    protocol: str = "tcp"
    device: str = ""
    buffer_bytes: int = 16 << 20
    setup_limit: float = 60.0
    limit: float = 5.0
    ask_limit: float = 1.0
    close_limit: float = 5.0


class HiCacheMooncake(HiCacheStorage):
    """Pages in a Mooncake store. `store`, if given, is a client that has joined one already.

    Raises `MooncakeMissing` where the package is not installed, and `OSError` where the store
    cannot be joined in time.
    """

    def __init__(
        self, config: MooncakeConfig, page_format: PageFormat, store: Any | None = None
    ) -> None:
        super().__init__(page_format)
        self.config = config
        self._closed = False
        self._writing, self._reading, self._asking = (
            TimedCalls(f"mooncake {kind}") for kind in ("put", "get", "exists")
        )
        self._store = self._joined() if store is None else store
        # Late calls read and write their headers, so no other call may use those meanwhile.
        self._headers = {
            calls: torch.zeros(BATCH_PAGES, HEADER_BYTES, dtype=torch.uint8)
            for calls in (self._writing, self._reading)
        }
        self._registered: list[torch.Tensor] = []
        self._register(list(self._headers.values()))

    def register_mem_pool_host(self, pages: HostPages) -> None:
        """Make the pool's buffers known to the store. Raises `OSError` if it will not have them."""
        self._register(pages.buffers())

    def set_pages(
        self, keys: Sequence[str], pages: HostPages, slots: Sequence[int], parent: str = ""
    ) -> None:
        """Keep host pages under `keys`, from where they lie, up to the first that cannot be.

        Raises `NotKept`, with how many are kept, where one cannot be.
        """
        self._need_head(parent)
        for start in range(0, len(keys), BATCH_PAGES):
            batch = slice(start, start + BATCH_PAGES)
            stretches = [pages.stretches(slot) for slot in slots[batch]]
            try:
                codes = self._put_twice(keys[batch], stretches)
            except OSError as error:
                raise NotKept(str(error), start) from error
            kept = next((at for at, code in enumerate(codes) if code), len(codes))
            if kept < len(codes):
                taken = zip(keys[batch][kept:], codes[kept:], strict=True)
                self._drop([key for key, code in taken if not code])
                words = f"mooncake put: {len(codes) - kept} of {len(codes)} pages: {codes[kept]}"
                raise NotKept(words, start + kept)

    def get_pages(
        self, keys: Sequence[str], pages: HostPages, slots: Sequence[int]
    ) -> Iterator[bool]:
        """Fill host pages where they lie; say of each, in order, if it is right.

        Raises `OSError` where the store fails, and `Stalled` where it may go on to write into them.
        """
        for start in range(0, len(keys), BATCH_PAGES):
            batch = slice(start, start + BATCH_PAGES)
            yield from self._get(keys[batch], [pages.stretches(slot) for slot in slots[batch]])

    def set(self, key: str, page: torch.Tensor) -> None:
        """Keep `page`, uint8 of shape (page_bytes,). Raises `OSError` where the store fails."""
        self._check(page, "page")
        self._set([key], [[(page.data_ptr(), page.numel())]], kept_alive=page)

    def get(self, key: str, target: torch.Tensor) -> bool:
        """Fill `target` with the page; False if there is none or it cannot be believed."""
        self._check(target, "target")
        page = torch.empty_like(target)  # a page that is refused has been written by then
        (found,) = self._get([key], [[(page.data_ptr(), page.numel())]], kept_alive=page)
        if found:
            target.copy_(page)
        return found

    def exists(self, key: str) -> bool:
        """Whether the store has an object of that name."""
        return self.batch_exists([key]) == 1

    def batch_exists(self, keys: Sequence[str]) -> int:
        """Give how many of `keys`, counted from the first, exist without a gap.

        Raises `OSError` where the store fails or gives no answer within `ask_limit` seconds.
        """
        if not keys:
            return 0
        names = [self.name(key) for key in keys]
        answers = self._call(
            self._asking, lambda: self._store.batch_is_exist(names), self.config.ask_limit
        )
        if answers and answers[0] < 0:
            raise OSError(f"mooncake exists: failed with {answers[0]}")
        return next((at for at, answer in enumerate(answers) if answer != 1), len(keys))

    def name(self, key: str) -> str:
        """Give the name of a page's object. Raises `ValueError` unless `key` is a page's key."""
        return f"hicache-{self.format.digest.hex()[:16]}-{check_key(key)}"

    def close(self) -> None:
        """Leave the store, once late calls have returned. Idempotent.

        If one has not within the limit, this is logged, and nothing is taken from the store: the
        pools' memory must outlive the call.
        """
        if self._closed:
            return
        self._closed = True
        kinds = (self._writing, self._reading, self._asking)
        late = [calls for calls in kinds if not calls.wait(self.config.close_limit)]
        if not late:
            try:
                self._asking.call(self._leave, self.config.close_limit)
            except OSError as error:
                logger.warning("the Mooncake store was not left", exc_info=error)
        else:
            logger.warning("a call to the Mooncake store has not returned, it is not left")
        for calls in kinds:
            calls.close()
        super().close()

    def _joined(self) -> Any:
        store, config = _client(), self.config
        code = self._asking.call(
            lambda: store.setup(
                config.hostname,
                config.metadata_server,
                config.segment_bytes,
                config.buffer_bytes,
                config.protocol,
                config.device,
                config.master,
            ),
            config.setup_limit,
        )
        if code:
            raise OSError(f"mooncake setup: failed with {code}; is a master at {config.master}?")
        return store

    def _leave(self) -> None:
        for buffer in self._registered:
            self._store.unregister_buffer(buffer.data_ptr())
        self._registered.clear()
        self._store.close()

    def _register(self, buffers: Sequence[torch.Tensor]) -> None:
        for buffer in buffers:
            size = buffer.numel() * buffer.itemsize
            known = any(buffer.data_ptr() == other.data_ptr() for other in self._registered)
            if known or not size:
                continue
            call = functools.partial(self._store.register_buffer, buffer.data_ptr(), size)
            code = self._call(self._asking, call, self.config.setup_limit)
            if code:
                raise OSError(f"mooncake register: failed with {code} for {size} bytes")
            self._registered.append(buffer)

    def _set(
        self,
        keys: Sequence[str],
        stretches: Sequence[list[_Stretch]],
        kept_alive: torch.Tensor | None = None,
    ) -> None:
        call = _Batch([self.name(key) for key in keys], stretches, kept_alive)
        codes = self._put(call, keys)
        failed = [code for code in codes if code]
        if failed:
            raise OSError(f"mooncake put: {len(failed)} of {len(codes)} pages: {failed[0]}")

    def _put_twice(self, keys: Sequence[str], stretches: Sequence[list[_Stretch]]) -> list[int]:
        """Put pages, those that fail once more; give what the store says of each at last."""
        codes = [0] * len(keys)
        failed = list(range(len(keys)))
        for _ in range(2):
            again = [keys[at] for at in failed]
            call = _Batch([self.name(key) for key in again], [stretches[at] for at in failed], None)
            found = self._put(call, again)
            for at, code in zip(failed, found, strict=True):
                codes[at] = code
            failed = [at for at in failed if codes[at]]
            if not failed:
                break
        return codes

    def _drop(self, keys: Sequence[str]) -> None:
        """Remove pages whose head the store has not taken; what cannot be removed in time stays."""
        end = time.monotonic() + self.config.limit
        for key in keys:
            remove = functools.partial(self._store.remove, self.name(key), True)
            try:
                code: int = self._call(self._writing, remove, max(0.0, end - time.monotonic()))
                if code and code != _NOT_FOUND:
                    raise OSError(f"mooncake remove: {code}")
            except OSError as error:
                logger.warning("pages without a head are left in the store", exc_info=error)
                return

    def _put(self, call: _Batch, keys: Sequence[str]) -> list[int]:
        """Put pages; give what the store says of each."""
        # Headers are made before the call, which may be late: pages that are another's by the time
        # it reads them do not agree with their checksums.
        digest = self.format.digest
        heads = [
            header(key, digest, _views(page))
            for key, page in zip(keys, call.stretches, strict=True)
        ]
        return self._call(self._writing, functools.partial(self._put_now, call, heads))

    def _put_now(self, call: _Batch, heads: Sequence[bytes]) -> list[int]:
        rows = self._headers[self._writing]
        for row, head in zip(rows, heads, strict=False):
            row.copy_(torch.frombuffer(bytearray(head), dtype=torch.uint8))
        codes: list[int] = self._store.batch_put_from_multi_buffers(call.names, *call.memory(rows))
        return codes

    def _get(
        self,
        keys: Sequence[str],
        stretches: Sequence[list[_Stretch]],
        kept_alive: torch.Tensor | None = None,
    ) -> list[bool]:
        rows = self._headers[self._reading]
        call = _Batch([self.name(key) for key in keys], stretches, kept_alive)
        sizes = self._call(
            self._reading,
            lambda: self._store.batch_get_into_multi_buffers(call.names, *call.memory(rows)),
        )
        failed = [size for size in sizes if size < 0 and size != _NOT_FOUND]
        if failed:
            logger.warning("mooncake get: %d of %d pages: %d", len(failed), len(sizes), failed[0])
        return [
            self._is_right(key, row.numpy().tobytes(), size, page)
            for key, row, size, page in zip(keys, rows, sizes, stretches, strict=False)
        ]

    def _is_right(self, key: str, head: bytes, size: int, page: list[_Stretch]) -> bool:
        if size == _NOT_FOUND:
            return False
        whole = HEADER_BYTES + self.format.page_bytes
        if size < 0 and not (size in _MAYBE_ANOTHER_SIZE and self._has_another_size(key, whole)):
            return False
        fault = (
            fault_of(head, key, self.format.digest, _views(page))
            if size == whole
            else f"an object that does not have the {whole} bytes of a page"
        )
        if fault is not None:
            logger.warning("mooncake: page %s is refused: %s", key, fault)
            self.refused += 1
            # A put leaves what is there as it is, so it would be refused for ever.
            name = self.name(key)
            self._call(self._reading, lambda: self._store.remove(name, True))
        return fault is None

    def _has_another_size(self, key: str, whole: int) -> bool:
        """Whether a read failed because the object has not the size of a page."""
        name = self.name(key)
        size: int = self._call(self._reading, lambda: self._store.get_size(name))
        return size >= 0 and size != whole

    def _call(
        self, calls: TimedCalls, function: Callable[[], _Result], limit: float | None = None
    ) -> _Result:
        if self._closed:
            raise OSError("the Mooncake store was left")
        return calls.call(function, self.config.limit if limit is None else limit)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one call is about; it holds what the call uses until the call returns."""

    names: list[str]
    stretches: Sequence[list[_Stretch]]
    kept_alive: torch.Tensor | None

    def memory(self, headers: torch.Tensor) -> tuple[list[list[int]], list[list[int]]]:
        """Give for each object the addresses of its parts, and their sizes in bytes."""
        addresses, sizes = [], []
        for row, page in zip(headers, self.stretches, strict=False):
            addresses.append([row.data_ptr(), *(at for at, _ in page)])
            sizes.append([HEADER_BYTES, *(size for _, size in page)])
        return addresses, sizes


def _views(stretches: Sequence[_Stretch]) -> list[memoryview]:
    return [
        memoryview((ctypes.c_ubyte * size).from_address(at)).cast("B") for at, size in stretches
    ]


def _client() -> Any:
    try:
        from mooncake.store import MooncakeDistributedStore
    except ModuleNotFoundError as error:
        raise MooncakeMissing(
            "storage: Mooncake is not installed. It comes with\n"
            "  pip install mooncake-transfer-engine           (with CUDA)\n"
            "  pip install mooncake-transfer-engine-non-cuda  (without)"
        ) from error
    except ImportError as error:
        raise MooncakeMissing(
            f"storage: Mooncake lacks a library ({error}). On Debian it needs libibverbs1, "
            "librdmacm1, libnuma1 and libcurl4"
        ) from error
    return MooncakeDistributedStore()
