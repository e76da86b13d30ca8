"""What git would store of a text: its line ends, by attributes and `core.autocrlf`.

The rules are those of git's own `convert.c` for what goes in. No filter is run here, and none is
known: `filters` names what else would change a file's bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

# What `git check-attr` is asked for; it answers each with a value or one of these words.
ATTRIBUTES = ("text", "crlf", "eol", "filter", "ident", "working-tree-encoding")
_SET, _UNSET, _UNSPECIFIED = "set", "unset", "unspecified"
_UNPRINTED = frozenset(range(32)) - frozenset(b"\b\t\n\r\x1b\f") | {127}


class Ends(Enum):
    """What becomes of CR LF: kept, made LF, or made LF where the file looks like a text."""

    KEPT = "kept"
    TEXT = "text"
    GUESSED = "guessed"


def ends_of(attributes: Mapping[str, str], *, converting: bool) -> Ends:
    """Decide by a file's attributes; `converting`: whether `core.autocrlf` is `true` or `input`."""
    found = _as_text(attributes["text"]) or _as_text(attributes["crlf"])
    if found is Ends.KEPT:
        return found
    if attributes["eol"] in {"lf", "crlf"} and found is not Ends.GUESSED:
        return Ends.TEXT
    return found or (Ends.GUESSED if converting else Ends.KEPT)


def _as_text(value: str) -> Ends | None:
    return {_SET: Ends.TEXT, "input": Ends.TEXT, _UNSET: Ends.KEPT, "auto": Ends.GUESSED}.get(value)


def filters(attributes: Mapping[str, str], data: bytes) -> Iterator[str]:
    """Name what else git would run or do to these bytes before it stores them."""
    for name in ("filter", "working-tree-encoding"):
        if attributes[name] not in {_UNSET, _UNSPECIFIED}:
            yield f"{name}={attributes[name]}"
    if attributes["ident"] == _SET and b"$Id" in data:
        yield "ident"


def stored(data: bytes, ends: Ends) -> bytes:
    """Give what git would store, were the file new to it."""
    if ends is Ends.TEXT:
        return data.replace(b"\r\n", b"\n")
    if ends is Ends.GUESSED and not _is_binary(data):
        return data.replace(b"\r", b"")
    return data


def keeps_its_ends(indexed: bytes) -> bool:
    """Whether a file that git has in this form keeps its CR LF where the ends are guessed."""
    return b"\r\n" in indexed and not _is_binary(indexed)


def _is_binary(data: bytes) -> bool:
    """Guess as git does: a lone CR, a NUL, or too much that is not printed."""
    if b"\0" in data or data.count(b"\r") != data.count(b"\r\n"):
        return True
    counts = [data.count(byte) for byte in _UNPRINTED]
    unprinted = sum(counts)
    printed = len(data) - unprinted - data.count(b"\r") - data.count(b"\n")
    if data.endswith(b"\x1a"):
        unprinted -= 1
    return printed >> 7 < unprinted
