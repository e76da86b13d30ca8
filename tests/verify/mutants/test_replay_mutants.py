"""No one-fault copy of a move passes a replay, and no one-fault copy of the plan either."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, History
from tests.verify.mutants.faults import Mutant, mutants
from transforms.formatters import no_formatters
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.proofs.replay import replay


def faulty() -> Iterator[Mutant]:
    for path in sorted(AFTER):
        yield from mutants(path, AFTER[path], random.Random(path), 3)  # noqa: S311 - chance


def test_no_mutant_of_a_move_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path)
    base = GitTree(tmp_path, history.commit(BEFORE))
    target = GitTree(tmp_path, history.commit(AFTER))
    plan = parse_plan(PLAN.encode(), "split.toml")
    done = replay(plan, base, target, no_formatters())
    assert done.reproduces
    # The plan and its base are the same for all: what they give is computed once.
    monkeypatch.setattr("transforms.engine.apply", lambda *_, **__: done.outcome)
    found = list(faulty())
    assert len(found) > 60
    assert len({mutant.kind for mutant in found}) >= 20
    for mutant in found:
        commit = history.commit({**AFTER, mutant.path: mutant.text})
        again = replay(plan, base, GitTree(tmp_path, commit), no_formatters())
        assert {hunk.path for hunk in again.hunks} == {mutant.path}, mutant


PLANS = {
    "another symbol": ('"Money"', '"pay"'),
    "another destination": ('"shop.money"', '"shop.cash"'),
    "an authored line": (
        'symbols = ["Money"]\n',
        'symbols = ["Money"]\n\n[[author]]\npath = "evil.py"\ntext = "import os\\n"\n',
    ),
}


@pytest.mark.parametrize("what", PLANS)
def test_no_mutant_of_a_plan_passes(tmp_path: Path, what: str) -> None:
    history = History(tmp_path)
    base = GitTree(tmp_path, history.commit(BEFORE))
    target = GitTree(tmp_path, history.commit(AFTER))
    old, new = PLANS[what]
    assert old in PLAN
    plan = parse_plan(PLAN.replace(old, new).encode(), "split.toml")
    assert not replay(plan, base, target, no_formatters()).reproduces
