"""The commits of the scoreboard, what a reader says of each, and whether a verdict goes with it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PURE, EDITS, BREAKS = "pure", "edits", "breaks"
CERTIFIED = "CERTIFIED"


@dataclass(frozen=True, slots=True)
class Reading:
    """A commit, and what it holds: by the whole diff, and by the lines that git sees unmoved.

    `repository` is the name of a bare clone without `.git`. `note` says what is no move. `pyref` is
    how many moves PyRef finds, as it was asked when the commit was read; None if it was not.
    `settled` is what the commit holds after all, where the readings disagree or a look at what
    Repot says has shown that both had overlooked something, which `seen` names.
    """

    repository: str
    commit: str
    first: str
    second: str
    note: str = ""
    pyref: int | None = None
    settled: str = ""
    seen: str = ""

    @property
    def holds(self) -> str:
        """What the commit holds after all."""
        return self.settled or self.first

    @property
    def said(self) -> str:
        """What both readings say; where they disagree, both."""
        return self.first if self.first == self.second else f"{self.first} / {self.second}"

    def is_false(self, verdict: str) -> bool:
        """Whether a verdict certifies what breaks."""
        return verdict == CERTIFIED and self.holds == BREAKS

    def is_alarm(self, verdict: str) -> bool:
        """Whether a verdict does not certify what is nothing but a move."""
        return verdict != CERTIFIED and self.holds == PURE


def readings() -> list[Reading]:
    """Read the commits."""
    data = tomllib.loads((Path(__file__).parent / "commits.toml").read_text(encoding="utf-8"))
    return [
        Reading(
            row["repository"],
            row["id"],
            row["first"],
            row["second"],
            row.get("note", ""),
            row.get("pyref"),
            row.get("settled", ""),
            row.get("seen", ""),
        )
        for row in data["commit"]
    ]
