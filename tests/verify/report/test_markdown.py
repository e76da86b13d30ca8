from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from transforms.errors import Place, Refusal
from verify.chain.links import FAULTY, PROVED, UNREAD, Judgement, Link
from verify.report.markdown import code, to_markdown, words
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, refused
from verify.reports.chain import chained

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    """All tokens, those inside lines too."""
    return [t for token in PARSER.parse(text) for t in (token, *(token.children or ()))]


def spans(text: str) -> list[str]:
    return [t.content for t in tokens(text) if t.type == "code_inline"]


def chain(*links: Link) -> str:
    return to_markdown(chained("a" * 40, "b" * 40, links, strict=False))


class TestWords:
    @pytest.mark.parametrize(
        "text",
        [
            "this statement was changed",
            "3 commits: 2 for human eyes, 1 proved.",
            "PASS: transform reproduces the commit exactly.",
            "Written to, and named in characters outside ASCII",
            "Statements: 1 moved; 0 added lines and 1,204 removed lines to read.",
        ],
    )
    def test_plain_words_stand_in_the_open(self, text: str) -> None:
        assert words(text) == text

    @pytest.mark.parametrize(
        "text",
        [
            "see www.example.com now",
            "ask @someone about it",
            "it fixes #12 too",
            "it fixes GH-12 too",
            "as in 0a1b2c3d4e before",
            "as in 1234567 before",
            "a ::error:: here",
            "- a list",
            "1. a list",
            "a rule ---",
            "a $`x`$ formula",
            "1 < 2",
            "/approve this change",
            "an [x](y) link",
            "odd ` backtick",
            "two `a``b` spans",
            "naïve words",
            "word",
        ],
    )
    def test_all_else_is_code_as_a_whole(self, text: str) -> None:
        assert words(text) == code(text)
        assert spans(words(text)) == [text]

    def test_what_is_quoted_is_code(self) -> None:
        assert words("the name `a*b` means another thing") == "the name `a*b` means another thing"
        assert words("`@x` is gone") == "`@x` is gone"


class TestCode:
    @pytest.mark.parametrize(
        "text", ["a", "`", "``", "a`b", "`a", "a``", " a ", " ", "\\", "a\\", "```x```", "|", "<b>"]
    )
    def test_a_span_holds_just_its_text(self, text: str) -> None:
        assert spans(f"before {code(text)} after") == [text]

    def test_a_run_that_renderers_would_not_take_for_one_is_counted(self) -> None:
        assert code("a" + "`" * 100) == "`a<100 backticks>`"

    def test_no_text_is_no_span(self) -> None:
        assert code("") == ""


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "`",
                    "``",
                    "```",
                    "~~~",
                    "`" * 90,
                    "|",
                    "\n",
                    "\r",
                    "\\",
                    "<b>",
                    "</details>",
                    "<!--",
                ),
                *("[x](http://e.org)", "![x](y)", "@org/team", "#1", "GH-1", "!2", "::error::x"),
                *(
                    "##[error]x",
                    "\u202e",
                    "\x1b[2J",
                    "$`x`$",
                    "www.evil.com",
                    "/approve",
                    "a@b.org",
                ),
                *(
                    "# ",
                    "- ",
                    "1. ",
                    "> ",
                    "    ",
                    "\t",
                    "| a |\n|---|",
                    "&lt;",
                    "*",
                    "_",
                    "---",
                    "=",
                ),
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=6,
).map("".join)

PLACES = st.builds(Place, HOSTILE, st.none() | st.integers(1, 9), st.none(), st.none() | HOSTILE)
ROWS = st.builds(
    Row, HOSTILE, st.lists(st.tuples(HOSTILE, st.sampled_from(Style)), max_size=3).map(tuple)
)
FINDINGS = st.builds(
    Finding, st.just("k"), PLACES, HOSTILE, st.one_of(st.just(()), st.tuples(ROWS, ROWS))
)
TITLES = st.one_of(HOSTILE, st.just("Moved code"))
SECTIONS = st.builds(
    Section, TITLES, st.lists(FINDINGS, max_size=4).map(tuple), HOSTILE, aside=st.booleans()
)
REPORTS = st.builds(
    Report,
    st.just("certify"),
    st.sampled_from(Verdict),
    HOSTILE,
    st.lists(SECTIONS, max_size=2).map(tuple),
    st.lists(HOSTILE, max_size=2).map(tuple),
)
JUDGEMENTS = st.builds(Judgement, st.sampled_from([PROVED, FAULTY, UNREAD]), HOSTILE)
LINKS = st.builds(Link, st.just("0a" * 20), HOSTILE, st.none(), JUDGEMENTS)

_BLOCKS = {
    "heading",
    "paragraph",
    "bullet_list",
    "list_item",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
}
ALLOWED = {f"{block}_{end}" for block in (*_BLOCKS, "td", "strong") for end in ("open", "close")}
ALLOWED |= {"inline", "text", "code_inline", "fence", "softbreak"}
OURS = re.compile(r"<details><summary>[A-Za-z0-9 ,.;:?'()-]+</summary>\n|</details>\n?")
OPEN = re.compile(r"[A-Za-z0-9 ,.;:?'()✓✗!-]*")


