"""`repot chain`: claimed moves are proved by the parent's plan; the others are looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli
from verify.certificate import CERTIFIED, RESIDUAL
from verify.chain import cache
from verify.chain.links import EMPTY, FAULTY, MERGE, NOT_PROVED, PROVED, PURE, UNREAD

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}\n"
PLANNED = {**BEFORE, PLAN_PATH: PLAN}
MOVED = {**AFTER, PLAN_PATH: PLAN}
BROKEN = {**MOVED, "shop/money.py": AFTER["shop/money.py"].replace("(1)", "(2)")}


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    return History(tmp_path / "repo")


def chain(history: History, base: str, *more: str) -> tuple[int, dict[str, Any]]:
    """Judge from `base` to HEAD in this process, and read the JSON."""
    report = history.folder.parent / "report.json"
    arguments = ["chain", f"{base}..HEAD", "--repo", str(history.folder), "--json", str(report)]
    code = cli.run([*arguments, "--jobs", "1", *more])
    return code, json.loads(report.read_text())


def verdicts(data: Mapping[str, Any]) -> list[str]:
    return [commit["verdict"] for commit in data["commits"]]


def test_a_claimed_move_is_proved_certified_and_blamed(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(PLANNED, "Plan it")
    history.commit(MOVED, CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (0, [PROVED])
    (commit,) = data["commits"]
    assert commit["certificate"] == CERTIFIED
    assert commit["plan"] == PLAN_PATH
    assert (commit["lines"], commit["traced"]) == (5, 5)
    out = capsys.readouterr().out
    assert "Move Money" in out
    assert "0 authored lines" in out
    assert out.endswith("GREEN: every claimed move is proved.\n")


def test_a_claim_that_its_plan_does_not_give_is_red(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(PLANNED)
    commit = history.commit(BROKEN, CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (1, [NOT_PROVED])
    assert data["commits"][0]["certificate"] == RESIDUAL
    out = capsys.readouterr().out
    assert "shop/money.py:5: destination shop.money" in out
    assert f"RED: {commit[:12]}." in out


def test_the_plan_is_the_parents_one(history: History) -> None:
    """A commit that brings or bends the plan which it names would choose its own judge."""
    base = history.commit(BEFORE)
    history.commit(MOVED, CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (1, [FAULTY])
    assert "the commit itself adds it" in data["commits"][0]["reason"]
    history.commit(PLANNED)
    history.commit({**MOVED, PLAN_PATH: PLAN + "# bent\n"}, CLAIM)
    code, data = chain(history, "HEAD^")
    assert (code, verdicts(data)) == (1, [FAULTY])
    assert "changes the plan" in data["commits"][0]["reason"]


def test_a_plan_that_is_refused_cannot_be_judged(history: History) -> None:
    bad = PLAN.replace("Money", "Monkey")
    base = history.commit({**BEFORE, PLAN_PATH: bad})
    history.commit({**AFTER, PLAN_PATH: bad}, CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (2, [NOT_PROVED])
    assert data["commits"][0]["unjudged"]
    assert "Monkey" in data["commits"][0]["reason"]


def test_one_red_commit_that_was_judged_outweighs_one_that_was_not(history: History) -> None:
    bad = PLAN.replace("Money", "Monkey")
    base = history.commit({**BEFORE, PLAN_PATH: bad})
    history.commit({**AFTER, PLAN_PATH: bad}, CLAIM)
    history.commit(PLANNED)
    history.commit(BROKEN, CLAIM)
    assert chain(history, base)[0] == 1


def test_a_pure_move_needs_no_trailer(history: History) -> None:
    base = history.commit(BEFORE)
    history.commit(AFTER)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (0, [PURE])


OTHERS = {
    "a change of code": {**BEFORE, "till.py": "print()\n"},
    "a change of prose alone": {**BEFORE, "README.md": "Shop\n"},
    "a move beside a change": {**AFTER, "till.py": AFTER["till.py"] + "print()\n"},
    "a move beside a file that is no Python": {**AFTER, "ci.yml": "run: curl\n"},
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_pure_move_is_for_human_eyes(history: History, what: str) -> None:
    base = history.commit(BEFORE)
    history.commit(OTHERS[what])
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (0, [UNREAD])
    assert chain(history, base, "--strict")[0] == 1


def test_strict_counts_no_pure_move_and_no_proved_one(history: History) -> None:
    base = history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.commit(PLANNED)
    code, data = chain(history, base, "--strict")
    assert (code, verdicts(data)) == (0, [PROVED, PURE])


def test_each_commit_is_judged_against_its_own_parent(history: History) -> None:
    base = history.commit(BEFORE)
    history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.commit({**MOVED, "till.py": "print()\n"})
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (0, [UNREAD, PROVED, UNREAD])


def test_a_merge_is_a_verdict_of_its_own_and_may_claim_nothing(history: History) -> None:
    base = history.commit(PLANNED)
    history.git("checkout", "--quiet", "-b", "side")
    history.commit(MOVED, CLAIM)
    history.git("checkout", "--quiet", "main")
    history.commit({**PLANNED, "note.txt": "x\n"})
    history.git("merge", "--quiet", "--no-edit", "side")
    code, data = chain(history, base)
    assert (code, sorted(verdicts(data))) == (0, sorted([PROVED, UNREAD, MERGE]))
    history.git("commit", "--quiet", "--amend", "-m", CLAIM)
    code, data = chain(history, base)
    assert code == 1
    assert verdicts(data)[-1] == FAULTY
    assert data["commits"][-1]["reason"] == "a merge claims to be a mechanical move"


def test_an_empty_commit_is_empty_and_may_claim_nothing(history: History) -> None:
    base = history.commit(PLANNED)
    history.commit(PLANNED, "Nothing")
    assert verdicts(chain(history, base)[1]) == [EMPTY]
    history.commit(PLANNED, CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (1, [EMPTY, FAULTY])


def test_an_empty_range_says_that_nothing_was_judged(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    history.commit(BEFORE)
    code, data = chain(history, "HEAD")
    assert (code, data["commits"]) == (0, [])
    assert "no commit was judged" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["directory", "link"])
def test_a_trailer_may_name_only_a_file(history: History, target: str) -> None:
    history.commit({**BEFORE, "elsewhere.toml": PLAN})
    if target == "link":
        (history.folder / "plans").mkdir()
        (history.folder / PLAN_PATH).symlink_to("../elsewhere.toml")
    else:
        (history.folder / PLAN_PATH).mkdir(parents=True)
        (history.folder / PLAN_PATH / "a.toml").write_text(PLAN)
    history.git("add", "--all")
    history.git("commit", "--quiet", "-m", "Plan")
    base = history.git("rev-parse", "HEAD")
    (history.folder / "till.py").write_text("print()\n")
    history.git("commit", "--quiet", "--all", "-m", CLAIM)
    code, data = chain(history, base)
    assert (code, verdicts(data)) == (1, [FAULTY])


def test_jobs_change_nothing_but_the_time(history: History) -> None:
    base = history.commit(PLANNED)
    history.commit(MOVED, CLAIM)
    history.commit(PLANNED)
    history.commit(BROKEN, CLAIM)
    one = chain(history, base, "--no-cache")
    assert chain(history, base, "--no-cache", "--jobs", "3") == one


class TestCache:
    def test_a_second_run_judges_nothing(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = history.commit(PLANNED)
        history.commit(MOVED, CLAIM)
        history.commit(BROKEN)
        first = chain(history, base)
        monkeypatch.setattr("verify.chain.links.judge_commit", None)
        assert chain(history, base) == first

    def test_the_same_trees_under_another_message_are_another_judgement(
        self, history: History
    ) -> None:
        base = history.commit(PLANNED)
        history.commit(BROKEN)
        assert verdicts(chain(history, base)[1]) == [UNREAD]
        history.git("commit", "--quiet", "--amend", "-m", CLAIM)
        assert verdicts(chain(history, base)[1]) == [NOT_PROVED]

    def test_another_engine_judges_anew(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = history.commit(PLANNED)
        history.commit(MOVED, CLAIM)
        chain(history, base)
        monkeypatch.setattr(cache, "engine_digest", lambda: "another")
        monkeypatch.setattr("verify.chain.links.judge_commit", _fail)
        assert cli.run(["chain", f"{base}..HEAD", "--repo", str(history.folder), "-j1"]) == 3

    def test_the_folder_is_the_users_alone(self, history: History) -> None:
        base = history.commit(BEFORE)
        history.commit(AFTER)
        chain(history, base)
        folder = history.folder.parent / "cache"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list((folder / "verdicts").iterdir())

    def test_a_folder_that_others_can_write_to_is_not_believed(self, history: History) -> None:
        base = history.commit(BEFORE)
        history.commit(AFTER)
        folder = history.folder.parent / "cache"
        folder.mkdir()
        folder.chmod(0o777)
        assert verdicts(chain(history, base)[1]) == [PURE]
        assert not list(folder.rglob("verdicts/*"))

    def test_a_damaged_entry_is_judged_anew(self, history: History) -> None:
        base = history.commit(PLANNED)
        history.commit(BROKEN, CLAIM)
        first = chain(history, base)
        (entry,) = (history.folder.parent / "cache" / "verdicts").iterdir()
        entry.write_bytes(entry.read_bytes().replace(b"not proved", b"proved    "))
        assert chain(history, base) == first

    def test_a_refused_plan_is_not_kept(self, history: History) -> None:
        bad = PLAN.replace("Money", "Monkey")
        base = history.commit({**BEFORE, PLAN_PATH: bad})
        history.commit({**AFTER, PLAN_PATH: bad}, CLAIM)
        chain(history, base)
        assert not list((history.folder.parent / "cache").rglob("verdicts/*"))


def _fail(repo: Path, commit: object) -> None:
    raise RuntimeError(f"{repo} {commit}")


@pytest.mark.history
def test_the_landed_series_is_seen_by_its_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3/N is a pure move; 4/N is not, and neither carries a trailer."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path))
    repo = Path(os.environ["REPOT_HISTORIES"]) / "bytedance-iaas-sglang.git"
    seen = []
    for commit in ("66076f2409", "ff1fc1fbdf"):
        report = tmp_path / "report.json"
        arguments = ["chain", f"{commit}^..{commit}", "--repo", str(repo), "--jobs", "1"]
        assert cli.run([*arguments, "--json", str(report)]) == 0
        seen += verdicts(json.loads(report.read_text()))
    assert seen == [PURE, PURE]
