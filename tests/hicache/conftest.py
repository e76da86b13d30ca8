"""What the cache's tests share. Without torch none of them can run, and the run says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.conftest import without_torch


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return without_torch(collection_path, config, "hicache")


@pytest.fixture(scope="package", autouse=True)
def small_machine() -> Iterator[None]:
    """Run on machines with less memory than the reserve, and on one thread beside other tests."""
    import torch

    torch.set_num_threads(1)
    with mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
        yield
