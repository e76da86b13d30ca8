"""What the tests of bundles share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreters import interpreters
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
    assert world.run("--certify-only").code == 0  # for what that imports besides
    return world


@pytest.fixture
def warm(world: World, used: World) -> World:
    """A world whose bundle finds its environment made, and its engine written and compiled."""
    world.warm()
    world.resemble(used)
    return world


@pytest.fixture
def written(world: World, used: World) -> World:
    """A world whose bundle finds its engine written and compiled, and no environment."""
    world.resemble(used)
    return world


@pytest.fixture(scope="session", name="interpreters")
def every_interpreter() -> dict[str, str]:
    """Each supported interpreter that is on the path or kept by pyenv, this one included."""
    return interpreters()
