"""Two ranks that share pages by turns: each finds the same ones by itself, and what that saves.

Both make the same calls on an owner-lane pool of their own, in processes with other hash seeds, and
exchange nothing; their pages are compared afterwards. Beside that stands what it takes to have one
rank choose and tell the other: a broadcast of as many pages (`torch.distributed`, gloo, one
machine).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.pool_host.workload import Samples, no_garbage, timed
from pool_host.owner_lanes import OwnerLanePool

RANKS = 2
STEPS, BROADCASTS = 3000, 300
REQUEST_PAGES = 128
_PAGE_SIZE = 64
_LIMIT_S = 300.0


@dataclass(frozen=True)
class RankResult:
    """Microseconds, p50: of giving a request's slots, of telling them; and whose were others."""

    alloc: float
    broadcast: float
    differing: int  # ranks whose pages are not those of the first


def same_calls(steps: int, pages: int = 8192, seed: int = 1) -> tuple[str, Samples]:
    """Give requests' slots out and take them back; give a digest of all of them, and the times."""
    order = random.Random(seed)  # noqa: S311
    pool = OwnerLanePool(pages * _PAGE_SIZE, _PAGE_SIZE, RANKS)
    digest, samples = hashlib.sha256(), Samples()
    held: list[torch.Tensor] = []
    for _ in range(steps):
        owners = pool.cyclic_owners(order.randint(1, REQUEST_PAGES))
        slots = timed(samples, pool.alloc_pages_with_owners, owners)
        while slots is None:
            pool.free(held.pop(order.randrange(len(held))))
            slots = pool.alloc_pages_with_owners(owners)
        digest.update(slots.numpy().tobytes())
        held.append(slots)
    return digest.hexdigest(), samples


def measure_ranks() -> RankResult:
    """Start the ranks, and compare what each says."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.pool_host.ranks", str(rank), folder],
                env={**os.environ, "PYTHONHASHSEED": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(RANKS)
        ]
        try:
            said = [rank.communicate(timeout=_LIMIT_S)[0] for rank in ranks]
        finally:  # one that waits for another that has failed
            for rank in ranks:
                rank.kill()
    if any(rank.returncode for rank in ranks):
        raise RuntimeError("a rank has failed: see what it printed")
    return result_of([json.loads(words) for words in said])


def result_of(said: list[dict[str, str | float]]) -> RankResult:
    """Compare what the ranks said; times are those of the slowest."""
    differing = sum(rank["digest"] != said[0]["digest"] for rank in said)
    alloc, broadcast = (max(float(rank[kind]) for rank in said) for kind in ("alloc", "broadcast"))
    return RankResult(alloc, broadcast, differing)


def _broadcasts(rank: int, folder: Path) -> Samples:
    """Tell the other ranks the pages of a request, so many times."""
    from torch import distributed

    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=RANKS
    )
    pages, samples = torch.arange(REQUEST_PAGES), Samples()
    for _ in range(BROADCASTS):
        start = time.perf_counter()
        distributed.broadcast(pages, src=0)
        samples.seconds.append(time.perf_counter() - start)
    distributed.destroy_process_group()
    return samples


def main(rank: int, folder: Path) -> None:
    """Be one rank: print a digest of its pages, and its times."""
    torch.set_num_threads(1)
    with no_garbage():
        digest, samples = same_calls(STEPS)
        broadcast = _broadcasts(rank, folder)
    times = {"alloc": samples.percentile(50), "broadcast": broadcast.percentile(50)}
    print(json.dumps({"digest": digest, **times}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
