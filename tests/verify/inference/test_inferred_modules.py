"""`repot infer` finds modules and packages that moved whole, and names each as a person would."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.transforms.case import MemoryTree
from tests.verify.histories import History
from transforms import engine
from transforms.reading.load import parse_plan
from transforms.result.changes import REGULAR, Blob
from transforms.tree import GitTree
from verify.inference.infer import Inferred, infer

BEFORE = {
    "shop/__init__.py": "",
    "shop/orders.py": (
        '"""Orders; see `shop.orders`."""\n\nimport logging\n\nfrom .money import round2\n\n'
        "logger = logging.getLogger(__name__)\n\n\ndef total(orders):\n"
        "    return sum(round2(order) for order in orders)\n\n\n"
        'if __name__ == "__main__":\n    print(total([]))\n'
    ),
    "shop/money.py": "def round2(x):\n    return round(x, 2)\n",
    "shop/parts/__init__.py": "from shop.parts.one import ONE\n",
    "shop/parts/one.py": "ONE = 1\n",
    "shop/parts/names.txt": "one\n",
    "shop/import_rows.py": "def rows():\n    return 1\n",
    "shop/import_tokens.py": (
        "from shop.import_rows import rows\n\n\ndef tokens():\n    return rows()\n"
    ),
    "shop/import_types.py": "class Types:\n    pass\n",
    "till.py": (
        "from shop import orders\nfrom shop.import_tokens import tokens\n"
        "from shop.parts import ONE\n\n\ndef run():\n    return orders.total([ONE, tokens()])\n"
    ),
}
PLANS = {
    "a module": (
        '[[package]]\nmodule = "shop.sales"\nexports = []\n\n'
        '[[move]]\nmodule = "shop.orders"\nto = "shop.sales.orders"\n'
    ),
    "a module that becomes a package": (
        '[[move]]\npath = "shop/orders.py"\nto = "shop/orders/__init__.py"\n'
    ),
    "two that import each other": (
        '[[move]]\nmodule = "shop.money"\nto = "shop.coins"\n\n'
        '[[move]]\nmodule = "shop.orders"\nto = "shop.bills"\n'
    ),
    "a package with its data": '[[move]]\nmodule = "shop.parts"\nto = "pieces"\n',
    "a folder of modules by pattern": (
        '[[package]]\nmodule = "shop.imports"\nexports = []\n\n'
        '[[move]]\npath = "shop/import_*.py"\nto = "shop/imports/*.py"\n'
    ),
    "one that warns at the old path": (
        '[[move]]\nmodule = "shop.orders"\nto = "shop.bills"\nold = "warn"\n'
    ),
    "one that hands on at the old path": (
        '[[move]]\nmodule = "shop.money"\nto = "shop.coins"\nold = "reexport"\n'
    ),
}


def given(files: Mapping[str, str], plan: str) -> dict[str, str]:
    """The files that a plan gives."""
    tree = MemoryTree({path: Blob(text.encode(), REGULAR) for path, text in files.items()})
    outcome = engine.apply(parse_plan(f"format = 1\n\n{plan}".encode(), "plan.toml"), tree)
    after = dict(files)
    for path, blob in outcome.changes.after().items():
        after.pop(path, None)
        if blob is not None:
            after[path] = blob.data.decode()
    return after


def inferred(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Inferred:
    history = History(folder)
    base, target = history.commit(before), history.commit(after)
    return infer(GitTree(folder, base), GitTree(folder, target))


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_found_again(name: str, tmp_path: Path) -> None:
    found = inferred(tmp_path, BEFORE, given(BEFORE, PLANS[name]))
    assert found.replay.reproduces
    assert found.plan.authored_lines == 0
    assert found.text.startswith("format = 2\n")
    tables = sorted(PLANS[name].strip().split("\n\n"))
    assert sorted(found.text.strip().split("\n\n")[-len(tables) :]) == tables


def test_what_else_was_changed_is_authored(tmp_path: Path) -> None:
    after = given(BEFORE, PLANS["a module"])
    after["shop/sales/orders.py"] += "\n\ndef more():\n    return 3\n"
    found = inferred(tmp_path, BEFORE, after)
    assert found.replay.reproduces
    assert [str(move.to) for move in found.plan.moves] == ["shop.sales.orders"]
    assert 0 < found.plan.authored_lines < 8


def test_symbols_that_moved_beside_it_are_found(tmp_path: Path) -> None:
    before = {**BEFORE, "shop/far.py": "def far():\n    return 1\n\n\ndef near():\n    return 2\n"}
    after = given(
        before,
        '[[source]]\nmodule = "shop.far"\n\n'
        '[[destination]]\nmodule = "shop.nearer"\nsymbols = ["near"]\n\n' + PLANS["a module"],
    )
    found = inferred(tmp_path, before, after)
    assert found.replay.reproduces
    assert found.plan.authored_lines == 0
    assert [str(move.module) for move in found.plan.moves] == ["shop.orders"]
    assert [item.symbols for item in found.plan.destinations] == [("near",)]


def test_a_stub_goes_with_its_module(tmp_path: Path) -> None:
    before = {**BEFORE, "shop/money.pyi": "def round2(x: float) -> float: ...\n"}
    found = inferred(tmp_path, before, given(before, PLANS["two that import each other"]))
    assert found.replay.reproduces
    assert [str(move.to) for move in found.plan.moves] == ["shop.coins", "shop.bills"]
    assert not found.plan.sources


def test_a_cycle_that_the_change_made_is_accepted_in_the_plan(tmp_path: Path) -> None:
    before = {"shop/__init__.py": "", "shop/a.py": "def g():\n    return 1\n\n\n" + FAR}
    f, _, h = FAR.partition("\n\n\n")
    after = {
        "shop/__init__.py": "",
        "shop/a.py": f"from shop.b import f\n\n\ndef g():\n    return 1\n\n\n{h}",
        "shop/b.py": f"from shop.a import g\n\n\n{f}\n",
    }
    found = inferred(tmp_path, before, after)
    assert found.replay.reproduces, found.replay.hunks
    assert '[[accept]]\nkind = "cycle"\nmodule = "shop.a"\nreason = ' in found.text
    assert [item.kind for item in found.replay.outcome.accepted] == ["cycle"]


FAR = "def f():\n    return g()\n\n\ndef h():\n    return f()\n"
