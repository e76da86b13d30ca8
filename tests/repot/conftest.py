"""What the tests of the installed package share."""

from __future__ import annotations

import sys

import pytest

from tests.repot.rig import Installation, packages, whole


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Repot as an installer leaves it, beside packages of the user's that have its names."""
    made = whole(tmp_path_factory.mktemp("installed") / "env", sys.executable)
    packages(made.site, "transforms", "verify")
    return made
