"""Trials: what a plan gives of the target, and how far off it is; what is refused is mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from transforms import engine
from transforms.errors import Refusal
from transforms.formatters import Formatters, no_formatters, repository_formatters
from transforms.reading.model import Plan
from transforms.result.diff import edits
from transforms.result.outcome import Outcome
from transforms.tree import GitTree
from verify.history.ranges import Entry, differing, entries_at
from verify.inference.evidence import File
from verify.inference.mending import mended, numbered
from verify.inference.remembered import RememberedTree

_MOST_MENDED = 40  # refusals of one plan, each for another cause


@dataclass(frozen=True, slots=True)
class Trial:
    """What a plan gives: lines that differ from the target, by path; or why it is refused."""

    plan: Plan
    outcome: Outcome | None
    given: dict[str, Entry | None]
    off: dict[str, int]
    refusal: Refusal | None = None

    @property
    def exact(self) -> bool:
        """Whether the plan gives the target."""
        return self.outcome is not None and not self.off

    @property
    def cost(self) -> tuple[bool, int, int]:
        """Less is nearer: refused or not, lines that differ or are literal, then all it says."""
        literal = self.plan.authored_lines + sum(self.off.values())
        return self.outcome is None, literal, _weight(self.plan)


class Trials:
    """Trials against one target. `number` counts them; `without`: why nothing is formatted."""

    def __init__(self, base: GitTree, target: GitTree, old: Mapping[str, File]) -> None:
        self._old = old
        self.base, self.target = base, target
        self.tree = RememberedTree(base)
        self.changed = differing(base, target)
        self._had = entries_at(base, self.changed)
        self._wanted = entries_at(target, self.changed)
        self._repository = cache(lambda: repository_formatters(base))
        self.number = 0
        self.without: Refusal | None = None

    def formatters(self, kind: str) -> Formatters:
        """Give the formatters of a plan. Raises `Refusal` where the repository's cannot be had."""
        return no_formatters() if kind == "none" else self._repository()

    def attempt(self, plan: Plan, *, cycles: bool = False) -> Trial:
        """Apply a plan and compare; where it is refused, one that is mended.

        Whether it makes import `cycles` costs most, and changes a plan only by what it accepts: it
        is asked once, of the plan that is found.
        """
        refusal: Refusal | None = None
        for _ in range(_MOST_MENDED):
            plan = numbered(plan)
            try:
                return self._applied(plan, cycles=cycles)
            except Refusal as found:
                refusal = found
                if refusal.kind.startswith("formatter-"):
                    self.without = refusal
                better = mended(plan, refusal, self.target, self._old)
                if better is None or better == plan:
                    break
                plan = better
        return Trial(plan, None, {}, {}, refusal)

    def _applied(self, plan: Plan, *, cycles: bool) -> Trial:
        self.number += 1
        formatters = self.formatters(plan.formatters)
        outcome = engine.apply(plan, self.tree, formatters=formatters, cycles=cycles)
        given = {path: Entry.of(blob) for path, blob in outcome.changes.after().items()}
        off = {}
        for path in sorted({*self.changed, *given}):
            have = given[path] if path in given else self._entry(self.base, self._had, path)
            want = self._entry(self.target, self._wanted, path)
            if have != want:
                off[path] = _distance(have, want)
        return Trial(plan, outcome, given, off)

    def _entry(self, tree: GitTree, known: dict[str, Entry], path: str) -> Entry | None:
        if path in known or path in self._had or path in self._wanted:
            return known.get(path)
        return entries_at(tree, [path]).get(path)


def _weight(plan: Plan) -> int:
    settings = (
        len(plan.accepts)
        + plan.authored_lines
        + len(plan.import_from)
        + len(plan.shrink)
        + len(plan.leave)
        + 2 * (not plan.newer)
    )
    for source in plan.sources:
        settings += (source.imports_back != "sorted") + bool(source.reexports)
        settings += source.docstring_first + len(source.type_checking) + bool(source.old)
    for item in plan.destinations:
        settings += len(item.copy) + len(item.carry) + item.licence + len(item.type_checking)
    return settings


def _distance(have: Entry | None, want: Entry | None) -> int:
    """Lines that differ, at least one."""
    mine = have.data.splitlines() if have else []
    theirs = want.data.splitlines() if want else []
    if not mine or not theirs:
        return max(1, len(mine) + len(theirs))
    changes = edits(mine, theirs)
    off = sum(c.old_end - c.old_start + c.new_end - c.new_start for c in changes)
    return max(1, off)
