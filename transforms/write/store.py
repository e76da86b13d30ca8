"""The journal's folder: who may use it, what state it is in, what it holds.

All saved bytes lie in one file and all else in a manifest, so that making them durable costs the
same for a move of four files and of four hundred.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from transforms.errors import Place, Refusal
from transforms.paths import contained
from transforms.result.changes import Blob, Change, ChangeSet
from transforms.tree import git
from transforms.tree.disk import Writer
from transforms.tree.working import JOURNAL_FOLDER
from transforms.write.settle import TOKEN, Held, Job

State = Literal["preparing", "applying", "undoing", "finished", "undone"]

KEPT = "kept"  # beside the states: a run that has ended well, and can be undone
_STATES: tuple[State, ...] = ("preparing", "applying", "undoing", "finished", "undone")
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_PERMISSION_BITS = 0o777  # no set-user-id, whatever a manifest says


def journal_place(top: Path) -> Path:
    """Name the journal's folder of a tree: in the git directory of the worktree, if it has one."""
    link = top / ".git"
    if link.is_dir() and not link.is_symlink():
        return link / "repot"
    found = git.find(top)
    if found is None or found.top != top:
        return top / JOURNAL_FOLDER
    try:
        return found.absolute_git_dir() / "repot"
    except git.GitError as error:
        raise Refusal(
            "malformed-repository",
            f"The repository cannot be read. Git says: {error}.",
            next_step="Run `git status` in it.",
            place=Place(str(top)),
        ) from None


@contextlib.contextmanager
def locked(place: Path, writer: Writer) -> Iterator[None]:
    """Hold the journal's folder, made for the purpose, against any other run; then tidy it away.

    Raises `Refusal("locked")` at once where another run holds it. A killed run's lock is free.
    """
    name = os.fsencode(place)
    try:
        descriptor = _take(place, writer)
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.EWOULDBLOCK}:
            raise Refusal(
                "locked",
                "Another run of Repot is writing here.",
                next_step="Wait until it has ended.",
                place=Place(str(place)),
            ) from None
        raise Refusal(
            "write-failed",
            f"The journal cannot be kept here: {error.strerror}. Nothing was changed.",
            next_step="Make the directory writable.",
            place=Place(str(place)),
        ) from error
    try:
        yield
    finally:
        try:
            # While the lock is held: who has just opened the file then finds it no longer named.
            with contextlib.suppress(OSError):
                writer.remove(name + b"/lock")
                writer.remove_directory(name)  # stays where a journal is left in it
        finally:
            os.close(descriptor)


def _take(place: Path, writer: Writer) -> int:
    """Lock the lock file, made if need be; it may vanish meanwhile as another run ends."""
    lock = place / "lock"
    while True:
        with contextlib.suppress(FileExistsError):
            writer.make_directory(os.fsencode(place), _PRIVATE_FOLDER)
        found = place.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise _damaged(place, "It is not a directory.")
        if found.st_uid != os.geteuid():
            raise _damaged(place, "It belongs to another user.")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(lock, flags, _PRIVATE_FILE)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), lock.lstat()):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


