"""How much host memory there is: the reserve, ranks, containers, pipeline stages."""

from __future__ import annotations

import logging
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pool_host.common
import pool_host.group
import pool_host.mha
from pool_host.common import (
    container_memory_headroom,
)
from tests.pool_host.device_pools import MHAPool
from tests.pool_host.families import FAMILIES, Family, make_mha

MODULE = "pool_host.common"
GIB = 1024**3


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
