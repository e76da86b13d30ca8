"""How much of what moved a plan moves: lines of it that its operations put where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from transforms.errors import Refusal
from verify.history.ranges import Entry
from verify.inference.evidence import Evidence, File, read_file

ENOUGH = 0.95  # of the lines that moved: a plan that moves fewer writes the move out


@dataclass(frozen=True, slots=True)
class Share:
    """Lines that stand in another file than before, and those of them that operations moved."""

    lines: int
    moved: int

    @property
    def enough(self) -> bool:
        """Whether the plan moves what moved, and does not merely write it out."""
        return self.moved >= ENOUGH * self.lines


def share(evidence: Evidence, given: Mapping[str, Entry | None]) -> Share:
    """Compare what moved with what a plan gives before its authored text."""
    files: dict[str, File | None] = {}
    lines = moved = 0
    for item in evidence.moved:
        old, new = evidence.old[item.source], evidence.new[item.destination]
        text = new.text(new.defined()[item.name])
        found = _same(old.text(old.defined()[item.name]), text)
        lines += found
        if item.destination not in files:
            files[item.destination] = _read(item.destination, given)
        here = files[item.destination]
        if here is not None and item.name in here.defined():
            moved += min(found, _same(here.text(here.defined()[item.name]), text))
    return Share(lines, moved)


def _read(path: str, given: Mapping[str, Entry | None]) -> File | None:
    entry = given.get(path)
    try:
        return None if entry is None else read_file(path, entry.data)
    except Refusal:
        return None


def _same(one: bytes, other: bytes) -> int:
    mine, theirs = (Counter(map(bytes.strip, text.splitlines())) for text in (one, other))
    return (mine & theirs).total()
