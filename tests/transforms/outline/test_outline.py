"""A first plan: what is in a module, what hangs together, and which cuts make a cycle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.transforms.case import MemoryTree
from transforms import engine
from transforms.errors import Refusal
from transforms.formatters import no_formatters
from transforms.outline.text import Outline, outlined
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from verify import cli

SOURCE = '''\
"""Orders."""

import logging

logger = logging.getLogger(__name__)

LIMIT = 3
RATE = 2


class Base:
    size = LIMIT


def _helper():
    return Base


class Money(Base):
    def make(self):
        logger.info("made")
        return _helper()


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def left(a: "Purse") -> int:
    return even(a)


class Purse(Base):
    def holds(self):
        return Money()


def one():
    return 1


def two():
    return 2


TABLE = {"one": one, "two": two}

if __name__ == "__main__":
    print(left(2))
'''
FILES = {"shop/__init__.py": "", "shop/orders.py": SOURCE}


def tree(files: Mapping[str, str]) -> MemoryTree:
    return MemoryTree({path: Blob(text.encode()) for path, text in files.items()})


def outline(source: str = SOURCE, name: str = "shop.orders") -> Outline:
    return outlined(tree({**FILES, "shop/orders.py": source}), name)


def grouped(found: Outline) -> list[list[str]]:
    return [
        [name for n in group.members for name in found.graph.nodes[n].names]
        for group in found.groups
    ]


def test_what_hangs_together_is_a_group() -> None:
    assert grouped(outline()) == [
        ["LIMIT", "Base", "_helper", "Money"],  # Purse, which uses the first two, uses Money too
        ["RATE"],
        ["even", "odd"],  # larger than their one user
        ["left"],
        ["Purse"],
        ["one", "two", "TABLE"],
    ]
    larger = SOURCE.replace("    size = LIMIT\n", "    size = LIMIT\n" * 20)
    assert grouped(outline(larger))[:2] == [["LIMIT", "Base"], ["RATE"]]


def test_each_definition_has_its_size_and_who_uses_whom() -> None:
    text = outline().text
    assert "#    11      2  Base\n#               uses LIMIT\n" in text
    assert "#               used by _helper, Money and Purse\n" in text
    assert "#     5      1  logger\n#               copied to whoever uses it\n" in text
    assert "# What binds no name stays: 1 statement, line 52.\n" in text


def test_it_is_a_plan_of_the_newest_format_that_moves_nothing() -> None:
    text = outline().text
    plan = parse_plan(text.encode(), "plan.toml")
    assert (plan.format, plan.destinations) == (2, ())
    assert [str(source.module) for source in plan.sources] == ["shop.orders"]


def chosen(text: str, *numbers: int) -> str:
    """The plan with some of its groups taken out of the comments."""
    head, *groups = re.split(r"(?m)^(?=# Group \d+:)", text)
    for number in numbers:
        at = groups[number - 1].index("# [[destination]]")
        said, fields = groups[number - 1][:at], groups[number - 1][at:]
        groups[number - 1] = said + re.sub(r"(?m)^# ?", "", fields)
    return head + "".join(groups)


def cuts(found: Outline, *numbers: int) -> str:
    """Move some groups, and say how that ended: `made`, or the kind of the refusal."""
    plan = parse_plan(chosen(found.text, *numbers).encode(), "plan.toml")
    try:
        engine.apply(plan, tree(FILES), formatters=no_formatters())
    except Refusal as refusal:
        return refusal.kind
    return "made"


def test_the_mover_refuses_just_those_cuts_that_are_said_to_make_a_cycle() -> None:
    found = outline()
    said = {g.number: "cycle" if g.makes_cycle else "made" for g in found.groups}
    assert set(said.values()) == {"cycle", "made"}
    assert {number: cuts(found, number) for number in said} == said


def test_with_the_groups_that_are_named_no_cut_makes_one() -> None:
    found = outline()
    for group in found.groups:
        assert cuts(found, group.number, *group.with_groups) == "made"
    assert cuts(found, *(group.number for group in found.groups)) == "made"


def test_new_modules_have_names_that_nobody_has() -> None:
    files = {**FILES, "shop/money/__init__.py": ""}
    text = outlined(tree(files), "shop.orders").text
    names = re.findall(r'(?m)^# module = "(.+)"$', text)
    assert names[:3] == ["shop.money_2", "shop.constants", "shop.even"]
    assert len(names) == len(set(names)) == 6
    by_path = outlined(tree(files), "shop/orders.py").text
    assert '# module = "shop/money_2.py"\n' in by_path


@pytest.mark.parametrize(
    ("source", "groups"),
    [
        ("", []),
        ("import os\nprint(os)\n", []),
        ("a = b = 1\n", [["a", "b"]]),
        ("def f(): ...\nf.x = 1\n", [["f"]]),
        ("if 1:\n    def f(): ...\nelse:\n    f = None\n", [["f"]]),
        ("class class_: ...\nclass Class: ...\n", [["class_"], ["Class"]]),
        ("def \u03b1(): ...\n", [["\u03b1"]]),
    ],
    ids=["an empty module", "no definition", "two names", "a mutation", "branches", "keywords",
         "letters of another alphabet"],
)  # fmt: skip
def test_odd_modules_have_plans_too(source: str, groups: list[list[str]]) -> None:
    found = outline(source)
    assert grouped(found) == groups
    plan = parse_plan(chosen(found.text, *range(1, len(groups) + 1)).encode(), "plan.toml")
    assert [list(destination.symbols) for destination in plan.destinations] == groups


def test_a_long_chain_of_uses_needs_no_recursion() -> None:
    chain = "".join(f"def f{n}():\n    return f{n + 1}()\n\n\n" for n in range(1500))
    found = outline(f"{chain}def f1500():\n    return f0()\n")
    assert len(found.groups) == 1


def test_the_command_prints_the_plan_or_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["plan", "shop.orders"]) == 0
    assert capsys.readouterr().out == outline().text
    assert cli.run(["plan", "shop/orders.py", "-o", "split.toml"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("Written: split.toml. It moves nothing until you say what leaves.\n")
    assert 'module = "shop/orders.py"' in (tmp_path / "split.toml").read_text()
    assert cli.run(["plan", "shop.order"]) == 2
    assert "shop.orders" in capsys.readouterr().err
    assert cli.run(["plan", "shop.orders", "--json", "-"]) == 2
