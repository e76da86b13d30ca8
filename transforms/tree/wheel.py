"""A wheel as a tree: its files are read from the archive, nothing is unpacked."""

from __future__ import annotations

import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType

from transforms.errors import Place, Refusal
from transforms.paths import parents, safe_path, to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree.base import Tree

MOST_FILES = 200_000
MOST_FILE_BYTES = 256 << 20  # of one file that is read
MOST_BYTES = 16 << 30  # of all files as the archive declares them
_ENCRYPTED = 0x1
# What the archive module raises on damaged input.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class WheelTree(Tree):
    """The files of a wheel or another zip archive; close it, or use it as a context manager.

    Refused are names that leave the tree or stand twice, symbolic links, encrypted or absurdly
    large files, and, where `sha256` is given (64 hexadecimal digits), an archive with another hash.
    """

    def __init__(self, path: Path | str, sha256: str | None = None) -> None:
        self.label = Path(path).name
        self._path = Path(path)
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise self._refuse("no-such-file", f"It cannot be opened: {error.strerror}.") from None
        try:
            if sha256 is not None:
                self._check_hash(sha256)
            self._archive = zipfile.ZipFile(self._file)  # the very file that was hashed
            self._members = self._list()
            self._modes = {path: _mode(member) for path, member in self._members.items()}
        except _DAMAGE as error:
            self._file.close()
            raise self._refuse("bad-archive", f"It is not a readable wheel: {error}.") from None
        except Refusal:
            self._file.close()
            raise

    def entries(self) -> Mapping[str, int]:
        """Give each file's mode; directories are not listed."""
        return MappingProxyType(self._modes)

    def close(self) -> None:
        """Close the archive; nothing can be read afterwards."""
        self._archive.close()
        self._file.close()

    def __enter__(self) -> WheelTree:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            member = self._members[path]
            if member.file_size > MOST_FILE_BYTES:
                raise self._refuse("too-large", f"`{path}` has {member.file_size:,} bytes.")
            try:
                # The archive module reads no more than the size it declares, and checks its CRC.
                data = self._archive.read(member)
            except _DAMAGE as error:
                raise self._refuse("bad-archive", f"`{path}` is damaged: {error}.") from None
            yield path, data

    def _check_hash(self, sha256: str) -> None:
        digest = hashlib.sha256()
        while block := self._file.read(1 << 20):
            digest.update(block)
        self._file.seek(0)
        if digest.hexdigest() != sha256.lower():
            raise self._refuse(
                "wrong-hash", f"Its SHA-256 is {digest.hexdigest()}, not {sha256.lower()}."
            )

    def _list(self) -> dict[str, zipfile.ZipInfo]:
        members = self._archive.infolist()
        if len(members) > MOST_FILES:
            raise self._refuse("too-large", f"It holds {len(members):,} files.")
        declared = sum(member.file_size for member in members)
        if declared > MOST_BYTES:
            raise self._refuse("too-large", f"Its files declare {declared:,} bytes.")
        found: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            # The name as stored: the archive module cuts it at a NUL.
            path = safe_path(member.orig_filename.removesuffix("/"))
            if member.is_dir():
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                raise self._refuse("bad-archive", f"`{path}` is a symbolic link.")
            if member.flag_bits & _ENCRYPTED:
                raise self._refuse("bad-archive", f"`{path}` is encrypted.")
            if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise self._refuse("bad-archive", f"`{path}` is compressed in an unusual way.")
            if path in found:
                raise self._refuse("bad-archive", f"`{path}` stands in it twice.")
            found[path] = member
        for path in found:
            for parent in parents(path):
                if parent in found:
                    raise self._refuse("bad-archive", f"`{parent}` is a file and a directory.")
        return {path: found[path] for path in sorted(found, key=to_bytes)}

    def _refuse(self, kind: str, cause: str) -> Refusal:
        return Refusal(
            kind,
            cause,
            next_step="Download the wheel again, or name another.",
            place=Place(str(self._path)),
        )


def _mode(member: zipfile.ZipInfo) -> int:
    return EXECUTABLE if (member.external_attr >> 16) & stat.S_IXUSR else REGULAR
