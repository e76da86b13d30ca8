"""A path that is no UTF-8 gives a readable plan, or a refusal that names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, lay_out
from tests.verify.histories import AFTER, BEFORE
from transforms.errors import Refusal
from transforms.paths import from_bytes
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.inference.infer import infer

ODD = from_bytes(b"shop/caf\xe9.py")
ORDERS, MONEY, TILL = "shop/orders.py", "shop/money.py", "till.py"
NO_CALLER = {path: text for path, text in BEFORE.items() if path != TILL}


def change(
    tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[GitTree, GitTree]:
    repo = checkout(tmp_path / "repo", {path: text.encode() for path, text in before.items()})
    base = GitTree(repo, "HEAD")
    for path in set(before) - set(after):
        (repo / path).unlink()
    lay_out(repo, {path: text.encode() for path, text in after.items()})
    return base, GitTree(repo, commit_all(repo))


BESIDE = {
    "a file beside the move": ({**BEFORE}, {**AFTER, ODD: "x = 1\n"}),
    "a file that is no Python": ({**BEFORE}, {**AFTER, "caf\udce9.txt": "x\n"}),
    "a caller that was edited": (
        {**BEFORE, ODD: "from shop.orders import Money\n"},
        {**AFTER, ODD: "from shop.money import Money\n\nprint(1)\n"},
    ),
    "a backslash in it": ({**BEFORE}, {**AFTER, "a\\b.txt": "x\n"}),
}


@pytest.mark.parametrize(("before", "after"), BESIDE.values(), ids=BESIDE)
def test_beside_the_move_the_plan_is_readable_and_the_path_is_left_over(
    tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    found = infer(*change(tmp_path, before, after))
    assert parse_plan(found.text.encode(), "plan").destinations
    (left,) = found.left
    assert left in after
    assert left not in found.text
    assert not found.replay.reproduces


OF_THE_MOVE = {
    "the source": (
        {**{p: t for p, t in NO_CALLER.items() if p != ORDERS}, ODD: BEFORE[ORDERS]},
        {"shop/__init__.py": "", ODD: AFTER[ORDERS], MONEY: AFTER[MONEY]},
    ),
    "the destination": (NO_CALLER, {**NO_CALLER, ORDERS: AFTER[ORDERS], ODD: AFTER[MONEY]}),
    "a whole module": (NO_CALLER, {"shop/__init__.py": "", ODD: BEFORE[ORDERS]}),
}


@pytest.mark.parametrize(("before", "after"), OF_THE_MOVE.values(), ids=OF_THE_MOVE)
def test_in_the_move_it_is_refused_by_name(
    tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    with pytest.raises(Refusal) as refused:
        infer(*change(tmp_path, before, after))
    assert refused.value.kind == "unsayable-path"
    assert refused.value.place is not None
    assert refused.value.place.path == ODD
    assert "repot certify" in refused.value.next_step
