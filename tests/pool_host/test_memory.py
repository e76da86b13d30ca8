"""Where host memory comes from, how it is pinned, and how much of it a pool may take."""

from __future__ import annotations

import gc
import mmap
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pool_host.common
import pool_host.group
import pool_host.mha
from pool_host import HostTensorAllocator
from pool_host.common import (
    ALLOC_MEMORY_FUNCS,
    alloc_with_host_register,
    alloc_with_pin_memory,
    get_allocator_from_storage,
)
from tests.pool_host.families import FAMILIES, Family, make_mha

# Where memory is taken and measured, and what it is taken with looked up.
MODULE = "pool_host.common"
# Who asks whether there is a GPU.
ASKING = ["pool_host.base", "pool_host.common", "pool_host.mha"]
GIB = 1024**3
linux = pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")

ALLOCATORS = ["default", "shm", "file", "hf3fs", "nixl"]


@pytest.mark.parametrize("kind", ALLOCATORS)
def test_memory_is_zeroed_aligned_and_of_the_shape_asked_for(kind: str) -> None:
    allocator = get_allocator_from_storage(kind)
    tensor = allocator.allocate((3, 5, 7), torch.bfloat16, "cpu")
    assert (tensor.shape, tensor.dtype, tensor.is_contiguous()) == ((3, 5, 7), torch.bfloat16, True)
    assert tensor.data_ptr() % mmap.PAGESIZE == 0
    assert not tensor.any()
    tensor.fill_(1)
    assert (allocator.dims, allocator.dtype) == ((3, 5, 7), torch.bfloat16)


@pytest.mark.parametrize("kind", ALLOCATORS)
def test_nothing_can_be_allocated(kind: str) -> None:
    tensor = get_allocator_from_storage(kind).allocate((3, 0, 4), torch.float16, "cpu")
    assert tensor.shape == (3, 0, 4)


@pytest.mark.parametrize("kind", ALLOCATORS)
def test_no_more_is_mapped_than_asked_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped: list[int] = []
    make = mmap.mmap

    def noted(fd: int, length: int, **options: int) -> mmap.mmap:
        mapped.append(length)
        return make(fd, length, **options)

    monkeypatch.setattr(mmap, "mmap", noted)
    size = 5 * 1024**2 + 3  # a power of two would be 8 MiB
    get_allocator_from_storage(kind).allocate((size,), torch.uint8, "cpu")
    assert size <= sum(mapped) < size + mmap.PAGESIZE


def test_a_tensor_outlives_its_allocator() -> None:
    for kind in ALLOCATORS:
        tensor = get_allocator_from_storage(kind).allocate((64,), torch.int64, "cpu")
        gc.collect()
        tensor.copy_(torch.arange(64))
        assert tensor.sum() == 2016


BAD_ALLOCATIONS: dict[str, tuple[Any, Any, Any, type[Exception], str]] = {
    "a negative size": ((2, -1), torch.uint8, "cpu", ValueError, "dims must be at least 0"),
    "a fraction": ((2.5,), torch.uint8, "cpu", TypeError, "dims must be an integer"),
    "a name for a dtype": ((2,), "uint8", "cpu", TypeError, "dtype must be a torch.dtype"),
    "another device": ((2,), torch.uint8, "cuda", ValueError, "device must be cpu"),
    "the meta device": ((2,), torch.uint8, torch.device("meta"), ValueError, "device must be cpu"),
}


@pytest.mark.parametrize("case", BAD_ALLOCATIONS)
def test_what_is_no_host_memory_is_refused(case: str) -> None:
    dims, dtype, device, error, words = BAD_ALLOCATIONS[case]
    for kind in ("default", "shm"):
        with pytest.raises(error, match=words):
            get_allocator_from_storage(kind).allocate(dims, dtype, device)


@pytest.mark.parametrize(("kind", "error"), [("shmm", ValueError), (None, TypeError)])
def test_an_unknown_allocator_is_refused(kind: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="allocator_type"):
        get_allocator_from_storage(kind)


@linux
def test_huge_pages_are_asked_for_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    make = mmap.mmap

    def noted(fd: int, length: int, flags: int) -> mmap.mmap:
        asked.append((length, flags >> 26 if flags & 0x40000 else 0))
        if flags & 0x40000:
            length, flags = 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
        return make(fd, length, flags=flags)

    monkeypatch.setattr(mmap, "mmap", noted)
    for size, shift, length in (("2MB", 21, 2 * 1024**2), ("1GB", 30, GIB), ("", 0, 100)):
        monkeypatch.setenv("SGLANG_HUGEPAGE_SIZE", size)
        HostTensorAllocator().allocate((100,), torch.uint8, "cpu")
        assert asked.pop() == (length, shift)


