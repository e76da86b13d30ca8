"""Paths inside a tree: which are safe to write, in what order git keeps them, how git quotes them.

A path is text with `/` between its segments. Bytes that are not UTF-8 are kept by surrogate
escapes, under every locale: a path is turned to bytes by `to_bytes` and by nothing else. What names
a module, by its path or by its dotted name, is here too.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from transforms.errors import Place, Refusal

# What HFS+ leaves out when it compares names, so `.g<U+200C>it` is the repository itself there.
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_REPOSITORY_NAMES = frozenset({".git", "git~1"})
# Control characters, invisible formatting (which can also reverse what a reader sees), separators.
_UNPRINTABLE_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp"})

_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


@dataclass(frozen=True, slots=True, order=True)
class ModuleName:
    """A module as a plan names it: by path (`a/b.py`) or by dotted name (`a.b`)."""

    text: str
    is_path: bool

    def __str__(self) -> str:
        return self.text


def looks_like_path(text: str) -> bool:
    """Whether a value that may be a path or a dotted name is a path."""
    return "/" in text or text.endswith((".py", ".pyi"))


def to_bytes(path: str) -> bytes:
    """Give the path's bytes as git and the file system hold them; as a key they sort like git."""
    return path.encode("utf-8", "surrogateescape")


def from_bytes(raw: bytes) -> str:
    """Give the text of a path; the inverse of `to_bytes` for every sequence of bytes."""
    return raw.decode("utf-8", "surrogateescape")


def parents(path: str) -> list[str]:
    """Name every directory above the path, outermost first; the tree's root is not among them."""
    found = [path[:index] for index, character in enumerate(path) if character == "/"]
    return [name for name in found if name]


def contained(path: str) -> str:
    """Return the path, refused unless it names something inside the tree and outside `.git`.

    The check for paths that a tree already holds: odd but harmless characters are allowed.
    """
    segments = path.split("/")
    if not path:
        raise _unsafe(path, "An empty path names no file.")
    if path.startswith("/"):
        raise _unsafe(path, "The path is absolute.")
    if "\0" in path:
        raise _unsafe(path, "The path holds a NUL character.")
    for segment in segments:
        if not segment:
            raise _unsafe(path, "The path has an empty segment (two slashes, or one at its end).")
        if segment in {".", ".."}:
            raise _unsafe(path, f"The path has the segment `{segment}`.")
        if _is_repository(segment):
            raise _unsafe(path, "The path leads into the repository's own `.git`.")
    return path


def safe_path(path: str) -> str:
    """Return a path that a plan or a wheel names, refused unless it is plain and inside the tree.

    Beyond `contained`: no backslash (a separator elsewhere) and nothing unprintable. Raises
    `Refusal("unsafe-path")`.
    """
    contained(path)
    if "\\" in path:
        raise _unsafe(path, "The path holds a backslash.")
    if path.isascii() and path.isprintable():
        return path
    for character in path:
        if unicodedata.category(character) in _UNPRINTABLE_CATEGORIES:
            raise _unsafe(path, f"The path holds the unprintable character U+{ord(character):04X}.")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise _unsafe(path, "The path is not valid Unicode.") from None
    return path


def as_on_any_disk(segment: str) -> str:
    """Fold a name as some file system may: two names that fold alike can be one file.

    NTFS drops trailing dots and spaces and reads what follows a colon as a stream of the same file;
    HFS+ ignores some characters; both ignore case.
    """
    name = _IGNORED_BY_HFS.sub("", segment).split(":", 1)[0]
    return name.rstrip(" .").casefold()


def _is_repository(segment: str) -> bool:
    """Tell whether a file system may take this name for `.git`: `git~1` is its short name."""
    return as_on_any_disk(segment) in _REPOSITORY_NAMES


def _unsafe(path: str, cause: str) -> Refusal:
    return Refusal(
        "unsafe-path",
        cause,
        next_step="Name the file by its path from the top of the tree, like `package/module.py`.",
        place=Place(path),
    )


def quote(path: str) -> str:
    """Quote a path as git prints it: in double quotes with C escapes if any byte needs it."""
    raw = to_bytes(path)
    if all(32 <= byte < 127 and byte not in {34, 92} for byte in raw):
        return path
    pieces = ['"']
    for byte in raw:
        if byte in _ESCAPES:
            pieces.append("\\" + _ESCAPES[byte])
        elif 32 <= byte < 127:
            pieces.append(chr(byte))
        else:
            pieces.append(f"\\{byte:03o}")
    pieces.append('"')
    return "".join(pieces)
