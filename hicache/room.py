"""Free room on a tier: how much is kept free, and how much to evict when it runs short.

Without room every allocation on a full tier evicts for itself alone, and takes whatever scattered
pages are the oldest. With it one eviction serves several allocations, which find longer runs; the
price is the pages that are not cached meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The smallest that is not nothing. It is not to be raised without a measurement: hits are paid.
DEFAULT_SHARE = 0.01


def plan_eviction(need: int, free: int, room: int, capacity: int, *, low: int = 0) -> int:
    """Give how many pages to evict so that `need` can be taken and `room` stay free after it.

    All in pages; `capacity` is the whole tier, which no plan exceeds. There are two levels, so
    that one eviction lasts: nothing is evicted before fewer than `need` are free, or fewer than
    `low` (at most `room`) would be left; then `need + room - free` at once. Raises `ValueError`
    for a negative number, for more than `capacity` free, and for `low` above `room`.
    """
    for name, value in (("need", need), ("free", free), ("room", room), ("low", low)):
        if value < 0:
            raise ValueError(f"{name}: expected 0 pages or more, got {value}")
    if free > capacity:
        raise ValueError(f"free: expected at most the {capacity} pages of the tier, got {free}")
    if low > room:
        raise ValueError(f"low: expected at most the room of {room} pages, got {low}")
    if free >= need + low:
        return 0
    return min(need + room, capacity) - free


@dataclass(frozen=True, slots=True)
class FreeRoom:
    """The shares of device and host (0 to 1) that evictions leave free, and when they begin.

    An eviction begins when less than `low` times the room would be left; with 0, the default, only
    when the pages asked for are not there. `device=0, host=0` evicts nothing but what is needed.
    Raises `ValueError` for a share outside 0 to 0.5, and for `low` outside 0 to 1.
    """

    device: float = DEFAULT_SHARE
    host: float = DEFAULT_SHARE
    low: float = 0.0

    def __post_init__(self) -> None:
        for name, value, most in (
            ("device", self.device, 0.5),
            ("host", self.host, 0.5),
            ("low", self.low, 1.0),
        ):
            if not 0 <= value <= most:
                raise ValueError(f"{name}: expected 0 to {most}, got {value}")

    def plan(self, tier: str, need: int, free: int, capacity: int) -> int:
        """Give how many pages of `tier`, `device` or `host`, to evict: see `plan_eviction`.

        A room is rounded down to whole pages, so a small tier may have none.
        """
        room = math.floor((self.device if tier == "device" else self.host) * capacity)
        return plan_eviction(need, free, room, capacity, low=math.floor(self.low * room))
