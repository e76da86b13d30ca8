"""Moves pages between device, host and storage, on worker threads.

Four workers, each in the order of its queue: device to host, host to device (layer by layer), host
to storage, storage to host. One thread, the scheduler, calls everything here but
`append_host_mem_release`, which any thread may call. So host and device pages are given out and
taken back by the scheduler alone.

Every transfer comes back once from `finished`, well or failed. Until then its pages are in flight:
`evict_host` and `evict_device` refuse them.
"""

from __future__ import annotations

import logging
import queue
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import torch

from hicache.device_pools import PagedTokenToKVPoolAllocator
from hicache.host_pools import HostPages
from hicache.pages import pages_of
from hicache.statistics import Moved, TransferStats
from hicache.storage.base import HiCacheStorage, NotKept
from hicache.storage.timed import Stalled, TimedCalls
from hicache.transfers import Backup, LayerDoneCounter, Load, Prefetch, Transfer
from hicache.workers import Closed, CopyStream, Worker
from pool_host import HostKVCache, HostPoolGroup

logger = logging.getLogger(__name__)

_Kind = TypeVar("_Kind", bound=Transfer)
_Taken_contra = TypeVar("_Taken_contra", bound=Transfer, contravariant=True)


class WorkerLike(Protocol[_Taken_contra]):
    """What the controller asks of a worker; tests drive one by hand."""

    def submit(self, transfer: _Taken_contra) -> None:
        """Queue a transfer."""

    def close(self, limit: float | None = None) -> bool:
        """End, once the running transfer has; say whether it has within `limit` seconds."""

    def abandon(self) -> None:
        """After `close`: end what runs nevertheless."""


class WorkerFactory(Protocol):
    """How a worker is made: see `Worker`."""

    def __call__(
        self,
        name: str,
        handle: Callable[[_Kind], None],
        ended: Callable[[_Kind, BaseException | None], None],
    ) -> WorkerLike[_Kind]:
        """Make one that handles transfers with `handle` and tells `ended` of each."""


