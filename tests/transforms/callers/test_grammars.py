"""Each row of the table of grammars does what its example says."""

from __future__ import annotations

import pytest

from tests.transforms.case import MemoryTree
from transforms.callers.grammars import GRAMMARS, LISTS, Grammar, grammar_of
from transforms.engine import apply
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome

PLAN = """format = {}
formatters = "none"

[[source]]
module = "shop.orders"

[[destination]]
module = "shop.money"
symbols = ["Money"]
"""
SHOP = {
    "shop/__init__.py": "",
    "shop/orders.py": "class Money:\n    pass\n\n\nclass Order:\n    pass\n",
}


def _name(pattern: str) -> str:
    """A file that a pattern fits."""
    return pattern.replace("*", "x")


def _moved(path: str, text: str, number: int = 2) -> tuple[str, Outcome]:
    files = {**SHOP, path: text}
    tree = MemoryTree({name: Blob(content.encode()) for name, content in files.items()})
    outcome = apply(parse_plan(PLAN.format(number).encode(), "plan.toml"), tree)
    blob = outcome.changes.after().get(path)
    return (text if blob is None else blob.data.decode()), outcome


@pytest.mark.parametrize("row", GRAMMARS, ids=lambda row: row.files[0])
def test_the_example_of_a_row_holds_for_each_of_its_files(row: Grammar) -> None:
    for pattern in row.files:
        path = _name(pattern)
        assert grammar_of(path) is row, path
        before, after = (text + "\n" for text in row.example)
        got, outcome = _moved(path, before)
        assert got == after, path
        again, _ = _moved(path, before, number=1)
        assert again == before or row.forms, path
        if before == after and "shop.orders.Money" in before:
            assert any(note.place.path == path for note in outcome.notes), path


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.sh", "python -c 'from shop.orders import Money, Order as O; Money()'",
         "python -c 'from shop.money import Money; from shop.orders import Order as O; Money()'"),
        ("a.sh", "  from shop.orders import Order, Money",
         "  from shop.money import Money\n  from shop.orders import Order"),
        ("a.sh", "import shop.orders; shop.orders.Money()", None),
        ("a.md", "    >>> from shop.orders import Money, Order",
         "    >>> from shop.money import Money\n    >>> from shop.orders import Order"),
        ("a.md", "Write `shop.orders.Money`, or `from shop.orders import Money`.", None),
        ("a.rst", ":class:`~.orders.Money` and :class:`orders.Money` and :class:`.orders.Order`",
         ":class:`~.money.Money` and :class:`money.Money` and :class:`.orders.Order`"),
        ("shop/meson.build", "sources = [\n  'orders.py',\n]",
         "sources = [\n  'orders.py',\n  'money.py',\n]"),
        ("meson.build", "install(['shop/orders.py', 'shop/money.py'])", None),
        ("meson.build", "install(['other/shop/orders.py', 'shop/orders.pyc'])", None),
        ("pyproject.toml", '[tool.mypy]\nfiles = ["shop/orders.py"]', None),
        ("pyproject.toml", '[tool.coverage.run]\ninclude = ["shop/orders.py"]', None),
        ("a.yml", "url: https://example.org/shop.orders.Money", None),
        ("a.yml", "x: shop.orders.Money.create and shop.orders.Moneys",
         "x: shop.money.Money.create and shop.orders.Moneys"),
    ],
)  # fmt: skip
def test_what_is_literal_and_means_one_thing_is_rewritten(
    path: str, before: str, after: str | None
) -> None:
    got, _ = _moved(path, before + "\n")
    assert got == (before if after is None else after) + "\n"
    again, _ = _moved(path, got)
    assert again == got


def test_lists_are_known_by_the_table() -> None:
    assert [row.files[0] for row in GRAMMARS if LISTS in row.forms] == [
        "manifest.in", "meson.build", "cmakelists.txt", "pyproject.toml", "setup.cfg",
    ]  # fmt: skip
