"""A stop: a linked worktree with ordinary markers, going on, giving up; and runs that break off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.effort import FULL
from tests.verify.carry.branches import BASE, EARLIER, LATER, ORDERS, SPLIT, TWO, Story
from tests.verify.histories import AFTER
from verify import cli
from verify.carry import standing
from verify.carry.moving import Mover
from verify.history.own import Own

STEPS = range(1, 8) if FULL else (7,)  # of those that write, the one at which it breaks off
THREE = SPLIT["shop/money.py"].replace("(1)", "(3)")


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A branch that edits a line which the split edited, too, as it moved it."""
    story = Story(tmp_path / "repo", after={**SPLIT, "shop/money.py": THREE})
    story.commit({"a.txt": "a\n"}, "Before")
    story.commit(TWO, "Two")
    story.commit({"b.txt": "b\n"}, "After")
    return story


def worktree(data: dict[str, Any]) -> Path:
    return Path(data["worktree"])


class TestStop:
    def test_it_leaves_a_worktree_with_ordinary_markers(self, story: Story) -> None:
        tip = story.git("rev-parse", "feature")
        code, data = story.over()
        assert (code, data["outcome"], data["left"]) == (1, "stopped", 2)
        assert story.git("rev-parse", "feature") == tip
        text = (worktree(data) / "shop/money.py").read_text()
        assert "<<<<<<< carried\n" in text
        assert f">>>>>>> commit-{data['commit'][:12]}\n" in text
        status = story.git("-C", str(worktree(data)), "status", "--porcelain")
        assert status == "UU shop/money.py"
        assert (worktree(data) / "a.txt").exists()
        assert story.git("-C", str(worktree(data)), "log", "-1", "--format=%s") == "Before"
        assert story.git("status", "--porcelain") == ""
        assert story.over()[1]["refusal"]["kind"] == "carry-unfinished"
        self.go_on(story, data)

    def go_on(self, story: Story, data: dict[str, Any]) -> None:
        """Go on too early in every way, and then in the right one."""
        path, four = worktree(data) / "shop/money.py", THREE.replace("(3)", "(4)")
        cases = [
            ("is not resolved", path.read_text(), False),
            ("holds conflict markers", path.read_text(), True),
            ("was changed and not added", four, False),
        ]
        for cause, text, add in cases:
            path.write_text(text)
            if add:
                story.git("-C", str(worktree(data)), "add", "--all")
            code, found = story.carry("--continue")
            assert (code, found["refusal"]["kind"]) == (2, "carry-unresolved")
            assert cause in found["refusal"]["cause"]
        story.git("-C", str(worktree(data)), "add", "shop/money.py")
        code, done = story.carry("--continue")
        assert (code, done["outcome"]) == (0, "carried")
        assert story.text("shop/money.py") == four
        assert story.git("log", "--format=%s", "main..feature") == "After\nTwo\nBefore"
        assert not story.left()

    def test_giving_up_leaves_all_as_it_was(self, story: Story, tmp_path: Path) -> None:
        tip = story.git("rev-parse", "feature")
        for here in (Mover(story.folder).folder / "tree", tmp_path / "here"):
            options = [] if here.name == "tree" else ["--worktree", str(here)]
            data = story.over(*options)[1]
            code, given_up = story.carry("--abort")
            assert (code, given_up["worktree"], data["worktree"]) == (0, str(here), str(here))
            assert story.git("rev-parse", "feature") == tip
            assert not story.left()
            assert not here.exists()
            assert not story.git("for-each-ref", "refs/repot")
        (tmp_path / "full").mkdir()
        (tmp_path / "full/file").touch()
        refused = story.over("--worktree", str(tmp_path / "full"))[1]["refusal"]
        assert refused["kind"] == "carry-worktree"
        assert (tmp_path / "full/file").exists()

    def test_a_branch_that_moved_meanwhile_is_left_alone(self, story: Story) -> None:
        data = story.over()[1]
        (worktree(data) / "shop/money.py").write_text(THREE)
        story.git("-C", str(worktree(data)), "add", "--all")
        story.git("branch", "--force", "feature", story.start)
        assert story.carry("--continue")[1]["refusal"]["kind"] == "carry-moved"
        assert story.git("rev-parse", "feature") == story.start
        assert story.carry("--abort")[0] == 0

    def test_a_conflict_with_main_is_said_to_be_an_ordinary_one(self, tmp_path: Path) -> None:
        story = Story(tmp_path / "repo")
        story.commit({"NEWS": "mine\n", "README": "mine\n", **TWO})
        code, data = story.over()
        for name, onto, text in (
            ("NEWS", story.parent, "both\n"),
            ("README", story.main, LATER["README"]),
        ):
            assert code == 1
            assert data["stage"] == f"onto {onto[:12]}, as a rebase does"
            path = worktree(data) / name
            path.write_text(text)
            story.git("-C", str(path.parent), "add", name)
            code, data = story.carry("--continue")
        assert code == 0
        assert story.text("NEWS") == "both\n"
        assert story.text("till.py") == AFTER["till.py"]
        assert story.changed() == {"NEWS", "shop/money.py"}

    def test_a_plan_that_is_refused_leaves_what_git_merges(self, tmp_path: Path) -> None:
        story = Story(tmp_path / "repo")
        broken = ORDERS.replace("return 'paid'", "return Money(").replace("(1)", "(2)")
        story.commit({"shop/orders.py": broken})
        code, data = story.over()
        assert (code, data["refusal"]["kind"]) == (1, "syntax-error")
        (worktree(data) / "shop/orders.py").write_text(AFTER["shop/orders.py"])
        (worktree(data) / "shop/money.py").write_text(THREE)
        story.git("-C", str(worktree(data)), "add", "--all")
        assert story.carry("--continue")[0] == 0
        assert story.changed() == {"shop/money.py"}

    def test_going_on_from_inside_the_worktree(
        self, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = story.over()[1]
        (worktree(data) / "shop/money.py").write_text(THREE.replace("(3)", "(4)"))
        story.git("-C", str(worktree(data)), "add", "--all")
        monkeypatch.chdir(worktree(data))
        assert cli.run(["carry", "--continue"]) == 0
        monkeypatch.chdir(story.folder)
        assert "(4)" in story.text("shop/money.py")
        assert not story.left()

    def test_several_stops_follow_one_another(self, story: Story) -> None:
        """One is answered by what the split left: then main has that commit, and it is dropped."""
        story.commit({"shop/orders.py": ORDERS.replace("(1)", "(7)")}, "Seven")
        for text in ("(3)", "(8)"):
            data = story.carry("--continue")[1] if story.left() else story.over()[1]
            assert data["outcome"] == "stopped"
            (worktree(data) / "shop/money.py").write_text(THREE.replace("(3)", text))
            story.git("-C", str(worktree(data)), "add", "--all")
        assert story.carry("--continue")[0] == 0
        assert "(8)" in story.text("shop/money.py")
        assert story.git("log", "--format=%s", "main..feature") == "Seven\nAfter\nBefore"


class Crash(BaseException):
    """A run that is killed: nothing may handle it."""


class TestBrokenOff:
    """Wherever a run breaks off, the branch stands where it stood, or is carried whole."""

    def broken(self, monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
        """Let the process die at its `number`th writing step; gives the steps taken."""
        taken: list[str] = []
        call, save = Own.call, standing.save

        def count(name: str) -> None:
            taken.append(name)
            if len(taken) == number:
                raise Crash

        def counted_call(self: Own, *arguments: str, data: bytes = b"") -> str:
            count(arguments[0])
            return call(self, *arguments, data=data)

        def counted_save(folder: Path, stop: standing.Stop) -> None:
            count("save")
            save(folder, stop)

        monkeypatch.setattr(Own, "call", counted_call)
        monkeypatch.setattr(standing, "save", counted_save)
        return taken

    @pytest.mark.parametrize("number", STEPS)
    def test_on_the_way_to_a_stop(
        self, number: int, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tip, files = story.git("rev-parse", "feature"), story.files()
        with monkeypatch.context() as patch:
            self.broken(patch, number)
            with pytest.raises(Crash):
                story.over()
        assert story.git("rev-parse", "feature") == tip
        assert story.git("status", "--porcelain") == ""
        state = standing.load(Mover(story.folder).folder)
        code, data = story.over() if state is None else story.carry("--continue")
        assert (code, data["outcome"]) == (1, "stopped")
        (worktree(data) / "shop/money.py").write_text(THREE.replace("(3)", "(4)"))
        story.git("-C", str(worktree(data)), "add", "--all")
        assert story.carry("--continue")[0] == 0
        assert "(4)" in story.text("shop/money.py")
        assert {**story.files(), "shop/money.py": ""}.keys() >= {"a.txt", "b.txt"}
        assert files.keys() >= BASE.keys()
        assert not story.left()

    @pytest.mark.parametrize("number", STEPS)
    def test_on_the_way_to_the_end(
        self, number: int, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tip = story.git("rev-parse", "feature")
        data = story.over()[1]
        (worktree(data) / "shop/money.py").write_text(THREE.replace("(3)", "(4)"))
        story.git("-C", str(worktree(data)), "add", "--all")
        with monkeypatch.context() as patch:
            self.broken(patch, number)
            with pytest.raises(Crash):
                story.carry("--continue")
        if story.git("rev-parse", "feature") == tip:
            assert story.carry("--continue")[0] == 0
        elif story.left():
            story.carry("--continue")
        assert not story.left()
        assert "(4)" in story.text("shop/money.py")
        assert story.git("rev-parse", "refs/repot/carried/feature") == tip

    def test_an_interrupt_says_that_nothing_was_written(
        self, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        tip = story.git("rev-parse", "feature")
        monkeypatch.setattr(Own, "bring", interrupt)
        assert story.over()[0] == 130
        assert story.git("rev-parse", "feature") == tip
        assert not story.left()

    def test_two_runs_do_not_meet(self, story: Story) -> None:
        with standing.locked(Mover(story.folder).folder):
            assert story.over()[1]["refusal"]["kind"] == "carry-running"

    def test_a_damaged_state_can_be_given_up(self, story: Story) -> None:
        story.over()
        (Mover(story.folder).folder / "state.json").write_text("{}")
        assert story.carry("--continue")[1]["refusal"]["kind"] == "carry-damaged"
        assert story.carry("--abort")[0] == 0
        assert not story.left()
        assert EARLIER.keys() <= story.files("main").keys()


@pytest.mark.parametrize("kind", ["bare", "sha256"])
def test_a_repository_of_another_kind(kind: str, tmp_path: Path) -> None:
    form = kind if kind == "sha256" else "sha1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_DEFAULT_HASH", form)
        story = Story(tmp_path / "repo", after={**SPLIT, "shop/money.py": THREE})
    story.commit(TWO)
    if kind == "bare":
        story.git("clone", "--quiet", "--mirror", ".", str(tmp_path / "bare.git"))
        story.folder = story.history.folder = tmp_path / "bare.git"
    data = story.over()[1]
    (worktree(data) / "shop/money.py").write_text(THREE.replace("(3)", "(4)"))
    story.git("-C", str(worktree(data)), "add", "--all")
    assert story.carry("--continue")[0] == 0
    assert story.changed() == {"shop/money.py"}


def test_what_git_refuses_is_a_refusal(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    tip = story.commit(TWO)
    story.git("update-ref", "refs/repot/carried/feature/x", tip)
    code, data = story.over()
    assert (code, data["refusal"]["kind"]) == (2, "carry-git")
    assert "refs/repot/carried/feature" in data["refusal"]["cause"]
    assert story.git("rev-parse", "feature") == tip
    assert not story.left()


def test_what_main_has_beside_the_split_is_not_the_branchs_own(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.git("switch", "--quiet", "--create", "splitting", story.split)
    story.git("branch", "--force", "main", story.parent)
    story.git("switch", "--quiet", "main")
    story.history.commit({**BASE, **EARLIER, **LATER}, "Main went on")
    story.git("branch", "--force", "feature", "main")
    story.state = {**BASE, **EARLIER, **LATER}
    story.commit(TWO, "Two")
    code, data = story.carry("--check", "feature", "--over", "splitting")
    assert (code, [b["commits"] for b in data["branches"]]) == (0, [1])
