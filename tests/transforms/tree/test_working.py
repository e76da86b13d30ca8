from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, lay_out, run_git
from tests.transforms.tree.test_tree import FILES, MODES
from transforms.errors import Refusal
from transforms.result.changes import EXECUTABLE, REGULAR, SYMLINK, Blob
from transforms.tree import GitTree, WorkingTree


def test_the_working_tree_is_what_lies_there_and_git_does_not_ignore(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {**FILES, ".gitignore": b"*.log\nbuild/\n"})
    lay_out(repo, {"x.log": b"", "build/y.py": b"", "sub/untracked.py": b"import old\n"})
    (repo / ".git/info/exclude").write_text("/excluded\n")
    lay_out(repo, {"excluded": b"", "forced.log": b"tracked though ignored\n"})
    run_git(repo, "add", "--force", "forced.log")
    (repo / "a.py").unlink()
    (repo / "two words.py").write_bytes(b"edited\n")
    checkout(repo / "nested", {"inside.py": b""})
    tree = WorkingTree(repo)
    added = {".gitignore", "forced.log", "sub/untracked.py"}
    assert set(tree.entries()) == (set(FILES) | added) - {"a.py"}
    assert tree.read("two words.py") == b"edited\n"
    assert tree.search(re.compile(rb"import old")) == ["sub/module.py", "sub/untracked.py"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    lay_out(outside, {"module.py": b"import old\n", "secret": b"import old\n"})
    repo = checkout(tmp_path / "repo", FILES)
    (repo / "sub/module.py").unlink()
    (repo / "sub/link.py").unlink()
    (repo / "sub").rmdir()
    (repo / "sub").symlink_to(outside)
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to(outside / "secret")
    tree = WorkingTree(repo)
    assert tree.entries()["sub"] == tree.entries()["a.py"] == SYMLINK
    assert "sub/module.py" not in tree
    assert tree.read("a.py") == os.fsencode(outside / "secret")
    assert tree.search(re.compile(rb"import old")) == []
    assert tree.on_disk("sub/module.py") is None
    assert tree.dirty(["sub/module.py"]) == ["sub/module.py"]


def test_a_link_that_replaces_a_listed_file_is_not_followed(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    tree = WorkingTree(repo)
    tree.entries()
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("/etc/passwd")
    assert tree.read("a.py") == b"/etc/passwd"


def test_a_file_that_vanished_since_it_was_listed_is_refused(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    tree = WorkingTree(repo)
    tree.entries()
    (repo / "a.py").unlink()
    with pytest.raises(Refusal) as caught:
        tree.read("a.py")
    assert caught.value.kind == "unreadable-file"


def test_modes_come_from_the_index_where_the_disk_has_none(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    run_git(repo, "config", "core.fileMode", "false")
    (repo / "a.py").chmod(0o755)
    (repo / "run").chmod(0o644)
    lay_out(repo, {"untracked": Blob(b"", EXECUTABLE)})
    tree = WorkingTree(repo)
    assert dict(tree.entries()) == {**MODES, "untracked": REGULAR}
    assert tree.dirty(["a.py", "run"]) == []


def test_links_may_be_kept_as_files(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    run_git(repo, "config", "core.symlinks", "false")
    (repo / "sub/link.py").unlink()
    (repo / "sub/link.py").write_bytes(b"../a.py")
    tree = WorkingTree(repo)
    assert dict(tree.entries()) == MODES
    assert tree.dirty(["sub/link.py"]) == []


def test_names_that_differ_in_case_are_two_files(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {"Module.py": b"1\n", "module.py": b"2\n"})
    for tree in (WorkingTree(repo), GitTree(repo, "HEAD")):
        assert tree.read_many(tree.entries()) == {"Module.py": b"1\n", "module.py": b"2\n"}


def test_a_sparse_checkout_is_refused_by_name(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    run_git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
    with pytest.raises(Refusal, match="left out of this sparse checkout") as caught:
        WorkingTree(repo).entries()
    assert caught.value.place is not None
    assert caught.value.place.path == "sub/link.py"
    assert GitTree(repo, "HEAD").read("sub/module.py") == b"import old\n"
    run_git(repo, "sparse-checkout", "disable")
    assert dict(WorkingTree(repo).entries()) == MODES


def edit(repo: Path) -> None:
    (repo / "a.py").write_bytes(b"edited\n")


def stage(repo: Path) -> None:
    edit(repo)
    run_git(repo, "add", "a.py")


def stage_and_edit_back(repo: Path) -> None:
    stage(repo)
    (repo / "a.py").write_bytes(b"import old\n")


def delete(repo: Path) -> None:
    (repo / "a.py").unlink()


def remove(repo: Path) -> None:
    run_git(repo, "rm", "--quiet", "a.py")


def untrack(repo: Path) -> None:
    run_git(repo, "rm", "--quiet", "--cached", "a.py")


def make_executable(repo: Path) -> None:
    (repo / "a.py").chmod(0o755)


def become_a_link(repo: Path) -> None:
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("run")


def become_a_folder(repo: Path) -> None:
    (repo / "a.py").unlink()
    (repo / "a.py").mkdir()


def be_in_conflict(repo: Path) -> None:
    run_git(repo, "checkout", "--quiet", "-b", "other")
    edit(repo)
    commit_all(repo)
    run_git(repo, "checkout", "--quiet", "main")
    (repo / "a.py").write_bytes(b"main\n")
    commit_all(repo)
    subprocess.run(["git", "merge", "other"], cwd=repo, capture_output=True, check=False)


def hide_from_git(repo: Path) -> None:
    run_git(repo, "update-index", "--assume-unchanged", "a.py")
    edit(repo)


def intend_to_add(repo: Path) -> None:
    untrack(repo)
    run_git(repo, "add", "--intent-to-add", "a.py")


def keep_the_time(repo: Path) -> None:
    run_git(repo, "update-index", "--refresh")
    before = (repo / "a.py").stat()
    (repo / "a.py").write_bytes(b"import new\n")
    os.utime(repo / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def touch(repo: Path) -> None:
    os.utime(repo / "a.py", (1, 1))


def convert_line_ends(repo: Path) -> None:
    (repo / "a.py").write_bytes(b"import old\r\n")


def do_nothing(repo: Path) -> None:
    del repo


DIRTY = {
    "edited": edit,
    "staged": stage,
    "staged, then edited back": stage_and_edit_back,
    "deleted": delete,
    "removed": remove,
    "no longer tracked": untrack,
    "made executable": make_executable,
    "made a link": become_a_link,
    "made a folder": become_a_folder,
    "in conflict": be_in_conflict,
    "edited though git was told not to look": hide_from_git,
    "about to be added": intend_to_add,
    "edited within the time git keeps": keep_the_time,
}
CLEAN = {"left alone": do_nothing, "touched": touch, "given other line ends": convert_line_ends}


@pytest.mark.parametrize("do", DIRTY.values(), ids=DIRTY)
def test_a_file_is_dirty_that_was(tmp_path: Path, do: Callable[[Path], None]) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    do(repo)
    assert WorkingTree(repo).dirty(FILES) == ["a.py"]


@pytest.mark.parametrize("do", CLEAN.values(), ids=CLEAN)
def test_a_file_is_clean_that_was(tmp_path: Path, do: Callable[[Path], None]) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    do(repo)
    assert WorkingTree(repo).dirty([*FILES, "not/there.py"]) == []


def test_untracked_and_ignored_files_are_dirty(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {".gitignore": b"*.log\n"})
    lay_out(repo, {"x.log": b"", "new.py": b""})
    assert WorkingTree(repo).dirty(["x.log", "new.py", "absent.py"]) == ["new.py", "x.log"]


def test_before_the_first_commit_every_file_is_dirty(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(repo, "init", "--quiet")
    lay_out(repo, {"a.py": b"", "b.py": b""})
    run_git(repo, "add", "a.py")
    assert WorkingTree(repo).dirty(["a.py", "b.py"]) == ["a.py", "b.py"]
