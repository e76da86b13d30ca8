from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch

from hicache.cache_controller import HiCacheController
from hicache.pages import page_keys, page_slots
from hicache.storage.base import PageFormat
from hicache.transfers import LayerDoneCounter, Load, TransferError
from hicache.workers import Closed, Worker
from tests.hicache.rig import LAYERS, PATIENCE, MemoryStorage, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def written(rig: Rig, tokens: list[int]) -> torch.Tensor:
    """Compute tokens, back them up, and give their host slots."""
    write = rig.controller.write(rig.compute(tokens))
    assert write is not None
    rig.run_all()
    rig.controller.finished()
    return write.host_indices


class TestOrder:
    def test_transfers_of_a_kind_end_in_the_order_they_were_started(self, rig: Rig) -> None:
        slots = rig.compute([1, 2, 3, 4, 5, 6])
        started = [rig.controller.write(part, tag=part) for part in slots.split(2)]
        rig.run_all()
        assert rig.controller.finished() == started

    def test_a_write_then_a_load_gives_every_layer_back(self, rig: Rig) -> None:
        host = written(rig, [1, 2, 3, 4])
        load = rig.controller.load(host)
        assert load is not None
        rig.run_all()
        assert rig.is_right("device", (1, 2), int(load.device_indices[0]) // 2)
        assert rig.is_right("device", (1, 2, 3, 4), int(load.device_indices[2]) // 2)

    def test_pages_are_copied_to_their_own_slots_in_any_order(self, rig: Rig) -> None:
        host = written(rig, [1, 2, 3, 4, 5, 6])
        backwards = host.view(-1, 2).flip(0).flatten()
        load = rig.controller.load(backwards)
        assert load is not None
        rig.run_all()
        third, second, first = (load.device_indices[::2] // 2).tolist()
        assert rig.is_right("device", (1, 2), first)
        assert rig.is_right("device", (1, 2, 3, 4), second)
        assert rig.is_right("device", (1, 2, 3, 4, 5, 6), third)

    def test_what_arrived_is_counted_in_bytes(self, rig: Rig) -> None:
        host = written(rig, [1, 2, 3, 4])
        rig.controller.load(host)
        rig.run_all()
        rig.controller.finished()
        size = 4 * rig.host.size_per_token
        assert rig.controller.stats.moved == {"write": size, "load": size}


class TestLayers:
    def test_layer_0_may_be_read_while_layer_1_is_loading(self) -> None:
        rig = Rig(worker=Worker)
        write = rig.controller.write(rig.compute([1, 2]))
        assert write is not None
        write.wait(PATIENCE)
        rig.controller.finished()
        copy: Callable[..., None] = rig.host.load_to_device_per_layer
        go_on = threading.Event()

        def halting(*args: Any, **options: Any) -> None:
            if args[3] == 1:
                assert go_on.wait(PATIENCE)
            copy(*args, **options)

        with mock.patch.object(rig.host, "load_to_device_per_layer", halting):
            load = rig.controller.load(write.host_indices)
            assert load is not None
            rig.controller.layer_done_counter.attach([load])
            page = int(load.device_indices[0]) // 2
            read = rig.device.get_key_buffer(0)[page * 2 : page * 2 + 2]
            assert not go_on.is_set()
            assert torch.equal(read, rig.host.k_buffer[0][write.host_indices])
            with pytest.raises(TimeoutError, match="layer 1 is still under way"):
                load.wait_layer(1, timeout=0.01)
            go_on.set()
            rig.device.get_key_buffer(1)
            load.wait(PATIENCE)
        assert rig.is_right("device", (1, 2), page)
        rig.controller.close()

    def test_every_attached_load_is_waited_for(self) -> None:
        slots = torch.arange(2)
        here, coming = Load(slots, slots, LAYERS), Load(slots, slots, LAYERS)
        counter = LayerDoneCounter()
        counter.attach([here, coming])
        here.layer_done(0)
        passed = threading.Event()

        def wait() -> None:
            counter.wait_until(0)
            passed.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not passed.wait(0.05)
        coming.layer_done(0)
        assert passed.wait(PATIENCE)
        waiting.join()

    def test_layers_are_named_as_the_model_names_them(self) -> None:
        pool = Rig().device
        pool.start_layer, pool.end_layer = 4, 4 + LAYERS
        assert pool.get_key_buffer(5).data_ptr() == pool.k_buffer[1].data_ptr()
        with pytest.raises(IndexError, match="layer_id: expected 4 to 5, got 0"):
            pool.get_key_buffer(0)


class TestFailures:
    @pytest.mark.parametrize("kind", ["write", "load", "backup"])
    def test_a_failure_on_a_worker_reaches_who_waits_and_who_takes_it_back(
        self, rig: Rig, kind: str
    ) -> None:
        host = written(rig, [1, 2])
        transfer = {
            "write": lambda: rig.controller.write(rig.compute([3, 4])),
            "load": lambda: rig.controller.load(host),
            "backup": lambda: rig.controller.backup(host, page_keys([1, 2], 2)),
        }[kind]()
        assert transfer is not None
        rig.workers[kind].run(failing=True)
        with pytest.raises(TransferError, match=f"the {kind} failed: chosen to fail") as caught:
            transfer.wait()
        assert isinstance(caught.value.__cause__, OSError)
        assert rig.controller.finished() == [transfer]
        assert rig.controller.stats.failed[kind] == 1
        assert rig.controller.stats.moved[kind] == (2 * rig.host.size_per_token) * (kind == "write")

    def test_a_forward_pass_is_told_that_its_layer_will_not_come(self, rig: Rig) -> None:
        host = written(rig, [1, 2])
        load = rig.controller.load(host)
        assert load is not None
        rig.controller.layer_done_counter.attach([load])
        with mock.patch.object(
            rig.host, "load_to_device_per_layer", side_effect=[None, OSError("gone")]
        ):
            rig.run_all()
        rig.device.get_key_buffer(0)
        with pytest.raises(TransferError, match="the load failed: gone"):
            rig.device.get_key_buffer(1)

    def test_the_next_transfer_is_carried_out_all_the_same(self) -> None:
        rig = Rig(worker=Worker)
        slots = rig.compute([1, 2, 3, 4])
        with mock.patch.object(rig.host, "backup_from_device_all_layer", side_effect=OSError("no")):
            bad = rig.controller.write(slots[:2])
            assert bad is not None
            assert bad.join(PATIENCE)
        good = rig.controller.write(slots[:2])
        assert good is not None
        good.wait(PATIENCE)
        assert rig.is_right("host", (1, 2), int(good.host_indices[0]) // 2)
        rig.controller.close()


class TestInFlight:
    def test_pages_in_flight_are_not_given_back_until_the_end_is_taken(self, rig: Rig) -> None:
        write = rig.controller.write(rig.compute([1, 2]))
        assert write is not None
        for moment in ("queued", "ended"):
            if moment == "ended":
                rig.run_all()
            with pytest.raises(ValueError, match="host_indices: expected pages at rest"):
                rig.controller.evict_host(write.host_indices)
            with pytest.raises(ValueError, match="device_indices: expected pages at rest"):
                rig.controller.evict_device(write.device_indices)
        rig.controller.finished()
        assert rig.controller.evict_host(write.host_indices) == 2
        assert rig.controller.evict_device(write.device_indices) == 2

    def test_a_page_in_two_transfers_waits_for_both(self, rig: Rig) -> None:
        host = written(rig, [1, 2])
        rig.controller.load(host)
        rig.controller.backup(host, page_keys([1, 2], 2))
        rig.workers["load"].run()
        rig.controller.finished()
        with pytest.raises(ValueError, match="in flight"):
            rig.controller.evict_host(host)
        rig.run_all()
        rig.controller.finished()
        assert rig.controller.evict_host(host) == 2

    def test_no_room_means_none_and_nothing_taken(self) -> None:
        rig = Rig(pages=4, host_pages=1)
        slots = rig.compute([1, 2, 3, 4])
        assert rig.controller.write(slots) is None
        assert rig.host.available_size() == 2
        host = written(rig, [5, 6])
        rig.compute([7, 8])
        assert rig.controller.load(host) is None
        assert rig.allocator.available_size() == 0


class TestRelease:
    def test_nothing_to_release_queues_nothing(self, rig: Rig) -> None:
        rig.controller.append_host_mem_release(torch.empty(0, dtype=torch.int64))
        assert rig.controller._releases.empty()
        assert rig.controller.drain_host_mem_release() == 0

    def test_what_a_thread_releases_is_given_back_by_the_scheduler(self, rig: Rig) -> None:
        slots = rig.host.alloc(4)
        assert slots is not None
        thread = threading.Thread(target=rig.controller.append_host_mem_release, args=[slots])
        thread.start()
        thread.join()
        assert rig.host.available_size() == rig.host.size - 4
        rig.controller.finished()
        assert rig.host.available_size() == rig.host.size


def test_a_caller_may_change_the_slots_it_gave(rig: Rig) -> None:
    slots = rig.compute([1, 2])
    write = rig.controller.write(slots)
    assert write is not None
    slots.zero_()
    rig.run_all()
    rig.controller.finished()
    host = write.host_indices.clone()
    assert rig.is_right("host", (1, 2), int(host[0]) // 2)
    load = rig.controller.load(host)
    assert load is not None
    host.zero_()
    rig.run_all()
    assert rig.is_right("device", (1, 2), int(load.device_indices[0]) // 2)


class TestPrefetch:
    TOKENS = (1, 2, 3, 4, 5, 6)

    @pytest.fixture
    def stored(self, rig: Rig) -> tuple[str, ...]:
        """Put three pages into storage, and free the host."""
        host = written(rig, list(self.TOKENS))
        keys = page_keys(self.TOKENS, 2)
        rig.controller.backup(host, keys)
        rig.run_all()
        rig.controller.finished()
        rig.controller.evict_host(host)
        return keys

    def test_pages_land_in_their_own_slots(self, rig: Rig, stored: tuple[str, ...]) -> None:
        taken = rig.host.alloc(rig.host.size)
        assert taken is not None
        rig.host.free(taken.view(-1, 2).flip(0).flatten())  # so that pages are given out backwards
        prefetch = rig.controller.prefetch(stored)
        assert prefetch is not None
        rig.run_all()
        pages = (prefetch.arrived()[::2] // 2).tolist()
        assert len(pages) == 3
        assert all(
            rig.is_right("host", self.TOKENS[: 2 * number], page)
            for number, page in enumerate(pages, 1)
        )

    def test_it_ends_at_the_first_page_that_is_missing(
        self, rig: Rig, stored: tuple[str, ...]
    ) -> None:
        assert rig.storage is not None
        del rig.storage.pages[stored[1]]
        prefetch = rig.controller.prefetch(stored)
        assert prefetch is not None
        rig.run_all()
        rig.controller.finished()
        assert prefetch.completed == 1
        assert rig.host.available_size() == rig.host.size - 2

    def test_with_too_little_room_keys_and_slots_are_shortened_alike(
        self, rig: Rig, stored: tuple[str, ...]
    ) -> None:
        rig.host.alloc(rig.host.size - 4)
        prefetch = rig.controller.prefetch(stored)
        assert prefetch is not None
        assert prefetch.keys == stored[:2]
        assert prefetch.host_indices.numel() == 4
        rig.run_all()
        assert prefetch.completed == 2

    def test_with_no_room_there_is_none(self, rig: Rig, stored: tuple[str, ...]) -> None:
        rig.host.alloc(rig.host.size)
        assert rig.controller.prefetch(stored) is None
        assert rig.controller.open_transfers == 0

    def test_without_keys_there_is_none(self, rig: Rig) -> None:
        assert rig.controller.prefetch(()) is None
        assert rig.host.available_size() == rig.host.size

    @pytest.mark.parametrize("arrived", [0, 1, 2, 3])
    def test_an_abort_gives_each_page_back_once(
        self, rig: Rig, stored: tuple[str, ...], arrived: int
    ) -> None:
        assert rig.storage is not None
        prefetch = rig.controller.prefetch(stored)
        assert prefetch is not None
        get, calls = rig.storage.get, 0

        def aborted_meanwhile(key: str, target: torch.Tensor) -> bool:
            nonlocal calls
            calls += 1
            if calls == arrived:
                prefetch.stop()
            return get(key, target)

        if arrived == 0:
            prefetch.stop()
        with mock.patch.object(rig.storage, "get", aborted_meanwhile):
            rig.run_all()
        assert rig.controller.finished() == [prefetch]
        assert prefetch.completed == arrived
        assert rig.host.available_size() == rig.host.size - 2 * arrived
        rig.controller.evict_host(prefetch.arrived())
        assert rig.host.available_size() == rig.host.size
        with pytest.raises(AssertionError, match="Double-free"):
            rig.host.free(prefetch.host_indices[:2])

    @pytest.mark.parametrize(
        ("failing", "method"),
        [
            pytest.param(lambda rig: rig.storage, "get", id="of storage"),
            pytest.param(lambda rig: rig.host, "set_from_flat_data_page", id="of the host pool"),
        ],
    )
    def test_a_failure_keeps_what_arrived_and_gives_back_the_rest(
        self, rig: Rig, stored: tuple[str, ...], failing: Callable[[Rig], object], method: str
    ) -> None:
        prefetch = rig.controller.prefetch(stored)
        assert prefetch is not None
        with mock.patch.object(failing(rig), method, side_effect=[True, OSError("gone")]):
            rig.run_all()
        rig.controller.finished()
        assert (prefetch.completed, str(prefetch.error)) == (1, "gone")
        assert rig.host.available_size() == rig.host.size - 2


class TestClosing:
    def test_what_runs_finishes_and_what_is_queued_fails(self) -> None:
        rig = Rig(worker=Worker)
        started, go_on = threading.Event(), threading.Event()
        copy: Callable[..., None] = rig.host.backup_from_device_all_layer

        def halting(*args: Any) -> None:
            started.set()
            assert go_on.wait(PATIENCE)
            copy(*args)

        slots = rig.compute([1, 2, 3, 4])
        with mock.patch.object(rig.host, "backup_from_device_all_layer", halting):
            running, queued = (rig.controller.write(part) for part in slots.split(2))
            assert started.wait(PATIENCE)
            closing = threading.Thread(target=rig.controller.close)
            closing.start()
            while not rig.controller.is_closed:
                pass
            go_on.set()
            closing.join(PATIENCE)
        assert running is not None
        assert queued is not None
        assert rig.controller.finished() == [running, queued]
        assert running.error is None
        assert isinstance(queued.error, Closed)

    def test_nothing_starts_afterwards_and_nothing_is_taken(self) -> None:
        rig = Rig(worker=Worker)
        slots = rig.compute([1, 2])
        host = rig.host.alloc(2)
        assert host is not None
        rig.controller.close()
        rig.controller.close()
        before = rig.host.available_size(), rig.allocator.available_size()
        starts: list[Callable[[], object]] = [
            lambda: rig.controller.write(slots),
            lambda: rig.controller.load(host),
            lambda: rig.controller.backup(host, page_keys([1, 2], 2)),
            lambda: rig.controller.prefetch(page_keys([1, 2], 2)),
        ]
        for start in starts:
            with pytest.raises(Closed):
                start()
        assert (rig.host.available_size(), rig.allocator.available_size()) == before

    def test_its_threads_end(self) -> None:
        before = set(threading.enumerate())
        rig = Rig(worker=Worker)
        assert len(set(threading.enumerate()) - before) == 4
        rig.controller.close()
        assert set(threading.enumerate()) <= before


class TestRefusals:
    @pytest.mark.parametrize(
        ("slots", "words"),
        [
            pytest.param(torch.tensor([2]), "whole pages of 2", id="part of a page"),
            pytest.param(torch.tensor([3, 4]), "consecutive slots", id="parts of two pages"),
            pytest.param(torch.tensor([3, 2]), "consecutive slots", id="a page backwards"),
            pytest.param(torch.tensor([2, 3, 2, 3]), "each page once", id="a page twice"),
            pytest.param(torch.tensor([2, 3], dtype=torch.int32), "int64", id="other integers"),
            pytest.param(torch.tensor([[2, 3]]), "int64 vector", id="a matrix"),
        ],
    )
    def test_slots_that_are_no_pages(self, rig: Rig, slots: torch.Tensor, words: str) -> None:
        rig.compute([1, 2, 3, 4])
        before = rig.host.available_size(), rig.allocator.available_size()
        for argument, act in (
            ("device_indices", rig.controller.write),
            ("host_indices", rig.controller.load),
            ("device_indices", rig.controller.evict_device),
            ("host_indices", rig.controller.evict_host),
        ):
            with pytest.raises(ValueError, match=f"{argument}: .*{words}"):
                act(slots)
        assert (rig.host.available_size(), rig.allocator.available_size()) == before

    def test_keys_that_are_not_one_for_each_page(self, rig: Rig) -> None:
        host = written(rig, [1, 2, 3, 4])
        with pytest.raises(ValueError, match="keys: expected one for each of 2 pages, got 1"):
            rig.controller.backup(host, page_keys([1, 2], 2))

    def test_storage_where_there_is_none(self) -> None:
        rig = Rig(storage=False)
        for act in (
            lambda: rig.controller.prefetch(page_keys([1, 2], 2)),
            lambda: rig.controller.backup(page_slots([0], 2), page_keys([1, 2], 2)),
        ):
            with pytest.raises(ValueError, match="storage: expected a back end"):
                act()

    def test_a_host_pool_with_other_pages(self, rig: Rig) -> None:
        with pytest.raises(ValueError, match="mem_pool_host: expected pages of 2 slots"):
            HiCacheController(rig.allocator, Rig(page_size=4).host)

    def test_storage_with_other_pages(self, rig: Rig) -> None:
        storage = MemoryStorage(PageFormat("rig", "other", "torch.float32", 3))
        with pytest.raises(ValueError, match="storage: expected pages of 128 bytes, got 3"):
            HiCacheController(rig.allocator, rig.host, storage=storage)
