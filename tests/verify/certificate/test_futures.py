"""What `from __future__` brings stays in force; what every Python has anyway is only listed."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL

ANNOTATED = "def f(x: int = 1):\n    return x\n"


@pytest.mark.parametrize("name", ["absolute_import", "division", "print_function"])
def test_a_feature_that_every_python_has_is_listed(name: str) -> None:
    future = f"from __future__ import {name}\n\n"
    found = judge(*moved(future + BOTH, "def f():\n    return 1\n", f"{future}{X}"))
    assert found.verdict == CERTIFIED, explain(found)
    (observed,) = (o for o in found.observables if o.kind == "future")
    assert observed.what.endswith("is no longer in force here, for Python 2")


def test_annotations_are_missed_only_by_what_has_some() -> None:
    future = "from __future__ import annotations\n\n"
    found = judge(*moved(future + BOTH, "def f():\n    return 1\n", f"{future}{X}"))
    assert found.verdict == CERTIFIED, explain(found)
    assert [
        o.what.endswith("no longer in force here, unused")
        for o in found.observables
        if o.kind == "future"
    ] == [True]


@pytest.mark.parametrize("name", ["annotations", "barry_as_FLUFL"])
def test_a_feature_that_changes_what_code_means_is_a_residual(name: str) -> None:
    future = f"from __future__ import {name}\n\n"
    found = judge(*moved(f"{future}{ANNOTATED}\n\n{X}", ANNOTATED, f"{future}{X}"))
    assert found.verdict == RESIDUAL
    assert {r.kind for r in found.residuals} == {"future"}
