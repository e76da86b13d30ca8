"""Who waits is told what is done and how far it is, on a terminal, after two seconds."""

from __future__ import annotations

import contextlib
import io
import re
import time

import pytest

from verify.report import progress
from verify.report.progress import PATIENCE, Working, working


class Terminal(io.StringIO):
    """A terminal that remembers what it was sent."""

    def isatty(self) -> bool:
        return True


def until(terminal: Terminal, wanted: str) -> str:
    for _ in range(500):
        if wanted in terminal.getvalue():
            break
        time.sleep(0.005)
    return terminal.getvalue()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_OFTEN", 0.002)
    monkeypatch.delenv("TERM", raising=False)


def test_two_seconds_are_nothing() -> None:
    assert PATIENCE == 2.0
    terminal = Terminal()
    with working("judging", stream=terminal) as telling:
        telling.count(1, 2, "commits")
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("quick")
def test_it_says_what_is_done_and_how_far_it_is() -> None:
    terminal = Terminal()
    with working(stream=terminal) as telling:
        telling.step("reading the change", 1, 3)
        until(terminal, "reading the change (step 1 of 3), 0 s")
        telling.files(1_200, 4_012)
        until(terminal, "\r\x1b[2Kreading the change (step 1 of 3): 1,200 of 4,012 files, 0 s")
        telling.step("judging")
        telling.commits(2, 12)
        printed = until(terminal, "\r\x1b[2Kjudging: 2 of 12 commits, 0 s")
    assert "reading the change (step 1 of 3), 0 s" in printed
    assert "\r\x1b[2Kreading the change (step 1 of 3): 1,200 of 4,012 files, 0 s" in printed
    assert "\r\x1b[2Kjudging: 2 of 12 commits, 0 s" in printed
    assert terminal.getvalue().endswith("\r\x1b[2K")  # nothing of it stays
    assert "\n" not in terminal.getvalue()


@pytest.mark.usefixtures("quick")
def test_a_terminal_that_cannot_write_over_a_line_gets_each_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with working("judging", stream=terminal) as telling:
        telling.commits(1, 2)
        until(terminal, "1 of 2")
        time.sleep(0.02)
    assert re.fullmatch(r"(judging\n)?judging: 1 of 2 commits\n", terminal.getvalue())


@pytest.mark.usefixtures("quick")
def test_elsewhere_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with working("judging"):
        time.sleep(0.02)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.usefixtures("quick")
def test_what_fails_leaves_no_line_behind() -> None:
    terminal = Terminal()
    with contextlib.suppress(ValueError), working("judging", stream=terminal):
        until(terminal, "judging")
        raise ValueError("x")
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_each_phase_is_timed_and_a_name_is_made_safe() -> None:
    telling = Working()
    telling.step("one")
    telling.step("two\x1b[31m")
    assert telling.line() == "two\\x1b[31m"
    telling.end()
    telling.end()
    assert [name for name, _ in telling.seconds] == ["one", "two\x1b[31m"]
    assert all(seconds >= 0 for _, seconds in telling.seconds)
