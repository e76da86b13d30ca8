"""A stop on disk: what `--continue` needs to know, kept beside the repository's own files.

It is written whole or not at all. One branch of a repository is carried at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from transforms.errors import Place, Refusal
from transforms.tree.git import Repository
from verify.carry.job import Job, Note, Progress
from verify.carry.splits import Split
from verify.carry.stages import Step

_FORMAT = 1
_FOLDER = Path("repot", "carry")  # in git's own folder
_STATE = "state.json"


@dataclass(frozen=True, slots=True)
class Stop:
    """A branch that is on its way, and needs a person.

    `head` is the commit that the worktree stands on, `tree` and `stages` what was put there.
    `laid` says that it is there. `finished` is the tip that the branch was to be moved to.
    """

    job: Job
    progress: Progress
    worktree: Path
    head: str
    tree: str
    stages: tuple[str, ...]
    laid: bool = False
    finished: str = ""


def folder_of(repository: Repository) -> Path:
    """Give the folder in which a stop is kept; it need not be there."""
    printed = repository.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(os.fsdecode(printed.removesuffix(b"\n"))) / _FOLDER


def default_worktree(folder: Path) -> Path:
    """Give the folder of the linked worktree where the user names none."""
    return folder / "tree"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs off a repository for as long as this one takes. Raises `Refusal`.

    A repository that came from elsewhere may hold anything: no link of it is followed.
    """
    if any(place.is_symlink() for place in (folder, folder.parent)):
        raise damaged(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(folder / "lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refusal(
                "carry-running",
                "Another run is carrying a branch of this repository.",
                next_step="Wait until it is done.",
                place=Place(str(folder)),
            ) from None
        yield


def _opened(path: Path) -> BinaryIO:
    """Open a file of ours to write to it; what it holds stays. Raises `Refusal` for a link."""
    try:
        return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+b")
    except OSError:
        raise damaged(path) from None


def damaged(path: Path) -> Refusal:
    """Word the refusal of what is kept, where it is not what was written."""
    return Refusal(
        "carry-damaged",
        "What is kept of the stop cannot be read.",
        next_step="Give it up with `repot carry --abort`; the branch stands where it stood.",
        place=Place(str(path)),
    )


def save(folder: Path, stop: Stop) -> None:
    """Keep a stop, in place of the one before it."""
    job, progress = stop.job, stop.progress
    document = {
        "format": _FORMAT,
        "branch": job.branch,
        "tip": job.tip,
        "onto": job.onto,
        "mains": job.mains,
        "puts": dict(job.puts),
        "splits": [[s.commit, s.parent, s.tree, s.origin, s.text] for s in job.splits],
        "stage": progress.stage,
        "chain": progress.chain,
        "at": progress.at,
        "done": progress.done,
        "dropped": progress.dropped,
        "notes": progress.notes,
        "worktree": str(stop.worktree),
        "head": stop.head,
        "tree": stop.tree,
        "stages": stop.stages,
        "laid": stop.laid,
        "finished": stop.finished,
    }
    new = folder / f"{_STATE}.new"
    new.unlink(missing_ok=True)
    with _opened(new) as file:
        file.write(json.dumps(document, indent=1).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / _STATE)


def load(folder: Path) -> Stop | None:
    """Read the stop that is kept, if there is one. Raises `Refusal` where it is damaged."""
    try:
        text = (folder / _STATE).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    try:
        return _read(json.loads(text))
    except (ValueError, KeyError, TypeError):
        raise damaged(folder / _STATE) from None


def _read(data: Any) -> Stop:
    if data["format"] != _FORMAT:
        raise ValueError(data["format"])
    splits = tuple(Split(*row) for row in data["splits"])
    mains = tuple(data["mains"])
    job = Job(data["branch"], data["tip"], data["onto"], mains, splits, data["puts"])
    progress = Progress(
        data["stage"],
        tuple(Step(*row) for row in data["chain"]),
        data["at"],
        tuple(Step(*row) for row in data["done"]),
        tuple(data["dropped"]),
        tuple(Note(*row) for row in data["notes"]),
    )
    return Stop(
        job,
        progress,
        Path(data["worktree"]),
        data["head"],
        data["tree"],
        tuple(data["stages"]),
        data["laid"],
        data["finished"],
    )


def forget(folder: Path) -> None:
    """Remove the stop that is kept."""
    for name in (_STATE, f"{_STATE}.new"):
        (folder / name).unlink(missing_ok=True)
