"""One stretch of the way: onto a commit as git does, or over a split by its plan.

Over a split, the tree before and the tree after each commit become what the plan makes of them, and
what lies between the two is merged into what the branch stands on by then. Where the plan gives
just what the split left, that is what the plan makes of the branch, byte for byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from transforms.engine import apply
from transforms.errors import Refusal
from transforms.formatters import Formatters
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.carry.branch import Own
from verify.carry.fitting import Fit, Fitting, Told
from verify.carry.merging import Merge, Merges
from verify.carry.replaying import Replays, once
from verify.carry.splits import Split
from verify.history.scratch import Scratch
from verify.history.trailers import read_trailer
from verify.proofs.prove import formatters_of


class Step(NamedTuple):
    """One commit of the branch on its way: whose it is, and the trees it leads between."""

    origin: str
    base: str
    tree: str


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one step: a merge, clean or not, or why the plan cannot be applied.

    Beside a refusal stands the merge that git makes by itself, for a person to begin with.
    """

    merge: Merge
    refusal: Refusal | None = None
    told: tuple[Told, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is left to a person."""
        return self.refusal is None and self.merge.clean


class Workshop:
    """What every stage works with: a scratch repository, merges in it, the branch's own moves."""

    def __init__(self, scratch: Scratch, commits: Mapping[str, Own]) -> None:
        self.scratch, self.commits = scratch, commits
        self.merges = Merges(scratch)
        self._moves: dict[tuple[str, str], str | Refusal] = {}

    def plan_of(self, step: Step) -> str | None:
        """Name the plan that a commit of the branch claims to carry out."""
        return read_trailer(self.commits[step.origin].commit.message).path

    def moved(self, name: str, path: str) -> str:
        """Apply a plan of the branch's own to a tree that has it. Raises `Refusal`."""
        return once(self._moves, (name, path), lambda: self._moved(name, path))

    def _moved(self, name: str, path: str) -> str:
        tree = self.merges.tree(name)
        plan = parse_plan(tree.read(path), path)
        replays = Replays(
            self.scratch, self.merges.tree, lambda: formatters_of(plan.formatters, tree)
        )
        return replays.replay(name, Fit(plan)).tree


class Stage(ABC):
    """A stretch of the way. `commit` and `tree` are what the branch stands on at its end."""

    def __init__(self, commit: str, tree: str) -> None:
        self.commit, self.tree = commit, tree

    @property
    @abstractmethod
    def label(self) -> str:
        """What a reader is told of the stage."""

    @abstractmethod
    def begin(self, chain: Sequence[Step], shop: Workshop) -> None:
        """Take note of all steps before the first is carried. Raises `Refusal`."""

    @abstractmethod
    def _between(self, shop: Workshop, at: int, step: Step, ours: str) -> Result:
        """Carry what lies between the two trees of a step into `ours`."""

    def carry(self, shop: Workshop, at: int, step: Step, ours: str) -> Result:
        """Carry the step that has the number `at` into the tree `ours`."""
        path = shop.plan_of(step)
        if path is not None:
            try:
                own = shop.moved(step.base, path)
            except Refusal as refusal:
                why = f"its own plan is refused where it stood, so it is no move: {refusal.cause}"
                told = (Told("own plan", path, why),)
            else:
                return self._own_move(shop, at, step, ours, (path, own))
            result = self._between(shop, at, step, ours)
            return Result(result.merge, result.refusal, (*told, *result.told))
        return self._between(shop, at, step, ours)

    def _own_move(
        self, shop: Workshop, at: int, step: Step, ours: str, move: tuple[str, str]
    ) -> Result:
        """Make the branch's own move anew, and then what the commit has beside it."""
        path, own = move
        try:
            there = shop.moved(ours, path)
        except Refusal as refusal:
            if refusal.kind != "already-applied":
                return Result(by_git(shop, step, ours), refusal)
            there = ours  # main made the same move
        if own == step.tree:
            return Result(Merge(there))
        told = Told("own plan", path, "the commit has more than its plan gives: that is merged")
        result = self._between(shop, at, Step(step.origin, own, step.tree), there)
        return Result(result.merge, result.refusal, (told, *result.told))


def by_git(shop: Workshop, step: Step, ours: str) -> Merge:
    """Merge a step as git does by itself."""
    return shop.merges.as_git(step.base, ours, step.tree, label_of(step))


def label_of(step: Step) -> str:
    """How conflict markers name a commit of the branch."""
    return f"commit-{step.origin[:12]}"


class Bring(Stage):
    """Onto a commit of main, by git's own three-way merge of each commit."""

    @property
    def label(self) -> str:
        """What a reader is told of the stage."""
        return f"onto {self.commit[:12]}, as a rebase does"

    def begin(self, chain: Sequence[Step], shop: Workshop) -> None:
        """Nothing is to be known."""

    def _between(self, shop: Workshop, at: int, step: Step, ours: str) -> Result:
        return Result(by_git(shop, step, ours))


@dataclass(slots=True)
class _Fits:
    """The plan for the tree that a chain begins with, and for that of each of its steps."""

    first: Fit
    each: list[Fit] = field(default_factory=list)

    def around(self, at: int) -> tuple[Fit, Fit]:
        return (self.each[at - 1] if at else self.first), self.each[at]


class Over(Stage):
    """Over a split, by its plan. `puts` says where symbols go that the branch added."""

    def __init__(self, split: Split, parent: GitTree, puts: Mapping[str, str]) -> None:
        super().__init__(split.commit, split.tree)
        self.split, self._parent, self._puts = split, parent, puts
        self._replays: Replays | None = None

    @property
    def label(self) -> str:
        """What a reader is told of the stage."""
        return f"over {self.commit[:12]}, by {self.split.origin}"

    @cached_property
    def _formatters(self) -> Formatters:
        return formatters_of(self.split.plan.formatters, self._parent)

    def begin(self, chain: Sequence[Step], shop: Workshop) -> None:
        """Fit the plan to each tree, in their order: what one decides holds for the next."""
        if self._replays is None:
            self._replays = Replays(shop.scratch, shop.merges.tree, lambda: self._formatters)
        self._replays.opened = shop.merges.tree  # the trees of other branches may go
        fitting = Fitting(self.split.plan, self._parent, self._puts)
        self._fits = _Fits(self._fit(fitting, shop.merges.tree(chain[0].base)))
        # Where main itself cannot be split so, no commit of the branch is to blame.
        self._replays.replay(chain[0].base, self._fits.first)
        for step in chain:
            self._fits.each.append(self._fit(fitting, shop.merges.tree(step.tree)))

    def _fit(self, fitting: Fitting, tree: GitTree) -> Fit:
        """Fit the plan to a tree; one in which the branch made the same move stays as it is."""
        fit = fitting.fit(tree)
        if fit.why is None:
            return fit
        try:
            apply(self.split.plan, tree)
        except Refusal as refusal:
            if refusal.kind == "already-applied":
                return Fit(fit.plan, made=True)
        return fit

    def _between(self, shop: Workshop, at: int, step: Step, ours: str) -> Result:
        if self._replays is None:
            raise TypeError("the stage has not begun")
        before, after = self._fits.around(at)
        told = tuple(item for item in after.told if item not in before.told)
        if shop.plan_of(step) is not None:
            before = after  # the branch's own move lies between: its plan has been applied to both
        try:
            pair = self._replays.pair((step.base, before), (step.tree, after))
        except Refusal as refusal:
            return Result(by_git(shop, step, ours), refusal, told)
        told += pair[1].told
        merge = shop.merges.exactly(pair[0].tree, ours, pair[1].tree, label_of(step))
        return Result(merge, None, told)
