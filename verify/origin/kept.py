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
    """`count` lines from `line` on that follow each other on both sides: `step` is the first's."""

    line: int
    count: int
    step: Step


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
        return _further(run.step, line - run.line)


def _further(step: Step, lines: int) -> Step:
    """Give the step of a line so many below, which follows on both sides."""
    return replace(step, line=step.line + lines)


def folded(steps: Iterable[tuple[int, Step]]) -> tuple[Run, ...]:
    """Put lines that follow each other on both sides together; they come in order."""
    runs: list[Run] = []
    for line, step in steps:
        last = runs[-1] if runs else None
        if (
            last is not None
            and line == last.line + last.count
            and step == _further(last.step, last.count)
        ):
            runs[-1] = replace(last, count=last.count + 1)
        else:
            runs.append(Run(line, 1, step))
    return tuple(runs)


def unfolded(data: Mapping[str, Any]) -> Back:
    """Read what was kept."""
    runs = (Run(run["line"], run["count"], _step(run["step"])) for run in data["runs"])
    return Back(tuple(runs), data["judged"], data["fault"])


def _step(data: Mapping[str, Any]) -> Step:
    return Step(**{**data, "previous": tuple(data["previous"])})
