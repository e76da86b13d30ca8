"""Pages in files: one file a page, written whole or not at all, and believed only if all agrees.

A folder holds one folder for each format, named by the first digits of the format's digest. In it
lie `format.json`, which says what the format is, and the pages, `KEY.page`: a header
(`hicache.storage.envelope`) and the bytes.

A file that was cut off, renamed, copied from another format or changed in any bit is refused. It
is then removed, and the page computed and written again. Files are renamed into place, hence seen
whole or not at all even if the writer is killed. They are not synced to the disk: after a power cut
some may hold less, and are refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import stat
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch

from hicache.storage.base import HiCacheStorage, PageFormat
from hicache.storage.envelope import HEADER_BYTES, check_key, encode, fault_of, is_key
from hicache.storage.folder_limit import FolderLimit

logger = logging.getLogger(__name__)

_SUFFIX = ".page"
_STALE_S = 3600.0  # nobody takes an hour to write a page: its writer was killed


class HiCacheFile(HiCacheStorage):
    """Pages in files below `folder`, which several processes may share.

    `refused` counts the files that were found and not believed. With `limit_bytes` the pages used
    longest ago, the last of a prefix first, are removed when the folder, other formats included,
    would grow larger: see `FolderLimit`. Files may be removed at any time, also while it is in use,
    and so may the format's folder: the next page that is kept makes it again. What is named like a
    page and is no file, such as a pipe or a folder, is a miss, and is not waited for.
    """

    def __init__(
        self, folder: Path | str, page_format: PageFormat, *, limit_bytes: int | None = None
    ) -> None:
        """Open or make the folder. Raises `OSError` if it cannot be made or written to."""
        super().__init__(page_format)
        self.limit = None if limit_bytes is None else FolderLimit(Path(folder), limit_bytes)
        self.folder = Path(folder) / page_format.digest.hex()[:16]
        self._lock = threading.Lock()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_format()
        self._sweep()

    def get(self, key: str, target: torch.Tensor) -> bool:
        """Fill `target` with the page; False if there is none or it cannot be believed.

        Raises `OSError` where the file system fails, as for a page that may not be read.
        """
        self._check(target, "target")
        path = self.path(key)
        try:  # one byte more shows that it is longer, however long it is
            data = _read(path, HEADER_BYTES + self.format.page_bytes + 1)
        except FileNotFoundError:
            return False
        except _NoFileError as error:
            self._refuse(path, str(error.strerror))
            return False
        fault = fault_of(data, key, self.format.digest)
        if fault is None and len(data) - HEADER_BYTES != self.format.page_bytes:
            fault = f"{len(data) - HEADER_BYTES} bytes, not the {self.format.page_bytes} of a page"
        if fault is not None:
            self._refuse(path, fault)
            return False
        if self.limit is not None:
            self.limit.used(path)
        target.copy_(torch.frombuffer(bytearray(data[HEADER_BYTES:]), dtype=torch.uint8))
        return True

    def set(self, key: str, page: torch.Tensor) -> None:
        """Keep `page`, also where there is a file: it is set since it was not found to be good.

        Not where the folder has a limit, and is full of the pages that it follows or lacks them.
        Raises `OSError` where it cannot be written, whole.
        """
        self._check(page, "page")
        path = self.path(key)
        data = encode(key, self.format.digest, page.numpy().tobytes())
        if self.limit is not None and not self.limit.make_room(len(data), path):
            return
        self._write(path, data)
        if self.limit is not None:
            self.limit.written(path)

    def exists(self, key: str) -> bool:
        """Whether there is a file of the right size."""
        try:
            status = self.path(key).stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno == errno.ELOOP:  # of this page alone, and no fault of the storage
                return False
            raise
        is_whole = status.st_size == HEADER_BYTES + self.format.page_bytes
        return is_whole and stat.S_ISREG(status.st_mode)

    def path(self, key: str) -> Path:
        """Give the file of a page. Raises `ValueError` unless `key` is a page's key."""
        return self.folder / f"{check_key(key)}{_SUFFIX}"

    def _refuse(self, path: Path, fault: str) -> None:
        logger.warning("%s is refused: %s", path, fault)
        with self._lock:
            self.refused += 1
        # Else `exists` would go on to promise it. Where it has to stay, it is refused each time.
        with contextlib.suppress(OSError):
            path.unlink()

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file whole or not at all."""
        try:
            self._write_once(path, data)
        except FileNotFoundError:  # the folder was removed, or the draft: a clock jumped
            self.folder.mkdir(exist_ok=True)
            self._write_format()
            self._write_once(path, data)

    def _write_format(self) -> None:
        text = json.dumps(asdict(self.format), indent=2)
        self._write_once(self.folder / "format.json", text.encode() + b"\n")

    def _write_once(self, path: Path, data: bytes) -> None:
        draft = self.folder / f"{uuid.uuid4().hex}.tmp"
        try:
            with open(draft, "xb") as file:
                file.write(data)
            draft.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):  # the first fault is the one to tell
                draft.unlink()
            raise

    def _sweep(self) -> None:
        """Remove what killed writers left behind, as far as that can be."""
        for draft in self.folder.glob("*.tmp"):
            with contextlib.suppress(OSError):  # gone, another user's, or no draft at all
                if time.time() - draft.stat().st_mtime > _STALE_S:
                    draft.unlink()


def page_files(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Give each page file below `folder`, in order, and its fault or None.

    The format is taken from each folder's `format.json`; pages beside one that cannot be read are
    at fault, and so is whatever is called like a page and cannot be read as one. A file that
    vanishes meanwhile is left out: a cache may be at work. Raises `OSError` if `folder` itself
    cannot be read.
    """
    for below in sorted(folder.iterdir()):
        try:
            paths = sorted(p for p in below.iterdir() if p.suffix == _SUFFIX)
        except NotADirectoryError:
            continue
        except OSError as error:
            yield below, f"this folder cannot be read: {error.strerror}"
            continue
        kind = _format_in(below) if paths else None
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                yield path, _fault_in(path, kind)


def _format_in(folder: Path) -> PageFormat | None:
    """Give the format of a folder's pages, None if it is not said there."""
    try:
        table = json.loads(_read(folder / "format.json", 1 << 20))
        return PageFormat(**table) if type(table["page_bytes"]) is int else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _fault_in(path: Path, kind: PageFormat | None) -> str | None:
    """Say what is wrong with a file of pages in the format `kind`, None if nothing is."""
    if kind is None:
        return "its folder's format.json is missing or unreadable"
    if not is_key(path.stem):
        return "not named by a key"
    try:
        data = _read(path, HEADER_BYTES + kind.page_bytes + 1)  # one more shows that it is longer
    except FileNotFoundError:
        if path.is_symlink():
            return "a link that leads nowhere"
        raise
    except (OSError, MemoryError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return fault_of(data, path.stem, kind.digest)


class _NoFileError(OSError):
    """What a path leads to is no file that bytes could be read from."""


def _read(path: Path, most: int) -> bytes:
    """Read the first `most` bytes of a file. Raises `OSError` for what is no file, at once."""
    # Else a pipe would be waited for, and a terminal taken for this process's own.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:  # links in a ring; a socket
            raise _NoFileError(error.errno, error.strerror) from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise _NoFileError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise _NoFileError(errno.EINVAL, "no regular file")
    with open(descriptor, "rb") as file:
        return file.read(min(most, status.st_size))
