"""What Python tells apart is never certified: on generated pairs, with Python as the judge.

`python -m benchmarks.verify.generated --seed N --pairs 1 --show all` prints a pair with all that is
said of it. Whoever changes the grammar draws other pairs: a failure that he finds is mended, or
stands in `UNMENDED` with its kind until it is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.documents import ROOT
from tests.verify.generated.judge import Judge
from tests.verify.generated.pairs import KINDS, Pair, pair
from tests.verify.generated.running import entries, modules
from tests.verify.kernel.trees import explain, judge
from verify.kernel import CERTIFIED
from verify.kernel.behaviour import BLANKED, blank

PAIRS, BATCH = 300 if os.environ.get("CI") else 100, 50
# Pairs that are certified though they behave differently, by kind.
UNMENDED: dict[int, str] = {}


@pytest.fixture(scope="module")
def python() -> Iterator[Judge]:
    with Judge() as started:
        yield started


def fault(one: Pair, python: Judge) -> str:
    """Say what a verdict gets wrong; Python is asked of what is certified only."""
    found = judge(one.base, one.target)
    if found.verdict != CERTIFIED:
        return ""
    seen = python.compare(one.base, one.target)
    return f"{one}\n{explain(found)}\n{seen.where}" if seen.differs else ""


@pytest.mark.parametrize("first", range(0, PAIRS, BATCH))
def test_nothing_is_certified_that_behaves_differently(first: int, python: Judge) -> None:
    seeds = [seed for seed in range(first, first + BATCH) if seed not in UNMENDED]
    faults = [fault(pair(seed), python) for seed in seeds]
    assert not any(faults), "\n\n".join(filter(None, faults))


def test_what_is_mended_is_no_longer_listed(python: Judge) -> None:
    assert [seed for seed in UNMENDED if not fault(pair(seed), python)] == []


def test_a_pair_is_the_same_for_the_same_seed() -> None:
    assert pair(3) == pair(3)
    assert pair(3) != pair(12)


def test_every_kind_is_drawn() -> None:
    assert Counter(pair(seed).kind for seed in range(18)) == dict.fromkeys(KINDS, 2)


BASE = {"a.py": "def f():\n    return 1\n", "b.py": "from a import f\n\nprint(f())\n"}
TELLS = {
    "what is printed": {"b.py": "from a import f\n\nprint(2)\n"},
    "how it ends": {"b.py": "from a import g\n\nprint(g())\n"},
    "a body that nobody calls": {"a.py": "def f(x=1):\n    return 2\n", "b.py": "print(1)\n"},
}
KEEPS = {
    "a line more": {"a.py": "# A note.\n\n\ndef f():\n    return 1\n"},
    "another file": {"a.py": "from c import f\n", "c.py": "def f():\n    return 1\n"},
}


@pytest.mark.parametrize("change", TELLS.values(), ids=TELLS)
def test_python_tells_two_trees_apart_by(change: dict[str, str], python: Judge) -> None:
    base = {**BASE, "b.py": "print(1)\n"} if "print(1)\n" in change.values() else BASE
    assert python.compare(base, {**base, **change}).differs


@pytest.mark.parametrize("change", KEEPS.values(), ids=KEEPS)
def test_python_does_not_mind(change: dict[str, str], python: Judge) -> None:
    seen = python.compare(BASE, {**BASE, **change})
    assert not seen.differs, seen.where
    assert seen.sound == len(entries(BASE, BASE))


LAZY = """import importlib

TABLE = {"f": "a"}


def __getattr__(name):
    if name in TABLE:
        return getattr(importlib.import_module(TABLE[name]), name)
    raise AttributeError(name)
"""
GIVES = {"a.py": "def f():\n    return 1\n", "p.py": LAZY}


def test_python_tells_what_a_module_gives_from_what_its_table_says(python: Judge) -> None:
    follows = {"a.py": "", "b.py": GIVES["a.py"], "p.py": LAZY.replace('"a"', '"b"')}
    assert not python.compare(GIVES, {**GIVES, **follows}).differs
    for table in ('{"f": "b"}', "{}", '{"f": "a", "g": "b"}'):
        other = LAZY.replace('{"f": "a"}', table)
        two = {**GIVES, "b.py": "def f():\n    return 2\n\n\ndef g():\n    return 3\n"}
        assert python.compare(two, {**two, "p.py": other}).differs


def test_modules_and_entries_are_found() -> None:
    tree = {"src/p/__init__.py": "", "src/p/a.py": "", "main.py": "", "tests/test_a.py": ""}
    assert modules(tree) == ["p", "p.a"]
    assert (("pytest", ""),) in [entry for entry, _ in entries(tree, tree)]


PRINTED = {
    "<class 'shop.orders.Money'>": "<class 'Money'>",
    "<shop.orders.Money object at 0x7f01>": "<Money object at >",
    "cannot import name 'f' from 'a' (/tmp/x/a.py)": "cannot import name 'f' from 'a' ()",
    "syntax error, line 12": "syntax error, line ",
    "<function Money.total at 0x7f01>": "<function total at >",
}


@pytest.mark.parametrize("text", PRINTED)
def test_what_is_no_behaviour_is_blanked(text: str) -> None:
    assert blank(text) == PRINTED[text]


def test_the_page_lists_what_is_blanked() -> None:
    page = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")
    for one in BLANKED:
        assert f"| {one.name} | {one.why} |" in page
