"""Code that wants to pass for a move: each case changes one thing, and is shown where it stands."""

from __future__ import annotations

import pytest

from tests.verify.certificate import trees as first
from tests.verify.certificate.trees import Tree, edited, explain
from tests.verify.kernel import trees as second
from verify.certificate import CERTIFIED, RESIDUAL, Certificate
from verify.kernel.verdict import RESIDUALS

SHOP = '''\
from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING

from shop.money import Money, rounded

if TYPE_CHECKING:
    from shop.people import Buyer

logger = logging.getLogger(__name__)
RATE = 19
SEEN = {}


def price(buyer: Buyer, net: int) -> Money:
    """What a buyer pays."""
    if buyer not in SEEN:
        SEEN[buyer] = rounded(net * RATE)
    return SEEN[buyer]


@functools.lru_cache
def cheapest(nets: tuple[int, ...]) -> int:
    return min(nets)


class Order(Money):
    def total(self) -> int:
        logger.info("total")
        return RATE * self.cents
'''
PRICES = '''\
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from shop.money import Money, rounded

if TYPE_CHECKING:
    from shop.people import Buyer

RATE = 19
SEEN = {}


def price(buyer: Buyer, net: int) -> Money:
    """What a buyer pays."""
    if buyer not in SEEN:
        SEEN[buyer] = rounded(net * RATE)
    return SEEN[buyer]


@functools.lru_cache
def cheapest(nets: tuple[int, ...]) -> int:
    return min(nets)
'''
REST = """\
from __future__ import annotations

import logging

from shop.money import Money

logger = logging.getLogger(__name__)
RATE = 19


class Order(Money):
    def total(self) -> int:
        logger.info("total")
        return RATE * self.cents
"""
MONEY = "class Money:\n    cents = 1\n\n\ndef rounded(value):\n    return value\n"
FALSE = MONEY.replace("cents = 1", "cents = 2").replace("return value", "return 0")
SHARED = {
    "shop/__init__.py": "",
    "shop/money.py": MONEY,
    "shop/false.py": FALSE,
    "shop/people.py": "class Buyer:\n    pass\n",
    "shop/spy.py": "print('loaded')\n",
}
BEFORE: Tree = {**SHARED, "shop/orders.py": SHOP}
AFTER: Tree = {**SHARED, "shop/orders.py": REST, "shop/prices.py": PRICES}


def judge(before: Tree, after: Tree) -> Certificate:
    """Ask the first kernel; the second comes to the same verdict."""
    found, again = first.judge(before, after), second.judge(before, after)
    assert again.verdict == found.verdict, second.explain(again)
    return found


def caught(after: Tree, path: str, line: int, kind: str) -> None:
    """Expect a residual just where the fault is; in that file, by the second kernel."""
    found = judge(BEFORE, after)
    assert found.verdict == RESIDUAL, explain(found)
    assert (path, line, kind) in {(r.path, r.line, r.kind) for r in found.residuals}, explain(found)
    again = second.judge(BEFORE, after)
    places = {place.path for finding in again.of(*RESIDUALS) for place in finding.places}
    assert path in places, second.explain(again)


def test_the_move_itself_is_certified() -> None:
    found = judge(BEFORE, AFTER)
    assert found.verdict == CERTIFIED, explain(found)


def test_an_else_behind_type_checking() -> None:
    old = "    from shop.people import Buyer\n"
    after = edited(AFTER, "shop/prices.py", old, f"{old}else:\n    import shop.spy\n")
    caught(after, "shop/prices.py", 11, "import")


def test_a_statement_in_an_else_behind_type_checking() -> None:
    old = "    from shop.people import Buyer\n"
    after = edited(AFTER, "shop/prices.py", old, f"{old}else:\n    print(1)\n")
    caught(after, "shop/prices.py", 8, "added")


def test_a_side_effect_import_among_moved_ones() -> None:
    after = edited(AFTER, "shop/prices.py", "\nRATE", "import shop.spy\n\nRATE")
    caught(after, "shop/prices.py", 10, "import")


def test_a_side_effect_import_on_a_condition() -> None:
    old = "import functools\n"
    after = edited(AFTER, "shop/prices.py", old, f"{old}if print(1):\n    import functools\n")
    caught(after, "shop/prices.py", 5, "import")


