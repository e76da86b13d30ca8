"""A call that is interrupted where one likes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import hicache
import pool_host

OURS = tuple(str(Path(package.__path__[0])) for package in (hicache, pool_host))


def interrupted(call: Callable[[], Any], line: int) -> tuple[bool, Any]:
    """Make a call, interrupted as so many lines of ours were begun; say if it was, else its result.

    The interrupt comes once.
    """
    left = line

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return False, call()
    except KeyboardInterrupt:
        return True, None
    finally:
        sys.settrace(before)
