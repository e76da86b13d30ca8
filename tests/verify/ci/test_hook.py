from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify.chain.how import How
from verify.ci.hook import judge_push
from verify.ci.start import ROOT
from verify.report.report import Report, Verdict

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
ALTERED = {**AFTER, "shop/money.py": AFTER["shop/money.py"].replace("Decimal(1)", "Decimal(2)")}
PROVED = {**AFTER, PLAN_PATH: PLAN}
ZEROS = "0" * 40

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A clone of a bare repository, with a plan committed and pushed."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    history = History(tmp_path / "work")
    history.commit(BEFORE, "Sell things")
    history.git("tag", "start")
    history.commit({**BEFORE, PLAN_PATH: PLAN}, "Plan to give money a module of its own")
    history.git("clone", "--quiet", "--bare", ".", "../remote.git")
    history.git("remote", "add", "origin", "../remote.git")
    history.git("fetch", "--quiet", "origin")
    history.git("remote", "set-head", "origin", "main")
    return history


def judged(history: History, start: str = "", end: str = "", remote: str = "") -> Report:
    given = {"FROM_REF": start, "TO_REF": end, "REMOTE_NAME": remote}
    environment = {f"PRE_COMMIT_{name}": value for name, value in given.items() if value}
    return judge_push(history.folder, environment, How(jobs=1))


class TestRange:
    def test_ids_and_names_are_the_same(self, history: History) -> None:
        head = history.commit(PROVED, CLAIM)
        base = history.git("rev-parse", "origin/main")
        found = [judged(history, base, head), judged(history, "origin/main", "HEAD")]
        assert [report.summary[0] for report in found] == ["1 commit: 1 proved."] * 2

    @pytest.mark.parametrize("start", ["", ZEROS], ids=["unset", "zeros"])
    def test_a_new_branch_is_compared_with_the_default_branch(
        self, history: History, start: str
    ) -> None:
        history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
        report = judged(history, start, "HEAD", "origin")
        assert report.verdict is Verdict.DIFFERS
        assert report.summary[0] == "1 commit: 1 not proved."

    @pytest.mark.parametrize("remote", ["elsewhere", "../x", "-x"])
    def test_without_a_known_branch_every_claim_of_the_history_is_judged(
        self, history: History, remote: str
    ) -> None:
        history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
        history.commit(BEFORE, "Undo")
        report = judged(history, "", "HEAD", remote)
        assert (report.command, report.verdict) == ("series", Verdict.DIFFERS)

    def test_a_first_push_that_claims_nothing_passes_and_says_so(self, history: History) -> None:
        report = judged(history, "", "start", "elsewhere")
        assert report.verdict is Verdict.HOLDS
        assert "no commit claims a move" in report.summary[0]

    def test_what_is_asked_for_holds_for_a_push(self, history: History) -> None:
        base = history.git("rev-parse", "HEAD")
        history.commit({**BEFORE, PLAN_PATH: PLAN, "x.py": "x = 1\n"}, "Add x")
        environment = {"PRE_COMMIT_FROM_REF": base, "PRE_COMMIT_TO_REF": "HEAD"}
        for how, verdict in (
            (How(jobs=1), Verdict.HOLDS),
            (How(jobs=1, strict=True), Verdict.DIFFERS),
            (How(jobs=1, declare=True), Verdict.DIFFERS),
        ):
            assert judge_push(history.folder, environment, how).verdict is verdict

    def test_a_deletion_is_not_judged(self, history: History) -> None:
        report = judged(history, "HEAD", ZEROS)
        assert report.verdict is Verdict.HOLDS
        assert "deletes a branch" in report.summary[0]

    def test_a_rebased_branch_is_judged_from_where_it_left_the_old_one(
        self, history: History
    ) -> None:
        old = history.commit({**BEFORE, PLAN_PATH: PLAN, "x.py": "x = 1\n"}, "Old")
        history.git("reset", "--quiet", "--hard", "HEAD^")
        history.commit(PROVED, CLAIM)
        assert judged(history, old, "HEAD").summary[0] == "1 commit: 1 proved."

    def test_nothing_new_is_nothing_wrong(self, history: History) -> None:
        assert judged(history, "HEAD", "HEAD").verdict is Verdict.HOLDS

    def test_branches_with_nothing_in_common_are_refused(self, history: History) -> None:
        history.git("checkout", "--quiet", "--orphan", "other")
        history.commit(AFTER, "Another beginning")
        with pytest.raises(Refusal) as refused:
            judged(history, "main", "HEAD")
        assert refused.value.kind == "no-common-commit"

    @pytest.mark.parametrize("ref", ["--all", "nowhere", "HEAD\n"])
    def test_a_ref_that_is_none_is_refused(self, history: History, ref: str) -> None:
        with pytest.raises(Refusal) as refused:
            judged(history, ref, "HEAD")
        assert refused.value.kind == "unknown-revision"


