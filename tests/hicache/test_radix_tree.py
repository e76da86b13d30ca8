from __future__ import annotations

from unittest import mock

import pytest
import torch

from hicache.transfers import TransferError
from hicache.workers import Worker
from tests.hicache.rig import Rig, path_tokens

A, B, C = [1, 1], [2, 2], [3, 3]  # pages


@pytest.fixture
def rig() -> Rig:
    return Rig()


def on(rig: Rig, tier: str) -> set[tuple[int, ...]]:
    """Give the prefixes whose last page lies on a tier."""
    return {path_tokens(node) for node in rig.cache.nodes() if getattr(node, tier).page is not None}


class TestMatching:
    def test_the_longest_prefix_of_whole_pages_is_found(self, rig: Rig) -> None:
        rig.add(A + B)
        for tokens, pages in ((A + B + C, 2), (A + C, 1), ([*A, 2], 1), (B, 0), ([], 0)):
            assert len(rig.cache.match_prefix(tokens).nodes) == pages

    def test_device_slots_are_those_of_the_inserted_pages(self, rig: Rig) -> None:
        slots = rig.compute(A + B)
        rig.cache.insert(A + B, slots)
        assert torch.equal(rig.cache.match_prefix(A + B + C).device_indices(), slots)

    def test_a_page_that_is_there_already_is_given_back(self, rig: Rig) -> None:
        rig.add(A)
        before = rig.allocator.available_size()
        assert rig.cache.insert(A + B, rig.compute(A + B)) == 1
        assert rig.allocator.available_size() == before - 2

    def test_the_very_page_of_a_match_is_not(self, rig: Rig) -> None:
        rig.add(A)
        slots = torch.cat([rig.cache.match_prefix(A).device_indices(), rig.compute(B)])
        assert rig.cache.insert(A + B, slots) == 1
        assert on(rig, "device") == {(1, 1), (1, 1, 2, 2)}

    def test_slots_without_tokens_or_owner_change_nothing(self, rig: Rig) -> None:
        slots = rig.compute(A + B)
        with pytest.raises(ValueError, match="tokens: expected one for each of 4 slots, got 2"):
            rig.cache.insert(A, slots)
        rig.allocator.free(slots[2:])
        with pytest.raises(ValueError, match=r"device_indices: expected pages in use, got \[2\]"):
            rig.cache.insert(A + B, slots)
        assert not list(rig.cache.nodes())


class TestBackup:
    def test_a_page_is_not_backed_up_before_the_end_was_taken(self, rig: Rig) -> None:
        rig.cache.insert(A, rig.compute(A))
        assert on(rig, "host") == set()
        rig.workers["write"].run()
        assert on(rig, "host") == set()
        rig.cache.poll()
        assert on(rig, "host") == {(1, 1)}

    def test_a_page_whose_backup_is_pending_is_not_evicted(self, rig: Rig) -> None:
        rig.cache.insert(A, rig.compute(A))
        assert rig.cache.evict(2) == 0
        rig.workers["write"].run()
        assert rig.cache.evict(2) == 0
        rig.cache.poll()
        assert rig.cache.evict(2) == 2
        assert on(rig, "host") == {(1, 1)}

    def test_after_a_failed_backup_the_page_is_as_if_there_were_none(self, rig: Rig) -> None:
        rig.cache.insert(A, rig.compute(A))
        rig.workers["write"].run(failing=True)
        rig.cache.poll()
        assert rig.host.available_size() == rig.host.size
        assert rig.cache.evict(2) == 2
        assert not list(rig.cache.nodes())

    def test_a_full_host_evicts_what_was_used_longest_ago(self) -> None:
        rig = Rig(host_pages=2, storage=False)
        rig.add(A)
        rig.add(B)
        rig.cache.match_prefix(A)
        rig.add(C)
        assert on(rig, "host") == {(1, 1), (3, 3)}

    def test_what_the_host_has_no_room_for_stays_without(self) -> None:
        rig = Rig(host_pages=1, storage=False)
        rig.add(A + B)
        assert on(rig, "host") == {(1, 1)}
        assert on(rig, "device") == {(1, 1), (1, 1, 2, 2)}

    def test_every_page_reaches_storage_under_its_key(self, rig: Rig) -> None:
        rig.add(A + B)
        assert rig.storage is not None
        assert set(rig.storage.pages) == {node.key for node in rig.cache.nodes()}

    def test_a_host_page_on_its_way_to_storage_is_not_evicted(self, rig: Rig) -> None:
        rig.cache.insert(A, rig.compute(A))
        rig.workers["write"].run()
        rig.cache.poll()
        assert rig.cache.evict_host(2) == 0
        assert rig.cache.evict(2) == 2, "the device page is not in flight"
        rig.settle()
        assert rig.cache.evict_host(2) == 2

    def test_after_closing_pages_stay_on_the_device_alone(self, rig: Rig) -> None:
        rig.controller.close()
        assert rig.cache.insert(A, rig.compute(A)) == 1
        assert rig.controller.open_transfers == 0
        assert rig.cache.evict(2) == 2
        assert rig.allocator.available_size() == rig.allocator.size


