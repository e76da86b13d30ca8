"""The Mooncake back end against a store in this process, which can be late, wrong or gone."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from hicache.cache_controller import HiCacheController
from hicache.device_pools import DSATokenToKVPool, MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.host_pools import HostPages, host_pool_for
from hicache.pages import page_keys
from hicache.radix_tree import HiRadixCache
from hicache.storage import mooncake
from hicache.storage.base import PageFormat
from hicache.storage.mooncake import HiCacheMooncake, MooncakeConfig, MooncakeMissing
from hicache.storage.timed import Stalled, TimedCalls
from tests.hicache.rig import PATIENCE, Rig

FORMAT = PageFormat("model", "MHA", "torch.float16", 64)
FIRST, SECOND = page_keys([1, 2, 3, 4], 2)
CONFIG = MooncakeConfig("nowhere:1", 0, limit=0.2, ask_limit=0.2, close_limit=0.2)


class Store:
    """A Mooncake client as far as it is asked, with the answers that a real one gives."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.registered: dict[int, int] = {}
        self.batches: list[int] = []
        self.answer: int | None = None  # instead of doing anything
        self.gate = threading.Event()
        self.gate.set()
        self.closed = False

    def register_buffer(self, at: int, size: int) -> int:
        self.registered[at] = size
        return self.answer or 0

    def unregister_buffer(self, at: int) -> int:
        del self.registered[at]
        return 0

    def batch_put_from_multi_buffers(
        self, names: list[str], addresses: list[list[int]], sizes: list[list[int]]
    ) -> list[int]:
        self._wait(addresses, sizes)
        self.batches.append(len(names))
        if self.answer is not None:
            return [self.answer] * len(names)
        for name, *parts in zip(names, addresses, sizes, strict=True):
            data = b"".join(ctypes.string_at(at, size) for at, size in zip(*parts, strict=True))
            self.objects.setdefault(name, data)  # what is there stays
        return [0] * len(names)

    def batch_get_into_multi_buffers(
        self, names: list[str], addresses: list[list[int]], sizes: list[list[int]]
    ) -> list[int]:
        self._wait(addresses, sizes)
        if self.answer is not None:
            return [self.answer] * len(names)
        return [self._get(*one) for one in zip(names, addresses, sizes, strict=True)]

    def _get(self, name: str, addresses: list[int], sizes: list[int]) -> int:
        data = self.objects.get(name)
        if data is None:
            return -704
        if len(data) != sum(sizes):
            return -600 if len(data) > sum(sizes) else -800
        at = 0
        for address, size in zip(addresses, sizes, strict=True):
            ctypes.memmove(address, data[at : at + size], size)
            at += size
        return len(data)

    def batch_is_exist(self, names: list[str]) -> list[int]:
        self.gate.wait(PATIENCE)
        if self.answer is not None:
            return [self.answer] * len(names)
        return [int(name in self.objects) for name in names]

    def get_size(self, name: str) -> int:
        return len(self.objects[name]) if name in self.objects else -704

    def remove(self, name: str, _force: bool) -> int:
        return 0 if self.objects.pop(name, None) is not None else -704

    def close(self) -> int:
        self.closed = True
        return 0

    def _wait(self, addresses: list[list[int]], sizes: list[list[int]]) -> None:
        assert self.gate.wait(PATIENCE)
        for row, lengths in zip(addresses, sizes, strict=True):
            for address, length in zip(row, lengths, strict=True):
                assert any(
                    first <= address and address + length <= first + size
                    for first, size in self.registered.items()
                ), "memory that was not registered"


class Loose(Store):
    """One that is handed memory of any kind, for pages outside a pool."""

    def _wait(self, addresses: Any, sizes: Any) -> None:
        assert self.gate.wait(PATIENCE)


def page(number: int) -> torch.Tensor:
    return torch.full((64,), number, dtype=torch.uint8)


def read(storage: HiCacheMooncake, key: str) -> torch.Tensor | None:
    target = torch.zeros(64, dtype=torch.uint8)
    if storage.get(key, target):
        return target
    assert not target.any(), "a miss must leave the target as it was"
    return None


@pytest.fixture
def store() -> Store:
    return Loose()


@pytest.fixture
def storage(store: Store) -> Iterator[HiCacheMooncake]:
    storage = HiCacheMooncake(CONFIG, FORMAT, store)
    storage.set(FIRST, page(1))
    storage.set(SECOND, page(2))
    yield storage
    store.gate.set()
    storage.close()


