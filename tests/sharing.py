"""What one run of the tests makes once, however many processes share them."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.release.transform import split_release
from verify.report.report import Report

UV = "uv==0.13.9"


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Give a folder that `make` has filled, for reading: the first who asks makes it.

    A folder that was not finished is none: whoever asks next fails, too.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / f"shared-{name}"
    with (root / f"shared-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            folder.mkdir()
            make(folder)
            (folder / "complete").touch()
    return folder


def installed_uv(factory: pytest.TempPathFactory) -> str:
    """Install uv by its name in the index, and name the command."""

    def make(folder: Path) -> None:
        pip = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        options = ["--disable-pip-version-check", "--target", str(folder)]
        subprocess.run([*pip, *options, UV], check=True)

    return str(once(factory, "uv", make) / "bin" / "uv")


def split_once(factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """Split the release, and give the report and the folder in which it was done."""

    def make(folder: Path) -> None:
        here = Path.cwd()
        os.chdir(folder)
        try:
            report = split_release()
        finally:
            os.chdir(here)
        (folder / "report").write_bytes(pickle.dumps(report))

    folder = once(factory, "split", make)
    report = pickle.loads((folder / "report").read_bytes())  # noqa: S301 (it is our own)
    assert isinstance(report, Report)
    return report, folder
