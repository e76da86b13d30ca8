"""What the mover moves the kernel certifies; with one thing broken, it does not."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.transforms.test_whole_moves import Files, moved, moves, runs
from tests.verify.certificate.trees import explain
from tests.verify.mutants.faults import KINDS, Mutant, mutants
from transforms.errors import Refusal
from verify.certificate import CERTIFIED, Certificate, Residual, certify

SETTINGS = settings(
    max_examples=40,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


def judged(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Certificate:
    base, target = (
        {path: (data, 0o100644) for path, data in files.items()} for files in (before, after)
    )
    return certify(base, target)


def is_meant(residual: Residual, after: Files) -> bool:
    """Whether the kernel is stricter than the mover on purpose."""
    return (
        # an annotation that is a string is one string less without the `__future__` import
        (residual.kind == "future" and b': "T"' in after[residual.path])
        or residual.kind == "order"  # a call that importers of the source no longer make
        or "noqa" in residual.why  # a shim's suppression is a comment that was not there
        or "on a condition" in residual.why  # the programs' conditions read `__name__`
    )


def result(move: tuple[Files, str]) -> Files | None:
    files, plan = move
    if not runs(files):
        return None
    try:
        return moved(files, plan)[0]
    except Refusal:
        return None


def is_a_move(mutant: Mutant, original: str) -> bool:
    """Whether a mutant is a move after all.

    Nothing is left that a `__future__` import could matter to; or it is the same program, as
    where the condition of guarded imports is spelled otherwise.
    """
    old, new = ast.parse(original), ast.parse(mutant.text)
    return not new.body or ast.dump(old) == ast.dump(new)


@given(moves())
@SETTINGS
def test_what_the_mover_moves_is_certified(move: tuple[Files, str]) -> None:
    after = result(move)
    if after is None:
        return
    found = judged(move[0], after)
    event(found.verdict)
    assert not found.unknowns, explain(found)
    assert all(is_meant(residual, after) for residual in found.residuals), explain(found)


@given(moves(), st.sampled_from(sorted(KINDS)), st.integers(0, 1 << 30))
@SETTINGS
def test_a_move_of_the_mover_with_a_fault_is_not(
    move: tuple[Files, str], kind: str, seed: int
) -> None:
    after = result(move)
    if after is None or judged(move[0], after).verdict != CERTIFIED:
        return
    for path in sorted(p for p in after if after[p] != move[0].get(p)):
        chance = random.Random(seed)  # noqa: S311 - chance, not secrecy
        for mutant in mutants(path, after[path].decode(), chance, 1, only=kind):
            if is_a_move(mutant, after[path].decode()):
                continue
            event("broken")
            found = judged(move[0], {**after, path: mutant.text.encode()})
            assert found.verdict != CERTIFIED, (mutant, explain(found))
