from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import Place, Refusal
from verify.chain.links import (
    FAULTY,
    MERGE,
    NOT_PROVED,
    PROVED,
    UNREAD,
    Judgement,
    Link,
)
from verify.chain.looking import Spot
from verify.report.marks import Mark, to_github, to_gitlab
from verify.report.report import faulted, refused
from verify.reports.chain import chained

DIFFERS = (Spot("shop/money.py", 5, "target", "destination shop.money"),)
GONE = (Spot("shop/orders.py", 7, "base", "this statement is gone"),)


def link(verdict: str, **more: object) -> Link:
    return Link("0a" * 20, "Move Money", None, Judgement(verdict, "why", **more))  # type: ignore[arg-type]


class TestChain:
    @pytest.mark.parametrize(
        ("one", "wanted"),
        [
            pytest.param(link(PROVED), [], id="a proved commit has none"),
            pytest.param(link(MERGE), [], id="a merge has none"),
            pytest.param(
                link(PROVED, residuals=GONE),
                [
                    "::notice file=shop/orders.py,line=1,title=Repot%3A not part of the move"
                    "::this statement is gone (line 7 before it) (Move Money)"
                ],
                id="what a proved commit leaves to read is a notice",
            ),
            pytest.param(
                link(NOT_PROVED, differs=DIFFERS, residuals=GONE),
                [
                    "::error file=shop/money.py,line=5,title=Repot%3A not what the plan gives"
                    "::destination shop.money (Move Money)"
                ],
                id="a line that the plan does not give is an error",
            ),
            pytest.param(
                link(FAULTY),
                ["::error title=Repot%3A faulty trailer::why (Move Money)"],
                id="a fault without a line is an error all the same",
            ),
            pytest.param(
                link(UNREAD, residuals=GONE),
                ["::notice title=Repot%3A for human eyes::why (Move Money)"],
                id="a commit that claims nothing is one notice",
            ),
        ],
    )
    def test_each_verdict_has_its_marks(self, one: Link, wanted: list[str]) -> None:
        report = chained("a", "b", (one,), strict=False)
        assert to_github(report.marks).splitlines() == wanted

    def test_strict_makes_an_error_of_a_commit_for_human_eyes(self) -> None:
        (mark,) = chained("a", "b", (link(UNREAD),), strict=True).marks
        assert mark.failing


def test_a_refusal_and_a_fault_are_errors() -> None:
    refusal = refused("chain", Refusal("cycle", "No.", next_step="Go.", place=Place("a.py", 3)))
    assert to_github(refusal.marks) == "::error file=a.py,line=3,title=Repot%3A refused::No. Go.\n"
    fault = faulted("chain", KeyError("x"))
    assert to_github(fault.marks) == "::error title=Repot%3A failed::KeyError: 'x'\n"


class TestGithub:
    def test_properties_and_data_are_escaped_each_in_its_way(self) -> None:
        mark = Mark(Place("a,b:c%.py", 2), "one:two,three", "100%: a, b\r\nc")
        assert to_github([mark]) == (
            "::error file=a%2Cb%3Ac%25.py,line=2,title=Repot%3A one%3Atwo%2Cthree"
            "::100%25: a, b\\r\\nc\n"
        )

    @pytest.mark.parametrize(("number", "lines"), [(10, 10), (11, 10), (500, 10)])
    def test_ten_are_shown_and_the_rest_counted(self, number: int, lines: int) -> None:
        marks = [Mark(Place("a.py", line), "t", "m") for line in range(1, number + 1)]
        printed = to_github(marks).splitlines()
        assert len(printed) == lines
        if number > lines:
            more = number - lines + 1
            assert printed[-1].endswith(f"::{more} more: the report lists all of them")

    @given(st.lists(st.builds(Mark, st.builds(Place, st.text()), st.text(), st.text()), max_size=3))
    def test_hostile_text_gives_no_further_command(self, marks: list[Mark]) -> None:
        lines = to_github(marks).split("\n")
        assert len(lines) == len(marks) + 1
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", to_github(marks))
        assert "##[" not in to_github(marks)
        for line in lines[:-1]:
            head, _, _ = line.removeprefix("::error ").partition("::")
            assert all("=" in part for part in head.split(","))


class TestGitlab:
    def test_an_entry_has_what_the_format_asks_for(self) -> None:
        mark = Mark(Place("a.py", 3), "not part of the move", "this is new")
        (entry,) = json.loads(to_gitlab([mark]))
        assert re.fullmatch("[0-9a-f]{64}", entry.pop("fingerprint"))
        assert entry == {
            "check_name": "Repot: not part of the move",
            "description": "this is new",
            "severity": "major",
            "location": {"path": "a.py", "lines": {"begin": 3}},
        }

    def test_fingerprints_are_unique_and_stay_where_lines_shift(self) -> None:
        def prints(*lines: int) -> list[str]:
            marks = [Mark(Place("a.py", line), "t", "m") for line in lines]
            return [entry["fingerprint"] for entry in json.loads(to_gitlab(marks))]

        assert len(set(prints(1, 2, 3))) == 3
        assert prints(1, 2, 3) == prints(11, 12, 13)

    def test_no_marks_are_an_empty_report(self) -> None:
        assert json.loads(to_gitlab([])) == []
