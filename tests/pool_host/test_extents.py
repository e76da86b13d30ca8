"""Extents of free pages: each request in the fewest runs, and neighbours joined again."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from pool_host.extents import ManyRuns, PageExtents, PageRun, single_runs
from tests.effort import FULL, examples
from tests.pool_host.overlaps import fewest


def holding(*runs: PageRun) -> PageExtents:
    extents = PageExtents.holding(100, runs)
    extents.check()
    return extents


def test_a_fresh_pool_is_one_extent() -> None:
    extents = PageExtents(1_000_000)
    assert (len(extents), extents.free_pages, extents.largest) == (1, 1_000_000, 1_000_000)
    assert extents.take(3) == [(0, 3)]
    assert extents.take(2) == [(3, 2)]
    assert extents.runs() == [(5, 999_995)]


def test_without_pages_nothing_can_be_taken() -> None:
    extents = PageExtents(0)
    assert (extents.take(1), extents.take(0), extents.largest, len(extents)) == (None, [], 0, 0)
    extents.check()


TAKEN = {
    "an extent of just that length": (4, [(40, 4)]),
    "the shortest that holds them": (5, [(20, 5)]),
    "of the longest, its first pages": (9, [(60, 9)]),
    "the longest of all": (10, [(60, 10)]),
    "the longest, and the rest where it fits best": (14, [(60, 10), (40, 4)]),
    "the longest, and so on": (19, [(60, 10), (20, 6), (0, 3)]),
    "all there are": (23, [(60, 10), (20, 6), (40, 4), (0, 3)]),
    "more than there are": (24, None),
}


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 400)), min_size=1, max_size=60),
    st.integers(0, 10**6),
)
def test_an_index_that_is_behind_is_not_missed(runs: list[PageRun], chosen: int) -> None:
    """`runs`: so many pages in use, then so many free ones."""
    lengths = [length % 9 + 1 if length % 4 else length for _, length in runs]
    flags: NDArray[np.uint8] = np.concatenate(
        [np.repeat([1, 0], (used, free)) for (used, _), free in zip(runs, lengths, strict=True)]
    ).astype(np.uint8)
    pages = chosen % sum(lengths) + 1
    known, behind = PageExtents.of(flags), PageExtents.of(flags)
    behind._is_behind = True
    together: list[PageRun | ManyRuns] = []
    count = behind._take_unindexed(together, pages)
    taken = single_runs(together)
    expected = known.take(pages)
    assert expected is not None
    assert count == len(taken) == len(expected)
    assert sorted(length for _, length in taken) == sorted(length for _, length in expected)
    assert all(start + length != after for (start, length), (after, _) in pairwise(taken))
    assert all(not flags[start : start + length].any() for start, length in taken)
    assert behind.free_pages == known.free_pages == np.count_nonzero(behind.flags == 0)
    behind.check()


@pytest.mark.parametrize("case", TAKEN)
def test_pages_come_in_the_fewest_runs(case: str) -> None:
    pages, expected = TAKEN[case]
    extents = holding((0, 3), (20, 6), (40, 4), (60, 10))
    assert extents.take(pages) == expected
    assert extents.free_pages == 23 - (pages if expected else 0)
    extents.check()


def test_of_equal_extents_the_latest_is_taken_first() -> None:
    extents = holding((30, 2), (10, 2), (50, 2))
    assert [extents.take(2) for _ in range(3)] == [[(50, 2)], [(10, 2)], [(30, 2)]]


JOINED = {
    "apart from others": ((25, 5), [(10, 10), (25, 5), (40, 10)]),
    "after one": ((20, 5), [(10, 15), (40, 10)]),
    "before one": ((35, 5), [(10, 10), (35, 15)]),
    "between two": ((20, 20), [(10, 40)]),
    "the first page": ((0, 1), [(0, 1), (10, 10), (40, 10)]),
    "the last page": ((99, 1), [(10, 10), (40, 10), (99, 1)]),
}


@pytest.mark.parametrize("case", JOINED)
def test_what_is_given_back_joins_its_neighbours(case: str) -> None:
    run, expected = JOINED[case]
    extents = holding((10, 10), (40, 10))
    extents.give(*run)
    assert extents.runs() == expected
    extents.check()


@settings(max_examples=examples(200))
@given(st.integers(1, 60), st.lists(st.integers(0, 25), max_size=40), st.randoms())
def test_any_calls_leave_extents_that_fit_one_another(
    pages: int, wishes: list[int], order: random.Random
) -> None:
    extents, free, held = PageExtents(pages), set(range(pages)), list[PageRun]()
    for wish in wishes:
        runs = extents.take(wish)
        if wish > len(free):
            assert runs is None
            if held:
                start, length = held.pop(order.randrange(len(held)))
                extents.give(start, length)
                free |= set(range(start, start + length))
        else:
            assert runs is not None
            assert sum(length for _, length in runs) == wish
            assert len(runs) == fewest(wish, free)
            assert all(a + n != b for (a, n), (b, _) in pairwise(runs))
            for start, length in runs:
                assert set(range(start, start + length)) <= free
                free -= set(range(start, start + length))
            held += runs
        extents.check()
        assert extents.free_pages == len(free)
    for run in held:
        extents.give(*run)
    extents.check()
    assert extents.runs() == [(0, pages)]


REFUSED: dict[str, tuple[PageRun, str]] = {
    "a page that is given twice": ((12, 2), "page 12 is given, which is free"),
    "a run with a free page in it": ((5, 7), "page 10 is given, which is free"),
    "a page past the end": ((99, 2), "99..100 are given, past 100 pages"),
    "a page before the first": ((-1, 2), "-1..0 are given, past 100 pages"),
    "no page": ((3, 0), "3..2 are given"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_given_back_is_refused(case: str) -> None:
    run, words = REFUSED[case]
    extents = holding((10, 10), (40, 10), (60, 7))
    with pytest.raises(RuntimeError, match=f"Free pages are not what they should be: {words}"):
        extents.give(*run)
    assert extents.runs() == [(10, 10), (40, 10), (60, 7)]
    extents.check()


BROKEN: dict[str, Callable[[PageExtents], object]] = {
    "a page that is taken and not by a call": lambda e: e.taken.__setitem__(8 + 12, 1),
    "a page that is free and not by a call": lambda e: e.taken.__setitem__(8 + 30, 0),
    "a free page before the first": lambda e: e.taken.__setitem__(7, 0),
    "a free page past the last": lambda e: e.taken.__setitem__(8 + 300, 0),
    "a wrong count": lambda e: setattr(e, "free_pages", 7),
    "a wrong count of extents": lambda e: setattr(e, "_extents", 7),
    "an end that nobody has": lambda e: e._start_before.update({77: 70}),
    "a start that nobody has": lambda e: e._length_at.update({70: 77}),
    "an end that is somebody else's": lambda e: e._start_before.update({200: 40}),
    "an extent in no list": lambda e: e._entries[10].remove(40),
    "an extent that is counted elsewhere": lambda e: e._live.update({10: 1, 7: 2}),
    "a list without extents": lambda e: e._entries.update({3: e._entries[10]}),
    "lengths out of order": lambda e: e._lengths.reverse(),
    "neighbours apart": lambda e: e._insert(20, 3),
    "mostly stale entries": lambda e: e._entries[10].extend(range(100)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_check_finds(case: str) -> None:
    extents = PageExtents.holding(300, [(10, 10), (40, 10), (60, 7), (100, 100)])
    extents.check()
    BROKEN[case](extents)
    with pytest.raises(RuntimeError, match="Free pages are not what they should be: "):
        extents.check()


@pytest.mark.parametrize("case", BROKEN)
def test_an_index_made_anew_is_right(case: str) -> None:
    extents = PageExtents.holding(300, [(10, 10), (40, 10), (60, 7), (100, 100)])
    BROKEN[case](extents)
    extents.taken[:8] = extents.taken[308:] = b"\1" * 8
    extents.index()
    extents.check()


def naive(free: NDArray[np.bool_]) -> list[PageRun]:
    edges = np.flatnonzero(np.diff(free, prepend=False, append=False))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@pytest.mark.parametrize("pages", [1, 7, 64, 300, 5000, 60_000])
@pytest.mark.parametrize("seed", range(8))
def test_many_runs_at_once_are_as_one_by_one(pages: int, seed: int) -> None:
    """Broken up at random, as a checkerboard, or with long runs between: taken and given alike."""
    order = np.random.default_rng(seed)
    extents, free = PageExtents(pages), np.ones(pages, dtype=np.bool_)
    for turn in range(24):
        wish = int(order.integers(0, max(1, int(pages * order.choice([0.02, 0.3, 1]))) + 1))
        if order.random() < 0.5:
            runs = extents.take(wish)
            if wish > np.count_nonzero(free):
                assert runs is None
                continue
            assert runs is not None
            lengths = sorted((length for _, length in naive(free)), reverse=True)
            fewest_runs = int(np.searchsorted(np.cumsum(lengths), wish)) + 1 if wish else 0
            assert len(runs) == fewest_runs
            for start, length in runs:
                assert free[start : start + length].all()
                free[start : start + length] = False
            assert sum(length for _, length in runs) == wish
        else:
            taken = ~free
            taken[order.random(pages) < order.choice([0.05, 0.5, 0.95])] = False
            if turn % 3 == 0:
                taken[::2] = False
            given = naive(taken)
            if turn % 2:
                for run in given:
                    extents.give(*run)
            elif given:
                extents.give_many(*np.array(given, dtype=np.int64).T.copy())
            free |= taken
        extents.check()
        assert extents.free_pages == np.count_nonzero(free)
        if turn % 4 == 0:
            assert extents.runs() == naive(free)
            assert len(extents) == len(naive(free))
            extents.check()


@pytest.mark.parametrize("pages", [10_000, 1_000_000 if FULL else 100_000])
@pytest.mark.parametrize("step", [2, 3, 40])
def test_an_index_takes_less_than_16_bytes_a_free_page(pages: int, step: int) -> None:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    extents = PageExtents(pages)
    extents.take(pages)
    for offset in (0, 1):  # the second time into a list that is long already
        starts = np.arange(offset, pages - step, step)
        extents.give_many(starts, np.ones(starts.size, dtype=np.int64))
        extents.index()
        held = tracemalloc.get_traced_memory()[0] - before
        assert held < pages + 16 * extents.free_pages + 4096
        if step > 2:
            extents.check()
    tracemalloc.stop()


def test_lengths_in_use_stay_few() -> None:
    """d different lengths take d * (d + 1) / 2 free pages, and a gap each."""
    order, extents, held = random.Random(1), PageExtents(48_918), list[PageRun]()  # noqa: S311
    for _ in range(4000):
        held += extents.take(order.choice((1, 2, 3, 5, 8, 13, 21, 34))) or []
        if len(held) > 2000:
            extents.give(*held.pop(order.randrange(len(held))))
        lengths = len(extents._lengths)
        assert lengths * (lengths + 1) // 2 <= extents.free_pages
    assert lengths > 5
