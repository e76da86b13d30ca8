"""What the tests of bundles share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreters import interpreters
from tests.verify.bundle.rig import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def warm(world: World) -> World:
    """A world whose bundle finds its environment made."""
    world.warm()
    return world


@pytest.fixture(scope="session", name="interpreters")
def every_interpreter() -> dict[str, str]:
    """Each supported interpreter that is on the path or kept by pyenv, this one included."""
    return interpreters()
