"""Every tool, with the engine in this process: what an agent gets, and what it is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator

from repot.server import calls
from repot.server.calls import Answer, Desk
from repot.server.process import Job
from repot.server.root import Root
from repot.server.schema import RESULT
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli

Call = Callable[..., Answer]
ACCEPT = '\n[[accept]]\nkind = "breaks"\nmodule = "till"\nreason = "till goes next week"\n'
EDIT = '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "def paid():"\n'


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A plan that is committed, and the move on another branch."""
    made = History(tmp_path / "repo")
    made.commit({**BEFORE, PLAN_PATH: PLAN}, "Plan it")
    made.git("checkout", "--quiet", "-b", "moved")
    made.commit({**AFTER, PLAN_PATH: PLAN}, f"Move\n\nMechanical-Move: {PLAN_PATH}")
    made.git("branch", "feature", "HEAD^")
    made.git("checkout", "--quiet", "-")
    return made


@pytest.fixture
def call(history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A desk whose engine runs here: the same command line, and no process for each call."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REPOT_OFFLINE", "1")
    monkeypatch.chdir(history.folder)

    async def here(root: Root, job: Job, *, seconds: float) -> Any:
        assert seconds
        arguments = list(job.arguments)
        if job.text is not None:
            (tmp_path / "plan").write_text(job.text)
            arguments = [str(tmp_path / "plan"), *arguments]
        file = tmp_path / "report.json"
        report = file if job.prints else "-"
        options = [f"--repo={root.folder}", f"--json={report}", *job.options]
        printed = io.BytesIO()
        stream = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
        with redirect_stdout(stream):
            cli.run([job.command, *options, "--", *arguments])
        stream.detach()
        return json.loads(file.read_bytes() if job.prints else printed.getvalue())

    monkeypatch.setattr(calls, "report", here)
    desk = Desk(Root.of(str(history.folder)))

    def called(name: str, **given: Any) -> Answer:
        answer = anyio.run(desk.answer, name, given)
        Draft202012Validator(RESULT).validate(answer.content)
        return answer

    return called


def rows(answer: Answer, name: str) -> list[Any]:
    return [row["value"] for row in answer.content["rows"] if row["list"] == name]


def test_symbols(call: Call) -> None:
    for module in ("shop.orders", "shop/orders.py"):
        found = call("symbols", module=module)
        assert [item["names"] for item in rows(found, "definitions")] == [["Money"], ["pay"]]
        assert [item["cycle"] for item in rows(found, "groups")] == [False, False]
        assert rows(found, "plan")[0].startswith("# A first plan")


@pytest.mark.parametrize("module", ["../repo/shop/orders.py", "/etc/passwd", "/etc/hosts.py", "no"])
def test_symbols_of_nothing_in_the_tree(call: Call, module: str) -> None:
    answer = call("symbols", module=module)
    assert answer.failed
    assert answer.content["refusal"]["kind"] in {"unknown-module", "unsafe-path"}


