"""The report as one page that needs nothing else, runs nothing and loads nothing.

Its content policy allows one thing: the style below, by its digest. Scripts are forbidden, our own
as well, so the page folds, unfolds and prints by what HTML and CSS can do.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from xml.etree.ElementTree import Element

from transforms.errors import Place
from verify.report import page
from verify.report.decision import NO_CLAIM, Level
from verify.report.exhibits import Sides
from verify.report.page.code import Line, Painter, block
from verify.report.page.elements import Child, element, one_line, written
from verify.report.page.figure import picture
from verify.report.report import (
    SIGNS,
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    path_words,
    shortened,
    with_paths,
)

_WORDS = {
    Verdict.HOLDS: "✓ It holds",
    Verdict.DIFFERS: "✗ It differs",
    Verdict.UNJUDGED: "? Not judged",
    Verdict.FAULT: "! A fault of Repot",
}
_TO_READ = {Level.GREEN: "✓ Nothing to read", Level.AMBER: "To read", Level.RED: "✗ It breaks"}
_MOST_FINDINGS = 1_000  # of one section
_MOST_VALUES = 400  # of one row
_MOST_LINES = 20_000  # of code that is no moved code, on one page
_ASIDE = 12  # findings of a section that is listed to be looked up, before it is folded
_TITLE = 200  # characters
_VERDICT = re.compile(r"[A-Z]{3,}\b")  # a sentence that is one begins so: `GREEN: ...`


def to_html(report: Report) -> str:
    """Render for a browser: ASCII alone, the same bytes for the same report."""
    style = files(page).joinpath("page.css").read_text(encoding="ascii")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = shortened(one_line(f"repot {report.command}: {report.headline}"), _TITLE)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),  # else a browser asks a server for one
        element("title", title),
        _raw("style", style),
    )
    return written(element("html", head, _Page(report).body(), lang="en"))


def _raw(tag: str, text: str) -> Element:
    """Our own text as it is: a digest stands for its bytes."""
    made = Element(tag)
    made.text = text
    return made


class _Page:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.painter = Painter()
        self.room = _MOST_LINES

    def body(self) -> Element:
        sections = _ordered(self.report.sections)
        parts = [self._section(index, section) for index, section in enumerate(sections, 1)]
        summary = self.report.summary if self.report.lead else ()
        # What is decided is read from above, without a list of all that is folded below it.
        is_decided = self.report.decision is not None
        folded = (n for n, section in enumerate(sections) if section.closed or not is_decided)
        first_folded = next(folded, len(parts))
        return element(
            "body",
            element("a", "Skip to the verdict", href="#main", class_="skip-link"),
            element("header", *_about(self.report)),
            element(
                "main",
                self._verdict(),
                None if is_decided else _navigation(sections),
                *parts[:first_folded],
                _unfold() if any(_has_folds(section) for section in sections) else None,
                *parts[first_folded:],
                *_closing(summary, folded=is_decided),
                id="main",
                tabindex="-1",
            ),
            element(
                "footer",
                "Written by Repot. This page is complete in itself: it loads nothing and runs "
                "nothing. The verdict is what the command said when it wrote the page; run it "
                "again to be sure of it.",
            ),
        )

    def _verdict(self) -> Element:
        report = self.report
        sentences = [one_line(text) for text in report.lead or report.summary]
        if report.decision is None:
            sentences.sort(key=lambda sentence: not _VERDICT.match(sentence))
        title, *rest = sentences or [_mark_words(report)]
        headline = None
        if report.decision is None:
            headline = element("p", element("code", one_line(report.headline)))
        return element(
            "section",
            element("p", _mark_words(report), class_="mark"),
            element("h1", title, id="verdict"),
            *(element("p", *_spoken(sentence)) for sentence in rest),
            headline,
            class_=f"verdict {report.level.value}",
            aria_labelledby="verdict",
        )

    def _section(self, index: int, section: Section) -> Element:
        name = f"s{index}"
        title = element("h2", one_line(section.title or "Details"), id=name)
        content = list(self._content(section))
        if _is_folded(section):
            count = element("span", f" {len(section.findings):,}", class_="quiet")
            whole: Element = element(
                "details", element("summary", title, count), *content, class_="part"
            )
        else:
            whole = element("section", title, *content, class_=self._section_class(section))
        whole.set("aria-labelledby", name)
        return whole

    def _section_class(self, section: Section) -> str:
        """Tell code that is to be read from what is merely listed."""
        listed = section.aside or section.drawn or self.report.verdict is Verdict.HOLDS
        has_code = any(
            finding.hunks or any(map(_mark, finding.rows)) for finding in section.findings
        )
        return "section" if listed or not has_code else "section read"

    def _content(self, section: Section) -> Iterator[Element]:
        if section.drawn and self.report.figure is not None:
            yield picture(self.report.figure)
            return
        shown = section.findings[:_MOST_FINDINGS]
        if shown:
            yield element("ul", *(self._finding(item) for item in shown), class_="findings")
        if len(section.findings) > len(shown):
            yield element("p", f"... {len(section.findings) - len(shown):,} more", class_="quiet")
        if section.total:
            yield element("p", one_line(section.total), class_="total")

    def _finding(self, finding: Finding) -> Element:
        if finding.sides is not None:
            return element("li", self._sides(finding, finding.sides))
        head = [*_head(finding)]
        parts: list[Child] = [element("p", *head)] if head else []
        if finding.place.excerpt:
            parts.append(self._excerpt(finding.place))
        parts += self._hunks(finding)
        parts += self._rows(finding)
        return element("li", *parts)

    def _hunks(self, finding: Finding) -> Iterator[Element]:
        """The lines that it is about, each stretch in a block, below its path."""
        for path, hunk in with_paths(finding):
            if path:
                yield element("p", element("code", one_line(path), class_="place"))
            head = hunk.head if hunk.old_span or hunk.new_span else ""
            lines = [Line("@", None, (("", head),))] if head else []
            where = Place(path_words(hunk), hunk.line)
            yield self._block([*lines, *self.painter.hunk(hunk)], where)

    def _excerpt(self, place: Place) -> Element:
        lines = self.painter.values([shortened(place.excerpt or "")], " ")
        return block(lines, f"The line at {one_line(str(place))}")

    def _rows(self, finding: Finding) -> Iterator[Element]:
        """What belongs to a finding: code that goes and comes stands in one block."""
        for is_code, run in groupby(finding.rows, key=lambda row: bool(_mark(row))):
            if not is_code:
                for row in run:
                    yield from _listed(row)
                continue
            lines: list[Line] = []
            for row in run:
                if row.label and lines:
                    yield self._block(lines, finding.place)
                    lines = []
                if row.label:
                    yield element("p", one_line(row.label), class_="label-of-row")
                lines += self._code(row)
            yield self._block(lines, finding.place)

    def _block(self, lines: list[Line], place: Place) -> Element:
        """A block of code, while the page has room for more."""
        shown = lines[: self.room]
        if len(shown) < len(lines):
            words = f"... {counted(len(lines) - len(shown), 'line')}, left out: git shows them"
            shown.append(Line("", None, (("", words),)))
        self.room = max(0, self.room - len(lines))
        return block(shown, f"Code at {one_line(str(place))}")

    def _code(self, row: Row) -> list[Line]:
        if row.excerpt is not None:
            return self.painter.lines(row.excerpt, _mark(row))
        lines: list[Line] = []
        for style, run in groupby(row.values, key=lambda value: value[1]):
            lines += self.painter.values([text for text, _ in run], SIGNS.get(style, " "))
        return lines

    def _sides(self, finding: Finding, sides: Sides) -> Element:
        before, after = self.painter.sides(sides)
        shown = [("Before", sides.old, before), ("After", sides.new, after)]
        if sides.alike:  # what is the same on both sides is shown once
            shown = [("The same on both sides; lines as they are now", sides.new, after)]
        columns = []
        for what, excerpt, lines in shown:
            at = f"{one_line(excerpt.text.path)}:{excerpt.numbers[0] if excerpt.numbers else 1}"
            caption = element("p", what, class_="quiet")
            columns.append(element("div", caption, block(lines, f"{what}, {at}")))
        return element(
            "details",
            element("summary", shortened(one_line(finding.message), _TITLE), _now_at(finding)),
            element("div", *columns, class_="one" if sides.alike else "two"),
            class_="sides",
        )


def _has_changes(finding: Finding) -> bool:
    marks = (row.mark for hunk in finding.hunks for row in hunk.rows)
    return any(mark != " " for mark in marks) or any(map(_mark, finding.rows))


def _about(report: Report) -> Iterator[Element]:
    """The first line of the page: what the change says of itself, or what was asked."""
    made = report.decision
    if made is None:
        yield element("p", f"repot {report.command}", class_="what")
        return
    about = made.about
    yield element("p", one_line(about.subject or "A change"), class_="subject")
    words = [f"by {about.author}"] if about.author else []
    words += [f"in {about.repository}"] if about.repository else []
    yield element("p", one_line(", ".join(words)), class_="what")


def _mark_words(report: Report) -> str:
    if report.verdict is Verdict.HOLDS and report.data.get("colour") == NO_CLAIM:
        return "No commit claims a move"
    if report.decision is None and report.level is not Level.AMBER:
        return _WORDS[report.verdict]
    if report.verdict is Verdict.UNJUDGED:
        return _WORDS[report.verdict]
    made = report.decision
    if made is not None and made.level is Level.RED and not made.breaking:
        return "✗ Not what it claims to be"
    return _TO_READ[report.level]


def _spoken(sentence: str) -> list[Child]:
    """A sentence of ours, with what stands in backticks as code."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return [sentence]
    return [element("code", part) if index % 2 else part for index, part in enumerate(parts)]