@linux
def test_plain_pages_serve_where_there_are_no_huge_ones(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make = mmap.mmap

    def refused(fd: int, length: int, flags: int) -> mmap.mmap:
        if flags & 0x40000:
            raise OSError("Cannot allocate memory")
        return make(fd, length, flags=flags)

    monkeypatch.setattr(mmap, "mmap", refused)
    monkeypatch.setenv("SGLANG_HUGEPAGE_SIZE", "1GB")
    assert HostTensorAllocator().allocate((100,), torch.uint8, "cpu").numel() == 100
    assert "No huge pages for 100 bytes" in caplog.text


def test_an_unknown_size_of_huge_pages_is_taken_for_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SGLANG_HUGEPAGE_SIZE", "4MB")
    assert pool_host.common.huge_page_bytes() == 0
    assert "must be 2MB or 1GB, not '4MB'" in caplog.text


def test_shared_memory_is_the_same_to_whoever_maps_it() -> None:
    allocator = pool_host.common.ShmHostTensorAllocator()
    assert (allocator.fd, allocator.mm) == (None, None)
    first = allocator.allocate((8,), torch.int32, "cpu")
    second = allocator.allocate((4,), torch.int32, "cpu")
    assert allocator.fd == allocator.fds[0]
    assert allocator.mm is allocator.mms[0]
    with mmap.mmap(allocator.fds[1], 16) as other:
        second.copy_(torch.arange(4))
        assert other[:] == second.numpy().tobytes()
    allocator.close()
    allocator.close()
    assert (allocator.fds, allocator.mms) == ([], [])
    assert first.fill_(7).sum() == 56


def test_the_descriptors_of_what_is_dropped_are_closed() -> None:
    def open_now() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not say which descriptors are open")
    before = open_now()
    for _ in range(20):
        allocator = get_allocator_from_storage("shm")
        tensor = allocator.allocate((16,), torch.uint8)
        allocator.allocate((32,), torch.uint8)
    del allocator
    gc.collect()
    assert tensor.fill_(7).sum() == 112, "its memory stays"
    assert open_now() == before + 1, "its mapping has one of its own"
    del tensor
    gc.collect()
    assert open_now() == before


class FakeMooncake:
    """Memory of Mooncake: addresses of buffers that it keeps until they are freed."""

    def __init__(self) -> None:
        self.live: dict[int, torch.Tensor] = {}

    def alloc(self, size: int) -> int:
        if size > 1000:
            return 0
        tensor = torch.zeros(size, dtype=torch.uint8)
        self.live[tensor.data_ptr()] = tensor
        return tensor.data_ptr()

    def free(self, address: int) -> None:
        del self.live[address]


def test_memory_of_mooncake_is_freed_with_its_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("mooncake.store")
    monkeypatch.setattr(module, "MooncakeHostMemAllocator", FakeMooncake, raising=False)
    monkeypatch.setitem(sys.modules, "mooncake", types.ModuleType("mooncake"))
    monkeypatch.setitem(sys.modules, "mooncake.store", module)
    allocator = get_allocator_from_storage("mooncake")
    assert isinstance(allocator, pool_host.common.MooncakeHostTensorAllocator)
    tensor = allocator.allocate((2, 5), torch.float32, "cpu")
    assert tensor.data_ptr() in allocator.memory.live
    view = tensor[1]
    del tensor
    gc.collect()
    assert len(allocator.memory.live) == 1
    del view
    gc.collect()
    assert allocator.memory.live == {}
    with pytest.raises(MemoryError, match="no 4000 bytes"):
        allocator.allocate((1000,), torch.float32, "cpu")


def test_ordinary_memory_serves_where_mooncake_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "mooncake", None)
    assert type(get_allocator_from_storage("mooncake")) is HostTensorAllocator
    assert "Mooncake is not installed" in caplog.text


