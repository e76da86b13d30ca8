"""Late tables that are written in a way that cannot be edited safely are noted, never broken."""

from __future__ import annotations

import ast

import pytest

from tests.transforms.callers.test_grammars import PLAN, SHOP
from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob

HEAD = "def __getattr__(name): ...\n"
NOTED = {
    "brackets around a list": 'A = {"orders": (["Money", "Order"])}\n',
    "a raw string": 'A = {r"orders": ["Money", "Order"]}\n',
    "a comment behind the last entry": 'A = {"orders": ["Money", "Order"]  # why\n}\n',
    "a comment beside a name": 'A = {"orders": [\n    "Money",  # why\n    "Order",\n]}\n',
    "a list with more in it": 'A = {"orders": [*X, "Money"]}\n',
    "a new module that has an entry": 'A = {"orders": ["Money", "Order"], "money": ["x"]}\n',
}
REWRITTEN = {
    "a set, and a comma at the end": (
        'A = {"orders": {"Money"}, "b": 1,}\n',
        'A = {"money": {"Money"}, "b": 1,}\n',
    ),
    "a tuple of one": ('A = {"orders": ("Money",)}\n', 'A = {"money": ("Money",)}\n'),
    "a tuple that leaves one": (
        'A = {"orders": ("Money", "Order")}\n',
        'A = {"orders": ("Order",), "money": ("Money",)}\n',
    ),
    "another table inside": (
        'A = {"orders": ["Money", "Order"], **{}}\n',
        'A = {"orders": ["Order"], "money": ["Money"], **{}}\n',
    ),
    "a module in brackets": ('A = {"Money": ("orders")}\n', 'A = {"Money": ("money")}\n'),
}


def _moved(text: str) -> tuple[str, list[str]]:
    files = {**SHOP, "shop/__init__.py": HEAD + text}
    tree = MemoryTree({path: Blob(content.encode()) for path, content in files.items()})
    outcome = apply(parse_plan(PLAN.format(2).encode(), "plan.toml"), tree)
    blob = outcome.changes.after().get("shop/__init__.py")
    after = HEAD + text if blob is None else blob.data.decode()
    ast.parse(after)
    return after.removeprefix(HEAD), [note.kind for note in outcome.notes]


@pytest.mark.parametrize("text", NOTED.values(), ids=NOTED.keys())
def test_noted(text: str) -> None:
    assert _moved(text) == (text, ["string"])


@pytest.mark.parametrize(("text", "after"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_rewritten(text: str, after: str) -> None:
    assert _moved(text) == (after, [])
