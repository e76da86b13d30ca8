"""The folder that is served: a repository's own top, and the paths that lie in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repot.server.refusals import Refusal
from repot.server.root import Root
from tests.verify.histories import PLAN, PLAN_PATH, History


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "repo")
    made.commit({PLAN_PATH: PLAN})
    return made


def refused(place: Path) -> str:
    with pytest.raises(Refusal) as found:
        Root.of(str(place))
    return found.value.kind


class TestFolder:
    def test_the_top_of_a_checkout_and_a_bare_repository_are_served(
        self, history: History, tmp_path: Path
    ) -> None:
        assert Root.of(str(history.folder)).folder == history.folder.resolve()
        history.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
        assert Root.of(str(tmp_path / "bare.git")).folder.name == "bare.git"

    def test_so_is_a_linked_worktree_that_its_repository_knows(
        self, history: History, tmp_path: Path
    ) -> None:
        history.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
        assert Root.of(str(tmp_path / "linked")).folder.name == "linked"

    def test_through_a_link_it_is_the_real_folder(self, history: History, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(history.folder)
        assert Root.of(str(tmp_path / "link")).folder == history.folder.resolve()

    def test_a_folder_inside_a_repository_is_not(self, history: History, tmp_path: Path) -> None:
        assert refused(history.folder / "plans") == "no-repository"
        assert refused(tmp_path / "nothing") == "no-such-directory"
        (history.folder / "plans" / ".git").mkdir()  # git would go on to the one above
        assert refused(history.folder / "plans") == "no-repository"

    @pytest.mark.parametrize("kind", ["a file", "a link", "a directory that leads on"])
    def test_nor_is_one_that_was_made_to_lead_to_another_repository(
        self, history: History, tmp_path: Path, kind: str
    ) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        git_dir = history.folder / ".git"
        if kind == "a file":
            (tree / ".git").write_text(f"gitdir: {git_dir}\n")
        elif kind == "a link":
            (tree / ".git").symlink_to(git_dir)
        else:
            History(tree)
            (tree / ".git" / "commondir").write_text(f"{git_dir}\n")
        assert refused(tree) == "no-repository"

    def test_nor_a_copy_of_a_worktrees_link(self, history: History, tmp_path: Path) -> None:
        history.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
        copy = tmp_path / "copy"
        copy.mkdir()
        (copy / ".git").write_bytes((tmp_path / "linked" / ".git").read_bytes())
        assert refused(copy) == "no-repository"
        (copy / ".git").write_text("gitdir: \x00\n")
        assert refused(copy) == "no-repository"
        (copy / ".git").unlink()
        os.mkfifo(copy / ".git")
        assert refused(copy) == "no-repository"


class TestPlans:
    def test_lie_in_the_tree(self, history: History) -> None:
        root = Root.of(str(history.folder))
        assert root.plan(PLAN_PATH) == PLAN_PATH
        assert root.plan(f"./plans//{Path(PLAN_PATH).name}") == PLAN_PATH
        assert root.plan(str(root.folder / PLAN_PATH)) == PLAN_PATH

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("../secret.toml", "outside-root"),
            ("plans/../../secret.toml", "outside-root"),
            ("/etc/passwd", "outside-root"),
            (".git/config", "outside-root"),
            ("plans/.GIT/config", "outside-root"),
            ("", "outside-root"),
            ("out/secret.toml", "outside-root"),
            ("link.toml", "outside-root"),
            ("plans", "unreadable-plan"),
            ("pipe", "unreadable-plan"),
            ("none.toml", "unreadable-plan"),
            ("large.toml", "plan-size"),
            ("plans/split.toml\n", "bad-argument"),
            ("x" * 5000, "bad-argument"),
        ],
    )
    def test_and_are_plain_files_reached_through_no_link(
        self, history: History, tmp_path: Path, path: str, kind: str
    ) -> None:
        (tmp_path / "secret.toml").write_text("secret = 1\n")
        (history.folder / "out").symlink_to(tmp_path)
        (history.folder / "link.toml").symlink_to(history.folder / PLAN_PATH)
        os.mkfifo(history.folder / "pipe")
        with (history.folder / "large.toml").open("wb") as stream:
            stream.truncate(5 << 20)
        with pytest.raises(Refusal) as found:
            Root.of(str(history.folder)).plan(path)
        assert found.value.kind == kind

    def test_a_folder_whose_name_begins_alike_is_outside(self, history: History) -> None:
        beside = history.folder.parent / f"{history.folder.name}-2"
        beside.mkdir()
        (beside / "p.toml").write_text(PLAN)
        with pytest.raises(Refusal, match="outside"):
            Root.of(str(history.folder)).plan(str(beside / "p.toml"))
