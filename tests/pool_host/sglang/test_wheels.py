"""The adapter in released SGLangs, as they come from the package index, on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pool_host.sglang.family import differences, read_family, record_of
from pool_host.sglang.releases import RECORDS
from tests.documents import ROOT
from tests.pool_host.sglang.standin import CACHES
from tests.registry import sglang_wheel

# Downloads wheels, and imports SGLang in a process of its own, which takes seconds.
pytestmark = pytest.mark.registry


@pytest.fixture(scope="module", params=[*RECORDS])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    with zipfile.ZipFile(sglang_wheel(request.param)) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("sglang/")])
    return folder


@pytest.fixture(scope="module")
def said(release: Path) -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "tests.pool_host.sglang.checks", str(release)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def test_its_code_is_what_is_recorded(release: Path) -> None:
    found = record_of(read_family(CACHES, release / "sglang" / "srt" / "mem_cache"))
    [name] = [name for name in RECORDS if release.name.startswith(name)]
    assert differences(found, RECORDS[name]) == []


@pytest.mark.parametrize("layout", ["layer_first", "page_first_direct"])
def test_what_its_controller_loads_back_is_what_was_written(said: Any, layout: str) -> None:
    plain, ours = said[layout]
    assert (plain["ours"], ours["ours"]) == (False, True)
    assert plain["compared"] == ours["compared"] > 1_000
    assert plain["wrong"] == ours["wrong"] == 0
    assert ours["accounted"]
    assert ours["runs"] < plain["runs"]


def test_a_broken_mapping_of_slots_is_seen(said: Any) -> None:
    assert said["whole"]["wrong"] == 0
    for name, trial in said["broken"].items():
        assert trial["compared"] == said["whole"]["compared"]
        assert trial["wrong"] > 100, name


def test_every_kind_of_pool_does_the_same(said: Any) -> None:
    assert said["families"].keys() == {"states", "packed", "logical"}
    for plain, ours in said["families"].values():
        assert plain == ours
        assert ours[0] is True


def test_ranks_that_share_rows_have_the_same_slots(said: Any, release: Path) -> None:
    if release.name.startswith("0.5.13"):
        assert said["shared rows"] is None
        return
    first, second = said["shared rows"]
    assert first[:5] == second[:5] == [36, 4, 64, 72, [*range(8)]]
    assert first[5] == second[5] == [0, 1, 2, 3]
    assert first[6] == 8


def test_churn_is_measured_with_both(release: Path) -> None:
    options = ["--host-pages", "60", "--page-size", "4", "--largest", "8", "--rounds", "30"]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sglang", "--folder", str(release)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["sglang", "pool_host"]
    assert float(lines[3].split()[-1]) < float(lines[2].split()[-1])  # runs
