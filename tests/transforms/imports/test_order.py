"""Orders of imported names, and of import statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.imports.names import ImportedName, NameOrder
from transforms.imports.order import (
    ORDERS,
    STANDARD_LIBRARY,
    orders_of,
    position,
    section_of,
)

words = st.text(st.sampled_from("aAbB_19é"), min_size=1, max_size=4)
lists = st.lists(words.map(ImportedName), max_size=8)


@pytest.mark.parametrize(
    ("sentence", "names", "orders"),
    [
        ("no name", "", ORDERS),
        ("one name", "b", ORDERS),
        ("lower case", "a b c", ORDERS),
        ("none", "b a c", ()),
        ("classes before functions", "B a", ("isort", "case-sensitive")),
        ("constants before classes", "ZERO Alpha beta", ("isort",)),
        ("a single capital is a class", "MAX A Bc", ("isort",)),
        ("code points", "AB Ac ZX", ("case-sensitive", "case-insensitive")),
        ("capitals among others", "a B c", ("case-insensitive",)),
        ("numbers", "a2 a10", ("isort",)),
        ("underscores first", "_b a", ORDERS),
    ],
)
def test_orders(sentence: str, names: str, orders: tuple[str, ...]) -> None:
    found = orders_of([ImportedName(name) for name in names.split()])
    assert set(found) == set(orders), sentence


@given(lists, st.sampled_from(ORDERS))
def test_a_name_put_in_its_position_keeps_the_order(
    names: list[ImportedName], order: NameOrder
) -> None:
    ordered: list[ImportedName] = []
    for name in names:
        ordered.insert(position(ordered, name, order), name)
    assert order in orders_of(ordered)


@pytest.mark.parametrize(
    ("sentence", "names", "new", "index"),
    [
        ("at the end", "c a", "b", 2),
        ("at the end of its kind", "List Any cast overload", "Dict", 2),
        ("at the end, where its kind is not there", "List Any cast", "MAX", 3),
        ("at the end, where kinds are mixed", "List cast Any", "Dict", 3),
    ],
)
def test_position_without_order(sentence: str, names: str, new: str, index: int) -> None:
    found = position([ImportedName(name) for name in names.split()], ImportedName(new), None)
    assert found == index, sentence


@pytest.mark.parametrize(
    ("module", "section"),
    [("__future__", 0), ("os.path", 1), ("tomllib", 1), ("distutils", 1), ("torch", 2), (".os", 4)],
)
def test_sections(module: str, section: int) -> None:
    assert section_of(module) == section
    assert section_of(module, ["torch"]) == (3 if module == "torch" else section)


def test_the_standard_library_is_that_of_every_supported_version() -> None:
    assert {"os", "asyncore", "imp", "tomllib", "telnetlib", "distutils"} <= STANDARD_LIBRARY
