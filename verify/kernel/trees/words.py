"""Lists of words, as they are written down in this package."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())


def raw(text: str) -> bytes:
    """Give a text as it stands in files; a path whose bytes are no text is no text there either."""
    return text.encode("utf-8", "surrogateescape")
