"""How a process of ours keeps its memory. It imports nothing else: every start goes through it."""

from __future__ import annotations

import gc

_BETWEEN_COLLECTIONS = 200_000  # objects


def collect_less_often() -> None:
    """Look for garbage less often, until the process ends.

    Syntax trees are millions of objects that all stay in use: going through them after every 700
    new ones is a third of what a large replay costs, and finds nothing.
    """
    gc.set_threshold(_BETWEEN_COLLECTIONS, 50, 50)
