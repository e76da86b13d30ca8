"""What is being done and how far it is, told on stderr to whoever waits; and what it took.

Nothing is told within two seconds, nor anywhere but on a terminal: a log has the result alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

from verify.report.escape import visible

PATIENCE = 2.0  # seconds that nobody minds
_OFTEN = 0.2  # seconds between two looks at it
_WIDTH = 78


class Working:
    """What one command is doing. Phases follow each other; each is timed."""

    def __init__(self) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._what, self._since = "", 0.0
        self._step = self._how_far = ""
        self._done = Event()
        self._teller: Thread | None = None

    def step(self, what: str, number: int = 0, of: int = 0) -> None:
        """Begin a phase, the `number`th of so many; the one before is done."""
        self.end()
        self._step = f"step {number} of {of}" if of else ""
        self._how_far = ""
        self._what, self._since = what, time.perf_counter()

    def count(self, done: int, of: int, what: str = "") -> None:
        """Say how much of the phase is done: `3 of 12 commits`."""
        self._how_far = f"{done:,} of {of:,} {what}".rstrip()

    def files(self, done: int, of: int) -> None:
        """Say how many files are read."""
        self.count(done, of, "files")

    def commits(self, done: int, of: int) -> None:
        """Say how many commits are judged."""
        self.count(done, of, "commits")

    def end(self) -> None:
        """End the phase."""
        if self._what:
            self.seconds.append((self._what, time.perf_counter() - self._since))
        self._what = ""

    def tell(self, out: TextIO) -> None:
        """Begin to tell it there."""
        self._teller = Thread(target=_tell, args=(self, out, self._done), daemon=True)
        self._teller.start()

    def hush(self) -> None:
        """Tell no more, and leave no line behind: what is printed next comes from the command."""
        self.end()
        self._done.set()
        if self._teller is not None:
            self._teller.join()

    def line(self) -> str:
        """Say what is being done and how far it is, on one line."""
        parts = [f"{self._what} ({self._step})" if self._step else self._what, self._how_far]
        return visible(": ".join(filter(None, parts)))[:_WIDTH]


@contextmanager
def working(what: str = "", *, stream: TextIO | None = None) -> Iterator[Working]:
    """Tell what is being done within the block; `what` is its first phase."""
    found = Working()
    if what:
        found.step(what)
    out = sys.stderr if stream is None else stream
    if out.isatty():
        found.tell(out)
    try:
        yield found
    finally:
        found.hush()


def _tell(found: Working, out: TextIO, done: Event) -> None:
    """Show one line that changes in place; where a terminal cannot, each line that is another."""
    start = time.monotonic()
    in_place = os.environ.get("TERM") != "dumb"
    shown = ""
    if done.wait(PATIENCE):
        return
    while True:
        line = found.line()
        if line and in_place:
            out.write(f"\r\x1b[2K{line}, {time.monotonic() - start:.0f} s")
        elif line and line != shown:
            out.write(f"{line}\n")
        out.flush()
        shown = line or shown
        if done.wait(_OFTEN):
            break
    if in_place and shown:
        out.write("\r\x1b[2K")
        out.flush()
