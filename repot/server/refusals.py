"""Why the server does not answer: worded as the engine words its own refusals."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """What was asked for is refused, and nothing was done: `kind` is a stable word for programs."""

    def __init__(self, kind: str, cause: str, *, next_step: str, path: str | None = None) -> None:
        super().__init__(cause)
        self.kind = kind
        self.cause = cause
        self.next_step = next_step
        self.path = path

    def data(self) -> dict[str, Any]:
        """Give it as the engine's reports hold a refusal."""
        place = None if self.path is None else {"path": self.path, "line": None, "column": None}
        return {
            "kind": self.kind,
            "cause": self.cause,
            "next_step": self.next_step,
            "place": place,
            "excerpt": None,
        }


def bad_argument(cause: str) -> Refusal:
    """Word the refusal of an argument that a tool does not take."""
    return Refusal(
        "bad-argument", cause, next_step="The input schema of the tool says what it takes."
    )