class TestPages:
    def test_what_was_set_is_read(self, storage: HiCacheMooncake) -> None:
        for key, number in ((FIRST, 1), (SECOND, 2)):
            found = read(storage, key)
            assert found is not None
            assert torch.equal(found, page(number))
        assert storage.batch_exists([FIRST, SECOND, "0" * 64, FIRST]) == 2
        assert storage.batch_exists([]) == 0
        assert not storage.exists("0" * 64)
        assert read(storage, "0" * 64) is None
        assert storage.refused == 0

    @pytest.mark.parametrize("key", ["", "../escape", "A" * 64])
    def test_a_name_that_is_no_key_is_refused(self, storage: HiCacheMooncake, key: str) -> None:
        with pytest.raises(ValueError, match="key: expected 64 hexadecimal digits"):
            storage.exists(key)

    def test_another_format_has_other_objects(self, storage: HiCacheMooncake, store: Store) -> None:
        other = HiCacheMooncake(CONFIG, PageFormat("other", "MHA", "torch.float16", 64), store)
        assert read(other, FIRST) is None
        other.set(FIRST, page(7))
        found = read(storage, FIRST)
        assert found is not None
        assert torch.equal(found, page(1))

    @pytest.mark.parametrize("place", [0, 8, 40, 72, 80, 111, 112, 175])
    def test_a_changed_byte_is_refused_and_can_be_set_again(
        self, storage: HiCacheMooncake, store: Store, place: int
    ) -> None:
        data = bytearray(store.objects[storage.name(FIRST)])
        data[place] ^= 1
        store.objects[storage.name(FIRST)] = bytes(data)
        assert read(storage, FIRST) is None
        assert storage.refused == 1
        storage.set(FIRST, page(1))
        assert read(storage, FIRST) is not None

    @pytest.mark.parametrize("size", [0, 50, 175, 177, 500])
    def test_an_object_of_another_size_is_refused_and_can_be_set_again(
        self, storage: HiCacheMooncake, store: Store, size: int
    ) -> None:
        store.objects[storage.name(FIRST)] = bytes(size)
        assert read(storage, FIRST) is None
        assert storage.refused == 1
        storage.set(FIRST, page(1))
        assert read(storage, FIRST) is not None

    def test_a_page_under_another_name_is_refused(
        self, storage: HiCacheMooncake, store: Store
    ) -> None:
        store.objects[storage.name(FIRST)] = store.objects[storage.name(SECOND)]
        assert read(storage, FIRST) is None
        assert storage.refused == 1


