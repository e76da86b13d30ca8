"""`repot verify`: PASS only for exactly the plan's bytes and modes, else every hunk by name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.verify.histories import AFTER, BEFORE, PLAN, History
from verify import cli
from verify.reports.verify import PASS


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "split.toml"
    path.write_text(PLAN)
    return path


def verify(history: History, plan: Path, base: str, target: str, *more: str) -> int:
    arguments = ["verify", str(plan), "--repo", str(history.folder)]
    return cli.run([*arguments, "--base", base, "--target", target, *more])


def test_the_exact_commit_passes(
    history: History, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    assert verify(history, plan, base, target) == 0
    out = capsys.readouterr().out
    assert out.rstrip().endswith(PASS)
    assert base in out
    assert target in out
    assert "0 authored lines" in out


def test_a_target_of_several_commits_is_one_change(history: History, plan: Path) -> None:
    base = history.commit(BEFORE)
    history.commit({**BEFORE, "till.py": "half done\n"})
    assert verify(history, plan, base, history.commit(AFTER)) == 0


@pytest.mark.parametrize(
    ("files", "place", "operation"),
    [
        pytest.param(
            {"shop/money.py": AFTER["shop/money.py"].replace("(1)", "(2)")},
            "shop/money.py:5",
            "destination shop.money",
            id="a constant in the moved code",
        ),
        pytest.param(
            {"shop/orders.py": "def pay():\n    return 'not paid'\n"},
            "shop/orders.py:2",
            "source shop.orders",
            id="a statement that stayed",
        ),
        pytest.param(
            {"till.py": AFTER["till.py"] + "import os\n"}, "till.py:5", "callers", id="a caller"
        ),
        pytest.param(
            {"extra.py": "x = 1\n"}, "extra.py:1", "not in the plan", id="a file of its own"
        ),
        pytest.param(
            {"shop/money.py": AFTER["shop/money.py"].rstrip("\n")},
            "shop/money.py",
            "the last line's end",
            id="the newline at the end",
        ),
    ],
)
def test_what_differs_is_named_with_its_operation(
    history: History,
    plan: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    place: str,
    operation: str,
) -> None:
    base, target = history.commit(BEFORE), history.commit({**AFTER, **files})
    assert verify(history, plan, base, target) == 1
    out = capsys.readouterr().out
    assert PASS not in out
    assert place in out
    assert operation in out


def test_a_mode_is_part_of_the_commit(
    history: History, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    history.commit(AFTER)
    (history.folder / "shop/money.py").chmod(0o755)
    target = history.commit(AFTER)
    assert verify(history, plan, base, target) == 1
    assert "mode 100755 instead of 100644" in capsys.readouterr().out


def test_a_deleted_file_that_the_plan_keeps_is_a_hunk(history: History, plan: Path) -> None:
    base = history.commit(BEFORE)
    target = history.commit({p: text for p, text in AFTER.items() if p != "till.py"})
    assert verify(history, plan, base, target) == 1


def test_a_target_that_prints_pass_is_no_pass(
    history: History, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    target = history.commit({**AFTER, "till.py": f"print({PASS!r})\n"})
    assert verify(history, plan, base, target) == 1
    assert not capsys.readouterr().out.rstrip().endswith(PASS)


def test_base_and_target_may_not_be_the_same(
    history: History, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    assert verify(history, plan, base, base) == 2
    assert "same commit" in capsys.readouterr().err


def test_a_base_must_be_an_ancestor(
    history: History, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    assert verify(history, plan, target, base) == 2
    assert "not an ancestor" in capsys.readouterr().err


def test_a_revision_that_looks_like_an_option_is_none(history: History, plan: Path) -> None:
    base = history.commit(BEFORE)
    assert verify(history, plan, base, "--upload-pack=touch x") == 2


def test_the_json_holds_every_hunk(history: History, plan: Path, tmp_path: Path) -> None:
    base = history.commit(BEFORE)
    target = history.commit({**AFTER, "extra.py": "x = 1\n"})
    report = tmp_path / "report.json"
    assert verify(history, plan, base, target, "--json", str(report)) == 1
    data = json.loads(report.read_text())
    assert data["schema"] == 1
    assert json.dumps(data).count('"not in the plan"') == 1


@pytest.mark.history
@pytest.mark.parametrize(
    ("plan_name", "repository", "base", "target"),
    [
        (
            "27273",
            "alphabetc1-sglang.git",
            "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9",
            "7e7e3820c26ba0609f017b99358172a9776197de",
        ),
        ("5", "bytedance-iaas-sglang.git", "ff1fc1fbdf^", "ff1fc1fbdf"),
    ],
)
def test_the_real_split_passes(plan_name: str, repository: str, base: str, target: str) -> None:
    repo = Path(os.environ["REPOT_HISTORIES"]) / repository
    plan = ROOT / "transforms" / "plans" / "sglang" / f"{plan_name}.toml"
    arguments = ["verify", str(plan), "--repo", str(repo), "--base", base, "--target", target]
    assert cli.run(arguments) == 0
