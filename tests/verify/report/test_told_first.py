"""What nobody proved comes first in every summary, and a refusal is the same data everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli

EDIT = '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "def paid():"\n'
ACCEPT = '\n[[accept]]\nkind = "breaks"\nmodule = "till"\nreason = "till goes next week"\n'
BROKEN = {**AFTER, "shop/orders.py": AFTER["shop/orders.py"].replace("def pay", "def paid")}
SENTENCE = "Accepted by the plan, not proved: breaks in till."
TITLE = "Accepted, as the plan says"
PARTS = {"kind", "cause", "next_step", "place", "excerpt"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A plan that accepts what it breaks, and its move."""
    made = History(tmp_path_factory.mktemp("first") / "repo")
    made.commit({**BEFORE, PLAN_PATH: PLAN + EDIT + ACCEPT}, "Plan it")
    made.commit(
        {**BROKEN, PLAN_PATH: PLAN + EDIT + ACCEPT}, f"Move\n\nMechanical-Move: {PLAN_PATH}"
    )
    return made


def told(history: History, *arguments: str, repo: Path | None = None) -> dict[str, Any]:
    report = history.folder.parent / "report.json"
    cli.run([*arguments, "--repo", str(repo or history.folder), "--json", str(report)])
    found = json.loads(report.read_text())
    assert isinstance(found, dict)
    return found


def commands(history: History) -> Mapping[str, list[str]]:
    plan = str(history.folder / PLAN_PATH)
    return {
        "apply": [plan, "--at", "HEAD^"],
        "verify": [plan, "--base", "HEAD^", "--target", "HEAD"],
        "review": ["HEAD"],
    }


@pytest.mark.parametrize("name", ["apply", "verify", "review"])
def test_what_a_plan_accepts_comes_first(
    history: History, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.md"
    data = told(history, name, *commands(history)[name], "--markdown", str(page))
    assert data["summary"][0] == SENTENCE
    printed = capsys.readouterr()
    text = printed.out + printed.err
    titles = [line for line in text.splitlines()[1:] if line and line[0].isupper()]
    assert TITLE in titles[: 6 if name == "review" else 1], text  # after the lead
    assert text.index(TITLE) < text.index("  shop/orders.py"), text
    assert "because\n      till goes next week" in text
    points = [line for line in page.read_text().splitlines() if line.startswith("- ")]
    assert points[0] == f"- {SENTENCE}"


def test_what_an_inferred_plan_accepts_comes_first(tmp_path: Path) -> None:
    cycle = History(tmp_path / "repo")
    f, h = "def f():\n    return g()\n", "def h():\n    return f()\n"
    g = "def g():\n    return 1\n"
    cycle.commit({"shop/__init__.py": "", "shop/a.py": f"{g}\n\n{f}\n\n{h}"})
    cycle.commit(
        {
            "shop/__init__.py": "",
            "shop/a.py": f"from shop.b import f\n\n\n{g}\n\n{h}",
            "shop/b.py": f"from shop.a import g\n\n\n{f}",
        }
    )
    data = told(cycle, "infer", "HEAD")
    assert [item["kind"] for item in data["accepted"]] == ["cycle"]
    assert data["summary"][0].startswith("Accepted by the plan, not proved: cycle in ")


def test_a_chain_counts_them_before_all_else_of_the_plan(history: History) -> None:
    (commit,) = told(history, "chain", "HEAD^..HEAD", "--no-cache", "-j1")["commits"]
    (said,) = (line for line in commit["said"] if line.startswith(PLAN_PATH))
    assert said == f"{PLAN_PATH}: 2 accepted findings, 1 authored line"


class TestRefusals:
    def test_of_a_plan_that_a_commit_claims(self, tmp_path: Path) -> None:
        history = History(tmp_path / "repo")
        wrong = PLAN.replace('"Money"', '"Mony"')
        history.commit({**BEFORE, PLAN_PATH: wrong})
        history.commit({**AFTER, PLAN_PATH: wrong}, f"Move\n\nMechanical-Move: {PLAN_PATH}")
        (commit,) = told(history, "chain", "HEAD^..HEAD", "--no-cache", "-j1")["commits"]
        for found in (commit["refusal"], told(history, "review", "HEAD")["no_plan"]):
            assert set(found) == PARTS
            assert found["kind"] == "unknown-symbol"
            assert (found["place"]["path"], found["place"]["line"]) == (PLAN_PATH, 7)
            assert "Money" in found["next_step"]

    def test_of_a_branch_that_would_not_be_carried(self, history: History) -> None:
        history.git("branch", "--force", "feature", "HEAD")
        data = told(history, "carry", "--check", "feature", "--over", "HEAD")
        (branch,) = data["branches"]
        assert set(branch["refusal"]) == PARTS
        assert branch["refusal"]["kind"] == "carry-nothing"
        assert branch["refusal"]["place"]["path"]
