from __future__ import annotations

import functools
import threading
from typing import Any
from unittest import mock

import pytest
import torch

from hicache.device_pools import (
    DSATokenToKVPool,
    KVCache,
    MambaPool,
    MHATokenToKVPool,
    MLATokenToKVPool,
    PagedTokenToKVPoolAllocator,
)
from hicache.host_pools import host_pool_for
from pool_host import HostPoolGroup
from pool_host.common import ShmHostTensorAllocator
from pool_host.mamba import MambaPoolHost
from pool_host.mha import AsymmetricMHATokenToKVPoolHost, MHATokenToKVPoolHost
from pool_host.mla import MLATokenToKVPoolHost
from tests.pool_host.interrupts import interrupted

FLOAT, FP8 = torch.float32, torch.float8_e4m3fn


class TestPools:
    def test_padded_tokens_have_rows_of_their_own(self) -> None:
        pool = MHATokenToKVPool(8, 4, FLOAT, 2, 3, 5, v_head_dim=6)
        assert [tuple(buffer.shape) for buffer in pool.k_buffer] == [(12, 2, 3)] * 5
        assert [tuple(buffer.shape) for buffer in pool.v_buffer] == [(12, 2, 6)] * 5
        slots = PagedTokenToKVPoolAllocator(pool).alloc(8)
        assert slots is not None
        assert (int(slots.min()), int(slots.max())) == (4, 11)

    @pytest.mark.parametrize(
        "pool",
        [MHATokenToKVPool(8, 4, FP8, 1, 8, 2), MLATokenToKVPool(8, 4, FP8, 4, 4, 2)],
        ids=["mha", "mla"],
    )
    def test_fp8_is_stored_as_bytes_and_read_as_fp8(self, pool: Any) -> None:
        slots = torch.tensor([4, 9])
        rows = torch.tensor([0.5, -2.0])[:, None, None].expand(2, 1, 8)
        pool.set_kv_buffer(1, slots, *[rows] * (2 if hasattr(pool, "v_buffer") else 1))
        assert pool.store_dtype == torch.uint8
        assert pool.get_key_buffer(1).dtype == FP8
        assert torch.equal(pool.get_key_buffer(1)[slots].float(), rows)
        assert torch.equal(
            pool.get_value_buffer(1)[slots].float(),
            rows[..., : 8 if hasattr(pool, "v_buffer") else 4],
        )

    def test_the_indexer_s_keys_come_back_but_for_the_rounding_of_fp8(self) -> None:
        pool = DSATokenToKVPool(8, 4, FLOAT, 4, 4, 2, index_head_dim=256)
        slots, keys = (
            torch.tensor([11, 4, 6]),
            torch.randn(3, 256, generator=torch.Generator().manual_seed(0)),
        )
        pool.set_index_k(1, slots, keys)
        assert torch.allclose(pool.get_index_k(1, slots), keys, rtol=0.07, atol=0.02)
        assert not pool.get_index_k(0, slots).any()

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: MHATokenToKVPool(0, 4, FLOAT, 1, 1, 1), "size: expected a positive number"),
            (lambda: MHATokenToKVPool(6, 4, FLOAT, 1, 1, 1), "size: expected a multiple of"),
            (lambda: MLATokenToKVPool(4, 0, FLOAT, 1, 1, 1), "page_size: expected a positive"),
            (lambda: MLATokenToKVPool(4, 4, FLOAT, 1, 1, -1), "layer_num: expected a positive"),
            (
                lambda: MHATokenToKVPool(4, 4, FLOAT, 1, 1, 1, start_layer=-1),
                "start_layer: expected 0 or more",
            ),
            (
                lambda: DSATokenToKVPool(4, 4, FLOAT, 1, 1, 1, index_head_dim=100),
                "index_head_dim: expected a multiple of 128",
            ),
            (lambda: MambaPool(0, 1, [(2,)], (2,), FLOAT, FLOAT), "size, num_mamba_layers"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_sizes_that_make_no_pool_are_refused(self, make: Any, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            make()


class TestHostPools:
    @pytest.mark.parametrize(
        ("device", "host"),
        [
            (MHATokenToKVPool(8, 4, FLOAT, 2, 4, 2), MHATokenToKVPoolHost),
            (
                MHATokenToKVPool(8, 4, FLOAT, 2, 4, 2, v_head_dim=8),
                AsymmetricMHATokenToKVPoolHost,
            ),
            (MLATokenToKVPool(8, 4, FLOAT, 4, 4, 2), MLATokenToKVPoolHost),
            (DSATokenToKVPool(8, 4, FLOAT, 4, 4, 2), HostPoolGroup),
        ],
        ids=["mha", "mha, two head sizes", "mla", "dsa"],
    )
    def test_each_device_pool_has_its_host_pool(self, device: KVCache, host: type) -> None:
        found = host_pool_for(device, layout="page_first")
        assert type(found) is host
        assert (found.size, found.page_size) == (16, 4)

    def test_memory_can_be_shared_with_other_processes(self) -> None:
        found = host_pool_for(MLATokenToKVPool(8, 4, FLOAT, 4, 4, 2), allocator_type="shm")
        assert isinstance(found.allocator, ShmHostTensorAllocator)
        assert found.allocator.fd is not None
        found.destroy()

    def test_a_pool_without_one_is_refused(self) -> None:
        class Other(KVCache):
            def get_key_buffer(self, layer_id: int) -> torch.Tensor:
                return torch.empty(layer_id)

            get_value_buffer = get_key_buffer

        with pytest.raises(TypeError, match="expected an MHA, MLA or DSA pool, got a Other"):
            host_pool_for(Other(4, 4, FLOAT, 1, "cpu"))

    def test_states_of_requests_go_to_the_host_and_back(self) -> None:
        device = MambaPool(4, 3, [(2, 4), (8,)], (2, 2), torch.bfloat16, FLOAT)
        states = [*device.mamba_cache.conv, device.mamba_cache.temporal]
        for number, state in enumerate(states):
            state.copy_(torch.arange(state.numel()).view(state.shape) + number)
        kept = [state.clone() for state in states]
        host = MambaPoolHost(device, 2.0, 0, pin_memory=False)
        slots, requests = host.alloc(2), torch.tensor([4, 1])
        assert slots is not None
        host.backup_from_device_all_layer(device, slots, requests, "kernel")
        for state in states:
            state.zero_()
        for layer in range(3):
            host.load_to_device_per_layer(device, slots, requests, layer, "kernel")
        for state, before in zip(states, kept, strict=True):
            assert torch.equal(state[:, requests], before[:, requests])
            assert not state[:, [0, 2, 3]].any()


class TestAllocator:
    @pytest.fixture
    def allocator(self) -> PagedTokenToKVPoolAllocator:
        return PagedTokenToKVPoolAllocator(MLATokenToKVPool(12, 4, FLOAT, 1, 1, 1))

    def test_all_or_nothing(self, allocator: PagedTokenToKVPoolAllocator) -> None:
        assert allocator.alloc(16) is None
        assert allocator.available_size() == 12
        assert allocator.alloc(12) is not None
        assert allocator.alloc(4) is None
        assert allocator.alloc(0) is not None

    def test_pages_whose_slots_find_no_memory_stay_free(
        self, allocator: PagedTokenToKVPoolAllocator
    ) -> None:
        free = allocator.available_size()
        with (
            mock.patch("pool_host.slot_allocator.slots_of", side_effect=MemoryError),
            pytest.raises(MemoryError),
        ):
            allocator.alloc(8)
        assert allocator.available_size() == free
        assert allocator.alloc(free) is not None

    def test_pages_follow_each_other_where_they_can(
        self, allocator: PagedTokenToKVPoolAllocator
    ) -> None:
        first, second = allocator.alloc(4), allocator.alloc(4)
        assert first is not None
        assert second is not None
        allocator.free(second)
        allocator.free(first)
        order = allocator.alloc(12)
        assert order is not None
        assert order[::4].tolist() == [4, 8, 12]
        stats = allocator.stats()
        assert (stats.allocations, stats.runs, stats.released_pages) == (3, 3, 2)
        assert stats.free_pages == 0
        assert allocator.alloc(4) is None
        assert allocator.stats().failures == 1

    @pytest.mark.parametrize("need", [-4, 3, 5])
    def test_no_whole_number_of_pages_is_refused(
        self, allocator: PagedTokenToKVPoolAllocator, need: int
    ) -> None:
        with pytest.raises(ValueError, match="need_size: expected a multiple of 4"):
            allocator.alloc(need)
        assert allocator.available_size() == 12

    def test_a_page_is_not_freed_twice_nor_one_that_nobody_has(
        self, allocator: PagedTokenToKVPoolAllocator
    ) -> None:
        slots = allocator.alloc(8)
        assert slots is not None
        allocator.free(slots[:4])
        for wrong in (slots[:4], slots, torch.arange(4), torch.arange(400, 404)):
            with pytest.raises(ValueError, match="free_index: expected pages in use"):
                allocator.free(wrong)
        assert allocator.available_size() == 8

    def test_an_interrupted_allocation_has_not_happened(
        self, allocator: PagedTokenToKVPoolAllocator
    ) -> None:
        held = allocator.alloc(4)
        assert held is not None
        for line in range(1_000):
            stopped, slots = interrupted(functools.partial(allocator.alloc, 8), line)
            assert allocator.available_size() == (8 if stopped else 0)
            reached = threading.Thread(target=allocator.available_size, daemon=True)
            reached.start()
            reached.join(10)
            assert not reached.is_alive(), "the lock is free for others"
            if not stopped:
                break
        assert line > 10
        assert slots is not None
        assert sorted([*held.tolist(), *slots.tolist()]) == [*range(4, 16)]

    def test_an_interrupted_release_has_happened_or_has_not(self) -> None:
        for line in range(1_000):
            allocator = PagedTokenToKVPoolAllocator(MLATokenToKVPool(32, 4, FLOAT, 1, 1, 1))
            held = allocator.alloc(32)
            assert held is not None
            free, kept = held.view(-1, 8)[:, :4].flatten(), held.view(-1, 8)[:, 4:].flatten()
            stopped, _ = interrupted(functools.partial(allocator.free, free), line)
            if allocator.available_size() == 0:
                allocator.free(free)
            assert allocator.available_size() == 16
            allocator.free(kept)
            rest = allocator.alloc(32)
            assert rest is not None
            assert sorted(rest.tolist()) == [*range(4, 36)]
            if not stopped:
                break
        assert line > 10

    def test_clearing_takes_every_page_back(self, allocator: PagedTokenToKVPoolAllocator) -> None:
        slots = allocator.alloc(8)
        assert slots is not None
        allocator.clear()
        assert allocator.available_size() == 12
        with pytest.raises(ValueError, match="expected pages in use"):
            allocator.free(slots)
