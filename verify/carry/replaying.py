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
from transforms.move.deleted import paths_of_deleted
from transforms.reading.load import dump_plan
from transforms.reading.model import AuthoredDeletion, AuthoredEdit, AuthoredFile, Plan
from transforms.tree import GitTree
from verify.carry.fitting import Fit, Told, without_empty
from verify.history.scratch import Scratch

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_FILE, _EDIT, _DELETION = "file", "edit", "deletion"
Skipped = frozenset[tuple[str, int]]  # literal text that is left out: its kind and its number
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
        skipped, told = self._touched(before, after), tuple[Told, ...]()
        while True:
            first = self.replay(*before, skipped)
            second = self.replay(*after, first.skipped)
            told = tuple(dict.fromkeys((*told, *first.told, *second.told)))
            if second.skipped == first.skipped:
                return first, replace(second, told=told)
            skipped = second.skipped

    def _touched(self, before: tuple[str, Fit], after: tuple[str, Fit]) -> Skipped:
        """Give the deletions of files that a commit changes: what it did there must not vanish.

        With the files on both sides, merging asks about them where the split has deleted them.
        """
        found: set[tuple[str, int]] = set()
        if before[1].plan.deletions and not (before[1].made or after[1].made):
            old, new = self.opened(before[0]), self.opened(after[0])
            for tree, (_, fit) in ((old, before), (new, after)):
                for number, path in enumerate(paths_of_deleted(fit.plan, tree)):
                    if path is not None and old.blob(path) != new.blob(path):
                        found.add((_DELETION, number))
                        found |= {
                            (_FILE, n) for n, f in enumerate(fit.plan.files) if str(f.file) == path
                        }
        return frozenset(found)

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
    files = tuple(f for n, f in enumerate(plan.files) if (_FILE, n) not in skipped)
    edits = tuple(e for n, e in enumerate(plan.edits) if (_EDIT, n) not in skipped)
    gone = tuple(d for n, d in enumerate(plan.deletions) if (_DELETION, n) not in skipped)
    return replace(plan, files=files, edits=edits, deletions=gone)


def _literal(plan: Plan, refusal: Refusal) -> tuple[str, int] | None:
    """Find the literal text of the plan that a refusal is about."""
    for kind, items in _literals(plan).items():
        for number, item in enumerate(items):
            if _is_at(plan, item.line, refusal):
                return kind, number
    return None


def _literals(plan: Plan) -> dict[str, tuple[AuthoredFile | AuthoredEdit | AuthoredDeletion, ...]]:
    return {_FILE: plan.files, _EDIT: plan.edits, _DELETION: plan.deletions}


def _is_at(plan: Plan, line: int, refusal: Refusal) -> bool:
    place = refusal.place
    return line > 0 and place is not None and (place.path, place.line) == (plan.path, line)


def _told(plan: Plan, unfit: tuple[str, int], refusal: Refusal) -> Told:
    kind, number = unfit
    file = _literals(plan)[kind][number].file
    message = f"literal text of the plan does not fit and is left out: {refusal.cause}"
    return Told("skipped", str(file), message)
