"""Calls that are waited for no longer than a limit, for libraries whose calls have none."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Work = tuple["Future[Any]", Callable[[], Any]] | None


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
        self._given_up: Future[None] = Future()
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None  # until there is something to call
        # The thread knows the queue alone, so whoever forgets to close loses no thread for it.
        weakref.finalize(self, self._queue.put, None)

    def call(self, function: Callable[[], _Result], limit: float) -> _Result:
        """Give what `function` returns, or raise what it raises.

        Raises `Stalled` if it does not return within `limit` seconds, or before `give_up`; and
        `OSError`, without having called it, while an earlier call is late.
        """
        with self._lock:
            if self._last is not None and not self._last.done():
                raise OSError(f"{self._name}: an earlier call has not returned yet")
            if self._given_up.done():
                raise OSError(f"{self._name}: closed")
            if self._thread is None:
                # A daemon, since a call that never returns must not keep the program from ending.
                self._thread = threading.Thread(
                    target=_carry_out, args=(self._queue,), name=self._name, daemon=True
                )
                self._thread.start()
            future: Future[_Result] = Future()
            self._last = future
            self._queue.put((future, function))
        either: list[Future[Any]] = [future, self._given_up]
        wait(either, limit, FIRST_COMPLETED)
        if not future.done():
            words = "closed before the answer" if self._given_up.done() else "no answer"
            raise Stalled(f"{self._name}: {words} within {limit} s", future)
        return future.result()

    def wait(self, limit: float) -> bool:
        """Wait until no call is late; False if one still is after `limit` seconds."""
        with self._lock:
            last = self._last
        if last is None:
            return True
        returned = threading.Event()
        last.add_done_callback(lambda _: returned.set())
        return returned.wait(limit)

    def give_up(self) -> None:
        """Wait for no call any more: who waits is told at once that it is late. Idempotent."""
        with self._lock:
            if not self._given_up.done():
                self._given_up.set_result(None)

    def close(self) -> None:
        """End the thread, which a late call outlives. No call may follow. Idempotent."""
        self._queue.put(None)
        if self._thread is not None and self.wait(0):
            self._thread.join()


def _carry_out(work: queue.SimpleQueue[_Work]) -> None:
    """Make calls in the order in which they come, until there comes None."""
    while (call := work.get()) is not None:
        future, function = call
        try:
            result = function()
        except BaseException as error:  # whose call it is is told
            future.set_exception(error)
        else:
            future.set_result(result)
        del call, future, function  # and with them what they hold
