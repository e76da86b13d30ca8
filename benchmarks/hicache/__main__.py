"""Measure free room: the same requests through the same cache, with several rooms, in one run.

    python -m benchmarks.hicache [--requests N] [--pages N] [--room 0 --room 0.05] [--json FILE]

Prompts are conversations that go on: one is chosen at random, the recent ones more often, repeated
and made longer; some end and others begin. Nothing is computed, since only pages count here.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

import torch

from hicache.cache_controller import HiCacheController
from hicache.device_pools import MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.host_pools import host_pool_for
from hicache.radix_tree import HiRadixCache
from hicache.room import FreeRoom

PAGE = 4  # tokens; what a page holds does not matter here
ROOMS = (0.0, 0.01, 0.05, 0.1)
CONVERSATIONS = 60


@dataclass(frozen=True)
class Result:
    """What one room did: for both tiers evictions and pages evicted, runs, and hits."""

    room: float
    requests: int
    device_evictions: int
    host_evictions: int
    evicted_pages: int
    device_runs: float  # per allocation
    host_runs: float
    pages_per_copy: float  # of all transfers between device and host
    hit_rate: float  # pages found on device or host, of all pages of prompts


def prompts(number: int, seed: int = 0) -> Iterator[list[int]]:
    """Give prompts, whole pages each: the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311  prompts, not secrets
    open_ones: list[list[int]] = []
    for turn in range(number):
        if len(open_ones) < CONVERSATIONS or chance.random() < 0.1:
            open_ones.append([])
            open_ones = open_ones[-CONVERSATIONS:]
        place = min(int(chance.expovariate(0.08)), len(open_ones) - 1)
        talk = open_ones.pop(-1 - place)
        talk += [turn] * (PAGE * chance.randint(1, 40))
        open_ones.append(talk)
        yield list(talk)


def measure(room: float, requests: Sequence[Sequence[int]], pages: int) -> Result:
    """Serve requests with a room; raise RuntimeError if one finds no pages on the device."""
    pool = MHATokenToKVPool(pages * PAGE, PAGE, torch.float32, 1, 2, 1)
    allocator = PagedTokenToKVPoolAllocator(pool)
    with mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
        host = host_pool_for(pool, ratio=2.0, layout="layer_first")
    controller = HiCacheController(allocator, host, io_backend="direct")
    cache = HiRadixCache(controller, FreeRoom(device=room, host=room))
    found = wanted = 0
    for tokens in requests:
        match = cache.match_prefix(tokens)
        cache.lock(match)
        cache.load_back(match)
        slots = match.device_indices()
        found += slots.numel()
        wanted += len(tokens)
        new = cache.alloc_device(len(tokens) - slots.numel())
        if new is None:
            raise RuntimeError(f"{len(tokens)} tokens do not fit on {pages} pages")
        cache.insert(tokens, torch.cat([slots, new]))
        cache.unlock(match)
        cache.flush()
    controller.close()
    transfers = controller.stats.summary()
    moved = [transfers[kind] for kind in ("write", "load")]
    result = Result(
        room,
        len(requests),
        cache.evictions["device"].times,
        cache.evictions["host"].times,
        sum(tier.pages for tier in cache.evictions.values()),
        allocator.stats().runs_per_allocation,
        host.stats().runs_per_allocation,
        sum(entry.pages for entry in moved) / max(1, sum(entry.runs for entry in moved)),
        found / wanted,
    )
    host.destroy()
    return result


def table(results: Sequence[Result]) -> str:
    """Give the results as lines of text."""
    lines = ["room  evictions: device   host    pages  runs: device  host  pages a copy  hits"]
    lines += [
        f"{result.room:4.0%}  {result.device_evictions:17,}  {result.host_evictions:5,}  "
        f"{result.evicted_pages:7,}  {result.device_runs:12.2f}  {result.host_runs:4.2f}  "
        f"{result.pages_per_copy:12.2f}  {result.hit_rate:5.1%}"
        for result in results
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hicache")
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--pages", type=int, default=2000, help="of the device; the host has twice")
    parser.add_argument("--room", type=float, action="append", help="may be given several times")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results here as well")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    requests = list(prompts(options.requests, options.seed))
    # A conversation that has outgrown a quarter of the device would measure nothing but itself.
    requests = [tokens[: options.pages * PAGE // 4] for tokens in requests]
    results = [measure(room, requests, options.pages) for room in options.room or ROOMS]
    print(table(results))
    if options.json:
        rows = [asdict(result) for result in results]
        options.json.write_text(json.dumps({"schema": 1, "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
