"""A repository that Repot makes hears of nothing around it: no configuration, variable or hook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.transforms.checkouts import run_git
from transforms.errors import Refusal
from verify.history.made import make


def ours(folder: Path, *arguments: str) -> str:
    return run_git(folder, *arguments).decode().strip()


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a template and variables that all speak to git; the file that a trap leaves."""
    mark, home, other = tmp_path / "RAN", tmp_path / "home", tmp_path / "other"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    trap.chmod(0o755)
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-checkout"):
        (home / "template/hooks").mkdir(parents=True, exist_ok=True)
        (home / "template/hooks" / hook).write_text(trap.read_text())
        (home / "template/hooks" / hook).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[user]\n\tname = From home\n[init]\n\ttemplateDir = {home}/template\n"
        f"[core]\n\thooksPath = {home}/template/hooks\n\tfsmonitor = {trap}\n"
        f"[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {trap}\n"
    )
    other.mkdir()
    run_git(other, "init", "--quiet")
    variables = {
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "GIT_DIR": other / ".git",
        "GIT_COMMON_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects",
        "GIT_TEMPLATE_DIR": home / "template",
        "GIT_EXTERNAL_DIFF": trap,
        "GIT_AUTHOR_NAME": "From outside",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap,
    }
    for name, text in variables.items():
        monkeypatch.setenv(name, str(text))
    return mark


def test_nothing_around_it_has_a_say(around: Path, tmp_path: Path) -> None:
    made = make(tmp_path / "made")
    (tmp_path / "made/a.txt").write_text("a\n")
    made.git.add(all=True)
    made.git.commit("--quiet", "--message", "One")
    blob = made.store("blob", b"b\n")
    (tmp_path / "made/a.txt").write_text("b\n")
    assert made.is_dirty()
    assert made.git.diff() != ""
    with made.config_reader() as settings:
        assert settings.get_value("user", "name", "none") == "none"
    assert (made.head.commit.author.name, made.head.commit.author.email) == (
        "Repot",
        "repot@repot.invalid",
    )
    assert (tmp_path / "made/.git/objects" / blob[:2] / blob[2:]).is_file()
    assert not (tmp_path / "made/.git/hooks").exists()
    assert not any((tmp_path / "other/.git/objects").glob("??"))
    assert not (tmp_path / "other/.git/index").exists()
    assert not around.exists()


@pytest.mark.parametrize("sha256", [False, True], ids=["SHA-1", "SHA-256"])
def test_what_is_stored_has_the_id_that_git_gives_it(tmp_path: Path, sha256: bool) -> None:
    made = make(tmp_path / "a $HOME\nb.git", bare=True, sha256=sha256)
    folder = Path(made.git_dir)
    assert ours(folder, "rev-parse", "--show-object-format") == ("sha256" if sha256 else "sha1")
    for data in (b"", b"x\n", bytes(range(256)) * 1_000):
        name = made.store("blob", data)
        assert name == run_git(folder, "hash-object", "--stdin", stdin=data).decode().strip()
        assert run_git(folder, "cat-file", "blob", name) == data
    tree = made.store("tree", b"")
    commit = f"tree {tree}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\nOne\n"
    name = made.store("commit", commit.encode())
    assert ours(folder, "rev-parse", f"{name}^{{tree}}") == tree
    run_git(folder, "fsck", "--strict")


def test_the_git_of_the_current_folder_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "RAN"
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    (tmp_path / "git").chmod(0o755)
    code = "from pathlib import Path; from verify.history.made import make; make(Path('made'))"
    root = str(ROOT)
    path = f".:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": root}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "made/.git/HEAD").is_file()
    assert not mark.exists()


def test_without_git_it_can_be_imported_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import verify.history.made, os; print(sorted(n for n in os.environ if 'GIT_' in n))"
    root = str(ROOT)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refusal, match="`git` was not found"):
        make(tmp_path / "made")