def test_the_hook_is_declared_for_pushes_without_file_names() -> None:
    assert HOOK["id"] == "repot-chain"
    assert HOOK["stages"] == ["pre-push"]
    assert HOOK["language"] == "python"
    assert HOOK["pass_filenames"] is False
    assert HOOK["always_run"] is True


Push = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def push(history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Push:
    """Pushes as a person does, with pre-commit's hook in place."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))

    def done(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(history.folder), "push", "origin", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return done


def install(history: History, repository: dict[str, object]) -> None:
    config = history.folder / ".pre-commit-config.yaml"
    config.write_text(yaml.safe_dump({"repos": [repository]}), encoding="utf-8")
    history.git("config", "core.excludesFile", os.devnull)
    (history.folder / ".git" / "info" / "exclude").write_text(".pre-commit-config.yaml\n")
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install", "--hook-type", "pre-push"],
        cwd=history.folder,
        check=True,
        capture_output=True,
    )


class TestPush:
    @pytest.fixture(autouse=True)
    def installed(self, history: History, push: Push) -> None:
        """The hook as declared, in this environment in place of one that pre-commit makes."""
        entry = HOOK["entry"].removeprefix("python ")
        here = {**HOOK, "language": "system", "entry": f"{sys.executable} {entry}"}
        install(history, {"repo": "local", "hooks": [here]})

    def test_a_proved_move_leaves(self, history: History, push: Push) -> None:
        head = history.commit(PROVED, CLAIM)
        assert push("main").returncode == 0
        assert history.git("rev-parse", "origin/main") == head

    def test_a_claim_with_one_altered_line_does_not(self, history: History, push: Push) -> None:
        history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
        done = push("main")
        assert done.returncode == 1
        assert "shop/money.py:5: destination shop.money" in done.stdout + done.stderr
        assert history.git("rev-parse", "origin/main") == history.git("rev-parse", "HEAD^")

    def test_an_ordinary_commit_leaves(self, history: History, push: Push) -> None:
        history.commit({**BEFORE, PLAN_PATH: PLAN, "x.py": "x = 1\n"}, "Add x")
        assert push("main").returncode == 0

    def test_a_new_branch_is_judged(self, history: History, push: Push) -> None:
        history.git("checkout", "--quiet", "-b", "split")
        history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
        assert push("split").returncode == 1
        history.git("reset", "--quiet", "--hard", "HEAD^")
        history.commit(PROVED, CLAIM)
        assert push("split").returncode == 0
        assert push("--delete", "split").returncode == 0

    def test_a_whole_history_is_judged_by_its_claims(
        self, history: History, push: Push, tmp_path: Path
    ) -> None:
        history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
        history.git("init", "--quiet", "--bare", "../empty.git")
        history.git("remote", "set-url", "origin", "../empty.git")
        history.git("update-ref", "-d", "refs/remotes/origin/HEAD")
        history.git("update-ref", "-d", "refs/remotes/origin/main")
        assert push("main").returncode == 1

    def test_nothing_of_the_pushed_tree_is_imported(self, history: History, push: Push) -> None:
        # Not names of the standard library: pre-commit itself would import those.
        names = ("repot", "verify", "transforms", "libcst", "sitecustomize")
        evil = {f"{name}.py": "open('RAN', 'w')\nraise SystemExit(0)\n" for name in names}
        history.commit({**ALTERED, PLAN_PATH: PLAN, **evil}, CLAIM)
        assert push("main").returncode == 1
        assert not (history.folder / "RAN").exists()


@pytest.mark.registry
def test_pre_commit_installs_the_hook_from_the_repository(
    history: History, push: Push, tmp_path: Path
) -> None:
    source = History(tmp_path / "repot")
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    printed = subprocess.run(listing, capture_output=True, check=True).stdout.decode()
    for path in filter(None, printed.split("\0")):
        target = source.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_file():
            shutil.copy2(ROOT / path, target)
    source.git("add", "--all")
    source.git("commit", "--quiet", "-m", "all of it")
    rev = source.git("rev-parse", "HEAD")
    install(history, {"repo": str(source.folder), "rev": rev, "hooks": [{"id": "repot-chain"}]})
    history.commit({**ALTERED, PLAN_PATH: PLAN}, CLAIM)
    done = push("main")
    assert done.returncode == 1
    assert "shop/money.py:5: destination shop.money" in done.stdout + done.stderr
    history.git("reset", "--quiet", "--hard", "HEAD^")
    history.commit(PROVED, CLAIM)
    assert push("main").returncode == 0
