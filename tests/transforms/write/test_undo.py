"""The last move that was written is taken back whole, or nothing is touched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.transforms.checkouts import snapshot
from tests.transforms.write.journals import CHANGES, FEW, PLACES, MakeTree, in_a_folder, in_git
from transforms.errors import Refusal
from transforms.result.changes import Blob, ChangeSet
from transforms.tree import WorkingTree
from transforms.write.journal import recover, write
from transforms.write.store import journal_place
from transforms.write.undo import undo

PLAN = "plans/split.toml"


def files(tree: Path) -> dict[str, Any]:
    """All that lies there but the record itself."""
    found = snapshot(tree)
    return {path: what for path, what in found.items() if ".repot-journal" not in str(path)}


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_every_kind_of_change_is_taken_back_and_nothing_is_left_of_it(
    tmp_path: Path, make: MakeTree
) -> None:
    tree = make(tmp_path / "tree")
    before = snapshot(tree)
    write(WorkingTree(tree), CHANGES, keep=PLAN)
    assert files(tree) != before
    assert undo(tree, PLAN) == tuple(CHANGES)
    assert snapshot(tree) == before
    with pytest.raises(Refusal) as caught:
        undo(tree, PLAN)
    assert caught.value.kind == "nothing-to-undo"


def edit(tree: Path) -> None:
    (tree / "callers/one.py").write_bytes(b"mine\n")


def bring_back(tree: Path) -> None:
    (tree / "allocator.py").write_bytes(b"mine, where the move has none\n")


def make_executable(tree: Path) -> None:
    (tree / "callers/one.py").chmod(0o755)


def remove(tree: Path) -> None:
    (tree / "allocator/token.py").unlink()


def link(tree: Path) -> None:
    (tree / "callers").rename(tree / "elsewhere")
    (tree / "callers").symlink_to("elsewhere")


@pytest.mark.parametrize("touch", [edit, bring_back, make_executable, remove, link])
def test_a_file_that_changed_since_keeps_all_of_it_from_being_touched(
    tmp_path: Path, touch: Callable[[Path], None]
) -> None:
    tree = in_git(tmp_path / "tree")
    changes = CHANGES
    if touch is bring_back:  # where the move leaves nothing, and no folder of that name either
        changes = ChangeSet(c for p, c in CHANGES.items() if not p.startswith("allocator/"))
    write(WorkingTree(tree), changes, keep=PLAN)
    touch(tree)
    now = snapshot(tree)
    with pytest.raises(Refusal) as caught:
        undo(tree, PLAN)
    assert caught.value.kind in {"changed-since-written", "symlink"}
    assert snapshot(tree) == now


def test_only_the_last_move_is_taken_back_and_by_its_own_plan(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    write(WorkingTree(tree), FEW, keep="first.toml")
    before = files(tree)
    rest = ChangeSet(c for p, c in CHANGES.items() if not p.startswith(("allocator", "link")))
    write(WorkingTree(tree), rest, keep=PLAN)
    with pytest.raises(Refusal, match=r"undo plans/split\.toml") as caught:
        undo(tree, "first.toml")
    assert caught.value.kind == "another-plan"
    undo(tree, PLAN)
    assert files(tree) == before
    with pytest.raises(Refusal):
        undo(tree, "first.toml")  # one is kept, no more


def test_a_disk_that_fails_leaves_the_move_as_it_was_and_it_can_be_tried_again(
    tmp_path: Path,
) -> None:
    tree = in_git(tmp_path / "tree")
    before = snapshot(tree)
    write(WorkingTree(tree), CHANGES, keep=PLAN)
    written = snapshot(tree)
    count = 0

    def step(operation: str, _name: bytes) -> None:
        nonlocal count
        count += operation == "create"
        if operation == "create" and count == 2:
            raise OSError(28, "No space left on device")

    with pytest.raises(Refusal) as caught:
        undo(tree, PLAN, step=step)
    assert caught.value.kind == "write-failed"
    assert snapshot(tree) == written
    undo(tree, PLAN)
    assert snapshot(tree) == before


def test_an_undo_that_is_stopped_is_finished_by_the_next_run(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    before = snapshot(tree)
    write(WorkingTree(tree), CHANGES, keep=PLAN)
    place = journal_place(tree)
    (place / "kept").rename(place / "undoing")  # as it is right after it has begun
    recovery = recover(tree)
    assert recovery is not None
    assert recovery.outcome == "undone"
    assert snapshot(tree) == before


def manifest(tree: Path) -> Path:
    return journal_place(tree) / "kept" / "manifest.json"


def each_before(**what: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        for entry in manifest["entries"]:
            if entry["before"]:
                entry["before"].update(what)

    return change


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a path above the tree": lambda m: m["entries"][0].update(path="../outside"),
    "an absolute path": lambda m: m["entries"][0].update(path="/outside"),
    "a path into git's own folder": lambda m: m["entries"][0].update(path=".git/hooks/post-commit"),
    "a folder above the tree": lambda m: m["directories"].update({"../outside": 0o777}),
    "bytes without their hash": each_before(sha256="0" * 64),
    "a token that is a path": lambda m: m.update(token="../../outside"),
    "a mode that is none": each_before(mode=0o104755),
    "another format": lambda m: m.update(format=2),
    "entries that are none": lambda m: m.update(entries=3),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_record_is_refused_and_nothing_is_touched(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    tree = in_git(tmp_path / "tree")
    write(WorkingTree(tree), FEW, keep=PLAN)
    content = json.loads(manifest(tree).read_bytes())
    change(content)
    manifest(tree).write_text(json.dumps(content))
    now = snapshot(tmp_path)
    with pytest.raises(Refusal):
        undo(tree, PLAN)
    assert snapshot(tmp_path) == now


def test_a_record_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    write(WorkingTree(tree), FEW, keep=PLAN)
    kept = journal_place(tree) / "kept"
    kept.rename(tmp_path / "record")
    kept.symlink_to(tmp_path / "record")
    now = snapshot(tree)
    with pytest.raises(Refusal) as caught:
        undo(tree, PLAN)
    assert caught.value.kind == "journal-damaged"
    assert snapshot(tree) == now


def test_a_later_write_that_is_not_kept_leaves_nothing_to_undo(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    write(WorkingTree(tree), FEW, keep=PLAN)
    more = ChangeSet.of({}, {"more.py": Blob(b"x = 1\n")})
    write(WorkingTree(tree), more)
    with pytest.raises(Refusal) as caught:
        undo(tree, PLAN)
    assert caught.value.kind == "nothing-to-undo"
    assert not (tree / ".repot-journal").exists()
