"""Worker threads that carry out transfers in order, and the streams that their copies run on."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

import torch

from hicache.storage.timed import Stalled
from hicache.transfers import Transfer

logger = logging.getLogger(__name__)

_Kind = TypeVar("_Kind", bound=Transfer)


class Closed(RuntimeError):
    """A transfer was still queued, or was to be queued, when its worker was closed."""


class Worker(Generic[_Kind]):
    """One thread that handles transfers in the order they were submitted.

    `handle` does the work; what it raises is logged and becomes the transfer's error, and the
    thread goes on with the next. `ended` is told of each transfer, on the worker's thread.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[_Kind], None],
        ended: Callable[[_Kind, BaseException | None], None],
    ) -> None:
        self._handle = handle
        self._ended = ended
        self._queue: queue.SimpleQueue[_Kind | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._running: _Kind | None = None  # what `ended` is still to be told of
        self._abandoned = False  # and was told of what runs nevertheless, which is then `_over`
        self._over: Future[None] = Future()
        # A daemon, since a forgotten `close` must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, transfer: _Kind) -> None:
        """Queue a transfer. Raises `Closed` after `close`."""
        if self._closed.is_set():
            raise Closed(f"{self._thread.name}: closed, no {transfer.kind} can be queued")
        self._queue.put(transfer)

    def close(self, limit: float | None = None) -> bool:
        """Let the running transfer finish, fail the queued ones, end the thread. Idempotent.

        With a `limit` in seconds, say whether the thread has ended by then.
        """
        if not self._closed.is_set():
            self._closed.set()
            self._queue.put(None)
        self._thread.join(limit)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """After `close`: end what runs and what is queued as `Stalled`, while the thread hangs.

        The thread goes on with what it is at, and is heeded no more.
        """
        with self._lock:
            running, self._running = self._running, None
            if running is not None:
                self._abandoned = True
                words = f"{self._thread.name}: closed before it was through"
                self._ended(running, Stalled(words, self._over))
            while not self._queue.empty():
                if (queued := self._queue.get_nowait()) is not None:
                    self._ended(queued, Closed("the cache controller was closed"))
            self._queue.put(None)

    def _run(self) -> None:
        while (transfer := self._queue.get()) is not None:
            with self._lock:
                self._running = transfer
            error = self._carry_out(transfer)
            with self._lock:
                if not self._abandoned:
                    self._running = None
                    self._ended(transfer, error)
            if self._abandoned:
                self._over.set_result(None)
                return

    def _carry_out(self, transfer: _Kind) -> BaseException | None:
        error: BaseException | None = None
        try:
            if self._closed.is_set():
                raise Closed("the cache controller was closed")
            self._handle(transfer)
        except Closed as closed:
            error = closed
        except Exception as caught:
            logger.warning("%s: a %s failed", self._thread.name, transfer.kind, exc_info=caught)
            error = caught
        return error


class CopyStream:
    """Orders a worker's copies behind what the scheduler's stream was given before them.

    On a CPU there is nothing to order, since what was computed is there.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def mark(self) -> torch.cuda.Event | None:
        """Mark what the calling thread's stream has been given up to now."""
        if self._stream is None:
            return None
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._stream.device))
        return event

    @contextmanager
    def after(self, mark: torch.cuda.Event | None) -> Iterator[None]:
        """Copy on the worker's own stream, behind `mark`."""
        if self._stream is None or mark is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(mark)
            yield

    def finish(self) -> None:
        """Wait until the copies that were started have arrived."""
        if self._stream is not None:
            self._stream.synchronize()
