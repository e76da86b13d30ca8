"""What the tests of bundles share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.bundle.rig import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose bundle has run."""
    world = World(tmp_path_factory.mktemp("used"))
    world.warm()
    assert world.run().passes
    return world


@pytest.fixture
def warm(world: World, used: World) -> World:
    """A world whose bundle finds its environment made, and its engine written and compiled."""
    world.warm()
    world.resemble(used)
    return world


@pytest.fixture(scope="session")
def interpreters() -> dict[str, str]:
    """Each supported interpreter that is on the path or kept by pyenv, this one included."""
    found = {f"3.{sys.version_info[1]}": sys.executable}
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in ("3.10", "3.11", "3.12", "3.13"):
        kept = sorted(str(path) for path in root.glob(f"{version}.*/bin/python"))
        for candidate in filter(None, (*kept, shutil.which(f"python{version}"))):
            code = f"import sys; sys.exit(sys.version_info[1] != {version.partition('.')[2]})"
            done = subprocess.run([candidate, "-c", code], capture_output=True, check=False)
            if done.returncode == 0:
                found.setdefault(version, candidate)
    return found
