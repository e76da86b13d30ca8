"""Nine reviews in a real browser, at two widths, light and dark: order, context and overflow.

Made ones are always there; public commits are read where REPOT_HISTORIES names their clones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from tests.verify.page.test_browser import CONTRAST
from verify import cli

if TYPE_CHECKING:
    from tests.verify.page.browsing import Browser

pytestmark = pytest.mark.system

Files = Mapping[str, str]
NAMED = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
CALLS = "def rate():\n    return 1\n\n\ndef total():\n    return rate()\n"
PATCH = (
    "from unittest import mock\n\nfrom shop.orders import Money\n\n\ndef test_it():\n"
    '    with mock.patch("shop.orders.decimal"):\n        assert Money().cent()\n'
)
USES = "import decimal\n\n\nclass Money:\n    def cent(self):\n        return decimal.Decimal(1)\n"
PAYS = "\n\ndef pay():\n    return 'paid'\n"
EDITED = AFTER["till.py"].replace("print(Money, pay)", "print(pay)")


@dataclass(frozen=True)
class Change:
    """A change, and what its page must come to."""

    before: Files
    after: Files
    level: str
    message: str = "Move Money"


FOLDER = "services/of_the_whole_company/with_a_name_that_is_longer_than_any_window_of_a_telephone"
NAME = "AClassWhoseNameIsLongerThanAnyLineOfAnyWindowOfAnyTelephoneThatAnybodyHas"
CHANGES = {
    "a plan that is named": Change(
        {**BEFORE, PLAN_PATH: PLAN}, {**AFTER, PLAN_PATH: PLAN}, "green", NAMED
    ),
    "a plan that is found": Change(BEFORE, AFTER, "green"),
    "names longer than the window": Change(
        {
            f"{FOLDER}/everything.py": f"class {NAME}:\n    size = 1\n\n\nx = 1\n",
            f"{FOLDER}/__init__.py": "",
        },
        {
            f"{FOLDER}/everything.py": "x = 1\n",
            f"{FOLDER}/__init__.py": "",
            f"{FOLDER}/another_home_for_it.py": f"class {NAME}:\n    size = 1\n",
        },
        "green",
    ),
    "a docstring that was edited": Change(
        {**BEFORE, "till.py": f'"""A till."""\n\n{BEFORE["till.py"]}'},
        {**AFTER, "till.py": f'"""The till."""\n\n{AFTER["till.py"]}'},
        "amber",
    ),
    "a file that is no Python": Change(BEFORE, {**AFTER, "notes.txt": "Moved.\n"}, "amber"),
    "an edit that breaks": Change(BEFORE, {**AFTER, "till.py": EDITED}, "red"),
    "a helper that is captured": Change(
        {"shop/a.py": CALLS, "shop/b.py": "def rate():\n    return 2\n",
         "main.py": "from shop.a import total\n\nprint(total())\n"},
        {"shop/a.py": CALLS[:26].rstrip() + "\n", "main.py":
         "from shop.b import total\n\nprint(total())\n",
         "shop/b.py": "def rate():\n    return 2\n\n\ndef total():\n    return rate()\n"},
        "red",
    ),
    "a patch that is dead": Change(
        {"shop/__init__.py": "", "shop/orders.py": USES + PAYS, "test_it.py": PATCH},
        {"shop/__init__.py": "", "shop/orders.py": f"import decimal  # noqa: F401\n{PAYS}",
         "shop/money.py": USES, "test_it.py": PATCH.replace("from shop.orders", "from shop.money")},
        "red",
    ),
    "a claim that is false": Change(BEFORE, AFTER, "red", NAMED),
}  # fmt: skip
PUBLIC = {
    "pip, grid-wrapped imports": ("pypa-pip.git", "fc618bf3b1"),
    "httpx, relative imports": ("encode-httpx.git", "d07c4b4407"),
    "optuna, one name a line": ("optuna-optuna.git", "193c18d0ff"),
    "qutebrowser, qualified calls": ("qutebrowser-qutebrowser.git", "30570a5cad"),
    "pytest, into a package": ("pytest-dev-pytest.git", "d33da078a8"),
    "pytest, no last line end": ("pytest-dev-pytest.git", "3ba475c0f2"),
    "SGLang, 4/N, no move": ("bytedance-iaas-sglang.git", "e57323cae9"),
    "SGLang, 5/N": ("bytedance-iaas-sglang.git", "ff1fc1fbdf"),
    "SGLang, 9/N": ("bytedance-iaas-sglang.git", "8ff9c2b227"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from tests.verify.page.browsing import browser

    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(params=list(CHANGES.values()), ids=list(CHANGES), scope="module")
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    change: Change = request.param
    folder = tmp_path_factory.mktemp("review")
    history, file = History(folder / "shop"), folder / "page.html"
    commits = f"{history.commit(change.before)}..{history.commit(change.after, change.message)}"
    cli.run(["review", commits, "--repo", str(history.folder), "--html", str(file)])
    return file, change.level


@pytest.fixture(params=list(PUBLIC.values()), ids=list(PUBLIC), scope="module")
def public(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository, commit = request.param
    file = tmp_path_factory.mktemp("review") / "page.html"
    repo = Path(os.environ["REPOT_HISTORIES"]) / repository
    cli.run(["review", f"{commit}^..{commit}", "--repo", str(repo), "--html", str(file)])
    return file


# Where the parts of the page stand, from above; those that it has.
ORDER = """
const top = q => { const e = document.querySelector(q); return e && e.getBoundingClientRect().top };
const heading = text => [...document.querySelectorAll('h2')].find(h => h.textContent === text);
const at = text => { const h = heading(text); return h && h.getBoundingClientRect().top };
const drawn = [...document.querySelectorAll('.drawn, .stacked')].find(e => e.checkVisibility());
return [top('.subject'), top('.what'), top('h1'), at('To read'), at('The plan'),
        drawn && drawn.getBoundingClientRect().top, top('details.part')].filter(y => y != null);
