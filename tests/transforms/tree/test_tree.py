from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.transforms.checkouts import checkout, commit_all, lay_out, run_git
from transforms.errors import Refusal
from transforms.result.changes import (
    EXECUTABLE,
    REGULAR,
    SUBMODULE,
    SYMLINK,
    Blob,
    ChangeSet,
)
from transforms.tree import GitTree, OverlayTree, Tree, WorkingTree, open_tree
from transforms.tree.base import matcher

FILES: dict[str, Blob | bytes] = {
    "a.py": b"import old\n",
    "caf\u00e9.py": b"# accent\n",
    "new\nline.py": b"",
    'quote".py': b"",
    "raw\udce9.py": b"not UTF-8\n",
    "run": Blob(b"#!/bin/sh\n", EXECUTABLE),
    "sub/link.py": Blob(b"../a.py", SYMLINK),
    "sub/module.py": b"import old\n",
    "two words.py": b"x = 1\n",
}
MODES = {
    path: content.mode if isinstance(content, Blob) else REGULAR for path, content in FILES.items()
}
BYTES = {path: c.data if isinstance(c, Blob) else c for path, c in FILES.items()}


def bare(repo: Path) -> Path:
    run_git(repo.parent, "clone", "--quiet", "--bare", str(repo), "bare.git")
    return repo.parent / "bare.git"


def worktree(repo: Path) -> Path:
    run_git(repo, "worktree", "add", "--quiet", "--detach", str(repo.parent / "linked"))
    return repo.parent / "linked"


def shallow(repo: Path) -> Path:
    run_git(repo.parent, "clone", "--quiet", "--depth=1", repo.as_uri(), "shallow")
    return repo.parent / "shallow"


def packed(repo: Path) -> Path:
    run_git(repo, "gc", "--quiet")
    return repo


def by_link(repo: Path) -> Path:
    (repo.parent / "link").symlink_to(repo)
    return repo.parent / "link"


OPEN: dict[str, Callable[[Path], Tree]] = {
    "the working directory": WorkingTree,
    "a subdirectory of it": lambda repo: WorkingTree(repo / "sub"),
    "a linked worktree": lambda repo: WorkingTree(worktree(repo)),
    "a link to it": lambda repo: WorkingTree(by_link(repo)),
    "a commit": lambda repo: GitTree(repo, "HEAD"),
    "a commit, from a subdirectory": lambda repo: GitTree(repo / "sub", "HEAD"),
    "a commit, from the git directory": lambda repo: GitTree(repo / ".git", "HEAD"),
    "a commit of a bare repository": lambda repo: GitTree(bare(repo), "main"),
    "a commit of a linked worktree": lambda repo: GitTree(worktree(repo), "HEAD"),
    "a commit of a shallow clone": lambda repo: GitTree(shallow(repo), "HEAD"),
    "a commit in a pack": lambda repo: GitTree(packed(repo), "HEAD"),
    "an overlay of nothing": lambda repo: OverlayTree(GitTree(repo, "HEAD"), {}),
}


@pytest.mark.parametrize("open_it", OPEN.values(), ids=OPEN)
def test_every_tree_of_a_repository_holds_the_same(
    tmp_path: Path, open_it: Callable[[Path], Tree]
) -> None:
    tree = open_it(checkout(tmp_path / "repo", FILES))
    assert list(tree.entries().items()) == list(MODES.items())
    assert tree.read_many(FILES) == BYTES
    assert tree.search(re.compile(rb"import old")) == ["a.py", "sub/module.py"]
    assert tree.search(re.compile(rb"a\.py|^#!")) == ["run"]
    assert tree.search(re.compile(rb"import|accent"), ["a.py", "nowhere.py", "a.py"]) == ["a.py"]
    assert tree.blob("run") == FILES["run"]
    assert tree.blob("nowhere") is None
    assert "a.py" in tree
    assert "sub" not in tree


def test_a_directory_without_git_holds_all_its_files(tmp_path: Path) -> None:
    lay_out(tmp_path / "folder", {**FILES, "x/.git/config": b"", ".repot-journal/lock": b""})
    (tmp_path / "folder/elsewhere").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "folder/pipe")
    tree = WorkingTree(tmp_path / "folder")
    assert dict(tree.entries()) == {**MODES, "elsewhere": SYMLINK}
    assert tree.read_many(FILES) == BYTES
    assert tree.dirty(FILES) == []


