"""Public branches, carried over the public series that split the module which they edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.verify import carried
from tests.effort import FULL

pytestmark = pytest.mark.history  # a tree of 3,877 files is split once for each step


@pytest.mark.parametrize("name", list(carried.BRANCHES) if FULL else ["budget"])
def test_a_public_branch_leaves_less_to_a_person_than_git_does(name: str, tmp_path: Path) -> None:
    found = carried.measure(carried.bare_clone(tmp_path / "sglang.git"), name)
    assert found.refused == 0
    assert found.changed == found.standing + found.by_main
    assert found.imported > 10
    for way in (found.rebase, found.merge):
        assert found.carry.lines(moved=True) <= way.lines(moved=True)
    if name == "budget":  # main made the same change later, by hand
        assert found.carry.lines(moved=True) == 0
