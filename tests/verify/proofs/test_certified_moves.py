"""What the mover moves the kernel certifies; with one thing broken, it does not."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping

from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.transforms.programs import BESIDE
from tests.transforms.test_whole_moves import EXISTING, Files, moved, moves, runs
from tests.verify.certificate.trees import explain
from tests.verify.mutants.faults import KINDS, Mutant, mutants
from transforms.errors import Refusal
from verify.certificate import CERTIFIED, Certificate, Residual, certify

SETTINGS = settings(
    max_examples=examples(40),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


POSTPONED = b"from __future__ import annotations\n"


def joining(code: str) -> tuple[Files, str]:
    """Move the first symbol of a module that postpones annotations to one that does not."""
    source = POSTPONED + b"\n" + code.encode()
    files = {
        **BESIDE,
        "pkg/__init__.py": b"",
        "pkg/mono.py": source,
        "pkg/core.py": EXISTING,
        "app.py": b"import pkg.mono as m\n\n\ndef results():\n    return [\n        m.C0,\n    ]\n",
    }
    plan = '[[source]]\nmodule = "pkg.mono"\n[[destination]]\nmodule = "pkg.core"\n'
    return files, plan + 'symbols = ["C0"]\n'


# Chance seldom draws an annotation that joins such a module: a constant, a parameter, a string.
JOINING = [
    joining(code)
    for code in (
        "C0: int = 1\nC1 = 2\n",
        "def C0(x: int) -> int:\n    return x\n\n\nC1 = 2\n",
        'class C0:\n    def m(self, x: "T"):\n        return x\n\n\nC1 = 2\n',
    )
]


def judged(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Certificate:
    base, target = (
        {path: (data, 0o100644) for path, data in files.items()} for files in (before, after)
    )
    return certify(base, target)


def is_meant(residual: Residual, before: Files, after: Files) -> bool:
    """Whether the kernel is stricter than the mover on purpose."""
    return (
        (residual.kind == "future" and is_evaluated_now(residual, before, after))
        or residual.kind == "order"  # a call that importers of the source no longer make
        or "noqa" in residual.why  # a shim's suppression is a comment that was not there
        or "on a condition" in residual.why  # the programs' conditions read `__name__`
    )


def is_evaluated_now(residual: Residual, before: Files, after: Files) -> bool:
    """Whether annotated code joined a module that does not postpone annotations.

    The mover lets it, where they can be evaluated; a program that reads `__annotations__` finds
    other values there.
    """
    if residual.path not in before or POSTPONED in before[residual.path]:
        return False
    (statement,) = (
        node
        for node in ast.parse(after[residual.path]).body
        if first_line(node) <= residual.line <= (node.end_lineno or 0)
    )
    return POSTPONED in before["pkg/mono.py"] and any(
        getattr(node, "annotation", None) or getattr(node, "returns", None)
        for node in ast.walk(statement)
    )


def first_line(node: ast.stmt) -> int:
    lines: list[int] = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]
    return min(lines)


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


@example(JOINING[0])
@example(JOINING[1])
@example(JOINING[2])
@given(moves())
@SETTINGS
def test_what_the_mover_moves_is_certified(move: tuple[Files, str]) -> None:
    after = result(move)
    if after is None:
        return
    found = judged(move[0], after)
    event(found.verdict)
    assert not found.unknowns, explain(found)
    assert all(is_meant(residual, move[0], after) for residual in found.residuals), explain(found)


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
