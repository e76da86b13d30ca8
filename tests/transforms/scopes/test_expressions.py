"""Deep programs are walked without a deep stack."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from tests.transforms.scopes.rows import rows
from transforms.scopes.resolve import resolve
from transforms.syntax.parsing import parse

DEEP = rows(
    ("a sum of 900 terms", "+".join(["X"] * 900), 900),
    ("900 attributes", "X" + ".a" * 900, 1),
    ("900 negations", "-" * 900 + "X", 1),
    ("900 branches", "if a: X\n" + "elif b: X\n" * 900, 901),
    ("190 brackets", "[" * 190 + "X" + "]" * 190, 1),
    ("190 nested lambdas", "(lambda:" * 190 + "X" + ")" * 190, 1),
    ("95 nested functions", "".join(" " * i + "def f():\n" for i in range(95)) + " " * 95 + "X", 1),
)


@pytest.mark.parametrize(("source", "expected"), DEEP)
def test_depth_costs_no_stack(source: str, expected: int) -> None:
    tree = parse(source, "deep.py")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_depth() + 60)
    try:
        scopes = resolve(tree)
    finally:
        sys.setrecursionlimit(limit)
    assert len(scopes.of(None, "X")) == expected


def _depth() -> int:
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
