"""A commit without a trailer gets what a review knows, for some seconds; and `--declare`."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.reading.load import parse_plan
from verify import cli
from verify.chain import looking
from verify.chain.links import FAULTY, MISDECLARED, NOT_LOOKED_AT, PROVED, PURE, UNDECLARED, UNREAD
from verify.history.patience import TooLongError, within

LONG = "class Long:\n" + "".join(f"    field_{n} = {n}\n" for n in range(24))
BIG = {**BEFORE, "shop/orders.py": BEFORE["shop/orders.py"] + f"\n\n{LONG}"}
SPLIT = {**BEFORE, "shop/long.py": LONG}
MIXED = {**AFTER, "till.py": AFTER["till.py"].replace("Money, pay)", "pay)"), "run.sh": "pay\n"}


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    return History(tmp_path / "repo")


def chain(history: History, *more: str, base: str = "HEAD^") -> tuple[int, dict[str, Any]]:
    report = history.folder.parent / "report.json"
    arguments = ["chain", f"{base}..HEAD", "--repo", str(history.folder), "--json", str(report)]
    return cli.run([*arguments, "-j1", *more]), json.loads(report.read_text())


class TestWithoutATrailer:
    def test_it_gets_what_a_review_knows_with_the_lines(
        self, history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        history.commit(BEFORE)
        name = history.commit(MIXED, "Move Money by hand")[:12]
        page, marks = tmp_path / "summary.md", tmp_path / "marks"
        code, data = chain(history, "--markdown", str(page), "--github", str(marks))
        (commit,) = data["commits"]
        assert (code, commit["verdict"]) == (0, UNREAD)
        assert (commit["symbols"], commit["moved_lines"], len(commit["to_read"])) == (1, 2, 2)
        assert commit["could_have"] == ""
        out = capsys.readouterr().out
        assert (
            "      for human eyes: it claims no move; some of it is one\n"
            "      1 symbol, 2 lines moved; 2 places to read\n"
            "    to read\n"
            "      till.py:4: till: importing it calls `print`, with other values than before\n"
            "      - print(Money, pay)\n"
            "      + print(pay)\n"
            "      run.sh:1: a file that is no Python is new\n"
            "      + pay\n"
            "    next\n"
            f"      repot review {name}\n"
        ) in out
        summary = page.read_text()
        assert "1 symbol, 2 lines moved; 2 places to read" in summary
        assert "\n- print(Money, pay)\n+ print(pay)\n" in summary
        first, second = marks.read_text().splitlines()
        assert first.startswith("::notice file=till.py,line=4,title=Repot%3A behaviour differs::")
        assert second.startswith("::notice file=run.sh,line=1,title=Repot%3A no Python")

    def test_of_a_commit_in_which_nothing_moved_nothing_is_listed(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        history.commit(BEFORE)
        history.commit({**BEFORE, "till.py": "print()\n", "a.txt": "x\n"})
        code, data = chain(history, "--github", "-")
        assert (code, data["commits"][0]["to_read"]) == (0, [])
        assert capsys.readouterr().out == (
            "::notice file=till.py,line=1,title=Repot%3A for human eyes"
            "::it claims no move (change)\n"
        )

    def test_long_lines_are_cut_and_hidden_characters_are_named(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        history.commit(BEFORE)
        hidden = f"pay()  # \u202e{'x' * 5_000}\n"
        history.commit({**AFTER, "till.py": f"{AFTER['till.py']}\n{hidden}"})
        chain(history)
        out = capsys.readouterr().out
        assert "holds characters outside ASCII" in out
        assert "U+202E" in out
        assert "\u202e" not in out
        assert "x" * 1_000 not in out

    def test_it_is_kept_with_its_lines(self, history: History) -> None:
        history.commit(BEFORE)
        history.commit(MIXED)
        first = chain(history)
        assert chain(history) == first

    def test_what_takes_too_long_is_not_looked_at_counted_and_not_kept(
        self, history: History, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        history.commit(BEFORE)
        name = history.commit(MIXED)[:12]
        monkeypatch.setattr(looking, "PATIENCE", 0.02)
        monkeypatch.setattr(looking, "certify_commits", _forever)
        code, data = chain(history)
        (commit,) = data["commits"]
        assert (code, commit["looked"], commit["reason"]) == (0, False, NOT_LOOKED_AT)
        out = capsys.readouterr().out
        assert f"      for human eyes: {NOT_LOOKED_AT}\n" in out
        assert f"    next\n      repot review {name}\n" in out
        assert f"1 commit: 1 for human eyes; 1 {NOT_LOOKED_AT}.\n" in out
        monkeypatch.undo()
        monkeypatch.setenv("REPOT_CACHE", str(history.folder.parent / "cache"))
        assert chain(history)[1]["commits"][0]["looked"]
        assert chain(history, "--strict")[0] == 1

    def test_five_seconds_are_what_a_commit_gets(self) -> None:
        assert looking.PATIENCE == 5.0


def _forever(*_: object) -> None:
    while True:
        sum(range(1_000))


class TestPatience:
    def test_what_ends_in_time_is_left_alone(self) -> None:
        before = signal.getsignal(signal.SIGPROF)
        with within(30):
            pass
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGPROF) is before

    def test_nothing_on_the_way_takes_it_for_a_fault(self) -> None:
        def stubborn() -> None:
            while True:
                try:
                    _forever()
                except Exception:  # noqa: S112 - as the code under way may have it
                    continue

        with pytest.raises(TooLongError), within(0.02):
            stubborn()

    def test_another_thread_has_no_limit(self) -> None:
        done: list[int] = []

        def work() -> None:
            with within(0.001):
                while time.thread_time() < 0.01:
                    sum(range(1_000))
                done.append(1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done == [1]


class TestDeclare:
    def declared(self, history: History, message: str, files: dict[str, str]) -> Any:
        history.commit({**BIG, PLAN_PATH: PLAN})
        history.commit({**files, PLAN_PATH: PLAN}, message)
        code, data = chain(history, "--declare")
        return code, data["commits"][-1]

    def test_a_commit_that_says_nothing_is_red(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code, commit = self.declared(history, "Fix", {**BIG, "till.py": "print()\n"})
        assert (code, commit["verdict"], commit["red"]) == (1, UNDECLARED, True)
        assert "it does not say whether it is a move" in commit["reason"]
        out = capsys.readouterr().out
        assert "`Mechanical-Move: PLAN` or `Mechanical-Move: none`" in out
        assert f"RED: {commit['commit'][:12]}." in out
        assert chain(history)[0] == 0

    def test_a_pure_move_that_says_nothing_is_red_too(self, history: History) -> None:
        code, commit = self.declared(history, "Split", SPLIT)
        assert (code, commit["verdict"]) == (1, UNDECLARED)
        assert chain(history)[1]["commits"][-1]["verdict"] == PURE

    def test_none_is_enough_for_what_is_none(self, history: History) -> None:
        files = {**BIG, "till.py": "print()\n"}
        code, commit = self.declared(history, "Fix\n\nMechanical-Move: none", files)
        assert (code, commit["verdict"], commit["plan"]) == (0, UNREAD, None)

    def test_none_of_a_move_is_flagged_with_the_plan_it_could_have_had(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code, commit = self.declared(history, "Split\n\nMechanical-Move: none", SPLIT)
        assert (code, commit["verdict"]) == (1, MISDECLARED)
        assert commit["moved_lines"] == 25
        plan = parse_plan(commit["could_have"].encode(), "plan")
        assert [str(item.module) for item in plan.destinations] == ["shop.long"]
        out = capsys.readouterr().out
        assert "    the plan that it could have had\n      format = " in out
        assert f"repot infer {commit['commit'][:12]} -o split.toml" in out
        assert chain(history)[0] == 0  # nobody asked
        assert chain(history, "--declare")[0] == 1  # and now from what was kept

    def test_a_small_move_needs_no_plan(self, history: History) -> None:
        history.commit(BEFORE)
        history.commit(AFTER, "Tidy\n\nMechanical-Move: none")
        code, data = chain(history, "--declare")
        assert (code, data["commits"][0]["verdict"]) == (0, PURE)

    def test_a_plan_is_replayed_as_ever_and_may_be_called_none(self, history: History) -> None:
        history.commit({**BEFORE, "none": PLAN})
        history.commit({**AFTER, "none": PLAN}, "Move\n\nMechanical-Move: ./none")
        code, data = chain(history, "--declare")
        assert (code, data["commits"][0]["verdict"]) == (0, PROVED)
        assert data["commits"][0]["plan"] == "none"

    @pytest.mark.parametrize(
        "message",
        [
            'Revert "Move Money"\n\nThis reverts commit 0a0a0a0a0a0a.',
            'Revert "Move Money" (#12)\n\nReverts shop/shop#11',
            'Reapply "Move Money"',
        ],
    )
    def test_a_revert_needs_none(self, history: History, message: str) -> None:
        assert self.declared(history, message, {**BIG, "a.txt": "x\n"})[0] == 0

    @pytest.mark.parametrize(
        "author",
        [
            "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>",
            "Renovate Bot <bot@renovateapp.com>",
            "release <project_12_bot_ab34@noreply.gitlab.invalid>",
        ],
    )
    def test_a_bot_needs_none(self, history: History, author: str) -> None:
        history.commit(BEFORE)
        history.commit({**BEFORE, "a.txt": "x\n"}, "Bump it")
        history.git("commit", "--quiet", "--amend", "--no-edit", "--author", author)
        assert chain(history, "--declare")[0] == 0

    @pytest.mark.parametrize("author", ["Abbot <a@b.invalid>", "Bot Smith <a@b.invalid>"])
    def test_a_person_with_such_a_name_does(self, history: History, author: str) -> None:
        history.commit(BEFORE)
        history.commit({**BEFORE, "a.txt": "x\n"}, "Bump it")
        history.git("commit", "--quiet", "--amend", "--no-edit", "--author", author)
        assert chain(history, "--declare")[0] == 1

    def test_a_merge_needs_none_and_its_commits_do(self, history: History) -> None:
        base = history.commit(BEFORE)
        history.git("checkout", "--quiet", "-b", "side")
        history.commit({**BEFORE, "a.txt": "x\n"}, "One\n\nMechanical-Move: none")
        history.git("checkout", "--quiet", "main")
        history.commit({**BEFORE, "b.txt": "x\n"}, "Two\n\nMechanical-Move: none")
        history.git("merge", "--quiet", "--no-edit", "side")
        assert chain(history, "--declare", base=base)[0] == 0

    def test_what_is_nearly_a_trailer_is_faulty_and_says_what_to_write(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        message = f"Move Money\n\nMechanical-Moves: {PLAN_PATH}"
        history.commit({**BEFORE, PLAN_PATH: PLAN})
        name = history.commit({**AFTER, PLAN_PATH: PLAN}, message)[:12]
        code, data = chain(history, "--github", str(history.folder.parent / "marks"))
        assert (code, data["commits"][0]["verdict"]) == (1, FAULTY)
        out = capsys.readouterr().out
        assert f"git rebase --interactive {name}^" in out
        assert "`Mechanical-Move: PLAN`" in out
        marks = (history.folder.parent / "marks").read_text()
        assert marks.startswith("::error file=shop/money.py,line=1,title=Repot%3A faulty trailer::")


def test_a_red_commit_shows_the_lines_that_differ_and_what_to_type(
    history: History, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    history.commit({**BEFORE, PLAN_PATH: PLAN})
    altered = {**AFTER, "shop/money.py": AFTER["shop/money.py"].replace("(1)", "(2)")}
    claim = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
    name = history.commit({**altered, PLAN_PATH: PLAN}, claim)[:12]
    page = tmp_path / "summary.md"
    assert chain(history, "--markdown", str(page))[0] == 1
    out = capsys.readouterr().out
    assert (
        "    differs at\n"
        "      shop/money.py:5: destination shop.money\n"
        "      -     cent = decimal.Decimal(1)\n"
        "      +     cent = decimal.Decimal(2)\n"
        "    next\n"
        f"      repot verify {PLAN_PATH} --base {name}^ --target {name}\n"
    ) in out
    assert "-     cent = decimal.Decimal(1)\n+     cent = decimal.Decimal(2)\n" in page.read_text()
    bad = PLAN.replace("Money", "Monkey")
    history.commit({**BEFORE, PLAN_PATH: bad})
    name = history.commit({**AFTER, PLAN_PATH: bad}, claim)[:12]
    assert chain(history)[0] == 2
    assert f"    next\n      repot apply {PLAN_PATH} --at {name}^\n" in capsys.readouterr().err
