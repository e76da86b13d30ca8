"""What a reader is told first: the one decision that page, Markdown, terminal and JSON render."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

NO_CLAIM = "no claim"  # the colour of commits none of which says that it is a move


class Level(Enum):
    """How much of a reader's time a result asks for, as a traffic light has it."""

    GREEN = "green"  # nothing
    AMBER = "amber"  # there is something to read
    RED = "red"  # something breaks, or a claim is false


@dataclass(frozen=True, slots=True)
class About:
    """What a change says of itself. Each is empty where it is not known."""

    subject: str
    author: str
    repository: str

    def __str__(self) -> str:
        words = [self.subject or "a change"]
        words += [f"by {self.author}"] if self.author else []
        words += [f"in {self.repository}"] if self.repository else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done about a change, and how much of it that is.

    `places` are what is to be read, `lines` how many of the `changed` lines they hold, `breaking`
    how many of the places are where behaviour differs. `uncoloured` is how many of the changed
    lines `git diff --color-moved` leaves as they are; None where git does not tell.
    """

    level: Level
    about: About
    sentence: str
    places: int
    lines: int
    breaking: int
    changed: int
    uncoloured: int | None
