"""Extents of free pages: each request in the fewest runs, and neighbours joined again."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pool_host.extents import PageExtents, PageRun
from tests.effort import examples
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


BROKEN: dict[str, Callable[[PageExtents], object]] = {
    "a page that is given twice": lambda e: e.give(12, 2),
    "a page past the end": lambda e: e.give(99, 2),
    "a wrong count": lambda e: setattr(e, "free_pages", 7),
    "an end that nobody has": lambda e: e._start_before.update({77: 70}),
    "an end that is somebody else's": lambda e: e._start_before.update({20: 40}),
    "an extent in no class": lambda e: e._starts_of[10].pop(40),
    "an extent in two classes": lambda e: e._starts_of[7].update({10: None}),
    "a class without extents": lambda e: e._starts_of.update({3: {}}),
    "classes out of order": lambda e: e._lengths.reverse(),
    "neighbours apart": lambda e: e._insert(20, 3),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_check_finds(case: str) -> None:
    extents = holding((10, 10), (40, 10), (60, 7))
    BROKEN[case](extents)
    with pytest.raises(RuntimeError, match="Free pages are not what they should be: "):
        extents.check()


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
