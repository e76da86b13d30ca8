"""A small repository with one of each: what tests of the whole mover split, when no case is enough.

Two sources, a destination that exists, a package with exports, guards, relative and local imports,
strings, documents, an entry point, a script, CRLF, Latin-1, and what only a person can settle.
"""

from __future__ import annotations

from pathlib import Path

from tests.transforms.checkouts import checkout
from transforms.result.changes import EXECUTABLE, Blob

PLAN = """\
format = 1
title = "Split the shop"
formatters = "none"
leave = ["vendor/*"]

[import_from]
Cart = "shop.basket"

[[source]]
module = "shop.store"
imports_back = "sorted"

[[source]]
module = "shop.codec"
emptied = "delete"

[[destination]]
module = "shop.basket.cart"
from = "shop.store"
symbols = ["LIMIT", "Cart", "total"]
copy = ["log"]

[[destination]]
module = "shop.prices"
from = "shop.store"
symbols = ["Price", "parse_price"]
after = "round_up"

[[destination]]
module = "shop.basket.wire"
from = "shop.codec"
symbols = ["pack", "unpack"]

[[package]]
module = "shop.basket"
exports = ["Cart"]

[[author]]
path = "NOTES"
text = '''
Split by hand.
Trailing blanks:\x20\x20
'''
"""

_STORE = '''\
"""The shop's store."""

from __future__ import annotations

import logging
import os
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from .codec import pack, unpack
from .prices import round_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

try:
    import simplejson as json
except ImportError:
    import json

log = logging.getLogger(__name__)

# How many lines a cart takes.
LIMIT = 100


class Price(NamedTuple):
    """An amount of money, \u00e9 included."""

    amount: Decimal
    currency: str


def parse_price(text: str) -> Price:
    amount, _, currency = text.partition(" ")
    return Price(round_up(Decimal(amount)), currency)


class Cart:
    """What a customer takes."""

    def __init__(self, lines: Iterable[Price]) -> None:
        self.lines = list(lines)[:LIMIT]
        log.debug("a cart of %d", len(self.lines))

    def dump(self) -> bytes:
        return pack(json.dumps([str(line.amount) for line in self.lines]))


def total(cart: Cart) -> Decimal:
    return sum((line.amount for line in cart.lines), Decimal())


def load(path: str) -> Sequence[Price]:
    with open(os.path.join(path, "cart"), "rb") as file:
        return [parse_price(line) for line in json.loads(unpack(file.read()))]


def show(cart: Cart) -> None:
    print(total(cart), LIMIT)
'''

_CODEC = """\
import struct
import zlib


def pack(text):
    data = zlib.compress(text.encode())
    return struct.pack("!I", len(data)) + data


def unpack(data):
    (size,) = struct.unpack_from("!I", data)
    return zlib.decompress(data[4 : 4 + size]).decode()
"""

_PRICES = """\
from decimal import ROUND_UP


def round_up(amount):
    return amount.quantize(1, rounding=ROUND_UP)


def last():
    return None
"""

_TEST = '''\
"""Tests; see :class:`shop.store.Cart`."""

import unittest
from unittest import mock

import shop.store
from shop.codec import (
    pack,
    unpack,
)
from shop.store import Cart, LIMIT, load, total


class StoreTest(unittest.TestCase):
    @mock.patch("shop.store.total")
    def test_total(self, fake):
        from shop.store import Price as Cost

        self.assertEqual(shop.store.Cart([]).lines, [])
        self.assertEqual(unpack(pack("x")), "x")
        self.assertIsNotNone((Cart, Cost, LIMIT, load, total))

    def test_dynamic(self):
        names = {"cart": "shop.store.Cart", "f": f"shop.store.total {1}"}
        __import__("shop.store")
        return names
'''

FILES: dict[str, Blob] = {
    "pyproject.toml": Blob(b'[project.scripts]\nshop = "shop.store:total"\n'),
    "README.rst": Blob(b"Shop\n====\n\n:func:`shop.store.total` and shop.store.Cart.\n"),
    "bin/till": Blob(
        b"#!/usr/bin/env python3\nimport shop.store as store\n\nstore.total(store.Cart([]))\n",
        EXECUTABLE,
    ),
    "shop/__init__.py": Blob(b"from .store import Cart, load\n\n__all__ = ['Cart', 'load']\n"),
    "shop/store.py": Blob(_STORE.encode()),
    "shop/codec.py": Blob(_CODEC.encode()),
    "shop/prices.py": Blob(_PRICES.encode()),
    "shop/windows.py": Blob(b"from shop.store import (\r\n    Cart,\r\n    load,\r\n)\r\n"),
    "shop/old.py": Blob(
        "# -*- coding: latin-1 -*-\nfrom shop.store import total  # \xe9\n".encode("latin-1")
    ),
    "shop/\u00fcber.py": Blob(b"import shop.codec\n\nx = shop.codec.pack\n"),
    "tests/test_store.py": Blob(_TEST.encode()),
    "vendor/copy.py": Blob(b"from shop.store import Cart\n"),
}


def make_shop(directory: Path) -> Path:
    """Lay the repository out, commit it, and put the plan beside it as `DIRECTORY.toml`."""
    directory.with_suffix(".toml").write_bytes(PLAN.encode())
    return checkout(directory, FILES)
