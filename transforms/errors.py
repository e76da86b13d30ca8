"""Why the mover stops: one exception for a refusal, with the place, the cause and the next step.

A refusal is an answer, not a fault: the input cannot be moved safely, so nothing was written.
A fault of Repot itself is any other exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a path in the tree, and where known a 1-based line and its text."""

    path: str
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None

    def __str__(self) -> str:
        parts = [self.path]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)


class Refusal(Exception):
    """The input is refused and nothing was written.

    `kind` is a stable word for programs (`unknown-symbol`, `cycle`, `dirty-file`, ...),
    `cause` says what is wrong, `next_step` what the reader can do, `place` where it is.
    """

    def __init__(
        self, kind: str, cause: str, *, next_step: str, place: Place | None = None
    ) -> None:
        super().__init__(cause)
        self.kind = kind
        self.cause = cause
        self.next_step = next_step
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        """Cross from one process to another: it has more parts than `args` holds."""
        parts = (self.kind, self.cause, self.next_step, self.place)
        return _refusal, parts

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.cause} {self.next_step}"


def _refusal(kind: str, cause: str, next_step: str, place: Place | None) -> Refusal:
    return Refusal(kind, cause, next_step=next_step, place=place)


def nearest(name: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """The valid names most like `name`, best first, for a message that corrects a typing error."""
    return difflib.get_close_matches(name, sorted(names), n=limit, cutoff=0.5)
