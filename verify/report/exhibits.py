"""What a report has for readers who can see more than lines of text: code in place, a picture.

Plain frozen data that findings refer to. The judge fills it; the page draws it, and text or JSON do
without.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """One side of a file, whole, so that code is coloured by what stands around it.

    Two are equal if they are the same object: what is told of one is kept by it.
    """

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a file, by their 1-based numbers, rising."""

    text: Text
    numbers: tuple[int, ...]

    @property
    def lines(self) -> list[str]:
        """Give the lines."""
        return [self.text.lines[number - 1] for number in self.numbers]

    @classmethod
    def of(cls, text: Text, first: int, last: int) -> Excerpt:
        """Give the lines from `first` to `last`, both included, as far as the file has them."""
        return cls(text, tuple(range(max(1, first), min(last, len(text.lines)) + 1)))


@dataclass(frozen=True, slots=True)
class Sides:
    """The same code before and after."""

    old: Excerpt
    new: Excerpt

    @property
    def alike(self) -> bool:
        """Whether the two have the same lines."""
        return self.old.lines == self.new.lines


@dataclass(frozen=True, slots=True)
class Flow:
    """What left one file for another: names in the destination's order, and how many lines."""

    source: str
    destination: str
    symbols: tuple[str, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A move as a picture.

    `created` are the destinations that are new; `callers` who imports from them: how many, then a
    line for each kind. Empty where that is not known.
    """

    flows: tuple[Flow, ...]
    created: frozenset[str]
    callers: tuple[str, ...] = ()
