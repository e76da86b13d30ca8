"""All or nothing: every run is stopped at every instant, and what is left is the old or the new."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import random
import resource
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, lay_out, run_git, snapshot
from tests.transforms.write.journals import (
    CHANGES,
    FEW,
    NEW,
    OLD,
    PLACES,
    MakeTree,
    content,
    expected,
    fail_at,
    in_a_folder,
    in_a_worktree,
    in_git,
    killed,
    locate_in_any_case,
    put_back,
    recovering,
    writing,
    writing_in_any_case,
)
from transforms.errors import Refusal
from transforms.result.changes import Blob, ChangeSet
from transforms.tree import WorkingTree
from transforms.tree.disk import Root
from transforms.write.journal import Recovery, recover, write


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out fsync: what a killed process has written the system keeps, and a disk takes long.

    That it is called where it must be has a test of its own.
    """
    monkeypatch.setattr("transforms.tree.disk._sync", lambda descriptor: None)


def lose_what_is_not_durable(directory: Path) -> None:
    """Empty the files that a power cut may empty: those not yet given their name or state."""
    for pattern in (".repot-????????????????-*", "preparing/*"):
        for file in directory.rglob(pattern):
            if file.is_file() and not file.is_symlink():
                file.write_bytes(b"")


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_a_change_set_is_written_and_leaves_nothing_behind(tmp_path: Path, make: MakeTree) -> None:
    tree = make(tmp_path / "tree")
    write(WorkingTree(tree), CHANGES)
    assert content(tree) == expected(tmp_path)
    assert recover(tree) is None
    assert not list(tmp_path.rglob("*repot*"))


@pytest.mark.parametrize(
    ("make", "changes"),
    [(in_a_folder, CHANGES), (in_git, FEW), (in_a_worktree, FEW)],
    ids=["every kind of change", "in git", "in a worktree"],
)
def test_a_run_killed_at_any_step_leaves_the_old_tree_or_the_new(
    tmp_path: Path, make: MakeTree, changes: ChangeSet
) -> None:
    tree = make(tmp_path / "tree")
    old, new = content(tree), expected(tmp_path, changes)
    outcomes = []
    at = 0
    while killed(partial(writing, tree, changes), at):
        lose_what_is_not_durable(tmp_path)
        recovery = recover(tree)
        found = content(tree)
        assert found in (old, new), f"step {at}"
        if recovery is None:  # nothing was begun, or nothing was left to do
            assert found == (old if at < 10 else new)
            outcomes.append("none")
        else:
            assert found == (new if recovery.outcome == "finished" else old), f"step {at}"
            outcomes.append(recovery.outcome)
        assert recover(tree) is None
        assert not list(tmp_path.rglob("*.repot*"))
        assert not list(tmp_path.rglob("repot"))
        put_back(tree, old, changes)
        at += 1
    assert at >= 30
    order = [name for n, name in enumerate(outcomes) if n == 0 or outcomes[n - 1] != name]
    assert order == ["none", "undone", "finished", "none"]


def test_a_recovery_killed_at_any_step_is_taken_up_by_the_next(tmp_path: Path) -> None:
    old, new = snapshot(in_a_folder(tmp_path / "old")), expected(tmp_path, FEW)
    for at in itertools.count():
        stopped = in_a_folder(tmp_path / f"{at}")
        if not killed(partial(writing, stopped, FEW), at):
            break
        for second in itertools.count(at % 3, 3):
            tree = tmp_path / f"{at}.{second}"
            shutil.copytree(stopped, tree, symlinks=True)
            again = killed(partial(recovering, tree), second)
            recover(tree)
            assert snapshot(tree) in (old, new), f"steps {at} and {second}"
            shutil.rmtree(tree)
            if not again:
                break


