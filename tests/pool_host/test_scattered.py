"""Many pages of a broken-up pool at once: the same pages, however the bits are kept."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from pool_host import scattered
from pool_host.extents import PageExtents, runs_of_pages
from pool_host.scattered import Scattered, choose_scattered
from tests.effort import examples

WAYS = {"in one number": 1 << 30, "in words": 1, "in words, block by block": 1}


def chosen(flags: NDArray[np.uint8], wanted: int) -> Scattered | None:
    """Choose in every way that bits can be kept, and hold that it makes no difference."""
    found = []
    for way, least in WAYS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scattered, "_WIDE", least)
            if way.endswith("by block"):
                patch.setattr(scattered, "_BLOCK", 2)
                patch.setattr(scattered, "_MANY", 1)
                patch.setattr(scattered, "_KEPT", 0)
            found.append(choose_scattered(flags, int(np.count_nonzero(flags == 0)), wanted))
    first, *others = found
    for other in others:
        assert (first is None) == (other is None)
        if first is not None and other is not None:
            assert first.pages.tolist() == other.pages.tolist()
            assert first[1:] == other[1:]
    return first


@settings(max_examples=examples(150))
@given(
    pages=st.one_of(st.integers(1, 700), st.sampled_from([63, 64, 65, 127, 128, 129, 640])),
    share=st.sampled_from([0.02, 0.1, 0.3, 0.5, 0.7, 0.9]),
    width=st.sampled_from([1, 1, 2, 3, 7]),
    seed=st.integers(0, 10**6),
    part=st.floats(0, 1, exclude_min=True),
)
def test_they_are_in_the_fewest_runs_and_of_the_longest_extents(
    pages: int, share: float, width: int, seed: int, part: float
) -> None:
    drawn = np.random.default_rng(seed).random(pages) > share
    flags = np.repeat(drawn, width).astype(np.uint8)
    free = int(np.count_nonzero(flags == 0))
    if not free:
        return
    wanted = max(1, int(free * part))
    found = chosen(flags, wanted)
    extents = PageExtents.of(flags)
    if found is None:
        assert free > 8 * len(extents) or extents.largest > 16
        return
    assert found.extents == len(extents)
    assert found.pages.size == wanted
    assert np.all(np.diff(found.pages) > 0)
    assert not flags[found.pages].any()
    expected = extents.take(wanted)
    assert expected is not None
    runs = runs_of_pages(found.pages)
    assert len(runs) == found.runs == len(expected)
    assert sorted(length for _, length in runs) == sorted(length for _, length in expected)


CHOSEN: dict[str, tuple[str, int, list[int]]] = {
    "of equal extents the last": ("..#.#..#.#", 2, [5, 6]),
    "single ones from the end": (".#.#.#.#.", 3, [4, 6, 8]),
    "longer ones first, wherever they lie": (".#..#.#.#..", 5, [2, 3, 7, 9, 10]),
    "the rest from the shortest that holds it": ("...#..#.#...", 7, [0, 1, 2, 7, 9, 10, 11]),
    "the rest from the last of those": ("...#.#..#..#.", 5, [0, 1, 2, 9, 10]),
    "the beginning of an extent": ("...#...", 4, [0, 4, 5, 6]),
    "all there are": (".#..#", 3, [0, 2, 3]),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_which_are_chosen(case: str) -> None:
    picture, wanted, expected = CHOSEN[case]
    flags: NDArray[np.uint8] = np.array([letter == "#" for letter in picture], dtype=np.uint8)
    found = chosen(flags, wanted)
    assert found is not None
    assert found.pages.tolist() == expected


@pytest.mark.parametrize("place", [62, 63, 64, 65, 126, 127, 128])
@pytest.mark.parametrize("length", [1, 2, 5, 16])
def test_extents_across_the_words_of_bits(place: int, length: int) -> None:
    flags = np.ones(200, dtype=np.uint8)
    flags[place : place + length] = flags[0:40:2] = 0
    found = chosen(flags, length + 2)
    assert found is not None
    assert found.pages.tolist() == [36, 38, *range(place, place + length)]


def test_few_long_extents_are_no_matter_of_bits() -> None:
    flags = np.zeros(1000, dtype=np.uint8)
    assert chosen(flags, 100) is None
    flags[::30] = 1
    assert chosen(flags, 100) is None
    flags[:900:2] = 1  # among many short ones
    assert chosen(flags, 25) is None
