"""Nobody's configuration, environment or repository changes what is read, or runs anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, run_git
from transforms.errors import Refusal
from transforms.tree import GitTree, WorkingTree, git

FILES = {
    "a.py": b"import old\r\nx = 1\n",
    "package/b.py": b"import old\n",
    "notes.txt": b"$Id$\n",
    ".gitattributes": b"*.py text eol=crlf filter=trap diff=trap ident\n",
    ".gitignore": b"*.log\n",
}
COMMITTED = {**FILES, "a.py": b"import old\nx = 1\n"}  # git keeps the line ends of a text as LF


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return checkout(tmp_path / "repo", FILES)


@pytest.fixture
def trap(tmp_path: Path) -> str:
    """Give a command that leaves a trace if anybody runs it."""
    script = tmp_path / "trap"
    script.write_text(f"#!/bin/sh\necho ran >> '{tmp_path}/sprung'\ncat\n")
    script.chmod(0o755)
    return str(script)


def read_all(repo: Path) -> tuple[dict[str, bytes], dict[str, bytes], list[str]]:
    """Give what both trees hold, and what is dirty."""
    working, commit = WorkingTree(repo), GitTree(repo, "HEAD")
    return (
        working.read_many(working.entries()),
        commit.read_many(commit.entries()),
        working.dirty([*working.entries(), "new.py"]),
    )


def read_commit(repo: Path) -> dict[str, bytes]:
    tree = GitTree(repo, "HEAD")
    return tree.read_many(tree.entries())


Setting = Callable[[Path, str], dict[str, str]]


def in_repository(repo: Path, trap: str) -> dict[str, str]:
    elsewhere = repo.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "ignored").write_text("*\n")
    settings = {
        "core.worktree": str(elsewhere),
        "core.fsmonitor": trap,
        "core.hooksPath": str(elsewhere),
        "core.excludesFile": str(elsewhere / "ignored"),
        "core.attributesFile": str(elsewhere / "ignored"),
        "core.autocrlf": "true",
        "core.eol": "crlf",
        "core.safecrlf": "true",
        "core.pager": trap,
        "core.editor": trap,
        "core.sshCommand": trap,
        "core.askPass": trap,
        "core.abbrev": "4",
        "core.quotePath": "true",
        "core.precomposeUnicode": "true",
        "core.ignoreCase": "true",
        "core.untrackedCache": "true",
        "filter.trap.clean": trap,
        "filter.trap.smudge": trap,
        "filter.trap.process": trap,
        "filter.trap.required": "true",
        "diff.trap.textconv": trap,
        "diff.trap.command": trap,
        "diff.external": trap,
        "diff.noprefix": "true",
        "diff.algorithm": "histogram",
        "color.ui": "always",
        "alias.cat-file": f"!{trap}",
        "alias.ls-tree": f"!{trap}",
        "log.showSignature": "true",
        "gpg.program": trap,
        "status.showUntrackedFiles": "no",
        "submodule.recurse": "true",
        "pager.ls-tree": trap,
        "core.preloadIndex": "false",
    }
    for name, value in settings.items():
        run_git(repo, "config", "--file", str(repo / ".git/config"), name, value)
    return {}


def with_relative_worktree(repo: Path, _trap: str) -> dict[str, str]:
    run_git(repo, "config", "core.worktree", "../../does/not/exist")
    return {}


def said_to_be_bare(repo: Path, _trap: str) -> dict[str, str]:
    run_git(repo, "config", "core.bare", "true")
    return {}


def in_home(repo: Path, trap: str) -> dict[str, str]:
    home = repo.parent / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*\n")
    (home / ".config/git/attributes").write_text("* filter=trap\n")
    (home / ".gitconfig").write_text(
        f"[core]\n\tfsmonitor = {trap}\n\tautocrlf = true\n\texcludesFile = {home}/all\n"
        f"[color]\n\tui = always\n[diff]\n\texternal = {trap}\n\tnoprefix = true\n"
        f'[filter "trap"]\n\tclean = {trap}\n[alias]\n\tls-tree = !{trap}\n'
        "[core]\n\tworktree = /\n"
    )
    (home / "all").write_text("*\n")
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def in_the_environment(repo: Path, trap: str) -> dict[str, str]:
    other = checkout(repo.parent / "other", {"other.py": b"other\n"})
    return {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_NAMESPACE": "other",
        "GIT_CEILING_DIRECTORIES": str(repo.parent),
        "GIT_EXTERNAL_DIFF": trap,
        "GIT_PAGER": trap,
        "GIT_ASKPASS": trap,
        "GIT_SSH_COMMAND": trap,
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap,
        "GIT_CONFIG_KEY_1": "core.worktree",
        "GIT_CONFIG_VALUE_1": str(other),
        "GIT_CONFIG_PARAMETERS": "'core.autocrlf=true'",
        "GIT_CONFIG_GLOBAL": str(other / ".git/config"),
        "GIT_ATTR_SOURCE": "HEAD",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_ICASE_PATHSPECS": "1",
        "GIT_TRACE": "1",
        "GIT_TRACE2": "1",
        "GIT_TRACE2_EVENT": str(repo.parent / "sprung"),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_REPLACE_REF_BASE": "refs/heads/",
        "GIT_SHALLOW_FILE": os.devnull,
        "GIT_FLUSH": "1",
        "LANGUAGE": "de",
        "LC_ALL": "C",
    }


def by_another_git(repo: Path, trap: str) -> dict[str, str]:
    (repo / "git").write_text(Path(trap).read_text())
    (repo / "git").chmod(0o755)
    with (repo / ".git/info/exclude").open("a") as file:
        file.write("/git\n")
    return {"PATH": f".:{os.environ['PATH']}"}


def by_replaced_objects(repo: Path, _trap: str) -> dict[str, str]:
    evil = run_git(repo, "hash-object", "-w", "--stdin", stdin=b"evil\n").decode().strip()
    run_git(repo, "replace", run_git(repo, "rev-parse", "HEAD:package/b.py").decode().strip(), evil)
    tree = run_git(repo, "mktree", stdin=f"100644 blob {evil}\tevil.py\n".encode()).decode().strip()
    head = run_git(repo, "commit-tree", "-m", "Evil", tree).decode().strip()
    run_git(repo, "replace", "HEAD", head)
    run_git(repo, "config", "core.useReplaceRefs", "true")
    (repo / ".git/info/grafts").write_text(f"{head} {head}\n")
    return {}


HOSTILE: dict[str, Setting] = {
    "the repository's configuration": in_repository,
    "a worktree that does not exist": with_relative_worktree,
    "a checkout that says it is bare": said_to_be_bare,
    "a person's configuration": in_home,
    "the environment": in_the_environment,
    "another git in the working directory": by_another_git,
    "replaced objects and grafts": by_replaced_objects,
}


@pytest.mark.parametrize("setting", HOSTILE.values(), ids=HOSTILE)
def test_nothing_is_read_differently_or_run_because_of(
    repo: Path,
    trap: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    setting: Setting,
) -> None:
    (repo / "untracked.py").write_bytes(b"import old\n")
    (repo / "package/b.py").write_bytes(b"edited\n")
    expected = read_all(repo)
    assert expected[0] == {**FILES, "package/b.py": b"edited\n", "untracked.py": b"import old\n"}
    assert expected[1] == COMMITTED
    assert expected[2] == ["package/b.py", "untracked.py"]
    environment = setting(repo, trap)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(repo)
    capfd.readouterr()
    assert read_all(repo) == expected
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "sprung").exists()


def test_the_index_is_not_refreshed(repo: Path) -> None:
    os.utime(repo / "a.py", (1, 1))
    before = (repo / ".git/index").read_bytes()
    read_all(repo)
    assert (repo / ".git/index").read_bytes() == before


def test_a_repository_above_that_belongs_to_another_user_is_refused(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(Refusal, match="belongs to another user") as caught:
        git.find(repo / "package")
    assert caught.value.kind == "foreign-repository"
    assert f"--repo {repo}" in caught.value.next_step
    assert git.find(repo) is not None, "named by the user, it is read"


def test_under_sudo_the_repository_of_who_called_it_is_read(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = repo.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert git.find(repo / "package") is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_reads_a_named_repository_of_another_user(repo: Path) -> None:
    for folder, _, names in os.walk(repo):
        for name in [folder, *(f"{folder}/{name}" for name in names)]:
            os.chown(name, 54321, 54321)
    assert GitTree(repo, "HEAD").read("a.py") == COMMITTED["a.py"]
    assert WorkingTree(repo).read("a.py") == FILES["a.py"]


def test_without_git_the_refusal_says_so(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", ".:relative")
    with pytest.raises(Refusal, match="not found") as caught:
        GitTree(repo, "HEAD")
    assert caught.value.kind == "no-git"


BAD_REVISIONS = {
    "an option": "--help",
    "a short option": "-h",
    "an option with a path": "--output=/tmp/x",
    "nothing": "",
    "a negation": "^HEAD",
    "a range": "HEAD~1..HEAD",
    "two words": "HEAD HEAD",
    "a newline": "HEAD\n",
    "a NUL": "HEAD\0",
    "a blob": "HEAD:a.py",
    "a tree": "HEAD^{tree}",
    "an id that is not here": "1" * 40,
    "an unknown name": "nowhere",
    "undecodable bytes": "x\udcff",
}


@pytest.mark.parametrize("rev", BAD_REVISIONS.values(), ids=BAD_REVISIONS)
def test_a_revision_is_refused_that_is(repo: Path, rev: str) -> None:
    commit_all(repo, "Second")
    with pytest.raises(Refusal) as caught:
        GitTree(repo, rev)
    assert caught.value.kind == "unknown-revision"


GOOD_REVISIONS = ["HEAD", "main", "v1", "refs/heads/main", "HEAD~0", "@", "v1^{commit}", ":/State"]


@pytest.mark.parametrize("rev", GOOD_REVISIONS)
def test_a_revision_is_resolved(repo: Path, rev: str) -> None:
    run_git(repo, "tag", "--annotate", "--message", "One", "v1")
    assert GitTree(repo, rev).commit == run_git(repo, "rev-parse", "HEAD").decode().strip()


def test_an_unknown_revision_names_the_nearest(repo: Path) -> None:
    run_git(repo, "branch", "feature/split")
    with pytest.raises(Refusal) as caught:
        GitTree(repo, "feature/splti")
    assert caught.value.next_step == "Did you mean `feature/split`?"


def test_in_a_shallow_clone_the_refusal_says_how_to_deepen(repo: Path, tmp_path: Path) -> None:
    first = run_git(repo, "rev-parse", "HEAD").decode().strip()
    commit_all(repo, "Second")
    run_git(tmp_path, "clone", "--quiet", "--depth=1", repo.as_uri(), "shallow")
    assert GitTree(tmp_path / "shallow", "HEAD").read("a.py") == COMMITTED["a.py"]
    with pytest.raises(Refusal) as caught:
        GitTree(tmp_path / "shallow", first)
    assert "git fetch --unshallow" in caught.value.next_step


@pytest.mark.parametrize("kept_out", ["blob:none", "tree:0"])
def test_a_partial_clone_is_never_filled_and_the_refusal_says_how(
    repo: Path, tmp_path: Path, kept_out: str
) -> None:
    run_git(repo, "config", "uploadpack.allowFilter", "true")
    run_git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    options = ("--quiet", "--no-checkout", f"--filter={kept_out}")
    run_git(tmp_path, "clone", *options, repo.as_uri(), "partial")
    partial = tmp_path / "partial"
    packs = sorted((partial / ".git/objects/pack").iterdir())
    with pytest.raises(Refusal) as caught:
        read_commit(partial)
    assert caught.value.kind == "missing-object"
    assert sorted((partial / ".git/objects/pack").iterdir()) == packs
    command = caught.value.next_step.split("`")[1].split()
    assert command == ["git", "-C", str(partial), "fetch", "--refetch", "--no-filter", "origin"]
    run_git(partial, *command[3:])
    assert read_commit(partial) == COMMITTED


def test_a_bare_repository_is_found_by_its_own_directory_only(repo: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    found = git.find(tmp_path / "bare.git")
    assert found is not None
    assert found.top is None
    assert git.find(tmp_path) is None


def test_an_empty_git_folder_is_no_repository(repo: Path) -> None:
    inner = repo / "inner"
    (inner / ".git").mkdir(parents=True)
    found = git.find(inner)
    assert found is not None
    assert found.top == repo


def test_a_broken_worktree_link_is_refused_with_gits_words(repo: Path) -> None:
    inner = repo / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /does/not/exist\n")
    with pytest.raises(Refusal, match="not a git repository") as caught:
        WorkingTree(inner).entries()
    assert caught.value.kind == "malformed-repository"


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    for open_it in (WorkingTree, lambda place: GitTree(place, "HEAD")):
        with pytest.raises(Refusal) as caught:
            open_it(tmp_path / "nowhere")
        assert caught.value.kind == "no-such-directory"


def test_the_trap_would_spring(repo: Path, trap: str, tmp_path: Path) -> None:
    run_git(repo, "config", "core.fsmonitor", trap)
    run_git(repo, "status")
    assert (tmp_path / "sprung").exists()