def inert(page: str) -> None:
    for token in tokens(page):
        if token.type == "html_block":
            assert OURS.fullmatch(token.content)
        elif token.type == "text":
            assert OPEN.fullmatch(token.content)
            assert not re.search(r"[.:]\w|\w-\d", token.content)
        else:
            assert token.type in ALLOWED
            assert token.info in ("", "text", "diff")
    assert not re.search(r"(?m)^\s*::|^/|##\w*\[", page)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", page)
    assert len(page) <= 65_536


class TestHostileText:
    @given(REPORTS)
    def test_is_text_or_code_in_every_report(self, report: Report) -> None:
        page = to_markdown(report)
        inert(page)
        assert page.startswith("## repot certify: ")
        folds = [t.content[:3] for t in PARSER.parse(page) if t.type == "html_block"]
        assert folds == ["<de", "</d"] * (len(folds) // 2)

    @given(st.lists(LINKS, min_size=1, max_size=3))
    def test_is_text_or_code_in_a_chain(self, links: list[Link]) -> None:
        page = chain(*links)
        inert(page)
        headings = [t for t in PARSER.parse(page) if t.type == "heading_open"]
        assert len(headings) == 2

    @given(st.lists(LINKS, min_size=1, max_size=3))
    def test_leaves_each_commit_one_row(self, links: list[Link]) -> None:
        page = PARSER.parse(chain(*links))
        rows = sum(t.type in ("tr_open", "list_item_open") for t in page)
        heads = sum(t.type == "thead_open" for t in page)
        assert rows == len(links) + heads + 2  # the summary's two sentences

    @given(HOSTILE)
    def test_stays_whole_in_a_span(self, text: str) -> None:
        assert len(spans(f"x {code(text)} x")) == bool(text)


class TestPage:
    def test_the_verdict_comes_first_then_what_to_read(self) -> None:
        residual = Section(
            "Residual: not part of the move",
            (
                Finding(
                    "changed",
                    Place("till.py", 4),
                    "this statement was changed",
                    (
                        Row.of("", ["print(Money, pay)"], Style.REMOVED),
                        Row.of("", ["print(pay)"], Style.ADDED),
                    ),
                ),
            ),
        )
        moved = Section("Moved", (Finding("moved", Place("a.py", 1), "Money, from b.py:4"),))
        report = Report(
            "certify", Verdict.DIFFERS, "a .. b", (residual, moved), ("RESIDUAL: 1 place to read.",)
        )
        assert to_markdown(report) == (
            "## repot certify: ✗ it differs\n\n`a .. b`\n\n- RESIDUAL: 1 place to read.\n"
            "\n### Residual: not part of the move\n\n"
            "**`till.py:4`** this statement was changed\n\n"
            "```diff\n- print(Money, pay)\n+ print(pay)\n```\n"
            "\n### Moved\n\n"
            "| where | what |\n| --- | --- |\n| `a.py:1` | `Money, from b.py:4` |\n"
        )

    def test_a_refusal_shows_its_line_and_the_next_step(self) -> None:
        place = Place("split.toml", 3, 2, "ab = 1")
        page = to_markdown(refused("apply", Refusal("bad", "No.", next_step="Go on.", place=place)))
        assert "## repot apply: ? it could not be judged" in page
        assert "- Go on.\n" in page
        assert "        3 | ab = 1" in page

    @pytest.mark.parametrize("rows", [(), (Row.of("", ["x" * 300] * 90, Style.ADDED),)])
    def test_a_long_report_fits_a_comment_and_counts_what_it_leaves_out(self, rows: Any) -> None:
        findings = tuple(
            Finding("k", Place(f"f{n}.py", n + 1), "it is new", rows) for n in range(3000)
        )
        page = to_markdown(
            Report("certify", Verdict.DIFFERS, "a", (Section("Residual", findings),))
        )
        assert 50_000 < len(page) < 65_536
        shown = len(re.findall(r"`f\d+\.py:", page))
        assert f"{3000 - shown:,} findings left out for want of room" in page
        inert(page)

    def test_a_long_table_is_folded_unless_it_comes_first(self) -> None:
        section = Section("Moved", tuple(Finding("k", Place("a.py", n), "m") for n in range(1, 12)))
        page = to_markdown(Report("certify", Verdict.HOLDS, "a", (section, section)))
        assert page.count("<details><summary>Moved (11)</summary>") == 1
        assert page.index("### Moved") < page.index("<details>")

    def test_what_is_listed_to_be_looked_up_is_folded(self) -> None:
        findings = (Finding("k", Place("a.py", 1), "m"),)
        aside = Section("Derived", findings, aside=True)
        page = to_markdown(
            Report("certify", Verdict.HOLDS, "a", (Section("Moved", findings), aside))
        )
        assert "### Moved" in page
        assert "<details><summary>Derived (1)</summary>" in page

    def test_a_long_list_and_a_long_sentence_are_cut_and_counted(self) -> None:
        rows = (Row.of("receives", [f"name{n}" for n in range(5_000)]),)
        finding = Finding("k", Place("a.py", 1), "so many words " * 90_000, rows)
        page = to_markdown(Report("infer", Verdict.HOLDS, "a", (Section("Moves", (finding,)),)))
        assert "- `name99`\n- ... 4,900 more\n" in page
        assert len(page) < 5_000
