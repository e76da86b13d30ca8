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

from tests.verify.histories import AFTER, BEFORE, PLAN, History
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
    "a move and nothing else": (BEFORE, AFTER, 0, "CERTIFIED: nothing but the move"),
    "a move with an edit": (
        BEFORE,
        EDITED,
        1,
        r"RESIDUAL: 1 place not part of the move(, where behaviour differs)?; all else is\.$",
    ),
    "a move with another file": (BEFORE, NOTED, 1, "CERTIFIED in Python; 1 other file changed"),
    "a move with an edit and another file": (
        BEFORE,
        {**EDITED, "notes.txt": "Money moved.\n"},
        1,
        r"RESIDUAL: 1 place not part of the move(, where behaviour differs)?, 1 file no Python\.$",
    ),
    "no move at all": (BEFORE, {**BEFORE, "till.py": "print()\n"}, 1, "NO MOVE"),
    "nothing but prose": ({**BEFORE, "a.md": "a\n"}, {**BEFORE, "a.md": "b\n"}, 1, "NO MOVE"),
}


@pytest.mark.parametrize(("before", "after", "code", "words"), CASES.values(), ids=CASES)
def test_the_verdict_comes_first_and_last(
    history: History, run: Run, before: Files, after: Files, code: int, words: str
) -> None:
    found, out, err = run(change(history, before, after))
    assert (found, err) == (code, "")
    lines = out.splitlines()
    assert re.match(words, lines[2])
    assert lines[-1] == lines[2]


def test_what_cannot_be_judged_is_no_verdict(history: History, run: Run) -> None:
    name, dynamic = "shop/orders.py", "\n\nexec(input())\n"
    sides = ({**side, name: side[name] + dynamic} for side in (BEFORE, AFTER))
    code, out, err = run(change(history, *sides))
    assert (code, out) == (2, "")
    assert re.match(r"UNKNOWN: (1 place|2 places) cannot be judged\.", err.splitlines()[2])
    assert "  shop/orders.py:5: " in err.partition("\nTo read\n")[2]


def test_only_what_is_no_move_is_to_be_read(history: History, run: Run) -> None:
    _, out, _ = run(change(history, BEFORE, EDITED))
    part = out.partition("\nTo read\n")[2].partition("\n\n")[0]
    assert part.startswith("  till.py:4: ")
    assert part.endswith("\n      - print(Money, pay)\n      + print(pay)")
    assert len(part.splitlines()) == 3


def test_another_file_is_shown_line_by_line(history: History, run: Run) -> None:
    _, out, _ = run(change(history, BEFORE, NOTED))
    part = out.partition("\nTo read\n")[2].partition("\n\n")[0]
    assert part == ("  notes.txt:1: a file that is no Python is new\n      + Money moved.")


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
    assert "Replay: a plan gives 3 files byte for byte; 3 authored lines." in out
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
    assert out.splitlines()[2].startswith("CERTIFIED: no statement changed; but its plan")


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
def test_the_first_screen_has_the_verdict_what_moved_and_where_to_read(
    history: History, run: Run, symbols: int, files: int
) -> None:
    code, out, _ = run(change(history, *wide(symbols, files)))
    assert code == 1
    screen = out.splitlines()[:SCREEN]
    assert f"Moved: {symbols} symbols" in "\n".join(screen)
    assert "To read" in screen
    assert any(line.startswith("  shop/all.py:2: ") for line in screen)
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
