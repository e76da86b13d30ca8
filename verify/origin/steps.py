"""Where the lines of a file that are new in a commit come from: one step back in history.

Through a proved move by its plan; else, and for what the plan does not tell, as `git blame -C`
finds it among the commit's parents. Past a claim that is not proved there is no step. A step hangs
on the commit and the file alone, not on what was asked for, so it is kept.

`-C` is given once: that looks at the files which the commit changed. Given three times git looks at
all there are, and credits the imports that head a new module to a test somewhere that has the same.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.tree import GitTree
from transforms.tree.git import GitError, Repository
from verify.chain.cache import VerdictCache
from verify.history.commits import Commit
from verify.origin.blame import Blamed, copying_blame
from verify.origin.claims import Claim, judged, plan_of, read_claim

MOVED, COPIED = "moved", "copied"
_FOLDER = "origins"  # in the user's cache, beside that of the verdicts


@dataclass(frozen=True, slots=True)
class Step:
    """Where a line stood in a parent: by a proved move (`moved`), or as git finds it (`copied`)."""

    kind: str
    commit: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Run:
    """Steps of `count` lines from `line` on that follow each other on both sides."""

    line: int
    count: int
    kind: str
    commit: str
    path: str
    at: int


@dataclass(frozen=True, slots=True)
class Back:
    """The steps of a file's lines in a commit, in order of lines, and what the commit claims.

    Lines without a step are new there, as far as can be told. `previous` is the commit and the path
    that the file was before, where git finds that it was renamed.
    """

    runs: Sequence[Run] = ()
    claim: Claim | None = None
    previous: tuple[str, ...] = ()

    def step(self, line: int) -> Step | None:
        """Give the step of a line."""
        index = bisect_right(self.runs, line, key=lambda run: run.line) - 1
        if index < 0:
            return None
        run = self.runs[index]
        by = line - run.line
        return Step(run.kind, run.commit, run.path, run.at + by) if by < run.count else None


@dataclass(frozen=True, slots=True)
class _Kept:
    runs: tuple[Run, ...]
    previous: tuple[str, ...]
    fault: str = ""


class Steps:
    """Finds steps, many at a time. `cache` keeps them, and is where verdicts are looked for.

    `say` is told of an installation. An instance is for one thread.
    """

    def __init__(
        self,
        head: GitTree,
        ours: Repository,
        verdicts: VerdictCache | None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.head, self.ours, self.verdicts, self.say = head, ours, verdicts, say
        self.kept = VerdictCache(_FOLDER) if verdicts is not None else None
        self._claims: dict[str, Claim | None] = {}
        self._moves: dict[str, Mapping[str, Mapping[int, tuple[str, int]]]] = {}

    def back(self, wanted: Sequence[tuple[Commit, str]]) -> dict[tuple[str, str], Back]:
        """Give the steps of each file in its commit. Raises `Refusal` where history is missing."""
        found: dict[tuple[str, str], Back] = {}
        unknown = []
        for commit, path in wanted:
            known = self._known(commit, path)
            if known is None:
                unknown.append((commit, path))
            else:
                found[commit.id, path] = known
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            # Nothing is parsed in a thread: where two threads parse at once, CPython loses count of
            # depth (python/cpython#106905). Git is all that works there.
            open_ones = [(commit, path) for commit, path in unknown if self._may_step(commit)]
            copies = list(pool.map(self._copies, open_ones))
        for (commit, path), seen in zip(open_ones, copies, strict=True):
            found[commit.id, path] = self._keep(commit, path, seen)
        for commit, path in unknown:
            if (commit.id, path) not in found:
                found[commit.id, path] = self._keep(commit, path, Blamed())
        return found

    def _known(self, commit: Commit, path: str) -> Back | None:
        """Give what is kept, or what needs no look at the file."""
        claim = self._read(commit)
        if claim is not None and claim.fault:
            return Back((), claim)
        data = self.kept.get(_key(commit, path)) if self.kept is not None else None
        if data is None:
            return None
        if claim is not None:
            claim = Claim(claim.commit, claim.subject, claim.plan, data["fault"])
        runs = [Run(**run) for run in data["runs"]]
        return Back(runs, claim, tuple(data["previous"]))

    def _read(self, commit: Commit) -> Claim | None:
        if commit.id not in self._claims:
            self._claims[commit.id] = read_claim(commit)
        return self._claims[commit.id]

    def _may_step(self, commit: Commit) -> bool:
        """Whether anything may be followed past a commit; a claim is judged for that."""
        claim = self._claims[commit.id]
        if claim is None:
            return True
        if commit.id not in self._moves and not claim.fault:
            self._moves[commit.id] = {}
            claim = judged(claim, commit, self.head, self.verdicts, self.say)
            self._claims[commit.id] = claim
            if not claim.fault:
                self._moves[commit.id] = self._moved(claim, commit)
        return not claim.fault

    def _moved(self, claim: Claim, commit: Commit) -> Mapping[str, Mapping[int, tuple[str, int]]]:
        from verify.origin.moves import moved_lines

        try:
            return moved_lines(*plan_of(claim, commit, self.head))
        except Refusal:  # proved, and read by another Python: git may follow what the plan does not
            return {}

    def _copies(self, wanted: tuple[Commit, str]) -> Blamed:
        """Look where git follows the lines of a file: to files that the commit changed."""
        commit, path = wanted
        try:
            return copying_blame(self.ours, commit.id, commit.parents, path)
        except GitError as error:
            raise missing(self.head, error) from None

    def _keep(self, commit: Commit, path: str, seen: Blamed) -> Back:
        """Put a move's own lines before what git found, and keep both."""
        claim = self._claims[commit.id]
        copied = {
            line: Step(COPIED, row.commit, row.path, row.line)
            for line, row in seen.rows.items()
            if row.commit != commit.id
        }
        moved = {
            line: Step(MOVED, commit.parents[0], source, there)
            for line, (source, there) in self._moves.get(commit.id, {}).get(path, {}).items()
        }
        new = (row.previous for row in seen.rows.values() if row.commit == commit.id)
        back = Back(_folded({**copied, **moved}), claim, next(new, ()))
        if self.kept is not None and not (claim and claim.unjudged):
            fault = claim.fault if claim else ""
            kept = _Kept(tuple(back.runs), back.previous, fault)
            self.kept.put(_key(commit, path), kept)
        return back


def missing(head: GitTree, error: GitError) -> Refusal:
    """Word what git could not read."""
    refusal = head.repository.missing("A part of the history")
    return Refusal(
        refusal.kind,
        f"`git blame` cannot read all of the history: {str(error) or 'an object is missing'}.",
        next_step=refusal.next_step,
        place=refusal.place,
    )


def _key(commit: Commit, path: str) -> str:
    return f"{commit.id} {path}"


def _folded(steps: Mapping[int, Step]) -> list[Run]:
    """Put lines that follow each other on both sides together."""
    runs: list[Run] = []
    for line, step in sorted(steps.items()):
        last = runs[-1] if runs else None
        if last is not None and (
            (last.line + last.count, last.at + last.count) == (line, step.line)
            and (last.kind, last.commit, last.path) == (step.kind, step.commit, step.path)
        ):
            runs[-1] = Run(last.line, last.count + 1, last.kind, last.commit, last.path, last.at)
        else:
            runs.append(Run(line, 1, step.kind, step.commit, step.path, step.line))
    return runs
