"""Requests to measure a cache with, and what serving them took: `hicache stats`."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hicache.machine import PAGE_SIZE, Machine
from hicache.statistics import KINDS
from hicache.summary import CacheSummary


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt, how many tokens are to follow it, and what its pages are kept apart by."""

    tokens: tuple[int, ...]
    new_tokens: int = 1
    extra_key: str | None = None

    @property
    def pages(self) -> int:
        """How many pages the device must have for it."""
        return -(-(len(self.tokens) + self.new_tokens - 1) // PAGE_SIZE)


def demo_requests(vocabulary: int) -> list[Request]:
    """Give a few conversations that take turns: each repeats all that was said in it, and adds.

    They share two pages of instructions. The same each time.
    """
    chance = random.Random(0)  # noqa: S311  prompts, not secrets
    shared = [chance.randrange(vocabulary) for _ in range(2 * PAGE_SIZE)]
    said = [list(shared) for _ in range(6)]
    requests = []
    for _ in range(4):
        for conversation in said:
            conversation += [chance.randrange(vocabulary) for _ in range(PAGE_SIZE + 1)]
            requests.append(Request(tuple(conversation)))
    return requests


def read_requests(path: Path, vocabulary: int) -> list[Request]:
    """Read requests from a file, one a line.

    Each is a JSON object with `tokens`, and maybe `new_tokens` and `extra_key`.

    Raises `ValueError`, naming the line, for anything else, and for a file without requests.
    """
    requests = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                requests.append(_request(json.loads(line), vocabulary))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    if not requests:
        raise ValueError(f"{path}: expected a request on each line, there is none")
    return requests


def _request(table: Any, vocabulary: int) -> Request:
    known = {"tokens", "new_tokens", "extra_key"}
    if not isinstance(table, dict) or not {"tokens"} <= set(table) <= known:
        raise ValueError('expected an object with "tokens", and maybe "new_tokens" and "extra_key"')
    tokens, new, extra = table["tokens"], table.get("new_tokens", 1), table.get("extra_key")
    whole = isinstance(tokens, list) and all(type(token) is int for token in tokens)
    if not whole or not tokens or not all(0 <= token < vocabulary for token in tokens):
        raise ValueError(f"tokens: expected numbers from 0 to {vocabulary - 1}, one or more")
    if type(new) is not int or new < 1:
        raise ValueError(f"new_tokens: expected a number from 1 on, got {new!r}")
    if extra is not None and not isinstance(extra, str):
        raise ValueError(f"extra_key: expected a string, got {extra!r}")
    return Request(tuple(tokens), new, extra)


@dataclass(slots=True)
class Served:
    """How many requests were served, and how many tokens of their prompts came from where."""

    requests: int = 0
    device: int = 0
    host: int = 0
    files: int = 0
    computed: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that were not computed; 0 before the first."""
        hits = self.device + self.host + self.files
        return hits / (hits + self.computed) if hits else 0.0


class Measurement:
    """A machine that serves requests one after another, each to its end, and what that took."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.served = Served()

    def serve(
        self, requests: Iterable[Request], told: Callable[[int], None] = lambda served: None
    ) -> None:
        """Serve requests, and wait after each until its pages are in the files.

        `told` is called with the number that were served, after each. Raises `OutOfPages` for one
        that the device has too few pages for.
        """
        served = self.served
        for request in requests:
            _, taken = self._machine.serve(request.tokens, request.new_tokens, request.extra_key)
            served.requests += 1
            served.device += taken.device
            served.host += taken.host
            served.files += taken.files
            served.computed += taken.computed
            told(served.requests)

    def summary(self) -> CacheSummary:
        """Read the statistics; from any thread."""
        return CacheSummary.of(self._machine.cache)

    @property
    def holds(self) -> bool:
        """Whether no transfer failed, every page was written, and no page file was refused."""
        summary = self.summary()
        failed = any(entry.failed for entry in summary.transfers.values())
        return not failed and not summary.refused and not summary.unwritten

    def as_json(self) -> str:
        """Give everything as JSON, with times in seconds."""
        served = {**dataclasses.asdict(self.served), "hit_rate": self.served.hit_rate}
        table = {"schema": 1, "served": served, **self.summary().as_dict()}
        return json.dumps(table, indent=2)

    def as_text(self) -> str:
        """Give three tables: tiers, transfers, and how long those took."""
        served, summary = self.served, self.summary()
        tiers, pools = [], []
        for name, tier in summary.tiers.items():
            tiers.append([name, tier.slots, tier.free, tier.evictions, tier.evicted_pages])
            pools.append([name, *(tier.allocator[field] for field in _ALLOCATOR)])
        moved, times = [], []
        for kind in KINDS:
            entry = summary.transfers[kind]
            counts = [entry.transfers, entry.failed, entry.pages, entry.runs]
            moved.append([kind, *counts, f"{entry.pages_per_run:.2f}", entry.copies, entry.bytes])
            times.append([kind, *(f"{1e3 * s:.3f}" for s in (entry.p50, entry.p99, entry.max))])
        lines = [
            f"{served.requests} requests; prompt tokens: {served.device} from the device, "
            f"{served.host} from the host,",
            f"{served.files} from files, {served.computed} computed; "
            f"hit rate {served.hit_rate:.1%}",
            *([f"{summary.unwritten:,} pages not written"] if summary.unwritten else []),
            "",
            *_table(["tier", "slots", "free", "evictions", "pages"], tiers),
            "",
            *_table(["allocator", *_ALLOCATOR.values()], pools),
            "",
            *_table(
                ["transfer", "ended", "failed", "pages", "runs", "pages/run", "copies", "bytes"],
                moved,
            ),
            "",
            *_table(["transfer", "p50 ms", "p99 ms", "max ms"], times, least=_TIME_WIDTH),
        ]
        return "\n".join(lines)


# What the table of allocators shows: the names of figures, and its headings.
_ALLOCATOR = {
    "allocations": "given",
    "failures": "failed",
    "allocated_pages": "pages",
    "runs": "runs",
    "runs_per_allocation": "runs each",
    "extents": "free runs",
    "largest_extent": "largest",
    "fragmentation": "fragmented",
}


# Characters of a time up to 99999.999 ms: a slow transfer moves no column.
_TIME_WIDTH = 9


def _table(heading: list[str], rows: list[list[Any]], least: int = 0) -> list[str]:
    """Give the lines of a table: names on the left, numbers on the right.

    A column of numbers has at least `least` characters.
    """
    cells = [heading, *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widths[1:] = [max(least, width) for width in widths[1:]]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