class Journal:
    """One run's saved bytes. Use it only while `locked` holds its place.

    Every function raises `OSError`; `load` and `state` also `Refusal("journal-damaged")`.
    """

    def __init__(self, place: Path, writer: Writer) -> None:
        self.place = place
        self._writer = writer

    def state(self) -> State | None:
        """Give the state of the run whose journal lies here, `None` where there is none."""
        found = [state for state in _STATES if os.path.lexists(self.place / state)]
        if len(found) > 1:
            raise _damaged(self.place, f"It is in several states: {', '.join(found)}.")
        if found and not stat.S_ISDIR((self.place / found[0]).lstat().st_mode):
            raise _damaged(self.place, f"`{found[0]}` is not a directory.")
        return found[0] if found else None

    def prepare(self, job: Job, plan: str = "") -> None:
        """Save both sides and the manifest durably, and only then enter the state `applying`.

        `plan` names what the job carries out, for whoever wants it undone later.
        """
        saved = bytearray()
        entries = []
        for path, change in job.changes.items():
            sides = {
                "before": _save(saved, change.before),
                "after": _save(saved, change.after),
            }
            owner = job.held.owners.get(path)
            held = {"permissions": job.held.files.get(path), "owner": owner}
            entries.append({"path": path, **sides, **held})
        manifest = {
            "format": 1,
            "plan": plan,
            "token": job.token,
            "trusts_modes": job.trusts_modes,
            "entries": entries,
            "directories": dict(job.held.directories),
        }
        folder = self._folder("preparing")
        text = json.dumps(manifest, indent=1).encode("ascii")
        self._writer.make_directory(folder, _PRIVATE_FOLDER)
        self._writer.create(folder + b"/data", bytes(saved), _PRIVATE_FILE)
        self._writer.create(folder + b"/manifest.json", text, _PRIVATE_FILE)
        self._writer.sync_directory(folder)
        self._writer.sync_directory(os.fsencode(self.place.parent))
        self.enter("applying")

    def enter(self, state: State) -> State:
        """Change the state by one rename, durably."""
        now = self.state()
        if now is None:
            raise _damaged(self.place, "It has vanished.")
        self._writer.rename(self._folder(now), self._folder(state))
        self._writer.sync_directory(os.fsencode(self.place))
        return state

    def discard(self) -> None:
        """Remove the journal of a run that has ended or changed nothing yet; the manifest last."""
        state = self.state()
        if state is None:
            return
        if state == "applying":
            state = self.enter("undone")
        self._remove(self._folder(state))

    def _remove(self, folder: bytes) -> None:
        for name in (b"/data", b"/manifest.json"):
            if os.path.lexists(folder + name):
                self._writer.remove(folder + name)
        self._writer.remove_directory(folder)

    def keep(self) -> None:
        """Keep the journal of a run that has ended, in place of the one kept before."""
        self.forget()
        self._writer.rename(self._folder("finished"), os.fsencode(self.place / KEPT))
        self._writer.sync_directory(os.fsencode(self.place))

    def forget(self) -> None:
        """Remove what is kept, if anything is."""
        if self.has_kept():
            self._remove(os.fsencode(self.place / KEPT))

    def has_kept(self) -> bool:
        """Whether a run is kept. Raises `Refusal("journal-damaged")` if it is no folder."""
        folder = self.place / KEPT
        if not os.path.lexists(folder):
            return False
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise _damaged(self.place, f"`{KEPT}` is not a directory.")
        return True

    def take_up(self) -> None:
        """Make what is kept a run under way again, one that is being undone."""
        self._writer.rename(os.fsencode(self.place / KEPT), self._folder("undoing"))
        self._writer.sync_directory(os.fsencode(self.place))

    def kept(self) -> tuple[Job, str]:
        """Read what is kept, checked as any journal is, and the plan that it carried out."""
        return self._read(self.place / KEPT)

    def load(self) -> Job:
        """Read the journal; whatever it says is checked, since an archive may bring one along."""
        return self._read(self.place / (self.state() or "applying"))[0]

    def _read(self, folder: Path) -> tuple[Job, str]:
        try:
            manifest = json.loads((folder / "manifest.json").read_bytes())
            data = (folder / "data").read_bytes()
            if manifest["format"] != 1 or not TOKEN.fullmatch(manifest["token"]):
                raise ValueError("its format is unknown")
            changes = ChangeSet(_change(entry, data) for entry in manifest["entries"])
            job = Job(changes, _held(manifest), manifest["token"], bool(manifest["trusts_modes"]))
            return job, str(manifest.get("plan", ""))
        except FileNotFoundError as error:
            raise _damaged(self.place, f"`{error.filename}` is missing.") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _damaged(self.place, f"Its manifest does not hold: {error!r}.") from None

    def paths(self) -> tuple[str, ...]:
        """Name the files of a run that has ended, as far as the journal still tells."""
        try:
            text = (self.place / (self.state() or "finished") / "manifest.json").read_bytes()
            return tuple(contained(entry["path"]) for entry in json.loads(text)["entries"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, Refusal):
            return ()

    def _folder(self, state: State) -> bytes:
        return os.fsencode(self.place / state)


def _save(saved: bytearray, blob: Blob | None) -> dict[str, Any] | None:
    if blob is None:
        return None
    start = len(saved)
    saved += blob.data
    digest = hashlib.sha256(blob.data).hexdigest()
    return {"mode": blob.mode, "start": start, "size": len(blob.data), "sha256": digest}


def _change(entry: dict[str, Any], data: bytes) -> Change:
    path = contained(entry["path"])
    return Change(path, _blob(entry["before"], data), _blob(entry["after"], data))


def _blob(saved: dict[str, Any] | None, data: bytes) -> Blob | None:
    if saved is None:
        return None
    start, size = int(saved["start"]), int(saved["size"])
    found = data[start : start + size]
    if start < 0 or len(found) != size or hashlib.sha256(found).hexdigest() != saved["sha256"]:
        raise ValueError("saved bytes do not have their hash")
    return Blob(found, saved["mode"])


def _held(manifest: dict[str, Any]) -> Held:
    files = {}
    owners = {}
    for entry in manifest["entries"]:
        if entry["permissions"] is not None:
            files[entry["path"]] = int(entry["permissions"]) & _PERMISSION_BITS
        if entry["owner"] is not None:
            user, group = entry["owner"]
            owners[entry["path"]] = int(user), int(group)
    directories = {
        contained(path): int(permissions) & _PERMISSION_BITS
        for path, permissions in manifest["directories"].items()
    }
    return Held(files, owners, directories)


def _damaged(place: Path, cause: str) -> Refusal:
    return Refusal(
        "journal-damaged",
        f"The journal of a stopped run cannot be used. {cause}",
        next_step=f"Check the files by hand (`git status`), then delete `{place}`.",
        place=Place(str(place)),
    )
