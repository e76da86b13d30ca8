"""Slots for requests that keep their whole context on the host."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.pool_host.families import make_hisparse_mha, make_mla, make_paged


@pytest.fixture(params=[make_mla, make_hisparse_mha, make_paged])
def pool(request: pytest.FixtureRequest) -> Any:
    """Give a pool of five pages of four slots."""
    return request.param(pages=5).host


def tables(positions: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full((3, positions), -1), torch.zeros(3, dtype=torch.int64)


def test_a_request_grows_page_by_page(pool: Any) -> None:
    table, lengths = tables()
    first = pool.alloc_paged_token_slots(table, lengths, 1, 0, 5)
    assert first.tolist() == [0, 1, 2, 3, 4]
    assert (lengths.tolist(), pool.available_size()) == ([0, 8, 0], 12)
    more = pool.alloc_paged_token_slots(table, lengths, 1, 5, 3)
    assert more.tolist() == [5, 6, 7]  # what the page still had
    other = pool.alloc_paged_token_slots(table, lengths, 0, 0, 1)
    assert other.tolist() == [8]
    last = pool.alloc_paged_token_slots(table, lengths, 1, 8, 2)
    assert last.tolist() == [12, 13]
    assert lengths.tolist() == [4, 12, 0]
    assert table[1].tolist() == [*range(8), *range(12, 16), -1, -1, -1, -1]
    assert (table[2] == -1).all()


def test_a_request_is_released_with_its_whole_pages(pool: Any) -> None:
    table, lengths = tables()
    pool.alloc_paged_token_slots(table, lengths, 2, 0, 6)
    slots = pool.allocated_host_indices(table, 2, 6)
    assert slots.tolist() == list(range(8))
    assert pool.free(slots) == 8
    assert pool.available_size() == pool.size
    assert pool.allocated_host_indices(table, 2, 0).tolist() == []
    assert pool.allocated_host_indices(table, 1, 100).tolist() == []


def test_slots_are_the_callers_own(pool: Any) -> None:
    table, lengths = tables()
    slots = pool.alloc_paged_token_slots(table, lengths, 0, 0, 4)
    slots.fill_(9)
    assert table[0, :4].tolist() == [0, 1, 2, 3]
    pool.allocated_host_indices(table, 0, 4).fill_(9)
    assert table[0, :4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [0, -1, -5])
def test_no_tokens_need_no_slots(pool: Any, count: int) -> None:
    table, lengths = tables()
    slots = pool.alloc_paged_token_slots(table, lengths, 0, 0, count)
    assert (slots.dtype, slots.tolist()) == (torch.int64, [])
    assert pool.available_size() == pool.size


def test_a_request_that_does_not_fit_takes_nothing(
    pool: Any, caplog: pytest.LogCaptureFixture
) -> None:
    table, lengths = tables(32)
    pool.alloc_paged_token_slots(table, lengths, 0, 0, 8)
    before = table.clone(), lengths.clone(), pool.available_size()
    with pytest.raises(RuntimeError, match="HiSparse host mem pool alloc failed for 4 pages"):
        pool.alloc_paged_token_slots(table, lengths, 1, 0, 14)
    assert "alloc failed for 4 pages" in caplog.text
    assert torch.equal(table, before[0])
    assert torch.equal(lengths, before[1])
    assert pool.available_size() == before[2]


def test_pages_are_asked_for_by_number(pool: Any) -> None:
    assert pool.alloc_page(2).tolist() == list(range(8))
    assert pool.alloc_page(4) is None
    for number, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="num_pages must be"):
            pool.alloc_page(number)


TABLE, LENGTHS = tables()
BAD_CALLS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("a table of int32", {"table": TABLE.int()}, TypeError, "req_to_host_pool must be of"),
    ("a list", {"table": TABLE.tolist()}, TypeError, "req_to_host_pool must be a tensor"),
    ("a row", {"table": TABLE[0]}, ValueError, "req_to_host_pool must have 2 dimensions"),
    ("fractions", {"lengths": LENGTHS.float()}, TypeError, "allocated_len must be of"),
    ("few lengths", {"lengths": LENGTHS[:2]}, ValueError, "a length for each of 3 requests"),
    ("an unknown request", {"row": 3}, ValueError, "req_pool_idx must be below 3"),
    ("a negative request", {"row": -1}, ValueError, "req_pool_idx must be at least 0"),
    ("a request by name", {"row": "1"}, TypeError, "req_pool_idx must be an integer"),
    ("a gap", {"start": 1}, ValueError, "start_pos must be at most 0"),
    ("a negative start", {"start": -1}, ValueError, "start_pos must be at least 0"),
    ("a fractional start", {"start": 0.0}, TypeError, "start_pos must be an integer"),
    ("a fractional count", {"count": 2.0}, TypeError, "num_tokens must be an integer"),
    ("a row too short", {"count": 17}, ValueError, "req_to_host_pool must have 20 positions"),
]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [row[1:] for row in BAD_CALLS],
    ids=[row[0] for row in BAD_CALLS],
)
def test_a_request_is_named_and_follows_on(
    pool: Any, changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    table, lengths = tables()
    given = {"table": table, "lengths": lengths, "row": 0, "start": 0, "count": 4, **changed}
    with pytest.raises(error, match=message):
        pool.alloc_paged_token_slots(*given.values())
    assert pool.available_size() == pool.size
    assert (table == -1).all()
    assert not lengths.any()
    if "table" in changed or "row" in changed:
        with pytest.raises(error, match=message):
            pool.allocated_host_indices(given["table"], given["row"], 4)


def test_a_table_whose_last_page_would_be_cut_is_refused(pool: Any) -> None:
    table, lengths = tables(6)
    with pytest.raises(ValueError, match="req_to_host_pool must have 8 positions for whole pages"):
        pool.alloc_paged_token_slots(table, lengths, 0, 0, 5)
    assert pool.available_size() == pool.size
