"""Write a change set to a working directory, all of it or nothing, whatever stops the run.

Old and new bytes are first saved in a journal, durably; then the files are changed. The name of the
journal's folder is the state of the run, and changes by one rename:

    preparing  nothing is changed yet
    applying   the files are on their way to their new bytes; a later run finishes that
    undoing    something failed: they are on their way back; a later run finishes that
    finished   every file has its new bytes; the journal itself is being removed, or kept
    undone     every file has its old bytes; the journal itself is being removed

It lies in the git directory (`.git/repot`), elsewhere in `.repot-journal`, and is gone at the end,
unless the run is kept to be undone: then its last one lies there as `kept`.
"""

from __future__ import annotations

import contextlib
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from transforms.errors import Place, Refusal
from transforms.paths import parents
from transforms.result.changes import ChangeSet
from transforms.tree import git
from transforms.tree.disk import Root, Step, Writer
from transforms.tree.working import JOURNAL_FOLDER, WorkingTree
from transforms.write.settle import Held, Job, Side, examine, settle
from transforms.write.store import Journal, State, journal_place, locked


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a run that was stopped: its files all have the new bytes, or all the old.

    `paths` are the files it was to change; empty where it was stopped before it had any.
    """

    outcome: Literal["finished", "undone"]
    paths: tuple[str, ...]


def write(
    tree: WorkingTree,
    changes: ChangeSet,
    *,
    overwrite_uncommitted: bool = False,
    keep: str = "",
    step: Step | None = None,
) -> None:
    """Write every change, or none; `keep` names the plan, and has the run kept for `undo`.

    Raises `Refusal`, the tree being as it was: a file has changed since it was read, holds work
    that is not committed (unless `overwrite_uncommitted`) or lies behind a symbolic link; another
    run is writing, or one was stopped (see `recover`); the disk is full. `step` is for tests.
    """
    if not changes:
        return
    writer = Writer(step)
    place = journal_place(tree.root)
    with locked(place, writer):
        journal = Journal(place, writer)
        if journal.state() is not None:
            raise unfinished(tree.root)
        try:
            for path in changes:
                tree.check_writable(path)
            if not overwrite_uncommitted:
                _refuse_dirty(tree, changes)
            job = _check(tree, changes)
        except OSError as error:
            raise failed(error, "Nothing was changed.") from error
        _prepare(journal, job, keep)
        _carry_out(journal, job, tree.disk, writer, keep=bool(keep))


def recover(root: Path | str, *, step: Step | None = None) -> Recovery | None:
    """Finish or undo a run that was stopped while it wrote into this directory, and say which.

    `None` where there is nothing to do. Safe to be stopped itself. Raises `Refusal`: another run is
    writing now, a file was edited since by somebody (nothing is then touched), the journal is
    damaged, or the disk fails.
    """
    start = git.directory(Path(root))
    found = git.find(start)
    if found is not None and found.top is None:
        return None
    top = found.top if found is not None and found.top is not None else start
    writer = Writer(step)
    for place in dict.fromkeys((journal_place(top), top / JOURNAL_FOLDER)):
        if place.is_dir() or place.is_symlink():
            with locked(place, writer):
                recovery = _recover(Journal(place, writer), Root(top), writer)
            if recovery is not None:
                return recovery
    return None


def require_none(root: Path | str) -> None:
    """Refuse where a run was stopped while it wrote into this directory; nothing is touched."""
    start = git.directory(Path(root))
    found = git.find(start)
    top = found.top if found is not None and found.top is not None else start
    for place in (journal_place(top), top / JOURNAL_FOLDER):
        if place.is_symlink() or (place.is_dir() and Journal(place, Writer()).state() is not None):
            raise unfinished(place)


def _prepare(journal: Journal, job: Job, plan: str) -> None:
    try:
        journal.prepare(job, plan)
    except BaseException as failure:
        with contextlib.suppress(OSError):
            journal.discard()
        if isinstance(failure, OSError):
            raise failed(failure, "Nothing was changed.") from failure
        raise


def _carry_out(
    journal: Journal, job: Job, root: Root, writer: Writer, *, keep: bool = False
) -> None:
    """Change the files; put them back if that fails, and also where a person interrupts it."""

    def drop() -> None:
        with contextlib.suppress(OSError):
            journal.discard()

    turn(journal, job, root, writer, FORTH, ending=drop)
    with contextlib.suppress(OSError):  # the next run removes what is left of the journal
        if keep:
            journal.keep()
        else:
            journal.forget()
            journal.discard()


@dataclass(frozen=True, slots=True)
class Way:
    """One way between the old bytes and the new: what the journal says meanwhile, and then.

    `failed` is what a refusal says of the files, which then went the other way again.
    """

    side: Side
    doing: State
    done: State
    failed: str


FORTH = Way("after", "applying", "finished", "Every file was put back as it was.")
BACK = Way("before", "undoing", "undone", "Every file was put back as the move had it.")


def turn(
    journal: Journal,
    job: Job,
    root: Root,
    writer: Writer,
    way: Way,
    *,
    ending: Callable[[], None],
) -> None:
    """Change the files one way; where that fails, or a person interrupts it, the other way again.

    `ending` is what becomes of the journal then.
    """
    back = BACK if way is FORTH else FORTH
    try:
        settle(job, root, way.side, writer)
        journal.enter(way.done)
    except BaseException as failure:
        try:
            journal.enter(back.doing)
            examine(job, root)
            settle(job, root, back.side, writer)
            journal.enter(back.done)
            ending()
        except OSError as error:
            raise stuck(error) from failure
        if isinstance(failure, OSError):
            raise failed(failure, way.failed) from failure
        raise


def unfinished(place: Path) -> Refusal:
    """Word the refusal where a stopped run is to be recovered first."""
    return Refusal(
        "unfinished-run",
        "An earlier run was stopped while it wrote.",
        next_step="Recover it first; `repot apply` does so as it starts.",
        place=Place(str(place)),
    )


def _recover(journal: Journal, root: Root, writer: Writer) -> Recovery | None:
    try:
        state = journal.state()
        if state is None:
            return None
        paths: tuple[str, ...] = ()
        if state in {"applying", "undoing"}:
            job = journal.load()
            paths = tuple(job.changes)
            examine(job, root)
            state = _settle_either(journal, job, root, writer, state)
        elif state != "preparing":
            paths = journal.paths()
        journal.discard()
    except OSError as error:
        raise stuck(error) from error
    return Recovery("finished" if state == "finished" else "undone", paths)


def _settle_either(journal: Journal, job: Job, root: Root, writer: Writer, state: State) -> State:
    """Go on where the stopped run was; where going forward fails, go back."""
    if state == "applying":
        try:
            settle(job, root, "after", writer)
            return journal.enter("finished")
        except OSError:
            journal.enter("undoing")
    settle(job, root, "before", writer)
    return journal.enter("undone")


def _refuse_dirty(tree: WorkingTree, changes: ChangeSet) -> None:
    dirty = tree.dirty(changes)
    if dirty:
        names = ", ".join(f"`{path}`" for path in dirty)
        raise Refusal(
            "dirty-file",
            f"Work that is not committed would be overwritten: {names}.",
            next_step="Commit or stash it first.",
            place=Place(dirty[0]),
        )


def _check(tree: WorkingTree, changes: ChangeSet) -> Job:
    """Refuse what is not as it was read or is in the way; note what lies beside the bytes."""
    job = Job(changes, _hold(tree.disk, changes), secrets.token_hex(8), tree.trusts_modes)
    for path, change in changes.items():
        if not job.matches(job.look(tree.disk, path), change.before):
            raise Refusal(
                "changed-file",
                "It has changed since it was read."
                if change.before
                else "It appeared since the tree was read, or is a file that git ignores.",
                next_step="Run Repot again; nothing was written.",
                place=Place(path),
            )
        if change.after is not None:
            _refuse_obstacle(tree.disk, path, changes)
    return job


def _refuse_obstacle(root: Root, path: str, changes: ChangeSet) -> None:
    """Refuse a file where another stays above or below it."""
    gone = {other for other, change in changes.items() if change.after is None}
    for parent in parents(path):
        other = changes.get(parent)
        is_file = root.status(parent) is not None and not root.is_directory(parent)
        if (is_file and parent not in gone) or (other is not None and other.after is not None):
            raise _clash(path, f"`{parent}` is a file.")
    if root.is_directory(path):
        emptied = {parent for other in gone for parent in parents(other)}
        for name in _below(root, path):
            if name not in gone and name not in emptied:
                raise _clash(path, f"It is a directory that holds `{name}`.")


def _below(root: Root, folder: str) -> Iterator[str]:
    for name in root.names(folder):
        path = f"{folder}/{name}"
        yield path
        if root.is_directory(path):
            yield from _below(root, path)


def _hold(root: Root, changes: ChangeSet) -> Held:
    files = {}
    owners = {}
    directories = {}
    for path in changes:
        found = root.status(path)
        if found is not None and stat.S_ISREG(found.st_mode):
            files[path] = stat.S_IMODE(found.st_mode)
            owners[path] = (found.st_uid, found.st_gid)
        for parent in parents(path):
            above = root.status(parent)
            if above is not None and stat.S_ISDIR(above.st_mode):
                directories[parent] = stat.S_IMODE(above.st_mode)
    return Held(files, owners, directories)


def _clash(path: str, cause: str) -> Refusal:
    return Refusal(
        "path-clash",
        f"The file cannot be written: {cause}",
        next_step="Choose another path, or remove what is in the way.",
        place=Place(path),
    )


def failed(error: OSError, outcome: str) -> Refusal:
    """Word the refusal for a disk that failed; `outcome` says what became of the files."""
    return Refusal(
        "write-failed",
        f"Writing failed: {error.strerror or error}. {outcome}",
        next_step="Mend the cause (space, permissions) and run Repot again.",
        place=_place(error),
    )


def stuck(error: OSError) -> Refusal:
    """Word the refusal for a disk that failed both ways; the journal still has everything."""
    return Refusal(
        "write-unfinished",
        f"Some files could be neither written nor put back: {error.strerror or error}.",
        next_step="Nothing is lost: mend the cause (space, permissions) and run Repot again, "
        "which goes on from its journal.",
        place=_place(error),
    )


def _place(error: OSError) -> Place | None:
    name = error.filename
    if isinstance(name, bytes):
        name = name.decode("utf-8", "surrogateescape")
    return Place(name) if isinstance(name, str) else None
