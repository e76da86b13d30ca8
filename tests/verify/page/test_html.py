"""The page: complete in itself, the same bytes each time, and inert whatever a report says."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.verify.page.pages import HOSTILE, TAGS, Read, everywhere
from tests.verify.samples import OUTCOME
from transforms.errors import Place, Refusal
from verify.report import html
from verify.report.escape import visible
from verify.report.exhibits import Excerpt, Figure, Flow, Sides, Text
from verify.report.html import to_html
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, faulted, refused
from verify.reports.apply import Applied, applied

REFUSAL = Refusal("cycle", "It is refused.", next_step="Do else.", place=Place("a.py", 3))
REPORTS: dict[str, Callable[[], Report]] = {
    "a preview": lambda: applied(Applied("p.toml", "Take X out", "here", "preview", OUTCOME)),
    "a refusal": lambda: refused("verify", REFUSAL),
    "a fault": lambda: faulted("chain", ValueError("no")),
    "nothing to say": lambda: Report("series", Verdict.HOLDS, "x"),
    "a text in every place": lambda: everywhere("text"),
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_every_report_has_a_page(report: Callable[[], Report]) -> None:
    shown = report()
    page = to_html(shown)
    read = Read(page)
    assert page.isascii()
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert visible(shown.headline) in read.text
    for sentence in shown.summary:
        assert visible(sentence) in read.text
    assert {tag for tag, _ in read.tags} <= TAGS


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_headings_and_landmarks_are_in_order(report: Callable[[], Report]) -> None:
    tags = [tag for tag, _ in Read(to_html(report())).tags]
    headings = [tag for tag in tags if tag in {"h1", "h2", "h3"}]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert [tags.count(tag) for tag in ("main", "header", "footer")] == [1, 1, 1]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_every_link_leads_to_a_place_of_the_page_and_each_name_is_there_once(
    report: Callable[[], Report],
) -> None:
    read = Read(to_html(report()))
    names = [found["id"] for _, found in read.tags if "id" in found]
    assert len(names) == len(set(names))
    assert {f"#{name}" for name in names} >= set(read.attributes("a", "href"))


def test_the_policy_allows_the_style_of_the_page_and_nothing_else() -> None:
    read = Read(to_html(everywhere("x")))
    digest = base64.b64encode(hashlib.sha256(read.style.encode()).digest()).decode()
    assert read.attributes("meta", "content")[0] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert [found for tag, found in read.tags if tag == "style"] == [{}]


def inert(page: str) -> bool:
    """Whether no element can run or load anything, or is styled by itself."""
    read = Read(page)
    named = [(tag, name) for tag, found in read.tags for name in found]
    loading = {"src", "srcset", "action", "background", "style", "srcdoc"}
    links = {href for href in read.attributes("a", "href") if not str(href).startswith("#")}
    return (
        {tag for tag, _ in read.tags} <= TAGS
        and not links
        and read.attributes("link", "href") == ["data:,"]
        and not any(name in loading or name.startswith("on") for _, name in named)
    )


def test_hostile_text_stays_text_wherever_it_stands() -> None:
    page = to_html(everywhere(HOSTILE))
    assert inert(page)
    assert Read(page).text.count(visible("document.title='owned'")) > 10
    assert not set(Read(page).text) & {"\u202e", "\u202c", "\u200b", "\x1b", "\r"}


@settings(max_examples=examples(30))
@given(st.text(max_size=80))
def test_any_text_stays_text(text: str) -> None:
    page = to_html(everywhere(text, 3))
    assert page.isascii()
    assert inert(page)
    assert visible(text) in Read(page).text


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_bytes_do_not_hang_on_the_hash_seed_the_locale_or_the_time_zone(seed: str) -> None:
    code = (
        "import sys; from tests.verify.page.pages import everywhere\n"
        "from verify.report.html import to_html\n"
        "sys.stdout.write(to_html(everywhere('caf\\u00e9 def f(): pass', 4)))"
    )
    changed = {"PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **changed}, capture_output=True, check=True
    )
    assert done.stdout.decode() == to_html(everywhere("caf\u00e9 def f(): pass", 4))


def test_a_move_of_thousands_of_lines_makes_a_page_of_a_sane_size() -> None:
    lines = tuple(f"    total_{n} = compute(total_{n - 1}, {n}, 'step')" for n in range(7_100))
    old, new = Text("old.py", lines), Text("new.py", lines)
    spans = [(n * 100, n * 100 + 99) for n in range(1, 71)]
    sides = [Sides(Excerpt.of(old, *span), Excerpt.of(new, *span)) for span in spans]
    moved = tuple(Finding("moved", Place("new.py", 1), "Money", sides=each) for each in sides)
    section = Section("Moved code", moved, aside=True)
    page = to_html(Report("review", Verdict.HOLDS, "x", (section,)))
    assert page.count("52 lines, the same on both sides") == 70  # shown once, not beside itself
    assert len(page) < 2_000_000


def test_a_line_of_megabytes_is_cut() -> None:
    page = to_html(everywhere("x" * 1_000_000))
    assert len(page) < 500_000


def test_a_page_has_room_for_so_much_code_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_MOST_LINES", 100)
    row = Row.of("", [f"x = {n}" for n in range(30)], Style.ADDED)
    found = (Finding("changed", Place("a.py", 1), "it was changed", (row,)),) * 5
    page = to_html(Report("certify", Verdict.DIFFERS, "x", (Section("Residual", found),)))
    assert page.count("<ins ") == 100
    assert "... 20 lines, left out: git shows them" in Read(page).text
    assert "... 30 lines, left out: git shows them" in Read(page).text


def test_many_findings_are_counted_not_written_out() -> None:
    found = tuple(Finding("x", Place("a.py", n), "y") for n in range(50_000))
    page = to_html(Report("certify", Verdict.DIFFERS, "x", (Section("Residual", found),)))
    assert "... 49,000 more" in Read(page).text
    assert len(page) < 500_000


GONE, COME = ("a = 1", Style.REMOVED), ("a = 2", Style.ADDED)


@pytest.mark.parametrize(
    "rows",
    [(Row("", (GONE,)), Row("", (COME,))), (Row("line 3, import", (GONE, COME)),)],
    ids=["a row each", "one row for both"],
)
def test_code_that_goes_and_code_that_comes_stand_in_one_block(rows: tuple[Row, ...]) -> None:
    finding = Finding("changed", Place("a.py", 1), "it was changed", rows)
    page = to_html(Report("certify", Verdict.DIFFERS, "x", (Section("Residual", (finding,)),)))
    tags = [tag for tag, _ in Read(page).tags if tag in {"pre", "ins", "del"}]
    assert tags == ["pre", "del", "ins"]


def test_what_is_to_be_read_comes_before_the_picture_and_the_rest_after_it() -> None:
    flow = Figure((Flow("a.py", "b.py", ("X",), 1),), frozenset({"b.py"}))
    one = (Finding("x", Place("a.py", 1), "y"),)
    sections = (
        Section("Moved: 1 symbol", one, drawn=True),
        Section("To read", one),
        Section("Observable", one, aside=True),
    )
    read = Read(to_html(Report("review", Verdict.DIFFERS, "x", sections, figure=flow)))
    text = read.text
    order = [text.rindex(words) for words in ("To read", "Moved: 1 symbol", "Observable")]
    assert order == sorted(order)
    assert [tag for tag, _ in read.tags if tag == "svg"] == ["svg"]


def test_the_verdict_is_the_title_wherever_a_summary_says_it() -> None:
    page = to_html(Report("chain", Verdict.HOLDS, "a..b", summary=("2 commits.", "GREEN: fine.")))
    assert '<h1 id="verdict">GREEN: fine.</h1><p>2 commits.</p>' in page
