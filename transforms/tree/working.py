"""A working directory as a tree: what lies on disk, in git's view where it is a checkout."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from transforms.errors import Place, Refusal
from transforms.paths import contained, from_bytes, parents, to_bytes
from transforms.result.changes import REGULAR, SUBMODULE, SYMLINK, Blob
from transforms.tree import git
from transforms.tree.base import Tree, canonical_mode, listed
from transforms.tree.disk import Root

JOURNAL_FOLDER = ".repot-journal"  # where there is no git directory to hold the journal
_SKIPPED = frozenset({".git", JOURNAL_FOLDER})
_SPARSE = "S"  # the tag of an index entry that a sparse checkout leaves out


@dataclass(frozen=True, slots=True)
class Staged:
    """An entry of git's index; `stage` is 0 unless a merge is under way."""

    tag: str
    mode: int
    id: str
    stage: int


class WorkingTree(Tree):
    """The files below a directory as they lie on disk.

    In a checkout the root is its top level, whichever of its directories was named, and the files
    are the tracked ones and those neither tracked nor ignored. Ignored means by the repository
    (`.gitignore`, `info/exclude`): a person's own list must not change a move. Elsewhere they are
    all files outside `.git`. Files are listed once and read when asked for. `repository` is what
    was found there already.
    """

    def __init__(self, root: Path | str, repository: git.Repository | None = None) -> None:
        start = git.directory(Path(root))
        self.repository = repository or git.find(start)
        if self.repository is not None and self.repository.top is None:
            raise Refusal(
                "bare-repository",
                "This repository has no working tree.",
                next_step="Name a commit to read with `--at`, like `--at HEAD`.",
                place=Place(str(root)),
            )
        self.root = self.repository.top if self.repository and self.repository.top else start
        self.label = "working tree"
        self.disk = Root(self.root)
        self._modes: dict[str, int] | None = None  # until it is listed
        self._staged: dict[str, Staged] | None = None
        self._trusts_modes: bool | None = None

    def entries(self) -> Mapping[str, int]:
        """Give each path's mode on disk; from the index where `core.fileMode` is off."""
        if self._modes is None:
            found = self._list_checkout() if self.repository else self._list_directory()
            self._modes = {path: found[path] for path in sorted(found, key=to_bytes)}
        return MappingProxyType(self._modes)

    @property
    def trusts_modes(self) -> bool:
        """Whether the executable bit on disk means something (`core.fileMode`)."""
        if self._trusts_modes is None:
            self._trusts_modes = self.repository is None or self.repository.flag(
                "core.fileMode", default=True
            )
        return self._trusts_modes

    def staged(self) -> Mapping[str, Staged]:
        """Give git's index, read once; of a file in conflict, one of its stages."""
        return MappingProxyType(self._index())

    def present(self, paths: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """Give the modes of those of the paths that lie on disk, reached through no link.

        Second, those of the others that a sparse checkout leaves out.
        """
        real: dict[str, bool] = {"": True}
        modes, left_out = {}, []
        for path in paths:
            found = self.disk.status(path) if self._is_real(path.rpartition("/")[0], real) else None
            mode = None if found is None else self._mode(path, found.st_mode)
            if mode is not None:
                modes[path] = mode
            elif (entry := self._index().get(path)) and entry.tag == _SPARSE:
                left_out.append(path)
        return modes, left_out

    def on_disk(self, path: str) -> Blob | None:
        """Read what lies at a path now, listed or not; `None` for nothing or a directory."""
        for parent in parents(contained(path)):
            if not self.disk.is_directory(parent):
                return None
        found = self.disk.status(path)
        mode = None if found is None else self._mode(path, found.st_mode)
        return None if mode in {None, SUBMODULE} else Blob(self._read(path), mode or REGULAR)

    def dirty(self, paths: Iterable[str]) -> list[str]:
        """List those of the paths where git does not hold what would be overwritten.

        That is what differs between disk, index and HEAD, staged or not, an untracked file
        included; line endings alone do not count. Empty outside git.
        """
        if self.repository is None:
            return []
        committed = self._committed()
        self._staged = None  # as it is now, not as it was when the files were listed
        staged = self._index()
        found = []
        for path in sorted(set(paths), key=to_bytes):
            entry = staged.get(path)
            indexed = (entry.mode, entry.id) if entry else None
            if (
                indexed != committed.get(path)
                or (entry and entry.stage)
                or not _is_same(self.on_disk(path), indexed)
            ):
                found.append(path)
        return found

    def check_writable(self, path: str) -> None:
        """Refuse a path that is not plainly inside this tree: behind a link or in a submodule."""
        contained(path)
        for parent in parents(path):
            found = self.disk.status(parent)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise Refusal(
                    "symlink",
                    f"Its directory `{parent}` is a symbolic link.",
                    next_step="Name the file by its real path inside the tree.",
                    place=Place(path),
                )
            if self.disk.status(f"{parent}/.git") or self.entries().get(parent) == SUBMODULE:
                raise Refusal(
                    "submodule",
                    f"Its directory `{parent}` is another repository.",
                    next_step="Run Repot inside it.",
                    place=Place(path),
                )

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            yield path, self._read(path)

    def _read(self, path: str) -> bytes:
        try:
            try:
                return self.disk.read(path)
            except OSError as error:
                if error.errno not in {errno.ELOOP, errno.EMLINK}:  # what O_NOFOLLOW gives
                    raise
                return self.disk.read_link(path)
        except OSError as error:
            raise Refusal(
                "unreadable-file",
                f"It cannot be read: {error.strerror}.",
                next_step="Make it readable, or run again if it has just changed.",
                place=Place(path),
            ) from None

    def _mode(self, path: str, st_mode: int) -> int | None:
        """Give the mode in git of what `lstat` found, `None` for what git does not keep."""
        entry = self._index().get(path)
        if stat.S_ISLNK(st_mode):
            return SYMLINK
        if stat.S_ISDIR(st_mode):
            return SUBMODULE if entry and entry.mode == SUBMODULE else None
        if not stat.S_ISREG(st_mode):
            return None
        if entry and entry.mode == SYMLINK and not self._has_links():
            return SYMLINK  # a file system without links holds the link's text as a file
        if self.trusts_modes:
            return canonical_mode(st_mode)
        return entry.mode if entry and stat.S_ISREG(entry.mode) else REGULAR

    def _has_links(self) -> bool:
        return self.repository is None or self.repository.flag("core.symlinks", default=True)

    def _list_directory(self) -> dict[str, int]:
        try:
            return {path: canonical_mode(mode) for path, mode in self.disk.walk(_SKIPPED)}
        except OSError as error:
            raise Refusal(
                "unreadable-file",
                f"A directory cannot be read: {error.strerror}.",
                next_step="Make it readable, or name a smaller tree with `--repo`.",
                place=Place(os.fsdecode(error.filename or self.root)),
            ) from None

    def _list_checkout(self) -> dict[str, int]:
        untracked = self._git("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        # One that ends with a slash is a repository inside this one.
        names = [from_bytes(raw) for raw in untracked[:-1] if not raw.endswith(b"/")]
        modes, left_out = self.present([*self._index(), *names])
        if left_out:
            raise self._sparse(left_out[0])
        return modes

    def _is_real(self, folder: str, known: dict[str, bool]) -> bool:
        """Tell whether a directory is reached through no link: behind one nothing is ours."""
        if folder not in known:
            above = self._is_real(folder.rpartition("/")[0], known)
            known[folder] = above and self.disk.is_directory(folder)
        return known[folder]

    def _index(self) -> dict[str, Staged]:
        if self._staged is None:
            listing = self._git("ls-files", "-z", "--stage", "-t") if self.repository else b""
            self._staged = {}
            for line in listing.split(b"\0")[:-1]:
                head, _, raw = line.partition(b"\t")
                tag, mode, name, stage = head.decode("ascii").split(" ")
                self._staged[from_bytes(raw)] = Staged(tag, int(mode, 8), name, int(stage))
        return self._staged

    def _committed(self) -> dict[str, tuple[int, str]]:
        """Give mode and id of every file of HEAD; nothing before the first commit."""
        try:
            self._git("rev-parse", "--verify", "--quiet", "HEAD")
        except Refusal:
            return {}
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", "HEAD")
        return {path: (mode, name) for path, mode, name in listed(listing)}

    def _git(self, *arguments: str) -> bytes:
        repository = self.repository
        if repository is None:
            return b""
        try:
            return repository.run(*arguments)
        except git.MissingObjectError:
            raise repository.missing("A directory of the last commit") from None
        except git.GitError as error:
            raise Refusal(
                "malformed-repository",
                f"The repository cannot be read. Git says: {error}.",
                next_step="Run `git status` in it.",
                place=Place(str(self.root)),
            ) from None

    def _sparse(self, path: str) -> Refusal:
        return Refusal(
            "sparse-checkout",
            "It is left out of this sparse checkout, so what it imports would be missed.",
            next_step="Run `git sparse-checkout disable`, or read a commit with `--at HEAD`.",
            place=Place(path),
        )


def _is_same(blob: Blob | None, kept: tuple[int, str] | None) -> bool:
    """Tell whether git keeps these bytes, as they are or, for a text, with its line ends as LF."""
    if blob is None or kept is None:
        return blob is None and kept is None
    mode, name = kept
    contents = (blob.data, blob.data.replace(b"\r\n", b"\n"))
    return blob.mode == mode and any(object_id(data, name) == name for data in contents)


def object_id(data: bytes, like: str) -> str:
    """Give git's name for a file's bytes, by the hash that the other name was made with."""
    return streamed_id([data], len(data), like)


def streamed_id(blocks: Iterable[bytes], size: int, like: str) -> str:
    """Give the same of a file of so many bytes that comes piece by piece."""
    algorithm = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    digest = algorithm(b"blob %d\0" % size, usedforsecurity=False)
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()