@pytest.mark.parametrize(("state", "outcome"), [("applying", "finished"), ("undoing", "undone")])
@pytest.mark.parametrize("seed", range(8))
def test_any_mixture_of_old_and_new_files_is_settled(
    tmp_path: Path, state: str, outcome: str, seed: int
) -> None:
    """After a power cut each directory may have kept its names up to another instant."""
    tree = in_a_folder(tmp_path / "tree")
    paths = [path for path in NEW if not path.startswith(("file_then", "folder_then"))]
    changes = ChangeSet.of(OLD, {**OLD, **{path: NEW[path] for path in paths}})
    old, new = content(tree), expected(tmp_path, changes)
    first = ("sync directory", "/.repot-journal")
    assert killed(partial(writing, tree, changes), first)
    (tree / ".repot-journal/applying").rename(tree / f".repot-journal/{state}")
    for path in random.Random(seed).sample(paths, len(paths) // 2):  # noqa: S311
        (tree / path).unlink(missing_ok=True)
        blob = NEW[path]
        lay_out(tree, {path: blob} if blob else {})
    assert recover(tree) == Recovery(outcome, tuple(changes))  # type: ignore[arg-type]
    assert content(tree) == (new if outcome == "finished" else old)


NAMES_AFTER = {"case.py", "folder/a.py", "other.py"}


@pytest.fixture
def case_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name answer to a name in another case, as on macOS and Windows."""
    monkeypatch.setattr(Root, "locate", locate_in_any_case)


@pytest.mark.usefixtures("case_is_ignored")
def test_a_name_changes_its_case_where_case_is_ignored(tmp_path: Path) -> None:
    files = {"Case.py": b"1\n", "Folder/A.py": b"2\n", "other.py": b"3\n"}
    sides: list[dict[str, Blob | None]] = [
        {"Case.py": Blob(b"1\n"), "Folder/A.py": Blob(b"2\n")},
        {"case.py": Blob(b"1\n"), "folder/a.py": Blob(b"changed\n")},
    ]
    changes = ChangeSet.of(*sides)
    for at in itertools.count():
        tree = tmp_path / f"{at}"
        lay_out(tree, files)
        stopped = killed(partial(writing_in_any_case, tree, changes), at)
        recovery = recover(tree)
        names = {path.relative_to(tree).as_posix() for path in tree.rglob("*.py")}
        if recovery is None and stopped:
            assert names in ({"Case.py", "Folder/A.py", "other.py"}, NAMES_AFTER)
        elif recovery is None or recovery.outcome == "finished":
            assert names == NAMES_AFTER, f"step {at}"
            assert (tree / "folder/a.py").read_bytes() == b"changed\n"
        else:
            assert names == {"Case.py", "Folder/A.py", "other.py"}
        if not stopped:
            break
    assert at > 30


@pytest.mark.parametrize(
    ("error", "changes"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), CHANGES),
        (PermissionError(errno.EACCES, "Permission denied"), FEW),
    ],
    ids=["a full disk", "a lack of permission"],
)
def test_a_failure_at_any_step_puts_everything_back(
    tmp_path: Path, error: OSError, changes: ChangeSet
) -> None:
    tree = in_a_folder(tmp_path / "tree")
    old, new = content(tree), expected(tmp_path, changes)
    steps: list[str] = []
    write(WorkingTree(tree), changes, step=lambda operation, _: steps.append(operation))
    put_back(tree, old, changes)
    for number in range(1, len(steps) + 1):
        if number > len(steps) - 5:  # the journal is being removed: no reason to fail
            write(WorkingTree(tree), changes, step=fail_at(number, error))
            recover(tree)
            assert content(tree) == new
        else:
            with pytest.raises(Refusal, match=r"put back|Nothing was changed") as caught:
                write(WorkingTree(tree), changes, step=fail_at(number, error))
            assert caught.value.kind == "write-failed"
            assert content(tree) == old, f"step {number}"
        recover(tree)
        assert not list(tmp_path.rglob("*repot*"))
        put_back(tree, old, changes)


def test_an_interrupt_puts_everything_back_and_is_passed_on(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    old = content(tree)
    with pytest.raises(KeyboardInterrupt):
        write(WorkingTree(tree), CHANGES, step=fail_at(30, KeyboardInterrupt()))
    assert content(tree) == old
    assert recover(tree) is None


def test_a_disk_that_stays_full_leaves_the_rest_to_the_next_run(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    old = content(tree)
    steps = 0

    def step(operation: str, _name: bytes) -> None:
        nonlocal steps
        steps += 1
        if steps > 40 and operation == "create":
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Refusal, match="neither written nor put back") as caught:
        write(WorkingTree(tree), CHANGES, step=step)
    assert caught.value.kind == "write-unfinished"
    assert content(tree) != old
    with pytest.raises(Refusal, match="neither written nor put back"):
        recover(tree, step=step)
    assert recover(tree) == Recovery("undone", tuple(CHANGES))
    assert content(tree) == old


def test_a_file_too_large_to_be_written_leaves_everything(tmp_path: Path) -> None:
    """The limit is the system's own: the failure comes in the middle of a write."""
    tree = in_a_folder(tmp_path / "tree")
    old = snapshot(tree)
    changes = ChangeSet.of(OLD, {**OLD, "untouched.py": Blob(b"x" * 100_000)})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
            write(WorkingTree(tree), changes)
        except Refusal as refusal:
            code = 0 if refusal.kind == "write-failed" else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WEXITSTATUS(status) == 0
    assert snapshot(tree) == old


@pytest.mark.system
def test_a_disk_that_is_full_gets_its_files_back(tmp_path: Path) -> None:
    """On a real file system with a little more room each time, until everything fits."""
    new = {f"folder{n}/file.py": Blob(b"%d" % n * 30_000) for n in range(12)}
    changes = ChangeSet.of(OLD, {**OLD, **NEW, **new})
    outcomes = []
    for kibibytes in range(64, 2048, 32):
        disk = tmp_path / f"{kibibytes}"
        disk.mkdir()
        options = f"size={kibibytes}k,mode=755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)
        try:
            tree = in_a_folder(disk / "tree")
            old = snapshot(tree)
            with contextlib.suppress(Refusal):
                write(WorkingTree(tree), changes)
            written = snapshot(tree) != old
            if written:
                assert all((tree / path).read_bytes() == blob.data for path, blob in new.items())
                assert not (tree / "allocator.py").exists()
            outcomes.append(written)
            assert recover(tree) is None
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_where_finishing_fails_recovery_goes_back(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    old = content(tree)
    assert killed(partial(writing, tree, CHANGES), 30)
    recovery = recover(tree, step=fail_at(6, OSError(errno.ENOSPC, "No space left on device")))
    assert recovery == Recovery("undone", tuple(CHANGES))
    assert content(tree) == old


def test_a_lock_file_without_a_holder_is_no_lock(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    (tree / ".git/repot").mkdir()
    (tree / ".git/repot/lock").touch()
    assert recover(tree) is None
    assert not (tree / ".git/repot").exists()


def test_a_lock_file_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = in_git(tmp_path / "tree")
    lock = tree / ".git/repot/lock"
    flock = fcntl.flock
    calls = []

    def late(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:  # the run before ends between our opening the file and locking it
            lock.unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write(WorkingTree(tree), CHANGES)
    assert len(calls) == 2
    assert content(tree) == expected(tmp_path)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    tree = in_a_folder(tmp_path / "tree")
    before = os.umask(umask)
    try:
        write(WorkingTree(tree), CHANGES)
    finally:
        os.umask(before)
    new = expected(tmp_path)
    assert {p: f for p, f in snapshot(tree).items() if not (tree / p).is_dir()} == {
        p: f for p, f in new.items() if not (tmp_path / "expected" / p).is_dir()
    }


def test_permission_bits_of_a_file_that_keeps_its_mode_are_kept(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    (tree / "callers/one.py").chmod(0o640)
    (tree / "empty/soon/gone.py").chmod(0o600)
    (tree / "empty").chmod(0o750)
    old = snapshot(tree)
    last = ("rename", "/finished")
    assert killed(partial(writing, tree, CHANGES), last)
    assert not (tree / "empty").exists()
    assert (tree / "callers/one.py").stat().st_mode & 0o777 == 0o640
    (tree / ".repot-journal/applying").rename(tree / ".repot-journal/undoing")
    assert recover(tree) == Recovery("undone", tuple(CHANGES))
    assert snapshot(tree) == old


def test_modes_are_left_alone_where_git_does_not_trust_them(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    run_git(tree, "config", "core.fileMode", "false")
    (tree / "callers/one.py").chmod(0o755)
    write(WorkingTree(tree), CHANGES)
    assert (tree / "callers/one.py").read_bytes() == b"from allocator import token\n" * 3


def test_an_empty_change_set_touches_nothing(tmp_path: Path) -> None:
    tree = in_a_folder(tmp_path / "tree")
    write(WorkingTree(tree), ChangeSet(), step=fail_at(1, AssertionError()))


CHANGING = {"rename", "remove", "make directory", "remove directory"}


def test_everything_is_durable_before_the_first_file_changes(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    steps: list[tuple[str, str]] = []
    place = f"{tree}/.git/repot"
    write(
        WorkingTree(tree),
        CHANGES,
        step=lambda operation, name: steps.append((operation, os.fsdecode(name).rstrip("/"))),
    )
    names = [name for _, name in steps]
    first = next(n for n, name in enumerate(names) if not name.startswith(f"{tree}/.git"))
    saved = steps[:first]
    assert [step for step in saved if step[0].startswith("sync")] == [
        ("sync", f"{place}/preparing/data"),
        ("sync", f"{place}/preparing/manifest.json"),
        ("sync directory", f"{place}/preparing"),
        ("sync directory", f"{tree}/.git"),
        ("sync directory", place),
    ]
    assert saved[-2] == ("rename", f"{place}/applying")
    for number, (operation, name) in enumerate(steps):
        if operation == "rename" and name.startswith(f"{tree}/") and "/.git/" not in name:
            before, what = steps[number - 1]
            assert before in {"sync", "link"}, name
            assert ".repot-" in what
    finished = steps.index(("rename", f"{place}/finished"))
    touched = {str(Path(name).parent) for op, name in steps[first:finished] if op in CHANGING}
    synced = {name for op, name in steps[first:finished] if op == "sync directory"}
    gone = {name for op, name in steps[first:finished] if op == "remove directory"}
    assert touched - gone <= synced


def test_odd_names_are_written_and_recovered(tmp_path: Path) -> None:
    names = ["caf\u00e9.py", "two words.py", 'q"uote.py', "new\nline.py", "raw\udce9.py"]
    old: dict[str, Blob | None] = {name: Blob(b"old\n") for name in names}
    tree = checkout(tmp_path / "tree", dict.fromkeys(names, b"old\n"))
    changes = ChangeSet.of(old, {name: Blob(b"new\n") for name in names})
    assert killed(partial(writing, tree, changes), 24)
    recovery = recover(tree)
    assert recovery is not None
    assert set(recovery.paths) == set(names)
    assert {found[1] for found in content(tree).values()} == {b"new\n"}
    commit_all(tree)
