"""Modules and packages that move whole: what is certified, and every fault that is not."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import Tree, edited, explain, judge
from verify.certificate import CERTIFIED, RESIDUAL

ORDERS = '''\
#!/usr/bin/env python
# Licence: MIT

"""Orders of the shop.

`shop.orders.Order` is what `shop/orders.py` makes; `orders.total` adds up.
"""

from __future__ import annotations

import json
import logging
import sys

from . import money as coins
from .money import round2

__all__ = ["Order", "total"]

logger = logging.getLogger(__name__)
LIMIT = 10
# What follows is read by shop.orders alone.

registry = {}
registry["default"] = LIMIT


class Order:
    """One order; see `shop.orders.total`."""

    def total(self):
        logger.info("x")  # of shop.orders
        return round2(LIMIT) + coins.round2(1)


def total(orders):
    # See shop.orders.
    return sum(o.total() for o in orders)  # noqa: E501


def main():
    print(total([Order()]), sys.argv)


if __name__ == "__main__":
    main()
'''
MONEY = '''\
"""Money."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shop.orders import Order


def round2(x):
    return round(x, 2)


def of(order: "Order"):
    from . import orders

    return orders.total([order])
'''
CALLERS = {
    "one.py": (
        "from shop import orders\nfrom shop.orders import Order as O\n\nX = [orders.LIMIT, O]\n"
    ),
    "two.py": "import shop.orders\n\n\ndef run():\n    return shop.orders.total([])\n",
    "three.py": "import shop.orders as so\n\n\ndef run(handle):\n    return handle(so), so.LIMIT\n",
    "four.py": "def late():\n    from shop import orders\n\n    return orders.total, orders\n",
    "five.py": "import shop.orders  # noqa: F401\nfrom shop.orders import *\n",
    "test_one.py": (
        "from unittest.mock import patch\n\n\ndef test_it():\n"
        "    with patch('shop.orders.total'), patch(\"shop.orders.json.loads\"):\n        pass\n"
    ),
}
BEFORE = {"shop/__init__.py": "", "shop/orders.py": ORDERS, "shop/money.py": MONEY, **CALLERS}


def respelled(tree: Tree, *pairs: tuple[str, str]) -> dict[str, str]:
    """Replace texts in every file."""
    found = {}
    for path, text in tree.items():
        for old, new in pairs:
            text = text.replace(old, new)  # noqa: PLW2901
        found[path] = text
    return found


def relocated(tree: Tree, **paths: str) -> dict[str, str]:
    """Give files other paths."""
    return {paths.get(path, path): text for path, text in tree.items()}


SALES = {
    **relocated(
        respelled(
            edited(
                edited(BEFORE, "shop/orders.py", "from . import", "from .. import"),
                "shop/orders.py",
                "from .money",
                "from ..money",
            ),
            ("shop.orders", "shop.sales.orders"),
            ("shop/orders.py", "shop/sales/orders.py"),
            ("`orders.total`", "`sales.orders.total`"),
            ("from shop import orders", "from shop.sales import orders"),
            ("from . import orders", "from .sales import orders"),
        ),
        **{"shop/orders.py": "shop/sales/orders.py"},
    ),
    "shop/sales/__init__.py": "",
}
BESIDE = relocated(
    respelled(
        BEFORE,
        ("shop.orders", "shop.bills"),
        ("shop/orders.py", "shop/bills.py"),
        ("from shop import orders", "from shop import bills"),
        ("from . import orders", "from . import bills"),
        ("[orders.LIMIT", "[bills.LIMIT"),
        ("orders.total, orders", "bills.total, bills"),
        ("return orders.total", "return bills.total"),
    ),
    **{"shop/orders.py": "shop/bills.py"},
)
PACKAGE = relocated(
    edited(
        edited(BEFORE, "shop/orders.py", "from . import", "from .. import"),
        "shop/orders.py",
        "from .money",
        "from ..money",
    ),
    **{"shop/orders.py": "shop/orders/__init__.py"},
)
SHOP = {**BEFORE, "shop/prices.json": '{"a": 1}\n', "shop/orders.pyi": "LIMIT: int\n"}
MARKET = {
    **respelled(
        {path.replace("shop/", "market/shop/"): text for path, text in SHOP.items()},
        ("shop.orders", "market.shop.orders"),
        ("`shop/orders.py`", "`market/shop/orders.py`"),
        ("from shop import", "from market.shop import"),
    ),
    "market/__init__.py": "",
}
TOGETHER = relocated(
    respelled(
        SALES,
        ("shop.money", "shop.coins"),
        ("from ..money", "from ..coins"),
        ("from .. import money as", "from .. import coins as"),
    ),
    **{"shop/money.py": "shop/coins.py"},
)
MOVES: dict[str, tuple[Tree, Tree, int]] = {
    "into another package": (BEFORE, SALES, 1),
    "to another name beside it": (BEFORE, BESIDE, 1),
    "a module becomes a package": (BEFORE, PACKAGE, 1),
    "a package with its data and stubs": (SHOP, MARKET, 3),
    "two that import each other": (BEFORE, TOGETHER, 2),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_module_that_moves_whole_is_certified(move: str) -> None:
    before, after, modules = MOVES[move]
    found = judge(before, after)
    assert found.verdict == CERTIFIED, explain(found)
    assert len(found.relocated) == modules


@pytest.mark.parametrize("move", MOVES)
def test_there_and_back_is_certified(move: str) -> None:
    before, after, _ = MOVES[move]
    after = {path: text for path, text in after.items() if text or path == "shop/__init__.py"}
    if move == "into another package":
        after["shop/sales/__init__.py"] = ""
    found = judge(after, before)
    assert {r.kind for r in found.residuals} <= set(), explain(found)


def test_what_a_program_could_notice_is_observed() -> None:
    found = judge(BEFORE, SALES)
    noticed = {(o.kind, o.line) for o in found.observables if o.path == "shop/sales/orders.py"}
    assert {kind for kind, _ in noticed} == {"module", "logger"}
    assert any("Order.__module__" in o.what for o in found.observables)


FAULTS = {
    "a caller is left at the old path": ("one.py", "from shop.sales import", "from shop import"),
    "a late import is left": ("four.py", "from shop.sales import", "from shop import"),
    "a patch is left": ("test_one.py", "'shop.sales.orders.total'", "'shop.orders.total'"),
    "a patch of what it imports is left": ("test_one.py", '"shop.sales.orders.j', '"shop.orders.j'),
    "a patch names another thing": ("test_one.py", "orders.total'", "orders.main'"),
    "an import is rebased to a wrong level": (
        "shop/sales/orders.py",
        "from ..money",
        "from .money",
    ),
    "an import is not rebased": ("shop/sales/orders.py", "from .. import", "from . import"),
    "a statement is dropped": ("shop/sales/orders.py", "registry = {}\n", ""),
    "an effect is dropped": ("shop/sales/orders.py", 'registry["default"] = LIMIT\n', ""),
    "two statements change places": (
        "shop/sales/orders.py",
        'registry = {}\nregistry["default"] = LIMIT\n',
        'registry["default"] = LIMIT\nregistry = {}\n',
    ),
    "the main guard is dropped": (
        "shop/sales/orders.py",
        '\n\nif __name__ == "__main__":\n    main()\n',
        "",
    ),
    "the main guard is another": ("shop/sales/orders.py", '== "__main__"', '!= "__main__"'),
    "exports are dropped": ("shop/sales/orders.py", '"Order", "total"', '"Order"'),
    "a docstring says something else": ("shop/sales/orders.py", "Orders of", "Orders for"),
    "a docstring is repeated": (
        "shop/sales/orders.py",
        "from __future__",
        '"""Money."""\n\nfrom __future__',
    ),
    "a docstring names another module": (
        "shop/sales/orders.py",
        "`shop.sales.orders.Order` is",
        "`shop.money.Order` is",
    ),
    "the licence is lost": ("shop/sales/orders.py", "# Licence: MIT\n", ""),
    "a comment is lost": ("shop/sales/orders.py", "  # of shop.sales.orders", ""),
    "a comment says something else": ("shop/sales/orders.py", "# See shop.s", "# See no shop.s"),
    "a suppression is lost": ("shop/sales/orders.py", "  # noqa: E501", ""),
    "a suppression is another": ("shop/sales/orders.py", "# noqa: E501", "# noqa: E502"),
    "an unused import is lost": ("shop/sales/orders.py", "import json\n", ""),
    "a use of a name is another": ("shop/sales/orders.py", "round2(LIMIT)", "round2(registry)"),
    "the new package does something": ("shop/sales/__init__.py", "", "print()\n"),
    "a caller uses another name": ("two.py", "orders.total", "orders.main"),
    "a caller hands on another module": ("three.py", "shop.sales.orders as", "shop.money as"),
    "a caller is left with a string": ("three.py", "(so)", '("shop.sales.orders")'),
    "an import for its effect is lost": ("five.py", "import shop.sales.orders  # noqa: F401\n", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_it_is_no_move(fault: str) -> None:
    path, old, new = FAULTS[fault]
    found = judge(BEFORE, edited(SALES, path, old, new))
    assert found.verdict == RESIDUAL, explain(found)


IN_PACKAGES = {
    "a data file changed": ("market/shop/prices.json", '{"a": 2}\n'),
    "a stub changed": ("market/shop/orders.pyi", "LIMIT: str\n"),
    "a data file is gone": ("market/shop/prices.json", None),
    "a data file stayed": ("shop/prices.json", '{"a": 1}\n'),
    "a module stayed": ("shop/money.py", MONEY),
}


@pytest.mark.parametrize("fault", IN_PACKAGES)
def test_a_package_goes_with_all_its_files(fault: str) -> None:
    path, text = IN_PACKAGES[fault]
    after = {other: kept for other, kept in MARKET.items() if other != path}
    found = judge(SHOP, after if text is None else {**after, path: text})
    assert found.verdict == RESIDUAL, explain(found)


# What a module makes of its own place: the code, and whether that may go along with a module, and
# with a package that moves whole.
PLACES = {
    "a logger": ("import logging\n\nlog = logging.getLogger(__name__)\n", True, True),
    "it is handed on": ("def f(app):\n    return app(__name__)\n", True, True),
    "its own module": ("import sys\n\nme = sys.modules[__name__]\n", True, True),
    "the main guard": ('def f():\n    return __name__ == "__main__"\n', True, True),
    "a name made of it": ('X = __name__ + ".x"\n', False, False),
    "a name in a text": ('X = f"{__name__}.x"\n', False, False),
    "a part of it": ('X = __name__.split(".")[0]\n', False, False),
    "a comparison": ('X = __name__ == "shop.place"\n', False, False),
    "its package": ("def f(app):\n    return app(__package__)\n", False, True),
    "its names": ("X = sorted(globals())\n", True, True),
    "a file beside it": (
        "from pathlib import Path\n\nX = Path(__file__).parent / 'x.json'\n",
        False,
        True,
    ),
    "a file above it": (
        "from pathlib import Path\n\nX = Path(__file__).parent.parent / 'x'\n",
        False,
        False,
    ),
    "a folder that is followed further up": (
        "from pathlib import Path\n\nX = Path(__file__).parent\n\n\n"
        "def f():\n    return X.parent\n",
        False,
        False,
    ),
    "a path that leads up": (
        "import os\n\nX = os.path.join(os.path.dirname(__file__), '..', 'x')\n",
        False,
        False,
    ),
    "the path as it is": ("X = __file__\n", False, False),
    "a loader": ("X = __loader__\n", False, False),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_it_makes_of_its_own_place(place: str) -> None:
    code, alone, along = PLACES[place]
    code = f"{code}\n\ndef g():\n    return 1\n"
    tree = {"shop/__init__.py": "", "shop/place.py": code, "far/__init__.py": ""}
    found = judge(tree, relocated(tree, **{"shop/place.py": "far/place.py"}))
    assert (found.verdict == CERTIFIED) == alone, explain(found)
    found = judge(
        tree,
        relocated(
            tree,
            **{"shop/place.py": "far/shop/place.py", "shop/__init__.py": "far/shop/__init__.py"},
        ),
    )
    assert (found.verdict == CERTIFIED) == along, explain(found)


def test_a_package_on_the_way_that_does_something_is_reported() -> None:
    tree = {"a.py": "def f():\n    return 1\n", "p/__init__.py": "from p import loud\n"}
    tree["p/loud.py"] = "print('x')\n"
    found = judge(tree, relocated(tree, **{"a.py": "p/a.py"}))
    assert found.verdict == RESIDUAL
    assert "loading this runs p/loud.py:1 as well now" in explain(found)
    quiet = {**tree, "p/loud.py": "def g():\n    return 2\n"}
    assert judge(quiet, relocated(quiet, **{"a.py": "p/a.py"})).verdict == CERTIFIED


def test_tests_that_leave_their_fixtures_are_reported() -> None:
    tree = {
        "a/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return []\n",
        "a/test_x.py": "def test_x(cart):\n    assert not cart\n",
    }
    found = judge(tree, relocated(tree, **{"a/test_x.py": "b/test_x.py"}))
    assert "pytest gives no cart of a/conftest.py here" in explain(found)
    found = judge(tree, {path.replace("a/", "b/"): text for path, text in tree.items()})
    assert found.verdict == CERTIFIED, explain(found)
    assert judge(tree, relocated(tree, **{"a/test_x.py": "a/b/test_x.py"})).verdict == CERTIFIED


WARNS = '''\
"""Moved to `shop.sales.orders`, which gives the names of this module, with a warning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shop.sales.orders import Order as Order
    from shop.sales.orders import total as total

__all__ = ["Order", "total"]


def __getattr__(name: str) -> object:
    import importlib

    return getattr(importlib.import_module("shop.sales.orders"), name)
'''
REEXPORTS = '''\
"""Moved to `shop.sales.orders`."""

from shop.sales.orders import Order as Order
from shop.sales.orders import total as total

__all__ = ["Order", "total"]
'''


@pytest.mark.parametrize("left", [WARNS, REEXPORTS])
def test_what_is_left_at_the_old_path_is_read_and_nothing_else(left: str) -> None:
    caller = {"old.py": "from shop.orders import total\n\n\ndef f():\n    return total([])\n"}
    found = judge({**BEFORE, **caller}, {**SALES, **caller, "shop/orders.py": left})
    assert found.verdict == RESIDUAL
    assert {r.path for r in found.residuals} == {"shop/orders.py"}, explain(found)
    assert not found.unknowns
    assert found.relocated == (("shop/orders.py", "shop/sales/orders.py"),)


def test_a_name_that_is_not_given_at_the_old_path_is_missed() -> None:
    caller = {"old.py": "from shop.orders import main\n"}
    found = judge({**BEFORE, **caller}, {**SALES, **caller, "shop/orders.py": WARNS})
    assert any(r.path == "old.py" for r in found.residuals), explain(found)


F = "def f():\n    return 1\n"
HELPERS = {
    "a/__init__.py": "",
    "a/x/__init__.py": "",
    "a/helper.py": "def h():\n    return 1\n",
    "a/x/helper.py": "def h():\n    return 2\n",
}
TWO = {
    "a/__init__.py": "",
    "a/p.py": f"print(1)\n\n\n{F}",
    "a/q.py": f"print(2)\n\n\n{F}",
    "c.py": "import a.p\nimport a.q\n\nX = [a.p.f, a.q.f]\n",
}
MOVED_TWO = {path.replace("a/", "b/"): text.replace("a.", "b.") for path, text in TWO.items()}
TEST = "def test_x():\n    pass\n"
DOCTEST = 'def f():\n    """F.\n\n    >>> from a.p import f\n    """\n'
# What must not pass for a move, though every statement went along: before and after.
TRAPS: dict[str, tuple[Tree, Tree]] = {
    "a relative import meets another module of that name": (
        {**HELPERS, "a/m.py": f"from .helper import h\n\n\n{F}\nX = h\n"},
        {**HELPERS, "a/x/m.py": f"from .helper import h\n\n\n{F}\nX = h\n"},
    ),
    "two modules act in another order": (
        TWO,
        edited(MOVED_TWO, "c.py", "import b.p\nimport b.q", "import b.q\nimport b.p"),
    ),
    "two modules change places as values": (
        {
            "p.py": F,
            "q.py": "Y = 1\n",
            "c.py": "import p, q\n\n\ndef r(h):\n    h(p)\n    h(q)\n",
        },
        {
            "d/__init__.py": "",
            "d/p.py": F,
            "d/q.py": "Y = 1\n",
            "c.py": "from d import p, q\n\n\ndef r(h):\n    h(q)\n    h(p)\n",
        },
    ),
    "the old name is taken by another module": (
        {"a/p.py": F, "c.py": "import a.p\n\nX = a.p.f\n"},
        {
            "b/p.py": F,
            "a/p.py": F.replace("1", "2"),
            "c.py": "import b.p\n\nX = b.p.f\n",
        },
    ),
    "a text that names no module": (
        {**HELPERS, "a/p.py": F, "c.py": "from a.p import f\n\nX = f, 'p.f'\n"},
        {**HELPERS, "a/x/p.py": F, "c.py": "from a.x.p import f\n\nX = f, 'x.p.f'\n"},
    ),
    "a package is no longer run by its name": (
        {"a/__init__.py": "", "a/__main__.py": "print()\n", "a/p.py": F},
        {"b/__init__.py": "", "b/main.py": "print()\n", "b/p.py": F},
    ),
    "setup.py stands elsewhere": ({"setup.py": F}, {"tools/setup.py": F}),
    "a script leaves what lies beside it": (
        {"a/p.py": F, "a/run.py": "import p\n\nprint(p.f())\n"},
        {"a/p.py": F, "b/run.py": "import p\n\nprint(p.f())\n"},
    ),
    "tests are no longer found": ({"t/test_a.py": TEST}, {"t/check_a.py": TEST}),
    "tests are found": ({"t/a.py": TEST}, {"t/test_a.py": TEST}),
    "an example names the old place": ({"a/p.py": DOCTEST}, {"a/q.py": DOCTEST}),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_no_move_though_all_of_it_went(trap: str) -> None:
    found = judge(*TRAPS[trap])
    assert found.verdict == RESIDUAL, explain(found)


def test_two_modules_that_act_in_the_same_order_are_certified() -> None:
    found = judge(TWO, MOVED_TWO)
    assert found.verdict == CERTIFIED, explain(found)


def test_what_is_written_to_a_module_that_moved_is_the_same() -> None:
    write = "from shop import orders\n\n\ndef f(x):\n    orders.LIMIT = x\n"
    caller = {"six.py": write}
    after = write.replace("orders", "bills")
    found = judge({**BEFORE, **caller}, {**BESIDE, "six.py": after})
    assert found.verdict == CERTIFIED, explain(found)
    other = after.replace("bills.LIMIT", "bills.registry")
    assert judge({**BEFORE, **caller}, {**BESIDE, "six.py": other}).verdict == RESIDUAL
    rebound = write.replace(
        "def f(x):\n    orders.LIMIT", "def f(x):\n    global orders\n    orders"
    )
    found = judge({**BEFORE, "six.py": rebound}, {**BESIDE, "six.py": after})
    assert found.verdict == RESIDUAL, explain(found)


def test_a_package_whose_docstring_was_edited_has_moved_all_the_same() -> None:
    before = {"shop/__init__.py": '"""Shop."""\n', "shop/one.py": F}
    after = {"store/__init__.py": '"""Store."""\n', "store/one.py": F}
    found = judge(before, after)
    assert ("shop/__init__.py", "store/__init__.py") in found.relocated
    assert {r.path for r in found.residuals} == {"shop/__init__.py", "store/__init__.py"}
