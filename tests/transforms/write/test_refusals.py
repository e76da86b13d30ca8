"""What is not written, and what is not believed: nothing is touched then."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, run_git, snapshot
from tests.transforms.write.journals import (
    CHANGES,
    PLACES,
    MakeTree,
    content,
    expected,
    in_a_folder,
    in_git,
    stopped_halfway,
)
from transforms.errors import Refusal
from transforms.result.changes import Blob, ChangeSet
from transforms.tree import WorkingTree
from transforms.write.journal import Recovery, recover, require_none, write


def test_what_somebody_edited_since_is_not_overwritten(tmp_path: Path) -> None:
    tree = stopped_halfway(tmp_path)
    (tree / "callers/one.py").write_bytes(b"mine\n")
    now = snapshot(tree)
    with pytest.raises(Refusal, match=r"callers/one.py: It was changed after") as caught:
        recover(tree)
    assert caught.value.kind == "edited-since"
    assert snapshot(tree) == now
    (tree / "callers/one.py").rename(tmp_path / "mine")  # as the refusal says
    assert recover(tree) == Recovery("finished", tuple(CHANGES))
    assert content(tree) == expected(tmp_path)


def test_a_stopped_run_blocks_the_next_write_until_it_is_recovered(tmp_path: Path) -> None:
    tree = stopped_halfway(tmp_path)
    with pytest.raises(Refusal, match="stopped while it wrote") as caught:
        write(WorkingTree(tree), CHANGES, overwrite_uncommitted=True)
    assert caught.value.kind == "unfinished-run"
    assert recover(tree / "callers") is not None
    write(WorkingTree(tree), CHANGES.inverted(), overwrite_uncommitted=True)


def test_a_stopped_run_can_be_asked_about_and_is_left_as_it_is(tmp_path: Path) -> None:
    tree = stopped_halfway(tmp_path)
    now = snapshot(tree)
    for place in (tree, tree / "callers"):
        with pytest.raises(Refusal) as caught:
            require_none(place)
        assert caught.value.kind == "unfinished-run"
    assert snapshot(tree) == now
    recover(tree)
    require_none(tree)


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_two_runs_do_not_write_at_once(tmp_path: Path, make: MakeTree) -> None:
    tree = make(tmp_path / "tree")

    def step(operation: str, _name: bytes) -> None:
        if operation == "rename":
            with pytest.raises(Refusal, match="Another run") as caught:
                write(WorkingTree(tree), CHANGES, overwrite_uncommitted=True)
            assert caught.value.kind == "locked"
            with pytest.raises(Refusal, match="Another run"):
                recover(tree)

    write(WorkingTree(tree), CHANGES, step=step)
    assert content(tree) == expected(tmp_path)


def edit(tree: Path) -> None:
    (tree / "callers/one.py").write_bytes(b"edited\n")


def make_executable(tree: Path) -> None:
    (tree / "callers/one.py").chmod(0o755)


def remove(tree: Path) -> None:
    (tree / "callers/one.py").unlink()


def create(tree: Path) -> None:
    (tree / "case.py").write_bytes(b"")


def keep_something_below(tree: Path) -> None:
    (tree / "folder_then_file/__pycache__").mkdir()


CHANGED_SINCE = {
    "edited": (edit, "changed-file"),
    "made executable": (make_executable, "changed-file"),
    "removed": (remove, "changed-file"),
    "appeared": (create, "changed-file"),
    "a folder that keeps something": (keep_something_below, "path-clash"),
}


@pytest.mark.parametrize(("do", "kind"), CHANGED_SINCE.values(), ids=CHANGED_SINCE)
def test_what_changed_since_it_was_read_is_refused(
    tmp_path: Path, do: Callable[[Path], None], kind: str
) -> None:
    tree = WorkingTree(in_a_folder(tmp_path / "tree"))
    tree.entries()
    do(tree.root)
    now = snapshot(tree.root)
    with pytest.raises(Refusal) as caught:
        write(tree, CHANGES)
    assert caught.value.kind == kind
    assert snapshot(tree.root) == now


def test_uncommitted_work_is_refused_by_name(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    (tree / "callers/one.py").write_bytes(b"staged\n")
    run_git(tree, "add", "callers/one.py")
    (tree / "case.py").write_bytes(b"untracked\n")
    changes = ChangeSet.of(
        {"callers/one.py": Blob(b"staged\n"), "case.py": Blob(b"untracked\n")}, {}
    )
    now = snapshot(tree)
    with pytest.raises(Refusal, match=r"`callers/one\.py`, `case\.py`") as caught:
        write(WorkingTree(tree), changes)
    assert caught.value.kind == "dirty-file"
    assert snapshot(tree) == now
    write(WorkingTree(tree), changes, overwrite_uncommitted=True)
    assert not (tree / "case.py").exists()


def test_a_path_behind_a_link_is_refused(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree / "out").symlink_to(outside)
    (tree / "in").symlink_to("callers")
    for path in ("out/x.py", "in/x.py"):
        with pytest.raises(Refusal, match="symbolic link") as caught:
            write(WorkingTree(tree), ChangeSet.of({}, {path: Blob(b"")}))
        assert caught.value.place is not None
        assert caught.value.place.path == path
    assert not list(outside.iterdir())


def test_a_link_put_in_the_way_of_a_recovery_is_refused(tmp_path: Path) -> None:
    tree = stopped_halfway(tmp_path)
    (tree / "callers").rename(tmp_path / "callers")
    (tree / "callers").symlink_to(tmp_path / "callers")
    with pytest.raises(Refusal, match="has become a symbolic link"):
        recover(tree)


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a/../../x", ".git/hooks/post-commit", ".GIT/config", "a//b", ""]
)
def test_a_path_out_of_the_tree_is_refused(tmp_path: Path, path: str) -> None:
    tree = in_a_folder(tmp_path / "tree")
    with pytest.raises(Refusal) as caught:
        write(WorkingTree(tree), ChangeSet.of({}, {path: Blob(b"")}))
    assert caught.value.kind == "unsafe-path"


CLASHES = {
    "below a file that stays": {"untouched.py/x.py": Blob(b"")},
    "in place of a folder that stays": {"callers": Blob(b"")},
    "two new files, one below the other": {"n": Blob(b""), "n/x": Blob(b"")},
}


@pytest.mark.parametrize("after", CLASHES.values(), ids=CLASHES)
def test_a_file_above_or_below_another_is_refused(tmp_path: Path, after: dict[str, Blob]) -> None:
    tree = in_a_folder(tmp_path / "tree")
    old = snapshot(tree)
    with pytest.raises(Refusal) as caught:
        write(WorkingTree(tree), ChangeSet.of({}, after))
    assert caught.value.kind == "path-clash"
    assert snapshot(tree) == old


def test_a_pipe_in_the_way_is_refused(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    os.mkfifo(tree / "pipe")
    with pytest.raises(Refusal, match="neither a file"):
        write(WorkingTree(tree), ChangeSet.of({}, {"pipe": Blob(b"")}))


def test_a_nested_repository_is_refused(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    checkout(tree / "nested", {"x.py": b""})
    with pytest.raises(Refusal, match="another repository"):
        write(WorkingTree(tree), ChangeSet.of({}, {"nested/y.py": Blob(b"")}))


def damage(tree: Path, change: Callable[[dict], None]) -> None:
    manifest = tree / ".git/repot/applying/manifest.json"
    content = json.loads(manifest.read_bytes())
    change(content)
    manifest.write_text(json.dumps(content))


DAMAGE: dict[str, Callable[[dict], object]] = {
    "a path that leaves the tree": lambda m: m["entries"][0].update(path="../../x"),
    "a path into the repository": lambda m: m["entries"][0].update(path=".git/hooks/x"),
    "bytes that are not those saved": lambda m: m["entries"][0]["before"].update(start=1),
    "bytes past the end": lambda m: m["entries"][0]["before"].update(size=10**9),
    "an impossible mode": lambda m: m["entries"][0]["before"].update(mode=0o104755),
    "a token with a path in it": lambda m: m.update(token="../../../../x"),
    "another format": lambda m: m.update(format=2),
    "a missing key": lambda m: m.pop("directories"),
    "a number for a path": lambda m: m["entries"][0].update(path=3),
    "two entries of a path": lambda m: m["entries"].append(m["entries"][0]),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_manifest_is_not_trusted(tmp_path: Path, change: Callable[[dict], None]) -> None:
    tree = stopped_halfway(tmp_path)
    damage(tree, change)
    now = snapshot(tmp_path)
    with pytest.raises(Refusal) as caught:
        recover(tree)
    assert caught.value.kind in {"journal-damaged", "unsafe-path"}
    assert snapshot(tmp_path) == now


def test_a_journal_that_is_a_link_is_refused(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree / ".git/repot").symlink_to(outside)
    with pytest.raises(Refusal, match="not a directory") as caught:
        recover(tree)
    assert caught.value.kind == "journal-damaged"
    with pytest.raises(Refusal, match="not a directory"):
        write(WorkingTree(tree), CHANGES)
    assert not list(outside.iterdir())


def test_a_journal_in_two_states_is_refused(tmp_path: Path) -> None:
    tree = stopped_halfway(tmp_path)
    (tree / ".git/repot/undoing").mkdir()
    with pytest.raises(Refusal, match="several states: applying, undoing"):
        recover(tree)
