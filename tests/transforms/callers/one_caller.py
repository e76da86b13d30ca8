"""One caller of one move, for tables: `Basket` and `LIMIT` leave `shop.store` for `shop.basket`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.reading.load import parse_plan
from transforms.result.changes import EXECUTABLE, REGULAR, Blob

PLAN = """\
format = 1
formatters = "none"

[[source]]
module = "shop.store"

[[destination]]
module = "shop.basket"
symbols = ["Basket", "LIMIT"]
"""
STORE = """\
import json

LIMIT = 3


class Basket:
    held = json


def total():
    return 0
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The caller after the move, and `KIND:LINE` of its edits and notes, in order."""

    data: bytes
    edits: list[str]
    notes: list[str]

    @property
    def text(self) -> str:
        return self.data.decode()


def move_caller(content: str | bytes, path: str = "app.py", **more: str) -> Result:
    """Apply the plan to a tree with this caller; `more` are further files, by their stems."""
    data = content.encode() if isinstance(content, str) else content
    mode = EXECUTABLE if data.startswith(b"#!") else REGULAR
    files = {
        "shop/__init__.py": Blob(b"", REGULAR),
        "shop/store.py": Blob(STORE.encode(), REGULAR),
        **{f"shop/{stem}.py": Blob(text.encode(), REGULAR) for stem, text in more.items()},
        path: Blob(data, mode),
    }
    outcome = apply(parse_plan(PLAN.encode(), "plan.toml"), MemoryTree(files))
    change = outcome.changes.get(path)
    after = data if change is None or change.after is None else change.after.data
    edits = [f"{e.kind}:{e.line}" for c in outcome.callers if c.path == path for e in c.edits]
    notes = [f"{n.kind}:{n.place.line}" for n in outcome.notes if n.place.path == path]
    return Result(after, edits, notes)
