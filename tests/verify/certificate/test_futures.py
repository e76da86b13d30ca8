"""What `from __future__` brings stays in force; what every Python has anyway is only listed."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, F, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL

ANNOTATED = "def f(x: int = 1):\n    return x\n"


@pytest.mark.parametrize("name", ["absolute_import", "division", "print_function"])
def test_a_feature_that_every_python_has_is_listed(name: str) -> None:
    future = f"from __future__ import {name}\n\n"
    found = judge(*moved(future + BOTH, "def f():\n    return 1\n", f"{future}{X}"))
    assert found.verdict == CERTIFIED, explain(found)
    (observed,) = (o for o in found.observables if o.kind == "future")
    assert observed.what.endswith("is no longer in force here, for Python 2")


FUTURE = "from __future__ import annotations\n\n"
THERE = "Y = 2\n"


def test_a_module_that_is_there_needs_none_for_what_has_no_annotation() -> None:
    before = {"m.py": FUTURE + BOTH, "n.py": THERE}
    after = {"m.py": FUTURE + X, "n.py": f"{THERE}\n\n{F}"}
    found = judge(before, after)
    assert found.verdict == CERTIFIED, explain(found)
    (observed,) = (o for o in found.observables if o.kind == "future")
    assert observed.what.endswith("is no longer in force here, unused")


def test_it_needs_one_for_what_has() -> None:
    before = {"m.py": f"{FUTURE}{ANNOTATED}\n\n{X}", "n.py": THERE}
    after = {"m.py": FUTURE + X, "n.py": f"{THERE}\n\n{ANNOTATED}"}
    assert {r.kind for r in judge(before, after).residuals} == {"future"}


def test_a_new_module_keeps_it_and_so_does_the_old_one() -> None:
    assert judge(*moved(FUTURE + BOTH, F, FUTURE + X)).verdict == RESIDUAL
    assert judge(*moved(FUTURE + BOTH, FUTURE + F, X)).verdict == RESIDUAL


@pytest.mark.parametrize("name", ["annotations", "barry_as_FLUFL"])
def test_a_feature_that_changes_what_code_means_is_a_residual(name: str) -> None:
    future = f"from __future__ import {name}\n\n"
    found = judge(*moved(f"{future}{ANNOTATED}\n\n{X}", ANNOTATED, f"{future}{X}"))
    assert found.verdict == RESIDUAL
    assert {r.kind for r in found.residuals} == {"future"}
