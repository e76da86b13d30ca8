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
# Anywhere in the message, since a squash adds paragraphs below; never in a quotation, which is
# indented or marked.
_LINE = re.compile(rf"(?im)^{TRAILER}[ \t]*:(.*)$")


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a message claims: a plan's path, or why the claim is faulty. Neither: it claims none."""

    path: str | None = None
    fault: str | None = None

    @property
    def claims(self) -> bool:
        """Whether the commit says that it is a mechanical move."""
        return self.path is not None or self.fault is not None


def read_trailer(message: str) -> Trailer:
    """Read what a commit message claims."""
    found = [value.strip(" \t") for value in _LINE.findall(message.replace("\r\n", "\n"))]
    if not found:
        return Trailer()
    if len(found) > 1:
        return Trailer(fault=f"it has {len(found)} {TRAILER} trailers; a commit is one move")
    if not found[0]:
        return Trailer(fault=f"its {TRAILER} trailer names no plan")
    try:
        return Trailer(path=safe_path(found[0]))
    except Refusal as refusal:
        return Trailer(fault=f"its {TRAILER} trailer names no path in the tree: {refusal.cause}")
