"""What a stranger wrote, or a repository configures, is data: nothing of it is run or obeyed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.effort import FULL
from tests.verify.carry.branches import BASE, SPLIT, TWO, Story
from tests.verify.histories import PLAN, PLAN_PATH

HOOKS = (
    "post-checkout", "post-commit", "pre-commit", "commit-msg", "reference-transaction",
    "post-merge", "post-rewrite", "pre-rebase", "post-index-change", "pre-applypatch",
)  # fmt: skip
THREE = SPLIT["shop/money.py"].replace("(1)", "(3)")


def trapped(story: Story, mark: Path) -> None:
    """Let every hook, filter and watcher of the repository leave a mark."""
    trap = story.folder.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    trap.chmod(0o755)
    for name in HOOKS:
        hook = story.folder / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(trap.read_text())
        hook.chmod(0o755)
    story.git("config", "core.hooksPath", str(story.folder / ".git/hooks"))
    for setting in (
        "core.fsmonitor", "filter.trap.smudge", "filter.trap.clean", "filter.trap.process",
        "merge.trap.driver", "diff.external", "gpg.program", "core.editor", "core.sshCommand",
        "core.pager",
    ):  # fmt: skip
        story.git("config", setting, str(trap))
    story.git("config", "commit.gpgSign", "true")
    story.git("config", "filter.trap.required", "true")


def test_nothing_that_is_configured_is_run(tmp_path: Path) -> None:
    attributes = {".gitattributes": "* filter=trap merge=trap\n"}
    story = Story(
        tmp_path / "repo", {**BASE, **attributes}, {**SPLIT, **attributes, "shop/money.py": THREE}
    )
    story.commit(TWO)
    mark = tmp_path / "RAN"
    trapped(story, mark)
    code, data = story.over()
    assert (code, data["outcome"]) == (1, "stopped")
    path = Path(data["worktree"]) / "shop/money.py"
    path.write_text(THREE.replace("(3)", "(4)"))
    assert story.carry("--continue")[0] == 2
    assert not mark.exists()
    ends = ("smudge=", "clean=", "process=", "required=false")
    settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false"]
    settings += [f"filter.trap.{end}" for end in ends]
    quiet = [part for setting in settings for part in ("-c", setting)]
    story.git(*quiet, "-C", str(path.parent), "add", "--all")
    assert not mark.exists()
    assert story.carry("--continue")[0] == 0
    assert story.carry("--check", "refs/*", "--over", story.split)[0] in (0, 1, 2)
    assert not mark.exists()


NAMES = ("--abort", "$(touch RAN)", "-x", "a;b'c\"d", "Ünï/çödé", "HEAD")
TRAILERS = (
    ("../../etc/passwd", PLAN),
    (PLAN_PATH, "format = 1\nimport = 'os'\n"),
    ("/etc/passwd", PLAN),
    (".git/config", PLAN),
    (PLAN_PATH, "a" * 100),
    ("none.toml", PLAN),
)


@pytest.mark.parametrize("name", NAMES[: 6 if FULL else 2])
def test_a_branch_may_have_any_name(name: str, tmp_path: Path) -> None:
    name = name.replace(" ", "${IFS}")
    story = Story(tmp_path / "repo")
    tip = story.commit(TWO)
    story.git("update-ref", f"refs/heads/{name}", tip)
    code, data = story.carry("--over", story.split, "--", name)
    assert code == 0, data
    assert story.changed(f"refs/heads/{name}") == {"shop/money.py"}
    assert story.git("rev-parse", f"refs/repot/carried/{name}") == tip
    assert not (tmp_path / "repo/RAN").exists()
    assert story.git("rev-parse", "refs/heads/feature") == tip


def test_a_path_may_be_any_bytes(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    for path in ("tab\tand\nline", "--force", "\udcff\udcfe", '"quoted"', ":(glob)*"):
        story.state[path] = "mine\n"
    tip = story.commit({"NEWS": "mine\n"})
    code, data = story.over()
    assert (code, [c["path"] for c in data["conflicts"]]) == (1, ["NEWS"])
    worktree = Path(data["worktree"])
    assert (worktree / "tab\tand\nline").exists()
    (worktree / "NEWS").write_text("both\n")
    story.git("-C", str(worktree), "add", "NEWS")
    assert story.carry("--continue")[0] == 0
    names = ("-z", "--name-only", "-r")
    assert set(story.git("ls-tree", *names, tip).split("\0")) - {""} == set(story.state)
    assert set(story.state) <= set(story.git("ls-tree", *names, "feature").split("\0")) | {
        "shop/orders.py"
    }


@pytest.mark.parametrize(("trailer", "plan"), TRAILERS[: 6 if FULL else 2])
def test_a_split_whose_trailer_or_plan_is_no_good_is_refused(
    trailer: str, plan: str, tmp_path: Path
) -> None:
    planned = {PLAN_PATH: plan}
    story = Story(
        tmp_path / "repo",
        {**BASE, **planned},
        {**SPLIT, **planned},
        f"M\n\nMechanical-Move: {trailer}",
    )
    tip = story.commit(TWO)
    code, data = story.over()
    assert code == 2
    assert data["refusal"]["kind"] in {"carry-over", "plan-schema", "plan-syntax"}
    assert story.git("rev-parse", "feature") == tip


def test_a_trailer_of_the_branch_that_is_no_move_carries_as_any_commit(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit(TWO, f"Two\n\nMechanical-Move: {PLAN_PATH}")
    story.commit({"evil.toml": "format = 1\n"}, "M\n\nMechanical-Move: ../evil.toml")
    code, data = story.over()
    assert code in (0, 1), data
    if code == 1:
        assert data["refusal"]


def test_a_check_writes_nothing_and_takes_patterns_in_a_bare_repository(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit(TWO)
    story.git("branch", "feature-2", "feature")
    story.git("update-ref", "refs/pull/7/head", story.commit({"NEWS": "mine\n"}))
    story.git("branch", "--force", "feature", "feature-2")
    story.git("branch", "stale", story.start)
    bare = tmp_path / "bare.git"
    story.git("clone", "--quiet", "--mirror", str(story.folder), str(bare))
    before = sorted(os.walk(bare))
    story.folder = bare
    code, data = story.carry("--check", "feature*", "refs/pull/*", "--over", story.split)
    assert code == 1
    assert {(b["branch"], b["clean"]) for b in data["branches"]} == {
        ("feature", True), ("feature-2", True), ("refs/pull/7/head", False),
    }  # fmt: skip
    assert story.carry("--check", "feature", "--over", story.split)[0] == 0
    code, data = story.carry("--check", "stale", "feature", "--over", story.split)
    assert (code, len(data["branches"])) == (2, 2)
    assert story.carry("--check", "none*", "--over", story.split)[0] == 2
    assert sorted(os.walk(bare)) == before


LINKS = ("lock", "", "state.json.new", "state.json", "tree", "..")


@pytest.mark.parametrize("name", LINKS[: 6 if FULL else 2])
def test_no_link_that_a_repository_came_with_is_followed(name: str, tmp_path: Path) -> None:
    story = Story(tmp_path / "repo", after={**SPLIT, "shop/money.py": THREE})
    tip = story.commit(TWO)
    precious, folder = tmp_path / "precious", tmp_path / "home"
    folder.mkdir()
    precious.write_text("precious")
    (folder / "file").write_text("precious")
    link = Path(os.path.normpath(story.folder / ".git/repot/carry" / name))
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder if name in ("tree", "", "..") else precious)
    story.carry("--abort")
    story.over()
    story.carry("--continue")
    assert precious.read_text() == (folder / "file").read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert story.git("rev-parse", "feature") == tip


def test_a_worktree_of_another_repository_is_left_alone(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo", after={**SPLIT, "shop/money.py": THREE})
    other = Story(tmp_path / "other", after={**SPLIT, "shop/money.py": THREE})
    story.commit(TWO)
    story.over()
    other.git("worktree", "add", "--quiet", str(tmp_path / "theirs"), "feature")
    state = story.folder / ".git/repot/carry/state.json"
    data = json.loads(state.read_text())
    state.write_text(json.dumps({**data, "worktree": str(tmp_path / "theirs"), "laid": False}))
    assert story.carry("--continue")[1]["refusal"]["kind"] == "carry-damaged"
    story.carry("--abort")
    assert other.git("-C", str(tmp_path / "theirs"), "status", "--porcelain") == ""
