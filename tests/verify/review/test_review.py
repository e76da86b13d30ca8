"""`repot review`: the verdict, what moved and only the lines to read, on the first screen."""

from __future__ import annotations

import ast
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from verify import cli
from verify.report.report import Report, Verdict, to_text
from verify.reports.review import reviewed
from verify.review import gather

Files = Mapping[str, str]
SCREEN = 24  # lines

EDITED = {**AFTER, "till.py": AFTER["till.py"].replace("print(Money, pay)", "print(pay)")}
NOTED = {**AFTER, "notes.txt": "Money moved.\n"}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repo")


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(history: History, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(commits: str, *options: str) -> tuple[int, str, str]:
        code = cli.run(["review", commits, "--repo", str(history.folder), *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def change(history: History, before: Files, after: Files) -> str:
    return f"{history.commit(before)}..{history.commit(after)}"


CASES = {
    "a move and nothing else": (
        BEFORE,
        AFTER,
        0,
        "Pure move. Nothing to read.",
        "CERTIFIED: nothing but the move",
        "green",
    ),
    "a move with an edit": (
        BEFORE,
        EDITED,
        1,
        "Read 1 place: 2 of 17 changed lines.",
        r"RESIDUAL: 1 finding not part of the move, where behaviour differs; all else is\.$",
        "red",
    ),
    "a move with another file": (
        BEFORE,
        NOTED,
        1,
        "Read 1 place: 1 of 16 changed lines.",
        "CERTIFIED in Python; 1 other file changed",
        "amber",
    ),
    "a move with an edit and another file": (
        BEFORE,
        {**EDITED, "notes.txt": "Money moved.\n"},
        1,
        "Read 2 places: 3 of 18 changed lines.",
        r"RESIDUAL: 1 finding not part of the move, where behaviour differs, 1 file no Python\.$",
        "red",
    ),
    "a docstring that changed on the way": (
        {**BEFORE, "till.py": '"""A till."""\n\n' + BEFORE["till.py"]},
        {**AFTER, "till.py": '"""The till."""\n\n' + AFTER["till.py"]},
        1,
        "Read 1 place: 2 of 17 changed lines.",
        "RESIDUAL: 1 finding not part of the move; all else is",
        "amber",
    ),
    "no move at all": (
        BEFORE,
        {**BEFORE, "till.py": "print()\n"},
        1,
        "No move. Read all of it: 4 changed lines.",
        "NO MOVE",
        "amber",
    ),
    "nothing but prose": (
        {**BEFORE, "a.md": "a\n"},
        {**BEFORE, "a.md": "b\n"},
        1,
        "No move. Read all of it: 2 changed lines.",
        "NO MOVE",
        "amber",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_to_do_comes_first_and_last_and_every_form_says_the_same(
    history: History, run: Run, tmp_path: Path, case: tuple[Files, Files, int, str, str, str]
) -> None:
    before, after, code, said, words, level = case
    names = {form: tmp_path / f"review.{form}" for form in ("json", "html", "markdown")}
    options = [word for form, file in names.items() for word in (f"--{form}", str(file))]
    found, out, err = run(change(history, before, after), *options)
    assert (found, err) == (code, "")
    lines = out.splitlines()
    assert lines[0] == "repot review: change, by Repot tests, in repo"
    assert re.fullmatch(said, lines[2])
    assert any(re.match(words, line) for line in lines[3:7])
    assert lines[-1] == lines[2]
    assert "Nothing to read" not in out or "\nTo read\n" not in out
    decision = json.loads(names["json"].read_text())["decision"]
    assert (decision["level"], decision["sentence"]) == (level, lines[2])
    sign = {"green": "✓ ", "amber": "", "red": "✗ "}[level]
    assert names["markdown"].read_text().startswith(f"## {sign}{lines[2]}\n")
    page = names["html"].read_text()
    assert f'<section class="verdict {level}"' in page
    assert f'id="verdict">{lines[2]}</h1>' in page
    if level == "amber":
        assert "&#10007;" not in page


def test_what_cannot_be_judged_is_no_verdict(history: History, run: Run) -> None:
    name, dynamic = "shop/orders.py", "\n\nexec(input())\n"
    sides = ({**side, name: side[name] + dynamic} for side in (BEFORE, AFTER))
    code, out, err = run(change(history, *sides))
    assert (code, out) == (2, "")
    assert re.search(r"\nUNKNOWN: (1 place|2 places) cannot be judged\.", err)
    assert re.match(r"Read (1 place|2 places), where no line changed;", err.splitlines()[2])
    assert "  shop/orders.py:5: Not judged: " in err.partition("\nTo read\n")[2]
    assert "      > exec(input())\n" in err


def test_only_what_is_no_move_is_to_be_read(history: History, run: Run) -> None:
    _, out, _ = run(change(history, BEFORE, EDITED))
    part = out.partition("\nTo read\n")[2].partition("\n\n")[0]
    assert part.startswith("  till.py:4: Breaks: ")
    assert out.partition("\nTo read\n")[2].splitlines()[1:7] == [
        "      @@ +1,4 @@",
        "        from shop.money import Money",
        "        from shop.orders import pay",
        "",
        "      - print(Money, pay)",
        "      + print(pay)",
    ]


def test_another_file_is_shown_line_by_line(history: History, run: Run) -> None:
    _, out, _ = run(change(history, BEFORE, NOTED))
    part = out.partition("\nTo read\n")[2].partition("\n\n")[0]
    assert part == (
        "  notes.txt:1: a file that is no Python is new\n      @@ -0,0 +1 @@\n      + Money moved."
    )


def test_literal_text_that_changes_no_meaning_is_shown_and_no_residual(
    history: History, run: Run, tmp_path: Path
) -> None:
    name, plan = "shop/money.py", tmp_path / "plan.toml"
    line, laid_out = (
        "    cent = decimal.Decimal(1)",
        "    cent = decimal.Decimal(\n        1\n    )",
    )
    authored = f"path = '{name}'\nold = '{line}'\nnew = '''{laid_out}'''\n"
    plan.write_text(f"{PLAN}\n[[author]]\n{authored}")
    after = {**AFTER, name: AFTER[name].replace(line, laid_out)}
    code, out, _ = run(change(history, BEFORE, after), "--plan", str(plan))
    assert code == 0
    assert "Replay: the given plan gives 3 files byte for byte; 3 authored lines." in out
    part = out.partition("\nTo read\n")[2].partition("\n\n")[0]
    assert part.startswith(
        "  shop/money.py:5: edit, 3 authored lines: literal in the plan, since no rule derives it; "
        "certified all the same\n"
    )


def test_a_file_that_is_binary_is_named(history: History, run: Run) -> None:
    _, out, _ = run(change(history, BEFORE, {**AFTER, "x.bin": "a\0b"}))
    assert "  x.bin: a file that is no Python is new; it is binary\n" in out


def test_a_mode_that_changed_beside_the_move_keeps_it_from_being_reproduced(
    history: History, run: Run
) -> None:
    base = history.commit(BEFORE)
    history.commit(AFTER)
    (history.folder / "till.py").chmod(0o755)
    history.git("commit", "--quiet", "--all", "--amend", "-m", "move")
    code, out, _ = run(f"{base}..{history.git('rev-parse', 'HEAD')}")
    assert code == 1
    assert "its plan leaves bytes over" in out
    assert "mode 100755 instead of 100644" in out.partition("\nTo read\n")[2]


def test_several_commits_are_one_change(history: History, run: Run) -> None:
    base = history.commit(BEFORE)
    history.commit(EDITED)
    target = history.commit(AFTER)
    assert run(f"{base}..{target}")[0] == 0


def test_a_bare_repository_will_do(history: History, tmp_path: Path) -> None:
    commits = change(history, BEFORE, AFTER)
    history.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    assert cli.run(["review", commits, "--repo", str(tmp_path / "bare.git")]) == 0


def test_a_plan_of_ones_own_is_replayed(history: History, run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    commits = change(history, BEFORE, AFTER)
    assert run(commits, "--plan", str(plan))[0] == 0
    plan.write_text(PLAN.replace('"Money"', '"pay"'))
    code, out, _ = run(commits, "--plan", str(plan))
    assert code == 1
    assert "\nCERTIFIED: no statement changed; but its plan" in out


NAMED = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"


def planned(files: Files, plan: str = PLAN) -> Files:
    return {**files, PLAN_PATH: plan}


def test_the_plan_that_the_commit_names_is_used_and_said(
    history: History, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "infer", None)  # nobody looks for another
    base = history.commit(planned(BEFORE))
    file = tmp_path / "review.json"
    code, out, _ = run(f"{base}..{history.commit(planned(AFTER), NAMED)}", "--json", str(file))
    assert code == 0
    assert "Replay: the plan that the commit names gives 3 files byte for byte" in out
    assert f"\nThe plan\n  {PLAN_PATH}: named by the commit, as its parent has it; 0 auth" in out
    data = json.loads(file.read_text())
    assert data["claim"] == {"plan": PLAN_PATH, "false": None}
    assert (data["plan_text"], data["plan_source"]) == (PLAN, "named by the commit")
    assert data["plan"] is None  # none was found


@pytest.mark.parametrize(
    ("before", "after", "message", "why"),
    [
        (planned(BEFORE), planned(EDITED), NAMED, "does not give its bytes"),
        (BEFORE, AFTER, NAMED, "commit the plan before the move"),
        (planned(BEFORE, "format = 9\n"), planned(AFTER, "format = 9\n"), NAMED, "is refused"),
        (BEFORE, AFTER, "Move\n\nMechanical-Move:", "names no plan"),
        (
            planned(BEFORE, PLAN.replace("Money", "Purse")),
            planned(AFTER, PLAN.replace("Money", "Purse")),
            NAMED,
            "is refused",
        ),
    ],
    ids=["other bytes", "no such plan", "an unreadable plan", "an empty trailer", "a refused plan"],
)
def test_a_claim_that_is_false_is_red_and_the_first_thing_to_read(
    history: History, run: Run, before: Files, after: Files, message: str, why: str
) -> None:
    base = history.commit(before)
    code, out, _ = run(f"{base}..{history.commit(after, message)}", "--markdown", "-")
    assert code == 1
    assert out.startswith("## ✗ Read ")
    first = out.partition("\n### To read\n")[2].strip().splitlines()
    assert any("the commit says that it is a move" in line and why in line for line in first[:4])


def test_a_range_of_several_commits_claims_nothing_as_a_whole(history: History, run: Run) -> None:
    base = history.commit(planned(BEFORE))
    history.commit(planned({**BEFORE, "a.py": "A = 1\n"}))
    target = history.commit(planned(AFTER), NAMED)
    code, out, _ = run(f"{base}..{target}")
    assert code == 0
    assert out.startswith("repot review: 2 commits, the last: Move Money, by Repot tests, in repo")
    assert "Replay: the plan found gives" in out


def test_a_patch_that_reaches_nobody_any_more_is_to_be_read(history: History, run: Run) -> None:
    test = (
        "from unittest import mock\n\nfrom shop.orders import Money\n\n\ndef test_it():\n"
        '    with mock.patch("shop.orders.decimal"):\n        assert Money\n'
    )
    uses = (
        "import decimal\n\n\nclass Money:\n    def cent(self):\n        return decimal.Decimal(1)\n"
    )
    kept = "\n\ndef pay():\n    return 'paid'\n"
    before = {"shop/__init__.py": "", "shop/orders.py": uses + kept, "test_it.py": test}
    after = {
        **before,
        "shop/orders.py": "import decimal  # noqa: F401\n" + kept,
        "shop/money.py": uses,
        "test_it.py": test.replace("from shop.orders", "from shop.money"),
    }
    code, out, _ = run(change(history, before, after))
    assert code == 1
    assert "Nothing to read" not in out
    assert "test_it.py:7" in out.partition("\nTo read\n")[2]


def test_what_was_edited_as_it_moved_is_one_hunk_of_two_files(history: History, run: Run) -> None:
    name = "shop/money.py"
    body = "class Money:\n    cent = decimal.Decimal(1)\n\n    def spend(self):\n        return 1\n"
    before = {**BEFORE, "shop/orders.py": BEFORE["shop/orders.py"].replace(
        "class Money:\n    cent = decimal.Decimal(1)\n", body)}  # fmt: skip
    after = {**AFTER, name: f"import decimal\n\n\n{body.replace('return 1', 'return 2')}"}
    _, out, _ = run(change(history, before, after))
    part = out.partition("\nTo read\n")[2]
    assert "class Money > def spend\n" in part
    lines = part.splitlines()
    at = lines.index("      -         return 1")
    assert lines[at - 1 : at + 2] == [
        "            def spend(self):",
        "      -         return 1",
        "      +         return 2",
    ]


def test_callers_are_hunks_in_which_an_import_that_stays_is_no_change(
    history: History, run: Run
) -> None:
    names = (
        "from shop.orders import (\n    Money,\n    pay,\n    save,\n)\n\nprint(Money, pay, save)\n"
    )
    more = "\n\ndef save():\n    return 1\n"
    before = {**BEFORE, "shop/orders.py": BEFORE["shop/orders.py"] + more, "till.py": names}
    after = {
        **AFTER,
        "shop/orders.py": AFTER["shop/orders.py"] + more,
        "till.py": "from shop.money import Money\n" + names.replace("    Money,\n", ""),
    }
    _, out, _ = run(change(history, before, after), "--markdown", "-")
    callers = out.partition("<summary>Callers")[2]
    assert "+ from shop.money import Money" in callers
    assert "-     Money," in callers
    assert "-     pay," not in callers
    assert callers.count("`till.py`") == 1


def several_cases(names: str) -> str:
    body = "\n".join(
        f"    def test_{name}(self):\n" + f"        self.assertTrue({name})\n" * 9 for name in names
    )
    return f"import unittest\n\n\nclass TestAll(unittest.TestCase):\n{body}"


def test_tests_that_run_once_more_are_one_place_at_the_import_that_brings_them(
    history: History, run: Run
) -> None:
    more = "\n\nclass TestMore(TestAll):\n    def test_7(self):\n        self.assertTrue(7)\n"
    before = {"tests/__init__.py": "", "tests/test_all.py": several_cases("123456") + more}
    moved = {"tests/test_more.py": f"from tests.test_all import TestAll\n{more}"}
    after = {**before, "tests/test_all.py": several_cases("123456"), **moved}
    code, out, _ = run(change(history, before, after))
    read = out.partition("\nTo read\n")[2].partition("\nThe plan")[0]
    assert code == 1
    assert read == (
        "  tests/test_more.py:1: Breaks: TestAll.test_1, TestAll.test_2, TestAll.test_3 and 3 more:"
        " pytest now collects this test here as well\n"
        "      @@ +1,4 @@\n"
        "      > from tests.test_all import TestAll\n\n\n"
        "        class TestMore(TestAll):\n"
    )
    assert "\nRead 1 place, where no line changed; " in out


def test_a_module_that_cannot_be_imported_is_said_first(history: History, run: Run) -> None:
    before = {
        "a.py": "from typing import Tuple\n\n\ndef both() -> Tuple[int, int]:\n    return 1, 2\n",
        "b.py": "x = 1\n",
        "main.py": "import a\n\nprint(a.both())\n",
    }
    after = {
        "a.py": "",
        "b.py": "x = 1\n\n\ndef both() -> Tuple[int, int]:\n    return 1, 2\n",
        "main.py": "import b\n\nprint(b.both())\n",
    }
    _, out, _ = run(change(history, before, after))
    first = out.partition("\nTo read\n")[2].partition("\n")[0]
    assert first == "  b.py:4: Breaks: importing it raises NameError: Tuple"


def test_lines_that_are_shown_already_are_no_further_place(history: History, run: Run) -> None:
    """An edit that breaks is an authored line of the plan as well: it is read once."""
    till = "from shop.orders import Money, pay\n\n\ndef total():\n    return [Money, pay, 1]\n"
    before = {**BEFORE, "till.py": till}
    edited = till.replace("shop.orders import Money, pay", "shop.money import Money").replace(
        "[Money, pay, 1]", "[Money, 1, 2]"
    )
    _, out, _ = run(change(history, before, {**AFTER, "till.py": edited}))
    read = out.partition("\nTo read\n")[2].partition("\nThe plan")[0]
    assert "shown above" not in read
    assert read.count("+     return [Money, 1, 2]") == 1


def report_without_a_plan(
    history: History, monkeypatch: pytest.MonkeyPatch, before: Files, after: Files
) -> Report:
    def refuse(*_: object, **__: object) -> None:
        raise Refusal("cycle", "It cannot be said.", next_step="Say it otherwise.")

    monkeypatch.setattr(gather, "infer", refuse)
    from transforms.tree import GitTree

    base = GitTree(history.folder, history.commit(before))
    target = GitTree(history.folder, history.commit(after))
    return reviewed(gather.review(base, target), base, target)


def test_without_a_plan_the_certificate_and_the_ancestry_stand(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_without_a_plan(history, monkeypatch, BEFORE, AFTER)
    assert report.verdict is Verdict.UNJUDGED
    text = to_text(report)
    assert "CERTIFIED: nothing but the move; but no plan, so no replay." in text
    assert "No plan: It cannot be said." in text
    assert "Say it otherwise." in text
    assert "5/5 lines traced past the move" in text


def test_without_a_plan_a_residual_is_one_all_the_same(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert report_without_a_plan(history, monkeypatch, BEFORE, EDITED).exit_code == 1


def wide(symbols: int, files: int) -> tuple[Files, Files]:
    """A module split into many files, and one line edited beside it."""
    bodies = [f"class Symbol{n:03}:\n    size = {n}\n" for n in range(symbols)]
    rest = "def rest():\n    return 0\n"
    before = {"shop/__init__.py": "", "shop/all.py": "\n\n".join([*bodies, rest])}
    after = {"shop/__init__.py": "", "shop/all.py": rest.replace("0", "1")}
    for n in range(files):
        after[f"shop/part{n:02}.py"] = "\n\n".join(bodies[n::files])
    return before, after


@pytest.mark.parametrize(("symbols", "files"), [(3, 1), (40, 4), (60, 12)])
def test_the_first_screen_has_what_to_do_and_where_to_read(
    history: History, run: Run, symbols: int, files: int
) -> None:
    code, out, _ = run(change(history, *wide(symbols, files)))
    assert code == 1
    screen = out.splitlines()[:SCREEN]
    assert screen[2].startswith("Read 1 place: 2 of ")
    assert "To read" in screen
    assert any(line.startswith("  shop/all.py:2: ") for line in screen)
    assert "      @@ +1,2 @@ def rest" in screen
    assert f"Moved: {symbols} symbols" in out
    assert max(map(len, screen[: screen.index("To read")])) <= 80


def test_the_json_holds_the_plan_and_what_is_to_be_read(
    history: History, run: Run, tmp_path: Path
) -> None:
    commits = change(history, BEFORE, EDITED)
    file, again = tmp_path / "a.json", tmp_path / "b.json"
    run(commits, "--json", str(file))
    run(commits, "--json", str(again))
    assert file.read_bytes() == again.read_bytes()
    data = json.loads(file.read_text())
    assert data["conclusion"] == "residual"
    assert [item["place"]["path"] for item in data["to_read"]] == ["till.py"]
    assert data["flows"] == [
        {"from": "shop/orders.py", "to": "shop/money.py", "symbols": ["Money"], "lines": 2}
    ]
    assert parse_plan(data["plan"].encode(), "p.toml").destinations


def test_places_to_read_are_marks_for_a_forge(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_without_a_plan(history, monkeypatch, BEFORE, {**EDITED, "a.txt": "a\n"})
    assert [(str(mark.place), mark.failing) for mark in report.marks] == [
        ("till.py:4", True),
        ("a.txt:1", True),
    ]


def test_nothing_is_parsed_in_a_thread(
    history: History, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where two threads parse at once, some versions of CPython lose count and fail."""
    threads: set[str] = set()
    parse = ast.parse

    def parsed(*given: Any, **named: Any) -> Any:
        threads.add(threading.current_thread().name)
        return parse(*given, **named)

    monkeypatch.setattr(ast, "parse", parsed)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # so that the certificate is made here, too
    assert run(change(history, BEFORE, AFTER))[0] == 0
    assert threads == {threading.main_thread().name}


@pytest.mark.history
@pytest.mark.parametrize(
    ("repository", "commits", "code"),
    [
        ("alphabetc1-sglang.git", "e1955bf57ab3..7e7e3820c26b", 0),
        ("bytedance-iaas-sglang.git", "e57323cae9^..e57323cae9", 1),
        ("pypa-pip.git", "fc618bf3b1^..fc618bf3b1", 0),
        ("encode-httpx.git", "d07c4b4407^..d07c4b4407", 0),
        ("optuna-optuna.git", "193c18d0ff^..193c18d0ff", 1),
    ],
    ids=["#27273", "4/N, which is no move", "pip", "httpx", "optuna"],
)
def test_a_real_change_is_reviewed(
    repository: str, commits: str, code: int, tmp_path: Path
) -> None:
    repo, page = Path(os.environ["REPOT_HISTORIES"]) / repository, tmp_path / "page.html"
    assert cli.run(["review", commits, "--repo", str(repo), "--html", str(page)]) == code
    assert 10_000 < page.stat().st_size < 500_000
