"""The walk back from a commit: for each line of a file, where it comes from.

A line is followed within its file to the commit in which it is new, then by the step that this
commit has for it, and so on until there is none. All lines that are in one file of one commit at
the same time are blamed at once.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from transforms.tree.git import GitError, Repository
from verify.chain.cache import VerdictCache
from verify.history.commits import Commit, read_commits
from verify.origin.asked import Asked
from verify.origin.blame import Blamed, Row, plain_blame
from verify.origin.claims import Claim
from verify.origin.sealed import is_shallow, sealed
from verify.origin.steps import MOVED, Back, Step, Steps, missing

Say = Callable[[int, int], None]  # told how many lines of how many are traced to their end


@dataclass(frozen=True, slots=True)
class Passed:
    """A step that a line was followed by: from `commit` to `step`, by the plan of a proved move."""

    commit: str
    step: Step
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a line comes from: the commit it is new in, its path and 1-based line there.

    `number` is its line in the file that was asked about, `passed` what it was followed through.
    `boundary`: history ends there. `claim`: that commit claims a move that is not proved, and so
    nothing is followed past it. `previous` is what git says the file was before: commit and path.
    """

    number: int
    text: bytes
    commit: str
    path: str
    line: int
    passed: tuple[Passed, ...] = ()
    boundary: bool = False
    claim: Claim | None = None
    previous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """The lines in order. `details` are what git says of each commit, as `--porcelain` has it."""

    asked: Asked
    lines: tuple[Origin, ...]
    details: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    shallow: bool = False

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims that are not proved and that lines end at, each once."""
        return tuple(dict.fromkeys(line.claim for line in self.lines if line.claim is not None))

    def through(self, kind: str) -> int:
        """Count lines that were followed through such a step at least once."""
        return sum(any(p.step.kind == kind for p in line.passed) for line in self.lines)


def trace(
    asked: Sequence[Asked],
    *,
    verdicts: VerdictCache | None = None,
    say: Say | None = None,
    installing: Callable[[str], None] | None = None,
) -> list[Traced]:
    """Trace lines of files of one commit to their origin, all in one walk.

    `verdicts` are those that are kept, and kept there is what is found; without, all of it is done
    anew. `installing` is told of a formatter that is installed for a replay. Raises `Refusal` where
    history that is needed is missing.
    """
    if not asked:
        return []
    head = asked[0].head
    with sealed(head.repository, asked[0].mailmap) as ours:
        walk = _Walk(asked, ours, Steps(head, ours, verdicts, installing), say)
        lines = walk.lines()
        shallow = is_shallow(ours)
    return [Traced(one, lines[n], walk.details, shallow) for n, one in enumerate(asked)]


_At = tuple[str, str]  # a commit, and a path in it


_Line = tuple[int, int]  # which of the files that were asked about, and a line of it


class _Walk:
    def __init__(
        self, asked: Sequence[Asked], ours: Repository, steps: Steps, say: Say | None
    ) -> None:
        self.asked, self.ours, self.steps, self.say = asked, ours, steps, say
        self.head = asked[0].head
        self.details: dict[str, tuple[bytes, ...]] = {}
        self._blamed: dict[_At, dict[int, Row]] = defaultdict(dict)
        self._backs: dict[_At, Back] = {}
        self._ends: set[str] = set()

    def lines(self) -> list[tuple[Origin, ...]]:
        """Give the origins of the lines of each file that was asked about."""
        waiting: dict[_Line, tuple[str, str, int]] = {
            (index, number): (self.head.commit, one.path, number)
            for index, one in enumerate(self.asked)
            for number in range(one.first, one.last + 1)
        }
        passed: dict[_Line, list[Passed]] = {line: [] for line in waiting}
        found: dict[_Line, Origin] = {}
        while waiting:
            self._blame(waiting.values())
            ends = {line: self._blamed[at[:2]][at[2]] for line, at in waiting.items()}
            self._step({(row.commit, row.path) for row in ends.values()})
            waiting = {}
            for line, row in ends.items():
                back = self._backs[row.commit, row.path]
                step = back.step(row.line)
                if step is None:
                    found[line] = self._origin(line, row, passed[line], back)
                    continue
                plan = back.claim.plan if back.claim and step.kind == MOVED else ""
                passed[line].append(Passed(row.commit, step, plan))
                waiting[line] = (step.commit, step.path, step.line)
            if self.say is not None:
                self.say(len(found), len(passed))
        return [
            tuple(found[index, number] for number in range(one.first, one.last + 1))
            for index, one in enumerate(self.asked)
        ]

    def _blame(self, places: Collection[tuple[str, str, int]]) -> None:
        """Blame what is not blamed yet, each file of a commit once for all its lines."""
        wanted: dict[_At, set[int]] = defaultdict(set)
        for commit, path, line in places:
            if line not in self._blamed[commit, path]:
                wanted[commit, path].add(line)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for at, found in pool.map(self._plain, wanted.items()):
                self._blamed[at].update(found.rows)
                for commit, details in found.details.items():
                    self.details.setdefault(commit, details)
                self._ends |= found.ends

    def _plain(self, wanted: tuple[_At, set[int]]) -> tuple[_At, Blamed]:
        (commit, path), lines = wanted
        try:
            return (commit, path), plain_blame(self.ours, commit, path, lines)
        except GitError as error:
            raise missing(self.head, error) from None

    def _step(self, places: Collection[_At]) -> None:
        """Find the steps of files that have none yet. Where history ends there are none."""
        unknown = sorted(set(places) - self._backs.keys())
        self._backs.update({at: Back() for at in unknown if at[0] in self._ends})
        names = sorted({commit for commit, path in unknown if commit not in self._ends})
        commits = {commit.id: commit for commit in self._read(names)}
        wanted = [(commits[name], path) for name, path in unknown if name in commits]
        self._backs.update(self.steps.back(wanted))

    def _read(self, names: list[str]) -> Iterator[Commit]:
        if names:
            yield from read_commits(self.head, names)

    def _origin(self, line: _Line, row: Row, passed: Sequence[Passed], back: Back) -> Origin:
        index, number = line
        return Origin(
            number,
            self.asked[index].rows[number - 1],
            row.commit,
            row.path,
            row.line,
            tuple(passed),
            boundary=row.commit in self._ends,
            claim=back.claim if back.claim is not None and back.claim.fault else None,
            previous=row.previous or back.previous,
        )
