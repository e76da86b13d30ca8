"""The table and the porcelain are git's own where no move is passed; and how the command ends."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.transforms.checkouts import run_git
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli
from verify.origin.shown import date_of
from verify.report.console import print_rows

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}\n"
PLANNED = {**BEFORE, PLAN_PATH: PLAN}
MOVED = {**AFTER, PLAN_PATH: PLAN}
TEXT = "".join(f"the line with number {n}\n" for n in range(12))
WHO = "GIT_AUTHOR_NAME", "GIT_AUTHOR_DATE"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A history without claims: many authors and zones, a rename, odd bytes."""
    history = History(tmp_path_factory.mktemp("shown") / "repo")
    texts = {"old.txt": TEXT, "odd.txt": "\ta\r\nb"}
    with pytest.MonkeyPatch.context() as patch:
        for who, when, changed in (
            ("Ann", "1000000000 +0530", {}),
            ("J\u00f6rg \u6771\u4eac", "1111111111 -0800", {"old.txt": TEXT.replace("5", "five")}),
            ("e\u0301tienne", "1200000000 +0000", {"odd.txt": "\ta\r\nb\r\n\x1b[2J"}),
        ):
            for name, value in zip(WHO, (who, when), strict=True):
                patch.setenv(name, value)
            texts |= changed
            history.commit(texts)
        texts['new \u00e9".txt'] = texts.pop("old.txt") + "one more\n"
        history.commit(texts)
        history.commit({**texts, "later.txt": "later\n"})
    return history


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))


def origin(history: History, *arguments: str) -> int:
    return cli.run(["origin", "--repo", str(history.folder), *arguments])


@pytest.mark.parametrize("file", ['new \u00e9".txt', "odd.txt", "later.txt"])
class TestAsGit:
    def test_the_table(
        self, plain: History, file: str, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert origin(plain, file) == 0
        assert capfdbinary.readouterr().out == run_git(plain.folder, "blame", "-C", "HEAD", file)

    def test_the_porcelain(
        self, plain: History, file: str, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert origin(plain, file, "--porcelain") == 0
        expected = run_git(plain.folder, "blame", "-C", "--porcelain", "HEAD", file)
        assert capfdbinary.readouterr().out == expected


def test_some_lines_of_another_commit(
    plain: History, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert origin(plain, "old.txt:9-11", "HEAD~2") == 0
    expected = run_git(plain.folder, "blame", "-C", "-L9,11", "HEAD~2", "old.txt")
    assert capfdbinary.readouterr().out == expected


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


def test_through_a_move(history: History, capfd: pytest.CaptureFixture[str]) -> None:
    first = history.commit(BEFORE)
    plan = history.commit(PLANNED)
    move = history.commit(MOVED, CLAIM)
    assert origin(history, "shop/money.py:4", "--json", "-") == 0
    out, err = capfd.readouterr()
    data = json.loads(out)
    assert err == ""
    (line,) = data["lines"]
    assert line["text"] == "class Money:"
    assert line["origin"] == {"commit": first, "path": "shop/orders.py", "line": 4}
    came = {"commit": plan, "path": "shop/orders.py", "line": 4}
    assert line["through"] == [{"kind": "moved", "commit": move, "plan": PLAN_PATH, "from": came}]
    assert data["counts"] == {"lines": 1, "moved": 1, "copied": 0, "claimed": 0}
    assert data["commits"][first]["author_mail"] == "tests@repot.invalid"
    assert (data["schema"], data["command"], data["exit_code"]) == (1, "origin", 0)
    assert origin(history, "shop/money.py", "--porcelain") == 0
    assert f"{first} 1 1 5\n" in capfd.readouterr().out


def test_a_claim_that_is_not_proved_is_marked_and_said(
    history: History, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    history.commit(PLANNED)
    move = history.commit({**MOVED, "till.py": "print()\n"}, CLAIM)
    page = tmp_path / "page.html"
    assert origin(history, "shop/money.py", "--html", str(page)) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"!{move[:7]} (Repot tests ")
    assert "it differs from what its plan gives, first at till.py:1" in err
    assert "5 lines marked `!`: a claimed move that is not proved." in err
    assert "Move Money" in page.read_text()
    assert origin(history, "shop/money.py", "--json", "-") == 0
    data = json.loads(capfd.readouterr().out)
    assert all(line["claimed"] for line in data["lines"])
    assert [(c["commit"], c["plan"], c["unjudged"]) for c in data["claims"]] == [
        (move, PLAN_PATH, False)
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "has no such file"),
        (["later.txt:2"], "The file has 1 line in"),
        (["later.txt", "nowhere"], "No commit `nowhere`"),
        (["later.txt", "--porcelain", "--json", "-"], "both print to stdout"),
    ],
)
def test_is_refused(
    plain: History, arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert origin(plain, *arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err


def test_nothing_is_kept_where_that_is_not_wanted(plain: History, tmp_path: Path) -> None:
    assert origin(plain, "later.txt", "--no-cache") == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("stamp", "zone", "shown"),
    [
        (b"0", b"+0000", b"1970-01-01 00:00:00 +0000"),
        (b"1000000000", b"-0330", b"2001-09-08 22:16:40 -0330"),
        (b"99999999999999", b"+0000", b"1970-01-01 00:00:00 +0000"),
        (b"", b"+0000", b"1970-01-01 00:00:00 +0000"),
        (b"0", b"nowhere", b"1970-01-01 00:00:00 +0000"),
    ],
)
def test_a_date_is_the_same_everywhere(stamp: bytes, zone: bytes, shown: bytes) -> None:
    assert date_of([b"author-time " + stamp, b"author-tz " + zone]) == shown


def test_a_date_of_today_is_todays() -> None:
    now = datetime.now(timezone.utc)
    details = [f"author-time {now.timestamp():.0f}".encode(), b"author-tz +0000"]
    assert date_of(details)[:4] == str(now.year).encode()


def test_a_terminal_is_shown_what_would_act_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = TextIOWrapper(BytesIO(), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: True)
    print_rows([(b"abc ", b"\x1b[2J\ta\xff\r\n"), (b"def ", b"b")], stream)
    stream.seek(0)
    assert stream.read() == "abc \\x1b[2J\ta\\xff\ndef b\n"
    assert sys.stdout is not stream
