"""Symbolic links: second names of files and folders, which the machine does not follow."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Mapping

from verify.kernel.pairs.both import Both
from verify.kernel.verdict import OPEN, Place


def check(both: Both, links: Mapping[str, bytes]) -> None:
    """Report links that lead to Python files which changed, or to folders that hold some."""
    changed = sorted(both.changed)
    for path, leads in sorted(links.items()):
        meant = _resolved(path, leads)
        at = bisect_left(changed, meant)
        if at < len(changed) and changed[at] == meant:
            found = meant
        else:
            inside = "" if meant == "." else f"{meant}/"  # a link to the top holds everything
            at = bisect_left(changed, inside)
            if at == len(changed) or not changed[at].startswith(inside):
                continue
            found = changed[at]
        why = "a link gives what changed a second name, under which it was not looked at"
        both.found.say(OPEN, path, why, Place(found, 1))


def _resolved(path: str, leads: bytes) -> str:
    """Give the path that a link leads to, from the top of the tree."""
    text = leads.decode("utf-8", "surrogateescape").strip()
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
