"""Callers in tables: what is left alone, what is rewritten, and what is refused.

Whole files with golden bytes are in `tests/cases/callers`.
"""

from __future__ import annotations

import pytest

from tests.transforms.callers.one_caller import move_caller
from tests.transforms.case import CASES
from transforms.errors import Refusal

LEFT_ALONE = {
    "a name that stays": "from shop.store import total\n",
    "a module whose moved names are not used": "import shop.store\n\nshop.store.total()\n",
    "a module imported for its effect": "import shop.store  # noqa: F401\n",
    "a star import whose moved names are not used": "from shop.store import *\n\nx = total()\n",
    "a star import before names of the file's own": (
        "from shop.store import *\n\nLIMIT = 1\nBasket = LIMIT\n"
    ),
    "another module of the same last name": "from bank.store import Basket\n",
    "another module of the same last name, reached": "import bank.store\n\nbank.store.Basket()\n",
    "a module whose name starts alike": "from shop.stores import Basket\n",
    "a name of the package that is called like a moved one": "from shop import Basket\n",
    "dots that lead out of the tree": "from ...shop.store import Basket\n",
    "a parameter": "def f(store):\n    return store.Basket\n",
    "an attribute of self": "class A:\n    def f(self):\n        return self.store.Basket\n",
    "a keyword argument": "from shop import store\n\nprint(Basket=store.total)\n",
    "a local variable": "def f():\n    shop = g()\n    return shop.store.Basket\n",
    "a comprehension's variable": "x = [store.Basket for store in ()]\n",
    "a comment": "# from shop.store import Basket\n",
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_left_alone(text: str) -> None:
    result = move_caller(text)
    assert (result.text, result.edits) == (text, [])


REWRITTEN = {
    "a name": ("from shop.store import Basket\n", "from shop.basket import Basket\n"),
    "all names": (
        "from shop.store import LIMIT, Basket\n",
        "from shop.basket import LIMIT, Basket\n",
    ),
    "one name of two": (
        "from shop.store import Basket, total\n",
        "from shop.basket import Basket\nfrom shop.store import total\n",
    ),
    "a name and its alias": (
        "from shop.store import Basket, Basket as B\n",
        "from shop.basket import Basket, Basket as B\n",
    ),
    "behind a semicolon": (
        "x = 1; from shop.store import Basket, total; y = 2\n",
        "x = 1; from shop.store import total; from shop.basket import Basket; y = 2\n",
    ),
    "in a suite of one line": (
        "if 1: from shop.store import Basket\n",
        "if 1: from shop.basket import Basket\n",
    ),
    "in a loop and a with": (
        "for _ in ():\n    with x:\n        from shop.store import Basket\n",
        "for _ in ():\n    with x:\n        from shop.basket import Basket\n",
    ),
    "in a match": (
        "match x:\n    case 1:\n        from shop.store import Basket\n",
        "match x:\n    case 1:\n        from shop.basket import Basket\n",
    ),
    "in the else of a try": (
        "try:\n    pass\nexcept OSError:\n    pass\nelse:\n    from shop.store import Basket\n",
        "try:\n    pass\nexcept OSError:\n    pass\nelse:\n    from shop.basket import Basket\n",
    ),
    "a module under its own name": (
        "from shop import store as store\n\nstore.Basket\n",
        "from shop import basket\n\nbasket.Basket\n",
    ),
    "a module spelled in full, within a function": (
        "def f():\n    import shop.store\n\n    return shop.store.LIMIT\n",
        "def f():\n    import shop.basket\n\n    return shop.basket.LIMIT\n",
    ),
    "a closure's module": (
        "def f():\n    from shop import store\n\n    def g():\n        return store.Basket\n",
        "def f():\n    from shop import basket\n\n    def g():\n        return basket.Basket\n",
    ),
    "a module in a string annotation": (
        "from shop import store\n\nx: 'list[store.Basket]' = []\n",
        "from shop import basket\n\nx: 'list[basket.Basket]' = []\n",
    ),
    "a module in an f-string of an f-string": (
        "from shop import store\n\nx = f'{f\"{store.Basket}\"} {store.LIMIT}'\n",
        "from shop import basket\n\nx = f'{f\"{basket.Basket}\"} {basket.LIMIT}'\n",
    ),
    "a letter of several bytes on the line": (
        "from shop import store\n\nx = 'äöü', store.Basket, 'ß', store.LIMIT\n",
        "from shop import basket\n\nx = 'äöü', basket.Basket, 'ß', basket.LIMIT\n",
    ),
    "a star import": (
        "from shop.store import *\n\nBasket(total)\n",
        "from shop.basket import Basket\nfrom shop.store import *\n\nBasket(total)\n",
    ),
    "a star import with `__all__`": (
        "from shop.store import *\n\n__all__ = ['LIMIT']\n",
        "from shop.basket import LIMIT\nfrom shop.store import *\n\n__all__ = ['LIMIT']\n",
    ),
    "no line end at the end": ("from shop.store import Basket", "from shop.basket import Basket"),
    "old Mac line ends": (
        "from shop.store import Basket, total\rx = Basket\r",
        "from shop.basket import Basket\rfrom shop.store import total\rx = Basket\r",
    ),
}


@pytest.mark.parametrize(("before", "after"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_rewritten(before: str, after: str) -> None:
    assert move_caller(before).text == after


REFUSED = {
    "the new name is a parameter": (
        "from shop import store\n\n\ndef f(basket):\n    return store.Basket\n",
        "clash",
        "line 4 binds it",
    ),
    "the new name is a global of the file": (
        "from shop import store\n\nbasket = store.Basket()\n",
        "clash",
        "line 3 binds it",
    ),
    "the old name is bound twice": (
        "from shop import store\nfrom bank import store\n\nstore.Basket\n",
        "ambiguous-name",
        "also on line 2",
    ),
    "the old name is assigned": (
        "from shop import store\n\nstore = store.Basket\n",
        "ambiguous-name",
        "also on line 3",
    ),
    "an annotation with escapes": (
        "from shop import store\n\nx: '\\x73tore.Basket' = None\n",
        "inexact-position",
        "Write the string plainly",
    ),
    "a file that does not parse": (
        "from shop.store import Basket\n\ndef f(:\n",
        "syntax-error",
        "app.py:3",
    ),
    "bytes that the encoding does not have": (
        b"from shop.store import Basket\nx = '\xff'\n",
        "encoding",
        "app.py:2",
    ),
}


@pytest.mark.parametrize(("content", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(content: str | bytes, kind: str, words: str) -> None:
    with pytest.raises(Refusal) as refusal:
        move_caller(content)
    assert refusal.value.kind == kind
    assert words in str(refusal.value)


NOTED = {
    "a name that is looked up by a variable": (
        "from shop import store\n\nx = getattr(store, x)\n",
        ["dynamic lookup:3"],
    ),
    "patches that now belong to several modules": (
        "from unittest.mock import patch\n\nfrom shop import store\n\n"
        "patch.multiple(store, Basket=1, total=2)\n",
        ["dynamic lookup:5"],
    ),
    "an assignment to a moved global": (
        "from shop import store\n\nstore.LIMIT = 4\n",
        ["assignment to a moved global:3"],
    ),
    "a global that moved code reads": (
        "from shop import store\n\nstore.json = None\n",
        ["patch of another global:3"],
    ),
    "a module that is handed on": (
        "import bank\nfrom shop.desk import store\n\nstore.Basket\n",
        ["detour:4"],
    ),
}


@pytest.mark.parametrize(("text", "notes"), NOTED.values(), ids=NOTED.keys())
def test_noted(text: str, notes: list[str]) -> None:
    assert move_caller(text, desk="from shop import store\n").notes == notes


def test_the_table_of_kinds_lists_every_case_once() -> None:
    folder = CASES / "callers"
    rows = (folder / "README.md").read_text(encoding="utf-8").split("\n")
    listed = [
        name.strip()
        for row in rows
        if row.startswith("| ") and not row.startswith("| kind")
        for name in row.split("|")[2].split(",")
    ]
    assert sorted(listed) == sorted(path.stem for path in folder.glob("*.case"))
