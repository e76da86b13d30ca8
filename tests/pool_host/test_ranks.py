"""Ranks that make the same calls find the same pages, without a word to each other."""

from __future__ import annotations

import multiprocessing
import os
import random
from multiprocessing.connection import Connection
from typing import Any

import pytest

RANKS = 4
TURNS = 400


def calls(seed: int) -> list[list[int]]:
    """Give the slots that a fixed sequence of calls gets from a pool, and from owner lanes."""
    from pool_host.logical import LogicalHostPool
    from pool_host.owner_lanes import OwnerLanePool

    order = random.Random(seed)  # noqa: S311
    pools: list[Any] = [LogicalHostPool(2048, 4), OwnerLanePool(2048, 4, 4)]
    held: list[tuple[Any, Any]] = []
    given: list[list[int]] = []
    for _ in range(TURNS):
        pool = order.choice(pools)
        pages = order.choice((1, 2, 3, 5, 8, 13, 40))
        if isinstance(pool, OwnerLanePool) and order.random() < 0.5:
            slots = pool.alloc_pages_with_owners([order.randrange(4) for _ in range(pages)])
        else:
            slots = pool.alloc_contiguous_preferred(4 * pages)
        if slots is None:
            for _ in range(3):
                owner, gone = held.pop(order.randrange(len(held)))
                owner.free(gone)
        else:
            held.append((pool, slots))
            given.append(slots.tolist())
    return given


def work(pipe: Connection) -> None:
    pipe.send(calls(seed=1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_four_processes_find_the_same_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("spawn")
    started = []
    for rank in range(RANKS):
        monkeypatch.setenv("PYTHONHASHSEED", str(rank))  # what the child reads when it starts
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there,))
        process.start()
        there.close()
        started.append((process, here))
    found = []
    for process, here in started:
        found.append(here.recv())
        process.join()
    assert os.environ["PYTHONHASHSEED"] == str(RANKS - 1)
    assert len(found[0]) > TURNS // 2
    assert all(pages == found[0] for pages in found)
    assert calls(seed=1) == found[0]
    assert calls(seed=2) != found[0]
