"""The whole way of one branch, up to its end or to a stop.

Nothing is written but to a scratch repository. The way can be taken up where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from transforms.errors import Place, Refusal
from transforms.syntax.parsing import parsed_once
from transforms.tree import GitTree
from transforms.tree.git import Repository
from verify.carry.branch import Branch, Own, read_branch
from verify.carry.splits import Split
from verify.carry.stages import Bring, Over, Result, Stage, Step, Workshop
from verify.history.commits import read_commits
from verify.history.ranges import is_ancestor
from verify.history.scratch import Scratch

HEADS = "refs/heads/"
_MAIN = ("refs/remotes/origin/HEAD", f"{HEADS}main", f"{HEADS}master")


class Note(NamedTuple):
    """What is told of one commit of the branch."""

    commit: str
    kind: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done: a branch's tip, the splits before it, and the commit it ends on.

    `mains` are commits of main that may have more than that one: what leads to them is not the
    branch's own.
    """

    branch: str
    tip: str
    onto: str
    mains: tuple[str, ...]
    splits: tuple[Split, ...]
    puts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the way is gone: the stage, its steps as they came in, and those that are done.

    `at` is the number of the next step. `dropped` are commits that main has already, `notes` what
    is told of the others.
    """

    stage: int
    chain: tuple[Step, ...]
    at: int = 0
    done: tuple[Step, ...] = ()
    dropped: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def stepped(self, ours: str, tree: str) -> Progress:
        """Go one step on: a commit that comes to change nothing is dropped."""
        step = self.chain[self.at]
        if tree == ours and step.base != step.tree:
            return replace(self, at=self.at + 1, dropped=(*self.dropped, step.origin))
        return replace(self, at=self.at + 1, done=(*self.done, Step(step.origin, ours, tree)))


@dataclass(frozen=True, slots=True)
class Halt:
    """Where a person is needed: at a step of a stage, whose result is not clean."""

    step: Step
    label: str
    ours: str
    result: Result


class Way:
    """The way of a job, in one scratch repository."""

    def __init__(
        self, repository: Repository, job: Job, scratch: Scratch, shared: Shared | None = None
    ) -> None:
        self.job, self.scratch = job, scratch
        self._shared = shared or Shared(repository)

    @cached_property
    def branch(self) -> Branch:
        """The branch's own commits. Raises `Refusal`."""
        tip = self._shared.tree(self.job.tip)
        found = read_branch(self.job.branch, tip, [self.job.onto, *self.job.mains])
        if not found.commits:
            raise nothing("The branch has no commit that main has not.", found.tip)
        return found

    @cached_property
    def commits(self) -> Mapping[str, Own]:
        """The branch's own commits by id."""
        return {own.id: own for own in self.branch.commits}

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages: onto each split's parent, over it, and at last onto main's later commits."""
        found: list[Stage] = []
        stands = ""
        for split in self.job.splits:
            if split.parent != stands:
                found.append(Bring(split.parent, self._shared.root(split.parent)))
            found.append(self._shared.over(split, self.job.puts))
            stands = split.commit
        if self.job.onto != stands:
            found.append(Bring(self.job.onto, self._shared.root(self.job.onto)))
        return tuple(found)

    def start(self) -> Progress:
        """Give the beginning of the way."""
        steps = tuple(Step(own.id, own.base, own.tree) for own in self.branch.commits)
        return Progress(0, steps)

    def run(self, progress: Progress) -> tuple[Progress, Halt | None]:
        """Go on as far as it goes by itself. Raises `Refusal` where a person must be asked."""
        shop = Workshop(self.scratch, self.commits)
        with parsed_once():
            while progress.stage < len(self.stages):
                stage = self.stages[progress.stage]
                if progress.chain:
                    stage.begin(progress.chain, shop)
                while progress.at < len(progress.chain):
                    progress, halt = self._step(stage, shop, progress)
                    if halt is not None:
                        return progress, halt
                progress = replace(
                    progress, stage=progress.stage + 1, chain=progress.done, at=0, done=()
                )
        return progress, None

    def ours(self, progress: Progress) -> str:
        """Give the tree that the next step is carried into."""
        stage = self.stages[progress.stage]
        return progress.done[-1].tree if progress.done else stage.tree

    def _step(
        self, stage: Stage, shop: Workshop, progress: Progress
    ) -> tuple[Progress, Halt | None]:
        step, ours = progress.chain[progress.at], self.ours(progress)
        result = stage.carry(shop, progress.at, step, ours)
        told = [Note(step.origin, t.kind, t.path, t.message) for t in result.told]
        notes = dict.fromkeys([*progress.notes, *told])
        progress = replace(progress, notes=tuple(notes))
        if not result.clean:
            return progress, Halt(step, stage.label, ours, result)
        return progress.stepped(ours, result.merge.tree), None

    def written(self, steps: Sequence[Step], parent: str) -> list[str]:
        """Write the commits of these steps on a parent; gives their ids, oldest first."""
        made = []
        for step in steps:
            parent = self.scratch.store(
                "commit", self.commits[step.origin].written(step.tree, parent)
            )
            made.append(parent)
        return made


class Shared:
    """What several branches have in common: trees of main, and splits over them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trees: dict[str, GitTree] = {}
        self._roots: dict[str, str] = {}
        self._overs: dict[str, Over] = {}

    def tree(self, commit: str) -> GitTree:
        """Open a commit."""
        if commit not in self._trees:
            self._trees[commit] = GitTree.known(self._repository, commit)
        return self._trees[commit]

    def root(self, commit: str) -> str:
        """Give the id of a commit's tree."""
        if commit not in self._roots:
            self._roots[commit] = next(read_commits(self.tree(commit), [commit])).tree
        return self._roots[commit]

    def over(self, split: Split, puts: Mapping[str, str]) -> Over:
        """Give the stage over a split: what its plan makes of main is asked for once."""
        if split.commit not in self._overs:
            self._overs[split.commit] = Over(split, self.tree(split.parent), puts)
        return self._overs[split.commit]


