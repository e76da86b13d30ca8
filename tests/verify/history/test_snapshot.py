"""The working tree as git would store it: git itself is the judge, in a copy of the index."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, lay_out, run_git
from transforms.errors import Refusal
from transforms.paths import from_bytes
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob
from transforms.tree import GitTree, git
from transforms.tree.disk import Root
from verify.history import snapshot
from verify.history.lineends import Ends, stored
from verify.history.scratch import Scratch
from verify.history.snapshot import Snapshot, of_index, of_working_tree, with_its_index

CRLF = b"one\r\ntwo\r\n"
CONTENTS = {
    "crlf": CRLF,
    "lf": b"one\ntwo\n",
    "mixed": b"one\r\ntwo\nthree\r\n",
    "lone": b"one\rtwo\r\n",
    "nul": b"one\r\n\0two\r\n",
    "unprinted": b"\1\2\3\r\n" * 9,
    "nearly_text": b"x" * 127 + b"\1\r\n",
    "just_text": b"x" * 128 + b"\1\r\n",
    "ended_by_sub": b"x" * 20 + b"\r\n\x1a",
    "empty": b"",
}
ATTRIBUTES = """\
*.text text
*.auto text=auto
*.bin -text
*.input text=input
*.old crlf
*.older -crlf
*.oldest crlf=input
*.lf eol=lf
*.crlf eol=crlf
*.autolf text=auto eol=lf
*.autocrlf text=auto eol=crlf
*.binlf -text eol=lf
*.macro binary
*.odd text=odd
*.ident ident
sub/*.text !text
"""
ENDINGS = [line.split()[0].removeprefix("*") for line in ATTRIBUTES.splitlines()[:-1]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"a.py": b"a = 1\n", "gone.py": b"", "run": b"x\n"}
    return checkout(tmp_path_factory.mktemp("made") / "repo", files)


@pytest.fixture
def repo(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "repo", symlinks=True)


def taken(repo: Path, *, staged: bool = False) -> tuple[Snapshot, dict[str, tuple[int, bytes]]]:
    """Take a snapshot: what it is, and what its tree holds by path, of submodules the id."""
    judged = git.find(repo)
    assert judged is not None
    judged = with_its_index(judged)
    with Scratch(judged) as scratch:
        head = GitTree(repo, "HEAD")
        found = of_index(judged, scratch) if staged else of_working_tree(judged, scratch, head)
        tree = GitTree(scratch.repository.directory, scratch.commit(found.tree))
        modes, ids = tree.entries(), tree.ids()
        data = tree.read_many(path for path, mode in modes.items() if mode != 0o160000)
        return found, {
            path: (mode, data.get(path, ids[path].encode())) for path, mode in modes.items()
        }


def as_git_stores_it(repo: Path) -> str:
    """The tree that git makes of everything, by an index of its own."""
    index = repo / ".git" / "another-index"
    shutil.copy2(repo / ".git" / "index", index)
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    for command in (["add", "--all"], ["write-tree"]):
        done = subprocess.run(
            ["git", *command], cwd=repo, env=environment, capture_output=True, check=True
        )
    index.unlink()
    return done.stdout.decode().strip()


@pytest.mark.parametrize("autocrlf", ["false", "true", "input"])
def test_every_file_is_stored_as_git_stores_it(repo: Path, autocrlf: str) -> None:
    """Old files and new ones, under every attribute that is about line ends."""
    names = [f"{name}{ending}" for name in CONTENTS for ending in [*ENDINGS, ".none"]]
    # Which files have CR LF in the index decides, too: half of them do, and go there unconverted.
    lay_out(repo, {f"old/{name}": CRLF if n % 2 else b"one\n" for n, name in enumerate(names)})
    commit_all(repo)
    run_git(repo, "config", "core.autocrlf", autocrlf)
    content = {name: CONTENTS[name.partition(".")[0]] + b"more\r\n" for name in names}
    lay_out(repo, {f"{at}/{name}": content[name] for at in ("old", "new", "sub") for name in names})
    lay_out(repo, {".gitattributes": ATTRIBUTES.encode()})
    (repo / ".git/info/attributes").write_text("new/lf.none text\n")
    found, _ = taken(repo)
    assert found == Snapshot(as_git_stores_it(repo))


def modes_and_links(repo: Path) -> None:
    (repo / "run").chmod(0o755)
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("run")
    lay_out(repo, {"new": Blob(b"x", EXECUTABLE), "link": Blob(b"no/where", SYMLINK)})


def deletions_and_folders(repo: Path) -> None:
    (repo / "gone.py").unlink()
    (repo / "run").unlink()
    lay_out(repo, {"run/inside.py": b"x\n"})


def ignored(repo: Path) -> None:
    lay_out(repo, {".gitignore": b"*.log\n/build/\n", "x.log": b"", "build/y.py": b"", "z": b""})
    (repo / ".git/info/exclude").write_text("/excluded\n")
    lay_out(repo, {"excluded": b"", "forced.log": b""})
    run_git(repo, "add", "--force", "forced.log")


def staged_and_announced(repo: Path) -> None:
    lay_out(repo, {"staged.py": b"1\n", "announced.py": b"2\n", "run": b"staged\n"})
    run_git(repo, "add", "staged.py", "run")
    run_git(repo, "add", "--intent-to-add", "announced.py")
    (repo / "run").write_bytes(b"and changed again\n")


def no_modes(repo: Path) -> None:
    run_git(repo, "config", "core.fileMode", "false")
    (repo / "a.py").chmod(0o755)
    lay_out(repo, {"new": Blob(b"", EXECUTABLE)})


def odd_names(repo: Path) -> None:
    lay_out(repo, {from_bytes(b"caf\xe9.py"): b"1\n", 'a "b"\n.py': b"2\n", "-x": b"3\n"})


def submodules(repo: Path) -> None:
    inner = checkout(repo.parent / "inner", {"x": b"1\n"})
    for name in ("kept", "ahead", "empty"):
        run_git(repo, "submodule", "--quiet", "add", str(inner), name)
    commit_all(repo)
    lay_out(repo / "ahead", {"x": b"2\n", "kept": b"x"})
    commit_all(repo / "ahead")
    run_git(repo, "submodule", "--quiet", "deinit", "empty")
    checkout(repo / "nested", {"y": b"1\n"})


def left_out(repo: Path) -> None:
    lay_out(repo, {"sub/b.py": b"1\n"})
    commit_all(repo)
    run_git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/sub/")


def own_lists(repo: Path) -> None:
    """The user's own list of ignored files and attributes counts, as it does for git."""
    own = repo.parent / "own"
    lay_out(own, {"ignore": b".idea/\n", "attributes": b"*.txt text\n"})
    run_git(repo, "config", "core.excludesFile", str(own / "ignore"))
    run_git(repo, "config", "core.attributesFile", str(own / "attributes"))
    lay_out(repo, {".idea/x": b"", "x.txt": CRLF})


CASES: dict[str, Callable[[Path], None]] = {
    case.__name__.replace("_", " "): case
    for case in (
        modes_and_links, deletions_and_folders, ignored, staged_and_announced, no_modes, odd_names,
        submodules, left_out, own_lists,
    )
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_whole_tree_is_what_git_would_store(repo: Path, case: Callable[[Path], None]) -> None:
    case(repo)
    found, _ = taken(repo)
    assert found == Snapshot(as_git_stores_it(repo))


@pytest.mark.parametrize("case", [staged_and_announced, left_out, odd_names])
def test_the_index_is_what_git_would_commit(repo: Path, case: Callable[[Path], None]) -> None:
    case(repo)
    found, files = taken(repo, staged=True)
    assert found.tree == run_git(repo, "write-tree").decode().strip()
    assert "announced.py" not in files


@pytest.mark.parametrize("name", [".git/another", "beside"])
def test_the_index_is_the_one_that_the_environment_names(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """From the top of the checkout, as git has it; the working tree takes modes from it, too."""
    own = run_git(repo, "write-tree")
    shutil.copy2(repo / ".git" / "index", repo / name)
    (repo / ".git/info/exclude").write_text("beside\n")
    monkeypatch.setenv("GIT_INDEX_FILE", name)
    lay_out(repo, {"a.py": b"staged there\n", "ignored.py": b"1\n"})
    run_git(repo, "add", "a.py", "ignored.py")
    lay_out(repo, {".gitignore": b"ignored.py\n"})
    found, files = taken(repo, staged=True)
    assert found.tree == run_git(repo, "write-tree").decode().strip() != own.decode().strip()
    assert files["a.py"][1] == b"staged there\n"
    assert "ignored.py" in taken(repo)[1]
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / name))
    assert taken(repo, staged=True)[0] == found
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert taken(repo, staged=True)[0].tree == own.decode().strip()
    assert "ignored.py" not in taken(repo)[1]


def test_an_index_that_is_not_there_is_refused_and_not_taken_for_an_empty_one(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    for staged in (False, True):
        with pytest.raises(Refusal, match="GIT_INDEX_FILE"):
            taken(repo, staged=staged)


def test_nothing_is_written_to_the_judged_repository(repo: Path) -> None:
    lay_out(repo, {"new.py": b"unheard of\n", "a.py": b"b = 2\n"})
    before = {path: path.stat().st_mtime_ns for path in (repo / ".git").rglob("*")}
    taken(repo)
    taken(repo, staged=True)
    assert {path: path.stat().st_mtime_ns for path in (repo / ".git").rglob("*")} == before


FILTERED = {
    "a filter": ("*.py filter=tidy\n", "filter=tidy"),
    "another encoding": ("*.py working-tree-encoding=UTF-16\n", "working-tree-encoding=UTF-16"),
    "an ident": ("*.py ident\n", "ident"),
}


@pytest.mark.parametrize(("attributes", "why"), FILTERED.values(), ids=FILTERED)
def test_what_a_filter_would_make_of_a_file_is_named_and_not_judged(
    repo: Path, attributes: str, why: str
) -> None:
    commit_all(repo)
    lay_out(repo, {".gitattributes": attributes.encode(), "a.py": b"a = '$Id: 1 $'\n"})
    lay_out(repo, {"new.py": b"n = '$Id$'\n"})
    found, files = taken(repo)
    assert found.unjudged == (("a.py", why), ("new.py", why))
    assert files["a.py"] == (0o100644, b"a = 1\n")  # what HEAD has
    assert "new.py" not in files


def test_a_filtered_file_that_git_takes_for_unchanged_is_what_the_index_has(repo: Path) -> None:
    """As large files are that `git lfs` has put there: the index holds a pointer to each."""
    run_git(repo, "config", "filter.x.clean", "sed s/large/small/")
    lay_out(repo, {".gitattributes": b"*.big filter=x\n", "one.big": b"large\n"})
    run_git(repo, "add", "--all")
    os.utime(repo / "one.big", (1, 1))
    run_git(repo, "add", "--all")
    run_git(repo, "commit", "--quiet", "-m", "big")
    run_git(repo, "config", "filter.x.clean", "touch RAN; cat")
    found, files = taken(repo)
    assert found.unjudged == ()
    assert files["one.big"][1] == b"small\n"
    assert not (repo / "RAN").exists()


def test_a_large_file_is_not_held_in_memory(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_MOST", 100)
    lay_out(repo, {"kept": b"x" * 101, "old": b"o" * 200})
    commit_all(repo)
    lay_out(repo, {"old": b"n" * 200, "new": b"x" * 101, "small": b"x" * 100})
    found, files = taken(repo)
    assert found.unjudged == (("new", "its 101 bytes"), ("old", "its 200 bytes"))
    assert (files["kept"][1], files["old"][1]) == (b"x" * 101, b"o" * 200)
    assert "new" not in files
    assert files["small"][1] == b"x" * 100


def test_hostile_configuration_runs_nothing(repo: Path) -> None:
    trap = repo.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {repo.parent}/RAN\ncat\n")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.hooksPath", "core.pager", "core.editor", "diff.external",
        "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv",
        "core.sshCommand", "alias.ls-files", "alias.check-attr", "alias.config", "core.askPass",
        "credential.helper", "pager.config", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        run_git(repo, "config", "--file", str(repo / ".git/config"), key, str(trap))
    run_git(repo, "config", "--file", str(repo / ".git/config"), "filter.x.required", "true")
    for name in ("post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"):
        (repo / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy2(trap, repo / ".git/hooks" / name)
    lay_out(repo, {".gitattributes": b"* filter=x diff=x merge=x text eol=crlf\n"})
    lay_out(repo, {"a.py": b"a = 2\n", "new.py": b""})
    found, _ = taken(repo)
    assert {path for path, _ in found.unjudged} == {".gitattributes", "a.py", "new.py"}
    taken(repo, staged=True)
    assert not (repo.parent / "RAN").exists()


def test_hostile_attributes_run_nothing_and_lead_nowhere(repo: Path) -> None:
    """They name what the user's own configuration has, and lie behind links."""
    run_git(repo, "config", "filter.lfs.process", f"touch {repo.parent}/RAN")
    (repo.parent / "outside").write_text("*.py -text\n")
    (repo / "sub").mkdir()
    (repo / "sub/.gitattributes").symlink_to(repo.parent / "outside")
    lay_out(repo, {".gitattributes": b"[attr]evil filter=lfs\n*.bin evil\n*.py text\n"})
    lay_out(repo, {"x.bin": b"x", "sub/y.py": CRLF, "y.py": CRLF})
    found, files = taken(repo)
    assert found.unjudged == (("x.bin", "filter=lfs"),)
    assert files["y.py"][1] == files["sub/y.py"][1] == b"one\ntwo\n"
    assert not (repo.parent / "RAN").exists()


def other_bytes(path: Path) -> None:
    status = path.stat()
    path.write_bytes(b"a = 2\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def another_file(path: Path) -> None:
    (path.parent / "late.py").write_bytes(b"")


def no_file(path: Path) -> None:
    path.unlink()


def a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("run")


def a_mode(path: Path) -> None:
    path.chmod(0o755)


def the_index(path: Path) -> None:
    run_git(path.parent, "update-index", "--chmod=+x", "run")


@pytest.mark.parametrize("change", [other_bytes, another_file, no_file, a_link, a_mode, the_index])
@pytest.mark.parametrize("before", [True, False], ids=["before it is read", "after it was"])
def test_what_changes_while_it_is_read_is_refused(
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    *,
    before: bool,
) -> None:
    read, waiting = Root.read, iter([change])

    def reading(self: Root, path: str) -> bytes:
        if not before:
            data = read(self, path)
        for doing in waiting:
            doing(repo / "a.py")
        return read(self, path) if before else data

    monkeypatch.setattr(Root, "read", reading)
    with pytest.raises(Refusal) as refused:
        taken(repo)
    assert refused.value.kind in {"changed-while-read", "unreadable-file"}


def test_a_conflict_is_refused_by_name(repo: Path) -> None:
    run_git(repo, "checkout", "--quiet", "-b", "other")
    lay_out(repo, {"a.py": b"a = 2\n"})
    commit_all(repo)
    run_git(repo, "checkout", "--quiet", "main")
    lay_out(repo, {"a.py": b"a = 3\n"})
    commit_all(repo)
    subprocess.run(["git", "merge", "other"], cwd=repo, capture_output=True, check=False)
    for staged in (False, True):
        with pytest.raises(Refusal) as refused:
            taken(repo, staged=staged)
        assert refused.value.kind == "conflict"
        assert str(refused.value.place) == "a.py"


def test_progress_is_told_by_files(repo: Path) -> None:
    judged = git.find(repo)
    assert judged is not None
    seen: list[tuple[int, int]] = []
    with Scratch(judged) as scratch:
        of_working_tree(
            judged, scratch, GitTree(repo, "HEAD"), lambda done, of: seen.append((done, of))
        )
    assert seen == [(0, 3), (1, 3), (2, 3)]


def test_line_ends_are_stored_once() -> None:
    for ends in Ends:
        for data in CONTENTS.values():
            once = stored(data, ends)
            assert stored(once, ends) == once


def test_an_index_that_this_git_prints_otherwise_tells_nothing(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = git.find(repo)
    assert judged is not None
    assert set(snapshot._details(judged)) == {"a.py", "gone.py", "run"}
    monkeypatch.setattr(snapshot, "_run", lambda *_: b"a.py\0  born: 1\n")
    assert snapshot._details(judged) == {}
