"""The user's cache folder: installed formatters and their results, private to the user.

Nothing in the repository under judgement can name or fill it. Results are verified when read, and
bounded in number and size; an entry that is damaged counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.formatters.refusals import WITHOUT

_MAGIC = b"repot-result-1\n"
ENTRIES = 4096
BYTES = 64 << 20


def cache_folder(name: str = "formatters") -> Path:
    """Give a folder, made if need be: below `$REPOT_CACHE`, or `repot` in the platform's own cache.

    Raises `Refusal("formatter-cache")` if it cannot be made, if others can write to it, or if it
    was chosen inside a repository: a judged tree could bring formatters and verdicts of its own.
    """
    folder = _place() / name
    if os.environ.get("REPOT_CACHE") and _is_in_repository(folder):
        raise _unusable(
            "The cache folder lies in a repository, which could fill it.", folder.parent
        )
    try:
        for part in (folder.parent, folder):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.parent.stat()
    except OSError as error:
        raise _unusable(f"The cache folder cannot be made ({error.strerror}).", folder) from None
    if hasattr(os, "getuid") and (
        found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise _unusable("Others can write to the cache folder.", folder.parent)
    return folder


def _place() -> Path:
    if chosen := os.environ.get("REPOT_CACHE"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "repot"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "repot"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "repot"


def _is_in_repository(folder: Path) -> bool:
    return any((above / ".git").exists() for above in folder.resolve().parents)


def _unusable(cause: str, folder: Path) -> Refusal:
    return Refusal(
        "formatter-cache",
        cause,
        next_step=f"Set REPOT_CACHE to a folder of your own, or {WITHOUT}",
        place=Place(str(folder)),
    )


class Results:
    """Bytes by key, in one folder. Losing an entry costs time and nothing else."""

    def __init__(self, folder: Path, *, entries: int = ENTRIES, size: int = BYTES) -> None:
        self.folder = folder
        self.entries = entries
        self.size = size

    def get(self, key: str) -> bytes | None:
        """Give what was stored under the key, or `None` if that is absent or damaged."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + 32
        if not data.startswith(_MAGIC) or data[len(_MAGIC) : head] != _sum(key, data[head:]):
            return None
        with suppress(OSError):
            os.utime(self._path(key))  # what is used stays
        return data[head:]

    def put(self, key: str, value: bytes) -> None:
        """Store a value, whole or not at all. A folder that cannot be written stores nothing."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix="new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _sum(key, value) + value)
                Path(temporary).replace(self._path(key))
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise

    def prune(self) -> None:
        """Remove the entries used longest ago until the rest is within the bounds."""
        with suppress(OSError):
            with os.scandir(self.folder) as found:
                stats = sorted((e.stat().st_mtime, e.stat().st_size, e.path) for e in found)
            count, total = len(stats), sum(size for _, size, _ in stats)
            for _, size, path in stats:
                if count <= self.entries and total <= self.size:
                    break
                Path(path).unlink(missing_ok=True)
                count, total = count - 1, total - size

    def _path(self, key: str) -> Path:
        return self.folder / hashlib.sha256(key.encode()).hexdigest()


def _sum(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + value).digest()
