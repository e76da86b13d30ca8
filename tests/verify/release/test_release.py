"""`make transform`: its checks fail when they should, and the release passes them all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.sharing import split_once
from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.reading.model import Plan
from transforms.result.changes import EXECUTABLE, REGULAR, SYMLINK, Blob, Change, ChangeSet
from transforms.result.outcome import Outcome
from transforms.tree import GitTree
from verify.release import transform
from verify.release.linting import lint
from verify.release.transform import Check, run_checks, split_commit, write_tree
from verify.report.report import Report, Verdict

PLAN = """\
format = 1
formatters = "none"
[[source]]
module = "pkg.mono"
[[destination]]
module = "pkg.core"
symbols = ["X"]
copy = ["log"]
"""

BEFORE = {
    "pkg/__init__.py": "",
    "pkg/mono.py": """\
import json
import logging
import os

log = logging.getLogger(__name__)


def X():
    log.info(os.sep)


def Y():
    return X(), log, undefined_already
""",
    "app.py": "from pkg.mono import X\n\nprint(X())\n",
    "pkg/near.py": "from .mono import X\n\nprint(X())\n",
}


@pytest.fixture(scope="module")
def tree() -> MemoryTree:
    return MemoryTree({path: Blob(text.encode()) for path, text in BEFORE.items()})


@pytest.fixture(scope="module")
def plan() -> Plan:
    return parse_plan(PLAN.encode(), "move.toml")


@pytest.fixture(scope="module")
def outcome(plan: Plan, tree: MemoryTree) -> Outcome:
    return apply(plan, tree)


def tampered(outcome: Outcome, files: Mapping[str, bytes | None]) -> Outcome:
    """The outcome with other bytes in some files, or without some changes (`None`)."""
    changes = dict(outcome.changes)
    for path, data in files.items():
        before = changes.pop(path).before if path in changes else None
        if data is not None:
            changes[path] = Change(path, before, Blob(data))
    return replace(outcome, changes=ChangeSet(changes.values()))


def failed(checks: list[Check]) -> dict[str, list[str]]:
    return {
        check.name: [f"{place}: {message}" if place else message for place, message in check.faults]
        for check in checks
        if check.faults
    }


def text_of(outcome: Outcome, path: str) -> bytes:
    blob = outcome.changes.after()[path]
    assert blob is not None
    return blob.data


def test_every_check_holds_of_a_sound_move(plan: Plan, tree: MemoryTree, outcome: Outcome) -> None:
    checks = list(run_checks(plan, tree, outcome, None))
    assert failed(checks) == {}
    assert [check.name for check in checks] == [
        "compiles",
        "no new undefined name",
        "no new unused import",
        "callers",
    ]
    assert checks[0].holds == "all 4 modules that changed"
    assert checks[3].holds.startswith("no caller imports a moved name from pkg.mono (")


# Each row: a file, what is put in place of it (from its text after the move), the check that fails
# and what it says.
FAULTS = {
    "an undefined name": (
        "pkg/core.py",
        lambda text: text + b"\n\nmissing()\n",
        "no new undefined name",
        "pkg/core.py:11: Undefined name `missing`",
    ),
    "an import that nothing uses": (
        "pkg/core.py",
        lambda text: b"import sys\n" + text,
        "no new unused import",
        "pkg/core.py:1: `sys` imported but unused",
    ),
    "a file that does not compile": (
        "pkg/core.py",
        lambda text: text + b"def (:\n",
        "compiles",
        "pkg/core.py:9: invalid syntax",
    ),
    "a file that holds a null byte": (
        "pkg/core.py",
        lambda text: text + b"\0",
        "compiles",
        "pkg/core.py: ",
    ),
    "a caller left as it was": (
        "app.py",
        lambda _: None,
        "callers",
        "app.py:1: imports X from pkg.mono",
    ),
    "a relative caller left as it was": (
        "pkg/near.py",
        lambda _: None,
        "callers",
        "pkg/near.py:1: imports X from pkg.mono",
    ),
    "a new caller of the old home": (
        "new.py",
        lambda _: b"def f():\n    from pkg.mono import (\n        X as y,\n    )\n    y()\n",
        "callers",
        "new.py:2: imports X from pkg.mono",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "change", "check", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_found_where_it_is(
    plan: Plan, tree: MemoryTree, outcome: Outcome, path: str, change: object, check: str,
    message: str,
) -> None:  # fmt: skip
    assert callable(change)
    text = text_of(outcome, path) if path in outcome.changes else b""
    broken = tampered(outcome, {path: change(text)})
    found = failed(list(run_checks(plan, tree, broken, None)))
    assert check in found
    assert any(fault.startswith(message) for fault in found[check]), found


def test_what_was_unused_or_undefined_before_is_not_new(tmp_path: Path, outcome: Outcome) -> None:
    text = text_of(outcome, "pkg/mono.py")
    assert b"import json" in text  # unused before, so it is not the move's to drop
    found = {(item.code, item.name) for item in lint({"m.py": text}, tmp_path)}
    assert {("F401", "json"), ("F821", "undefined_already")} <= found


def test_what_an_init_imports_is_exported(plan: Plan, tree: MemoryTree, outcome: Outcome) -> None:
    exporting = tampered(outcome, {"pkg/__init__.py": b"from pkg.core import X\n"})
    assert failed(list(run_checks(plan, tree, exporting, None))) == {}


def test_a_file_that_never_parsed_is_no_caller(plan: Plan, outcome: Outcome) -> None:
    files = {path: Blob(text.encode()) for path, text in BEFORE.items()}
    files["template.py"] = Blob(b"from pkg.mono import {{ name }}\n")
    checks = list(run_checks(plan, MemoryTree(files), outcome, None))
    assert failed(checks) == {}


def test_the_next_release_must_have_the_same_bytes(
    plan: Plan, tree: MemoryTree, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transform, "SAME_AS_NEXT", ("pkg/core.py", "app.py"))
    same = {path: Blob(text_of(outcome, path)) for path in ("pkg/core.py", "app.py")}
    assert failed(list(run_checks(plan, tree, outcome, MemoryTree(same)))) == {}
    other = {**same, "app.py": Blob(b"print()\n")}
    found = failed(list(run_checks(plan, tree, outcome, MemoryTree(other))))
    assert found == {"next release": ["app.py: differs from sglang 0.5.14"]}
    lost = tampered(outcome, {"pkg/core.py": None})
    assert (
        "pkg/core.py: differs from sglang 0.5.14"
        in failed(list(run_checks(plan, tree, lost, MemoryTree(same))))["next release"]
    )


def test_the_split_tree_and_its_patch_are_written_anew(tmp_path: Path, outcome: Outcome) -> None:
    files = {path: Blob(text.encode()) for path, text in BEFORE.items()}
    files["bin/run"] = Blob(b"#!/bin/sh\n", EXECUTABLE)
    files["link"] = Blob(b"/etc/passwd", SYMLINK)
    folder, patch = tmp_path / "out", tmp_path / "out.diff"
    folder.mkdir()
    (folder / "stale.py").touch()
    write_tree(MemoryTree(files), outcome, folder, patch)
    written = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    assert written == {*BEFORE, "pkg/core.py", "bin/run"}
    assert (folder / "pkg/core.py").read_bytes() == text_of(outcome, "pkg/core.py")
    assert os.access(folder / "bin/run", os.X_OK)
    assert not os.access(folder / "app.py", os.X_OK)
    assert patch.read_bytes() == outcome.changes.diff()


def test_a_refusal_names_its_cause_and_exits_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "verify.release.transform", "--repo", str(tmp_path / "none")]
    root = ROOT
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "refused (no-such-directory)" in done.stderr
    assert not (tmp_path / "build").exists()


def check_report(report: Report, tmp_path: Path, files: int, edits: int) -> None:
    assert report.verdict is Verdict.HOLDS, report.sections[-1]
    assert [finding.kind for finding in report.sections[-1].findings].count("failed") == 0
    assert report.data["authored_lines"] == 7
    assert len(report.data["files"]) == files
    assert len([file for file in report.data["files"] if file["change"] == "created"]) == 4
    assert sum(report.data["edits_by_kind"].values()) == edits
    assert json.dumps(report.data)
    (patch,) = (tmp_path / "build/transform").glob("*.diff")
    assert patch.read_bytes().count(b"diff --git ") == files
    folder = patch.with_suffix("")
    split = folder.rglob("pool_host/*.py")
    assert sorted(path.name for path in split) == [
        "__init__.py", "base.py", "common.py", "hisparse.py",
    ]  # fmt: skip


@pytest.mark.registry
def test_the_release_is_split_and_every_check_holds(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    report, folder = split_once(tmp_path_factory)
    check_report(report, folder, files=14, edits=9)
    assert [finding.place.path for finding in report.sections[-1].findings] == [
        "compiles",
        "no new undefined name",
        "no new unused import",
        "callers",
        "next release",
    ]


@pytest.mark.history
def test_a_commit_of_a_clone_is_split_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = Path(os.environ["REPOT_HISTORIES"]) / "alphabetc1-sglang.git"
    monkeypatch.chdir(tmp_path)
    check_report(split_commit(clone, "e1955bf57ab3"), tmp_path, files=16, edits=12)
    target = GitTree(clone, "7e7e3820c26ba0609f017b99358172a9776197de")
    (folder,) = [path for path in (tmp_path / "build/transform").iterdir() if path.is_dir()]
    landed = target.read_many(p for p, m in target.entries().items() if m in (REGULAR, EXECUTABLE))
    written = {path: (folder / path).read_bytes() for path in landed}
    assert written == landed


class TestBothParts:
    """The project's own series first, then the release; what cannot be had is left out."""

    def run(
        self,
        monkeypatch: pytest.MonkeyPatch,
        series: Report | Refusal,
        split: Report | Refusal,
    ) -> int:
        def giving(result: Report | Refusal) -> Report:
            if isinstance(result, Refusal):
                raise result
            return result

        monkeypatch.setattr(transform, "replay_series", lambda: giving(series))
        monkeypatch.setattr(transform, "split_release", lambda: giving(split))
        return transform.main([])

    HOLDS = Report("series", Verdict.HOLDS, "seven moves")
    DIFFERS = Report("series", Verdict.DIFFERS, "seven moves")

    def test_both_are_shown(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        split = Report("transform", Verdict.HOLDS, "the release")
        assert self.run(monkeypatch, self.HOLDS, split) == 0
        out = capsys.readouterr().out
        assert out.index("repot series: seven moves") < out.index("repot transform: the release")

    @pytest.mark.parametrize("kind", ["shallow-history", "no-repository"])
    def test_a_clone_without_its_history_is_told_and_goes_on(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
    ) -> None:
        missing = Refusal(kind, "There is none.", next_step="Fetch it.")
        assert self.run(monkeypatch, missing, self.HOLDS) == 0
        err = capsys.readouterr().err
        assert f"left out ({kind})" in err
        assert "Fetch it." in err

    def test_without_the_index_the_release_is_left_out(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        missing = Refusal("no-wheel", "It cannot be had.", next_step="Go online.")
        assert self.run(monkeypatch, self.HOLDS, missing) == 0
        assert "left out (no-wheel)" in capsys.readouterr().err

    def test_a_wheel_with_another_hash_is_no_reason_to_pass(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong = Refusal("wrong-wheel", "Another sha256.", next_step="Do not use it.")
        assert self.run(monkeypatch, self.HOLDS, wrong) == 2

    def test_a_red_series_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, self.DIFFERS, self.HOLDS) == 1
