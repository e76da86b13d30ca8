"""A tree with every kind of change to it, and processes that are killed on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.transforms.checkouts import checkout, lay_out, run_git, snapshot
from tests.transforms.write.killing import Action, Killer, Place
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob, ChangeSet
from transforms.tree import WorkingTree
from transforms.tree.disk import Root, Step
from transforms.write.journal import recover, write

OLD = {
    "allocator.py": Blob(b"class Token: ...\n"),
    "callers/one.py": Blob(b"import allocator\n" * 3),
    "callers/tool": Blob(b"#!/usr/bin/env python\n", EXECUTABLE),
    "empty/soon/gone.py": Blob(b"x = 1\n"),
    "file_then_folder": Blob(b"a file\n"),
    "folder_then_file/a.py": Blob(b"a\n"),
    "folder_then_file/deep/b.py": Blob(b"b\n"),
    "Case.py": Blob(b"case\n"),
    "link": Blob(b"allocator.py", SYMLINK),
    "untouched.py": Blob(b"stays\n"),
}
NEW: dict[str, Blob | None] = {
    "allocator.py": None,
    "allocator/__init__.py": Blob(b""),
    "allocator/token.py": Blob(b"class Token: ...\n"),
    "callers/one.py": Blob(b"from allocator import token\n" * 3),
    "callers/tool": Blob(b"#!/usr/bin/env python\n"),
    "empty/soon/gone.py": None,
    "file_then_folder": None,
    "file_then_folder/inside/x.py": Blob(b"x\n"),
    "folder_then_file": Blob(b"now a file\n", EXECUTABLE),
    "folder_then_file/a.py": None,
    "folder_then_file/deep/b.py": None,
    "Case.py": None,
    "case.py": Blob(b"case\n"),
    "link": Blob(b"allocator/token.py", SYMLINK),
}
CHANGES = ChangeSet.of(OLD, {**OLD, **NEW})
# Few steps, for tests that stop a run twice or in several places.
FEW = ChangeSet.of(OLD, {**OLD, **{p: NEW[p] for p in ("allocator.py", "allocator/token.py")}})

MakeTree = Callable[[Path], Path]
KILLER = Killer()  # the fixture `killer` ends it


def in_git(directory: Path) -> Path:
    return checkout(directory, OLD)


def in_a_folder(directory: Path) -> Path:
    directory.mkdir()
    lay_out(directory, OLD)
    return directory


def in_a_worktree(directory: Path) -> Path:
    main = checkout(directory.with_name("main"), OLD)
    run_git(main, "worktree", "add", "--quiet", "--detach", str(directory))
    return directory


PLACES = {"in git": in_git, "in a folder": in_a_folder, "in a worktree": in_a_worktree}


def expected(tmp_path: Path, changes: ChangeSet = CHANGES) -> dict[str, tuple[int, bytes]]:
    """Lay out what the tree must hold afterwards."""
    directory = tmp_path / "expected"
    directory.mkdir()
    files = {**OLD, **changes.after()}
    lay_out(directory, {path: blob for path, blob in files.items() if blob is not None})
    return snapshot(directory)


def content(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Give what the directory holds, a worktree's `.git` file left out."""
    return {path: found for path, found in snapshot(directory).items() if path != ".git"}


def writing(tree: Path, changes: ChangeSet, step: Step) -> None:
    """Write a change set: an action for `killed`."""
    write(WorkingTree(tree), changes, step=step)


def recovering(tree: Path, step: Step) -> None:
    """Take up what a run left: an action for `killed`."""
    recover(tree, step=step)


def writing_in_any_case(tree: Path, changes: ChangeSet, step: Step) -> None:
    """Write a change set where every name answers to a name in another case."""
    Root.locate = locate_in_any_case  # type: ignore[method-assign]
    writing(tree, changes, step)


def locate_in_any_case(self: Root, path: str) -> bytes:
    """Find a file as macOS and Windows do."""
    found = os.fsencode(self.directory)
    for name in path.split("/") if path else []:
        names = os.listdir(found) if os.path.isdir(found) else []  # noqa: PTH112, PTH208
        same = [other for other in names if other.lower() == name.lower().encode()]
        found += b"/" + (same[0] if same else name.encode())
    return found


def killed(action: Action, at: Place) -> bool:
    """Run an action in a process that is killed before a step; tell whether it was.

    The step is given by its number, or by its operation and how the name ends. The action is a
    function of this module, or a partial of one: see `killing`.
    """
    status = KILLER.status(action, at)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the action raised"
    return os.WIFSIGNALED(status)


def put_back(tree: Path, old: dict[str, tuple[int, bytes]], changes: ChangeSet) -> None:
    if content(tree) != old:
        write(WorkingTree(tree), changes.inverted(), overwrite_uncommitted=True)
        assert content(tree) == old


def fail_at(number: int, error: BaseException) -> Step:
    """Make a step that fails once, before the n-th."""
    steps = 0

    def step(_operation: str, _name: bytes) -> None:
        nonlocal steps
        steps += 1
        if steps == number:
            raise error

    return step


def stopped_halfway(tmp_path: Path) -> Path:
    tree = in_git(tmp_path / "tree")
    assert killed(partial(writing, tree, CHANGES), 40)
    return tree
