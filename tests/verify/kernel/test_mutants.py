"""No one-fault copy of a small move is certified."""

from __future__ import annotations

import random

import pytest

from tests.registry import sample
from tests.verify.certificate.trees import files
from tests.verify.kernel.trees import explain
from tests.verify.mutants.faults import proof
from tests.verify.mutants.test_mutants import SMALL, faulty, put
from verify.kernel import CERTIFIED, certify


@pytest.mark.parametrize("move", SMALL)
def test_a_small_move_is_certified_and_no_mutant_of_it(move: str) -> None:
    before, after = SMALL[move]
    base, target = files(before), files(after)
    plain = certify(base, target)
    assert plain.verdict == CERTIFIED, explain(plain)
    for mutant in sample(faulty(base, target, 1, random.Random(move)), 2, in_ci=1):  # noqa: S311
        if certify(base, put(target, mutant)).verdict == CERTIFIED:
            assert proof(before, after, mutant), mutant
