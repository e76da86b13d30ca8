"""Where host memory comes from, how it is pinned, and how much of it a pool may take."""

from __future__ import annotations

import gc
import logging
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
    container_memory_headroom,
    get_allocator_from_storage,
)
from tests.pool_host.device_pools import MHAPool
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


# How much there is.


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Make a machine with this many GiB available, and no other limit."""
    monkeypatch.setattr(f"{MODULE}.container_memory_headroom", lambda: None)

    def available(gib: float) -> None:
        memory = types.SimpleNamespace(available=int(gib * GIB))
        monkeypatch.setattr(f"{MODULE}.psutil.virtual_memory", lambda: memory)

    return available


def test_what_is_left_free_is_not_offered(machine: Callable[[float], None]) -> None:
    machine(30)
    assert pool_host.common.available_host_bytes(10 * GIB) == 20 * GIB
    pool_host.common.check_host_memory(20 * GIB, 10 * GIB)
    with pytest.raises(ValueError, match=r"Requesting 21\.47 GB but only have 21\.47 GB free"):
        pool_host.common.check_host_memory(20 * GIB + 1, 10 * GIB)
    machine(9)
    assert pool_host.common.available_host_bytes(10 * GIB) == 0


def test_ranks_of_a_host_share_what_is_beside_the_reserve(
    machine: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(74)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert pool_host.common.available_host_bytes(10 * GIB) == 16 * GIB
    for wrong in ("0", "-2", "two"):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", wrong)
        with pytest.raises(ValueError, match="LOCAL_WORLD_SIZE must be a positive number"):
            pool_host.common.ranks_per_host()


def test_ranks_without_a_launcher_are_all_taken_to_be_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pool_host.common.ranks_per_host() == 1
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 8)
    assert pool_host.common.ranks_per_host() == 8


def test_a_container_may_hold_less_than_the_machine(
    machine: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(74)
    monkeypatch.setattr(f"{MODULE}.container_memory_headroom", lambda: 12 * GIB)
    assert pool_host.common.available_host_bytes(10 * GIB) == 2 * GIB
    monkeypatch.setattr(f"{MODULE}.container_memory_headroom", lambda: 120 * GIB)
    assert pool_host.common.available_host_bytes(10 * GIB) == 64 * GIB


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_pool_is_made_without_memory(
    family: Family, machine: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(16)
    family.make()
    monkeypatch.setattr("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 16 * GIB)
    with pytest.raises(ValueError, match="Not enough host memory available"):
        family.make()


def test_unused_huge_pages_count_where_they_are_used(
    machine: Callable[[float], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "sys/kernel/mm/hugepages/hugepages-1048576kB"
    folder.mkdir(parents=True)
    (folder / "free_hugepages").write_text("7\n")
    (folder / "resv_hugepages").write_text("2\n")
    assert pool_host.common.free_huge_page_bytes(tmp_path) == 0
    monkeypatch.setenv("SGLANG_HUGEPAGE_SIZE", "1GB")
    assert pool_host.common.free_huge_page_bytes(tmp_path) == 5 * GIB
    monkeypatch.setenv("SGLANG_HUGEPAGE_SIZE", "2MB")
    assert pool_host.common.free_huge_page_bytes(tmp_path) == 0
    machine(12)
    monkeypatch.setattr(f"{MODULE}.free_huge_page_bytes", lambda: 5 * GIB)
    assert pool_host.common.available_host_bytes(10 * GIB) == 7 * GIB


# Control groups, made of files.


def tree(root: Path, cgroup: str, **files: str) -> Path:
    """Write `proc/self/cgroup` and below `sys/fs/cgroup` files whose names say `__` for a slash."""
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/")
        path = path.with_name(path.name.replace("memory_", "memory.", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


V2 = "0::/\n"
V1 = "9:cpu,cpuacct:/\n4:memory:/\n1:name=systemd:/\n"
GROUPS: list[tuple[str, str, dict[str, str], int | None]] = [
    ("no control groups", "", {}, None),
    ("no limit", V2, {"memory_max": "max", "memory_current": "70"}, None),
    ("the top group has no limit file", V2, {"memory_current": "70"}, None),
    ("a limit", V2, {"memory_max": "100", "memory_current": "70"}, 30),
    ("more used than allowed", V2, {"memory_max": "100", "memory_current": "170"}, 0),
    (
        "page cache gives way",
        V2,
        {"memory_max": "100", "memory_current": "70", "memory_stat": "anon 9\ninactive_file 25"},
        55,
    ),
    (
        "page cache that a child is promised does not",
        V2,
        {
            "memory_max": "100",
            "memory_current": "70",
            "memory_stat": "inactive_file 25",
            "child__memory_min": "10",
            "other__memory_min": "5",
        },
        40,
    ),
    (
        "all page cache is promised",
        V2,
        {
            "memory_max": "100",
            "memory_current": "70",
            "memory_stat": "inactive_file 25",
            "child__memory_min": "max",
        },
        30,
    ),
    (
        "the tightest of nested groups",
        "0::/a/b\n",
        {
            "a__b__memory_max": "max",
            "a__b__memory_current": "10",
            "a__memory_max": "90",
            "a__memory_current": "80",
            "memory_max": "100",
            "memory_current": "85",
        },
        10,
    ),
    (
        "a path of the host's, inside a container",
        "0::/docker/0123\n",
        {"memory_max": "100", "memory_current": "60"},
        40,
    ),
    (
        "version 1",
        V1,
        {
            "memory__memory_limit_in_bytes": "100",
            "memory__memory_usage_in_bytes": "70",
            "memory__memory_stat": "total_inactive_file 5\ninactive_file 1",
        },
        35,
    ),
    (
        "version 1 without a limit",
        V1,
        {
            "memory__memory_limit_in_bytes": "9223372036854771712",
            "memory__memory_usage_in_bytes": "7",
        },
        None,
    ),
    (
        "version 1, nested",
        "4:memory:/pod/box\n",
        {
            "memory__pod__box__memory_limit_in_bytes": "100",
            "memory__pod__box__memory_usage_in_bytes": "10",
            "memory__pod__memory_limit_in_bytes": "50",
            "memory__pod__memory_usage_in_bytes": "20",
        },
        30,
    ),
    (
        "version 1 for memory beside version 2",
        "4:memory:/\n0::/\n",
        {"memory__memory_limit_in_bytes": "100", "memory__memory_usage_in_bytes": "70"},
        30,
    ),
]


@pytest.mark.parametrize(
    ("cgroup", "files", "room"), [row[1:] for row in GROUPS], ids=[row[0] for row in GROUPS]
)
def test_a_control_group_limits_what_may_be_taken(
    cgroup: str, files: dict[str, str], room: int | None, tmp_path: Path
) -> None:
    assert container_memory_headroom(tree(tmp_path, cgroup, **files)) == room


def test_a_system_without_control_groups_has_no_limit(tmp_path: Path) -> None:
    assert container_memory_headroom(tmp_path) is None


UNREADABLE: list[tuple[str, dict[str, str], str]] = [
    ("no usage beside a limit", {"memory_max": "100"}, "memory.current is missing"),
    ("words for a limit", {"memory_max": "much"}, "memory.max must hold a number"),
    ("nothing for a limit", {"memory_max": ""}, "memory.max must hold a number"),
    (
        "words for the usage",
        {"memory_max": "100", "memory_current": "much"},
        "memory.current must hold a number",
    ),
]


@pytest.mark.parametrize(
    ("files", "words"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_a_limit_of_unknown_use_is_no_limit_to_pass_over(
    files: dict[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match=words):
        container_memory_headroom(tree(tmp_path, V2, **files))


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    root = tree(tmp_path, V2, memory_max="100")
    (root / "sys/fs/cgroup/memory.current").mkdir()  # as unreadable to root as to anyone
    with pytest.raises(RuntimeError, match=r"memory\.current cannot be read"):
        container_memory_headroom(root)


# One size for several pools.


class Stages:
    """Pipeline stages that agree on the smallest of what each has."""

    def __init__(self, others: list[int]) -> None:
        self.others = others

    def all_reduce(self, tensor: torch.Tensor, op: Any, group: Any) -> None:
        assert op == torch.distributed.ReduceOp.MIN
        assert group is self
        tensor.fill_(min([int(tensor), *self.others]))


def test_pipeline_stages_agree_on_the_smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: Any = Stages([30, 27])
    monkeypatch.setattr(torch.distributed, "all_reduce", stages.all_reduce)
    device = MHAPool(size=8, page_size=4)
    one = 96e-9
    for gigabytes, group, slots in (
        (40 * one, stages, 28),
        (20 * one, stages, 20),
        (40 * one, None, 40),
    ):
        host = pool_host.mha.MHATokenToKVPoolHost(
            device, 2, gigabytes, 4, "layer_first", pipeline_group=group
        )
        assert host.size == slots
    by_ratio = pool_host.mha.MHATokenToKVPoolHost(
        device, 5, 0, 4, "layer_first", pipeline_group=stages
    )
    assert by_ratio.size == 40  # a ratio is the same for every stage


@pytest.mark.parametrize(
    ("host_size", "device_bytes"),
    [(10, [3, 1]), (0.1, [1, 1, 1]), (7, [5, 0, 2]), (220, [70272, 132 * 61, 13])],
)
def test_a_size_that_is_given_once_is_taken_once(host_size: float, device_bytes: list[int]) -> None:
    parts = pool_host.group.split_hicache_size(host_size, device_bytes)
    assert sum(round(part * 1e9) for part in parts) == round(host_size * 1e9)
    for part, size in zip(parts, device_bytes, strict=True):
        assert abs(part - host_size * size / sum(device_bytes)) < 2e-9


def test_a_size_cannot_be_split_among_nothing() -> None:
    for wrong in ([], [0, 0]):
        with pytest.raises(ValueError, match="device_bytes must hold a pool"):
            pool_host.group.split_hicache_size(1, wrong)
    with pytest.raises(ValueError, match="device_bytes must be at least 0"):
        pool_host.group.split_hicache_size(1, [3, -1])


def test_ten_gib_are_left_to_the_system(small_machine: int) -> None:
    assert small_machine == 10 * GIB


def test_a_pool_says_how_much_it_takes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    make_mha()
    assert "Allocating 0.00 GB of host memory for a KV cache" in caplog.text
