"""Without torch none of these can run, and the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import without_torch


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return without_torch(collection_path, config, "benchmarks.pool_host")
