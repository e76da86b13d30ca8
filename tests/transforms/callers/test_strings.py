"""Strings, comments and texts in tables: what is left alone, rewritten, and noted."""

from __future__ import annotations

import pytest

from tests.transforms.callers.one_caller import move_caller
from transforms.callers.lookups import replaces
from transforms.callers.roles import Roles

LEFT_ALONE = {
    "a name that stays": "x = patch('shop.store.total')\n",
    "a longer name": "x = patch('shop.store.Baskets'), 'shop.stores', 'workshop.store.Basket'\n",
    "prose in a docstring": '"""The shop.store.Basket holds goods."""\n',
    "a doctest": 'def f():\n    """\n    >>> from shop.store import Basket\n    """\n',
    "a comment": "x = 1  # shop.store.Basket\n",
    "bytes": "x = b'shop.store.Basket'\n",
    "an attribute's documentation": "x = 1\n'''See shop.store.Basket.'''\n",
    "a role that names the module": '""":mod:`shop.store`"""\n',
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_left_alone(text: str) -> None:
    result = move_caller(text)
    assert (result.text, result.edits, result.notes) == (text, [], [])


REWRITTEN = {
    "patch": ("patch('shop.store.Basket')\n", "patch('shop.basket.Basket')\n"),
    "patch of an attribute": (
        "patch('shop.store.Basket.held.x')\n",
        "patch('shop.basket.Basket.held.x')\n",
    ),
    "a raw string": ("patch(r'shop.store.Basket')\n", "patch(r'shop.basket.Basket')\n"),
    "three quotes": ("patch('''shop.store.LIMIT''')\n", "patch('''shop.basket.LIMIT''')\n"),
    "patch.dict": ("patch.dict('shop.store.LIMIT')\n", "patch.dict('shop.basket.LIMIT')\n"),
    "a look-up with a colon": (
        "resolve_name('shop.store:Basket.held')\n",
        "resolve_name('shop.basket:Basket.held')\n",
    ),
    "import_string": (
        "import_string('shop.store.LIMIT')\n",
        "import_string('shop.basket.LIMIT')\n",
    ),
    "a name by keyword": (
        "patch(target='shop.store.LIMIT')\n",
        "patch(target='shop.basket.LIMIT')\n",
    ),
    "a role in a docstring": (
        '""":py:class:`~shop.store.Basket`"""\n',
        '""":py:class:`~shop.basket.Basket`"""\n',
    ),
    "a role with a title": (
        '""":class:`the basket <shop.store.Basket>`"""\n',
        '""":class:`the basket <shop.basket.Basket>`"""\n',
    ),
    "a role in a comment": (
        "#: :class:`shop.store.Basket`\nx = 1\n",
        "#: :class:`shop.basket.Basket`\nx = 1\n",
    ),
    "a role in a comment behind code": (
        "x = 1  # :class:`shop.store.Basket`\n",
        "x = 1  # :class:`shop.basket.Basket`\n",
    ),
    "a directive in a docstring": (
        '"""\n.. autoclass:: shop.store.Basket\n"""\n',
        '"""\n.. autoclass:: shop.basket.Basket\n"""\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_rewritten(before: str, after: str) -> None:
    result = move_caller(before)
    assert (result.text, result.notes) == (after, [])


NOTED = {
    "a string whose reader is unknown": "x = 'shop.store.Basket'\n",
    "a module by name": "x = 'shop.store'\n",
    "a prefix to which a name is added": "x = 'shop.store.' + name\n",
    "a name within a text": "x = 'use shop.store.Basket instead'\n",
    "an f-string that names it": "x = f'{a}: shop.store.Basket'\n",
    "an f-string that leaves the name out": "x = f'shop.store.{name}'\n",
    "code in a string": "x = 'from shop.store import Basket'\n",
    "code in a string, bracketed": "x = '''from shop.store import (\n    Basket,\n)'''\n",
    "a patch that is built by addition": "patch('shop.store' + '.Basket')\n",
    "a patch in two pieces": "patch('shop.store' '.Basket')\n",
    "a role in a string that is no documentation": "x = ':class:`shop.store.Basket`'\n",
    "another argument of a patch": "patch(x, 'shop.store.Basket')\n",
    "a key of a table": "x = {'shop.store': 1}\n",
    "a string that goes through another module": "patch('shop.desk.store.Basket')\n",
}


@pytest.mark.parametrize("text", NOTED.values(), ids=NOTED.keys())
def test_noted_and_left_alone(text: str) -> None:
    result = move_caller(text)
    assert (result.text, result.notes) == (text, ["string:1"])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("import_module('shop.store')\n", "dynamic import:1"),
        ("__import__('shop.store')\n", "dynamic import:1"),
        ("patch('shop.store.json')\n", "patch of another global:1"),
        ("patch.multiple('shop.store', Basket=1, total=2)\n", "string:1"),
    ],
    ids=["import_module", "__import__", "another global", "several modules"],
)
def test_noted_for_another_reason(text: str, note: str) -> None:
    result = move_caller(text)
    assert (result.text, result.notes) == (text, [note])


TEXTS = {
    "an entry point": (
        "pyproject.toml",
        'x = "shop.store:Basket"\n',
        'x = "shop.basket:Basket"\n',
        [],
    ),
    "an entry point with old line ends": (
        "setup.cfg",
        "x =\r\n  a = shop.store:Basket\r\n",
        "x =\r\n  a = shop.basket:Basket\r\n",
        [],
    ),
    "an entry point that stays": ("setup.cfg", "a = shop.store:total\n", None, []),
    "a dotted name in configuration": ("tox.ini", "a = shop.store.Basket\n", None, ["text:1"]),
    "a module in configuration": ("mypy.ini", "[mypy-shop.store]\n", None, ["text:1"]),
    "a directive": (
        "a.rst",
        ".. autoclass:: shop.store.Basket\n",
        ".. autoclass:: shop.basket.Basket\n",
        [],
    ),
    "a module's directive": ("a.rst", ".. automodule:: shop.store\n", None, ["text:1"]),
    "prose": ("a.rst", "The shop.store is open.\n", None, []),
    "prose that names what moved": ("a.txt", "shop.store.Basket\n", None, ["text:1"]),
    "an example": ("a.md", "    from shop.store import Basket\n", None, ["text:1"]),
    "an example of what stays": ("a.md", "    from shop.store import total\n", None, []),
    "a link": ("a.md", "[b][shop.store.Basket]\n", "[b][shop.basket.Basket]\n", []),
    "a link in another markup": ("a.rst", "[b][shop.store.Basket]\n", None, ["text:1"]),
    "a table of classes": ("a.json", '{"a": "shop.store.Basket"}\n', None, ["text:1"]),
    "a workflow": ("a.yml", "a: shop.store.total\n", None, []),
    "two on a line": ("a.yml", "[shop.store.Basket, shop.store.LIMIT]\n", None, ["text:1"]),
}


@pytest.mark.parametrize(("path", "before", "after", "notes"), TEXTS.values(), ids=TEXTS.keys())
def test_texts(path: str, before: str, after: str | None, notes: list[str]) -> None:
    result = move_caller(before, path)
    assert (result.text, result.notes) == (before if after is None else after, notes)


def test_a_text_that_is_not_utf_8_keeps_its_bytes() -> None:
    result = move_caller(b"caf\xe9 :class:`shop.store.Basket` \xff\r\n", "a.rst")
    assert result.data == b"caf\xe9 :class:`shop.basket.Basket` \xff\r\n"


def test_roles_find_each_name_once() -> None:
    text = ":class:`shop.store.Basket <shop.store.Basket>` shop.store.Basket\n.. x:: a.b.C"
    found = [(m[1], m[2], m.start()) for m in Roles(["shop.store", "a.b"]).find(text)]
    assert found == [("shop.store", "Basket", 8), ("shop.store", "Basket", 27), ("a.b", "C", 72)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m.X = 1", True),
        ("m.X += 1", True),
        ("m.X //= 1", True),
        ("patch('a.b.X')", True),
        ("setattr(m, 'X', 1)", True),
        ("m.X == 1", False),
        ("m.X >= 1", False),
        ("m.X != 1", False),
        ("m.XY = 1", False),
        ("X = 1", False),
        ("print(m.X)", False),
    ],
)
def test_what_replaces_an_attribute(text: str, expected: bool) -> None:
    assert replaces(text, "X") is expected