@pytest.mark.parametrize(
    ("device", "function"),
    [
        ("cuda", alloc_with_host_register),
        ("cuda:0", alloc_with_host_register),
        (torch.device("cuda", 1), alloc_with_host_register),
        ("cpu", alloc_with_host_register),
        ("npu", alloc_with_pin_memory),
        ("npu:3", alloc_with_pin_memory),
        ("musa", alloc_with_pin_memory),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_device_may_be_spelled_in_any_way(
    device: str | torch.device, function: Callable[..., torch.Tensor]
) -> None:
    known = list(ALLOC_MEMORY_FUNCS)
    assert ALLOC_MEMORY_FUNCS[device] is function
    assert list(ALLOC_MEMORY_FUNCS) == known == ["npu", "musa"]
    assert len(ALLOC_MEMORY_FUNCS) == 2


def test_memory_that_torch_pins_is_zeroed_too() -> None:
    tensor = alloc_with_pin_memory((3, 4), torch.int16, "cpu", False, HostTensorAllocator())
    assert tensor.tolist() == [[0] * 4] * 3


class FakeRuntime:
    """A CUDA runtime that notes what is pinned, and may fail at the nth request."""

    def __init__(self, code: int = 0, fail_at: int = 1) -> None:
        self.pinned: dict[int, int] = {}
        self.code = code
        self.fail_at = fail_at
        self.requests = 0

    def cudaHostRegister(self, address: int, size: int, flags: int) -> int:  # noqa: N802
        assert flags == 0
        self.requests += 1
        if self.code and self.requests == self.fail_at:
            return self.code
        self.pinned[address] = size
        return 0

    def cudaHostUnregister(self, address: int) -> int:  # noqa: N802
        return 0 if self.pinned.pop(address, None) else 713


class FakeStream:
    def synchronize(self) -> None:
        pass


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """Make the pools believe in a GPU."""
    fake = FakeRuntime()
    monkeypatch.setattr(f"{MODULE}.cudart", lambda: fake, raising=False)
    for module in ASKING:
        monkeypatch.setattr(f"{module}._is_cuda", True)
        monkeypatch.setattr(f"{module}.current_stream", FakeStream, raising=False)
    return fake


@pytest.mark.parametrize("code", [1, 2, 712])
def test_memory_that_cannot_be_pinned_is_refused(runtime: FakeRuntime, code: int) -> None:
    runtime.code = code
    with pytest.raises(RuntimeError, match=f"returned {code} for 80 bytes at 0x.*stale data"):
        alloc_with_host_register((10,), torch.int64, "cpu", True, HostTensorAllocator())


def test_memory_is_pinned_only_if_asked_for(runtime: FakeRuntime) -> None:
    alloc_with_host_register((10,), torch.int64, "cpu", False, HostTensorAllocator())
    alloc_with_host_register((0,), torch.int64, "cpu", True, HostTensorAllocator())
    assert runtime.pinned == {}
    tensor = alloc_with_host_register((10,), torch.int64, "cpu", True, HostTensorAllocator())
    assert runtime.pinned == {tensor.data_ptr(): 80}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_destroyed_pool_leaves_nothing_pinned(family: Family, runtime: FakeRuntime) -> None:
    before = set(runtime.pinned)
    host = family.make().host
    buffers = {buffer.data_ptr() for buffer in host.get_hybrid_pool_buffer()}
    assert set(runtime.pinned) - before >= {min(buffers)}
    own = set(runtime.pinned)
    for _ in range(2):
        host.destroy()
        assert host.kv_buffer is None
        assert host.get_hybrid_pool_buffer() == []
    assert set(runtime.pinned) < own
    assert not buffers & set(runtime.pinned)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_dropped_pool_leaves_nothing_pinned(family: Family, runtime: FakeRuntime) -> None:
    case = family.make()
    assert runtime.pinned
    del case
    gc.collect()
    assert runtime.pinned == {}


@pytest.mark.parametrize("pin", [False, True], ids=["pageable", "pinned"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_copies_are_waited_for_unless_memory_is_pinned(
    family: Family, pin: bool, runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a copy that is not waited for is of memory in one stretch on both sides."""
    queued: list[bool] = []
    copy = torch.Tensor.copy_

    def noted(self: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> torch.Tensor:
        assert self.is_contiguous()
        assert source.is_contiguous()
        queued.append(non_blocking)
        return copy(self, source, non_blocking)

    for layout in ("page_first_direct", "layer_first"):
        if layout not in family.host_class.layouts:
            continue
        case = family.make(layout, dtype=family.dtypes[0], pin_memory=pin)
        slots = torch.arange(3 * case.host.page_size)
        with monkeypatch.context() as patch:
            patch.setattr(torch.Tensor, "copy_", noted)
            case.host.backup_from_device_all_layer(case.device, slots, slots, "direct")
            case.host.load_to_device_per_layer(case.device, slots, slots, 1, "direct")
    assert set(queued) == {pin}


@pytest.mark.parametrize("name", ["mamba", "asymmetric mha"])
def test_a_pool_that_is_pinned_in_part_is_undone(name: str, runtime: FakeRuntime) -> None:
    family = next(family for family in FAMILIES if family.name == name)
    runtime.code, runtime.fail_at = 2, 2
    with pytest.raises(RuntimeError, match="cudaHostRegister returned 2"):
        family.make()
    assert (runtime.pinned, runtime.requests) == ({}, 2)


def test_what_cannot_be_unpinned_is_logged(
    runtime: FakeRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    host = make_mha().host
    runtime.pinned.clear()
    host.destroy()
    assert "cudaHostUnregister returned 713" in caplog.text


def test_layer_addresses_are_on_the_device_where_it_can_reach_them(runtime: FakeRuntime) -> None:
    case = make_mha("page_first")
    assert case.host.k_data_ptrs.dtype == torch.uint64
    assert case.host.v_data_ptrs.tolist() == [ref.data_ptr() for ref in case.host.v_data_refs]
    assert runtime.pinned[case.host.kv_buffer.data_ptr()] == case.host.kv_buffer.nbytes


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_pool_allocates_as_it_is_told(family: Family) -> None:
    host = family.make(allocator_type="shm", pin_memory=False).host
    assert isinstance(host.allocator, pool_host.common.ShmHostTensorAllocator)
    assert len(host.allocator.fds) >= 1
    assert host.pin_memory is False
    host.destroy()
    assert host.allocator.fds == []
