"""Programs give the same after a move as before it, however they spell their imports."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.transforms.case import MemoryTree
from tests.transforms.shop_programs import Maker, run
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import REGULAR, Blob
from transforms.result.outcome import Outcome

# Notes that say: a global that is replaced from outside may be seen by fewer than before.
_REPLACED = {
    "patch of another global",
    "patch of a shared global",
    "assignment to a moved global",
}
# What such programs may be refused for; anything else would be a surprise.
_REASONS = {"cycle", "still-read", "clash", "ambiguous-name"}


def _apply(files: dict[str, str], plan: str) -> Outcome | Refusal:
    blobs = {path: Blob(text.encode(), REGULAR) for path, text in files.items()}
    try:
        return apply(parse_plan(plan.encode(), "plan.toml"), MemoryTree(blobs))
    except Refusal as refusal:
        return refusal


def _after(files: dict[str, str], outcome: Outcome) -> dict[str, str]:
    new = dict(files)
    for path, change in outcome.changes.items():
        if change.after is None:
            del new[path]
        else:
            new[path] = change.after.data.decode()
    return new


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 1 << 30))
def test_a_move_does_not_change_what_programs_give(seed: int) -> None:
    maker = Maker(seed)
    files = maker.program()
    plan = maker.plan()
    outcome = _apply(files, plan)
    if isinstance(outcome, Refusal):
        assert outcome.kind in _REASONS, str(outcome)
        return
    if _REPLACED & {note.kind for note in outcome.notes}:
        return
    before = run(files)
    assert run(_after(files, outcome)) == before, plan


def test_programs_run_and_are_mostly_moved() -> None:
    kinds = []
    for seed in range(25):
        maker = Maker(seed)
        files = maker.program()
        outcome = _apply(files, maker.plan())
        kinds.append(outcome.kind if isinstance(outcome, Refusal) else "moved")
        failed = [value for value in run(files).values() if isinstance(value, str)]
        assert failed == [], f"program {seed} does not run: {failed}"
    assert kinds.count("moved") > 10