def test_a_tree_says_what_it_is(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    head = run_git(repo, "rev-parse", "HEAD").decode().strip()
    assert open_tree(repo).label == "working tree"
    assert open_tree(repo, "main").label == f"commit {head[:12]}"
    assert open_tree(str(repo), None).entries() == open_tree(repo, head).entries()


def test_a_missing_file_is_refused_with_the_nearest(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    for tree in (WorkingTree(repo), GitTree(repo, "HEAD")):
        with pytest.raises(Refusal) as caught:
            tree.read("sub/modul.py")
        assert caught.value.kind == "no-such-file"
        assert caught.value.next_step == "Did you mean `sub/module.py` or `sub/link.py`?"


def test_a_submodule_is_listed_and_not_read(tmp_path: Path) -> None:
    inner = checkout(tmp_path / "inner", {"x.py": b"import old\n"})
    repo = checkout(tmp_path / "repo", FILES)
    run_git(repo, "submodule", "--quiet", "add", str(inner), "vendor")
    commit_all(repo)
    for tree in (WorkingTree(repo), GitTree(repo, "HEAD")):
        assert tree.entries()["vendor"] == SUBMODULE
        assert "vendor/x.py" not in tree
        assert "vendor" not in tree.search(re.compile(rb""))
        with pytest.raises(Refusal) as caught:
            tree.read("vendor")
        assert caught.value.kind == "submodule"
    assert list(WorkingTree(repo / "vendor").entries()) == ["x.py"]


def test_a_bare_repository_needs_a_commit(tmp_path: Path) -> None:
    repo = bare(checkout(tmp_path / "repo", FILES))
    with pytest.raises(Refusal) as caught:
        open_tree(repo)
    assert caught.value.kind == "bare-repository"
    assert "--at HEAD" in caught.value.next_step


def test_a_commit_needs_a_repository(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        open_tree(tmp_path, "HEAD")
    assert caught.value.kind == "no-repository"


def test_a_commit_for_another_thread_is_not_listed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    assert tree.again().entries() == tree.entries()
    found = tree.search(re.compile(b"import old"))
    with monkeypatch.context() as patch:
        patch.setattr("transforms.tree.git.Repository.run", None)
        twin = tree.again()
        assert (twin.commit, twin.entries(), twin.ids()) == (
            tree.commit,
            tree.entries(),
            tree.ids(),
        )
    assert twin.read_many(found) == tree.read_many(found)


def test_a_commit_stays_what_it_was_when_its_branch_moves(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    tree = GitTree(repo, "main")
    (repo / "a.py").write_bytes(b"second\n")
    commit_all(repo)
    assert tree.read("a.py") == b"import old\n"


def test_ids_are_those_of_git(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    tree = GitTree(repo, "HEAD")
    assert tree.ids() == {path: Blob(data).id for path, data in BYTES.items()}


def test_a_repository_with_long_ids_is_read(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(repo, "init", "--quiet", "--object-format=sha256")
    lay_out(repo, FILES)
    commit_all(repo)
    tree = GitTree(repo, "HEAD")
    assert len(tree.commit) == 64
    assert tree.read_many(FILES) == BYTES
    assert WorkingTree(repo).dirty(FILES) == []


def test_an_empty_commit_is_an_empty_tree(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(repo, "init", "--quiet")
    commit_all(repo)
    tree = GitTree(repo, "HEAD")
    assert dict(tree.entries()) == {}
    assert tree.search(re.compile(rb"")) == []
    assert tree.read_many([]) == {}


def raw_tree(repo: Path, content: bytes) -> str:
    """Commit a tree object that git itself would not write."""
    options = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    tree = run_git(repo, *options, stdin=content).decode().strip()
    return run_git(repo, "commit-tree", "-m", "Raw", tree).decode().strip()


def test_old_modes_are_read_as_todays(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {"x": b"x\n"})
    name = bytes.fromhex(Blob(b"x\n").id)
    rev = raw_tree(repo, b"100664 group\0" + name + b"100775 tool\0" + name)
    assert dict(GitTree(repo, rev).entries()) == {"group": REGULAR, "tool": EXECUTABLE}


def test_a_tree_that_lists_a_name_twice_is_refused(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {"x": b"x\n"})
    name = bytes.fromhex(Blob(b"x\n").id)
    rev = raw_tree(repo, b"100644 x\0" + name + b"100644 x\0" + name)
    with pytest.raises(Refusal, match="lists `x` twice") as caught:
        GitTree(repo, rev).entries()
    assert caught.value.kind == "malformed-repository"


def test_a_file_that_is_no_file_is_refused(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {"x": b"x\n"})
    tree = bytes.fromhex(run_git(repo, "rev-parse", "HEAD^{tree}").decode().strip())
    rev = raw_tree(repo, b"100644 x\0" + tree)
    with pytest.raises(Refusal) as caught:
        GitTree(repo, rev).read("x")
    assert caught.value.kind == "malformed-repository"


def test_a_damaged_object_is_refused_with_gits_words(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", {"x": b"x\n"})
    name = Blob(b"x\n").id
    file = repo / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(b"garbage")
    with pytest.raises(Refusal) as caught:
        GitTree(repo, "HEAD").read("x")
    assert caught.value.kind in {"malformed-repository", "missing-object"}


def test_more_requests_than_a_pipe_holds_are_answered(tmp_path: Path) -> None:
    files = {f"{n:05}.py": b"%d\n" % n + b"x" * 300 for n in range(3000)}
    repo = checkout(tmp_path / "repo", files)
    assert GitTree(repo, "HEAD").read_many(files) == files


def test_what_a_search_found_is_read_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    found = tree.search(re.compile(rb"import old"))
    monkeypatch.setattr(subprocess, "Popen", None)
    assert tree.read_many(found) == {path: BYTES[path] for path in found}


def test_an_overlay_replaces_adds_and_removes(tmp_path: Path) -> None:
    base = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    tree = OverlayTree(
        base,
        {
            "a.py": None,
            "a.py/now/a/folder.py": Blob(b"import old\n"),
            "b.py": Blob(b"new\n", EXECUTABLE),
            "sub/module.py": Blob(b"nothing\n"),
        },
    )
    assert "a.py" not in tree
    assert tree.entries()["b.py"] == EXECUTABLE
    assert list(tree.entries()) == sorted(tree.entries(), key=os.fsencode)
    assert tree.search(re.compile(rb"import old")) == ["a.py/now/a/folder.py"]
    assert tree.read_many(["b.py", "run"]) == {"b.py": b"new\n", "run": b"#!/bin/sh\n"}
    with pytest.raises(Refusal):
        tree.read("a.py")
    assert base.read("a.py") == b"import old\n"


def test_a_change_set_lies_over_a_tree_and_comes_off_again(tmp_path: Path) -> None:
    base = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    changes = ChangeSet.of({"a.py": base.blob("a.py")}, {"b.py": Blob(b"")})
    there = OverlayTree(base, changes.after())
    back = OverlayTree(there, changes.inverted().after())
    assert dict(back.entries()) == MODES
    assert back.read_many(FILES) == BYTES


CLASHES: dict[str, dict[str, Blob | None]] = {
    "below a file": {"a.py/x.py": Blob(b"")},
    "below a link": {"sub/link.py/x.py": Blob(b"")},
    "in place of a folder": {"sub": Blob(b"")},
    "below another new file": {"n": Blob(b""), "n/x.py": Blob(b"")},
    "in place of a folder half emptied": {"sub": Blob(b""), "sub/link.py": None},
}


@pytest.mark.parametrize("files", CLASHES.values(), ids=CLASHES)
def test_an_overlay_refuses_a_file(tmp_path: Path, files: dict[str, Blob | None]) -> None:
    base = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    with pytest.raises(Refusal) as caught:
        OverlayTree(base, files)
    assert caught.value.kind == "path-clash"


def test_an_overlay_refuses_a_path_out_of_the_tree(tmp_path: Path) -> None:
    base = GitTree(checkout(tmp_path / "repo", FILES), "HEAD")
    with pytest.raises(Refusal) as caught:
        OverlayTree(base, {"../x.py": Blob(b"")})
    assert caught.value.kind == "unsafe-path"


def test_file_names_do_not_depend_on_the_locale(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    program = (
        "import sys\n"
        "from transforms.tree import open_tree\n"
        "for at in (None, 'HEAD'):\n"
        "    tree = open_tree(sys.argv[1], at)\n"
        "    print(ascii(sorted(tree.read_many(tree.entries()).items())))\n"
    )
    printed = set()
    for locale, mode in [("C", "0"), ("C.UTF-8", "0"), ("POSIX", "1"), ("en_US.ISO-8859-1", "0")]:
        environment = {
            **os.environ,
            "LC_ALL": locale,
            "PYTHONUTF8": mode,
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, "-c", program, str(repo)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=True,
        )
        printed.update(done.stdout.splitlines())
    assert len(printed) == 1


@pytest.mark.history
def test_a_search_of_a_large_commit_takes_little_memory(tmp_path: Path) -> None:
    program = (
        "import re, resource, sys\n"
        "from transforms.tree import GitTree\n"
        "tree = GitTree(sys.argv[1], 'ff1fc1fbdf^')\n"
        "python = [path for path in tree.entries() if path.endswith('.py')]\n"
        "found = tree.search(re.compile(rb'memory_pool_host'), python)\n"
        "peak = [resource.getrusage(who).ru_maxrss // 1024 for who in (0, -1)]\n"
        "print(len(tree.entries()), len(python), len(found), sum(peak))\n"
    )
    repo = Path(os.environ["REPOT_HISTORIES"]) / "bytedance-iaas-sglang.git"
    done = subprocess.run(
        [sys.executable, "-c", program, str(repo)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    files, python, found, peak_mib = map(int, done.stdout.split())
    assert (files, python, found) == (6628, 4238, 23)
    assert peak_mib < 400


@pytest.mark.parametrize(
    "pattern",
    [
        rb"one",
        rb"one|two",
        rb"\bone\b",
        rb"\b(?:one|two)\b",
        rb"\b(?:one|t.o)\b",
        rb"\bone|two\b",
        rb"\b(?:t?on|two)\b",
        rb"\b(?:on|x?one)\b",
        b"\xc3|\xc3\xa9",
        b"\xc3\xaa|one",
        rb"\xc3[\xa0-\xaf]|\xc2",
        b"\xc3?one|\xc2",
    ],
)
def test_the_fast_way_to_match_gives_what_the_pattern_gives(pattern: bytes) -> None:
    matches, needle = matcher(re.compile(pattern)), re.compile(pattern)
    around = (b"", b" ", b"_", b"x", b"t", b"\n", b"\xc3\xa9")
    for before, word, after in product(around, (b"one", b"two", b"on", b"One"), around):
        data = b"one_" + before + word + after
        assert bool(matches(data)) is bool(needle.search(data)), data