def _now_at(finding: Finding) -> Element | None:
    where = one_line(str(finding.place))
    return element("span", "now at ", element("code", where)) if where else None


def _mark(row: Row) -> str:
    """The sign that a row of code begins with; empty for any other."""
    return SIGNS.get(row.values[0][1], "") if row.values else ""


def _listed(row: Row) -> Iterator[Element]:
    if row.label:
        yield element("p", one_line(row.label), class_="label-of-row")
    shown = row.values[:_MOST_VALUES]
    items = [
        element("li", one_line(text), class_="bad" if style is Style.BAD else None)
        for text, style in shown
    ]
    if len(row.values) > len(shown):
        items.append(element("li", f"... {len(row.values) - len(shown):,} more"))
    if items:
        yield element("ul", *items, class_="values")


def _head(finding: Finding) -> Iterator[Child]:
    """The line of a finding: where, what, and how much."""
    where = one_line(str(finding.place))
    if where:
        yield element("code", where, class_="place")
    if finding.message:
        yield " " if where else ""
        yield from _spoken(one_line(finding.message))
    if finding.share is not None:
        yield _share(*finding.share)


def _share(part: int, whole: int) -> Element:
    """A bar: how much of something."""
    filled = round(1_000 * part / whole) if whole else 0
    return element(
        "svg",
        element("rect", width=1_000, height=10, class_="all"),
        element("rect", width=filled, height=10, class_="part"),
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        class_="share",
        role="img",
        aria_label=f"{part:,} of {whole:,}",
    )


