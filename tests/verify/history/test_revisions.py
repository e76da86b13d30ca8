"""What people type for a change, which two commits are judged, and what the others refuse."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify import cli
from verify.history.revisions import Change, literal_commits, literal_range, opened


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A branch `topic` that left `main`, which has moved on; `main` is checked out. To be read."""
    history = History(tmp_path_factory.mktemp("made") / "repo")
    history.commit(BEFORE, "Sell things")
    history.git("tag", "start")
    history.git("checkout", "--quiet", "-b", "topic")
    history.commit(AFTER, "Move Money")
    history.git("checkout", "--quiet", "main")
    history.commit({**BEFORE, "other.py": "x = 1\n"}, "Go on")
    return history


@pytest.fixture
def history(made: History, tmp_path: Path) -> History:
    """The same, to be changed."""
    shutil.copytree(made.folder, tmp_path / "repo", symlinks=True)
    found = copy(made)
    found.folder = tmp_path / "repo"
    return found


def change(history: History, typed: str | None, *, staged: bool = False) -> Change:
    with opened(history.folder, typed, staged=staged) as found:
        return found


def ids(history: History, *names: str) -> tuple[str, ...]:
    return tuple(history.git("rev-parse", f"{name}^{{commit}}") for name in names)


def judged(found: Change) -> tuple[str, str]:
    return found.base.commit, found.target.commit


READ: dict[str, tuple[tuple[str, str], str]] = {
    "start..topic": (("start", "topic"), ""),
    "start..": (("start", "main"), ""),
    "start...topic": (("start", "topic"), "from the merge base of `start` and `topic`"),
    "main...topic": (("start", "topic"), "from the merge base of `main` and `topic`"),
    "...topic": (("start", "topic"), "from the merge base of `HEAD` and `topic`"),
    "main..topic": (("start", "topic"), "`main` has moved on: from the merge base"),
    "..topic": (("start", "topic"), "`HEAD` has moved on: from the merge base"),
    "topic": (("start", "topic"), "`topic` against its parent"),
    "HEAD": (("start", "main"), "`HEAD` against its parent"),
}


@pytest.mark.parametrize("typed", READ)
def test_what_is_typed_is_read(made: History, typed: str) -> None:
    commits, said = READ[typed]
    found = change(made, typed)
    assert judged(found) == ids(made, *commits)
    assert found.typed == typed
    assert found.said.startswith(said)
    if said:
        assert found.said.endswith(f", {found.base.commit[:12]}")
    else:
        assert found.said == ""


def test_a_merge_is_judged_against_its_first_parent_which_is_said(history: History) -> None:
    history.git("merge", "--quiet", "--no-edit", "topic")
    found = change(history, "HEAD")
    assert judged(found) == ids(history, "HEAD^1", "HEAD")
    assert found.said.startswith("`HEAD` is a merge: against its first parent, ")


def crosswise(history: History) -> str:
    history.git("branch", "old", "main")
    history.git("merge", "--quiet", "--no-edit", "topic")
    history.git("checkout", "--quiet", "topic")
    history.git("merge", "--quiet", "--no-edit", "old")
    return "main..topic"


def without_a_common_commit(history: History) -> str:
    history.git("checkout", "--quiet", "--orphan", "alone")
    history.commit(AFTER)
    return "main..alone"


def as_it_is(typed: str) -> Callable[[History], str]:
    return lambda _: typed


REFUSED: dict[str, tuple[Callable[[History], str], str, str]] = {
    "the other way round": (as_it_is("topic..start"), "no-ancestor", "`start..topic`"),
    "three dots, the other way round": (as_it_is("topic...start"), "no-ancestor", "`start..topic`"),
    "one commit twice": (as_it_is("main..HEAD"), "nothing-to-judge", ""),
    "four dots": (as_it_is("main....topic"), "bad-range", "main..HEAD"),
    "three revisions": (as_it_is("start..main..topic"), "bad-range", "main..HEAD"),
    "a first commit": (as_it_is("start"), "no-parent", "main..HEAD"),
    "no revision": (as_it_is("nowhere"), "unknown-revision", ""),
    "an option": (as_it_is("--all"), "unknown-revision", ""),
    "branches merged crosswise": (crosswise, "several-merge-bases", "..topic`"),
    "nothing in common": (without_a_common_commit, "no-ancestor", ""),
}


@pytest.mark.parametrize(("typed", "kind", "form"), REFUSED.values(), ids=REFUSED)
def test_what_hangs_on_a_choice_is_refused_with_what_to_type(
    history: History, typed: Callable[[History], str], kind: str, form: str
) -> None:
    text = typed(history)
    with pytest.raises(Refusal) as refused:
        change(history, text)
    assert refused.value.kind == kind
    assert form in refused.value.next_step


def test_a_parent_that_a_shallow_clone_lacks_is_named(history: History, tmp_path: Path) -> None:
    history.git("clone", "--quiet", "--depth=1", f"file://{history.folder}", str(tmp_path / "far"))
    with pytest.raises(Refusal) as refused, opened(tmp_path / "far", "HEAD"):
        pass
    assert refused.value.kind == "missing-object"
    assert "fetch --unshallow" in refused.value.next_step


