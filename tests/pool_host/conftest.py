"""What the pools' tests share. Without torch none of them can run, and the run says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import without_torch


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return without_torch(collection_path, config, "pool_host")


@pytest.fixture(scope="package", autouse=True)
def small_machine() -> Iterator[int]:
    """Run on machines with less memory than the reserve, which this gives, and on one thread."""
    import torch

    from pool_host.base import HICACHE_HOST_MEMORY_RESERVE_BYTES

    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0)
        patch.delenv("SGLANG_HUGEPAGE_SIZE", raising=False)
        patch.delenv("LOCAL_WORLD_SIZE", raising=False)
        yield HICACHE_HOST_MEMORY_RESERVE_BYTES