"""
# Words of a table that stand on two lines though they would fit on one.
BROKEN = """
const found = [];
for (const code of document.querySelectorAll('td code, .filebox code')) {
  for (const node of code.childNodes) {
    if (node.nodeType !== 3) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
    const width = [...range.getClientRects()].reduce((sum, r) => sum + r.width, 0);
    if (lines.size > 1 && !node.data.includes(' ') &&
        width <= code.parentElement.clientWidth) found.push(node.data);
  }
}
return found;
"""
# Blocks of what is to be read: but for what a plan gives beside what the target has, each a hunk.
CONTEXT = """
const blocks = [...document.querySelectorAll('.section.read pre')].filter(
  pre => pre.querySelector('ins, del') &&
         (pre.querySelector('.hunk') || pre.querySelector('ins')) &&
         !(pre.previousElementSibling || pre).matches('.label-of-row'));
return blocks.map(pre => [
  pre.querySelectorAll('.l').length, pre.querySelectorAll('ins, del').length,
  pre.querySelector('.hunk') !== null, pre.textContent.slice(0, 80)]);
"""


def check(browser: Browser, page: Path) -> None:
    """What holds of every page."""
    for width in (1200, 500):
        for scheme in ("light", "dark"):
            browser.show(scheme=scheme, width=width)
            browser.open(page)
            order = browser.ask(ORDER)
            assert len(order) >= 4
            assert order == sorted(order)
            for unfolded in (False, True):
                if unfolded:
                    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
                assert browser.ask("return document.documentElement.scrollWidth") <= width
                assert browser.ask(BROKEN) == []
            stacked = "return document.querySelector('.stacked').checkVisibility()"
            if browser.ask("return document.querySelector('.stacked') !== null"):
                assert browser.ask(stacked) is (width == 500)
            assert browser.ask(CONTRAST) == []
    for lines, marked, has_head, text in browser.ask(CONTEXT):
        assert has_head, text
        assert lines >= marked > 0


def test_a_made_change_is_shown_in_order_and_fits(browser: Browser, made: tuple[Path, str]) -> None:
    page, level = made
    check(browser, page)
    assert browser.ask("return document.querySelector('.verdict').className") == f"verdict {level}"
    text = browser.ask("return document.querySelector('.verdict').textContent")
    assert ("Nothing to read" in text) is (level == "green")
    assert ("\u2717" in text) is (level == "red")
    assert browser.ask("return document.querySelectorAll('details[open]').length") > 0


@pytest.mark.history
def test_a_public_change_is_shown_in_order_and_fits(browser: Browser, public: Path) -> None:
    check(browser, public)
