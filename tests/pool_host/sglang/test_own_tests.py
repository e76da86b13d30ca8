"""SGLang's own tests of its host pools, plain and with the adapter: the page says what differs."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.documents import ROOT

# Needs SGLang's history, and runs its tests twice: half a minute.
pytestmark = pytest.mark.history

REVISION = "8ff9c2b227"
PAGE = (ROOT / "docs" / "sglang.md").read_text(encoding="utf-8")
# | file | pass plain | pass with the adapter |
FILES = {
    name: (int(plain), int(ours))
    for name, plain, ours in re.findall(
        r"^\| `(\S+\.py)` \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE
    )
}
# | file::test | reason |
EXCEPTIONS = re.findall(r"^\| `(\S+\.py::\S+)` \| .+ \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sglang")
    repository = Path(os.environ["REPOT_HISTORIES"]) / "bytedance-iaas-sglang.git"
    command = ["git", "--git-dir", str(repository), "archive", REVISION]
    done = subprocess.run(
        [*command, "python/sglang", "test/registered/unit/mem_cache"],
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tree:
        tree.extractall(folder, filter="data")
    return folder


def outcomes(checkout: Path, mode: str) -> dict[str, str]:
    report = checkout / f"{mode}.json"
    tests = checkout / "test" / "registered" / "unit" / "mem_cache"
    command = [sys.executable, "-W", "ignore", "-m", "tests.pool_host.sglang.own_tests"]
    command += [str(checkout), mode, str(report), *(str(tests / name) for name in FILES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, timeout=300, check=False
    )
    assert report.is_file(), done.stderr.decode()
    found: dict[str, str] = json.loads(report.read_text())
    return found


def test_what_passes_plain_passes_with_it_or_stands_on_the_page(checkout: Path) -> None:
    plain, ours = (outcomes(checkout, mode) for mode in ("plain", "ours"))
    passed = [{name for name, came in run.items() if came == "passed"} for run in (plain, ours)]
    assert sorted(passed[0] - passed[1]) == sorted(EXCEPTIONS)
    assert passed[1] <= passed[0]
    counts = [Counter(name.partition("::")[0] for name in names) for names in passed]
    assert {name: (counts[0][name], counts[1][name]) for name in FILES} == FILES
