"""The interface of a tree, and a tree laid over another."""

from __future__ import annotations

import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from transforms.errors import Place, Refusal, nearest
from transforms.paths import contained, from_bytes, parents, to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK, Blob

# Alternatives without any other operator, the shape of most searches: `bytes in` is several times
# faster than the regular expression.
_PLAIN = re.compile(rb"[\w /-]+(?:\|[\w /-]+)*")
# How a search begins that matches no ASCII: most files are nothing else, which is told at once.
BEYOND_ASCII = rb"(?=[\x80-\xff])"
_ASCII = bytes(range(128))
# The same as whole words, which may begin with a letter or not: where none of them stands at all,
# no word does.
_WORDS = re.compile(rb"\\b(?:\(\?:((?:\w\?)?\w+(?:\|(?:\w\?)?\w+)*)\)|(\w+))\\b")
_OPTIONAL = re.compile(rb"\w\?")


class Tree(ABC):
    """Files by path, read and never written. The files of one instance are listed once.

    Paths are text with `/` between segments; bytes that are not UTF-8 are surrogate escapes.
    `label` names the tree for a reader.
    """

    label: str

    @abstractmethod
    def entries(self) -> Mapping[str, int]:
        """Give each path's mode as git stores it, in git's order.

        Modes are 0o100644, 0o100755, 0o120000 (a symbolic link: its text is what is read) and
        0o160000 (a submodule: it cannot be read).
        """

    @abstractmethod
    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        """Give the bytes of each of these entries, none a submodule, in any order."""

    def read(self, path: str) -> bytes:
        """Read one file. Raises `Refusal("no-such-file")`."""
        return self.read_many([path])[path]

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Read files in one batch, in the order of `paths`. Raises `Refusal("no-such-file")`."""
        wanted = list(dict.fromkeys(paths))
        entries = self.entries()
        for path in wanted:
            if entries.get(path, SUBMODULE) == SUBMODULE:
                raise self._unreadable(path)
        found = dict(self._stream(wanted))
        for path, data in found.items():
            self._keep(path, data)
        return {path: found[path] for path in wanted}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str] | None = None) -> list[str]:
        """List the regular files among `paths` (all by default) whose bytes match, in git's order.

        One file is held at a time, so memory does not grow with the tree. Fastest is a literal, or
        plain alternatives (`first|second`), also as whole words.
        """
        entries = self.entries()
        candidates = [
            path
            for path in dict.fromkeys(entries if paths is None else paths)
            if entries.get(path) in {REGULAR, EXECUTABLE}
        ]
        matches = matcher(needle)
        found = []
        for path, data in self._stream(candidates):
            if matches(data):
                self._keep(path, data)
                found.append(path)
        return sorted(found, key=to_bytes)

    def blob(self, path: str) -> Blob | None:
        """Give a file with its mode, or `None` where there is none."""
        mode = self.entries().get(path)
        return None if mode is None else Blob(self.read(path), mode)

    def __contains__(self, path: object) -> bool:
        return path in self.entries()

    def _keep(self, path: str, data: bytes) -> None:  # noqa: B027 - most trees need not
        """Take note of a file that was read or found: it is likely to be read again."""

    def _unreadable(self, path: str) -> Refusal:
        entries = self.entries()
        if path in entries:
            return Refusal(
                "submodule",
                "This is a submodule, not a file.",
                next_step="Repot reads one repository at a time; run it inside the submodule.",
                place=Place(path),
            )
        folder, _, name = path.rpartition("/")
        near = [p for p in entries if p.rpartition("/")[0] == folder or p.endswith(f"/{name}")]
        similar = " or ".join(f"`{other}`" for other in nearest(path, near))
        return Refusal(
            "no-such-file",
            f"There is no such file in the {self.label}.",
            next_step=f"Did you mean {similar}?"
            if similar
            else "Check the path; it starts at the top of the tree.",
            place=Place(path),
        )


def canonical_mode(mode: int) -> int:
    """Give the mode as git keeps it; disks and old trees hold others, such as 0o100664."""
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & stat.S_IXUSR else REGULAR
    return SYMLINK if stat.S_ISLNK(mode) else mode


def listed(listing: bytes) -> Iterator[tuple[str, int, str]]:
    """Parse what `git ls-tree -r -z` prints: path, mode and object id of each file."""
    for entry in listing.split(b"\0")[:-1]:
        head, _, raw = entry.partition(b"\t")
        mode, _, name = head.decode("ascii").split(" ")
        yield from_bytes(raw), canonical_mode(int(mode, 8)), name


def matcher(needle: re.Pattern[bytes]) -> Callable[[bytes], object]:
    """Give the fastest function that tells whether bytes match somewhere."""
    if needle.pattern.startswith(BEYOND_ASCII):
        # What matches in a text stands there too once its ASCII, most of it, is left out.
        return lambda data: (
            not data.isascii()
            and needle.search(data.translate(None, _ASCII))
            and needle.search(data)
        )
    if needle.flags:
        return needle.search
    if _PLAIN.fullmatch(needle.pattern):
        words = needle.pattern.split(b"|")
        return lambda data: any(word in data for word in words)
    if whole := _WORDS.fullmatch(needle.pattern):
        parts = _OPTIONAL.sub(b"", whole[1] or whole[2]).split(b"|")
        return lambda data: any(word in data for word in parts) and needle.search(data)
    return needle.search


class OverlayTree(Tree):
    """Another tree with some files replaced or added (a `Blob`) or removed (`None`).

    Raises `Refusal("path-clash")` where a file would lie below another file, a link or a submodule.
    """

    def __init__(self, tree: Tree, files: Mapping[str, Blob | None]) -> None:
        self.label = tree.label
        self._tree = tree
        self._files = {contained(path): blob for path, blob in files.items()}
        below = tree.entries()
        modes = {path: mode for path, mode in below.items() if path not in self._files}
        modes.update((path, blob.mode) for path, blob in self._files.items() if blob is not None)
        for path, blob in self._files.items():
            if blob is not None:
                self._refuse_clash(path, modes)
        self._entries = {path: modes[path] for path in sorted(modes, key=to_bytes)}
        self._refuse_hidden()

    def entries(self) -> Mapping[str, int]:
        """Give each path's mode, those laid over included."""
        return MappingProxyType(self._entries)

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        below = []
        for path in paths:
            blob = self._files.get(path)
            if blob is None:
                below.append(path)
            else:
                yield path, blob.data
        if below:
            yield from self._tree._stream(below)

    def _refuse_clash(self, path: str, modes: Mapping[str, int]) -> None:
        for parent in parents(path):
            if parent in modes:
                kind = {SYMLINK: "a symbolic link", SUBMODULE: "a submodule"}.get(
                    modes[parent], "a file"
                )
                raise _clash(path, f"Its parent `{parent}` is {kind}.")

    def _refuse_hidden(self) -> None:
        """Refuse a new file where the other tree has a directory that is not emptied."""
        added = tuple(f"{path}/" for path, blob in self._files.items() if blob is not None)
        for path in self._entries:
            if path.startswith(added):
                parent = next(parent for parent in parents(path) if f"{parent}/" in added)
                raise _clash(parent, f"It is a directory: `{path}` lies in it.")


def _clash(path: str, cause: str) -> Refusal:
    return Refusal(
        "path-clash",
        cause,
        next_step="Choose another path, or remove what is in the way in the same move.",
        place=Place(path),
    )
