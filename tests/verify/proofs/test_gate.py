"""The gate of `repot apply`: honest moves pass, what breaks is not written until it is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import BEFORE, PLAN
from verify import cli
from verify.proofs import adapter, part

ORDERS = '''\
"""Orders, and all that grew around them."""

import json
import logging
from decimal import Decimal

logger = logging.getLogger(__name__)

# The smallest amount.
CENT = Decimal("0.01")


class Money:
    def __init__(self, amount):
        self.amount = Decimal(amount).quantize(CENT)


def parse(text):
    logger.debug("parsing %s", text)
    return json.loads(text)


class Order:
    def __init__(self, text):
        self.total = Money(parse(text)["total"])
'''
SHOP = {
    "shop/__init__.py": "",
    "shop/orders.py": ORDERS,
    "shop/api.py": (
        "from shop.orders import Money, Order\n\n\n"
        "def total(text):\n    return Order(text).total or Money(0)\n"
    ),
}
LAZY = {
    "a lazy function": (
        "def __getattr__(name):\n    if name == 'Order':\n        from shop.orders import Order\n\n"
        "        return Order\n    raise AttributeError(name)\n"
    ),
    "a lazy table": (
        "import importlib\n\n_LAZY = {'Order': 'shop.orders', 'Money': 'shop.orders'}\n\n\n"
        "def __getattr__(name):\n    if name in _LAZY:\n"
        "        return getattr(importlib.import_module(_LAZY[name]), name)\n"
        "    raise AttributeError(name)\n"
    ),
    "nothing lazy": "",
}
SHORT = (
    'format = 1\nformatters = "none"\n\n[[source]]\nmodule = "shop.orders"\n\n'
    '[[destination]]\nmodule = "shop.money"\nsymbols = ["CENT", "Money"]\n'
)
LONG = (
    f'{SHORT}\n[[destination]]\nmodule = "shop.parsing"\nsymbols = ["parse"]\ncopy = ["logger"]\n'
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(files: Mapping[str, str], plan: str, *options: str) -> tuple[int, str, str]:
        for path, text in files.items():
            (tmp_path / "repo" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "repo" / path).write_text(text, encoding="utf-8")
        (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
        given = ["apply", str(tmp_path / "plan.toml"), "--repo", str(tmp_path / "repo"), *options]
        code = cli.run(given)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.mark.parametrize("plan", [SHORT, LONG], ids=["the short plan", "the long plan"])
@pytest.mark.parametrize("lazy", LAZY.values(), ids=LAZY)
def test_the_examples_of_the_pages_pass(run: Run, tmp_path: Path, plan: str, lazy: str) -> None:
    code, out, err = run({**SHOP, "shop/__init__.py": lazy}, plan, "--write")
    assert (code, err) == (0, ""), out + err
    assert "Verdict: CERTIFIED" in out
    assert (tmp_path / "repo/shop/money.py").is_file()


OLD = {
    "a module": '[[move]]\nmodule = "shop.orders"\nto = "shop.sales"\nold = "warn"\n',
    "symbols": (
        '[[source]]\nmodule = "shop.orders"\nold = "warn"\n\n'
        '[[destination]]\nmodule = "shop.parsing"\nsymbols = ["Order"]\ncopy = ["logger"]\n'
    ),
}


def test_a_copy_that_the_plan_lists_is_accepted_with_what_is_done_to_it_at_once(
    run: Run, tmp_path: Path
) -> None:
    orders = (
        "import logging\n\nlogger = logging.getLogger(__name__)\n"
        "logger.setLevel(logging.INFO)\n\n\n"
        "def parse(text):\n    logger.debug('parsing')\n    return text\n\n\n"
        "def pay():\n    logger.debug('paying')\n"
    )
    plan = (
        'format = 1\nformatters = "none"\n\n[[source]]\nmodule = "shop.orders"\n\n'
        '[[destination]]\nmodule = "shop.parsing"\nsymbols = ["parse"]\ncopy = ["logger"]\n'
    )
    code, out, err = run({"shop/__init__.py": "", "shop/orders.py": orders}, plan, "--write")
    assert code == 0, out + err
    assert "in authored lines or listed copies" in out


@pytest.mark.parametrize("plan", OLD.values(), ids=OLD)
def test_old_names_that_the_plan_keeps_pass(run: Run, tmp_path: Path, plan: str) -> None:
    code, out, err = run(SHOP, f'format = 1\nformatters = "none"\n\n{plan}', "--write")
    assert (code, err) == (0, ""), out + err
    assert "def __getattr__" in (tmp_path / "repo/shop/orders.py").read_text()


BREAKS = {
    **BEFORE,
    "till.py": "import shop.orders\n\nprint(sorted(vars(shop.orders)))\nprint(shop.orders.pay())\n",
    "shop/orders.py": f"{BEFORE['shop/orders.py']}\n\nKNOWN = [name for name in globals()]\n",
}


def test_what_may_break_is_shown_and_not_written(run: Run, tmp_path: Path) -> None:
    code, out, err = run(BREAKS, PLAN, "--write")
    assert code in (1, 2)
    assert "Nothing was written: " in out + err
    assert "[[accept]]" in out + err
    assert not (tmp_path / "repo/shop/money.py").exists()


def test_the_lines_to_paste_let_it_pass(run: Run, tmp_path: Path) -> None:
    _, _, _ = run(BREAKS, PLAN, "--write", "--json", str(tmp_path / "report.json"))
    data: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    assert not data["written"]
    pasted = "\n\n".join(data["judgement"]["paste"]).replace("...", "The list is printed alone.")
    code, out, err = run(BREAKS, f"{PLAN}\n{pasted}\n", "--write")
    assert code == 0, out + err
    accepted = len(data["judgement"]["paste"])
    noun = "accepted finding" + ("s" if accepted > 1 else "")
    assert f"0 authored lines, {accepted} {noun}." in out
    assert " accepted by the plan." in out
    assert (tmp_path / "repo/shop/money.py").is_file()


def test_other_modes_show_the_verdict_and_keep_their_exit_codes(run: Run) -> None:
    code, out, _ = run(BREAKS, PLAN)
    assert (code, "to accept or to mend." in out) == (0, True)
    code, out, _ = run(BREAKS, PLAN, "--check")
    assert (code, "to accept or to mend." in out) == (1, True)
    code, out, err = run(BREAKS, PLAN, "--diff")
    assert (code, err.startswith("Verdict: ")) == (0, True)
    assert "Verdict" not in out


def test_authored_lines_are_accepted_by_standing_there_and_counted(
    run: Run, tmp_path: Path
) -> None:
    edit = (
        '\n[[author]]\nfile = "till.py"\nold = "print(Money, pay)"\nnew = "print(Money, pay, 2)"\n'
    )
    code, out, err = run(BEFORE, PLAN + edit, "--write")
    assert code == 0, out + err
    assert "1 in authored lines or listed copies" in out
    assert (tmp_path / "repo/till.py").read_text().endswith("print(Money, pay, 2)\n")


def test_what_authored_lines_break_elsewhere_is_not_accepted(run: Run) -> None:
    edit = '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "def paid():"\n'
    code, out, err = run(BEFORE, PLAN + edit, "--write")
    assert code == 1, out + err
    assert "Nothing was written: behaviour would differ." in out


GONE = '\n[[author]]\nfile = "{}"\ndelete = true\n'


def test_a_deleted_module_that_somebody_still_imports_breaks(run: Run, tmp_path: Path) -> None:
    files = {**BEFORE, "old.py": "OLD = 1\n", "user.py": "from old import OLD\n"}
    code, out, err = run(files, PLAN + GONE.format("old.py"), "--write")
    assert code == 1, out + err
    assert "user.py:1: old.OLD: this imports OLD, which is no longer there" in out
    assert (tmp_path / "repo/old.py").exists()


def test_what_a_deleted_file_held_is_accepted_by_its_table_counted_and_comes_back(
    run: Run, tmp_path: Path
) -> None:
    files = {**BEFORE, "old.py": "import json\n\nprint(json)\n", "old.csv": "a\nb\n"}
    plan = PLAN + GONE.format("old.py") + GONE.format("old.csv")
    code, out, err = run(files, plan, "--write")
    assert code == 0, out + err
    assert "5 authored lines, 5 of them in 2 deleted files" in out
    assert not (tmp_path / "repo/old.py").exists()
    code, out, err = run({}, plan, "--undo")
    assert code == 0, out + err
    assert (tmp_path / "repo/old.py").read_text() == files["old.py"]


def test_text_never_stops(run: Run) -> None:
    edit = (
        '\n[[author]]\nfile = "shop/money.py"\nold = "import decimal"\n'
        'new = "# Amounts.\\nimport decimal"\n'
    )
    code, out, err = run(BEFORE, PLAN + edit, "--write")
    assert code == 0, out + err


def test_what_nothing_needs_is_refused(run: Run) -> None:
    table = '\n[[accept]]\nkind = "breaks"\nmodule = "shop.money"\nreason = "Why not."\n'
    code, _, err = run(BEFORE, PLAN + table, "--write")
    assert (code, "refused (accept-unneeded)" in err) == (2, True)


def test_what_is_not_judged_cannot_be_written(run: Run) -> None:
    code, out, _ = run(BEFORE, PLAN, "--no-certify")
    assert (code, "Not judged (--no-certify), so nothing can be written." in out) == (0, True)
    code, _, err = run(BEFORE, PLAN, "--no-certify", "--write")
    assert (code, "--no-certify judges nothing" in err) == (2, True)


def test_of_a_large_tree_the_part_that_names_the_move_is_judged(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST", 100)
    code, out, _ = run(BREAKS, PLAN, "--write", "--json", str(tmp_path / "report.json"))
    assert code in (1, 2)
    said = next(line for line in out.splitlines() if line.startswith("Judged in part, "))
    assert said.endswith(" other Python files: 2 findings there; 2 findings to accept or to mend.")
    assert "Nothing was written: " in out
    data: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    assert (data["written"], data["judgement"]["stops"]) == (False, 2)
    pasted = "\n\n".join(data["judgement"]["paste"]).replace("...", "The list is printed alone.")
    code, out, err = run(BREAKS, f"{PLAN}\n{pasted}\n", "--write")
    assert code == 0, out + err
    assert " accepted by the plan." in out


def test_a_part_in_which_nothing_breaks_is_not_called_certified(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST", 100)
    needless = '\n[[accept]]\nkind = "breaks"\nmodule = "shop.money"\nreason = "Of the whole."\n'
    code, out, err = run(BEFORE, PLAN + needless, "--write", "--json", str(tmp_path / "r.json"))
    assert code == 0, out + err
    assert "Judged in part, the change and " in out
    assert "CERTIFIED" not in out
    data: dict[str, Any] = json.loads((tmp_path / "r.json").read_text())
    assert (data["written"], data["judgement"]["certificate"]) == (True, "UNKNOWN")


def test_a_change_that_is_too_large_for_a_part_is_written_unjudged(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST", 100)
    monkeypatch.setattr(part, "ROOM", 10)
    code, out, err = run(BREAKS, PLAN, "--diff")
    assert (code, err.startswith("Not judged: too large. The tree holds more")) == (0, True)
    code, out, _ = run(BREAKS, PLAN, "--write", "--json", str(tmp_path / "report.json"))
    assert (code, "Verdict" in out, "Not judged: too large." in out) == (0, False, True)
    data: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    assert data["written"]
    assert data["judgement"] is None
    assert data["unjudged"].startswith("Not judged: ")
