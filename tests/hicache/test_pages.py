from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hicache.pages import (
    page_key,
    page_keys,
    page_slots,
    page_tokens,
    pages_of,
    parent_tag,
    root_key,
    tag,
)

TOKENS = st.lists(st.integers(0, 2**40), max_size=12)


@given(pages=st.lists(st.integers(0, 1000), unique=True), page_size=st.integers(1, 8))
def test_the_slots_of_pages_are_those_pages(pages: list[int], page_size: int) -> None:
    slots = page_slots(pages, page_size)
    assert slots.dtype == torch.int64
    assert pages_of(slots, page_size, "slots") == pages


def test_a_page_is_its_consecutive_slots() -> None:
    assert page_slots([2, 0], 3).tolist() == [6, 7, 8, 0, 1, 2]


def test_what_does_not_fill_a_page_is_left_out() -> None:
    assert page_tokens([1, 2, 3, 4, 5], 2) == [(1, 2), (3, 4)]


@given(tokens=TOKENS, page_size=st.integers(1, 4), data=st.data())
def test_keys_chain_from_any_page_on(
    tokens: list[int], page_size: int, data: st.DataObject
) -> None:
    keys = page_keys(tokens, page_size)
    assert len(keys) == len(tokens) // page_size
    start = data.draw(st.integers(0, len(keys)))
    parent = keys[start - 1] if start else ""
    assert page_keys(tokens[start * page_size :], page_size, parent) == keys[start:]


@given(tokens=st.lists(st.integers(0, 2**40), min_size=4, max_size=12), data=st.data())
def test_a_key_names_every_token_up_to_its_page(tokens: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(tokens) - len(tokens) % 2 - 1))
    other = [*tokens]
    other[place] += 1
    keys, others = page_keys(tokens, 2), page_keys(other, 2)
    assert keys[: place // 2] == others[: place // 2]
    assert not set(keys[place // 2 :]) & set(others[place // 2 :])


def test_a_key_is_the_same_on_every_machine() -> None:
    first = "ebb2b6e0c34e192667112b2f60aa40ce7403a4d28946ace7" + 16 * "0"
    assert page_key("", [1, 2]) == first
    assert page_key(first, [1, 2])[48:] == first[:16]


@given(tokens=TOKENS, extra_key=st.none() | st.text(max_size=3))
def test_a_key_tells_which_page_it_follows(tokens: list[int], extra_key: str | None) -> None:
    keys = page_keys(tokens, 2, root_key(extra_key))
    followed = [parent_tag(key) for key in keys]
    assert followed == [None, *map(tag, keys[:-1])][: len(keys)]
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)


@given(tokens=TOKENS, one=st.none() | st.text(max_size=3), other=st.none() | st.text(max_size=3))
def test_an_extra_key_keeps_pages_apart(
    tokens: list[int], one: str | None, other: str | None
) -> None:
    keys, others = (set(page_keys(tokens, 2, root_key(extra))) for extra in (one, other))
    if (one or None) == (other or None):  # an empty one is none
        assert keys == others
    else:
        assert not keys & others
        assert not {tag(key) for key in keys} & {tag(key) for key in others}


def test_an_extra_key_is_the_same_on_every_machine_and_no_page() -> None:
    assert root_key(None) == root_key("") == ""
    assert root_key("lora")[:16] == "0" * 16
    assert root_key("\ud800") != root_key("lora")  # whatever a caller has for a string


def test_no_page_is_in_the_list_that_a_caller_could_change() -> None:
    assert isinstance(page_keys([1, 2, 3, 4], 2), tuple)


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        pytest.param(torch.tensor([0, 1, 2]), "whole pages of 2 slots, got 3", id="half a page"),
        pytest.param(torch.tensor([1, 2]), "consecutive slots", id="between two pages"),
        pytest.param(torch.tensor([-2, -1, -2, -1]), "each page once", id="a page twice"),
        pytest.param(torch.tensor([0.0, 1.0]), "got torch.float32", id="numbers that are no slots"),
        pytest.param(torch.tensor([True, False]), "got torch.bool", id="a mask"),
        pytest.param(torch.tensor([[0, 1]]), r"shape \(1, 2\)", id="a matrix"),
    ],
)
def test_slots_that_are_no_pages_are_refused_by_name(slots: torch.Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=f"my_slots: expected .*{words}"):
        pages_of(slots, 2, "my_slots")
