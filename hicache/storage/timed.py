"""Calls that are waited for no longer than a limit, for libraries whose calls have none."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone  # of its own before CPython 3.11
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Stalled(TimeoutError):
    """A call has not returned in time, and still runs: `over` is done when it has.

    Until then it may read and write the memory that it was given.
    """

    def __init__(self, words: str, over: Future[Any]) -> None:
        super().__init__(words)
        self.over = over


class TimedCalls:
    """A thread that makes one call at a time. While one is late, others are refused at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._last: Future[Any] | None = None
        self._queue: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None  # until there is something to call

    def call(self, function: Callable[[], _Result], limit: float) -> _Result:
        """Give what `function` returns, or raise what it raises.

        Raises `Stalled` if it does not return within `limit` seconds, and `OSError`, without having
        called it, while an earlier call is late.
        """
        with self._lock:
            if self._last is not None and not self._last.done():
                raise OSError(f"{self._name}: an earlier call has not returned yet")
            if self._thread is None:
                # A daemon, since a call that never returns must not keep the program from ending.
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            future: Future[_Result] = Future()
            self._last = future
            self._queue.put((future, function))
        try:
            return future.result(limit)
        except NotDone as error:
            if future.done():  # just now, or the error is the call's own
                return future.result()
            raise Stalled(f"{self._name}: no answer within {limit} s", future) from error

    def wait(self, limit: float) -> bool:
        """Wait until no call is late; False if one still is after `limit` seconds."""
        with self._lock:
            last = self._last
        if last is None:
            return True
        returned = threading.Event()
        last.add_done_callback(lambda _: returned.set())
        return returned.wait(limit)

    def close(self) -> None:
        """End the thread, which a late call outlives. No call may follow. Idempotent."""
        self._queue.put(None)
        if self._thread is not None and self.wait(0):
            self._thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            future, function = work
            try:
                result = function()
            except BaseException as error:  # whose call it is is told
                future.set_exception(error)
            else:
                future.set_result(result)
