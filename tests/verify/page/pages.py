"""Reading a page as a browser would: its elements and what they say."""

from __future__ import annotations

from html.parser import HTMLParser

from transforms.errors import Place
from verify.report.exhibits import Excerpt, Figure, Flow, Sides, Text
from verify.report.report import Finding, Report, Row, Section, Style, Verdict

HOSTILE = (
    "</style></script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    '" onclick="x" javascript:alert(1) \u202egnp\u202c\u200b\x1b[31m\r\n&lt;b&gt;]]>--><!--'
)
TAGS = {
    "html", "head", "meta", "link", "title", "style", "body", "header", "main", "nav", "section",
    "footer", "h1", "h2", "p", "a", "ul", "li", "div", "span", "label", "input", "details",
    "summary", "pre", "code", "i", "ins", "del", "table", "caption", "thead", "tbody", "tr", "th",
    "td", "wbr", "svg", "desc", "rect", "path", "text",
}  # fmt: skip


class Read(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self._raw = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._raw = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if self._raw:
            self.style += data
        else:
            self.text += data

    def attributes(self, tag: str, name: str) -> list[str | None]:
        return [found[name] for other, found in self.tags if other == tag and name in found]


def everywhere(text: str, lines: int = 1) -> Report:
    """A report that has a text in each place that can hold one."""
    file = Text(f"{text}.py", (text,) * lines)
    excerpt = Excerpt.of(file, 1, lines)
    place = Place(text, 1, 1, text)
    rows = (
        Row.of(text, (text, text)),
        Row.of(text, (text,), Style.BAD),
        Row.of(text, (text,), Style.REMOVED),
        Row.of(text, (text,), Style.ADDED, excerpt),
    )
    found = Finding(text, place, text, rows, share=(1, 2))
    moved = Finding(text, place, text, sides=Sides(excerpt, excerpt))
    return Report(
        command="review",
        verdict=Verdict.DIFFERS,
        headline=text,
        sections=(
            Section(text, (found,), text),
            Section(text, (found,), drawn=True),
            Section(text, (moved,), text, aside=True),
            Section(text, (found,) * 20, text, aside=True),
        ),
        summary=(text, text),
        lead=(text, text),
        figure=Figure((Flow(text, f"{text}/b.py", (text, text), 9),), frozenset(), (text, text)),
    )
