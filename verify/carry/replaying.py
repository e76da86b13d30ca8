"""What a plan makes of a tree of the branch, and what it can no longer say there.

Literal text of a plan that does not fit is left out, on both sides of what is compared: then the
merge into what the split left says whether the branch touched it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from transforms.engine import apply
from transforms.errors import Refusal
from transforms.formatters import Formatters
from transforms.reading.load import dump_plan
from transforms.reading.model import Plan
from transforms.tree import GitTree
from verify.carry.fitting import Fit, Told, without_empty
from verify.history.scratch import Scratch

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Skipped = frozenset[tuple[str, int]]  # literal text that is left out: `file` or `edit`, its number
NOTHING: Skipped = frozenset()


def once(known: dict[_Key, _Value | Refusal], key: _Key, make: Callable[[], _Value]) -> _Value:
    """Give what is made for a key, made once; so is a refusal. Raises `Refusal`."""
    if key not in known:
        try:
            known[key] = make()
        except Refusal as refusal:
            known[key] = refusal
    found = known[key]
    if isinstance(found, Refusal):
        raise found
    return found


@dataclass(frozen=True, slots=True)
class Replayed:
    """The tree that a plan makes of another one, and what of it was left out."""

    tree: str
    skipped: Skipped
    told: tuple[Told, ...]


class Replays:
    """Applies plans to trees, each once. `opened` gives the tree of an id."""

    def __init__(
        self,
        scratch: Scratch,
        opened: Callable[[str], GitTree],
        formatters: Callable[[], Formatters],
    ) -> None:
        self._scratch, self.opened, self._formatters = scratch, opened, formatters
        self._known: dict[tuple[str, str, Skipped], Replayed | Refusal] = {}

    def pair(self, before: tuple[str, Fit], after: tuple[str, Fit]) -> tuple[Replayed, Replayed]:
        """Apply a plan to both sides of a commit, with the same literal text left out.

        Raises `Refusal` where it cannot be applied to one of them.
        """
        skipped, told = NOTHING, tuple[Told, ...]()
        while True:
            first = self.replay(*before, skipped)
            second = self.replay(*after, first.skipped)
            told = tuple(dict.fromkeys((*told, *first.told, *second.told)))
            if second.skipped == first.skipped:
                return first, replace(second, told=told)
            skipped = second.skipped

    def replay(self, tree: str, fit: Fit, skipped: Skipped = NOTHING) -> Replayed:
        """Apply a plan to a tree. Raises `Refusal`."""
        if fit.made:
            return Replayed(tree, skipped, ())
        if fit.why is not None:
            raise fit.why
        plan = without_empty(fit.plan)
        key = tree, dump_plan(plan), skipped
        return once(self._known, key, lambda: self._replay(tree, plan, skipped))

    def _replay(self, name: str, plan: Plan, skipped: Skipped) -> Replayed:
        tree = self.opened(name)
        told: list[Told] = []
        accepts = plan.accepts
        while True:
            left = replace(_left(plan, skipped), accepts=accepts)
            try:
                outcome = apply(left, tree, formatters=self._formatters())
            except Refusal as refusal:
                unfit = _literal(plan, refusal)
                unneeded = [a for a in accepts if _is_at(plan, a.line, refusal)]
                if unfit is not None and unfit not in skipped:
                    skipped |= {unfit}
                    told.append(_told(plan, unfit, refusal))
                elif refusal.kind == "accept-unneeded" and unneeded:
                    accepts = tuple(item for item in accepts if item not in unneeded)
                else:
                    raise
            else:
                changed = self._scratch.changed(name, outcome.changes.after())
                return Replayed(changed, skipped, tuple(told))


def _left(plan: Plan, skipped: Skipped) -> Plan:
    files = tuple(f for n, f in enumerate(plan.files) if ("file", n) not in skipped)
    edits = tuple(e for n, e in enumerate(plan.edits) if ("edit", n) not in skipped)
    return replace(plan, files=files, edits=edits)


def _literal(plan: Plan, refusal: Refusal) -> tuple[str, int] | None:
    """Find the literal text of the plan that a refusal is about."""
    for kind, lines in (
        ("file", [file.line for file in plan.files]),
        ("edit", [edit.line for edit in plan.edits]),
    ):
        for number, line in enumerate(lines):
            if _is_at(plan, line, refusal):
                return kind, number
    return None


def _is_at(plan: Plan, line: int, refusal: Refusal) -> bool:
    place = refusal.place
    return line > 0 and place is not None and (place.path, place.line) == (plan.path, line)


def _told(plan: Plan, unfit: tuple[str, int], refusal: Refusal) -> Told:
    kind, number = unfit
    file = plan.files[number].file if kind == "file" else plan.edits[number].file
    message = f"literal text of the plan does not fit and is left out: {refusal.cause}"
    return Told("skipped", str(file), message)
