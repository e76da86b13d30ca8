"""`repot infer`: the plan that is found replays, and is literal only where nothing derives."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, History
from transforms.engine import apply
from transforms.formatters import no_formatters
from transforms.reading.load import parse_plan
from transforms.reading.model import Plan
from transforms.tree import GitTree
from verify import cli
from verify.inference.infer import Inferred, infer
from verify.inference.remainder import exact_edits

Files = dict[str, str]
ORDERS = (
    "import json\nimport logging\n\nlogger = logging.getLogger(__name__)\n\nLIMIT = 3\n\n\n"
    "class Money:\n    limit = LIMIT\n\n\ndef parse(text):\n    logger.info(text)\n"
    "    return Money, json.loads(text)\n\n\ndef show():\n    logger.info(LIMIT)\n"
)
TILL = "from shop.orders import LIMIT, Money, parse, show\n\nprint(LIMIT, Money, parse, show)\n"
SHOP = {"shop/__init__.py": "", "shop/orders.py": ORDERS, "till.py": TILL}
TOOLS = "def first():\n    return 1\n\n\ndef last():\n    return 2\n"
HEAD = 'format = 1\nformatters = "none"\n\n[[source]]\nmodule = "shop.orders"\n'
PLANS = {
    "a class with its constant": (
        {},
        '[[destination]]\nmodule = "shop.money"\nsymbols = ["LIMIT", "Money"]\n',
    ),
    "a helper that is copied": (
        {},
        '[[destination]]\nmodule = "shop.reading"\nsymbols = ["parse"]\ncopy = ["logger"]\n',
    ),
    "into a module that is there, above a symbol": (
        {"shop/tools.py": TOOLS},
        '[[destination]]\nmodule = "shop.tools"\nsymbols = ["LIMIT", "Money"]\nbefore = "last"\n',
    ),
    "imports in place": (
        {},
        'imports_back = "in place"\n'
        '[[destination]]\nmodule = "shop.money"\nsymbols = ["LIMIT", "Money"]\n',
    ),
    "two destinations": (
        {},
        '[[destination]]\nmodule = "shop.money"\nsymbols = ["LIMIT", "Money"]\n'
        '[[destination]]\nmodule = "shop.reading"\nsymbols = ["parse"]\ncopy = ["logger"]\n',
    ),
    "a module that turns into a package": (
        {},
        'becomes = "shop.orders.order"\n'
        '[[destination]]\nmodule = "shop.orders.money"\nsymbols = ["LIMIT", "Money"]\n'
        '[[package]]\nmodule = "shop.orders"\nexports = ["LIMIT", "Money", "parse", "show"]\n',
    ),
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


def made(history: History, before: Mapping[str, str], plan: str) -> tuple[GitTree, Files]:
    """The base, and the files that a plan makes of it."""
    base = GitTree(history.folder, history.commit(before))
    changes = apply(parse_plan(plan.encode(), "p.toml"), base, formatters=no_formatters()).changes
    after = dict(before)
    for path, blob in changes.after().items():
        if blob is None:
            del after[path]
        else:
            after[path] = blob.data.decode()
    return base, after


def found(history: History, base: GitTree, after: Mapping[str, str]) -> Inferred:
    return infer(base, GitTree(history.folder, history.commit(after)))


def moves(plan: Plan) -> set[tuple[str, tuple[str, ...]]]:
    return {(item.module.text, (*item.symbols, *item.carry)) for item in plan.destinations}


@pytest.mark.parametrize(("more", "plan"), PLANS.values(), ids=PLANS)
def test_the_plan_behind_a_move_is_found(history: History, more: Files, plan: str) -> None:
    base, after = made(history, {**SHOP, **more}, HEAD + plan)
    result = found(history, base, after)
    assert result.replay.reproduces
    assert result.plan.authored_lines == 0
    assert moves(result.plan) == moves(parse_plan((HEAD + plan).encode(), "p.toml"))
    assert result.notes == result.left == ()


def test_what_no_operation_explains_is_authored_and_counted(history: History) -> None:
    base, after = made(history, BEFORE, PLAN)
    after["till.py"] = after["till.py"].replace("print(Money, pay)", "print(pay)\nprint(Money)")
    after["notes.txt"] = "Money moved.\n"
    result = found(history, base, after)
    assert result.replay.reproduces
    assert result.plan.authored_lines == 3
    assert [str(file.file) for file in result.plan.files] == ["notes.txt"]
    assert [str(edit.file) for edit in result.plan.edits] == ["till.py"]
    assert "# Not derived by any rule: read these lines." in result.text


GONE: dict[str, tuple[Files, int]] = {
    "a module": ({"old.py": "def old():\n    return 1\n"}, 2),
    "data": ({"old.txt": "x\n", "LICENCE": "y\n"}, 2),
    "an empty file": ({"shop/py.typed": ""}, 1),
    "a package": ({"old/__init__.py": "", "old/a.py": "A = 1\n"}, 2),
}


@pytest.mark.parametrize(("files", "lines"), GONE.values(), ids=GONE)
def test_a_deletion_beside_the_move_is_authored_and_counted(
    files: Files, lines: int, history: History
) -> None:
    base, after = made(history, {**BEFORE, **files}, PLAN)
    result = found(history, base, {path: text for path, text in after.items() if path not in files})
    assert result.holds
    assert {str(item.file) for item in result.plan.deletions} == files.keys()
    assert result.replay.outcome.authored_lines == lines


REPLACED: dict[str, tuple[str, str]] = {
    "an empty file that gets text": ("", "X = 1\n"),
    "other line ends": ("X = 1\r\nY = 2\r\n", "X = 1\nY = 2\n"),
    "a file that is emptied": ("X = 1\n", ""),
}


@pytest.mark.parametrize(("old", "new"), REPLACED.values(), ids=REPLACED)
def test_what_no_edit_can_say_is_replaced(old: str, new: str, history: History) -> None:
    base, after = made(history, {**BEFORE, "beside.py": old}, PLAN)
    result = found(history, base, {**after, "beside.py": new})
    assert result.holds
    assert not result.left


def test_edits_of_lines_that_repeat_are_found_where_they_are_meant(history: History) -> None:
    """A blank line among three can be quoted by two of them, and these are found one line above."""
    base, after = made(history, {**BEFORE, "notes.txt": "a\n\n\n\nb\n\nb\n"}, PLAN)
    for text in ("a\n\n\nb\n\nb\n", "a\n\n\n\nb\nb\n", "\n\n\na\nb\n\n\n\nb\n"):
        assert found(history, base, {**after, "notes.txt": text}).holds


def test_literal_text_that_no_plan_may_have_leaves_the_rest(history: History) -> None:
    """A package that exports what moved cannot be replaced: its file alone is left over."""
    base, after = made(history, {**BEFORE, "notes.txt": "x\n"}, PLAN)
    after |= {"notes.txt": "y\n", "link.txt": "z\n"}
    result = found(history, base, {**after, "dodgy/sitecustomize.py": "X = 1\n"})
    assert result.left == ("dodgy/sitecustomize.py",)
    assert {str(item.file) for item in result.plan.files} == {"link.txt"}
    assert {str(item.file) for item in result.plan.edits} == {"notes.txt"}


def test_what_no_plan_can_say_is_left_over(history: History) -> None:
    base, after = made(history, {**BEFORE, "sitecustomize.py": "x = 1\n"}, PLAN)
    del after["sitecustomize.py"]
    result = found(history, base, after)
    assert not result.replay.reproduces
    assert result.left == ("sitecustomize.py",)


def test_a_name_that_two_files_lost_is_told(history: History) -> None:
    twin = {**SHOP, "shop/other.py": "class Money:\n    limit = 4\n\n\ndef keep():\n    pass\n"}
    base = GitTree(history.folder, history.commit(twin))
    after = {
        **twin,
        "shop/other.py": "def keep():\n    pass\n",
        "shop/orders.py": ORDERS.replace("class Money:\n    limit = LIMIT\n\n\n", "").replace(
            "import logging\n", "import logging\n\nfrom shop.money import Money\n"
        ),
        "shop/money.py": "class Money:\n    limit = 4\n",
        "till.py": TILL.replace("LIMIT, Money", "LIMIT").replace(
            "from shop.orders", "from shop.money import Money\nfrom shop.orders", 1
        ),
    }
    result = found(history, base, after)
    assert result.replay.reproduces


def test_the_same_change_gives_the_same_plan(history: History) -> None:
    base, after = made(history, BEFORE, PLAN)
    assert found(history, base, after).text == found(history, base, after).text


def test_the_command_writes_a_plan_that_verifies(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    plan = tmp_path / "found.toml"
    repo = ["--repo", str(history.folder)]
    assert cli.run(["infer", f"{base}..{target}", "-o", str(plan), *repo]) == 0
    out = capsys.readouterr().out
    assert out.endswith("The plan reproduces the change exactly; 0 authored lines.\n")
    assert "of 2 lines that moved, 2 are moved by operations" in out
    assert cli.run(["verify", str(plan), "--base", base, "--target", target, *repo]) == 0


@pytest.mark.parametrize("option", [[], ["-o", "-"]], ids=["unasked", "by its name"])
def test_the_plan_alone_is_printed_and_the_words_beside_it(
    option: list[str], history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    repo = ["--repo", str(history.folder)]
    assert cli.run(["infer", f"{base}..{target}", *option, *repo]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("format = 2\n")
    assert parse_plan(shown.out.encode(), "p.toml").destinations
    assert "The plan reproduces the change exactly; 0 authored lines." in shown.err


def test_stdout_holds_one_thing(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    commits = f"{history.commit(BEFORE)}..{history.commit(AFTER)}"
    repo = ["--repo", str(history.folder)]
    assert cli.run(["infer", commits, "-o", "-", "--json", "-", *repo]) == 2
    assert "both print to stdout" in capsys.readouterr().err
    assert cli.run(["infer", commits, "--json", "-", *repo]) == 0
    assert json.loads(capsys.readouterr().out)["moved_by_operations"] == 2


def test_a_plan_in_a_log_commands_no_machine(history: History) -> None:
    base, after = made(history, BEFORE, PLAN)
    orders = "::error::x\n##[group]y\n"
    after["notes.txt"] = f"first\n{orders}"
    result = found(history, base, after)
    assert result.replay.reproduces
    assert not any(line.startswith(("::", "##[")) for line in result.text.splitlines())


def test_what_no_plan_may_write_is_left_over_and_refuses_nothing(history: History) -> None:
    base, after = made(history, BEFORE, PLAN)
    after[".github/workflows/ci.yml"] = "on: push\n"
    after["notes\\today.txt"] = "x\n"
    result = found(history, base, after)
    assert not result.replay.reproduces
    assert not result.holds
    assert result.inferred
    assert result.left == (".github/workflows/ci.yml", "notes\\today.txt")
    assert result.share.moved == result.share.lines == 2


BESIDE: dict[str, tuple[Files, Files, int]] = {
    "a caller that does not parse is left alone": (
        {"old.py": "from shop.orders import Money\nprint Money\n"},
        {"old.py": "from shop.orders import Money\nprint Money\n"},
        0,
    ),
    "a name that the destination means otherwise": (
        {"shop/money.py": "import decimal as d\n\ndecimal = d.Decimal\n"},
        {
            "shop/money.py": "import decimal as d\n\ndecimal = d.Decimal\n\n\n"
            "class Money:\n    cent = decimal.Decimal(1)\n"
        },
        0,
    ),
    "a new function beside it": (
        {},
        {"till.py": AFTER["till.py"] + "\n\ndef new():\n    pass\n"},
        4,
    ),
    "a data file": ({}, {"rates.csv": "1,2\n"}, 1),
}


@pytest.mark.parametrize(("before", "after", "lines"), BESIDE.values(), ids=BESIDE)
def test_what_comes_beside_a_move_refuses_nothing(
    before: Files, after: Files, lines: int, history: History
) -> None:
    base = GitTree(history.folder, history.commit({**BEFORE, **before}))
    result = found(history, base, {**AFTER, **before, **after})
    assert result.holds, result.replay.hunks
    assert result.plan.authored_lines == lines


def test_a_plan_that_writes_out_what_moved_does_not_hold(history: History) -> None:
    """One module gives and gets, which no plan says: the larger part is moved."""
    went, big = (f"def {name}():\n" + "    print(1)\n" * n for name, n in (("went", 5), ("big", 6)))
    rest = "def stays():\n    return 1\n"
    before = {"a.py": f"{went}\n\n{rest}", "b.py": f"{big}\n\n{rest}", "d.py": rest}
    after = {"a.py": rest, "b.py": f"{rest}\n\n{went}", "d.py": f"{rest}\n\n{big}"}
    base = GitTree(history.folder, history.commit(before))
    found_plan = found(history, base, after)
    assert found_plan.replay.reproduces
    assert moves(found_plan.plan) == {("d", ("big",))}
    assert (found_plan.share.moved, found_plan.share.lines) == (7, 13)
    assert not found_plan.inferred


ACCEPTED: dict[str, tuple[Files, Files, set[str], int]] = {
    "a name that both sides re-bind": (
        {
            "log.py": "_args = None\n\n\ndef init(args):\n    global _args\n    _args = args\n"
            "    print(handler)\n\n\ndef handler(text):\n    if _args:\n        print(text)\n"
            "    return text\n"
        },
        {
            "log.py": "import qtlog\n\n_args = None\n\n\ndef init(args):\n    global _args\n"
            "    _args = args\n    qtlog.init(args)\n",
            "qtlog.py": "_args = None\n\n\ndef init(args):\n    global _args\n    _args = args\n"
            "    print(handler)\n\n\ndef handler(text):\n    if _args:\n        print(text)\n"
            "    return text\n",
        },
        {"rebinding"},
        9,
    ),
    "code that used the module that it comes to": (
        {
            "a.py": "import b\n\n\ndef went(x):\n    y = b.seen(x)\n    return y\n\n\n"
            "def stays():\n    return b.seen(1)\n",
            "b.py": "def seen(x):\n    return x\n",
        },
        {
            "a.py": "import b\n\n\ndef stays():\n    return b.seen(1)\n",
            "b.py": "def seen(x):\n    return x\n\n\ndef went(x):\n    y = seen(x)\n    return y\n",
        },
        {"self-import"},
        5,
    ),
}


@pytest.mark.parametrize(
    ("before", "after", "kinds", "most"), ACCEPTED.values(), ids=ACCEPTED.keys()
)
def test_what_the_mover_would_ask_about_is_accepted(
    before: Files, after: Files, kinds: set[str], most: int, history: History
) -> None:
    base = GitTree(history.folder, history.commit(before))
    result = found(history, base, after)
    assert result.holds
    assert kinds <= {item.kind for item in result.plan.accepts}
    assert result.plan.authored_lines <= most


def test_callers_import_from_where_a_name_is_if_not_from_where_they_seem_to(
    history: History,
) -> None:
    """The package has another thing of that name, for which one caller asks it."""
    body = "class Form:\n" + "    x = 1\n" * 9
    before = {
        "shop/__init__.py": "from shop.other import Form\n",
        "shop/other.py": "def Form():\n    return 1\n",
        "shop/old.py": f"{body}\n\ndef stays():\n    return 1\n",
        "till.py": "import shop\n\nprint(shop)\n",
    }
    after = {
        **before,
        "shop/old.py": "def stays():\n    return 1\n",
        "shop/new.py": body,
        "till.py": "from shop import Form\n\nprint(Form)\n",
    }
    base = GitTree(history.folder, history.commit(before))
    result = found(history, base, after)
    assert result.holds
    assert moves(result.plan) == {("shop.new", ("Form",))}


def test_a_formatter_that_cannot_be_had_is_done_without_and_told(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = (
        "  - repo: https://github.com/psf/black\n    rev: 18.6b4\n    hooks:\n      - id: black\n"
    )
    files = {".pre-commit-config.yaml": f"repos:\n{hook}"}
    base, target = history.commit({**BEFORE, **files}), history.commit({**AFTER, **files})
    for command in ("infer", "review"):
        assert cli.run([command, f"{base}..{target}", "--repo", str(history.folder)]) == 0
        shown = capsys.readouterr()
        assert "the base's formatters cannot be had" in (shown.err + shown.out).replace("\n", " ")


def test_a_change_that_moves_nothing_has_no_plan(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    base = history.commit(BEFORE)
    target = history.commit({**BEFORE, "till.py": "print()\n"})
    assert cli.run(["infer", f"{base}..{target}", "--repo", str(history.folder)]) == 2
    assert "No top-level name left one Python file" in capsys.readouterr().err


def test_what_no_python_here_reads_is_told_where_nothing_moved(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "def rate():\n    print 1\n"
    base = history.commit({**BEFORE, "a.py": old})
    target = history.commit({**BEFORE, "b.py": old})
    assert cli.run(["infer", f"{base}..{target}", "--repo", str(history.folder)]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert (
        "a.py:2:5: No top-level name left one Python file for another in this range, as far"
        in shown
    )
    assert "2 changed Python files do not parse on Python 3." in shown


def test_the_json_holds_the_plan(history: History, tmp_path: Path) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    report = tmp_path / "report.json"
    arguments = ["infer", f"{base}..{target}", "--repo", str(history.folder)]
    assert cli.run([*arguments, "--json", str(report)]) == 0
    data = json.loads(report.read_text())
    assert parse_plan(data["plan"].encode(), "p.toml").destinations


TWIN = "def rate():\n    return 2\n"
KEEP = "\n\ndef keep():\n    pass\n"


def test_equal_code_that_two_files_lost_is_told_not_guessed_away(history: History) -> None:
    before = {"a.py": TWIN + KEEP, "b.py": TWIN + KEEP}
    after = {"a.py": KEEP.lstrip(), "b.py": KEEP.lstrip(), "c.py": TWIN}
    result = found(history, GitTree(history.folder, history.commit(before)), after)
    assert result.replay.reproduces
    assert result.notes == ("`rate` could have come from b.py as well; a.py is taken",)


def test_a_symbol_that_went_to_two_files_is_told(history: History) -> None:
    before = {"a.py": TWIN + KEEP}
    after = {"a.py": KEEP.lstrip(), "b.py": TWIN, "c.py": TWIN}
    result = found(history, GitTree(history.folder, history.commit(before)), after)
    assert result.replay.reproduces
    assert result.notes == ("`rate` stands in c.py as well; it moved to b.py",)
    assert [str(file.file) for file in result.plan.files] == ["c.py"]


def test_a_file_that_went_with_more_than_what_moved_is_deleted_with_the_rest(
    history: History,
) -> None:
    before = {"a.py": f"{TWIN}\n\nprint(rate())\n", "b.py": "X = 1\n"}
    after = {"b.py": f"X = 1\n\n\n{TWIN}"}
    result = found(history, GitTree(history.folder, history.commit(before)), after)
    assert moves(result.plan) == {("b", ("rate",))}
    assert result.holds
    assert [str(item.file) for item in result.plan.deletions] == ["a.py"]
    assert result.replay.outcome.authored_lines == 2  # the call, and a blank line


def test_an_edit_inside_moved_code_is_authored_and_nothing_else(history: History) -> None:
    base, after = made(history, SHOP, HEAD + PLANS["two destinations"][1])
    after["shop/reading.py"] = after["shop/reading.py"].replace("json.loads(text)", "text")
    result = found(history, base, after)
    assert result.replay.reproduces
    assert result.plan.authored_lines == 1
    assert [str(edit.file) for edit in result.plan.edits] == ["shop/reading.py"]


EDITS = {
    "one line": ("a\nb\nc\n", "a\nx\nc\n"),
    "a line that is there twice": ("a\nb\na\nb\n", "a\nb\na\nx\n"),
    "an insertion": ("a\nb\n", "a\nn\nb\n"),
    "a deletion": ("a\nb\nc\n", "a\nc\n"),
    "many changes": ("a\nb\nc\nd\ne\nf\n", "A\nb\nd\ne\nE\nF\n"),
    "the last line's end": ("a\nb\n", "a\nb"),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_edits_apply_one_after_the_other(old: str, new: str) -> None:
    text = old
    for was, becomes in exact_edits(old, new):
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    assert text == new


PUBLIC = {
    "#27273": ("alphabetc1-sglang", "e1955bf57ab3..7e7e3820c26b", 0),
    "1/N": ("bytedance-iaas-sglang", "c06220159b", 15),
    "2/N": ("bytedance-iaas-sglang", "1af53f67b2", 0),
    "3/N": ("bytedance-iaas-sglang", "66076f2409", 0),
    "5/N": ("bytedance-iaas-sglang", "ff1fc1fbdf", 0),
    "6/N": ("bytedance-iaas-sglang", "108a183f6b", 9),
    "7/N": ("bytedance-iaas-sglang", "9dd57ef8c4", 16),
    "8/N": ("bytedance-iaas-sglang", "0077f84d37", 0),
    "9/N": ("bytedance-iaas-sglang", "8ff9c2b227", 4),
    "SGLang, into five modules": ("bytedance-iaas-sglang", "c54b34c007", 5),
    "pip": ("pypa-pip", "fc618bf3b1", 0),
    "httpx": ("encode-httpx", "d07c4b4407", 0),
    "optuna": ("optuna-optuna", "193c18d0ff", 0),
    "mypy": ("python-mypy", "25b83ea54f", 2),
    "qutebrowser": ("qutebrowser-qutebrowser", "30570a5cad", 2),
    "jax, pallas": ("jax-ml-jax", "63c68159b2", 0),
    "jax, ravel": ("jax-ml-jax", "e7e5140dc9", 5),
    "pytest, ExitCode": ("pytest-dev-pytest", "d33da078a8", 10),
    "pytest, compat": ("pytest-dev-pytest", "3ba475c0f2", 4),
}


@pytest.mark.history
@pytest.mark.parametrize(("repository", "commit", "most"), PUBLIC.values(), ids=PUBLIC)
def test_the_plan_of_a_real_move_is_found(
    repository: str, commit: str, most: int, tmp_path: Path
) -> None:
    repo = Path(os.environ["REPOT_HISTORIES"]) / f"{repository}.git"
    report = tmp_path / "report.json"
    commits = commit if ".." in commit else f"{commit}^..{commit}"
    assert cli.run(["infer", commits, "--repo", str(repo), "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert found["reproduces"]
    assert found["authored_lines"] <= most
