"""What the cache's tests share. Without torch none of them can run, and the run says so."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.conftest import LEFT_OUT

HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if HAS_TORCH or not collection_path.name.startswith("test_"):
        return None
    config.stash[LEFT_OUT]["modules of hicache (torch is not installed)"] += 1
    return True


@pytest.fixture(scope="package", autouse=True)
def small_machine() -> Iterator[None]:
    """Run on machines with less memory than the reserve, and on one thread beside other tests."""
    import torch

    torch.set_num_threads(1)
    with mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
        yield