class TestUncommitted:
    """Somebody moved by hand and has not committed."""

    @pytest.fixture
    def repo(self, history: History) -> Path:
        history.git("checkout", "--quiet", "start")
        for path, text in AFTER.items():
            (history.folder / path).write_text(text)
        return history.folder

    def repot(self, repo: Path, command: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        report = repo.parent / "report.json"
        report.unlink(missing_ok=True)
        code = cli.run([command, *arguments, "--repo", str(repo), "--json", str(report)])
        return code, json.loads(report.read_text()) if report.exists() else {}

    def test_the_working_tree_is_judged_against_head(self, history: History, repo: Path) -> None:
        code, data = self.repot(repo, "certify")
        assert (code, data["certificate"]) == (0, "CERTIFIED")
        (head,) = ids(history, "HEAD")
        assert data["range"] == {
            "typed": None,
            "read_as": "the working tree against HEAD",
            "base": head,
            "target": None,
            "place": "working tree",
            "tree": history.git("rev-parse", "topic^{tree}"),
            "not_judged": [],
        }
        assert data["headline"] == f"{head} .. working tree (the working tree against HEAD)"

    def test_review_and_infer_find_its_plan(self, repo: Path) -> None:
        code, data = self.repot(repo, "review")
        assert (code, data["conclusion"], data["target"]) == (0, "certified", "working tree")
        assert data["ancestry"]["traced"] == 5
        code, data = self.repot(repo, "infer", "-o", str(repo.parent / "found.toml"))
        assert code == 0
        assert (repo.parent / "found.toml").read_text() == data["plan"]
        assert data["range"]["place"] == "working tree"

    def test_from_any_folder_of_it(self, repo: Path) -> None:
        assert self.repot(repo / "shop", "certify")[0] == 0

    def test_the_index_is_another_thing(self, history: History, repo: Path) -> None:
        code, data = self.repot(repo, "certify", "--staged")
        assert (code, data["refusal"]["kind"]) == (2, "nothing-to-judge")
        history.git("add", "--all")
        (repo / "till.py").write_text("print()\n")
        code, data = self.repot(repo, "certify", "--staged")
        assert (code, data["range"]["place"]) == (0, "index")
        assert self.repot(repo, "certify")[0] == 1

    def test_the_index_may_be_one_that_git_made_for_a_hook(
        self, history: History, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index-1.lock")
        history.git("read-tree", "HEAD")
        history.git("add", "--all")
        code, data = self.repot(repo, "certify", "--staged")
        assert (code, data["range"]["tree"]) == (0, history.git("rev-parse", "topic^{tree}"))
        assert data["range"]["read_as"] == "the index that GIT_INDEX_FILE names against HEAD"
        monkeypatch.delenv("GIT_INDEX_FILE")
        assert self.repot(repo, "certify", "--staged")[1]["refusal"]["kind"] == "nothing-to-judge"

    def test_staged_beside_commits_is_wrong_usage(
        self, repo: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.repot(repo, "review", "HEAD", "--staged") == (2, {})
        assert "name no commits" in capsys.readouterr().err

    def test_nothing_uncommitted_is_nothing_to_judge(self, history: History, repo: Path) -> None:
        history.git("checkout", "--quiet", "--force", "topic")
        for command in ("certify", "review", "infer"):
            code, data = self.repot(repo, command)
            assert (code, data["refusal"]["kind"]) == (2, "nothing-to-judge")

    @pytest.mark.parametrize("what", ["bare", "no commit", "no repository"])
    def test_where_there_is_no_working_tree_it_says_what_to_type(
        self, history: History, repo: Path, tmp_path: Path, what: str
    ) -> None:
        other = tmp_path / "other"
        if what == "bare":
            history.git("clone", "--quiet", "--bare", str(repo), str(other))
        else:
            other.mkdir()
        if what == "no commit":
            History(other)
        code, data = self.repot(other, "certify")
        wanted = "no-repository" if what == "no repository" else "no-working-tree"
        assert (code, data["refusal"]["kind"]) == (2, wanted)

    def test_a_file_with_a_filter_is_named_and_keeps_all_from_holding(self, repo: Path) -> None:
        (repo / ".git/info/attributes").write_text("till.py filter=tidy\n")
        code, data = self.repot(repo, "certify")
        assert code == 1  # what reads Money from its old place is still there
        assert data["range"]["not_judged"] == [{"path": "till.py", "why": "filter=tidy"}]
        (repo / ".git/info/attributes").write_text("new.py filter=tidy\n")
        (repo / "new.py").write_text("")
        code, data = self.repot(repo, "certify")
        assert (code, data["verdict"], data["certificate"]) == (2, "unjudged", "CERTIFIED")
        assert data["summary"][-1] == "1 file not judged, listed above."

    def test_a_file_that_changes_is_exit_code_2(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from verify.history import snapshot

        monkeypatch.setattr(snapshot._Listing, "changed", lambda *_: iter(["till.py"]))
        code, data = self.repot(repo, "certify")
        assert (code, data["refusal"]["kind"]) == (2, "changed-while-read")
        assert data["refusal"]["place"]["path"] == "till.py"

    def test_what_the_clone_lacks_is_told_of_the_clone(self, history: History, repo: Path) -> None:
        name = history.git("rev-parse", "HEAD:till.py")
        (repo / ".git/objects" / name[:2] / name[2:]).unlink()
        code, data = self.repot(repo, "certify")
        assert (code, data["refusal"]["kind"]) == (2, "missing-object")
        assert data["refusal"]["place"]["path"] == str(repo)


class TestLiteral:
    """`verify`, `bundle`, `blame` and `chain` take two commits, and say so in what to type."""

    @pytest.mark.parametrize("typed", ["main...topic", "...topic", "topic", "HEAD"])
    def test_another_form_is_refused_with_the_one_to_type(self, made: History, typed: str) -> None:
        with pytest.raises(Refusal) as refused:
            literal_range(made.folder, typed)
        assert refused.value.kind == "bad-range"
        start, target = ids(made, "start")[0][:12], typed.rpartition(".")[2]
        assert refused.value.next_step == f"Type `{start}..{target}`."

    @pytest.mark.parametrize("typed", ["nowhere", "a..b..c", "start", "a....b"])
    def test_what_nothing_can_be_made_of_gets_an_example(self, made: History, typed: str) -> None:
        with pytest.raises(Refusal) as refused:
            literal_range(made.folder, typed)
        assert refused.value.next_step == "Type BASE..TARGET, such as `main..HEAD`."

    @pytest.mark.parametrize("command", ["chain", "blame"])
    def test_a_base_that_moved_on_is_refused_with_the_range_to_type(
        self, made: History, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.run([command, "main..topic", "--repo", str(made.folder)]) == 2
        (start,) = ids(made, "start")
        assert f"`{start[:12]}..topic`" in capsys.readouterr().err

    @pytest.mark.parametrize("command", ["verify", "bundle"])
    def test_base_and_target_are_commits(
        self,
        history: History,
        command: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("verify.bundle.installed.require_installed", lambda: None)
        (tmp_path / "split.toml").write_text(PLAN)
        more = ["-o", str(tmp_path / "x.py")] if command == "bundle" else []
        arguments = [command, str(tmp_path / "split.toml"), "--repo", str(history.folder), *more]
        assert cli.run([*arguments, "--base", "main", "--target", "topic"]) == 2
        (start,) = ids(history, "start")
        assert f"`--base {start[:12]} --target topic`" in capsys.readouterr().err
        assert cli.run([*arguments, "--base", "main..topic", "--target", "topic"]) == 2
        assert "Type `--base main --target topic`." in capsys.readouterr().err

    def test_two_commits_are_opened(self, made: History) -> None:
        base, target = literal_commits(made.folder, "start", "topic")
        assert (base.commit, target.commit) == ids(made, "start", "topic")


def test_the_ids_that_were_judged_are_in_the_json(history: History, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    for command in ("certify", "review", "infer"):
        options = ["--repo", str(history.folder), "--json", str(report)]
        assert cli.run([command, "main..topic", *options]) == 0
        told = json.loads(report.read_text())["range"]
        assert (told["base"], told["target"]) == ids(history, "start", "topic")
        assert told["typed"] == "main..topic"
        assert "has moved on" in told["read_as"]


def test_verbose_adds_the_seconds_of_each_phase_in_every_command(
    history: History,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("verify.bundle.installed.require_installed", lambda: None)
    monkeypatch.setattr("verify.bundle.build.build", lambda _: b"")  # it would carry the engine
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    plan = tmp_path / "split.toml"
    plan.write_text(PLAN)
    history.commit({**BEFORE, PLAN_PATH: PLAN})
    history.commit({**AFTER, PLAN_PATH: PLAN}, f"Move\n\nMechanical-Move: {PLAN_PATH}")
    two = ["--base", "HEAD^", "--target", "HEAD"]
    given = {
        "apply": [str(plan), "--at", "HEAD^"],
        "blame": ["HEAD^..HEAD"],
        "bundle": [str(plan), *two, "-o", str(tmp_path / "check.py")],
        "carry": ["--check", "topic", "--over", "HEAD"],
        "certify": [],
        "chain": ["HEAD^..HEAD", "-j1"],
        "infer": ["HEAD", "-o", str(tmp_path / "found.toml")],
        "origin": ["shop/money.py"],
        "plan": ["shop.orders", "-o", str(tmp_path / "first.toml")],
        "review": [],
        "series": ["-j1"],
        "verify": [str(plan), *two],
    }
    named = {command.name for command in cli.app.registered_commands}
    assert set(given) == named - {"mcp"}  # which reports to its client
    for command, arguments in given.items():
        commits = arguments or ["HEAD"]
        assert cli.run([command, *commits, "--repo", str(history.folder), "-v"]) == 0
        out, err = capsys.readouterr()
        words = err if command == "origin" else out  # whose stdout is the table, for other programs
        shown = words.partition("\nSeconds\n")[2].partition("\n\n")[0]
        assert re.match(r"(?:  \S.* +\d+\.\d{3}(?:\n|\Z))+\Z", shown), command