def test_a_link_is_no_module(call: Call, history: History, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("PASSWORD = 'x'\n")
    (history.folder / "shop" / "link.py").symlink_to(tmp_path / "secret.py")
    answer = call("symbols", module="shop/link.py")
    assert answer.failed
    assert "PASSWORD" not in json.dumps(answer.content)


def test_plan(call: Call) -> None:
    for given in ({"plan": PLAN_PATH}, {"text": PLAN}, {"plan": PLAN_PATH, "at": "HEAD"}):
        found = call("plan", **given)
        assert (found.failed, found.content["verdict"]) == (False, "holds")
        assert [item["symbols"] for item in rows(found, "destinations")] == [["Money"]]
    refusal = call("plan", text="format = 9\n").content["refusal"]
    assert refusal["kind"] == "plan-schema"
    assert refusal["place"]["line"] == 1


def test_a_formatter_that_is_not_there_is_refused_and_not_installed(
    call: Call, history: History, tmp_path: Path
) -> None:
    hooks = (
        "repos:\n- repo: https://github.com/psf/black\n  rev: 24.10.0\n  hooks:\n  - id: black\n"
    )
    plan = PLAN.replace('formatters = "none"\n', "")
    history.commit({**BEFORE, PLAN_PATH: plan, ".pre-commit-config.yaml": hooks})
    refusal = call("plan", plan=PLAN_PATH).content["refusal"]
    assert refusal["kind"] == "formatter-unavailable"
    assert "`repot apply PLAN` once" in refusal["next_step"]
    assert not list((tmp_path / "cache").rglob("installed"))
    moved = {**AFTER, PLAN_PATH: plan, ".pre-commit-config.yaml": hooks}
    history.commit(moved, "Move by hand")
    for name in ("infer", "review"):
        found = call(name, range="HEAD")
        assert not found.failed
        told = {**found.content["head"], **{row["list"]: row for row in found.content["rows"]}}
        assert told["no_formatters"]


def test_apply_is_dry(call: Call, history: History) -> None:
    found = call("apply", plan=PLAN_PATH)
    assert (found.failed, found.content["head"]["written"]) == (False, False)
    assert found.content["head"]["judgement.certificate"] == "CERTIFIED"
    assert history.git("status", "--porcelain") == ""


def test_apply_writes_where_all_is_committed(call: Call, history: History) -> None:
    (history.folder / "new.txt").write_text("x\n")
    answer = call("apply", plan=PLAN_PATH, write=True)
    refusal = answer.content["refusal"]
    assert (refusal["kind"], refusal["place"]["path"]) == ("unclean-tree", "new.txt")
    (history.folder / "new.txt").unlink()
    assert call("apply", plan=PLAN_PATH, write=True).content["head"]["written"]
    assert (history.folder / "shop/money.py").read_text() == AFTER["shop/money.py"]
    assert call("certify").content["head"]["certificate"] == "CERTIFIED"


def test_what_breaks_is_not_written_and_what_is_accepted_comes_first(
    call: Call, history: History
) -> None:
    files = {**BEFORE, PLAN_PATH: PLAN + EDIT}
    history.commit(files)
    stopped = call("apply", plan=PLAN_PATH, write=True)
    assert (stopped.failed, stopped.content["verdict"]) == (False, "differs")
    assert not stopped.content["head"]["written"]
    assert rows(stopped, "judgement.paste")
    history.commit({**files, PLAN_PATH: PLAN + EDIT + ACCEPT})
    for name in ("plan", "apply"):
        found = call(name, plan=PLAN_PATH).content
        assert next(iter(found)) == "accepted"
        assert [item["reason"] for item in found["accepted"]] == ["till goes next week"]
        assert found["summary"][0].startswith("Accepted by the plan, not proved: ")
        assert found["rows"][0]["list"] == "accepted"


def test_judging(call: Call) -> None:
    assert call("certify", range="moved").content["head"]["certificate"] == "CERTIFIED"
    found = call("review", range="moved")
    assert found.content["head"]["conclusion"] == "certified"
    assert found.content["verdict"] == "holds"
    inferred = call("infer", range="moved")
    assert '"Money"' in rows(inferred, "plan")[0]
    assert call("certify").content["refusal"]["kind"] == "nothing-to-judge"
    assert call("certify", staged=True).content["refusal"]["kind"] == "nothing-to-judge"
    for text in ("--write", "-x..HEAD", "nowhere", ".."):
        assert call("certify", range=text).failed


def test_carry_check(call: Call) -> None:
    found = call("carry_check", branches=["feat*"], over=["moved"], onto="moved")
    (branch,) = rows(found, "branches")
    assert branch["branch"] == "feature"
    refusal = call("carry_check", branches=["nothing"], over=["moved"]).content["refusal"]
    assert refusal["kind"] == "unknown-branch"


def test_a_run_that_was_stopped_is_left_as_it_is(call: Call, history: History) -> None:
    journal = history.folder / ".git" / "repot" / "preparing"
    journal.mkdir(parents=True)
    for given in ({}, {"write": True}):
        answer = call("apply", plan=PLAN_PATH, **given)
        assert answer.content["refusal"]["kind"] == "unfinished-run"
    assert journal.is_dir()


def test_a_folder_that_turns_into_another_repository_is_served_no_longer(
    call: Call, history: History, tmp_path: Path
) -> None:
    (history.folder / ".git").rename(tmp_path / "elsewhere")
    (history.folder / ".git").symlink_to(tmp_path / "elsewhere")
    assert call("certify", range="moved").content["refusal"]["kind"] == "no-repository"
