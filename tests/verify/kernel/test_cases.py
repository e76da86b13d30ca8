"""Changes that Python tells apart are never certified; moves that it cannot tell apart are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verify.kernel.plain import MOST_ASSUMED, faults
from tests.verify.kernel.trees import Case, cases, explain, judge
from verify.kernel import CERTIFIED

ALL = {case.name: case for case in cases()}


@pytest.mark.parametrize("case", [c for c in ALL.values() if not c.certified], ids=lambda c: c.name)
def test_what_behaves_differently_is_not_certified(case: Case) -> None:
    assert judge(case.base, case.target).verdict != CERTIFIED


@pytest.mark.parametrize("case", [c for c in ALL.values() if c.certified], ids=lambda c: c.name)
def test_an_honest_move_is_certified(case: Case) -> None:
    found = judge(case.base, case.target)
    assert found.verdict == CERTIFIED, explain(found)
    assert len(found.assumptions) <= MOST_ASSUMED, explain(found)


@pytest.mark.parametrize("case", ALL.values(), ids=lambda c: c.name)
def test_a_tree_that_does_not_change_is_certified(case: Case) -> None:
    assert judge(case.base, case.base).findings == ()


def test_the_runner_without_pytest_says_what_is_wrong() -> None:
    honest = next(case for case in ALL.values() if case.certified)
    assert [*faults(honest)] == []
    [fault] = faults(replace(honest, certified=False))
    assert fault.startswith(CERTIFIED)
