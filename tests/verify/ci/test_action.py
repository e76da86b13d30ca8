from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify.ci import action
from verify.ci.action import read_request, run
from verify.ci.start import ROOT

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
ALTERED = AFTER["shop/money.py"].replace("Decimal(1)", "Decimal(2)")
ID = "0a" * 20


@dataclass
class Runner:
    """A workspace with a clone in it, and the files and variables that GitHub's runner gives."""

    folder: Path
    history: History

    def environment(self, event: object = None, **inputs: str) -> dict[str, str]:
        temporary = self.folder / "temp"
        temporary.mkdir(exist_ok=True)
        (temporary / "event.json").write_text(json.dumps(event))
        return {
            **os.environ,
            "GITHUB_WORKSPACE": str(self.history.folder),
            "GITHUB_EVENT_PATH": str(temporary / "event.json"),
            "GITHUB_OUTPUT": str(temporary / "output"),
            "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
            "RUNNER_TEMP": str(temporary),
            "REPOT_CACHE": str(temporary / "cache"),
            "REPOT_JOBS": "1",
            **{f"REPOT_{name.upper()}": value for name, value in inputs.items()},
        }

    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "temp" / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def summary(self) -> str:
        return (self.folder / "temp" / "summary").read_text(encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    history = History(tmp_path / "work")
    history.commit(BEFORE, "Sell things")
    history.git("tag", "base")
    history.commit({**BEFORE, PLAN_PATH: PLAN}, "Plan to give money a module of its own")
    history.git("tag", "plan")
    return Runner(tmp_path, history)


def pull_request(runner: Runner) -> object:
    base, head = runner.history.git("rev-parse", "base", "HEAD").split()
    return {"pull_request": {"base": {"sha": base}, "head": {"sha": head}}}


class TestRun:
    def test_a_proved_move_is_green(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        runner.history.commit({**AFTER, PLAN_PATH: PLAN}, CLAIM)
        assert run(runner.environment(pull_request(runner))) == 0
        outputs = runner.outputs()
        assert (outputs["verdict"], outputs["exit-code"]) == ("holds", "0")
        page = Path(outputs["markdown"]).read_text(encoding="utf-8")
        assert page == runner.summary()
        assert page.startswith("## repot chain: ✓ it holds")
        assert json.loads(Path(outputs["json"]).read_text())["verdict"] == "holds"
        assert "It holds" in Path(outputs["html"]).read_text()
        assert "::error" not in capsys.readouterr().out

    def test_one_altered_line_is_red_and_annotated(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        runner.history.commit({**AFTER, "shop/money.py": ALTERED, PLAN_PATH: PLAN}, CLAIM)
        assert run(runner.environment(pull_request(runner))) == 1
        assert runner.outputs()["verdict"] == "differs"
        assert "| `shop/money.py:5` |" in runner.summary()
        assert "\n::error file=shop/money.py,line=5,title=" in capsys.readouterr().out

    def test_an_ordinary_commit_is_listed_and_red_only_if_strict(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        event = pull_request(runner)
        assert run(runner.environment(event)) == 0
        assert "for human eyes: it claims no move" in runner.summary()
        printed = capsys.readouterr().out
        assert "\n::notice file=plans/split.toml,line=1,title=Repot%3A for human eyes::" in printed
        assert "::error" not in printed
        assert run(runner.environment(event, strict="true")) == 1

    def test_each_commit_has_to_declare_what_it_is_where_that_is_asked_for(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        event = pull_request(runner)
        assert run(runner.environment(event, declare="true")) == 1
        assert "undeclared: it does not say whether it is a move" in runner.summary()
        printed = capsys.readouterr().out
        assert "\n::error file=plans/split.toml,line=1,title=Repot%3A undeclared::" in printed
        runner.history.git("commit", "--quiet", "--amend", "-m", "Plan it\n\nMechanical-Move: none")
        assert run(runner.environment(pull_request(runner), declare="true")) == 0

    def test_the_summary_and_the_log_have_the_lines_to_read_without_any_trailer(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        till = AFTER["till.py"].replace("Money, pay)", "pay)")
        runner.history.commit({**AFTER, "till.py": till, PLAN_PATH: PLAN}, "Move Money")
        assert run(runner.environment(pull_request(runner))) == 0
        printed = capsys.readouterr().out
        for told in (runner.summary(), printed):
            assert "1 symbol, 2 lines moved; 1 place to read" in told
            assert "- print(Money, pay)\n" in told
        assert "\n::notice file=till.py,line=4,title=Repot%3A behaviour differs::" in printed
        assert "NO CLAIM: no commit says that it is a move; 2 to be read." in printed

    def test_a_base_that_went_on_is_compared_where_the_branch_left_it(self, runner: Runner) -> None:
        runner.history.commit({**AFTER, PLAN_PATH: PLAN}, CLAIM)
        head = runner.history.git("rev-parse", "HEAD")
        runner.history.git("checkout", "--quiet", "base")
        base = runner.history.commit({**BEFORE, "other.py": ""}, "Go on")
        assert run(runner.environment(base=base, head=head)) == 0
        assert "2 commits: 1 for human eyes, 1 proved." in runner.summary()

    def test_what_cannot_be_judged_is_two_and_told_in_every_place(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(runner.environment(base=ID, head=ID)) == 2
        assert runner.outputs()["verdict"] == "unjudged"
        assert "? it could not be judged" in runner.summary()
        assert "::error " in capsys.readouterr().out

    def test_a_fault_is_three_and_told_too(
        self, runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise KeyError("x")

        monkeypatch.setattr(action, "judge_range", broken)
        assert run(runner.environment(pull_request(runner))) == 3
        assert runner.outputs()["verdict"] == "fault"
        assert "::error title=Repot%3A failed::KeyError" in capsys.readouterr().out

    def test_the_log_obeys_no_line_of_the_repository(
        self, runner: Runner, capsys: pytest.CaptureFixture[str]
    ) -> None:
        evil = "::set-output name=x::y\n::error::boo ##[error]boo"
        files = {
            **AFTER,
            "shop/money.py": f"{ALTERED}{evil}\n",
            "::error::.py": "",
            PLAN_PATH: PLAN,
        }
        runner.history.commit(files, f"{evil}\n\n{CLAIM}")
        assert run(runner.environment(pull_request(runner))) == 1
        lines = capsys.readouterr().out.splitlines()
        stop, *log = lines
        token = re.fullmatch("::stop-commands::([0-9a-f]{32})", stop)
        assert token
        told = log[: log.index(f"::{token[1]}::")]
        assert not [line for line in told if line.strip().startswith("::")]
        assert "##[" not in "\n".join(lines)
        after = log[len(told) + 1 :]
        assert all(re.match("::(error|notice) (file|title)=", line) for line in after)


class TestRequest:
    @pytest.mark.parametrize(
        ("event", "wanted"),
        [
            pytest.param(
                {"pull_request": {"base": {"sha": "1" * 40}, "head": {"sha": "2" * 40}}},
                ("1" * 40, "2" * 40),
                id="a pull request",
            ),
            pytest.param(
                {"merge_group": {"base_sha": "1" * 40, "head_sha": "2" * 40}},
                ("1" * 40, "2" * 40),
                id="a merge group",
            ),
            pytest.param(
                {"before": "1" * 64, "after": "2" * 64}, ("1" * 64, "2" * 64), id="a push"
            ),
        ],
    )
    def test_the_event_names_the_commits(
        self, runner: Runner, event: object, wanted: tuple[str, str]
    ) -> None:
        request = read_request(runner.environment(event))
        assert (request.base, request.head) == wanted

    def test_inputs_outdo_the_event(self, runner: Runner) -> None:
        request = read_request(runner.environment(pull_request(runner), base=ID))
        assert request.base == ID
        assert request.head == runner.history.git("rev-parse", "HEAD")

    @pytest.mark.parametrize(
        "event",
        [
            pytest.param(None, id="no event"),
            pytest.param({"before": "0" * 40, "after": "2" * 40}, id="a push that makes a branch"),
            pytest.param({"pull_request": {"base": {}}}, id="a pull request without ids"),
            pytest.param({"pull_request": None}, id="a pull request that is none"),
            pytest.param([1], id="a list"),
        ],
    )
    def test_an_event_without_a_base_is_refused(self, runner: Runner, event: object) -> None:
        with pytest.raises(Refusal, match="`base` is not given"):
            read_request(runner.environment(event))

    @pytest.mark.parametrize(
        "inputs",
        [
            pytest.param({"base": "main"}, id="a branch"),
            pytest.param({"base": "--output=x"}, id="an option"),
            pytest.param({"base": "0a0a0a0"}, id="a short id"),
            pytest.param({"base": f"{ID}\n"}, id="an id and a line break"),
            pytest.param({"head": f"{ID}..{ID}"}, id="a range"),
            pytest.param({"head": ID.upper()}, id="capitals"),
            pytest.param({"jobs": "-1"}, id="jobs below none"),
            pytest.param({"jobs": "many"}, id="jobs in words"),
            pytest.param({"strict": "maybe"}, id="half strict"),
            pytest.param({"declare": "maybe"}, id="half declared"),
        ],
    )
    def test_inputs_that_are_nothing_of_the_kind_are_refused(
        self, runner: Runner, inputs: Mapping[str, str]
    ) -> None:
        given = {"base": ID, "head": ID, **inputs}
        with pytest.raises(Refusal) as refused:
            read_request(runner.environment(**given))
        assert refused.value.kind == "bad-input"

    def test_a_judge_inside_what_it_judges_is_refused(self, runner: Runner) -> None:
        environment = {**runner.environment(base=ID, head=ID), "GITHUB_WORKSPACE": str(ROOT)}
        with pytest.raises(Refusal) as refused:
            read_request(environment)
        assert refused.value.kind == "judge-in-repository"
        beside = {**environment, "REPOT_REPOSITORY": "tests"}
        assert read_request(beside).repo == ROOT / "tests"


HOSTILE = (
    "sitecustomize",
    "usercustomize",
    "venv",
    "json",
    "repot",
    "verify",
    "transforms",
    "libcst",
)


@pytest.mark.registry
def test_the_whole_step_installs_by_hash_and_runs_nothing_of_the_workspace(
    runner: Runner,
) -> None:
    files = {f"{name}.py": "open('RAN', 'w')\nraise SystemExit(0)\n" for name in HOSTILE}
    files |= {"git": "#!/bin/sh\ntouch RAN\n", "pip.conf": "[install]\ntarget = x\n"}
    runner.history.commit({**AFTER, "shop/money.py": ALTERED, PLAN_PATH: PLAN, **files}, CLAIM)
    runner.history.git("config", "core.fsmonitor", "touch RAN")
    environment = {
        **runner.environment(pull_request(runner), jobs="2"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "REPOT_PYTHON": sys.executable,
        "PYTHONPATH": str(runner.history.folder),
        "PIP_TARGET": str(runner.folder / "elsewhere"),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        cwd=runner.history.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert runner.outputs()["verdict"] == "differs"
    assert "::error file=shop/money.py,line=5," in done.stdout
    assert not list(runner.folder.rglob("RAN"))
    assert not (runner.folder / "elsewhere").exists()


def script() -> str:
    import yaml

    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    return str(steps[0]["run"])
