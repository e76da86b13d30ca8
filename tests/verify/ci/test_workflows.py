"""What the workflows promise a stranger's pull request: it is data, and can do nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify.ci.start import ROOT

OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXAMPLE = ROOT / "examples" / "github.yml"
JUDGING = [ROOT / ".github" / "workflows" / "repot.yml", EXAMPLE]
ACTION = ROOT / "action.yml"


def read(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def triggers(workflow: dict[Any, Any]) -> set[str]:
    return set(workflow[True])  # YAML 1.1 takes the key `on` for a truth value


def steps(path: Path) -> Iterator[dict[str, Any]]:
    document = read(path)
    jobs = document["jobs"].values() if "jobs" in document else [document["runs"]]
    for job in jobs:
        yield from job["steps"]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*OWN, EXAMPLE, ACTION], ids=named)
class TestEvery:
    def test_no_value_is_written_into_a_script(self, path: Path) -> None:
        for step in steps(path):
            assert "${{" not in step.get("run", "")

    def test_what_it_uses_is_pinned(self, path: Path) -> None:
        for step in steps(path):
            used = step.get("uses", "./")
            if used.startswith("./"):
                continue
            name, _, at = used.partition("@")
            # GitHub's own by major version: who could move that tag runs the machine anyway.
            by_github = name.startswith("actions/") and re.fullmatch(r"v\d+", at)
            assert (
                by_github
                or re.fullmatch("[0-9a-f]{40}", at)
                or (name, at)
                == (
                    "OWNER/repot",
                    "COMMIT",
                )
            )

    def test_a_checkout_leaves_no_credentials_behind(self, path: Path) -> None:
        for step in steps(path):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", [*OWN, EXAMPLE], ids=named)
class TestWorkflows:
    def test_a_stranger_gets_no_token_that_writes(self, path: Path) -> None:
        workflow = read(path)
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & triggers(workflow)
        if "pull_request" in triggers(workflow):
            assert workflow["permissions"] == {"contents": "read"}
            assert not any("permissions" in job for job in workflow["jobs"].values())

    def test_it_ends_by_itself(self, path: Path) -> None:
        assert all("timeout-minutes" in job for job in read(path)["jobs"].values())


@pytest.mark.parametrize("path", JUDGING, ids=named)
class TestJudging:
    def test_the_whole_history_is_there(self, path: Path) -> None:
        first = next(steps(path))
        assert first["uses"].startswith("actions/checkout@")
        assert first["with"]["fetch-depth"] == 0

    def test_no_step_runs_a_script(self, path: Path) -> None:
        assert not any("run" in step for step in steps(path))


def test_this_repository_is_judged_by_the_repot_of_the_base() -> None:
    judged, judge, action = steps(JUDGING[0])
    assert judge["with"]["ref"].startswith("${{ github.event.pull_request.base.sha")
    assert action["uses"] == f"./{judge['with']['path']}"
    assert action["with"]["repository"] == judged["with"]["path"]
    assert judged["with"]["path"] != judge["with"]["path"]


class TestAction:
    def test_every_input_reaches_the_judge_by_the_environment(self) -> None:
        (step,) = steps(ACTION)
        inputs = read(ACTION)["inputs"]
        wanted = {
            f"REPOT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}"
            for name in inputs
        }
        assert step["env"] == wanted
        sources = "".join(
            (ROOT / "verify" / "ci" / name).read_text() for name in ("start.py", "action.py")
        )
        read_here = {*re.findall(r"REPOT_[A-Z_]+", sources), "REPOT_PYTHON"}
        assert set(wanted) == read_here

    def test_every_output_is_one_that_the_judge_gives(self) -> None:
        outputs = read(ACTION)["outputs"]
        assert set(outputs) == {"verdict", "exit-code", "markdown", "html", "json"}
        for name, output in outputs.items():
            assert output["value"] == f"${{{{ steps.chain.outputs.{name} }}}}"

    def test_the_script_is_sound_bash_and_leaves_the_workspace_first(self) -> None:
        (step,) = steps(ACTION)
        assert step["run"].startswith('cd "$RUNNER_TEMP"\n')
        done = subprocess.run(["bash", "-n"], input=step["run"].encode(), check=False)
        assert done.returncode == 0


class TestGitlab:
    JOB = read(ROOT / "examples" / "gitlab.yml")["repot"]

    def test_the_whole_history_is_there(self) -> None:
        assert self.JOB["variables"]["GIT_DEPTH"] == "0"

    def test_python_runs_outside_the_clone_and_isolated(self) -> None:
        assert self.JOB["script"][0] == "cd /tmp"
        for line in self.JOB["script"]:
            assert not re.search(r"python(?! -I)\b", line.replace("bin/python", "python"))

    def test_the_report_is_where_gitlab_looks_for_it(self) -> None:
        name = self.JOB["artifacts"]["reports"]["codequality"]
        assert f'--gitlab "$CI_PROJECT_DIR/{name}"' in " ".join(self.JOB["script"])

    def test_its_script_is_sound_shell(self) -> None:
        script = "\n".join(self.JOB["script"]).encode()
        assert subprocess.run(["sh", "-n"], input=script, check=False).returncode == 0

    @pytest.mark.registry
    def test_it_runs_as_shown(self, tmp_path: Path) -> None:
        history = History(tmp_path / "clone")
        common = {PLAN_PATH: PLAN, "venv.py": "raise SystemExit(9)\n"}
        base = history.commit({**BEFORE, **common}, "Plan")
        money = AFTER["shop/money.py"].replace("Decimal(1)", "Decimal(2)")
        claim = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
        head = history.commit({**AFTER, "shop/money.py": money, **common}, claim)
        asked = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
        printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        given = {
            **self.JOB["variables"],
            "REPOT_URL": str(ROOT),
            "REPOT_COMMIT": printed.strip(),
            "REPOT_CACHE": str(tmp_path / "cache"),
            "CI_PROJECT_DIR": str(history.folder),
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "CI_COMMIT_SHA": head,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        script = "set -e\n" + "\n".join(self.JOB["script"]).replace("cd /tmp", f"cd {tmp_path}")
        done = subprocess.run(
            ["sh"], input=script.encode(), env={**os.environ, **given}, check=False
        )
        assert done.returncode == 1
        report = json.loads((history.folder / "gl-code-quality-report.json").read_bytes())
        places = [(item["location"]["path"], item["severity"]) for item in report]
        assert places == [("shop/money.py", "major")]
        assert (history.folder / "repot.html").stat().st_size > 1000


def test_the_example_for_pre_commit_names_the_hook() -> None:
    (repo,) = read(ROOT / "examples" / "pre-commit.yaml")["repos"]
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [item["id"] for item in repo["hooks"]] == [hook["id"]]
