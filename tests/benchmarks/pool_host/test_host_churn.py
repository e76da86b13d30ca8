"""The benchmark's own parts: all replay the same steps, none cheats, a passed budget is told."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch

from benchmarks.pool_host import broken, host_churn, jobs, ranks
from benchmarks.pool_host.baselines import FirstFitBitmap, LaneMasks, PageQueue, runs_of
from benchmarks.pool_host.ranks import RankResult
from benchmarks.pool_host.workload import Churn, Samples, Step, replay_slots, steps, timed
from pool_host.extents import PageExtents
from tests.pool_host.overlaps import Overlaps, stretches

SMALL = Churn(
    pages=200, page_size=4, old=((1, 1), (3, 1)), new=((2, 2), (9, 1), (30, 1)), burn_in=60, ops=80
)


class Watched:
    """An allocator whose answers are checked for overlap, and whose runs are counted."""

    def __init__(self, allocator: Any, size: int) -> None:
        self.allocator, self.overlaps = allocator, Overlaps(size)
        self.runs: list[int] = []

    def alloc(self, need_size: int) -> torch.Tensor | None:
        slots: torch.Tensor | None = self.allocator.alloc(need_size)
        assert slots is not None
        assert len(slots) == need_size
        self.overlaps.take(slots)
        self.runs.append(len(stretches(slots)))
        return slots

    def free(self, indices: torch.Tensor) -> int:
        self.overlaps.give(indices)
        released: int = self.allocator.free(indices)
        return released


def occupancies(made: list[Step]) -> list[int]:
    held = {0: 0}
    found = []
    for node, step in enumerate(made):
        for gone in step.gone:
            del held[gone + 1]
        held[node + 1] = step.pages
        found.append(sum(held.values()))
    return found


def test_steps_hang_on_the_seed_alone() -> None:
    assert steps(SMALL) == steps(SMALL)
    assert steps(SMALL) != steps(replace(SMALL, seed=2))


def test_a_churn_fills_with_old_nodes_and_stays_near_full() -> None:
    made = steps(SMALL)
    fill = made[: -SMALL.burn_in - SMALL.ops]
    assert {step.pages for step in fill} == {1, 3}
    assert not any(step.gone for step in fill)
    held = occupancies(made)
    assert max(held) <= 194  # 97 %
    assert min(held[len(fill) :]) > 194 - 2 * 30


def test_room_is_evicted_beyond_need() -> None:
    made = steps(replace(SMALL, room=0.1))
    held = [0, *occupancies(made)]
    for (before, after), step in zip(pairwise(held), made, strict=True):
        assert after <= (174 if step.gone else 194)
        assert bool(step.gone) == (before + step.pages > 194)


def test_evictions_at_random_leave_older_nodes_behind() -> None:
    gone = [node for step in steps(replace(SMALL, random_share=0)) for node in step.gone]
    assert gone == sorted(gone)
    gone = [node for step in steps(SMALL) for node in step.gone]
    assert gone != sorted(gone)


@pytest.mark.parametrize("name", jobs.ALLOCATORS)
def test_no_allocator_gives_a_page_twice_and_its_runs_are_counted(name: str) -> None:
    made = steps(SMALL)
    watched = Watched(jobs.ALLOCATORS[name](SMALL.pages, SMALL.page_size), SMALL.pages * 4)
    found = replay_slots(SMALL, made, watched)
    runs = watched.runs[-SMALL.ops :]
    assert found.runs_mean == sum(runs) / len(runs)
    assert found.contiguous == runs.count(1) / len(runs)
    assert 0 < found.alloc_p50 <= found.alloc_p99 <= found.alloc_max
    if name == jobs.OURS:
        assert watched.allocator.pool.stats().materialisations == 0


@pytest.mark.parametrize("name", [jobs.OURS, jobs.LAZY, jobs.BITMAP, jobs.LIFO])
def test_double_frees_are_found_where_that_is_claimed(name: str) -> None:
    allocator = jobs.ALLOCATORS[name](20, 4)
    slots = allocator.alloc(8)
    assert slots is not None
    allocator.free(slots)
    with pytest.raises(AssertionError):
        allocator.free(slots)


@pytest.mark.parametrize("name", jobs.ALLOCATORS)
def test_what_is_not_there_is_not_given(name: str) -> None:
    allocator = jobs.ALLOCATORS[name](20, 4)
    assert allocator.alloc(84) is None
    slots = allocator.alloc(80)
    assert slots is not None
    assert sorted(slots.tolist()) == list(range(80))


def test_selectors_pick_as_they_say() -> None:
    latest, oldest, bitmap = PageQueue(9, latest=True), PageQueue(9), FirstFitBitmap(9)
    for each in (latest, oldest, bitmap):
        assert each.take(4) == [(0, 4)]
        each.give(1, 2)
    assert latest.take(3) == [(1, 2), (4, 1)]
    assert oldest.take(6) == [(4, 5), (1, 1)]
    assert bitmap.take(3) == [(4, 3)]
    assert bitmap.take(4) == [(1, 2), (7, 2)]
    assert bitmap.take(1) is latest.take(99) is oldest.take(99) is None


def test_masks_give_pages_of_owners() -> None:
    masks = LaneMasks(12, 3)
    taken = masks.take_owned(torch.tensor([2, 0, 2]))
    assert taken is not None
    assert taken.tolist() == [2, 0, 5]
    assert masks.take_owned(torch.tensor([2, 2, 2])) is None
    masks.give(taken)
    assert sorted(masks.free.tolist()) == list(range(12))


def test_runs_are_stretches() -> None:
    assert runs_of(torch.tensor([4, 5, 6, 9, 8])) == 3
    assert runs_of(torch.empty(0, dtype=torch.int64)) == 0


def test_a_preempted_call_counts_with_its_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, cpu = iter((1, 2)), iter((5.0, 5.25))
    monkeypatch.setattr("benchmarks.pool_host.workload.preemptions", lambda: next(counts))
    monkeypatch.setattr("time.thread_time", lambda: next(cpu))
    samples = Samples()
    assert timed(samples, abs, -3) == 3
    assert (samples.seconds, samples.preempted) == ([0.25], 1)


def test_mixes_are_read() -> None:
    assert host_churn.mix("1-3,16:2.5") == ((1, 1.0), (2, 1.0), (3, 1.0), (16, 2.5))
    for wrong in ("", "0", "3:0", "a:1", "3:b"):
        with pytest.raises(ValueError):  # noqa: PT011  argparse words it
            host_churn.mix(wrong)


def test_a_size_in_gb_is_counted_in_pages() -> None:
    assert host_churn.churn_of(host_churn.arguments(["--gb", "220"])) == replace(
        Churn(), pages=48_917
    )


ARGUMENTS = (
    "--pages 400 --page-size 4 --old 1-4 --new 2:2,9,30 --burn-in 40 --ops 60 --rounds 2 "
    "--owners 4 8"
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SCALE_SLOTS", 64 * 500)
    monkeypatch.setattr(jobs, "FLAT_SLOTS", (64 * 100, 64 * 1000))
    monkeypatch.setattr(host_churn, "releases", lambda: jobs.releases(times=2))
    monkeypatch.setattr(host_churn, "lanes", lambda churn, count: jobs.lanes(churn, count, 20))


@pytest.mark.usefixtures("small")
def test_a_run_prints_and_writes_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, plot = tmp_path / "churn.json", tmp_path / "churn.svg"
    assert host_churn.main([*ARGUMENTS.split(), "--json", str(data), "--svg", str(plot)]) == 0
    told = capsys.readouterr().out
    report = json.loads(data.read_text())
    assert report["schema"] == 1
    assert report["churn"]["pages"] == 400
    assert set(report["churned"]["slots"]) == set(jobs.ALLOCATORS)
    assert set(report["churned"]["selection"]) == set(jobs.SELECTORS)
    for row in report["budgets"]:
        assert row["claim"] in told
    assert {"claim": "reads of free_slots", "value": 0, "most": 0, "kept": True} in report[
        "budgets"
    ]
    ours, listed = (report["churned"]["slots"][name] for name in (jobs.OURS, jobs.LAZY))
    assert ours["runs_mean"] <= listed["runs_mean"]
    words = [text.text for text in ET.fromstring(plot.read_text()).iter() if text.text]  # noqa: S314
    assert {*jobs.ALLOCATORS, "runs per allocation"} <= set(words)


@pytest.mark.usefixtures("small")
def test_a_passed_budget_fails_a_check_and_a_strange_baseline_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = cache(host_churn.measure)  # the figures that count are put in
    slow, strange = 0.0, 1.0

    def measure(churn: Churn, rounds: int, owners: list[int]) -> host_churn.Results:
        found = real(churn, rounds, tuple(owners))
        released = replace(
            found.released,
            ours=dict.fromkeys(found.released.ours, 1.0),
            eager=dict.fromkeys(found.released.eager, 36_637.0 * strange),
            flat=dict.fromkeys(found.released.flat, 1.0),
        )
        lanes = tuple(
            replace(x, ours=1 + slow, mask=host_churn.KNOWN[f"masks of {x.owners} owners"])
            for x in found.owned
        )
        slots = dict(found.churned.slots)
        slots[jobs.OURS] = replace(slots[jobs.OURS], alloc_p50=1, alloc_p99=2, runs_mean=1.2)
        slots[jobs.LAZY] = replace(slots[jobs.LAZY], alloc_p50=15)
        return replace(
            found, released=released, owned=lanes, churned=replace(found.churned, slots=slots)
        )

    monkeypatch.setattr(host_churn, "measure", measure)
    monkeypatch.setattr(host_churn, "SIZES", ())
    other = 0
    monkeypatch.setattr(host_churn, "measure_ranks", lambda: RankResult(20.0, 200.0, other))
    arguments = [*ARGUMENTS.split(), "--rounds", "1"]
    assert host_churn.main([*arguments, "--check"]) == 0
    told = capsys.readouterr().out
    assert "FAIL" not in told
    assert "factor of 2" not in told
    assert "the machine: 1.00 times the known one's, the median of 3 baselines" in told
    other = 1
    assert host_churn.main([*arguments, "--check"]) == 1
    told = capsys.readouterr().out
    [failed] = [line for line in told.splitlines() if line.endswith("FAIL")]
    assert failed.startswith("ranks with other pages, without a collective")
    other = 0
    slow, strange = 100.0, 0.4
    assert host_churn.main([*arguments, "--check"]) == 1
    told = capsys.readouterr().out
    assert told.count("FAIL") == 2
    assert "eager release of 64 slots: 14,654.8 here, 36,637 as known: not within a factor" in told
    assert host_churn.main(arguments) == 0  # without --check it is only said


def test_the_machine_may_be_slow_and_a_baseline_may_not() -> None:
    known = host_churn.KNOWN
    released = jobs.ReleaseResult({}, {64: 3 * known["eager release of 64 slots"]}, {}, 0)
    owned = tuple(
        jobs.LaneResult(owners, 1, factor * known[f"masks of {owners} owners"], 1, 1, 0)
        for owners, factor in ((4, 3.5), (8, 0.9))
    )
    churned = jobs.ChurnResult({}, {}, 0, 0, 0, 0)
    results = host_churn.Results(replace(Churn(), seed=2), churned, released, owned)
    machine, strange = results.remarks()
    assert machine == "the machine: 3.00 times the known one's, the median of 3 baselines"
    assert strange == "masks of 8 owners: 1,303.2 here, 1,448 as known: not within a factor of 2"


def test_two_ranks_find_the_same_pages() -> None:
    (first, times), (second, _) = ranks.same_calls(120, 256), ranks.same_calls(120, 256)
    assert first == second
    assert len(times.seconds) == 120
    assert ranks.same_calls(120, 256, seed=2)[0] != first


def test_a_rank_with_other_pages_is_counted() -> None:
    said: list[dict[str, str | float]] = [
        {"digest": "a", "alloc": 20.0, "broadcast": 100.0},
        {"digest": "b", "alloc": 10.0, "broadcast": 200.0},
    ]
    assert ranks.result_of(said) == RankResult(20.0, 200.0, 1)
    assert ranks.result_of([said[0], said[0]]).differing == 0


def test_extents_take_part_as_they_are() -> None:
    assert jobs.SELECTORS[jobs.OURS] is PageExtents


def test_a_pool_that_is_broken_up_is_measured() -> None:
    rows = broken.broken(((1, (400,)), (4, (800,))))
    assert len(rows) == 2 * len(broken.SHARES) * len(broken.PATTERNS)
    for row in rows:
        assert row.free > 0
        assert row.list_free > 0
        assert 0 < row.single_p50 <= row.single_p99 <= row.single_max
        claims = [words for words, _, _ in row.budgets()]
        assert [words.partition(",")[0] for words in claims] == [
            "release",
            "allocation",
            "bytes a free slot",
        ]
    assert len(broken.table(rows)) == len(rows) + 2