class TestFaults:
    def test_what_cannot_be_read_is_a_miss(self, storage: HiCacheMooncake, store: Store) -> None:
        for store.answer in (-900, -901, -800, -600, -10):
            assert read(storage, FIRST) is None
        assert storage.refused == 0
        assert len(store.objects) == 2

    def test_what_cannot_be_kept_is_said(self, storage: HiCacheMooncake, store: Store) -> None:
        store.answer = -200
        with pytest.raises(OSError, match="mooncake put: 1 of 1 pages: -200"):
            storage.set(FIRST, page(1))
        with pytest.raises(OSError, match="mooncake exists: failed with -200"):
            storage.batch_exists([FIRST])

    def test_a_late_call_ends_the_wait_and_others_are_refused_at_once(
        self, storage: HiCacheMooncake, store: Store
    ) -> None:
        store.gate.clear()
        calls: list[Callable[[], Any]] = [
            lambda: storage.set(FIRST, page(1)),
            lambda: read(storage, FIRST),
            lambda: storage.exists(FIRST),
        ]
        for call in calls:
            with pytest.raises(Stalled, match=r"no answer within 0\.2 s"):
                call()
            with pytest.raises(OSError, match="an earlier call has not returned yet"):
                call()
        store.gate.set()
        for lane in (storage._writing, storage._reading, storage._asking):
            assert lane.wait(PATIENCE)
        assert read(storage, FIRST) is not None

    def test_it_is_not_left_while_a_call_is_late(
        self, storage: HiCacheMooncake, store: Store
    ) -> None:
        store.gate.clear()
        with pytest.raises(Stalled):
            read(storage, FIRST)
        storage.close()
        assert not store.closed
        assert store.registered

    def test_a_closed_one_refuses(self, storage: HiCacheMooncake, store: Store) -> None:
        storage.close()
        storage.close()
        assert store.closed
        assert not store.registered
        with pytest.raises(OSError, match="was left"):
            storage.exists(FIRST)

    def test_memory_that_the_store_will_not_have_is_said(self) -> None:
        store = Store()
        store.answer = -1
        with pytest.raises(OSError, match="mooncake register: failed with -1"):
            HiCacheMooncake(CONFIG, FORMAT, store)

    def test_what_a_call_raises_is_raised(self) -> None:
        calls = TimedCalls("test")
        with pytest.raises(ZeroDivisionError):
            calls.call(lambda: 1 // 0, PATIENCE)
        with pytest.raises(TimeoutError, match="its own"):
            calls.call(_raise_timeout, PATIENCE)
        assert calls.call(lambda: 7, PATIENCE) == 7
        calls.close()


def _raise_timeout() -> None:
    raise TimeoutError("its own")


class TestMissing:
    def test_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "mooncake", None)
        monkeypatch.setitem(sys.modules, "mooncake.store", None)
        with pytest.raises(MooncakeMissing, match="mooncake-transfer-engine-non-cuda"):
            HiCacheMooncake(CONFIG, FORMAT)

    def test_a_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Broken:
            def find_spec(self, name: str, *_: object) -> None:
                if name.startswith("mooncake"):
                    raise ImportError("libibverbs.so.1: cannot open shared object file")

        for name in [name for name in sys.modules if name.split(".")[0] == "mooncake"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
        with pytest.raises(MooncakeMissing, match=r"libibverbs\.so\.1.*Debian"):
            HiCacheMooncake(CONFIG, FORMAT)


class Tiers:
    """A cache of a family whose storage is a store in this process."""

    def __init__(self, store: Store, family: str, layout: str, pages: int = 12) -> None:
        self.device: MHATokenToKVPool | DSATokenToKVPool = (
            MHATokenToKVPool(pages * 4, 4, torch.float32, 2, 4, 3)
            if family == "mha"
            else DSATokenToKVPool(pages * 4, 4, torch.bfloat16, 16, 8, 3)
        )
        self.host = host_pool_for(self.device, layout=layout)
        self.pages = HostPages(self.host, self.device)
        self.storage = HiCacheMooncake(CONFIG, PageFormat.of(self.host, "model"), store)
        self.storage.register_mem_pool_host(self.pages)


@pytest.mark.parametrize("layout", ["layer_first", "page_first", "page_first_direct"])
@pytest.mark.parametrize("family", ["mha", "dsa"])
class TestZeroCopy:
    def test_pages_go_straight_from_and_to_the_pool(self, family: str, layout: str) -> None:
        store = Store()  # which takes nothing but registered memory
        tiers = Tiers(store, family, layout)
        slots = [8, 0, 20]
        keys = page_keys(list(range(12)), 4)
        content = [torch.randint(0, 120, (tiers.pages.page_bytes,)).byte() for _ in slots]
        for slot, rows in zip(slots, content, strict=True):
            tiers.pages.write(slot, rows)
        tiers.storage.set_pages(keys, tiers.pages, slots)
        back = [28, 32, 36]
        assert list(tiers.storage.get_pages(keys, tiers.pages, back)) == [True] * 3
        for slot, rows in zip(back, content, strict=True):
            assert torch.equal(tiers.pages.read(slot), rows)
        tiers.storage.close()
        tiers.host.destroy()

    def test_an_object_is_what_a_page_file_is(self, family: str, layout: str) -> None:
        tiers = Tiers(Store(), family, layout)
        (key,) = page_keys([1, 2, 3, 4], 4)
        tiers.pages.write(4, torch.arange(tiers.pages.page_bytes).remainder(100).byte())
        tiers.storage.set_pages([key], tiers.pages, [4])
        from hicache.storage.envelope import encode

        page = tiers.pages.read(4).numpy().tobytes()
        (kept,) = tiers.storage._store.objects.values()
        assert kept == encode(key, tiers.storage.format.digest, page)


class TestCache:
    def test_many_pages_go_in_batches(self) -> None:
        store = Store()
        tiers = Tiers(store, "mha", "page_first", pages=150)
        keys = page_keys(list(range(600)), 4)
        tiers.storage.set_pages(keys, tiers.pages, range(0, 600, 4))
        assert store.batches == [128, 22]
        assert all(tiers.storage.get_pages(keys, tiers.pages, range(600, 1200, 4)))

    def test_pages_that_may_still_be_written_are_given_to_nobody(self) -> None:
        store = Store()
        tiers = Tiers(store, "mha", "page_first")
        controller = HiCacheController(
            PagedTokenToKVPoolAllocator(tiers.device), tiers.host, storage=tiers.storage
        )
        keys = page_keys(list(range(8)), 4)
        tiers.storage.set_pages(keys, tiers.pages, [0, 4])
        free = tiers.host.available_size()
        store.gate.clear()
        prefetch = controller.prefetch(keys)
        assert prefetch is not None
        (ended,) = controller.finished(wait=True, timeout=PATIENCE)
        assert isinstance(ended.error, Stalled)
        assert tiers.host.available_size() == free - 8
        store.gate.set()
        assert tiers.storage._reading.wait(PATIENCE)
        controller.finished()
        assert tiers.host.available_size() == free
        controller.close()

    def test_a_tree_loads_from_it_what_it_lost(self) -> None:
        store = Store()
        rig = Rig()
        rig.controller.close()
        storage = HiCacheMooncake(CONFIG, PageFormat.of(rig.host, "rig"), store)
        rig.controller = HiCacheController(
            rig.allocator, rig.host, storage=storage, worker=rig._worker
        )
        rig.cache = HiRadixCache(rig.controller)
        tokens = [1, 2, 3, 4, 5, 6]
        rig.add(tokens)
        rig.cache.reset()
        prefetch = rig.cache.prefetch(tokens)
        assert prefetch is not None
        rig.settle()
        nodes = rig.cache.match_prefix(tokens).nodes
        assert len(nodes) == 3
        for end, node in zip((2, 4, 6), nodes, strict=True):
            assert node.host.page is not None
            assert rig.is_right("host", tuple(tokens[:end]), node.host.page)

    def test_the_batch_is_that_of_sglang(self) -> None:
        assert mooncake.BATCH_PAGES == 128
