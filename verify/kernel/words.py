"""Lists of words, as they are written down in this package."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())