class TestEviction:
    def test_leaves_go_first_and_the_oldest_of_them(self, rig: Rig) -> None:
        rig.add(A + B)
        rig.add(A + C)
        rig.cache.match_prefix(A + B)
        assert rig.cache.evict(2) == 2
        assert on(rig, "device") == {(1, 1), (1, 1, 2, 2)}
        assert rig.cache.evict(100) == 4
        assert on(rig, "device") == set()

    def test_a_locked_path_stays_until_it_is_unlocked(self, rig: Rig) -> None:
        rig.add(A + B)
        match = rig.cache.match_prefix(A)
        rig.cache.lock(match)
        assert rig.cache.evict(100) == 2
        assert rig.cache.evict_host(100) == 2
        assert on(rig, "device") == on(rig, "host") == {(1, 1)}
        rig.cache.unlock(match)
        assert rig.cache.evict(100) == 2

    def test_what_lies_below_on_the_host_alone_goes_with_a_page_that_is_lost(
        self, rig: Rig
    ) -> None:
        rig.add(A + B)
        rig.cache.evict(2)
        first = next(node for node in rig.cache.nodes() if path_tokens(node) == (1, 1))
        assert first.host.page is not None
        rig.controller.evict_host(torch.arange(2) + first.host.page * 2)
        rig.cache.host.put(first, None)  # as if it had never been backed up
        assert rig.cache.evict(2) == 2
        assert not list(rig.cache.nodes())
        assert rig.host.available_size() == rig.host.size

    def test_but_not_while_something_below_is_in_flight(self, rig: Rig) -> None:
        rig.add(A)
        rig.cache.insert(A + B, rig.compute(A + B))
        rig.workers["write"].run()
        rig.cache.poll()
        assert rig.cache.evict(2) == 2
        first = next(node for node in rig.cache.nodes() if path_tokens(node) == (1, 1))
        assert first.host.page is not None
        rig.controller.evict_host(torch.arange(2) + first.host.page * 2)
        rig.cache.host.put(first, None)  # as if it had never been backed up
        assert on(rig, "host") == {(1, 1, 2, 2)}, "its backup to storage is pending"
        assert rig.cache.evict(2) == 0
        rig.settle()
        assert rig.cache.evict(2) == 2
        assert not list(rig.cache.nodes())

    def test_a_host_page_stays_while_pages_below_it_lie_on_the_device(self, rig: Rig) -> None:
        rig.add(A)
        rig.cache.evict(2)
        match = rig.cache.match_prefix(A)
        rig.cache.lock(match)
        rig.cache.load_back(match)
        rig.cache.unlock(match)
        rig.cache.insert(A + B, rig.compute(A + B))  # by a request that computed both
        rig.workers["load"].run(failing=True)
        rig.workers["write"].run(failing=True)
        rig.cache.poll()
        assert (on(rig, "device"), on(rig, "host")) == ({(1, 1, 2, 2)}, {(1, 1)})
        assert rig.cache.evict_host(2) == 0
        assert rig.cache.evict(2) == 2
        assert rig.cache.evict_host(2) == 2

    def test_a_page_on_both_tiers_may_lose_its_backup(self, rig: Rig) -> None:
        rig.add(A)
        assert rig.cache.evict_host(2) == 2
        assert on(rig, "device") == {(1, 1)}

    def test_a_reset_gives_everything_back_but_not_under_a_lock(self, rig: Rig) -> None:
        rig.add(A + B)
        rig.cache.evict(2)
        match = rig.cache.match_prefix(A)
        rig.cache.lock(match)
        with pytest.raises(RuntimeError, match="locked by a request"):
            rig.cache.reset()
        rig.cache.unlock(match)
        rig.cache.reset()
        assert not list(rig.cache.nodes())
        assert rig.allocator.available_size() == rig.allocator.size
        assert rig.host.available_size() == rig.host.size


