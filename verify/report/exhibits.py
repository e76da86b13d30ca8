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
class HunkRow:
    """One line of a hunk: its mark, and its number on the side that it is shown from.

    `mark` is `+`, `-`, a space for context, or `>` for a line that is the same on both sides and
    yet the one to look at.
    """

    mark: str
    number: int
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a change with those around them, as a diff shows them.

    `old` and `new` are both sides of the file, which may have two paths; `heading` is the
    definition around the lines. `old_span` and `new_span` are the first line and how many, empty
    where the rows are not all that lies between: some of it has moved and is shown elsewhere.
    """

    old: Text
    new: Text
    rows: tuple[HunkRow, ...]
    heading: str = ""
    old_span: tuple[int, int] | None = None
    new_span: tuple[int, int] | None = None

    def text_of(self, row: HunkRow) -> Text:
        """Give the side that a row is shown from."""
        return self.old if row.is_old else self.new

    def line_of(self, row: HunkRow) -> str:
        """Give a row's line."""
        return self.text_of(row).lines[row.number - 1]

    @property
    def path(self) -> str:
        """Give the path to look at: in the target, unless the lines are gone with their file."""
        return self.new.path if self.new.lines or not self.old.lines else self.old.path

    @property
    def line(self) -> int:
        """Give the first line that is marked, on the side that it is shown from."""
        marked = [row for row in self.rows if row.mark != " "]
        there = [row for row in marked if not row.is_old]
        return next((row.number for row in (*there, *marked)), 1)

    @property
    def head(self) -> str:
        """Word the line above it, as a diff has it."""
        spans = [("-", self.old_span), ("+", self.new_span)]
        words = " ".join(f"{sign}{_span(span)}" for sign, span in spans if span is not None)
        return f"@@ {words} @@ {self.heading}".rstrip()

    @property
    def marked(self) -> frozenset[tuple[str, str, int]]:
        """Name the lines that came or went: side, path and number."""
        return frozenset(
            ("base" if row.is_old else "target", self.text_of(row).path, row.number)
            for row in self.rows
            if row.mark in "+-"
        )


def _span(span: tuple[int, int]) -> str:
    first, count = span
    return str(first) if count == 1 else f"{first},{count}"


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
