"""Lines that two texts share, and the unified diff as git prints it.

Lines that occur once in both texts anchor the comparison, so a block that was moved away shows as
one deletion and a file of thousands of lines costs milliseconds; what lies between anchors is
compared exactly (Myers), up to a limit on the work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import AnyStr

CONTEXT = 3  # unchanged lines shown around a change, as git does
_MOST_EDITS = 400  # in one stretch without an anchor; beyond it the stretch counts as replaced
_MOST_DEPTH = 40  # of stretches within stretches; real files need fewer than ten
_HEADING_BYTES = 80


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `start` to `end` (0-based, half open) of the old text became those of the new one."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    def moved(self, by: int) -> Edit:
        """Give the same edit so many lines further down."""
        return Edit(self.old_start + by, self.old_end + by, self.new_start + by, self.new_end + by)


def split_lines(data: bytes) -> list[bytes]:
    """Split at line feeds only, each line with its own; the last may have none."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def edits(old: Sequence[AnyStr], new: Sequence[AnyStr]) -> list[Edit]:
    """List what differs, in order; the same answer on every run and machine."""
    numbers: dict[AnyStr, int] = {}
    left: list[int] = [numbers.setdefault(line, len(numbers)) for line in old]
    right: list[int] = [numbers.setdefault(line, len(numbers)) for line in new]
    found: list[Edit] = []
    old_at = new_at = 0
    for old_index, new_index in [*_pairs(left, right), (len(left), len(right))]:
        if old_at < old_index or new_at < new_index:
            found.append(Edit(old_at, old_index, new_at, new_index))
        old_at, new_at = old_index + 1, new_index + 1
    return _slide_all(found, old, new)