def test_a_side_effect_import_in_a_moved_function() -> None:
    old = '    """What a buyer pays."""\n'
    after = edited(AFTER, "shop/prices.py", old, f"{old}    import shop.spy\n")
    caught(after, "shop/prices.py", 17, "import")


def test_a_name_that_comes_by_a_module_with_effects() -> None:
    more = {**SHARED, "shop/spy.py": "from shop.money import rounded\n\nprint('loaded')\n"}
    after = edited({**AFTER, **more}, "shop/prices.py", "Money, rounded", "Money")
    after = edited(after, "shop/prices.py", "\nif", "from shop.spy import rounded\n\nif")
    found = judge({**BEFORE, **more}, after)
    assert found.verdict == RESIDUAL, explain(found)
    assert [(r.path, r.line) for r in found.residuals] == [("shop/prices.py", 7)]


def test_a_second_definition_that_shadows_a_moved_one() -> None:
    text = f"{PRICES}\n\ndef price(buyer, net):\n    return 0\n"
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", 27, "added")


def test_an_import_that_shadows_a_moved_definition() -> None:
    text = f"{PRICES}\n\nfrom shop.false import rounded as price\n"
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", 15, "binding")


def test_a_definition_in_the_source_that_shadows_what_it_imports_back() -> None:
    before = {**BEFORE, "shop/orders.py": f"{SHOP}\n\ndef pay(b):\n    return price(b, 1)\n"}
    rest = REST.replace("import Money\n", "import Money\nfrom shop.prices import price\n")
    rest = f"{rest}\n\ndef pay(b):\n    return price(b, 1)\n"
    after = {**AFTER, "shop/orders.py": rest}
    assert judge(before, after).verdict == CERTIFIED
    found = judge(before, {**after, "shop/orders.py": f"{rest}\n\nprice = min\n"})
    assert found.verdict == RESIDUAL, explain(found)


def test_a_decorator_that_resolves_elsewhere() -> None:
    more = {**SHARED, "functools.py": "def lru_cache(f):\n    return f\n"}
    found = judge({**BEFORE, **SHARED}, {**AFTER, **more})
    assert found.verdict == RESIDUAL, explain(found)
    after = edited(AFTER, "shop/prices.py", "import functools", "import shop.false as functools")
    caught(after, "shop/prices.py", 22, "binding")


def test_a_base_class_that_resolves_elsewhere() -> None:
    after = edited(AFTER, "shop/orders.py", "shop.money", "shop.false")
    caught(after, "shop/orders.py", 11, "binding")


def test_a_relative_import_that_resolves_elsewhere() -> None:
    text = SHOP.replace("from shop.money", "from .money")
    prices = PRICES.replace("from shop.money", "from .money")
    deep = {**SHARED, "shop/new/__init__.py": "", "shop/new/money.py": FALSE}
    after = {**deep, "shop/orders.py": REST.replace("from shop.m", "from .m")}
    found = judge({**deep, "shop/orders.py": text}, {**after, "shop/new/prices.py": prices})
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.path for r in found.residuals} == {"shop/new/prices.py"}


def test_a_moved_function_whose_global_is_rebound_in_the_new_module() -> None:
    text = f"{PRICES}\n\nRATE = 0\n"
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", 27, "added")
    text = f"{PRICES}\n\ndef free():\n    global RATE\n    RATE = 0\n"
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", 18, "binding")


def test_a_moved_function_whose_global_is_rebound_from_outside() -> None:
    user = {"shop/sale.py": "import shop.orders\n\nshop.orders.RATE = 0\n"}
    found = judge({**BEFORE, **user}, {**AFTER, **user})
    assert found.verdict == RESIDUAL, explain(found)
    assert [(r.path, r.line) for r in found.residuals] == [("shop/sale.py", 3)]


def test_a_moved_function_whose_global_was_there_with_another_value() -> None:
    there = {"shop/prices.py": "RATE = 7\n"}
    text = PRICES.replace("RATE = 19", "RATE = 7")
    found = judge({**BEFORE, **there}, {**AFTER, "shop/prices.py": text})
    assert found.verdict == RESIDUAL, explain(found)


