"""The Mooncake back end against a real master and real clients; see `mooncake_stage`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.system


def namespace() -> list[str]:
    """Give the command that makes a network namespace; skip where there is none to be had."""
    if importlib.util.find_spec("mooncake") is None:
        pytest.skip("mooncake-transfer-engine-non-cuda is not installed")
    for options in (["--net"], ["--net", "--map-root-user"]):
        command = ["unshare", *options]
        if (
            shutil.which("unshare")
            and not subprocess.run([*command, "true"], capture_output=True, check=False).returncode
        ):
            return command
    pytest.skip("network namespaces are not permitted here")


@pytest.mark.parametrize("stage", ["shared", "killed", "stopped", "lender_killed"])
def test_nothing_wrong_is_loaded_and_the_rest_is_computed(stage: str) -> None:
    command = [*namespace(), sys.executable, "-m", "tests.hicache.mooncake_stage", stage]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "GLOG_minloglevel": "2"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]


def test_a_stage_refuses_a_network_that_others_reach() -> None:
    command = [sys.executable, "-m", "tests.hicache.mooncake_stage", "shared"]
    if len(socket.if_nameindex()) == 1:
        pytest.skip("there is no other network here")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "expected a network namespace" in done.stderr
