"""What the kernel says of the public series: no false alarm, and no false certificate."""

from __future__ import annotations

import pytest

from tests.verify.certificate.histories import SERIES, load
from tests.verify.certificate.trees import explain
from verify.certificate import CERTIFIED, certify

pytestmark = pytest.mark.history


@pytest.mark.parametrize("step", SERIES)
def test_a_step_of_the_series(step: str) -> None:
    found = certify(*load(step))
    wanted = SERIES[step]
    assert found.verdict == wanted.verdict, explain(found)
    if wanted.verdict == CERTIFIED:
        assert found.unknowns == ()  # 6/N and 7/N patch by names that are put together
    if wanted.added is not None:
        assert (found.added_lines, found.removed_lines) == (wanted.added, wanted.removed)
    if wanted.verdict != CERTIFIED:
        assert all(r.lines for r in found.residuals if wanted.added is not None), explain(found)


def test_the_model_pair_tells_what_moved_and_what_was_copied() -> None:
    found = certify(*load("27273"))
    folder = "python/sglang/srt/mem_cache/pool_host"
    homes = {m.destination.removeprefix(f"{folder}/") for m in found.moved}
    assert homes == {"base.py", "common.py", "hisparse.py"}
    assert len(found.moved) == 9
    assert {m.symbol for m in found.copies} == {"logger"}
    assert [m.destination for m in found.derived] == [f"{folder}/__init__.py"]


def test_what_the_package_says_of_itself_is_all_that_1_adds() -> None:
    found = certify(*load("1/N"))
    assert [(r.side, r.kind, r.path.rpartition("/")[2], r.line) for r in found.residuals] == [
        ("target", "added", "__init__.py", 1)
    ]


def test_a_dead_block_is_all_that_8_removes() -> None:
    found = certify(*load("8/N"))
    assert [(r.side, r.kind, r.path.rpartition("/")[2], r.lines) for r in found.residuals] == [
        ("base", "removed", "memory_pool_host.py", (46, 47))
    ]
