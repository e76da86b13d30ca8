"""`repot series`: every claimed move of a history is found, replayed and summed up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}\n"
PLANNED = {**BEFORE, PLAN_PATH: PLAN}
MOVED = {**AFTER, PLAN_PATH: PLAN}
NEXT = PLAN.replace("Money", "pay").replace("shop.money", "shop.paying")
AGAIN = {
    **MOVED,
    "plans/next.toml": NEXT,
    "shop/orders.py": None,
    "shop/paying.py": "def pay():\n    return 'paid'\n",
    "till.py": AFTER["till.py"].replace("shop.orders import pay", "shop.paying import pay"),
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


def series(history: History, *more: str) -> int:
    return cli.run(["series", "--repo", str(history.folder), "--jobs", "1", *more])


def test_every_claimed_move_is_replayed_and_nothing_else(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    history.commit(BEFORE)
    history.commit(PLANNED, "Plan: Mechanical-Move: is a trailer")
    history.commit(MOVED, CLAIM)
    history.commit({**MOVED, "note.txt": "Mechanical-Move: x\n"}, "Note")
    report = tmp_path / "report.json"
    assert series(history, "--json", str(report)) == 0
    out = capsys.readouterr().out
    assert f"{PLAN_PATH}: 1 symbol, 3 files, 0 authored lines; 5/5 lines traced, 5 strict" in out
    assert "1 step: 1 symbol, 0 authored lines; 5 of 5 lines traced past the move (100.0 %)" in out
    assert out.endswith("GREEN: every claimed move is proved.\n")
    (step,) = json.loads(report.read_text())["steps"]
    assert (step["plan"], step["verdict"], step["files"]) == (PLAN_PATH, "proved", 3)


def test_steps_come_in_their_order(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.commit({**MOVED, "plans/next.toml": NEXT})
    after = {path: text for path, text in AGAIN.items() if text is not None}
    history.commit(after, "Move pay\n\nMechanical-Move: plans/next.toml\n")
    series(history)
    out = capsys.readouterr().out
    assert out.index(f"{PLAN_PATH}: 1 symbol") < out.index("plans/next.toml")


def test_a_step_that_is_not_proved_is_red(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.commit(PLANNED)
    history.commit({**MOVED, "till.py": "print()\n"}, CLAIM)
    assert series(history) == 1
    assert "RED: " in capsys.readouterr().out


def test_a_faulty_trailer_is_red(history: History) -> None:
    history.commit(PLANNED)
    history.commit(MOVED, CLAIM + "Mechanical-Move: another.toml\n")
    assert series(history) == 1


def test_a_history_without_moves_says_so(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.commit(PLANNED)
    assert series(history) == 2
    assert "No commit up to `HEAD` has a `Mechanical-Move:` trailer." in capsys.readouterr().err


def test_the_series_may_lead_up_to_any_commit(history: History) -> None:
    history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.commit({**MOVED, "till.py": "print()\n"})
    history.commit(MOVED, CLAIM)
    assert series(history) == 2  # the plan is refused where it was applied already
    assert series(history, "--at", "HEAD^") == 0


def test_a_shallow_clone_is_told_how_to_bring_the_rest(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.git("clone", "--quiet", "--depth=1", f"file://{history.folder}", str(tmp_path / "far"))
    assert cli.run(["series", "--repo", str(tmp_path / "far")]) == 2
    assert "git fetch --unshallow" in capsys.readouterr().err


def test_a_source_archive_is_told_that_it_has_no_history(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.commit(PLANNED)
    shutil.rmtree(history.folder / ".git")
    assert series(history) == 2
    assert "a bare source archive holds no history" in capsys.readouterr().err


def test_whole_modules_are_counted_as_modules(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = 'format = 1\n\n[[move]]\nmodule = "shop.orders"\nto = "shop.bills"\n'
    planned = {**BEFORE, PLAN_PATH: plan}
    moved = {path: text for path, text in planned.items() if path != "shop/orders.py"}
    moved["shop/bills.py"] = BEFORE["shop/orders.py"]
    moved["till.py"] = BEFORE["till.py"].replace("shop.orders", "shop.bills")
    history.commit(BEFORE)
    history.commit(planned)
    history.commit(moved, CLAIM)
    series(history)
    out = capsys.readouterr().out
    assert f"{PLAN_PATH}: 1 module, 3 files, 0 authored lines" in out
    assert "1 step: 1 module, 0 authored lines" in out
