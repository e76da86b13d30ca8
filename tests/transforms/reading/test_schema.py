"""Checked access to TOML: the lines of tables and keys, and the depth of keys before parsing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.effort import examples
from tests.transforms.reading.test_plan import PLANS, random_plans
from transforms.reading.load import dump_plan, parse_plan
from transforms.reading.model import Plan
from transforms.reading.schema import MOST_DOTS, clipped, deepest_key, locate_keys

LOCATED = {
    "a key at the top": ("\nformat = 1\n", {("format",): 2}),
    "a quoted key": ('"a b" = 1\n', {("a b",): 1}),
    "a key in a table": ("[t]\nk = 1\n", {("t",): 1, ("t", "k"): 2}),
    "a key in the second of two tables": (
        "[[t]]\nk = 1\n\n [[ t ]]\n  k = 2\n",
        {("t",): 1, ("t", 0): 1, ("t", 0, "k"): 2, ("t", 1): 4, ("t", 1, "k"): 5},
    ),
    "a table within a table, also by its first part": (
        "[a.b]\nk = 1\n", {("a",): 1, ("a.b",): 1, ("a.b", "k"): 2},
    ),
    "the first of two keys": ("k = 1\nk = 2\n", {("k",): 1}),
    "nothing inside a literal string": ("k = '''\n[t]\nx = 1\n'''\n", {("k",): 1}),
    "nothing inside a basic string": ('k = """\n[t]\nx = \\"""1\n"""\n', {("k",): 1}),
    "a key behind a string that ends in quotes": (
        "k = '''\na'''''\nx = \"\"\"\nb\"\"\"\"\"\ny = 1\n", {("k",): 1, ("x",): 3, ("y",): 5},
    ),
    "a key behind a comment with a quote": (
        "# '''\nk = 1 # \"\"\"\nx = 1\n", {("k",): 2, ("x",): 3},
    ),
    "a key behind a string with a comment sign": ("k = '#'\nx = \"#\"\n", {("k",): 1, ("x",): 2}),
    "nothing behind a string that never ends": ("k = '''\nx = 1\n", {("k",): 1}),
    "a key behind a string that ends with its line": ("k = 'a\nx = 1\n", {("k",): 1, ("x",): 2}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), LOCATED.values(), ids=LOCATED.keys())
def test_keys_are_located(text: str, lines: dict[tuple[str | int, ...], int]) -> None:
    assert locate_keys(text) == lines


DOTS = {
    "none": ("k = 1\n", (0, 1)),
    "those of one line": ("k = 1\na.b.c = 1\na.b = 2\n", (2, 2)),
    "those between quoted parts": ('"a.b" . "c" = 1\n', (1, 1)),
    "none in strings": ("k = 'a.b.c'\nx = \"a.b.c\"\n", (0, 1)),
    "none in comments": ("k = 1 # a.b.c\n", (0, 1)),
    "none in strings of several lines": ("k = '''\na.b.c\n'''\nx.y = 1\n", (1, 4)),
}


@pytest.mark.parametrize(("text", "dots"), DOTS.values(), ids=DOTS.keys())
def test_dots_are_counted_by_line(text: str, dots: tuple[int, int]) -> None:
    assert deepest_key(text) == dots


def tables_are_where_they_say(text: str, plan: Plan) -> None:
    lines = text.split("\n")
    authored = [item.line for item in plan.files] + [item.line for item in plan.edits]
    authored += [item.line for item in plan.deletions]
    for name, found in (
        ("source", [item.line for item in plan.sources]),
        ("destination", [item.line for item in plan.destinations]),
        ("package", [item.line for item in plan.packages]),
        ("shrink", [item.line for item in plan.shrink]),
        ("author", authored),
    ):
        assert [lines[line - 1] for line in found] == [f"[[{name}]]"] * len(found)
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_table_of_a_shipped_plan_is_on_its_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tables_are_where_they_say(text, parse_plan(text.encode(), "move.toml"))
    assert deepest_key(text)[0] <= MOST_DOTS


@settings(max_examples=examples(30))
@given(random_plans())
def test_every_table_of_any_written_plan_is_on_its_line(plan: Plan) -> None:
    text = dump_plan(plan)
    tables_are_where_they_say(text, parse_plan(text.encode(), "move.toml"))
    assert deepest_key(text)[0] <= MOST_DOTS


def test_what_a_message_quotes_is_bounded() -> None:
    assert clipped("x" * 120) == "x" * 120
    assert clipped("x" * 121) == "x" * 120 + "..."
