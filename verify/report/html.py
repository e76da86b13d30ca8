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
    shortened,
)

_WORDS = {
    Verdict.HOLDS: "✓ It holds",
    Verdict.DIFFERS: "✗ To be read",
    Verdict.UNJUDGED: "? Not judged",
    Verdict.FAULT: "! A fault of Repot",
}
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
        return element(
            "body",
            element("a", "Skip to the verdict", href="#main", class_="skip-link"),
            element("header", element("p", f"repot {self.report.command}", class_="what")),
            element(
                "main",
                self._verdict(),
                _navigation(sections),
                _unfold() if any(_has_folds(section) for section in sections) else None,
                *parts,
                *_closing(summary),
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
        sentences.sort(key=lambda sentence: not _VERDICT.match(sentence))
        title, *rest = sentences or [_WORDS[report.verdict]]
        return element(
            "section",
            element("p", _WORDS[report.verdict], class_="mark"),
            element("h1", title, id="verdict"),
            *(element("p", sentence) for sentence in rest),
            element("p", element("code", one_line(report.headline))),
            class_=f"verdict {report.verdict.value}",
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
        has_code = any(_mark(row) for finding in section.findings for row in finding.rows)
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
        parts += self._rows(finding)
        return element("li", *parts)

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
        columns = []
        for what, excerpt, lines in (
            ("Before", sides.old, before),
            ("After", sides.new, after),
        ):
            at = f"{one_line(excerpt.text.path)}:{excerpt.numbers[0] if excerpt.numbers else 1}"
            caption = element("p", f"{what}: ", element("code", at), class_="quiet")
            columns.append(element("div", caption, block(lines, f"{what}, {at}")))
        return element(
            "details",
            element(
                "summary",
                shortened(one_line(finding.message), _TITLE),
                element("span", "now at ", element("code", one_line(str(finding.place)))),
            ),
            element("div", *columns, class_="two"),
            class_="sides",
        )


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
        yield f"{' ' if where else ''}{one_line(finding.message)}"
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
    """Put the picture after what is to be read."""
    drawn = [section for section in sections if section.drawn]
    others = [section for section in sections if not section.drawn]
    first = [section for section in others if not section.aside]
    return [*first, *drawn, *(section for section in others if section.aside)]


def _is_folded(section: Section) -> bool:
    """Whether a section stays closed until it is looked up; what has folds inside stays open."""
    has_sides = any(finding.sides for finding in section.findings)
    return section.aside and len(section.findings) > _ASIDE and not has_sides


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


def _closing(summary: tuple[str, ...]) -> list[Element]:
    if not summary:
        return []
    sentences = [element("p", one_line(text)) for text in summary]
    title = element("h2", "In sum", id="sum")
    return [element("section", title, *sentences, aria_labelledby="sum")]
