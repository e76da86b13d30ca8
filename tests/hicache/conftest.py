from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _small_machine() -> Iterator[None]:
    """Pools of a few kilobytes need no reserve, which a small machine may not have."""
    with mock.patch("memory_pool_host.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
        yield