@pytest.mark.parametrize("cache", ["SEEN = {}", "SEEN = []", "SEEN = set()", "SEEN = dict()"])
def test_a_copied_cache(cache: str) -> None:
    reads = "\n\ndef seen(buyer):\n    return buyer in SEEN\n"
    before = {**BEFORE, "shop/orders.py": SHOP.replace("SEEN = {}", cache) + reads}
    rest = REST.replace("RATE = 19\n", f"RATE = 19\n{cache}\n") + reads
    prices = PRICES.replace("SEEN = {}", cache)
    found = judge(before, {**AFTER, "shop/orders.py": rest, "shop/prices.py": prices})
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.kind for r in found.residuals} == {"copied"}


def test_a_copied_function_with_a_cache_of_its_own() -> None:
    text = f"{REST}\n\n@functools.lru_cache\ndef cheapest(nets: tuple[int, ...]) -> int:\n"
    text = f"{text}    return min(nets)\n".replace(
        "import logging", "import functools\nimport logging"
    )
    found = judge(BEFORE, {**AFTER, "shop/orders.py": text})
    assert found.verdict == RESIDUAL, explain(found)


def test_a_deleted_function() -> None:
    text = PRICES[: PRICES.index("\n\n@functools")].replace("import functools\n", "")
    caught({**AFTER, "shop/prices.py": text}, "shop/orders.py", 24, "removed")


def test_a_deleted_method() -> None:
    text = REST[: REST.index("    def total")] + "    pass\n"
    found = judge(BEFORE, {**AFTER, "shop/orders.py": text})
    assert found.verdict == RESIDUAL, explain(found)
    assert ("shop/orders.py", 30) in {(r.path, r.line) for r in found.residuals}


def test_code_behind_thousands_of_blank_lines() -> None:
    text = PRICES + "\n" * 20_000 + "print(1)\n"
    line = text.count("\n")
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", line, "added")


def test_code_far_to_the_right() -> None:
    after = edited(AFTER, "shop/prices.py", "SEEN = {}", "SEEN = {};" + " " * 5000 + "print(1)")
    caught(after, "shop/prices.py", 12, "added")


def test_code_far_to_the_right_in_a_moved_function() -> None:
    old = "    return min(nets)"
    after = edited(AFTER, "shop/prices.py", old, "    nets = ();" + " " * 5000 + "return min(nets)")
    caught(after, "shop/prices.py", 24, "added")


def test_code_behind_a_comment_that_ends_in_a_carriage_return() -> None:
    after = edited(AFTER, "shop/prices.py", "RATE = 19", "RATE = 19  # as ever\rprint(1)")
    caught(after, "shop/prices.py", 12, "added")


def test_code_in_a_comment_of_another_encoding() -> None:
    text = f"# coding: utf-7\n{PRICES}# one+AAo-print(1)\n"
    found = judge(BEFORE, {**AFTER, "shop/prices.py": text})
    assert found.verdict == RESIDUAL, explain(found)
    assert "print(1)" in {r.text for r in found.residuals}


LETTERS = {
    "a Cyrillic letter": ("def price", "def pri\u0441e"),
    "a Greek one": ("SEEN[buyer] = rounded(net", "SEEN[buyer] = r\u03bfunded(net"),
    "a mark that turns the text": ("return min(nets)", 'return min(nets)  # \u202e")'),
    "a blank without width in a string": ('"""What a', '"""What\u200b a'),
}


@pytest.mark.parametrize("what", LETTERS)
def test_letters_that_look_alike(what: str) -> None:
    after = edited(AFTER, "shop/prices.py", *LETTERS[what])
    found = judge(BEFORE, after)
    assert found.verdict == RESIDUAL, explain(found)


def test_letters_that_are_the_same_to_python_still_hide_no_definition() -> None:
    text = f"{PRICES}\n\ndef \uff50rice(buyer, net):\n    return 0\n"
    caught({**AFTER, "shop/prices.py": text}, "shop/prices.py", 27, "added")


def test_a_second_file_of_the_same_module() -> None:
    package = {"shop/prices/__init__.py": "def price(buyer, net):\n    return 0\n"}
    found = judge(BEFORE, {**AFTER, **package})
    assert found.verdict == RESIDUAL, explain(found)
    compiled = {"shop/prices.cpython-311-x86_64-linux-gnu.so": ""}
    found = judge(BEFORE, {**AFTER, **compiled})
    assert found.verdict == RESIDUAL, explain(found)
