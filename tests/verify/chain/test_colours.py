"""What a chain comes to at a glance: never green on a known break, nor on nothing proved."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.series import Recorded
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify import cli
from verify.chain.links import (
    EMPTY,
    FAULTY,
    MERGE,
    NOT_LOOKED_AT,
    NOT_PROVED,
    PROVED,
    PURE,
    UNREAD,
    Judgement,
    Link,
)
from verify.chain.looking import Spot
from verify.chain.series import judge_series
from verify.kernel.verdict import BREAKS, OPEN, TEXT
from verify.proofs import adapter
from verify.report.marks import to_github
from verify.report.report import Verdict
from verify.reports.chain import Result, chained, colour_of
from verify.reports.series import in_series

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}\n"
# The plan gives it byte for byte, and who imports `pay` fails.
EDIT = '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "def paid():"\n'
BROKEN = {**AFTER, "shop/orders.py": AFTER["shop/orders.py"].replace("def pay", "def paid")}
ACCEPT = '\n[[accept]]\nkind = "breaks"\nmodule = "till"\nreason = "till goes next week"\n'
# The plan brings a comment.
COMMENT = (
    '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "# Pays.\\ndef pay():"\n'
)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    return History(tmp_path / "repo")


def claimed(history: History, plan: str, after: dict[str, str]) -> str:
    history.commit({**BEFORE, PLAN_PATH: plan}, "Plan it")
    return history.commit({**after, PLAN_PATH: plan}, CLAIM)


def chain(history: History, *more: str, base: str = "HEAD^") -> tuple[int, dict[str, Any]]:
    report = history.folder.parent / "report.json"
    arguments = ["chain", f"{base}..HEAD", "--repo", str(history.folder), "--json", str(report)]
    return cli.run([*arguments, "-j1", *more]), json.loads(report.read_text())


def mark_of(history: History, *more: str) -> tuple[str, str]:
    """Give the colour and the mark of the page."""
    page = history.folder.parent / "page.html"
    level = chain(history, "--html", str(page), *more)[1]["level"]
    (found,) = re.findall(
        r'class="verdict (\w+)"[^>]*><p class="mark">([^<]*)</p>', page.read_text(encoding="ascii")
    )
    assert found[0] == level
    return level, html.unescape(found[1])


def test_a_proved_move_that_breaks_a_reader_is_amber_and_red_under_strict(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    name = claimed(history, PLAN + EDIT, BROKEN)[:12]
    code, data = chain(history)
    (commit,) = data["commits"]
    assert (code, commit["verdict"], commit["breaks"]) == (0, PROVED, 1)
    assert (data["colour"], commit["colour"]) == ("amber", "amber")
    out = capsys.readouterr().out
    assert "it breaks a reader: 1 place where behaviour differs" in out
    assert "      till.py:2: till: importing it raises ImportError: shop.orders.pay\n" in out
    assert "      from shop.orders import pay\n" in out
    assert out.endswith(
        f"\nAMBER: every claimed move is proved. A proved move breaks a reader: {name}.\n"
    )
    page = history.folder.parent / "summary.md"
    chain(history, "--markdown", str(page))
    assert page.read_text().startswith("## repot chain: ! it holds, and leaves something to read\n")
    assert mark_of(history) == ("amber", "To read")
    capsys.readouterr()
    assert mark_of(history, "--strict") == ("red", "✗ It differs")
    capsys.readouterr()
    code, data = chain(history, "--strict", "--github", "-")
    assert (code, data["colour"], data["commits"][0]["colour"]) == (1, "red", "red")
    assert data["summary"][-1] == f"RED by --strict: A proved move breaks a reader: {name}."
    errors = [line for line in capsys.readouterr().out.splitlines() if "::error" in line]
    assert errors == [
        "::error file=till.py,line=2,title=Repot%3A behaviour differs"
        "::till: importing it raises ImportError: shop.orders.pay (Move Money)"
    ]


def test_a_break_that_the_plan_accepts_is_amber(history: History) -> None:
    claimed(history, PLAN + EDIT + ACCEPT, BROKEN)
    code, data = chain(history, "--strict")
    (commit,) = data["commits"]
    assert (code, data["colour"], commit["breaks"]) == (0, "amber", 0)
    assert commit["accepted"] > 0


def test_text_is_amber(history: History) -> None:
    after = {**AFTER, "shop/orders.py": "# Pays.\n" + AFTER["shop/orders.py"]}
    name = claimed(history, PLAN + COMMENT, after)
    code, data = chain(history, "--strict")
    assert (code, data["colour"], data["commits"][0]["breaks"]) == (0, "amber", 0)
    words = f"AMBER: every claimed move is proved. To read in {name[:12]}."
    assert data["summary"][-1] == words


def test_what_the_first_kernel_suspects_is_amber(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST", 100)
    claimed(history, PLAN + EDIT, BROKEN)
    code, data = chain(history, "--strict")
    assert (code, data["colour"], data["commits"][0]["breaks"]) == (0, "amber", 0)
    assert BREAKS in {spot["kind"] for spot in data["commits"][0]["to_read"]}


def test_a_series_tells_breaks_too(history: History) -> None:
    claimed(history, PLAN + EDIT, BROKEN)
    links = judge_series(history.folder, "HEAD", jobs=1)
    assert in_series("HEAD", links).verdict is Verdict.HOLDS
    assert in_series("HEAD", links).summary[-1].startswith("AMBER: ")
    assert in_series("HEAD", links, strict=True).verdict is Verdict.DIFFERS


def test_our_own_series_holds_under_strict() -> None:
    try:
        links = judge_series(Path(__file__).parents[3], "HEAD", cache=Recorded(anew=False))
    except Refusal as refusal:  # a source archive, or a shallow clone
        pytest.skip(refusal.cause)
    report = in_series("HEAD", links, strict=True)
    assert (report.verdict, report.data["colour"]) == (Verdict.HOLDS, "green")
    assert report.summary[-1] == "GREEN: every claimed move is proved."


SPOT = Spot("till.py", 3, "target", "why", BREAKS)


def link(verdict: str, plan: str | None = None, **more: Any) -> Link:
    return Link("0a" * 20, "Move Money", plan, Judgement(verdict, "why", **more))


RESULTS: dict[str, tuple[list[Link], str, str]] = {
    "nothing claimed": (
        [link(PURE), link(MERGE), link(EMPTY)],
        "NO CLAIM: no commit says that it is a move; nothing is left to read.",
        "NO CLAIM: no commit says that it is a move; nothing is left to read.",
    ),
    "nothing claimed, and two to read": (
        [link(UNREAD), link(UNREAD)],
        "NO CLAIM: no commit says that it is a move; 2 to be read.",
        "RED by --strict: 2 commits for human eyes.",
    ),
    "all proved": (
        [link(PROVED, "p.toml")],
        "GREEN: every claimed move is proved.",
        "GREEN: every claimed move is proved.",
    ),
    "proved, beside one to read": (
        [link(PROVED, "p.toml"), link(UNREAD)],
        "GREEN: every claimed move is proved.",
        "RED by --strict: 1 commit for human eyes.",
    ),
    "what is open": (
        [link(PROVED, "p.toml", to_read=(Spot("a.py", 1, "target", "why", OPEN),))],
        "AMBER: every claimed move is proved. To read in 0a0a0a0a0a0a.",
        "AMBER: every claimed move is proved. To read in 0a0a0a0a0a0a.",
    ),
    "accepted": (
        [link(PROVED, "p.toml", accepted=1)],
        "AMBER: every claimed move is proved. To read in 0a0a0a0a0a0a.",
        "AMBER: every claimed move is proved. To read in 0a0a0a0a0a0a.",
    ),
    "two that break": (
        [link(PROVED, "p.toml", breaks=1, to_read=(SPOT,))] * 2,
        "AMBER: every claimed move is proved. 2 proved moves break readers: "
        "0a0a0a0a0a0a, 0a0a0a0a0a0a.",
        "RED by --strict: 2 proved moves break readers: 0a0a0a0a0a0a, 0a0a0a0a0a0a.",
    ),
    "one that breaks, one to read": (
        [link(PROVED, "p.toml", breaks=1, to_read=(SPOT,)), link(UNREAD)],
        "AMBER: every claimed move is proved. A proved move breaks a reader: 0a0a0a0a0a0a.",
        "RED by --strict: A proved move breaks a reader: 0a0a0a0a0a0a. 1 commit for human eyes.",
    ),
    "one that is not proved, one that breaks": (
        [link(NOT_PROVED, "p.toml"), link(PROVED, "p.toml", breaks=1)],
        "RED: 0a0a0a0a0a0a. A proved move breaks a reader: 0a0a0a0a0a0a.",
        "RED: 0a0a0a0a0a0a. A proved move breaks a reader: 0a0a0a0a0a0a.",
    ),
}


@pytest.mark.parametrize(("links", "plain", "strict"), RESULTS.values(), ids=RESULTS)
def test_the_last_line_says_it(links: list[Link], plain: str, strict: str) -> None:
    for words, is_strict in ((plain, False), (strict, True)):
        report = chained("a", "b", tuple(links), strict=is_strict)
        assert report.summary[-1] == words
        assert (report.verdict is Verdict.DIFFERS) == words.startswith("RED")
        assert report.data["colour"] == words.split(":")[0].split(" by")[0].lower()


def test_what_could_not_be_judged_stays_so() -> None:
    unjudged = link(NOT_PROVED, "p.toml", unjudged=True)
    assert Result((unjudged,)).verdict is Verdict.UNJUDGED
    assert Result((unjudged, link(UNREAD)), strict=True).verdict is Verdict.DIFFERS
    assert colour_of(link(UNREAD), strict=True) is colour_of(unjudged)


def test_what_was_not_looked_at_is_counted() -> None:
    missed = link(UNREAD, looked=False, first="a.py")
    report = chained("a", "b", (missed, missed, link(UNREAD)), strict=False)
    assert report.summary[0] == f"3 commits: 3 for human eyes; 2 {NOT_LOOKED_AT}."


@pytest.mark.parametrize(
    "one",
    [
        link(FAULTY, first="a.py"),
        link(NOT_PROVED, "p.toml", unjudged=True, first="a.py"),
        link(UNREAD, first="a.py"),
        link(UNREAD, to_read=(SPOT,), first="a.py"),
        link(PROVED, "p.toml", to_read=(SPOT,), first="a.py"),
    ],
)
def test_annotations_name_files_and_never_commits(one: Link) -> None:
    for strict in (False, True):
        printed = to_github(chained("a", "b", (one,), strict=strict).marks)
        assert "0a0a0a0" not in printed
        assert all(" file=" in line for line in printed.splitlines())


def test_text_alone_is_no_error_of_a_commit_that_breaks() -> None:
    spots = (SPOT, Spot("a.py", 1, "target", "why", TEXT))
    one = link(PROVED, "p.toml", breaks=1, to_read=spots)
    marks = chained("a", "b", (one,), strict=True).marks
    assert [mark.failing for mark in marks] == [True, False]


def test_the_page_of_a_chain_without_a_claim_says_that_nothing_holds(history: History) -> None:
    history.commit(BEFORE)
    history.commit(AFTER, "Move Money")
    assert mark_of(history) == ("green", "No commit claims a move")
    history.commit({**AFTER, "till.py": "print()\n"}, "Close the till")
    assert mark_of(history) == ("amber", "No commit claims a move")
