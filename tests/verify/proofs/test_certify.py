"""`repot certify`: what is left beside the move is shown, whole and in its place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, History
from transforms.tree import GitTree
from verify import cli
from verify.proofs import certify as proofs


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


def certify(history: History, base: str, target: str, *more: str) -> int:
    return cli.run(["certify", f"{base}..{target}", "--repo", str(history.folder), *more])


def test_a_pure_move_is_certified(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    assert certify(history, base, target) == 0
    out = capsys.readouterr().out
    assert "shop/money.py:4: Money, from shop/orders.py:4" in out
    assert "1 moved; 0 added lines and 0 removed lines to read." in out
    assert out.endswith("CERTIFIED: nothing but the move.\n")


def test_the_verdict_from_a_process_of_its_own_is_the_same(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small tree is judged where the replay runs, before it; a large one beside it."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    commits = [GitTree(history.folder, history.commit(files)) for files in (BEFORE, AFTER)]
    with proofs.certifying(*commits) as here:
        assert here.done()
    monkeypatch.setattr(proofs, "FEW", 2)
    monkeypatch.setattr(proofs, "certify_commits", None)  # another process does not see this
    with proofs.certifying(*commits) as beside:
        assert beside.result() == here.result()
    assert beside.result().verdict == "CERTIFIED"


def test_what_is_no_python_is_counted_in_the_verdict(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = history.commit(BEFORE), history.commit({**AFTER, "deploy.sh": "rm -r /\n"})
    assert certify(history, base, target) == 0
    out = capsys.readouterr().out
    assert "deploy.sh" in out
    assert out.endswith("CERTIFIED: nothing but the move in Python; 1 other file changed.\n")


def test_a_range_of_several_commits_is_one_change(history: History) -> None:
    base = history.commit(BEFORE)
    history.commit({**BEFORE, "till.py": "half done\n"})
    assert certify(history, base, history.commit(AFTER)) == 0


def test_both_sides_of_a_changed_statement_stand_together(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    changed = AFTER["shop/orders.py"].replace("'paid'", "'not paid'")
    target = history.commit({**AFTER, "shop/orders.py": changed})
    assert certify(history, base, target) == 1
    out = capsys.readouterr().out
    assert "  shop/orders.py:2: " in out
    assert (
        "this statement was edited\n      @@ +1,2 @@ def pay\n        def pay():\n"
        "      -     return 'paid'\n      +     return 'not paid'\n"
    ) in out
    assert "1 added line and 1 removed line to read." in out


def test_code_below_blank_lines_is_not_out_of_sight(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    hidden = AFTER["till.py"] + "if print():\n" + "\n" * 3000 + "    raise SystemExit\n"
    target = history.commit({**AFTER, "till.py": hidden})
    assert certify(history, base, target) == 1
    out = capsys.readouterr().out
    assert "      +     raise SystemExit\n" in out
    assert "      + ... 3,000 blank lines\n" in out
    assert len(out.splitlines()) < 40


def test_a_character_that_looks_like_another_is_named(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    target = history.commit({**AFTER, "till.py": AFTER["till.py"] + "p\u0430y = pay\n"})
    assert certify(history, base, target) == 1
    assert "\u0430 is U+0430" in capsys.readouterr().out


def test_dynamic_code_cannot_be_judged(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {**BEFORE, "shop/orders.py": BEFORE["shop/orders.py"] + "\n\nexec(input())\n"}
    after = {**AFTER, "shop/orders.py": AFTER["shop/orders.py"] + "\n\nexec(input())\n"}
    base, target = history.commit(before), history.commit(after)
    assert certify(history, base, target) == 2
    err = capsys.readouterr().err
    assert re.search(r"UNKNOWN: (1 place|2 places) cannot be judged\.", err)
    assert "  shop/orders.py:5: " in err


def test_the_json_holds_the_whole_certificate(history: History, tmp_path: Path) -> None:
    base, target = history.commit(BEFORE), history.commit({**AFTER, "extra.py": "x = 1\n"})
    report = tmp_path / "report.json"
    assert certify(history, base, target, "--json", str(report)) == 1
    data = json.loads(report.read_text())
    assert data["schema"] == 1
    assert data["certificate"] == "RESIDUAL"
    assert data["verdict"] == "differs"
    assert [r["path"] for r in data["residuals"]] == ["extra.py"]
    assert data["moved"][0]["to"] == {"path": "shop/money.py", "line": 4}


def test_a_submodule_that_moved_on_is_no_move(history: History) -> None:
    base = history.commit(BEFORE)
    history.git("update-index", "--add", "--cacheinfo", f"160000,{base},vendored")
    history.git("commit", "--quiet", "-m", "Vendor it")
    middle = history.git("rev-parse", "HEAD")
    assert certify(history, base, middle) == 1
    history.git("update-index", "--add", "--cacheinfo", f"160000,{middle},vendored")
    history.git("commit", "--quiet", "-m", "Move on")
    assert certify(history, middle, history.git("rev-parse", "HEAD")) == 1


def test_one_commit_is_no_range(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    base = history.commit(BEFORE)
    assert certify(history, base, base) == 2
    assert "same commit" in capsys.readouterr().err
