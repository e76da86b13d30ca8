"""Who holds which slots, as a checker that knows nothing of allocators sees it."""

from __future__ import annotations

import torch


class Overlaps:
    """Ranges of slots that are held, kept apart from what any pool thinks of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.live: dict[int, int] = {}  # first slot -> the slot after the last

    def take(self, slots: torch.Tensor) -> None:
        """Note an allocation; each of its stretches lies inside the pool, and is nobody's yet."""
        assert slots.dtype == torch.int64
        for first, stop in stretches(slots):
            assert first >= 0
            assert stop <= self.size
            for held, end in self.live.items():
                assert stop <= held or end <= first, f"{first}..{stop} overlaps {held}..{end}"
            self.live[first] = stop

    def give(self, slots: torch.Tensor) -> None:
        """Note a release of what is held, in whatever parts."""
        for slot in slots.tolist():
            [first] = [held for held, end in self.live.items() if held <= slot < end]
            stop = self.live.pop(first)
            if first < slot:
                self.live[first] = slot
            if slot + 1 < stop:
                self.live[slot + 1] = stop


def stretches(slots: torch.Tensor) -> list[tuple[int, int]]:
    """Give each stretch that steps by one: its first slot, and the slot after its last."""
    found: list[tuple[int, int]] = []
    for slot in slots.tolist():
        if found and found[-1][1] == slot:
            found[-1] = found[-1][0], slot + 1
        else:
            found.append((slot, slot + 1))
    return found


def fewest(pages: int, free: set[int]) -> int:
    """Give the least number of runs that hold so many of the free pages."""
    extents = stretches(torch.tensor(sorted(free)))
    lengths = sorted((stop - first for first, stop in extents), reverse=True)
    runs = 0
    while pages > 0:
        pages -= lengths[runs]
        runs += 1
    return runs