def nothing(cause: str, commit: str) -> Refusal:
    """Word the refusal of a branch that there is nothing to do for."""
    return Refusal(
        "carry-nothing",
        cause,
        next_step="Name a branch that was begun before the split.",
        place=Place(commit[:12]),
    )


def plan_job(
    branch: tuple[str, str], main: GitTree, splits: Sequence[Split], puts: Mapping[str, str]
) -> Job:
    """Say what is to be done for a branch, a name and its tip; splits that it has are left out.

    Raises `Refusal` where there is nothing to do, and where main does not have the splits.
    """
    name, commit = branch
    tip = GitTree.known(main.repository, commit)
    last = GitTree.known(main.repository, splits[-1].commit)
    if not is_ancestor(last, main):
        raise Refusal(
            "carry-over",
            f"Commit {main.commit[:12]} does not have the split {last.commit[:12]}.",
            next_step="Name with `--onto` a commit that comes after the splits.",
            place=Place(main.commit[:12]),
        )
    left = [
        split
        for split in splits
        if not is_ancestor(GitTree.known(main.repository, split.commit), tip)
    ]
    if not left:
        raise nothing("The branch has the split already.", tip.commit)
    mains = _mains(main.repository, HEADS + name)
    return Job(name, tip.commit, main.commit, mains, tuple(left), puts)


def _mains(repository: Repository, branch: str) -> tuple[str, ...]:
    """List where main stands, by the names that it is found by."""
    known = _commits(repository)
    return tuple(dict.fromkeys(known[ref][1] for ref in _MAIN if ref in known and ref != branch))


def main_of(branch: str, split: GitTree) -> GitTree:
    """Find main: the branch's upstream, else what the remote calls its default, else by name.

    The first that has the split, and the split itself where none has it.
    """
    refs = _commits(split.repository)
    upstream = refs.get(branch, ("", ""))[0]
    for ref in (upstream, *_MAIN):
        if ref in refs and ref != branch:
            tree = GitTree.known(split.repository, refs[ref][1])
            if is_ancestor(split, tree):
                return tree
    return split


def _commits(repository: Repository) -> dict[str, tuple[str, str]]:
    """Give the upstream and the commit of each ref that names one."""
    form = "--format=%(refname)%00%(upstream)%00%(objecttype)%00%(objectname)"
    listed = repository.run("for-each-ref", form).decode("utf-8", "surrogateescape")
    rows = (row.split("\0") for row in listed.splitlines())
    return {ref: (upstream, name) for ref, upstream, kind, name in rows if kind == "commit"}
