"""How much is tried: all of it in CI and with REPOT_FULL=1, elsewhere a part."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("CI")) or os.environ.get("REPOT_FULL") == "1"


def examples(full: int) -> int:
    """Give how many examples a property is tried on, where CI tries so many.

    Elsewhere chance draws others in every run: together they soon are more.
    """
    return full if FULL else max(5, full // 3)
