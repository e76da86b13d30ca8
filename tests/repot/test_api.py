"""`repot.api`: what a program gets, and that Repot's engine and its own modules never meet."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repot import api, launcher
from repot.api import Conclusion, Fault, Place, Refused, Verdict
from tests.documents import coded, fences, rows
from tests.repot.rig import ROOT, Installation, packages, variables, write
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A plan, its move, and a change that is none; tagged `plan`, `move` and `change`."""
    history = History(tmp_path_factory.mktemp("history"))
    altered = {**AFTER, "shop/money.py": AFTER["shop/money.py"].replace("Decimal(1)", "Decimal(2)")}
    steps = {"plan": BEFORE, "move": AFTER, "change": altered}
    for tag, files in steps.items():
        history.commit({**files, PLAN_PATH: PLAN}, tag)
        history.git("tag", tag)
    return history


class TestApply:
    def test_tells_what_would_change(self, history: History) -> None:
        done = api.apply(history.folder / PLAN_PATH, repo=history.folder, at="plan")
        assert done.verdict is Verdict.HOLDS
        assert not done.written
        found = {item.path: (item.change, item.added, item.removed) for item in done.paths}
        assert found == {
            "shop/money.py": ("created", 5, 0),
            "shop/orders.py": ("changed", 0, 7),
            "till.py": ("changed", 2, 1),
        }
        assert (done.authored_lines, done.notes) == (0, ())
        assert done.summary[0].startswith("3 files: 2 changed, 1 created")
        assert done.report["command"] == "apply"

    def test_writes(self, tmp_path: Path) -> None:
        history = History(tmp_path / "repo")
        history.commit({**BEFORE, PLAN_PATH: PLAN})
        done = api.apply(str(history.folder / PLAN_PATH), repo=str(history.folder), write=True)
        assert done.written
        assert (history.folder / "shop/money.py").read_text() == AFTER["shop/money.py"]

    def test_notes_have_their_place(self, tmp_path: Path) -> None:
        history = History(tmp_path / "repo")
        history.commit({**BEFORE, "shop/orders.pyi": "class Money: ...\n", PLAN_PATH: PLAN})
        done = api.apply(history.folder / PLAN_PATH, repo=history.folder)
        assert {(note.path, note.line) for note in done.notes} == {("shop/orders.pyi", 1)}

    def test_a_refusal_is_raised_with_all_its_parts(self, tmp_path: Path) -> None:
        history = History(tmp_path / "repo")
        plan = PLAN.replace('"Money"', '"Mony"')
        history.commit({**BEFORE, PLAN_PATH: plan})
        with pytest.raises(Refused, match="`Mony`") as refused:
            api.apply(history.folder / PLAN_PATH, repo=history.folder, write=True)
        error = refused.value
        assert error.kind == "unknown-symbol"
        assert (error.path, error.line) == (str(history.folder / PLAN_PATH), 7)
        assert "Money" in error.next_step
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert str(again) == str(error)
        assert not (history.folder / "shop/money.py").exists()

    def test_what_cannot_be_meant_is_an_error_of_the_caller(self, history: History) -> None:
        plan = history.folder / PLAN_PATH
        with pytest.raises(ValueError, match="give one"):
            api.apply(plan, at="plan", write=True)
        with pytest.raises(ValueError, match="'isort'"):
            api.apply(plan, repo=history.folder, formatters="isort")  # type: ignore[arg-type]


