"""The controller serves a group of pools as one cache."""

from __future__ import annotations

import pytest
import torch

import pool_host
import pool_host.mla
from hicache.cache_controller import HiCacheController
from hicache.device_pools import DSATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.host_pools import host_pool_for
from tests.hicache.rig import LAYERS, PATIENCE


class TestGroup:
    def group(self) -> tuple[DSATokenToKVPool, pool_host.HostPoolGroup]:
        device = DSATokenToKVPool(8, 2, torch.float32, 4, 4, LAYERS, start_layer=3)
        host = host_pool_for(device)
        assert isinstance(host, pool_host.HostPoolGroup)
        return device, host

    def test_the_side_pool_s_pages_go_along_and_come_back(self) -> None:
        device, host = self.group()
        allocator = PagedTokenToKVPoolAllocator(device)
        controller = HiCacheController(allocator, host)
        slots = allocator.alloc(4)
        assert slots is not None
        for layer in range(3, 3 + LAYERS):
            device.set_kv_buffer(layer, slots, torch.rand(4, 1, 8))
            device.set_index_k(layer, slots, torch.rand(4, 128))
        rows = [buffer[slots] for buffer in device.kv_buffer]
        index = [device.get_index_k(layer, slots) for layer in range(3, 3 + LAYERS)]
        write = controller.write(slots)
        assert write is not None
        write.wait(PATIENCE)
        controller.finished()
        controller.evict_device(slots)
        load = controller.load(write.host_indices)
        assert load is not None
        load.wait(PATIENCE)
        controller.finished()
        for layer in range(LAYERS):
            assert torch.equal(device.kv_buffer[layer][load.device_indices], rows[layer])
            assert torch.equal(device.get_index_k(3 + layer, load.device_indices), index[layer])
        assert controller.evict_host(write.host_indices) == 4
        assert host.available_size() == host.size
        controller.close()

    def test_a_side_pool_with_slots_of_its_own_is_refused(self) -> None:
        device, host = self.group()
        other = pool_host.mla.MLATokenToKVPoolHost(
            device, 1.0, 0, 2, "layer_first", pin_memory=False
        )
        host.add_entry(pool_host.PoolEntry("draft", other, device, lambda layer: layer))
        with pytest.raises(ValueError, match="draft has its own"):
            HiCacheController(PagedTokenToKVPoolAllocator(device), host)