class HiCacheController:
    """Moves the pages of one device pool to and from its host pool, and that one's to storage.

    `io_backend` is how rows are copied: `kernel` or `direct`, as the host pool's layout allows.
    Without `storage`, `backup` and `prefetch` raise `ValueError`. `ask_limit` is how many seconds
    the scheduler waits for storage to say what it has, `close_limit` how many `close` waits for
    what storage is at.
    """

    def __init__(
        self,
        token_to_kv_pool_allocator: PagedTokenToKVPoolAllocator,
        mem_pool_host: HostKVCache | HostPoolGroup,
        *,
        io_backend: str = "kernel",
        storage: HiCacheStorage | None = None,
        worker: WorkerFactory = Worker,
        ask_limit: float = 5.0,
        close_limit: float = 1.0,
    ) -> None:
        self.mem_pool_device_allocator = token_to_kv_pool_allocator
        self.mem_pool_device = token_to_kv_pool_allocator.get_kvcache()
        self.mem_pool_host = mem_pool_host
        self.page_size = token_to_kv_pool_allocator.page_size
        if mem_pool_host.page_size != self.page_size:
            raise ValueError(
                f"mem_pool_host: expected pages of {self.page_size} slots as on the device, "
                f"got {mem_pool_host.page_size}"
            )
        self._pages = HostPages(mem_pool_host, self.mem_pool_device)
        if storage is not None and storage.format.page_bytes != self._pages.page_bytes:
            raise ValueError(
                f"storage: expected pages of {self._pages.page_bytes} bytes, "
                f"got {storage.format.page_bytes}"
            )
        if storage is not None:
            storage.register_mem_pool_host(self._pages)
        self.io_backend = io_backend
        self.storage = storage
        self.ask_limit = ask_limit
        self.close_limit = close_limit
        self._asking = TimedCalls("hicache-ask")
        self.stats = TransferStats()
        self.layer_done_counter = LayerDoneCounter()
        self.mem_pool_device.register_layer_transfer_counter(self.layer_done_counter)
        self._ended: queue.SimpleQueue[Transfer] = queue.SimpleQueue()
        self._releases: queue.SimpleQueue[torch.Tensor] = queue.SimpleQueue()
        self._open = 0
        self._closed = False
        self._host_in_flight: Counter[int] = Counter()
        self._device_in_flight: Counter[int] = Counter()
        device = torch.device(self.mem_pool_device.device)
        self._write_stream, self._load_stream = CopyStream(device), CopyStream(device)
        self._writer = worker("hicache-write", self._write, self._end)
        self._loader = worker("hicache-load", self._load, self._end)
        self._backuper = worker("hicache-backup", self._backup, self._end)
        self._prefetcher = worker("hicache-prefetch", self._prefetch, self._end)

    # Between device and host

    def write(self, device_indices: torch.Tensor, tag: Any = None) -> Transfer | None:
        """Start to copy device pages to the host; None if the host has no room for all of them.

        The host pages are the transfer's until `finished` gives it back; then they are whoever's
        takes them from it, also if it failed.
        """
        self._need_open()
        self.mem_pool_device_allocator.check_in_use(device_indices, "device_indices")
        host_indices = self.mem_pool_host.alloc(device_indices.numel())
        if host_indices is None:
            return None
        mark = self._write_stream.mark()
        write = Transfer("write", host_indices, device_indices.clone(), tag=tag, mark=mark)
        return self._start(self._writer, write)

    def load(self, host_indices: torch.Tensor, tag: Any = None) -> Load | None:
        """Start to copy host pages to the device; None if the device has no room for all of them.

        Whoever reads a layer of the device pool waits for that layer alone, if the load is attached
        to `layer_done_counter`.
        """
        self._need_open()
        pages_of(host_indices, self.page_size, "host_indices")
        device_indices = self.mem_pool_device_allocator.alloc(host_indices.numel())
        if device_indices is None:
            return None
        layer_num = self.mem_pool_device.layer_num
        mark = self._load_stream.mark()
        load = Load(host_indices.clone(), device_indices, layer_num, tag=tag, mark=mark)
        return self._start(self._loader, load)

    # Between host and storage

    def backup(
        self, host_indices: torch.Tensor, keys: Sequence[str], parent: str = "", tag: Any = None
    ) -> Backup:
        """Start to keep host pages under `keys`, one for each page, in order.

        Each page follows the one before it, the first the page `parent` (its key, "" for none).
        None is kept without the one that it follows. Raises `ValueError` unless there are as many
        keys as pages, or without storage, and `Closed` after `close`.
        """
        self._need_open()
        self._need_storage()
        pages = pages_of(host_indices, self.page_size, "host_indices")
        if len(keys) != len(pages):
            raise ValueError(f"keys: expected one for each of {len(pages)} pages, got {len(keys)}")
        backup = Backup(host_indices.clone(), keys, parent, tag=tag)
        return self._start(self._backuper, backup)

    def count_stored(self, keys: Sequence[str]) -> int:
        """Give how many of `keys`, counted from the first, storage has; none if it fails.

        It fails as well if it gives no answer in time, and until it has given that one.
        """
        storage = self._need_storage()
        try:
            return self._asking.call(lambda: storage.batch_exists(keys), self.ask_limit)
        except OSError as error:
            logger.warning("storage cannot be asked for pages", exc_info=error)
            self.stats.fail("prefetch")
            return 0

    def prefetch(self, keys: Sequence[str], tag: Any = None) -> Prefetch | None:
        """Start to bring the pages `keys` to the host, in order, up to the first that is missing.

        If the host has not room for all, the first ones that fit are brought: keys and slots are
        shortened alike. None if not one fits. See `Prefetch` for whose the pages are.
        """
        self._need_open()
        self._need_storage()
        page_size, pool = self.page_size, self.mem_pool_host
        host_indices = pool.alloc(len(keys) * page_size)
        if host_indices is None:
            fitting = pool.available_size() // page_size
            host_indices = pool.alloc(fitting * page_size)  # None if others were faster
        if host_indices is None or not host_indices.numel():
            return None
        fitting = host_indices.numel() // page_size
        prefetch = Prefetch(host_indices, keys[:fitting], tag=tag)
        return self._start(self._prefetcher, prefetch)

    # Ends

    def finished(self, *, wait: bool = False, timeout: float | None = None) -> list[Transfer]:
        """Take back the transfers that have ended, in the order in which they did.

        With `wait` at least one, if any is open. Raises `TimeoutError` if none ends in `timeout`
        seconds.
        Pages that workers released are given back to the host pool as well.
        """
        ended: list[Transfer] = []
        while self._open:
            try:
                transfer = self._ended.get(wait and not ended, timeout)
            except queue.Empty:
                if wait and not ended:
                    raise TimeoutError(f"{self._open} transfers open, none ended") from None
                break
            self._open -= 1
            self._count_pages(transfer, -1)
            self.stats.record(
                transfer.kind,
                self._moved(transfer),
                transfer.seconds,
                failed=transfer.error is not None,
            )
            if isinstance(transfer, Backup):
                self.stats.leave_out(len(transfer.keys) - transfer.kept)
            ended.append(transfer)
        self.drain_host_mem_release()
        return ended

    @property
    def open_transfers(self) -> int:
        """How many transfers `finished` has still to give back."""
        return self._open

    @property
    def is_device_busy(self) -> bool:
        """Whether device pages are in flight, so that waiting may make them free to evict."""
        return bool(self._device_in_flight)

    @property
    def is_closed(self) -> bool:
        """Whether no transfer can be started any more."""
        return self._closed

    def evict_device(self, device_indices: torch.Tensor) -> int:
        """Give device pages back; give their number of slots. Raises `ValueError` if in flight."""
        self._refuse_in_flight(device_indices, self._device_in_flight, "device_indices")
        self.mem_pool_device_allocator.free(device_indices)
        return device_indices.numel()

    def evict_host(self, host_indices: torch.Tensor) -> int:
        """Give host pages back; give their number of slots. Raises `ValueError` if in flight."""
        self._refuse_in_flight(host_indices, self._host_in_flight, "host_indices")
        return self.mem_pool_host.free(host_indices)

    def append_host_mem_release(self, host_indices: torch.Tensor) -> None:
        """Note host pages for the scheduler to give back. Nothing is queued for no pages."""
        if host_indices.numel():
            self._releases.put(host_indices)

    def drain_host_mem_release(self) -> int:
        """Give back to the host pool what was noted for release; give the number of slots."""
        released = 0
        while True:
            try:
                host_indices = self._releases.get_nowait()
            except queue.Empty:
                return released
            released += self.mem_pool_host.free(host_indices)

    def close(self) -> None:
        """End the workers: what runs finishes, what is queued fails. Idempotent.

        What storage is at is given up after `close_limit` seconds. What ended is still to be taken
        from `finished`, since its pages are.
        """
        self._closed = True
        self._writer.close()
        self._loader.close()
        with_storage = (self._backuper, self._prefetcher)
        until = time.monotonic() + self.close_limit
        late = [each for each in with_storage if not each.close(max(0.0, until - time.monotonic()))]
        if self.storage is not None:
            self.storage.give_up()
        for worker in late:
            if not worker.close(self.close_limit):
                worker.abandon()
        self._asking.close()
        self.mem_pool_device.register_layer_transfer_counter(None)
        if self.storage is not None:
            self.storage.close()

    # On the workers' threads

    def _write(self, transfer: Transfer) -> None:
        with self._write_stream.after(transfer.mark):
            self._pages.store(transfer.host_indices, transfer.device_indices, self.io_backend)
        self._write_stream.finish()

    def _load(self, transfer: Load) -> None:
        with self._load_stream.after(transfer.mark):
            for layer in range(self.mem_pool_device.layer_num):
                self._pages.load(
                    layer, transfer.host_indices, transfer.device_indices, self.io_backend
                )
                self._load_stream.finish()
                transfer.layer_done(layer)

    def _backup(self, transfer: Backup) -> None:
        slots = self._first_slots(transfer)
        try:
            self._need_storage().set_pages(transfer.keys, self._pages, slots, transfer.parent)
        except NotKept as error:
            transfer.kept = error.kept
            raise
        transfer.kept = len(transfer.keys)

    def _prefetch(self, transfer: Prefetch) -> None:
        slots = self._first_slots(transfer)
        arrivals = self._need_storage().get_pages(transfer.keys, self._pages, slots)
        while not transfer.stopped and next(arrivals, False):
            transfer.advance()

    def _end(self, transfer: Transfer, error: BaseException | None) -> None:
        transfer.error = error
        transfer.stop_clock()
        if isinstance(transfer, Prefetch):
            missing = transfer.end_arrivals()
            if isinstance(error, Stalled):
                # Storage may still write into them: nobody may have them before it has returned.
                error.over.add_done_callback(lambda _: self.append_host_mem_release(missing))
            else:
                self.append_host_mem_release(missing)
        self._ended.put(transfer)  # before anyone is woken, who may look for it there
        transfer.end()

    # Books

    def _start(self, worker: WorkerLike[_Kind], transfer: _Kind) -> _Kind:
        worker.submit(transfer)
        self._open += 1
        self._count_pages(transfer, 1)
        return transfer

    def _count_pages(self, transfer: Transfer, change: int) -> None:
        """Enter the pages of a transfer in the books of what is in flight, or strike them out."""
        for slots, books in (
            (transfer.host_indices, self._host_in_flight),
            (transfer.device_indices, self._device_in_flight),
        ):
            for page in pages_of(slots, self.page_size, "slots"):
                books[page] += change
                if not books[page]:
                    del books[page]

    def _moved(self, transfer: Transfer) -> Moved:
        """Give what of a transfer has arrived."""
        if isinstance(transfer, Prefetch):
            arrived = transfer.completed
        elif isinstance(transfer, Backup):
            arrived = transfer.kept
        else:
            arrived = 0 if transfer.error else transfer.host_indices.numel() // self.page_size
        slots = arrived * self.page_size
        host = pages_of(transfer.host_indices[:slots], self.page_size, "host_indices")
        if transfer.kind not in {"write", "load"}:
            return self._pages.moved(host)
        device = pages_of(transfer.device_indices[:slots], self.page_size, "device_indices")
        return self._pages.moved(host, device, self.io_backend)

    def _refuse_in_flight(self, slots: torch.Tensor, books: Counter[int], argument: str) -> None:
        busy = [page for page in pages_of(slots, self.page_size, argument) if books[page]]
        if busy:
            raise ValueError(f"{argument}: expected pages at rest, {busy} are in flight")

    def _first_slots(self, transfer: Transfer) -> list[int]:
        slots: list[int] = transfer.host_indices[:: self.page_size].tolist()
        return slots

    def _need_open(self) -> None:
        if self._closed:
            raise Closed("the cache controller was closed")

    def _need_storage(self) -> HiCacheStorage:
        if self.storage is None:
            raise ValueError("storage: expected a back end, this controller has none")
        return self.storage
