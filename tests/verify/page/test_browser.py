"""The page in a real browser: nothing runs or loads, all is reached by keyboard and can be read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.verify.histories import AFTER, BEFORE, History
from tests.verify.page.pages import HOSTILE, everywhere
from verify import cli
from verify.report.html import to_html

if TYPE_CHECKING:
    from tests.verify.page.browsing import Browser

pytestmark = pytest.mark.system

EDITED = {
    **AFTER,
    "till.py": AFTER["till.py"].replace("print(Money, pay)", "print(pay)"),
    "notes.txt": "Money moved.\n",
}
TAB, ENTER = "\ue004", "\ue007"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from tests.verify.page.browsing import browser

    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a review with all that one can hold."""
    folder = tmp_path_factory.mktemp("review")
    history, file = History(folder / "repo"), folder / "page.html"
    commits = f"{history.commit(BEFORE)}..{history.commit(EDITED)}"
    cli.run(["review", commits, "--repo", str(history.folder), "--html", str(file)])
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("hostile") / "page.html"
    file.write_text(to_html(everywhere(f"{HOSTILE}{'x' * 1_000_000}", 3)))
    return file


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.show()
    browser.open(page)
    return browser


@pytest.fixture(params=["page", "hostile"])
def either(request: pytest.FixtureRequest, browser: Browser) -> Browser:
    browser.said()
    browser.show()
    browser.open(request.getfixturevalue(request.param))
    return browser


def test_no_policy_is_violated_and_the_console_is_silent(either: Browser) -> None:
    assert either.said() == []
    assert either.ask("return getComputedStyle(document.querySelector('main')).display") == "block"
    assert either.ask("return document.styleSheets.length") == 1


def test_nothing_of_a_hostile_report_has_run(browser: Browser, hostile: Path) -> None:
    browser.open(hostile)
    assert "owned" not in browser.driver.title.split("=")[0]
    assert (
        browser.ask("return document.querySelectorAll('script, img, iframe, [onclick]').length")
        == 0
    )
    assert browser.ask("return document.querySelectorAll('[style]').length") == 0


def test_the_policy_is_in_force(opened: Browser) -> None:
    """What our own page never does is tried by hand: the browser must refuse it."""
    opened.said()
    opened.ask(
        "let s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s); document.body.setAttribute('style', 'color: red');"
        "let i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)"
    )
    assert opened.ask("return window.ran") is None
    assert sum("Content Security Policy" in words for words in opened.said()) == 3


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and remembers what was asked of it."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()


def test_a_server_is_asked_for_the_page_and_for_nothing_else(browser: Browser, page: Path) -> None:
    Quiet.asked.clear()
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(page.parent))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.requested()
            browser.open(f"http://127.0.0.1:{server.server_port}/page.html")
            browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
            sent = browser.requested()
        finally:
            server.shutdown()
            thread.join()
    assert Quiet.asked == ["/page.html"]
    assert [url for url in sent if not url.startswith("data:")] == [
        f"http://127.0.0.1:{server.server_port}/page.html"
    ]


def test_the_keyboard_reaches_and_unfolds_everything(opened: Browser) -> None:
    wanted = opened.ask(
        "let all = [...document.querySelectorAll('summary, a, input, [tabindex=\"0\"]')];"
        "all.forEach((e, n) => e.dataset.n = n); return all.length"
    )
    assert opened.ask("return document.querySelectorAll('details[open]').length") == 0
    reached: list[str] = []
    seen: set[str] = set()
    for _ in range(wanted + 2):
        opened.press(TAB)
        found = opened.ask(
            "let e = document.activeElement; return [e.dataset.n, e.tagName,"
            " e.matches(':focus-visible') && getComputedStyle(e).outlineStyle]"
        )
        if found[0] is None or found[0] in seen:
            break
        seen.add(found[0])
        reached.append(found[1])
        assert found[2] == "solid", found
        if found[1] == "SUMMARY":
            opened.press(ENTER)
    assert len(reached) == wanted
    assert reached[0] == "A"
    assert opened.ask("return document.querySelectorAll('details:not([open])').length") == 0


def test_the_first_link_skips_to_the_verdict(opened: Browser) -> None:
    opened.press(TAB)
    assert opened.ask("return document.activeElement.getBoundingClientRect().left >= 0")
    opened.press(ENTER)
    assert opened.ask("return document.activeElement.id") == "main"


HIDDEN = (
    "return [...document.querySelectorAll('details pre')]"
    ".map(e => e.checkVisibility({contentVisibilityAuto: true})).filter(shown => !shown).length"
)


def test_a_box_unfolds_everything_without_a_script(opened: Browser) -> None:
    folded = opened.ask(HIDDEN)
    assert folded == opened.ask("return document.querySelectorAll('details pre').length") > 0
    opened.ask("document.querySelector('#unfold').click()")
    opened.frame()
    assert opened.ask(HIDDEN) == 0
    opened.ask("document.querySelector('#unfold').click()")
    opened.frame()
    assert opened.ask(HIDDEN) == folded


CONTRAST = """
const channel = c => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = text => text.match(/[\\d.]+/g).map(Number);
const behind = e => {
  for (; e; e = e.parentElement) {
    if (e.namespaceURI.endsWith('svg') && e.tagName !== 'svg') continue;
    const back = parse(getComputedStyle(e).backgroundColor);
    if (back.length < 4 || back[3] === 1) return back;
  }
  return parse(getComputedStyle(document.body).backgroundColor);
};
const found = [];
document.querySelectorAll('details').forEach(d => d.open = true);
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || ['STYLE', 'title', 'desc'].includes(e.tagName)) continue;
  const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
  const fore = parse(svg ? style.fill : style.color), back = behind(e);
  const [high, low] = [light(fore), light(back)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < 4.5) found.push([e.tagName, String(e.className), ratio, e.textContent.slice(0, 40)]);
}
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_enough(opened: Browser, scheme: str) -> None:
    opened.show(scheme=scheme)
    assert opened.ask(CONTRAST) == []


def test_the_two_themes_differ(opened: Browser) -> None:
    ask = "return getComputedStyle(document.body).backgroundColor"
    colours = []
    for scheme in ("light", "dark"):
        opened.show(scheme=scheme)
        colours.append(opened.ask(ask))
    assert colours == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_on_paper_all_is_unfolded_and_dark_is_light(opened: Browser) -> None:
    opened.show(scheme="dark", media="print")
    folded = (
        "return [...document.querySelectorAll('details pre')].filter("
        "e => !e.checkVisibility({contentVisibilityAuto: true})"
        " || e.getBoundingClientRect().height < 10).length"
    )
    assert opened.ask("return document.querySelectorAll('details:not([open]) pre').length") > 0
    assert opened.ask(folded) == 0
    assert opened.ask("return getComputedStyle(document.body).color") == "rgb(28, 33, 40)"
    hidden = "return getComputedStyle(document.querySelector('.unfold')).display"
    assert opened.ask(hidden) == "none"


@pytest.mark.parametrize("width", [320, 500, 768])
def test_no_page_is_wider_than_its_window(either: Browser, width: int) -> None:
    either.show(width=width)
    either.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert either.ask("return document.documentElement.scrollWidth") <= width


def test_text_in_the_picture_stays_in_it(either: Browser) -> None:
    beyond = either.ask(
        "let svg = document.querySelector('svg[viewBox]'), box = svg.viewBox.baseVal;"
        "return [...svg.querySelectorAll('text')].map(t => t.getBBox()).filter("
        "b => b.x < 0 || b.x + b.width > box.width || b.y + b.height > box.height).length"
    )
    assert beyond == 0
