"""Pages on their way to storage that fails, is late, hangs or forgets: none without its head."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from hicache.cache_controller import HiCacheController
from hicache.pages import page_keys
from hicache.radix_tree import HiRadixCache
from hicache.storage.base import HeadMissing, HiCacheStorage, NotKept, PageFormat
from hicache.summary import CacheSummary
from hicache.workers import Closed, Worker
from tests.hicache.rig import PATIENCE, MemoryStorage, Rig

A, B, C, D = [1, 1], [2, 2], [3, 3], [4, 4]  # pages


class Failing(MemoryStorage):
    """Storage that fails as it is told to, for the pages that it is told."""

    def __init__(self, page_format: PageFormat) -> None:
        super().__init__(page_format)
        self.fails: Callable[[str], bool] = lambda key: False
        self.tried: list[str] = []

    def set(self, key: str, page: torch.Tensor) -> None:
        self.tried.append(key)
        if self.fails(key):
            raise OSError(28, "No space left on device")
        super().set(key, page)


class Hanging(MemoryStorage):
    """Storage that does not answer before `gate` is set."""

    def __init__(self, page_format: PageFormat) -> None:
        super().__init__(page_format)
        self.gate = threading.Event()
        self.hangs = {"set"}
        self.at = threading.Event()  # somebody waits

    def set(self, key: str, page: torch.Tensor) -> None:
        self._wait("set")
        super().set(key, page)

    def get(self, key: str, target: torch.Tensor) -> bool:
        self._wait("get")
        return super().get(key, target)

    def _wait(self, call: str) -> None:
        if call in self.hangs:
            self.at.set()
            assert self.gate.wait(PATIENCE)


def rig_on(kind: type[HiCacheStorage], **options: Any) -> Rig:
    """Give a rig whose storage is of that kind."""
    rig = Rig(pages=16, host_pages=24, **options)
    rig.controller.close()
    storage: Any = kind(PageFormat.of(rig.host, "rig"))
    rig.storage = storage
    worker = options.get("worker", rig._worker)
    rig.controller = HiCacheController(
        rig.allocator, rig.host, storage=storage, worker=worker, close_limit=0.2
    )
    rig.cache = HiRadixCache(rig.controller)
    return rig


@contextmanager
def hanging(limit: float) -> Iterator[tuple[Rig, Hanging]]:
    """Give a rig whose storage hangs, with real threads."""
    rig = rig_on(Hanging, worker=Worker)
    storage: Any = rig.storage
    storage.page_limit = limit
    try:
        yield rig, storage
    finally:
        storage.gate.set()
        rig.controller.close()


def usable(rig: Rig, *pages: list[int]) -> int:
    """Give how many of the pages storage has from the first on; it has no others of them."""
    assert rig.storage is not None
    keys = page_keys([token for page in pages for token in page], 2)
    count = rig.storage.batch_exists(keys)
    assert not set(keys[count:]) & set(rig.storage.pages), "a page without its head"
    return count


def unwritten(rig: Rig) -> int:
    return CacheSummary.of(rig.cache).unwritten


class TestFailing:
    @pytest.mark.parametrize("place", range(4))
    def test_what_fails_once_is_tried_again_at_once(self, place: int) -> None:
        rig = rig_on(Failing)
        storage: Any = rig.storage
        key = page_keys(A + B + C + D, 2)[place]
        storage.fails = lambda tried: tried == key and storage.tried.count(key) == 1
        rig.add(A + B + C + D)
        assert usable(rig, A, B, C, D) == 4
        assert unwritten(rig) == 0

    @pytest.mark.parametrize("place", range(4))
    def test_what_goes_on_failing_stops_what_follows_and_nothing_else(self, place: int) -> None:
        rig = rig_on(Failing)
        storage: Any = rig.storage
        key = page_keys(A + B + C + D, 2)[place]
        storage.fails = lambda tried: tried == key
        rig.add(A + B + C + D)
        assert usable(rig, A, B, C, D) == place
        assert unwritten(rig) == 4 - place
        rig.add(D + C)  # another prompt
        assert usable(rig, D, C) == 2
        storage.fails = lambda tried: False
        rig.add(A + B + C + D)  # the same turn again
        assert usable(rig, A, B, C, D) == 4
        assert all(node.stored for node in rig.cache.nodes())

    def test_a_later_turn_brings_what_an_earlier_one_could_not(self) -> None:
        rig = rig_on(Failing)
        storage: Any = rig.storage
        storage.fails = lambda tried: True
        rig.add(A + B)
        assert usable(rig, A, B) == 0
        storage.fails = lambda tried: False
        rig.add(A + B + C)
        assert usable(rig, A, B, C) == 3

    def test_a_failed_write_to_the_host_is_tried_again_by_a_later_turn(self) -> None:
        rig = rig_on(Failing)
        rig.cache.insert(A + B, rig.compute(A + B))
        rig.workers["write"].run(failing=True)
        rig.settle()
        assert usable(rig, A, B) == 0
        rig.add(A + B + C)
        assert usable(rig, A, B, C) == 3

    def test_storage_that_forgot_the_head_is_given_all_of_it_again(self) -> None:
        rig = rig_on(Failing)
        rig.add(A + B)
        assert rig.storage is not None
        rig.storage.pages.clear()
        rig.add(A + B + C)
        assert usable(rig, A, B, C) == 0
        assert unwritten(rig) == 1
        rig.add(A + B + C + D)
        assert usable(rig, A, B, C, D) == 4

    def test_a_page_that_left_the_host_before_its_turn_is_counted(self) -> None:
        rig = rig_on(Failing)
        tokens = [token for number in range(6) for token in (number, number)]
        rig.cache.insert(tokens, rig.compute(tokens))
        rig.workers["write"].run()
        rig.cache.poll()
        assert rig.controller.open_transfers == 1
        assert rig.cache.evict_host(12) == 6, "three are on their way, three wait"
        rig.settle()
        assert unwritten(rig) == 3
        assert usable(rig, *([number] * 2 for number in range(6))) == 3
        rig.cache.insert(tokens, rig.compute(tokens))
        rig.settle()
        assert usable(rig, *([number] * 2 for number in range(6))) == 6


class TestHanging:
    def test_it_keeps_neither_the_host_nor_the_end(self) -> None:
        with hanging(limit=30.0) as (rig, storage):
            for number in range(12):  # twice what the host has
                tokens = [token for page in range(4) for token in (10 * number + page,) * 2]
                slots = rig.cache.alloc_device(8)
                assert slots is not None
                rig.fill(tokens, slots)
                rig.cache.insert(tokens, slots)
                while any(node.backing_up for node in rig.cache.nodes()):
                    rig.cache.poll(wait=False)
                assert sum(n.backed_up for n in rig.cache.match_prefix(tokens).nodes) == 4
            assert storage.at.is_set()
            began = time.monotonic()
            rig.controller.close()
            assert time.monotonic() - began < 5
            rig.cache.poll()
            assert rig.controller.open_transfers == 0
            assert not any(node.host.locks or node.device.locks for node in rig.cache.nodes())
            assert unwritten(rig) > 0

    def test_what_is_late_is_given_up_and_what_follows_refused_at_once(self) -> None:
        with hanging(limit=0.1) as (rig, storage):
            rig.cache.insert(A + B, rig.compute(A + B))
            rig.cache.flush()
            assert unwritten(rig) == 2
            rig.cache.insert(C, rig.compute(C))
            began = time.monotonic()
            rig.cache.flush()
            assert time.monotonic() - began < 5
            assert unwritten(rig) == 3
            storage.gate.set()
            assert storage._sets.wait(PATIENCE)
            rig.cache.insert(A + B, rig.compute(A + B))
            rig.cache.flush()
            assert usable(rig, A, B) == 2

    def test_a_late_write_keeps_what_the_page_was_when_it_began(self) -> None:
        with hanging(limit=0.1) as (rig, storage):
            rig.cache.insert(A, rig.compute(A))
            rig.cache.flush()
            rig.cache.evict(100)
            rig.cache.evict_host(100)
            for _ in range(3):  # the page's memory is another's now
                rig.cache.insert(B + C + D, rig.compute(B + C + D))
                rig.cache.flush()
            storage.gate.set()
            assert storage._sets.wait(PATIENCE)
            rig.cache.reset()
            prefetch = rig.cache.prefetch(A)
            assert prefetch is not None
            rig.cache.flush()
            (node,) = rig.cache.match_prefix(A).nodes
            assert node.host.page is not None
            assert rig.is_right("host", tuple(A), node.host.page)

    def test_a_read_that_hangs_gives_its_pages_back(self) -> None:
        with hanging(limit=0.1) as (rig, storage):
            storage.hangs = {"get"}
            rig.cache.insert(A + B, rig.compute(A + B))
            rig.cache.flush()
            rig.cache.reset()
            prefetch = rig.cache.prefetch(A + B)
            assert prefetch is not None
            rig.cache.flush()
            assert isinstance(prefetch.error, TimeoutError)
            assert rig.host.available_size() == rig.host.size

    def test_storage_that_minds_no_limit_is_left_behind(self) -> None:
        class Stubborn(Hanging):
            def set_pages(self, *args: Any, **options: Any) -> None:
                self._wait("set")

            def get_pages(self, *args: Any) -> Iterator[bool]:
                self._wait("get")
                yield True

        rig = rig_on(Stubborn, worker=Worker)
        storage: Any = rig.storage
        storage.hangs = {"set", "get"}
        storage.pages = dict.fromkeys(page_keys(B, 2), torch.zeros(0))
        rig.cache.insert(A, rig.compute(A))
        prefetch = rig.cache.prefetch(B)
        assert prefetch is not None
        while rig.controller.open_transfers != 2:
            rig.cache.poll()
        began = time.monotonic()
        rig.controller.close()
        assert time.monotonic() - began < 5
        rig.cache.poll()
        assert rig.controller.open_transfers == 0
        held = rig.host.available_size()
        storage.gate.set()
        while rig.host.available_size() == held:  # what may still be written into is nobody's
            rig.controller.finished()
        assert prefetch.completed == 0
        assert rig.host.available_size() == rig.host.size - 2

    def test_what_is_queued_ends_as_closed(self) -> None:
        with hanging(limit=30.0) as (rig, _):
            host = rig.host.alloc(4)
            assert host is not None
            first, second = (
                rig.controller.backup(part, page_keys(tokens, 2))
                for part, tokens in zip(host.split(2), (A, B), strict=True)
            )
            rig.controller.close()
            assert rig.controller.finished() == [first, second]
            assert isinstance(first.error, NotKept)
            assert isinstance(second.error, Closed)
            assert rig.controller.stats.unwritten == 2


class TestBatches:
    def pages(self, rig: Rig, count: int) -> Sequence[int]:
        return range(0, 2 * count, 2)

    def test_a_batch_whose_head_is_missing_is_not_kept(self) -> None:
        rig = rig_on(Failing)
        keys = page_keys(A + B, 2)
        assert rig.storage is not None
        with pytest.raises(HeadMissing) as caught:
            rig.storage.set_pages(keys[1:], rig.controller._pages, self.pages(rig, 1), keys[0])
        assert caught.value.kept == 0
        assert not rig.storage.pages

    def test_it_says_how_many_are_kept(self) -> None:
        rig = rig_on(Failing)
        storage: Any = rig.storage
        keys = page_keys(A + B + C + D, 2)
        storage.fails = lambda key: key == keys[2]
        with pytest.raises(NotKept, match="No space left") as caught:
            storage.set_pages(keys, rig.controller._pages, self.pages(rig, 4))
        assert caught.value.kept == 2
        assert set(storage.pages) == set(keys[:2])

    def test_a_storage_that_is_full_and_says_nothing_ends_it_as_well(self) -> None:
        class Full(MemoryStorage):
            def set(self, key: str, page: torch.Tensor) -> None:
                if len(self.pages) < 3:
                    super().set(key, page)

        rig = rig_on(Full)
        rig.add(A + B + C + D)
        assert usable(rig, A, B, C, D) == 3
        assert unwritten(rig) == 1


def test_pages_of_one_extra_key_are_found_under_no_other() -> None:
    rig = rig_on(Failing)
    for extra in (None, "one", "other"):
        slots = rig.compute(A + B)
        assert rig.cache.insert(A + B, slots, extra) == 2
        rig.settle()
        assert torch.equal(rig.cache.match_prefix(A + B, extra).device_indices(), slots)
    assert rig.storage is not None
    assert len(rig.storage.pages) == 6
    assert not rig.cache.match_prefix(A + B, "third").nodes
    assert rig.cache.prefetch(A + B, "third") is None
    rig.cache.reset()
    assert rig.cache.prefetch(A + B, "one") is not None
    rig.settle()
    assert len(rig.cache.match_prefix(A + B, "one").nodes) == 2
    assert not rig.cache.match_prefix(A + B).nodes
    rig.cache.evict_host(100)
    assert not rig.cache._roots, "roots go with their pages"