def _pairs(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Pair the indices of equal lines, both rising."""
    pairs: list[tuple[int, int]] = []
    stretches = [(0, len(old), 0, len(new), 0)]
    while stretches:
        old_from, old_to, new_from, new_to, depth = stretches.pop()
        while old_from < old_to and new_from < new_to and old[old_from] == new[new_from]:
            pairs.append((old_from, new_from))
            old_from, new_from = old_from + 1, new_from + 1
        while old_from < old_to and new_from < new_to and old[old_to - 1] == new[new_to - 1]:
            old_to, new_to = old_to - 1, new_to - 1
            pairs.append((old_to, new_to))
        if old_from == old_to or new_from == new_to:
            continue
        anchors = (
            _anchors(old, new, (old_from, old_to), (new_from, new_to))
            if depth < _MOST_DEPTH
            else []
        )
        if not anchors:
            inner = _shortest(old[old_from:old_to], new[new_from:new_to])
            pairs.extend((old_from + i, new_from + j) for i, j in inner)
            continue
        pairs.extend(anchors)
        for old_index, new_index in [*anchors, (old_to, new_to)]:
            stretches.append((old_from, old_index, new_from, new_index, depth + 1))
            old_from, new_from = old_index + 1, new_index + 1
    return sorted(pairs)


def _anchors(
    old: list[int], new: list[int], old_range: tuple[int, int], new_range: tuple[int, int]
) -> list[tuple[int, int]]:
    """Pair lines that occur once on each side: the longest run of pairs that rises on both."""
    old_counts = Counter(old[slice(*old_range)])
    new_counts = Counter(new[slice(*new_range)])
    places = {
        new[index]: index
        for index in range(*new_range)
        if new_counts[new[index]] == 1 == old_counts[new[index]]
    }
    candidates = [
        (index, places[old[index]]) for index in range(*old_range) if old[index] in places
    ]
    tails: list[int] = []  # the smallest last new index of a rising run, by its length
    tail_at: list[int] = []  # and the candidate that ends it
    previous: list[int] = []
    for number, (_, new_index) in enumerate(candidates):
        length = bisect_left(tails, new_index)
        previous.append(tail_at[length - 1] if length else -1)
        if length == len(tails):
            tails.append(new_index)
            tail_at.append(number)
        else:
            tails[length], tail_at[length] = new_index, number
    run: list[tuple[int, int]] = []
    number = tail_at[-1] if tail_at else -1
    while number >= 0:
        run.append(candidates[number])
        number = previous[number]
    return run[::-1]


def _shortest(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Pair lines by a shortest edit script (Myers 1986, greedy), or none past the limit."""
    reached = {1: 0}  # by diagonal (old index minus new index), the furthest old index
    history: list[dict[int, int]] = []
    for distance in range(min(len(old) + len(new), _MOST_EDITS) + 1):
        history.append(dict(reached))
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (
                diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1]
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _trace(history, len(old), len(new))
    return []


def _trace(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Walk back through what each distance reached and collect the equal lines."""
    pairs: list[tuple[int, int]] = []
    for distance in range(len(history) - 1, -1, -1):
        reached = history[distance]
        diagonal = x - y
        down = diagonal == -distance or (
            diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1]
        )
        came_from = diagonal + 1 if down else diagonal - 1
        start_x = reached[came_from] if distance else 0
        start_y = start_x - came_from if distance else 0
        while x > start_x and y > start_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start_x, start_y
    return pairs[::-1]


def _slide_all(found: list[Edit], old: Sequence[AnyStr], new: Sequence[AnyStr]) -> list[Edit]:
    """Move pure deletions and insertions among equal lines to where a reader would cut."""
    result: list[Edit] = []
    for number, edit in enumerate(found):
        floor = result[-1].old_end + 1 if result else 0
        ceiling = found[number + 1].old_start - 1 if number + 1 < len(found) else len(old)
        if edit.new_start == edit.new_end:
            by = _slide(old, edit.old_start, edit.old_end, edit.old_start - floor, ceiling)
        elif edit.old_start == edit.old_end:
            top = ceiling + edit.new_end - edit.old_end
            by = _slide(new, edit.new_start, edit.new_end, edit.old_start - floor, top)
        else:
            by = 0
        result.append(edit.moved(by))
    return result


def _slide(lines: Sequence[AnyStr], start: int, end: int, up: int, ceiling: int) -> int:
    """Choose by how many lines to move the block: it should begin at the outermost statement."""
    lowest = 0
    while -lowest < up and lines[start + lowest - 1] == lines[end + lowest - 1]:
        lowest -= 1
    highest = 0
    while end + highest < ceiling and lines[start + highest] == lines[end + highest]:
        highest += 1

    def cost(by: int) -> tuple[bool, int, int]:
        first = lines[start + by]
        return not first.strip(), len(first) - len(first.lstrip()), -by

    return min(range(lowest, highest + 1), key=cost)


def unified(old: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    """Print the hunks of a unified diff, from the first `@@` on; nothing where the lines agree."""
    return b"".join(piece for group in groups(edits(old, new)) for piece in _hunk(group, old, new))


def groups(found: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Gather the edits whose context would touch or overlap: each is one hunk."""
    group: list[Edit] = []
    for edit in found:
        if group and edit.old_start - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _hunk(group: list[Edit], old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    before = min(CONTEXT, group[0].old_start)
    after = min(CONTEXT, len(old) - group[-1].old_end)
    old_from, old_to = group[0].old_start - before, group[-1].old_end + after
    new_from, new_to = group[0].new_start - before, group[-1].new_end + after
    heading = _heading(old, old_from)
    yield (
        f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@".encode()
        + (b" " + heading if heading else b"")
        + b"\n"
    )
    at = old_from
    for edit in group:
        yield from _marked(b" ", old[at : edit.old_start])
        yield from _marked(b"-", old[edit.old_start : edit.old_end])
        yield from _marked(b"+", new[edit.new_start : edit.new_end])
        at = edit.old_end
    yield from _marked(b" ", old[at:old_to])


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield mark + line
        else:
            yield mark + line + b"\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    """Word a range as git does: an empty one names the line above, a length of 1 is left out."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _heading(old: Sequence[bytes], start: int) -> bytes:
    """Give the nearest line above the hunk that begins with a letter, `_` or `$`, like git."""
    for index in range(start - 1, -1, -1):
        first = old[index][:1]
        if first.isalpha() or first in {b"_", b"$"}:
            return old[index][:_HEADING_BYTES].rstrip()
    return b""
