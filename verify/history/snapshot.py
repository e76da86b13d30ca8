"""The working tree, or the index, as a tree of git's in a repository of our own.

A file's bytes are those that git would store: what the index has where the file is unchanged, else
the file with its line ends as attributes say. Git lists, and reads attributes; no filter,
file-system monitor or hook is run, and nothing is written in the judged repository. What only a
filter could tell is named.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.paths import from_bytes, to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK, Blob
from transforms.tree import GitTree, WorkingTree, git
from transforms.tree.git import GitError, MissingObjectError, Repository
from transforms.tree.working import Staged, object_id, streamed_id
from verify.history.lineends import (
    ATTRIBUTES,
    Ends,
    ends_of,
    filters,
    keeps_its_ends,
    stored,
)
from verify.history.scratch import Scratch

_Say = Callable[[int, int], None]  # told how many of how many files are read
_MOST = 128 << 20  # bytes of a file that is held in memory
_RECENT = 2_000_000_000  # nanoseconds: no clock of a file system is coarser
_TO_BE_ADDED = 0x20000000  # the flag of an index entry that has only been announced
_DETAILS = re.compile(
    rb"([^\0]*)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: \d+\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tree's id, and the files whose bytes nobody knows without running a filter: path, why."""

    tree: str
    unjudged: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Details:
    """What git's index knows of a file: when it was changed, its size, and flags."""

    changed: int
    size: int
    flags: int


def with_its_index(judged: Repository) -> Repository:
    """Give a checkout with the index that the user's git would take: see `GIT_INDEX_FILE` there.

    Git sets it for the hooks of a commit that has an index of its own. Raises `Refusal` where it
    names no file: git would begin an empty index, in which everything is gone.
    """
    named = os.environ.get("GIT_INDEX_FILE")
    if not named:
        return judged
    index = judged.directory / named  # as git has it: from the top, wherever one stands
    if not index.is_file():
        raise Refusal(
            "no-such-file",
            "GIT_INDEX_FILE names it as git's index, and no such file is there.",
            next_step="Unset GIT_INDEX_FILE to have the repository's own index.",
            place=Place(named),
        )
    return replace(judged, index=index)


def of_index(judged: Repository, scratch: Scratch) -> Snapshot:
    """Take the index, as `git commit` would. Raises `Refusal`."""
    staged = _without_conflicts(_opened(judged))
    announced = {path for path, found in _details(judged).items() if found.flags & _TO_BE_ADDED}
    rows = [(path, e.mode, e.id) for path, e in staged.items() if path not in announced]
    return Snapshot(scratch.tree(rows))


def of_working_tree(
    judged: Repository, scratch: Scratch, head: GitTree, say: _Say = lambda _done, _of: None
) -> Snapshot:
    """Take the working tree, as `git add --all` and `git commit` would.

    Raises `Refusal`, also where anything changes while it is read.
    """
    start = time.time_ns()
    listing = _listed(judged)
    reading = _Reading(judged, scratch, head, listing)
    found = reading.snapshot(say)
    again = _listed(judged)
    recent = [p for p, seen in listing.seen.items() if max(seen[2:4]) > start - _RECENT]
    for path in (*listing.changed(again), *reading.read_otherwise(recent)):
        raise _changed(path)
    return found


@dataclass(frozen=True, slots=True)
class _Listing:
    """What git would look at: modes by path, and what `lstat` says of each.

    `left_out` are files that a sparse checkout does not have, `nested` other repositories.
    """

    tree: WorkingTree
    modes: Mapping[str, int]
    left_out: tuple[str, ...]
    nested: tuple[str, ...]
    seen: Mapping[str, tuple[int, ...]]

    def changed(self, again: _Listing) -> Iterator[str]:
        """Name what another listing has otherwise."""
        if self.tree.staged() != again.tree.staged():
            yield ".git/index"
        for path in sorted({*self.modes, *again.modes}, key=to_bytes):
            if self.seen.get(path) != again.seen.get(path):
                yield path


def _listed(judged: Repository) -> _Listing:
    tree = _opened(judged)
    staged = _without_conflicts(tree)
    ignoring = f"core.excludesFile={_own_file(judged, 'excludesFile', 'ignore')}"
    printed = _run(judged, "-c", ignoring, "ls-files", "-z", "--others", "--exclude-standard")
    names = [from_bytes(raw) for raw in printed.split(b"\0")[:-1]]
    nested = tuple(name[:-1] for name in names if name.endswith("/"))
    found = [*staged, *(name for name in names if not name.endswith("/"))]
    modes, left_out = tree.present(found)
    seen = {}
    for path, mode in modes.items():
        status = tree.disk.status(path)
        if status is not None and mode != SUBMODULE:  # a folder changes with what it holds
            seen[path] = (
                status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
                status.st_ino,
            )  # fmt: skip
    return _Listing(tree, modes, tuple(left_out), nested, seen)


