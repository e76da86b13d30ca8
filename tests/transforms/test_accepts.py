"""`[[accept]]`: a judgement is taken where it is needed, and refused where it is not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Accepted, Outcome

A = "def g():\n    return 1\n\n\ndef f():\n    return g()\n\n\ndef h():\n    return f()\n"
CYCLE = {"shop/__init__.py": "", "shop/a.py": A, "shop/use.py": "import shop.a\n"}
MOVE_F = '[[source]]\nmodule = "shop.a"\n\n[[destination]]\nmodule = "shop.b"\nsymbols = ["f"]\n'
WHOLE = {
    "shop/__init__.py": "",
    "shop/a.py": "def f():\n    return 1\n",
    "shop/new/__init__.py": "from shop.use import u\n",
    "shop/use.py": "import shop.a\n\n\ndef u():\n    return shop.a.f()\n",
}
MOVE_A = '[[move]]\nmodule = "shop.a"\nto = "shop.new.a"\n'
HIDES = {"shop/__init__.py": "", "shop/a.py": A, "shop/b/run.py": "print(1)\n"}
MOVE_TO_FILE = (
    '[[source]]\nmodule = "shop.a"\n\n[[destination]]\npath = "shop/b.py"\nsymbols = ["h"]\n'
)
BUILTIN = {
    "shop/__init__.py": "",
    "shop/a.py": "def max(x):\n    return x\n",
    "shop/b.py": "def top():\n    return max(1, 2)\n",
}
MOVE_MAX = MOVE_F.replace('"f"', '"max"')


def accept(kind: str, module: str, symbol: str = "") -> str:
    named = f'symbol = "{symbol}"\n' if symbol else ""
    return f'\n[[accept]]\nkind = "{kind}"\nmodule = "{module}"\n{named}reason = "I have looked."\n'


def applied(files: Mapping[str, str], plan: str) -> Outcome:
    tree = MemoryTree({path: Blob(text.encode()) for path, text in files.items()})
    return apply(parse_plan(f"format = 1\n\n{plan}".encode(), "plan.toml"), tree)


JUDGEMENTS = {
    "a cycle that symbols make": (CYCLE, MOVE_F, "cycle", "shop.a", ""),
    "a cycle that a whole module makes": (WHOLE, MOVE_A, "cycle", "shop.use", ""),
    "a folder that is hidden": (HIDES, MOVE_TO_FILE, "clash", "shop.b", ""),
    "a builtin that is hidden": (BUILTIN, MOVE_MAX, "clash", "shop.b", "max"),
}


@pytest.mark.parametrize(
    ("files", "plan", "kind", "module", "symbol"), JUDGEMENTS.values(), ids=JUDGEMENTS
)
def test_a_judgement_is_refused_with_the_lines_to_paste_and_taken_with_them(
    files: dict[str, str], plan: str, kind: str, module: str, symbol: str
) -> None:
    with pytest.raises(Refusal) as refused:
        applied(files, plan)
    assert refused.value.kind == kind
    for line in accept(kind, module, symbol).strip().split("\n")[:-1]:
        assert f"`{line}`" in refused.value.next_step
    outcome = applied(files, plan + accept(kind, module, symbol))
    assert outcome.changes
    assert outcome.accepted == (Accepted(kind, module, symbol, "I have looked."),)


def test_by_path_too() -> None:
    assert applied(HIDES, MOVE_TO_FILE + accept("clash", "shop/b.py")).changes


@pytest.mark.parametrize(
    "table",
    [
        accept("cycle", "shop.use"),
        accept("cycle", "shop.b", "f"),
        accept("clash", "shop.b"),
        accept("cycle", "shop.b") + accept("clash", "shop.b"),
    ],
)
def test_what_nothing_needs_is_refused(table: str) -> None:
    with pytest.raises(Refusal) as refused:
        applied(CYCLE, MOVE_F + table)
    assert refused.value.kind in {"accept-unneeded", "cycle"}
    files = {**CYCLE, "shop/a.py": A.replace("return f()", "return 2")}
    with pytest.raises(Refusal) as refused:
        applied(files, MOVE_F + table)
    assert refused.value.kind == "accept-unneeded"
    assert refused.value.place is not None
    assert refused.value.place.line is not None


def test_what_the_verdict_asks_for_is_no_matter_of_the_mover() -> None:
    files = {**CYCLE, "shop/a.py": A.replace("return f()", "return 2")}
    found = applied(files, MOVE_F + accept("breaks", "shop.b", "f"))
    assert [item.kind for item in found.accepted] == ["breaks"]
