"""Moves made by chance are certified; with one thing broken, they are not."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.verify.certificate.packages import Package, packages
from tests.verify.certificate.trees import edited, explain, judge
from tests.verify.mutants.faults import KINDS, mutants
from verify.certificate import CERTIFIED


@given(packages())
def test_a_move_is_certified(package: Package) -> None:
    found = judge(package.before(), package.after())
    assert found.verdict == CERTIFIED, explain(found)
    assert {m.symbol for m in found.moved} == package.moving


@given(packages())
@settings(max_examples=examples(50))
def test_the_way_back_is_certified_as_well(package: Package) -> None:
    found = judge(package.after(), package.before())
    assert found.verdict == CERTIFIED, explain(found)


@given(packages(), st.sampled_from(sorted(KINDS)), st.integers(0, 1 << 30))
def test_a_move_with_a_fault_is_not(package: Package, kind: str, seed: int) -> None:
    before, after = package.before(), package.after()
    for path in sorted(set(after) - {"pkg/__init__.py", "pkg/lib.py"}):
        chance = random.Random(seed)  # noqa: S311 - chance, not secrecy
        for mutant in mutants(path, after[path], chance, 1, only=kind):
            found = judge(before, {**after, path: mutant.text})
            assert found.verdict != CERTIFIED, (mutant, explain(found))


@given(packages(), st.data())
def test_a_move_that_leaves_something_out_is_not(package: Package, data: st.DataObject) -> None:
    symbol = data.draw(st.sampled_from(package.symbols))
    after = package.after()
    path = "pkg/core.py" if symbol.name in package.moving else "pkg/mono.py"
    found = judge(package.before(), edited(after, path, symbol.text, ""))
    assert found.verdict != CERTIFIED


@given(packages())
@settings(max_examples=examples(50))
def test_the_order_of_files_does_not_matter(package: Package) -> None:
    before, after = package.before(), package.after()
    again = judge(
        dict(sorted(before.items(), reverse=True)), dict(sorted(after.items(), reverse=True))
    )
    assert judge(before, after) == again
