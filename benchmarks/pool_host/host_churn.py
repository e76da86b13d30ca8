"""`python -m benchmarks.pool_host`: slots given and taken near full occupancy, beside other ways.

A pool is filled with nodes of the sizes that were usual once; then larger and smaller ones come,
and the oldest, or some at random, make room. Every allocator replays the same steps in one run on
one machine, so ratios hold where microseconds do not; of a call in which the thread was preempted
its CPU time counts. Beside that: a release by size of pool, pages of owner lanes, (`--broken`)
pools of scattered free pages, and (`--ranks`) two processes that each find the same pages alone.

`--check` exits 1 where a budget is passed. The baselines say how much slower than the known one the
machine is; one that is not within a factor of two of what that makes is named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import torch

from benchmarks.pool_host.broken import SIZES, Broken, broken
from benchmarks.pool_host.broken import table as broken_table
from benchmarks.pool_host.chart import chart
from benchmarks.pool_host.jobs import (
    BITMAP,
    FLAT_SLOTS,
    LANE_PAGES,
    LAZY,
    OURS,
    SCALE_SLOTS,
    SORT,
    ChurnResult,
    LaneResult,
    ReleaseResult,
    churn_all,
    lanes,
    releases,
)
from benchmarks.pool_host.ranks import RANKS, REQUEST_PAGES, RankResult, measure_ranks
from benchmarks.pool_host.workload import Churn, Figures, Mix

OWNERS = (4, 8)
FLAT = 1.5  # the slowest release of any pool, times the quickest
TELLING = 0.5  # what a rank's own pages take, of a broadcast of them
# Microseconds and runs, measured on two cores of a Xeon: what the baselines are held against.
KNOWN: dict[str, float] = {
    "lazy list, allocation": 15.6,
    "lazy list, release": 11.6,
    "lazy list, runs": 5.64,
    "bitmap, allocation": 12.7,
    "bitmap, runs": 2.47,
    "sort and scan, allocation": 515,
    "eager release of 64 slots": 36_637,
    "masks of 4 owners": 1_275,
    "masks of 8 owners": 1_448,
}


@dataclass(frozen=True)
class Results:
    """All that one run measured."""

    churn: Churn
    churned: ChurnResult
    released: ReleaseResult
    owned: tuple[LaneResult, ...]
    broken: tuple[Broken, ...] = ()
    ranks: RankResult | None = None

    def budgets(self) -> list[tuple[str, float, float]]:
        """Give what is claimed: in words, what it came to, and what it may be at most."""
        ours, lazy = self.churned.slots[OURS], self.churned.slots[LAZY]
        released = self.released
        rows = [
            (f"release of {n} slots / eager", released.ours[n] / released.eager[n], 1 / 1000)
            for n in released.ours
        ]
        times = released.flat.values()
        reads = self.churned.reads + released.reads + sum(lane.reads for lane in self.owned)
        rows += [
            (
                f"release, {FLAT_SLOTS[0]:,} to {FLAT_SLOTS[-1]:,} slots",
                max(times) / min(times),
                FLAT,
            ),
            ("allocation p50 / lazy list", ours.alloc_p50 / lazy.alloc_p50, 0.5),
            ("runs per allocation", ours.runs_mean, 1.3),
            ("allocation p99, us", ours.alloc_p99, 100),
            *((f"lanes of {x.owners} owners / masks", x.ours / x.mask, 1 / 50) for x in self.owned),
            ("reads of free_slots", reads, 0),
            *(budget for row in self.broken for budget in row.budgets()),
        ]
        if self.ranks is not None:
            telling = self.ranks.alloc / self.ranks.broadcast
            rows.append(("ranks with other pages, without a collective", self.ranks.differing, 0))
            rows.append(("lanes of 2 ranks / a broadcast", telling, TELLING))
        return rows

    def baselines(self) -> dict[str, float]:
        """Give what `KNOWN` has, as it came out here; only the default churn can be compared."""
        slots = self.churned.slots
        found = {
            "eager release of 64 slots": self.released.eager[64],
            **{f"masks of {lane.owners} owners": lane.mask for lane in self.owned},
        }
        if self.churn == Churn():
            found |= {
                "lazy list, allocation": slots[LAZY].alloc_p50,
                "lazy list, release": slots[LAZY].free_p50,
                "lazy list, runs": slots[LAZY].runs_mean,
                "bitmap, allocation": slots[BITMAP].alloc_p50,
                "bitmap, runs": slots[BITMAP].runs_mean,
                "sort and scan, allocation": slots[SORT].alloc_p50,
            }
        return found

    def remarks(self) -> list[str]:
        """Say how fast the machine is, and which baselines are not what is known of them.

        Times may be twice or half what is known times the machine's factor.
        """
        found = self.baselines()
        ratios = {name: found[name] / KNOWN[name] for name in found if name in KNOWN}
        times = [ratio for name, ratio in ratios.items() if not name.endswith(" runs")]
        machine = median(times)
        words = f"the machine: {machine:.2f} times the known one's"
        said = [f"{words}, the median of {len(times)} baselines"]
        for name, ratio in ratios.items():
            if not 0.5 <= ratio / (1 if name.endswith(" runs") else machine) <= 2:
                said.append(
                    f"{name}: {ratio * KNOWN[name]:,.1f} here, {KNOWN[name]:,g} as known: "
                    "not within a factor of 2"
                )
        return said


def measure(churn: Churn, rounds: int, owners: Sequence[int] = OWNERS) -> Results:
    """Run everything once, and the churn in rounds."""
    torch.set_num_threads(1)
    released = releases()  # first, while memory is as the system gives it
    owned = tuple(lanes(churn, count) for count in owners)
    return Results(churn, churn_all(churn, rounds), released, owned)


def table(results: Results) -> list[str]:
    """Give the tables, line by line."""
    churn = results.churn
    load, cores = os.getloadavg()[0], os.cpu_count()
    lines = [
        f"{churn.pages:,} pages of {churn.page_size} slots, {churn.occupancy:.0%} full, room "
        f"{churn.room:.0%}, {churn.random_share:.0%} of evictions at random; {churn.ops:,} nodes "
        f"after {churn.burn_in:,}; microseconds; load {load:.1f} on {cores} cores",
        "",
        f"{'end to end, slot tensors':32}{'alloc p50':>10}{'p90':>8}{'p99':>9}{'free p50':>10}"
        f"{'p99':>8}{'runs':>7}{'p99':>5}{'pages/run':>11}{'in one run':>12}",
    ]
    lines += [_row(name, found) for name, found in results.churned.slots.items()]
    lines += ["", f"{'choosing pages alone':32}"]
    lines += [_row(name, found) for name, found in results.churned.selection.items()]
    lines += [
        "",
        f"{'statistics':32}{results.churned.statistics_p50:10.1f}",
        f"{'available_size':32}{results.churned.available_p50:10.1f}",
        "",
        f"{f'release, {SCALE_SLOTS:,} slots':34}{'ours':>10}{'eager':>12}{'ratio':>12}",
    ]
    released = results.released
    lines += [
        _pair(f"  of {n} slots", ours, released.eager[n]) for n, ours in released.ours.items()
    ]
    lines += [
        f"{f'  of 1024, {size:,} slots':34}{value:10.1f}" for size, value in released.flat.items()
    ]
    lines += [
        "",
        f"{f'{LANE_PAGES} pages of owners by turns':34}{'ours':>10}{'masks':>12}{'ratio':>12}",
    ]
    for lane in results.owned:
        for words, ours, mask in (
            (f"  {lane.owners} owners, pages", lane.ours, lane.mask),
            (f"  {lane.owners} owners, slot tensor", lane.ours_slots, lane.mask_slots),
        ):
            lines.append(_pair(words, ours, mask))
    if results.ranks is not None:
        pair = results.ranks.alloc, results.ranks.broadcast
        heading = f"{f'{RANKS} ranks, each by itself':34}{'ours':>10}{'broadcast':>12}{'ratio':>12}"
        lines += ["", heading, _pair(f"  1 to {REQUEST_PAGES} pages", *pair)]
    return lines + (broken_table(list(results.broken)) if results.broken else [])


def _row(name: str, found: Figures) -> str:
    return (
        f"{name:32}{found.alloc_p50:10.1f}{found.alloc_p90:8.1f}{found.alloc_p99:9.1f}"
        f"{found.free_p50:10.1f}{found.free_p99:8.1f}{found.runs_mean:7.2f}{found.runs_p99:5.0f}"
        f"{found.pages_per_run:11.1f}{found.contiguous:12.0%}"
    )


def _pair(words: str, ours: float, other: float) -> str:
    return f"{words:34}{ours:10.1f}{other:12,.0f}{f'1/{other / ours:,.0f}':>12}"


def verdict(results: Results) -> tuple[list[str], bool]:
    """Give each budget in a line, and whether all are kept."""
    lines, kept = [], True
    for words, value, most in results.budgets():
        holds = value <= most
        kept &= holds
        lines.append(f"{words:52}{value:10.4g}  budget {most:<8.4g}{'PASS' if holds else 'FAIL'}")
    return lines, kept


def report(results: Results) -> dict[str, object]:
    """Give everything as data."""
    return {
        "schema": 1,
        **asdict(results),
        "budgets": [
            {"claim": words, "value": value, "most": most, "kept": value <= most}
            for words, value, most in results.budgets()
        ],
        "remarks": results.remarks(),
    }


def mix(text: str) -> Mix:
    """Read `pages:weight,...`; a weight may be left out, and `a-b` is every size between."""
    found: list[tuple[int, float]] = []
    for part in text.split(","):
        sizes, _, weight = part.partition(":")
        first, _, last = sizes.partition("-")
        found += [(n, float(weight or 1)) for n in range(int(first), int(last or first) + 1)]
    if any(pages < 1 or weight <= 0 for pages, weight in found):
        raise ValueError(f"sizes and weights must be above 0: {text}")
    return tuple(found)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    base = Churn()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pool_host", description=__doc__)
    add = parser.add_argument
    add("--pages", type=int, default=base.pages, help="pages of the pool (%(default)s)")
    add("--gb", type=float, help="or its size in 10**9 bytes, with --token-bytes")
    add("--token-bytes", type=int, default=70_272, help="bytes of a slot (%(default)s)")
    add("--page-size", type=int, default=base.page_size, help="slots of a page (%(default)s)")
    add("--occupancy", type=float, default=base.occupancy, help="share in use (%(default)s)")
    add("--room", type=float, default=base.room, help="share evicted beyond need (%(default)s)")
    add("--old", type=mix, default=base.old, help="sizes at first, as 1-32 or 1:3,4:1 (1-32)")
    add("--new", type=mix, default=base.new, help="sizes afterwards, likewise")
    add("--random", type=float, default=base.random_share, help="share of evictions (%(default)s)")
    add("--burn-in", type=int, default=base.burn_in, help="nodes before (%(default)s)")
    add("--ops", type=int, default=base.ops, help="nodes that are measured (%(default)s)")
    add("--seed", type=int, default=base.seed, help="of what comes and goes (%(default)s)")
    add("--rounds", type=int, default=3, help="of the quick allocators (%(default)s)")
    add("--owners", type=int, nargs="+", default=list(OWNERS), help="of lanes (%(default)s)")
    add("--json", type=Path, metavar="FILE", help="write everything as data")
    add("--svg", type=Path, metavar="FILE", help="write a plot")
    add("--broken", action="store_true", help="pools that are broken up as well")
    add("--ranks", action="store_true", help="two processes that share pages as well")
    add("--check", action="store_true", help="all that, and exit 1 where a budget is passed")
    return parser.parse_args(given)


def churn_of(chosen: argparse.Namespace) -> Churn:
    """Give the churn that the command line asks for."""
    pages = chosen.pages
    if chosen.gb is not None:
        pages = int(chosen.gb * 1e9) // (chosen.token_bytes * chosen.page_size)
    return replace(
        Churn(),
        pages=pages,
        page_size=chosen.page_size,
        occupancy=chosen.occupancy,
        room=chosen.room,
        old=chosen.old,
        new=chosen.new,
        random_share=chosen.random,
        burn_in=chosen.burn_in,
        ops=chosen.ops,
        seed=chosen.seed,
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether the budgets are kept."""
    chosen = arguments(given)
    results = measure(churn_of(chosen), chosen.rounds, chosen.owners)
    if chosen.check or chosen.broken:
        results = replace(results, broken=tuple(broken(SIZES)))
    if chosen.check or chosen.ranks:
        results = replace(results, ranks=measure_ranks())
    lines, kept = verdict(results)
    preempted = sum(found.preempted for found in results.churned.slots.values())
    print("\n".join([*table(results), "", *lines]))
    print("\n".join([f"\npreempted in {preempted:,} calls", *results.remarks()]))
    if chosen.json:
        chosen.json.write_text(json.dumps(report(results), indent=1) + "\n")
    if chosen.svg:
        chosen.svg.write_text(chart(results.churned, results.released))
    return 1 if chosen.check and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
