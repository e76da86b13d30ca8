"""Changes that Python tells apart are never certified; moves that it cannot tell apart are."""

from __future__ import annotations

import pytest

from tests.verify.kernel.trees import Case, cases, explain, judge
from verify.kernel import CERTIFIED

MOST_ASSUMED = 2  # of an honest move
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
