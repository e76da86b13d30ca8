"""Taking back the last move that was written, while its files are as it wrote them."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree import git
from transforms.tree.disk import Root, Step, Writer
from transforms.write.journal import BACK, failed, turn, unfinished
from transforms.write.settle import Job, refuse_links
from transforms.write.store import Journal, journal_place, locked


def undo(root: Path | str, plan: str, *, step: Step | None = None) -> tuple[str, ...]:
    """Take back the last run that was kept, and name its files: all of them, or none.

    Raises `Refusal`, nothing being touched: no run is kept, or it was another plan's; a file no
    longer has the bytes that the run wrote; a run is under way, or was stopped; the record of it is
    damaged. Stopped itself, it is finished by `recover`.
    """
    top = _top(root)
    writer = Writer(step)
    place = journal_place(top)
    if not place.is_dir() or place.is_symlink():
        raise _nothing_kept(plan)
    with locked(place, writer):
        journal = Journal(place, writer)
        try:
            job = _undoable(journal, plan, Root(top))
            journal.take_up()
        except OSError as error:
            raise failed(error, "Nothing was changed.") from error
        _take_back(journal, job, Root(top), writer)
        return tuple(job.changes)


def _top(root: Path | str) -> Path:
    start = git.directory(Path(root))
    found = git.find(start)
    return found.top if found is not None and found.top is not None else start


def _undoable(journal: Journal, plan: str, root: Root) -> Job:
    """Read what is kept, and refuse unless it is this plan's and every file is as it wrote it."""
    if journal.state() is not None:
        raise unfinished(journal.place)
    if not journal.has_kept():
        raise _nothing_kept(plan)
    job, known = journal.kept()
    if known != plan:
        raise Refusal(
            "another-plan",
            f"The last move that was written here is that of `{known}`.",
            next_step=f"Undo that one first: `repot apply --undo {shlex.quote(known)}`.",
            place=Place(plan),
        )
    refuse_links(job, root)
    changed = [
        path for path, change in job.changes.items()
        if not job.matches(job.look(root, path), change.after)
    ]  # fmt: skip
    if changed:
        names = ", ".join(f"`{path}`" for path in changed)
        raise Refusal(
            "changed-since-written",
            f"It no longer has the bytes that were written: {names}.",
            next_step="Take your own changes out of these first, or take the move back by hand: "
            "`git diff` shows both.",
            place=Place(changed[0]),
        )
    return job


def _take_back(journal: Journal, job: Job, root: Root, writer: Writer) -> None:
    """Give every file its old bytes; where that fails, the new ones again."""
    turn(journal, job, root, writer, BACK, ending=journal.keep)
    with contextlib.suppress(OSError):
        journal.discard()


def _nothing_kept(plan: str) -> Refusal:
    return Refusal(
        "nothing-to-undo",
        "No move is kept here that could be undone.",
        next_step="What `repot apply --write` wrote last can be undone, once; else git has it: "
        "`git restore`, or `git revert` once it is committed.",
        place=Place(plan),
    )
