"""Edits of one text: deletions of whole lines, replacements and insertions, applied together.

Deleting lines leaves the larger of the two gaps around them, as people do (427 of 464 real moves).
Everything that meets in one gap between two kept lines is settled together.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BLANK_LINE = re.compile(r"[ \t\f]*(?:\r\n|\r|\n)")
_BLANKS = " \t\f\r\n"


class Rank(enum.IntEnum):
    """The order of what is put in at one place."""

    IMPORTS = 1
    TYPE_CHECKING = 2
    HELPERS = 3
    SYMBOLS = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Lines put in at a deletion or between statements, with the blank lines wanted around them."""

    text: str  # whole lines, the last one ended
    before: int
    after: int
    rank: Rank = Rank.SYMBOLS


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines put in at the start of a line, with blank lines beyond those that are there."""

    text: str
    more_before: int
    more_after: int
    rank: int = 0


_Item = tuple[int, Block | _Lines]


class Edits:
    """Collects edits by offset into `text`; `apply` gives the new text.

    Replacements may not overlap each other. One that lies in a deletion goes with it.
    """

    def __init__(self, text: str, newline: str) -> None:
        self.text = text
        self.newline = newline
        self._deleted: list[tuple[int, int]] = []
        self._replaced: list[tuple[int, int, str]] = []
        self._items: list[_Item] = []

    def __bool__(self) -> bool:
        return bool(self._deleted or self._replaced or self._items)

    def delete_lines(self, start: int, end: int) -> None:
        """Delete whole lines: `start` begins a line, `end` follows a line end or the text's end."""
        if start < end:
            self._deleted.append((start, end))

    def is_deleted(self, offset: int) -> bool:
        """Whether the line that holds `offset` is to go."""
        return any(start <= offset < end for start, end in self._deleted)

    def replace(self, start: int, end: int, text: str) -> None:
        """Put other text in place of a stretch."""
        if self.text[start:end] != text:
            self._replaced.append((start, end, text))

    def insert(self, offset: int, text: str) -> None:
        """Put text in at an offset; insertions at one offset keep their order."""
        if text:
            self._replaced.append((offset, offset, text))

    def insert_lines(self, offset: int, text: str, *, before: int = 0, after: int = 0) -> None:
        """Put whole lines in at the start of a line, among those that stand there.

        `before` and `after` are blank lines beyond the present ones.
        """
        self._items.append((offset, _Lines(text, before, after)))

    def insert_block(self, offset: int, block: Block) -> None:
        """Put whole lines in at the start of a line, with the block's own gaps around them."""
        self._items.append((offset, block))

    def apply_within(self, start: int, end: int) -> str:
        """One stretch as the edits inside it leave it, without any others."""
        part = Edits(self.text, self.newline)
        part._deleted = [edit for edit in self._deleted if start <= edit[0] and edit[1] <= end + 2]
        part._replaced = [edit for edit in self._replaced if start <= edit[0] and edit[1] <= end]
        part._items = [item for item in self._items if start <= item[0] <= end]
        whole = part.apply()
        return whole[start : len(whole) - (len(self.text) - end)]

    def apply(self) -> str:
        """The text with every edit made."""
        pieces = [(start, end, 0, text) for start, end, text in self._regions()]
        gone = sorted(self._deleted)
        pieces += [
            (start, end, 1, text)
            for start, end, text in self._replaced
            if not any(low <= start and end <= high and start < high for low, high in gone)
        ]
        pieces.sort(key=lambda piece: piece[:3])  # stable: insertions at one place keep their order
        result: list[str] = []
        position = 0
        for start, end, _, replacement in pieces:
            if start < position:
                raise AssertionError(f"overlapping edits at offset {start}")
            result += (self.text[position:start], replacement)
            position = end
        return "".join([*result, self.text[position:]])

    def _regions(self) -> Iterator[tuple[int, int, str]]:
        """Deletions and insertions that meet in one gap, each with what takes its place."""
        places: list[tuple[int, int, list[_Item]]] = [(*span, []) for span in self._deleted]
        places += [(item[0], item[0], [item]) for item in self._items]
        places.sort(key=lambda place: (place[0], place[1], bool(place[2])))
        merged: list[tuple[int, int, list[_Item]]] = []
        for start, end, items in places:
            if merged and (start <= merged[-1][1] or self._is_blank(merged[-1][1], start)):
                low, high, others = merged[-1]
                merged[-1] = (low, max(end, high), others + items)
            else:
                merged.append((start, end, items))
        for start, end, items in merged:
            yield self._region(start, end, items)

    def _is_blank(self, start: int, end: int) -> bool:
        return not self.text[start:end].strip(_BLANKS)

    def _region(self, start: int, end: int, items: Sequence[_Item]) -> tuple[int, int, str]:
        if not items:
            return self._closed(start, end)
        if start == end and all(isinstance(item, _Lines) for _, item in items):
            return self._among(start, items)
        above, _ = self._gap_above(start)
        below, _ = self._gap_below(end)
        ordered = sorted(items, key=lambda item: (item[0], item[1].rank))
        parts: list[str] = []
        if above and not self.text[:above].endswith(("\n", "\r")):
            parts.append(self.newline)
        for number, (offset, item) in enumerate(ordered):
            if number:
                gap = self._between(ordered[number - 1], ordered[number])
            else:
                gap = self._before(offset, item) if above else 0
            parts += [self.newline * gap, item.text]
        if below < len(self.text):
            parts.append(self.newline * self._after(*ordered[-1], end))
        return above, below, "".join(parts)

    def _among(self, offset: int, items: Sequence[_Item]) -> tuple[int, int, str]:
        """Lines that join others, where nothing is deleted: the blank lines around stay."""
        text = "" if not offset or self.text[:offset].endswith(("\n", "\r")) else self.newline
        for _, item in items:
            assert isinstance(item, _Lines)  # noqa: S101 - told by the caller
            text += self.newline * item.more_before + item.text + self.newline * item.more_after
        return offset, offset, text

    def _closed(self, start: int, end: int) -> tuple[int, int, str]:
        """A deletion: the larger of its two gaps is kept, with its own bytes.

        Where it touches both neighbours, and had a gap inside, one blank line parts them.
        """
        above, before = self._gap_above(start)
        below, after = self._gap_below(end)
        if not above or below == len(self.text):
            return above, below, ""
        if not (before or after) and self._has_gap(start, end):
            return above, below, self.newline
        if after <= before:
            return self._skip_blank(above, before), below, ""
        return above, self._skip_blank_back(below, end, after), ""

    def _has_gap(self, start: int, end: int) -> bool:
        """Whether blank lines stand between two deletions that were merged into one."""
        return any(
            start <= low and high < end and self._gap_below(high)[1] for low, high in self._deleted
        )

    def _before(self, offset: int, item: Block | _Lines) -> int:
        """Blank lines between what is kept above and a first item."""
        if isinstance(item, Block):
            return item.before
        start, count = self._gap_above(offset)
        if count:
            return count + item.more_before
        while (above := self._deleted_above(start)) is not None:
            start, count = self._gap_above(above)
            if count:
                break
        return max(count, item.more_before)

    def _after(self, offset: int, item: Block | _Lines, end: int) -> int:
        """Blank lines between a last item and what is kept below, behind the deletions to `end`."""
        if isinstance(item, Block):
            return item.after
        closing = self._gap_below(end)[1] if offset < end else 0
        offset, count = self._gap_below(offset)
        if count:
            return max(count + item.more_after, closing)
        while (below := self._deleted_below(offset)) is not None:
            offset, count = self._gap_below(below)
            if count:
                break
        return max(count, item.more_after, closing)

    def _deleted_above(self, offset: int) -> int | None:
        return next((low for low, high in self._deleted if high == offset), None)

    def _deleted_below(self, offset: int) -> int | None:
        return next((high for low, high in self._deleted if low == offset), None)

    def _between(self, upper: _Item, lower: _Item) -> int:
        (high, _), (low, item) = upper, lower
        if isinstance(item, Block):
            return item.before
        blank = len(_BLANK_LINE.findall(self.text[high:low])) if self._is_blank(high, low) else 0
        return blank + item.more_before

    def _gap_above(self, start: int) -> tuple[int, int]:
        """Where the blank lines directly above `start` begin, and how many they are."""
        count = 0
        while start:
            end = start - 1 - (self.text[start - 2 : start] == "\r\n")
            line = max(self.text.rfind("\n", 0, end), self.text.rfind("\r", 0, end)) + 1
            if self.text[start - 1] not in "\r\n" or self.text[line:end].strip(" \t\f"):
                break
            start = line
            count += 1
        return start, count

    def _gap_below(self, end: int) -> tuple[int, int]:
        """Where the blank lines from `end` on end, and how many they are."""
        count = 0
        while found := _BLANK_LINE.match(self.text, end):
            end = found.end()
            count += 1
        return (end if self.text[end:].strip(" \t\f") else len(self.text)), count

    def _skip_blank(self, position: int, count: int) -> int:
        for _ in range(count):
            found = _BLANK_LINE.match(self.text, position)
            position = found.end() if found else position
        return position

    def _skip_blank_back(self, position: int, lowest: int, count: int) -> int:
        """The start of the last `count` blank lines that end at `position`."""
        starts = [lowest]
        while found := _BLANK_LINE.match(self.text, starts[-1]):
            starts.append(found.end())
        return starts[max(len(starts) - 1 - count, 0)] if count else position