class TestCertify:
    def test_a_move_holds(self, history: History) -> None:
        found = api.certify("plan..move", repo=history.folder)
        assert found.verdict is Verdict.HOLDS
        (moved,) = found.moved
        assert (moved.symbol, moved.source) == ("Money", Place("shop/orders.py", 4))
        assert moved.destination == Place("shop/money.py", 4)
        assert (found.residuals, found.unknowns) == ((), ())
        assert {item.kind for item in found.findings} <= {"explained", "observed"}
        assert found == api.certify("plan..move", repo=history.folder)
        assert {found: 1}[found] == 1

    def test_what_differs_is_a_value_with_the_lines_to_read(self, history: History) -> None:
        found = api.certify("move..change", repo=history.folder)
        assert found.verdict is Verdict.DIFFERS
        assert {(item.path, item.line, item.side) for item in found.residuals} == {
            ("shop/money.py", 5, "base"),
            ("shop/money.py", 5, "target"),
        }
        assert [item.lines for item in found.residuals] == [(5,), (5,)]
        assert (found.added_lines, found.removed_lines) == (1, 1)

    def test_what_cannot_be_judged_is_a_value_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        report = {
            "schema": 1, "verdict": "unjudged", "certificate": "UNKNOWN", "added_lines": 0,
            "removed_lines": 0, "moved": [], "copies": [], "residuals": [], "observables": [],
            "findings": [{"kind": "assumed", "subject": "shop.load", "why": "as before",
                          "needs": None, "places": [{"path": "a.py", "line": 2,
                                                     "side": "target", "lines": [2]}]}],
            "derived": [{"symbol": "import", "from": {"path": "", "line": 0},
                         "to": {"path": "a.py", "line": 1}}],
            "unknowns": [{"path": "a.py", "line": 3, "why": "newer", "needs": [3, 14]},
                         {"path": "b.py", "line": 4, "why": "eval", "needs": None}],
            "range": {"typed": "a..b", "read_as": None, "base": "1", "target": None,
                      "place": "index", "tree": "2",
                      "not_judged": [{"path": "c.bin", "why": "filter=lfs"}]},
        }  # fmt: skip
        monkeypatch.setattr(launcher, "command", answering(json.dumps(report), 2))
        found = api.certify("a..b")
        assert found.verdict is Verdict.UNJUDGED
        newer, dynamic = found.unknowns
        assert newer == api.Unknown("a.py", 3, "newer", (3, 14))
        assert dynamic.needs is None
        spot = api.Spot("a.py", 2, "target", (2,))
        assert found.findings == (api.Finding("assumed", "shop.load", "as before", None, (spot,)),)
        assert found.derived == (api.Moved("import", None, Place("a.py", 1)),)
        left_out = (api.NotJudged("c.bin", "filter=lfs"),)
        assert found.judged == api.Judged("a..b", None, "1", None, "index", "2", left_out)

    def test_a_range_that_is_none_is_refused(self, history: History) -> None:
        for commits in ("nowhere..move", "--help", "", "-x..HEAD"):
            with pytest.raises(Refused):
                api.certify(commits, repo=history.folder)

    def test_everything_that_people_type_for_a_change(self, tmp_path: Path) -> None:
        history = History(tmp_path / "repo")
        before, after = history.commit(BEFORE), history.commit(AFTER, "Move")
        one = api.certify(after, repo=history.folder)
        assert one.verdict is Verdict.HOLDS
        assert one.judged.read_as == f"`{after}` against its parent, {before[:12]}"
        parted = api.certify(f"{before}...{after}", repo=history.folder)
        for found in (one, parted):
            assert (found.judged.base, found.judged.target) == (before, after)
        history.git("reset", "--soft", before)
        moved = api.certify(repo=history.folder)
        assert moved.verdict is Verdict.HOLDS
        assert (moved.judged.typed, moved.judged.place) == (None, "working tree")
        assert moved.judged.tree == history.git("rev-parse", f"{after}^{{tree}}")
        review = api.review(repo=history.folder, staged=True)
        assert review.conclusion is Conclusion.CERTIFIED
        assert (review.target, review.judged.place) == ("index", "index")
        assert (review.judged.base, review.judged.target) == (before, None)
        assert review.judged == review.certificate.judged
        with pytest.raises(ValueError, match="name no commits"):
            api.review("HEAD", repo=history.folder, staged=True)


class TestReview:
    def test_a_move(self, history: History) -> None:
        found = api.review("plan..move", repo=history.folder)
        assert (found.verdict, found.conclusion) == (Verdict.HOLDS, Conclusion.CERTIFIED)
        assert found.base == history.git("rev-parse", "plan")
        assert found.target == history.git("rev-parse", "move")
        assert found.replay == api.Replay(reproduces=True, files=3, hunks=0, authored_lines=0)
        assert found.ancestry == api.Ancestry(lines=5, traced=5, strict=5)
        assert found.certificate.verdict is Verdict.HOLDS
        assert found.plan is not None
        assert 'module = "shop.money"' in found.plan
        (flow,) = found.flows
        assert (flow.source, flow.symbols) == ("shop/orders.py", ("Money",))
        assert found.to_read == ()
        assert hash(found) == hash(api.review("plan..move", repo=history.folder))

    def test_with_its_plan(self, history: History) -> None:
        plan = history.folder / PLAN_PATH
        found = api.review("plan..move", repo=history.folder, plan=plan)
        assert found.plan is None
        assert found.replay is not None
        assert found.replay.reproduces

    def test_no_move(self, history: History) -> None:
        found = api.review("move..change", repo=history.folder)
        assert (found.verdict, found.conclusion) == (Verdict.DIFFERS, Conclusion.NO_MOVE)
        assert found.replay is None
        assert [(item.path, item.line) for item in found.to_read] == [("shop/money.py", 5)]


def answering(text: str, code: int) -> Callable[..., list[str]]:
    """Stand in for the engine: a process that prints a text and ends with a code."""
    script = f"import sys; print({text!r}); print('why', file=sys.stderr); sys.exit({code})"
    return lambda *_: [sys.executable, "-c", script]


