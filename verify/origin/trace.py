"""The walk back from a commit: for each line of a file, where it comes from.

A line goes from claim to claim, a step each, until it ends. All lines that are in one file of one
commit at the same time take their step at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from transforms.tree import GitTree
from verify.chain.cache import VerdictCache
from verify.history.commits import Commit, read_commits
from verify.origin.asked import Asked
from verify.origin.claims import Claim
from verify.origin.details import details_of
from verify.origin.kept import MOVED, STAYED, Back, Step
from verify.origin.sealed import sealed, shallow_commits
from verify.origin.steps import Steps

Say = Callable[[int, int], None]  # told how many lines of how many are traced to their end


@dataclass(frozen=True, slots=True)
class Passed:
    """A step to another place: by a proved move, in a commit with a plan, or as git follows it.

    `commit` is the one that made the move, empty for a step of git's between two claims.
    """

    step: Step
    commit: str = ""
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
        shallow = shallow_commits(ours)
        walk = _Walk(asked, Steps(head, ours, verdicts, installing), shallow, say)
        lines = walk.lines()
        walk.steps.prune()
        details = details_of(ours, {line.commit for each in lines for line in each})
    return [Traced(one, lines[n], details, bool(shallow)) for n, one in enumerate(asked)]


_At = tuple[str, str]  # a commit, and a path in it
_Line = tuple[int, int]  # which of the files that were asked about, and a line of it


class _Walk:
    def __init__(
        self,
        asked: Sequence[Asked],
        steps: Steps,
        shallow: Collection[str],
        say: Say | None,
    ) -> None:
        self.asked, self.steps, self.shallow, self.say = asked, steps, shallow, say
        self.head: GitTree = asked[0].head
        self._backs: dict[_At, Back] = {}
        self._commits: dict[str, Commit] = {}

    def lines(self) -> list[tuple[Origin, ...]]:
        """Give the origins of the lines of each file that was asked about."""
        waiting = {
            (index, number): Step(STAYED, self.head.commit, one.path, number)
            for index, one in enumerate(self.asked)
            for number in range(one.first, one.last + 1)
        }
        passed: dict[_Line, tuple[Passed, ...]] = dict.fromkeys(waiting, ())
        ends: dict[_Line, tuple[Step, Back]] = {}
        while waiting:
            self._go_back({(step.commit, step.path) for step in waiting.values()})
            further = {}
            for line, here in waiting.items():
                back = self._backs[here.commit, here.path]
                step = back.step(here.line)
                if step.kind != STAYED:
                    passed[line] = (*passed[line], self._passing(here, step))
                if step.ends:
                    ends[line] = step, back
                else:
                    further[line] = step
            self._read({step.commit for step in further.values()})
            waiting = {line: step for line, step in further.items() if self._goes_on(step)}
            ends |= {line: (further[line], Back(())) for line in further.keys() - waiting.keys()}
            if self.say is not None:
                self.say(len(ends), len(passed))
        return [
            tuple(
                self._origin((index, number), *ends[index, number], passed[index, number])
                for number in range(one.first, one.last + 1)
            )
            for index, one in enumerate(self.asked)
        ]

    def _go_back(self, places: Collection[_At]) -> None:
        """Find the steps of files that have none yet, each file of a commit once for all."""
        unknown = sorted(set(places) - self._backs.keys())
        self._read({commit for commit, _ in unknown if commit in self.steps.claiming})
        for at in unknown:
            known = self.steps.known(*at)
            if known is not None:
                self._backs[at] = known
                if known.judged:
                    self.steps.claim(self._commits[at[0]], known.fault)
        unknown = [at for at in unknown if at not in self._backs]
        between = [(*at, self.steps.stops(at[0])) for at in unknown if not self._claims(at)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            # Git alone works there. Nothing is parsed in a thread: where two threads parse at once,
            # CPython loses count of depth (python/cpython#106905).
            found = pool.map(lambda each: self.steps.between(*each), between)
            for (commit, path, _), back in zip(between, found, strict=True):
                self._backs[commit, path] = back
                if commit != self.head.commit:
                    self.steps.keep(commit, path, back)
        for commit, path in filter(self._claims, unknown):
            back = self.steps.passing(self._commits[commit], path)
            self._backs[commit, path] = back
            self.steps.keep(commit, path, back)

    def _claims(self, at: _At) -> bool:
        return at[0] in self.steps.claiming

    def _read(self, names: Collection[str]) -> None:
        """Read commits, where not yet done."""
        unknown = sorted(set(names) - self._commits.keys())
        if unknown:
            self._commits.update((c.id, c) for c in read_commits(self.head, unknown))

    def _goes_on(self, step: Step) -> bool:
        """Whether there is more to be found further back: not where history ends."""
        commit = self._commits[step.commit]
        claims = commit.id in self.steps.claiming
        return claims or bool(commit.parents and commit.id not in self.shallow)

    def _passing(self, here: Step, step: Step) -> Passed:
        if here.commit not in self.steps.claiming:
            return Passed(step)
        plan = self.steps.claim(self._commits[here.commit]).plan if step.kind == MOVED else ""
        return Passed(step, here.commit, plan)

    def _origin(self, line: _Line, step: Step, back: Back, passed: tuple[Passed, ...]) -> Origin:
        index, number = line
        commit = self._commits.get(step.commit)
        ends = commit is not None and (not commit.parents or commit.id in self.shallow)
        return Origin(
            number,
            self.asked[index].rows[number - 1],
            step.commit,
            step.path,
            step.line,
            passed,
            boundary=ends,
            claim=self.steps.claim(commit) if commit is not None and back.fault else None,
            previous=step.previous,
        )
