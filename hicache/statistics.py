"""What transfers and evictions did, in counters and histograms whose size never grows.

Everything here may be read from any thread while others count; a reading takes the same time
however much was counted.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

KINDS = ("write", "load", "backup", "prefetch")

_FINEST_S = 1e-6
_OCTAVES = 31  # from a microsecond to 36 minutes, which nothing here takes
_STEPS = 8  # buckets an octave: a quantile is at most 2 ** (1 / 8), 9 %, too high


@dataclass(frozen=True, slots=True)
class Moved:
    """What one transfer moved.

    A run is a stretch of pages that follow each other at both ends, so that one descriptor could
    carry it. `copies` counts what was really copied: with the io backend `direct` one a run and
    buffer (one a page and buffer where the layout parts pages), with `kernel` one a buffer; to and
    from storage the stretches of memory that were handed over.
    """

    pages: int = 0
    runs: int = 0
    copies: int = 0
    bytes: int = 0


def count_runs(*sides: Sequence[int]) -> int:
    """Count the maximal stretches in which the pages of every side step by one.

    The sides are as long as each other; page `i` of one goes with page `i` of the others.
    """
    pages = np.array(sides, dtype=np.int64)
    if not pages.size:
        return 0
    return 1 + int(np.count_nonzero((np.diff(pages, axis=1) != 1).any(axis=0)))


@dataclass(slots=True)
class Evictions:
    """How often pages were made to leave a tier, and how many. Written by one thread."""

    times: int = 0
    pages: int = 0

    def count(self, pages: int) -> None:
        """Count one eviction, unless nothing left."""
        self.times += pages > 0
        self.pages += pages


class LatencyHistogram:
    """Times in seconds, in buckets that grow by a ninth; the largest is known exactly."""

    def __init__(self) -> None:
        self._buckets = [0] * (_OCTAVES * _STEPS + 1)
        self.count = 0
        self.total = 0.0
        self.max = 0.0

    def add(self, seconds: float) -> None:
        """Count a time. Raises `ValueError` for a negative one."""
        if seconds < 0:
            raise ValueError(f"seconds: expected 0 or more, got {seconds}")
        place = 0 if seconds <= _FINEST_S else math.ceil(math.log2(seconds / _FINEST_S) * _STEPS)
        self._buckets[min(place, len(self._buckets) - 1)] += 1
        self.count += 1
        self.total += seconds
        self.max = max(self.max, seconds)

    def quantile(self, share: float) -> float:
        """Give the time that at least `share` (0 to 1) of all do not exceed; 0 if there is none."""
        wanted, seen = max(1, math.ceil(share * self.count)), 0
        for place, number in enumerate(self._buckets):
            seen += number
            if seen >= wanted:
                return min(self.max, _edge(place))
        return self.max

    def octaves(self) -> Iterator[tuple[float, int]]:
        """Give for each octave its upper edge in seconds, and how many times do not exceed it."""
        seen = 0
        for place, number in enumerate(self._buckets):
            seen += number
            if place % _STEPS == 0:
                yield _edge(place), seen


def _edge(place: int) -> float:
    return float(_FINEST_S * 2 ** (place / _STEPS))


@dataclass(frozen=True, slots=True)
class TransferSummary:
    """The transfers of one kind so far; times in seconds, from their start to their end."""

    transfers: int
    failed: int
    bytes: int
    pages: int
    runs: int
    copies: int
    pages_per_run: float
    seconds: float
    p50: float
    p99: float
    max: float
    octaves: tuple[tuple[float, int], ...] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Give everything but the histogram by name."""
        table = asdict(self)
        del table["octaves"]
        return table


class _Kind:
    """What is counted of one kind of transfer."""

    def __init__(self) -> None:
        self.failed = 0
        self.moved = Moved()
        self.times = LatencyHistogram()

    def summary(self) -> TransferSummary:
        moved, times = self.moved, self.times
        return TransferSummary(
            transfers=times.count,
            failed=self.failed,
            bytes=moved.bytes,
            pages=moved.pages,
            runs=moved.runs,
            copies=moved.copies,
            pages_per_run=moved.pages / moved.runs if moved.runs else 0.0,
            seconds=times.total,
            p50=times.quantile(0.5),
            p99=times.quantile(0.99),
            max=times.max,
            octaves=tuple(times.octaves()),
        )


class TransferStats:
    """What was taken back from `HiCacheController.finished`, by kind of transfer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds = {kind: _Kind() for kind in KINDS}
        self._unwritten = 0

    def record(self, kind: str, moved: Moved, seconds: float, *, failed: bool = False) -> None:
        """Count a transfer that ended: what arrived, and how long it was under way."""
        with self._lock:
            entry = self._kinds[kind]
            before = entry.moved
            entry.moved = Moved(
                before.pages + moved.pages,
                before.runs + moved.runs,
                before.copies + moved.copies,
                before.bytes + moved.bytes,
            )
            entry.times.add(seconds)
            entry.failed += failed

    def fail(self, kind: str) -> None:
        """Count a failure before there was a transfer."""
        with self._lock:
            self._kinds[kind].failed += 1

    def leave_out(self, pages: int) -> None:
        """Count pages that were to be written to storage and were not."""
        with self._lock:
            self._unwritten += pages

    @property
    def unwritten(self) -> int:
        """How often a page that was to be written to storage was not."""
        with self._lock:
            return self._unwritten

    @property
    def moved(self) -> Counter[str]:
        """The bytes that arrived, by kind; kinds without any are left out."""
        with self._lock:
            sizes = {kind: entry.moved.bytes for kind, entry in self._kinds.items()}
        return Counter({kind: size for kind, size in sizes.items() if size})

    @property
    def failed(self) -> Counter[str]:
        """The failures, by kind; kinds without any are left out."""
        with self._lock:
            numbers = {kind: entry.failed for kind, entry in self._kinds.items()}
        return Counter({kind: number for kind, number in numbers.items() if number})

    def summary(self) -> dict[str, TransferSummary]:
        """Give what was counted of every kind, all at one moment."""
        with self._lock:
            return {kind: entry.summary() for kind, entry in self._kinds.items()}
