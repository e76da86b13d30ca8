"""Movements of pages between two tiers: what one is, how it ends, and how to wait for it.

Transfers are made and taken back by one thread, the scheduler; a worker thread carries each out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch


class TransferError(RuntimeError):
    """A transfer failed on its worker thread; the cause is chained."""


_NONE = torch.empty(0, dtype=torch.int64)


class Transfer:
    """Pages on their way. `host_indices` and `device_indices` are slots in the same order.

    Where storage is the other end there are `keys`, one for each page, and no `device_indices`.

    `tag` is the caller's, returned untouched. `kind` is `write` (device to host), `load` (host to
    device), `backup` (host to storage) or `prefetch` (storage to host). `seconds` is how long it
    was under way, the wait in its worker's queue included; 0 until it has ended.
    """

    def __init__(
        self,
        kind: str,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor = _NONE,
        *,
        keys: Sequence[str] = (),
        tag: Any = None,
        mark: torch.cuda.Event | None = None,
    ) -> None:
        self.kind = kind
        self.host_indices = host_indices
        self.device_indices = device_indices
        self.keys = tuple(keys)
        self.tag = tag
        self.mark = mark
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._began = time.perf_counter()
        self._ended = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether the worker is through with it, well or not."""
        return self._ended.is_set()

    def stop_clock(self) -> None:
        """Note how long it took. Called once, by the worker, before anyone may read it."""
        self.seconds = time.perf_counter() - self._began

    def end(self) -> None:
        """Wake who waits. Called once, by the worker, with `error` set before if it failed."""
        self._ended.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the end, at most `timeout` seconds.

        Raises `TimeoutError` if it is still under way, `TransferError` if it failed.
        """
        if not self.join(timeout):
            raise TimeoutError(f"the {self.kind} is still under way after {timeout} s")
        self._raise()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, well or not; False if it did not come within `timeout` seconds."""
        return self._ended.wait(timeout)

    def _raise(self) -> None:
        if self.error is not None:
            raise TransferError(f"the {self.kind} failed: {self.error}") from self.error


class Load(Transfer):
    """A load, layer by layer: whoever needs layer 0 need not wait for layer 1."""

    def __init__(
        self,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        layer_num: int,
        *,
        tag: Any = None,
        mark: torch.cuda.Event | None = None,
    ) -> None:
        super().__init__("load", host_indices, device_indices, tag=tag, mark=mark)
        self._layers = [threading.Event() for _ in range(layer_num)]
        self._arrived = 0

    def layer_done(self, layer: int) -> None:
        """Note that `layer` (local, from 0) lies on the device. Called by the worker, in order."""
        self._arrived = layer + 1
        self._layers[layer].set()

    def end(self) -> None:
        """Wake who waits, also for layers that will never come."""
        super().end()
        for layer in self._layers:
            layer.set()

    def wait_layer(self, layer: int, timeout: float | None = None) -> None:
        """Wait until `layer` (local, from 0) lies on the device.

        Raises `TimeoutError` after `timeout` seconds, `TransferError` if it will never lie there.
        """
        if not self._layers[layer].wait(timeout):
            raise TimeoutError(f"layer {layer} is still under way after {timeout} s")
        if self._arrived <= layer:
            self._raise()


class Backup(Transfer):
    """A backup of pages that follow each other, the first of them the page `parent`, "" for none.

    The first `kept` are in storage when it has ended.
    """

    def __init__(
        self, host_indices: torch.Tensor, keys: Sequence[str], parent: str = "", *, tag: Any = None
    ) -> None:
        super().__init__("backup", host_indices, keys=keys, tag=tag)
        self.parent = parent
        self.kept = 0


class Prefetch(Transfer):
    """A prefetch. Pages that arrived are whoever's takes it from `finished`, others the worker's.

    The worker gives its pages back, once, when it ends. So nobody gives a page back that is still
    being written, and nobody gives one back twice.
    """

    def __init__(self, host_indices: torch.Tensor, keys: Sequence[str], *, tag: Any = None) -> None:
        super().__init__("prefetch", host_indices, keys=keys, tag=tag)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._over = False
        self._completed = 0

    def stop(self) -> None:
        """Ask the worker to end after the page it is at: the request was aborted."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether more pages are of no use."""
        return self._stopped.is_set()

    @property
    def completed(self) -> int:
        """How many pages have arrived, counted from the first; may grow until it has ended."""
        return self._completed

    def advance(self) -> None:
        """Note that one more page has arrived, unless it is too late. Called by the worker."""
        with self._lock:
            self._completed += not self._over

    def end_arrivals(self) -> torch.Tensor:
        """Let no page arrive any more; give the slots of those that have not, as `missing`."""
        self._stopped.set()
        with self._lock:
            self._over = True
            return self.missing()

    def arrived(self) -> torch.Tensor:
        """Give the host slots of the pages that have arrived: int64, whole pages."""
        return self.host_indices[: self._completed * self._page_size]

    def missing(self) -> torch.Tensor:
        """Give the host slots of the pages that have not arrived: int64, whole pages."""
        return self.host_indices[self._completed * self._page_size :]

    @property
    def _page_size(self) -> int:
        return self.host_indices.numel() // len(self.keys)


class LayerDoneCounter:
    """Holds who reads a layer of a device pool back until every load has brought it.

    Local layers, from 0. One forward pass at a time: `attach` replaces what was attached.
    """

    def __init__(self) -> None:
        self._loads: tuple[Load, ...] = ()

    def attach(self, loads: Iterable[Load]) -> None:
        """Make the next forward pass wait for `loads`."""
        self._loads = tuple(loads)

    def wait_until(self, layer: int) -> None:
        """Wait for `layer` of every attached load. Raises `TransferError` if one failed."""
        for load in self._loads:
            load.wait_layer(layer)
