"""What is found, folded into runs of lines, and kept in the user's cache folder.

Only what can never change is kept: how a file of one commit hangs together with its past.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

STAYED, MOVED, COPIED = "stayed", "moved", "copied"


@dataclass(frozen=True, slots=True)
class Step:
    """Where a line stands further back.

    `kind`: in the same file (`stayed`), by a proved move (`moved`), or in another place that git
    found (`copied`). `ends`: it is credited to that very commit, and not followed past it.
    `previous` is what git says the file was before it: a commit and a path.
    """

    kind: str
    commit: str
    path: str
    line: int
    ends: bool = False
    previous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Steps of `count` lines from `line` on that follow each other on both sides."""

    line: int
    count: int
    kind: str
    commit: str
    path: str
    at: int
    ends: bool
    previous: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Back:
    """The steps of all lines of a file in a commit, in order.

    `judged`: the commit claims a move, and lines of the file are new in it, so that it mattered
    whether it is one; `fault` says why it is none, and is empty where it is.
    """

    runs: Sequence[Run]
    judged: bool = False
    fault: str = ""

    def step(self, line: int) -> Step:
        """Give the step of a line."""
        run = self.runs[bisect_right(self.runs, line, key=lambda each: each.line) - 1]
        at = run.at + line - run.line
        return Step(run.kind, run.commit, run.path, at, run.ends, tuple(run.previous))


def folded(steps: Iterable[tuple[int, Step]]) -> tuple[Run, ...]:
    """Put lines that follow each other on both sides together; they come in order."""
    runs: list[Run] = []
    for line, step in steps:
        last = runs[-1] if runs else None
        new = Run(
            line, 1, step.kind, step.commit, step.path, step.line, step.ends, step.previous
        )  # fmt: skip
        if last is not None and new == replace(
            last, line=last.line + last.count, count=1, at=last.at + last.count
        ):
            runs[-1] = replace(last, count=last.count + 1)
        else:
            runs.append(new)
    return tuple(runs)


def unfolded(data: Mapping[str, Any]) -> Back:
    """Read what was kept."""
    return Back(tuple(Run(**run) for run in data["runs"]), data["judged"], data["fault"])
