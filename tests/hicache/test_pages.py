from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hicache.pages import page_key, page_keys, page_slots, page_tokens, pages_of

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
    key = "ad46978630af6cee27c5cf54fdd57158e0952db68a6f47986436a08aee0f0819"
    assert page_key("", [1, 2]) == key


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