class _Reading:
    """Reads the files of a listing, and keeps what is new in our own repository."""

    def __init__(
        self, judged: Repository, scratch: Scratch, head: GitTree, listing: _Listing
    ) -> None:
        self._judged, self._scratch, self._head = judged, scratch, head
        self._tree, self._listing = listing.tree, listing
        self._staged = listing.tree.staged()
        self._raw: dict[str, str] = {}  # ids of the files' bytes, as they lie there

    def snapshot(self, say: _Say) -> Snapshot:
        """Read all of them."""
        entries: dict[str, tuple[int, str]] = {
            path: (self._staged[path].mode, self._staged[path].id)
            for path in self._listing.left_out
        }
        apart: list[str] = []
        unjudged: list[tuple[str, str]] = []
        for number, (path, mode) in enumerate(self._listing.modes.items()):
            say(number, len(self._listing.modes))
            if mode == SUBMODULE:
                entries[path] = mode, self._commit_of(path) or self._staged[path].id
                continue
            entry = self._staged.get(path)
            name = self._id_of(path)
            if entry is not None and entry.id == name:
                entries[path] = mode, name
            elif self._is_large(path):
                unjudged.append((path, f"its {self._listing.seen[path][1]:,} bytes"))
                self._as_in_head(path, entries)
            elif mode in {REGULAR, EXECUTABLE}:
                apart.append(path)
            else:
                entries[path] = mode, self._scratch.blob(self._read(path).data)
        for path in self._listing.nested:
            commit = self._commit_of(path)
            if commit is not None:
                entries[path] = SUBMODULE, commit
        unjudged += self._converted(apart, entries) if apart else ()
        rows = [(path, *entries[path]) for path in sorted(entries, key=to_bytes)]
        return Snapshot(self._scratch.tree(rows), tuple(sorted(unjudged)))

    def read_otherwise(self, paths: Iterable[str]) -> Iterator[str]:
        """Name those of the files that have other bytes than when they were read."""
        for path in paths:
            before = self._raw.get(path)
            if before is not None and self._id_of(path) != before:
                yield path

    def _id_of(self, path: str) -> str:
        """Give git's name for the bytes as they lie there."""
        if self._is_large(path):
            size = self._listing.seen[path][1]
            try:
                name = streamed_id(self._tree.disk.blocks(path), size, self._head.commit)
            except OSError:
                raise _changed(path) from None
        else:
            name = object_id(self._read(path).data, self._head.commit)
        self._raw.setdefault(path, name)
        return name

    def _is_large(self, path: str) -> bool:
        is_link = self._listing.modes[path] == SYMLINK
        return not is_link and self._listing.seen[path][1] > _MOST

    def _as_in_head(self, path: str, entries: dict[str, tuple[int, str]]) -> None:
        if path in self._head.entries():
            entries[path] = self._head.entries()[path], self._head.ids()[path]

    def _read(self, path: str) -> Blob:
        try:
            blob = self._tree.on_disk(path)
        except Refusal:
            if self._tree.disk.status(path) is None:
                raise _changed(path) from None
            raise
        if blob is None or blob.mode != self._listing.modes[path]:
            raise _changed(path)
        return blob

    def _converted(
        self, paths: list[str], entries: dict[str, tuple[int, str]]
    ) -> Iterator[tuple[str, str]]:
        """Add files that are not in the index as they lie there; give those that cannot be told."""
        attributes = _attributes(self._judged, paths)
        converting = _converts(self._judged)
        known: dict[str, _Details] | None = None
        for path in paths:
            blob, entry = self._read(path), self._staged.get(path)
            why = ", ".join(filters(attributes[path], blob.data))
            if not why:
                ends = ends_of(attributes[path], converting=converting)
                entries[path] = blob.mode, self._kept(blob.data, ends, entry)
                continue
            if known is None:
                known = _details(self._judged)
            if entry is not None and self._is_as_git_left_it(path, known.get(path)):
                entries[path] = blob.mode, entry.id
                continue
            yield path, why
            self._as_in_head(path, entries)

    def _kept(self, data: bytes, ends: Ends, entry: Staged | None) -> str:
        """Keep what git would store, and give its id."""
        converted = stored(data, ends)
        if entry is not None and object_id(converted, entry.id) == entry.id:
            return entry.id
        if ends is Ends.GUESSED and converted != data and entry is not None:
            if keeps_its_ends(self._indexed(entry.id)):
                converted = data
        return self._scratch.blob(converted)

    def _indexed(self, name: str) -> bytes:
        if name == object_id(b"", name):
            return b""  # also that of a file that was only announced, which is in no store
        try:
            return dict(self._judged.blobs([name]))[name]
        except MissingObjectError:
            raise self._judged.missing("A file of the index") from None

    def _is_as_git_left_it(self, path: str, known: _Details | None) -> bool:
        """Whether git itself would take a file for unchanged without looking into it."""
        seen = self._listing.seen[path]
        if known is None or self._listing.modes[path] != self._staged[path].mode:
            return False
        index = (self._judged.index or self._judged.absolute_git_dir() / "index").stat()
        same = (known.size, known.changed) == (seen[1] & 0xFFFFFFFF, seen[2])
        return same and known.changed < index.st_mtime_ns

    def _commit_of(self, path: str) -> str | None:
        """Give the commit that another repository in this one has checked out, if it has one."""
        folder = Path(os.fsdecode(self._tree.disk.locate(path)))
        if not (folder / ".git").exists():
            return None
        try:
            found = git.find(folder)
            if found is None or found.top != folder:
                return None
            return found.resolve("HEAD")
        except Refusal:
            return None


