"""Work that is given up after some seconds of this process's own time.

Not of the clock: what a commit comes to should not hang on what else the machine does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 1.0  # seconds; what is raised while an object is finalized is lost


class TooLongError(BaseException):
    """The time is up. No `Exception`: nothing on the way takes it for a fault of its own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` in the block when it has taken more processor time.

    That works in the thread that started the program, where work of ours is done; there is no
    limit in another one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _raise)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise TooLongError
