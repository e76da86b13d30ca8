"""Files of a directory by their path in the tree: the only module that names files by bytes.

The operating system is given bytes, since Python's own encoding of file names follows the locale.
No function follows a symbolic link at the path itself. Changes go through `Writer`, one step each.
"""
# pathlib cannot name a file by bytes:
# ruff: noqa: PTH101, PTH102, PTH105, PTH106, PTH108, PTH115, PTH208, PTH211

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from transforms.paths import from_bytes, to_bytes

Step = Callable[[str, bytes], None]  # told what is done next, and to which file or directory

_BLOCK = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync stops at the drive


class Root:
    """A directory whose files are named by their path in the tree."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._prefix = os.fsencode(directory).removesuffix(b"/") + b"/"

    def locate(self, path: str) -> bytes:
        """Give the file's name for the operating system; an empty path is the root itself."""
        return self._prefix + to_bytes(path)

    def status(self, path: str) -> os.stat_result | None:
        """Give what `lstat` says, or `None` where nothing is, also below a file."""
        try:
            return os.lstat(self.locate(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_directory(self, path: str) -> bool:
        """Tell whether a directory, not a link to one, lies at the path."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def read(self, path: str) -> bytes:
        """Read a regular file's bytes. Raises `OSError`, for a symbolic link too."""
        with open(os.open(self.locate(path), _READ), "rb", buffering=0) as file:
            return file.readall()

    def blocks(self, path: str) -> Iterator[bytes]:
        """Read a regular file piece by piece. Raises `OSError`, for a symbolic link too."""
        with open(os.open(self.locate(path), _READ), "rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                yield block

    def read_link(self, path: str) -> bytes:
        """Give a symbolic link's text. Raises `OSError`."""
        return os.readlink(self.locate(path))

    def names(self, path: str) -> list[str]:
        """List what lies in a directory, sorted as bytes. Raises `OSError`."""
        return [from_bytes(name) for name in sorted(os.listdir(self.locate(path)))]

    def walk(self, skipped: frozenset[str]) -> Iterator[tuple[str, int]]:
        """Give every regular file and link with its `st_mode`, entering no link.

        What is named in `skipped`, by name in any directory, is left out. Raises `OSError`.
        """
        folders = [""]
        while folders:
            folder = folders.pop()
            with os.scandir(self.locate(folder)) as items:
                for item in items:
                    name = from_bytes(item.name)
                    if name in skipped:
                        continue
                    if item.is_dir(follow_symlinks=False):
                        folders.append(f"{folder}{name}/")
                    elif item.is_symlink() or item.is_file(follow_symlinks=False):
                        yield folder + name, item.stat(follow_symlinks=False).st_mode


class Writer:
    """Changes files, announcing each step before it is taken; every function raises `OSError`.

    What `step` raises stops the change there, so that a test can end a run at any instant.
    """

    def __init__(self, step: Step | None = None) -> None:
        self._step = step or _take_no_notice

    def create(
        self, name: bytes, data: bytes, permissions: int, owner: tuple[int, int] | None = None
    ) -> None:
        """Create a file, durably, with exactly these permission bits whatever the umask is.

        `owner` is a user and a group id, given where allowed: root leaves a file its owner.
        """
        self._step("create", name)
        with open(os.open(name, _CREATE, 0o600), "wb") as file:
            self._step("write", name)
            file.write(data)
            file.flush()
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), *owner)
            self._step("permit", name)
            os.fchmod(file.fileno(), permissions)  # after fchown, which may clear bits
            self._step("sync", name)
            _sync(file.fileno())

    def link(self, name: bytes, text: bytes) -> None:
        """Create a symbolic link with this text."""
        self._step("link", name)
        os.symlink(text, name)

    def rename(self, name: bytes, new_name: bytes) -> None:
        """Rename, replacing a file that has the new name; never seen half done."""
        self._step("rename", new_name)
        os.replace(name, new_name)

    def remove(self, name: bytes) -> None:
        """Remove a file or a link."""
        self._step("remove", name)
        os.unlink(name)

    def make_directory(self, name: bytes, permissions: int = 0o777) -> None:
        """Make a directory, its permissions as the umask allows."""
        self._step("make directory", name)
        os.mkdir(name, permissions)

    def permit(self, name: bytes, permissions: int) -> None:
        """Give a directory exactly these permission bits."""
        self._step("permit", name)
        os.chmod(name, permissions)

    def remove_directory(self, name: bytes) -> None:
        """Remove an empty directory."""
        self._step("remove directory", name)
        os.rmdir(name)

    def sync_directory(self, name: bytes) -> None:
        """Make durable which names the directory holds."""
        self._step("sync directory", name)
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


def _sync(descriptor: int) -> None:
    if _FULL_SYNC is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, _FULL_SYNC)


def _take_no_notice(_operation: str, _name: bytes) -> None:
    """Let every step be taken."""
