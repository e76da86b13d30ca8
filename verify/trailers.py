"""`Mechanical-Move: PLAN` trailers: how a commit names the plan that it claims to be.

A trailer is data from a stranger: it names a path inside the commit's parent, and everything about
it that could mislead is a fault of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.paths import safe_path

TRAILER = "Mechanical-Move"
_LINE = re.compile(rf"(?i){TRAILER}[ \t]*:[ \t]*(.*?)[ \t]*\Z")
_TRAILER = re.compile(r"[A-Za-z0-9-]+[ \t]*:|\(cherry picked from commit |[ \t]")


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a message claims: a plan's path, or why the claim is faulty; neither if it claims none."""

    path: str | None = None
    fault: str | None = None

    @property
    def claims(self) -> bool:
        """Whether the commit says that it is a mechanical move."""
        return self.path is not None or self.fault is not None


def read_trailer(message: str) -> Trailer:
    """Read the trailer of a commit message: in its last paragraph, as git has trailers."""
    paragraphs = re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip("\n"))
    last = paragraphs[-1].split("\n") if len(paragraphs) > 1 else []
    if not all(_TRAILER.match(line) for line in last):
        last = []
    found = [match[1] for match in map(_LINE.match, last) if match]
    if not found:
        return Trailer()
    if len(found) > 1:
        return Trailer(fault=f"{len(found)} {TRAILER} trailers; a commit is one move")
    if not found[0]:
        return Trailer(fault=f"the {TRAILER} trailer names no plan")
    try:
        return Trailer(path=safe_path(found[0]))
    except Refusal as refusal:
        return Trailer(fault=f"the {TRAILER} trailer names no path in the tree: {refusal.cause}")
