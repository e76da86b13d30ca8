"""SGLang's own tests on a CPU: `own_tests.py FOLDER plain|ours REPORT FILE...` writes outcomes.

FOLDER is a checkout. Kernels and packages that are not here are made up, so tests that need more
than their names fail, with the adapter or without.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
import unittest
from pathlib import Path
from typing import Any

import pytest

from tests.pool_host.sglang.stubs import make_up_what_is_missing


class Outcomes:
    """Collects what each test came to, by file and name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.of: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of a test's phases and of its subtests."""
        name = report.nodeid.rpartition("/")[2]
        if report.failed or (report.skipped and self.of.get(name) != "failed"):
            self.of[name] = report.outcome
        elif report.when == "call":
            self.of.setdefault(name, report.outcome)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported counts as one test that failed."""
        if report.failed:
            self.of[report.nodeid.rpartition("/")[2]] = "failed"


def main(folder: str, mode: str, report: str, *files: str) -> None:
    """Run test files of a checkout, and write a JSON object of outcomes."""
    make_up_what_is_missing(str(Path(folder) / "python"))
    # What its tests are derived from also starts servers, and is not needed for these.
    utils = types.ModuleType("sglang.test.test_utils")
    vars(utils)["CustomTestCase"] = type("CustomTestCase", (unittest.TestCase,), {})
    sys.modules["sglang.test.test_utils"] = utils
    if mode == "ours":
        importlib.import_module("pool_host.sglang").install()
    outcomes = Outcomes(folder)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null", "--tb=short"]
    options += ["--continue-on-collection-errors", "--rootdir", folder]
    plugins: list[Any] = [outcomes]
    pytest.main([*options, *files], plugins=plugins)
    Path(report).write_text(json.dumps(outcomes.of))


if __name__ == "__main__":
    main(*sys.argv[1:])
