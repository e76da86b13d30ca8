"""The scoreboard: its data can be read, and what it says of a table is what the table holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.moves import one, splits
from benchmarks.moves.__main__ import Row, fails, lines
from benchmarks.moves.readings import BREAKS, EDITS, PURE, Reading, readings
from tests.verify.histories import AFTER, BEFORE, PLAN, History
from transforms.reading.load import load_plan


def row(said: str, verdict: str, *, inferred: bool = True) -> Row:
    reading = Reading("shop-shop", "0123456789abcdef", said, said)
    return Row(reading, inferred, 0, verdict, (0.5, 1.0), 10, 8, 1)


def test_the_forty_are_forty_and_each_says_what_is_no_move() -> None:
    known = readings()
    assert len(known) == len({reading.commit for reading in known}) == 40
    for reading in known:
        assert re.fullmatch(r"[0-9a-f]{16}", reading.commit)
        assert {reading.first, reading.second, reading.holds} <= {PURE, EDITS, BREAKS}
        assert bool(reading.note) == (reading.said != PURE), reading.commit
        assert bool(reading.settled) or reading.first == reading.second, reading.commit
        assert not reading.seen or reading.settled, reading.commit


def test_the_table_ends_with_what_it_comes_to() -> None:
    rows = [row(PURE, "CERTIFIED"), row(PURE, "RESIDUAL"), row(EDITS, "RESIDUAL", inferred=False)]
    told = list(lines(rows))
    assert told[2] == "| shop 0123456789 | pure | yes | 0 | CERTIFIED | 0.5 + 1.0 | 80% | 1 |"
    assert told[-1].startswith("3 commits: 2 inferred; 2 nothing but a move, of which 1 certified;")


@pytest.mark.parametrize(
    ("rows", "failed"),
    [
        ([row(PURE, "CERTIFIED"), row(BREAKS, "RESIDUAL")], False),
        ([row(PURE, "CERTIFIED"), row(BREAKS, "CERTIFIED")], True),
        ([row(PURE, "CERTIFIED"), row(EDITS, "RESIDUAL", inferred=False)], True),
        ([row(PURE, "RESIDUAL")], True),
    ],
    ids=["all is well", "what breaks is certified", "too few are inferred", "too many alarms"],
)
def test_a_table_that_does_not_hold_is_told(rows: list[Row], *, failed: bool) -> None:
    assert fails(rows) is failed


def test_one_commit_is_inferred_and_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History(tmp_path / "shop")
    history.commit(BEFORE)
    commit = history.commit(AFTER)
    one.main("infer", str(history.folder), commit)
    assert json.loads(capsys.readouterr().out) == {"inferred": True, "authored": 0, "refused": ""}
    one.main("certify", str(history.folder), commit)
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["changed"]) == ("CERTIFIED", 15)


def test_every_split_has_its_plan_and_its_row() -> None:
    rows = splits.splits()
    plans = {splits.plan_of(row) for row in rows}
    assert plans == {*(splits.HERE / "splits").iterdir()}
    for row in rows:
        plan = load_plan(splits.plan_of(row))
        assert str(plan.sources[0].module) == row["module"]
        assert len(plan.destinations) + 1 == row["into"]
        assert len(splits.cells(row, "", "")) == len(splits.HEADS)


def test_a_split_is_made_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = History(tmp_path / "shop")
    commit = history.commit(BEFORE)
    plan = tmp_path / "split.toml"
    plan.write_text(PLAN, encoding="utf-8")
    one.main("split", str(history.folder), commit, str(plan))
    assert json.loads(capsys.readouterr().out) == {"said": "moved, 0 findings stop it"}
    plan.write_text(PLAN.replace('"Money"', '"Cash"'), encoding="utf-8")
    one.main("split", str(history.folder), commit, str(plan))
    assert json.loads(capsys.readouterr().out)["said"].startswith("refused (")
