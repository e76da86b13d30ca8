"""A cache near full occupancy: nodes come, and older ones make room for them."""

from __future__ import annotations

import gc
import random
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np

from benchmarks.pool_host.baselines import Allocator, Selector, runs_of

_Given = TypeVar("_Given")
_Found = TypeVar("_Found")

Mix = tuple[tuple[int, float], ...]  # pages of a node, and how often there are such


@dataclass(frozen=True)
class Churn:
    """What comes and goes. Sizes are in pages; shares are of all pages."""

    pages: int = 48_918  # 220 GB at 70,272 bytes a token
    page_size: int = 64
    occupancy: float = 0.97
    room: float = 0.0  # evicted beyond need, each time that anything is evicted
    old: Mix = tuple((pages, 1.0) for pages in range(1, 33))  # nodes that fill the pool at first
    new: Mix = ((1, 30), (4, 15), (16, 20), (64, 18), (256, 12), (512, 2.5))
    random_share: float = 0.2  # of evictions; the others are of the oldest node
    burn_in: int = 6_000  # nodes that come before anything is measured
    ops: int = 6_000  # nodes that come after
    seed: int = 1


@dataclass(frozen=True)
class Step:
    """A node that comes after others have gone. Nodes are numbered in the order of coming."""

    gone: tuple[int, ...]
    pages: int


def steps(churn: Churn) -> list[Step]:
    """Give the same steps for every allocator: nothing here hangs on where pages lie."""
    order = random.Random(churn.seed)  # noqa: S311
    room = round(churn.room * churn.pages)
    limit = round(churn.occupancy * churn.pages)
    live: dict[int, int] = {}  # node -> pages, oldest first
    held, made = 0, list[Step]()

    def come(mix: Mix, may_evict: bool) -> bool:
        nonlocal held
        [pages] = order.choices([n for n, _ in mix], [weight for _, weight in mix])
        gone: list[int] = []
        if held + pages > limit:
            if not may_evict:
                return False
            while live and held + pages > limit - room:
                oldest = order.random() >= churn.random_share
                node = next(iter(live)) if oldest else order.choice(list(live))
                held -= live.pop(node)
                gone.append(node)
        live[len(made)] = pages
        held += pages
        made.append(Step(tuple(gone), pages))
        return True

    while come(churn.old, may_evict=False):
        pass
    for _ in range(churn.burn_in + churn.ops):
        come(churn.new, may_evict=True)
    return made


@dataclass
class Samples:
    """Seconds of calls; of those in which the thread was preempted, its CPU time."""

    seconds: list[float] = field(default_factory=list)
    preempted: int = 0

    def percentile(self, percent: float) -> float:
        """Give microseconds."""
        return float(np.percentile(self.seconds, percent)) * 1e6 if self.seconds else 0.0


def preemptions() -> int:
    """Give how often this thread was put aside for others so far."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def timed(samples: Samples, call: Callable[[_Given], _Found], given: _Given) -> _Found:
    """Give what the call gives, and note its time."""
    before, cpu = preemptions(), time.thread_time()
    start = time.perf_counter()
    found = call(given)
    seconds = time.perf_counter() - start
    cpu = time.thread_time() - cpu
    if preemptions() != before:
        samples.preempted += 1
        seconds = cpu
    samples.seconds.append(seconds)
    return found


@dataclass(frozen=True)
class Figures:
    """Microseconds of calls, and runs of allocations."""

    alloc_p50: float
    alloc_p90: float
    alloc_p99: float
    alloc_max: float
    free_p50: float
    free_p90: float
    free_p99: float
    free_max: float
    runs_mean: float
    runs_p50: float
    runs_p99: float
    pages_per_run: float
    contiguous: float  # share of allocations
    preempted: int  # calls in which the thread was

    def best(self, other: Figures) -> Figures:
        """Give the lesser of each time; runs are the same."""
        times = [f.name for f in fields(self) if f.name.startswith(("alloc", "free"))]
        least = {name: min(getattr(self, name), getattr(other, name)) for name in times}
        return Figures(**{**vars(self), **least})


def figures(alloc: Samples, free: Samples, runs: Sequence[int], pages: int) -> Figures:
    """Sum up what was measured."""
    times = {
        f"{name}_{key}": samples.percentile(percent)
        for name, samples in (("alloc", alloc), ("free", free))
        for key, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100))
    }
    about_runs: dict[str, float] = {
        "runs_mean": float(np.mean(runs)),
        "runs_p50": float(np.percentile(runs, 50)),
        "runs_p99": float(np.percentile(runs, 99)),
        "pages_per_run": pages / sum(runs),
        "contiguous": sum(count == 1 for count in runs) / len(runs),
    }
    return Figures(**times, **about_runs, preempted=alloc.preempted + free.preempted)


def replay(
    churn: Churn,
    made: Sequence[Step],
    take: Callable[[int], _Found | None],
    give: Callable[[_Found], object],
    count_runs: Callable[[_Found], int],
) -> Figures:
    """Let an allocator take pages for nodes and give them back; measure the last `churn.ops`."""
    held: dict[int, _Found] = {}
    alloc, free, runs, pages = Samples(), Samples(), list[int](), 0
    first = len(made) - churn.ops
    with no_garbage():
        for node, step in enumerate(made):
            if node == first:
                alloc, free = Samples(), Samples()
            for gone in step.gone:
                timed(free, give, held.pop(gone))
            found = timed(alloc, take, step.pages)
            if found is None:
                raise RuntimeError(f"node {node} gets no {step.pages} pages")
            held[node] = found
            if node >= first:
                runs.append(count_runs(found))
                pages += step.pages
    return figures(alloc, free, runs, pages)


def replay_slots(churn: Churn, made: Sequence[Step], allocator: Allocator) -> Figures:
    """Replay with slot tensors, end to end."""
    unit = churn.page_size
    return replay(churn, made, lambda n: allocator.alloc(n * unit), allocator.free, runs_of)


def replay_pages(churn: Churn, made: Sequence[Step], selector: Selector) -> Figures:
    """Replay with runs of pages alone: what choosing them costs."""

    def give(runs: list[tuple[int, int]]) -> None:
        for start, length in runs:
            selector.give(start, length)

    return replay(churn, made, selector.take, give, len)


class no_garbage:  # noqa: N801  used as a statement's word
    """Keep the garbage collector out of what is measured."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        gc.enable()