class TestFaults:
    FAULT = json.dumps({"schema": 1, "fault": {"error": "KeyError", "message": "'x'"}})

    @pytest.mark.parametrize(
        ("text", "code", "message"),
        [
            pytest.param(FAULT, 3, "KeyError: 'x'", id="a fault of the engine"),
            pytest.param("Traceback", 1, "gave no report (exit code 1)", id="no report"),
            pytest.param('{"schema": 2}', 0, "of another schema", id="another schema"),
        ],
    )
    def test_is_raised_with_what_was_printed(
        self, monkeypatch: pytest.MonkeyPatch, text: str, code: int, message: str
    ) -> None:
        monkeypatch.setattr(launcher, "command", answering(text, code))
        with pytest.raises(Fault) as fault:
            api.certify("a..b")
        assert message in fault.value.message
        assert fault.value.details.strip() == "why"
        assert str(pickle.loads(pickle.dumps(fault.value))) == str(fault.value)  # noqa: S301

    def test_an_interrupt_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(launcher, "command", answering("", 130))
        with pytest.raises(KeyboardInterrupt):
            api.certify("a..b")


def test_every_value_is_frozen_and_every_name_is_there() -> None:
    kinds = [vars(api)[name] for name in api.__all__]
    values = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    assert len(values) == 18
    for kind in map(vars, values):
        assert kind["__dataclass_params__"].frozen
        assert kind["__doc__"]
        assert "__slots__" in kind


def test_the_page_has_every_function_value_and_field() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    found = {coded(row[0]): row[1:] for row in rows(page)}
    for name in api.__all__:
        it = vars(api)[name]
        if dataclasses.is_dataclass(it):
            fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(it))
            assert found.pop(name) == [fields], name
        elif inspect.isfunction(it):
            code = inspect.signature(it)
            assert (
                found.pop(f"{name}({', '.join(shown(code))})")[1] == f"`{code.return_annotation}`"
            )
        else:
            words = [name, *getattr(it, "__members__", ())]
            assert [word for word in words if not re.search(rf"\b{word}\b", page)] == []
    assert set(found) == {"Refused", "Fault", "ValueError"}


def shown(signature: inspect.Signature) -> Iterator[str]:
    """Give parameters as the page has them."""
    named = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            named = True
            yield "*"
        yield name


def test_the_example_of_the_page_is_typed_and_runs(history: History, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    (example,) = (fence.text for fence in fences(page) if fence.language == "python")
    text = example.replace("main..HEAD", "plan..move").replace("path/to/clone", str(history.folder))
    (tmp_path / "split.toml").write_text(PLAN.replace("Money", "Mony"), encoding="utf-8")
    (tmp_path / "example.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 'module = "shop.money"' in done.stdout
    assert "unknown-symbol split.toml 7" in done.stdout


PROGRAM = """\
import sys, transforms, verify
from repot import api

assert transforms.MINE and verify.MINE
before = {name: id(module) for name, module in sys.modules.items()}
found = api.review("plan..move", repo=sys.argv[1])
assert found.conclusion is api.Conclusion.CERTIFIED, found
mine = {"transforms", "verify"}
ours = {name for name in sys.modules if name.partition(".")[0] in mine}
assert ours == mine, ours
assert all(before[name] == id(sys.modules[name]) for name in mine)
print(transforms.__file__, "libcst" in sys.modules)
"""


@pytest.mark.parametrize("paths", ["", "."], ids=["no PYTHONPATH", "PYTHONPATH"])
def test_a_program_keeps_its_own_packages(
    installed: Installation, history: History, tmp_path: Path, paths: str
) -> None:
    users = packages(tmp_path / "user", "transforms", "verify", text="MINE = True\n")
    write(users, {"program.py": PROGRAM})
    command = [installed.python, "program.py", str(history.folder)]
    more = {"PYTHONPATH": paths} if paths else {}
    done = installed.run(*command, cwd=users, more=more)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{users / 'transforms' / '__init__.py'} False\n"


SCRIPT = """\
from pathlib import Path

from repot import api


def lines(commits: str, repo: Path) -> list[tuple[str, int]]:
    certificate = api.certify(commits, repo=repo)
    if certificate.verdict is not api.Verdict.DIFFERS:
        return []
    return [(item.path, item.line) for item in certificate.residuals]


def plan(commits: str) -> str:
    try:
        return api.review(commits).plan or ""
    except api.Refused as refused:
        return refused.next_step


written: bool = api.apply("split.toml", write=True, formatters="none").written
"""
WRONG = """\
from repot import api

api.apply("split.toml", formatters="isort")
length: int = api.certify("a..b").verdict
api.review("a..b").plan = ""
"""


@pytest.mark.thorough
def test_mypy_checks_a_program_that_uses_it(installed: Installation, tmp_path: Path) -> None:
    write(tmp_path, {"right.py": SCRIPT, "wrong.py": WRONG})
    options = ["--strict", "--python-executable", installed.python, "--cache-dir", os.devnull]
    for name, count in (("right.py", 0), ("wrong.py", 3)):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *options, "--config-file=", name],
            cwd=tmp_path,
            env=variables(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.count(" error: ") == count, done.stdout
        assert str(ROOT) not in done.stdout
