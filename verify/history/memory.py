"""How a process of ours keeps its memory. It imports nothing else: every start goes through it."""

from __future__ import annotations

import atexit
import gc

# Objects between two looks at those that are new; looks between two at what stayed of them, and of
# these between two at all. One large proof is three million objects, and then it is garbage.
_COLLECTIONS = 3_000_000, 2, 10


def collect_less_often() -> None:
    """Look for garbage less often, and not once more when the process ends.

    Syntax trees are millions of objects that all stay in use: going through them after every 700
    new ones is a third of what a large replay costs, and finds nothing. At its end Python would go
    through all of them and take them apart, one by one, just before the system takes back the whole
    memory at once: a third again.
    """
    gc.set_threshold(*_COLLECTIONS)
    atexit.register(gc.freeze)