class TestLoading:
    def test_what_is_on_the_host_comes_back_with_its_rows(self, rig: Rig) -> None:
        rig.add(A + B)
        rig.cache.evict(100)
        match = rig.cache.match_prefix(A + B)
        rig.cache.lock(match)
        load = rig.cache.load_back(match)
        assert match.loads() == (load,)
        rig.settle()
        assert match.loads() == ()
        pages = (match.device_indices()[::2] // 2).tolist()
        assert rig.is_right("device", (1, 1), pages[0])
        assert rig.is_right("device", (1, 1, 2, 2), pages[1])

    def test_as_many_pages_as_there_is_room_for(self) -> None:
        rig = Rig(pages=4)
        rig.add(A + B + C)
        rig.cache.evict(100)
        rig.compute(A + B)  # a request that runs
        match = rig.cache.match_prefix(A + B + C)
        rig.cache.lock(match)
        rig.cache.load_back(match)
        rig.settle()
        assert on(rig, "device") == {(1, 1), (1, 1, 2, 2)}
        assert match.device_indices().numel() == 4

    def test_two_requests_wait_for_one_load(self, rig: Rig) -> None:
        rig.add(A)
        rig.cache.evict(100)
        one, two = rig.cache.match_prefix(A), rig.cache.match_prefix(A)
        for match in (one, two):
            rig.cache.lock(match)
            rig.cache.load_back(match)
        assert rig.controller.open_transfers == 1
        assert one.loads() == two.loads() != ()

    def test_after_a_failed_load_the_page_is_on_the_host_as_before(self, rig: Rig) -> None:
        rig.add(A)
        rig.cache.evict(100)
        match = rig.cache.match_prefix(A)
        rig.cache.lock(match)
        load = rig.cache.load_back(match)
        assert load is not None
        rig.workers["load"].run(failing=True)
        rig.cache.poll()
        with pytest.raises(TransferError):
            load.wait()
        assert on(rig, "device") == set()
        assert on(rig, "host") == {(1, 1)}
        assert rig.allocator.available_size() == rig.allocator.size

    def test_a_computed_page_becomes_the_device_s_of_one_on_the_host(self, rig: Rig) -> None:
        rig.add(A)
        rig.cache.evict(100)
        rig.add(A)
        assert on(rig, "device") == on(rig, "host") == {(1, 1)}

    def test_room_is_waited_for_while_backups_are_pending(self) -> None:
        rig = Rig(pages=4, worker=Worker)
        for tokens in (A + B, C + A, B + C, C + B):
            slots = rig.cache.alloc_device(4)
            assert slots is not None
            rig.fill(tokens, slots)
            rig.cache.insert(tokens, slots)
        assert rig.cache.alloc_device(100) is None
        rig.cache.flush()
        rig.controller.close()


class TestPrefetching:
    @pytest.fixture
    def stored(self) -> Rig:
        rig = Rig()
        rig.add(A + B + C)
        rig.cache.reset()
        return rig

    def test_pages_join_the_tree_when_they_have_arrived(self, stored: Rig) -> None:
        prefetch = stored.cache.prefetch(A + B + C + A)
        assert prefetch is not None
        assert len(prefetch.keys) == 3
        assert not list(stored.cache.nodes())
        stored.settle()
        assert on(stored, "host") == {(1, 1), (1, 1, 2, 2), (1, 1, 2, 2, 3, 3)}

    def test_only_what_follows_the_match_is_brought(self, stored: Rig) -> None:
        stored.cache.insert(A, stored.compute(A))
        prefetch = stored.cache.prefetch(A + B + C)
        assert prefetch is not None
        assert len(prefetch.keys) == 2

    def test_pages_whose_path_is_gone_are_given_back(self, stored: Rig) -> None:
        stored.add(A)
        stored.cache.prefetch(A + B)
        stored.cache.evict(100)
        stored.cache.evict_host(100)
        assert not list(stored.cache.nodes())
        stored.settle()
        assert not list(stored.cache.nodes())
        assert stored.host.available_size() == stored.host.size

    def test_pages_that_were_computed_meanwhile_are_given_back(self, stored: Rig) -> None:
        stored.cache.prefetch(A)
        stored.cache.insert(A, stored.compute(A))
        stored.settle()
        assert on(stored, "host") == {(1, 1)}
        assert stored.host.available_size() == stored.host.size - 2

    def test_a_full_host_makes_room_but_not_of_the_path(self) -> None:
        rig = Rig(host_pages=2)
        rig.add(A + B)
        rig.cache.reset()
        rig.add(A)
        rig.add(C)
        rig.cache.evict(100)
        prefetch = rig.cache.prefetch(A + B)
        assert prefetch is not None
        rig.settle()
        assert on(rig, "host") == {(1, 1), (1, 1, 2, 2)}

    @pytest.mark.parametrize(
        "tokens", [pytest.param(B, id="nothing stored"), pytest.param([1], id="no whole page")]
    )
    def test_there_is_none_for(self, stored: Rig, tokens: list[int]) -> None:
        assert stored.cache.prefetch(tokens) is None

    def test_there_is_none_while_storage_cannot_be_asked(self, stored: Rig) -> None:
        assert stored.storage is not None
        with mock.patch.object(stored.storage, "batch_exists", side_effect=OSError(5, "I/O error")):
            assert stored.cache.prefetch(A) is None
        assert stored.controller.stats.failed["prefetch"] == 1
        assert stored.cache.prefetch(A) is not None

    def test_there_is_none_without_storage(self) -> None:
        assert Rig(storage=False).cache.prefetch(A) is None


def test_a_pool_with_too_little_memory_is_refused_before_anything_is_made() -> None:
    with (
        mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 2**62),
        pytest.raises(ValueError, match="Not enough host memory"),
    ):
        Rig()
