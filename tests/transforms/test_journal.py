"""All or nothing: every run is stopped at every instant, and what is left is the old or the new."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.checkouts import checkout, commit_all, lay_out, run_git, snapshot
from transforms.changes import EXECUTABLE, SYMLINK, Blob, ChangeSet
from transforms.disk import Step
from transforms.errors import Refusal
from transforms.journal import Recovery, recover, write
from transforms.tree import WorkingTree

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
# Small, for tests that stop a run twice.
FEW = ChangeSet.of(OLD, {**OLD, **{p: NEW[p] for p in ("allocator.py", "allocator/token.py")}})

MakeTree = Callable[[Path], Path]


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


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out fsync: what a killed process has written the system keeps, and a disk takes long.

    That it is called where it must be has a test of its own.
    """
    monkeypatch.setattr("transforms.disk._sync", lambda descriptor: None)


def killed(action: Callable[[Step], object], at: int | tuple[str, str]) -> bool:
    """Run an action in a process that is killed before a step; tell whether it was.

    The step is given by its number, or by its operation and how the name ends.
    """
    child = os.fork()
    if child == 0:
        steps = 0

        def step(operation: str, name: bytes) -> None:
            nonlocal steps
            if steps == at or (
                isinstance(at, tuple) and operation == at[0] and name.endswith(at[1].encode())
            ):
                os.kill(os.getpid(), signal.SIGKILL)
            steps += 1

        code = 1
        try:
            action(step)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the action raised"
    return os.WIFSIGNALED(status)


def lose_what_is_not_durable(directory: Path) -> None:
    """Empty the files that a power cut may empty: those not yet given their name or state."""
    for pattern in (".repot-????????????????-*", "preparing/*"):
        for file in directory.rglob(pattern):
            if file.is_file() and not file.is_symlink():
                file.write_bytes(b"")


def put_back(tree: Path, old: dict[str, tuple[int, bytes]], changes: ChangeSet) -> None:
    if content(tree) != old:
        write(WorkingTree(tree), changes.inverted(), overwrite_uncommitted=True)
        assert content(tree) == old


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
    while killed(lambda step: write(WorkingTree(tree), changes, step=step), at):
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
        if not killed(lambda step: write(WorkingTree(stopped), FEW, step=step), at):  # noqa: B023
            break
        for second in itertools.count(at % 3, 3):
            tree = tmp_path / f"{at}.{second}"
            shutil.copytree(stopped, tree, symlinks=True)
            again = killed(lambda step: recover(tree, step=step), second)  # noqa: B023
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
    assert killed(lambda step: write(WorkingTree(tree), changes, step=step), first)
    (tree / ".repot-journal/applying").rename(tree / f".repot-journal/{state}")
    for path in random.Random(seed).sample(paths, len(paths) // 2):  # noqa: S311
        (tree / path).unlink(missing_ok=True)
        blob = NEW[path]
        lay_out(tree, {path: blob} if blob else {})
    assert recover(tree) == Recovery(outcome, tuple(changes))  # type: ignore[arg-type]
    assert content(tree) == (new if outcome == "finished" else old)


def fail_at(number: int, error: BaseException) -> Step:
    """Make a step that fails once, before the n-th."""
    steps = 0

    def step(_operation: str, _name: bytes) -> None:
        nonlocal steps
        steps += 1
        if steps == number:
            raise error

    return step


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


def test_where_finishing_fails_recovery_goes_back(tmp_path: Path) -> None:
    tree = in_git(tmp_path / "tree")
    old = content(tree)
    assert killed(lambda step: write(WorkingTree(tree), CHANGES, step=step), 30)
    recovery = recover(tree, step=fail_at(6, OSError(errno.ENOSPC, "No space left on device")))
    assert recovery == Recovery("undone", tuple(CHANGES))
    assert content(tree) == old


def stopped_halfway(tmp_path: Path) -> Path:
    tree = in_git(tmp_path / "tree")
    assert killed(lambda step: write(WorkingTree(tree), CHANGES, step=step), 40)
    return tree


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
    assert killed(lambda step: write(WorkingTree(tree), CHANGES, step=step), last)
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


CHANGING = {"rename", "remove", "make directory", "remove directory"}


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


def test_odd_names_are_written_and_recovered(tmp_path: Path) -> None:
    names = ["caf\u00e9.py", "two words.py", 'q"uote.py', "new\nline.py", "raw\udce9.py"]
    old: dict[str, Blob | None] = {name: Blob(b"old\n") for name in names}
    tree = checkout(tmp_path / "tree", dict.fromkeys(names, b"old\n"))
    changes = ChangeSet.of(old, {name: Blob(b"new\n") for name in names})
    assert killed(lambda step: write(WorkingTree(tree), changes, step=step), 24)
    recovery = recover(tree)
    assert recovery is not None
    assert set(recovery.paths) == set(names)
    assert {found[1] for found in content(tree).values()} == {b"new\n"}
    commit_all(tree)