def _ordered(sections: tuple[Section, ...]) -> list[Section]:
    """Put the picture after what is to be read, and behind it what is looked up."""
    drawn = [section for section in sections if section.drawn]
    others = [section for section in sections if not section.drawn]
    first = [section for section in others if not section.aside]
    return [*first, *drawn, *(section for section in others if section.aside)]


def _is_folded(section: Section) -> bool:
    """Whether a section stays closed until it is looked up; what has folds inside stays open."""
    has_sides = any(finding.sides for finding in section.findings)
    return section.closed or (section.aside and len(section.findings) > _ASIDE and not has_sides)


def _has_folds(section: Section) -> bool:
    return _is_folded(section) or any(finding.sides for finding in section.findings)


def _unfold() -> Element:
    box = element("input", type="checkbox", id="unfold")
    return element("p", element("label", box, " Unfold everything"), class_="unfold")


def _navigation(sections: list[Section]) -> Element | None:
    if len(sections) < 2:
        return None
    items = []
    for index, section in enumerate(sections, 1):
        count = "" if section.drawn else f" ({len(section.findings):,})"
        link = element("a", one_line(section.title or "Details"), href=f"#s{index}")
        items.append(element("li", link, count))
    return element("nav", element("ul", *items), aria_label="On this page")


def _closing(summary: tuple[str, ...], *, folded: bool) -> list[Element]:
    if not summary:
        return []
    sentences = [element("p", one_line(text)) for text in summary]
    title = element("h2", "In sum", id="sum")
    if folded:
        whole = element("details", element("summary", title), *sentences, class_="part")
        whole.set("aria-labelledby", "sum")
        return [whole]
    return [element("section", title, *sentences, aria_labelledby="sum")]