def _opened(judged: Repository) -> WorkingTree:
    return WorkingTree(judged.directory, judged)


def _without_conflicts(tree: WorkingTree) -> Mapping[str, Staged]:
    staged = tree.staged()
    for path, entry in staged.items():
        if entry.stage:
            raise Refusal(
                "conflict",
                "It is in conflict: a merge, a rebase or a stash stands open.",
                next_step="Resolve it and `git add` it, or name commits to judge: `main..HEAD`.",
                place=Place(path),
            )
    return staged


def _details(judged: Repository) -> dict[str, _Details]:
    """Read what git's index knows of files; nothing where this git prints it in another way."""
    printed = _run(judged, "ls-files", "-z", "--debug")
    found, at = {}, 0
    while match := _DETAILS.match(printed, at):
        path, seconds, nanoseconds, size, flags = match.groups()
        changed = int(seconds) * 1_000_000_000 + int(nanoseconds)
        found[from_bytes(path)] = _Details(changed, int(size), int(flags, 16))
        at = match.end()
    return found if at == len(printed) else {}


def _attributes(judged: Repository, paths: list[str]) -> dict[str, dict[str, str]]:
    own = f"core.attributesFile={_own_file(judged, 'attributesFile', 'attributes')}"
    asked = b"".join(to_bytes(path) + b"\0" for path in paths)
    printed = _run(judged, "-c", own, "check-attr", "-z", "--stdin", *ATTRIBUTES, data=asked)
    found: dict[str, dict[str, str]] = {}
    words = printed.split(b"\0")[:-1]
    for raw, name, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        told = found.setdefault(from_bytes(raw), {})
        told[name.decode("ascii")] = value.decode("utf-8", "backslashreplace")
    return found


def _converts(judged: Repository) -> bool:
    """Whether `core.autocrlf` makes CR LF into LF on the way in."""
    if (judged.own_setting("core.autocrlf") or "").casefold() == "input":
        return True
    return judged.own_setting("core.autocrlf", "bool") == "true"


def _own_file(judged: Repository, setting: str, name: str) -> str:
    """Name the user's own list of ignored files, or of attributes; an empty file for none."""
    path = judged.own_setting(f"core.{setting}", "path")
    if path is None:
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
        path = f"{home}/git/{name}"
    return path if Path(path).is_file() else os.devnull


def _run(judged: Repository, *arguments: str, data: bytes = b"") -> bytes:
    try:
        return judged.run(*arguments, data=data)
    except GitError as error:
        raise Refusal(
            "malformed-repository",
            f"The working tree cannot be listed. Git says: {error}.",
            next_step="Run `git status` in it.",
            place=Place(str(judged.directory)),
        ) from None


def _changed(path: str) -> Refusal:
    return Refusal(
        "changed-while-read",
        "It changed while the working tree was read.",
        next_step="Let the other program end, then run this again; or name commits to judge.",
        place=Place(path),
    )
