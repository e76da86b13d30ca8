"""Tries what a plan can say against the target, and keeps what comes nearer to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transforms.reading.model import FORMATS, Plan
from verify.inference.draft import Draft
from verify.inference.settings import Change, Settings
from verify.inference.trials import Trial, Trials

_FEWEST_TRIALS, _MOST_TRIALS = 12, 48  # each applies a whole plan
_MOST_BYTES = 12 << 20  # of files that trials make


class Search:
    """Looks among the plans near a draft for the one that comes nearest to the target."""

    def __init__(self, draft: Draft, trials: Trials) -> None:
        self.settings, self.trials = Settings(draft, trials), trials
        self._start, self._most = trials.number, _MOST_TRIALS
        self._tried: dict[str, int] = {}  # a change by its name: how far off its file then was

    def best(self, plan: Plan) -> Trial:
        """Improve a plan one change at a time, until none brings it nearer."""
        first = self.trials.attempt(plan)
        made = sum(len(entry.data) for entry in first.given.values() if entry) + 1
        self._most = max(_FEWEST_TRIALS, min(_MOST_TRIALS, _MOST_BYTES // made))
        best = self._improved(first)
        if not best.exact and first.outcome is not None:
            older = self.trials.attempt(replace(first.plan, format=FORMATS[0]))
            if older.cost < first.cost:
                self._tried.clear()
                best = min(best, self._improved(older), key=lambda trial: trial.cost)
        return best

    def _spent(self) -> bool:
        return self.trials.number - self._start >= self._most

    def _improved(self, best: Trial) -> Trial:
        improved = True
        while improved and not best.exact and not self._spent():
            improved = False
            for group in self.settings.changes(best):
                untried = [change for change in group if self._is_new(best, change)]
                better = self._together(best, untried) if untried else best
                if better is not best:
                    best, improved = better, True
                if best.exact or self._spent():
                    break
        return best

    def _is_new(self, best: Trial, change: Change) -> bool:
        """Whether a change was not tried yet with its file as it is now."""
        off = best.off.get(change.path, -1) if best.outcome is not None else -2
        name = f"{change.name} {change.path}"
        known = self._tried.get(name) == off
        self._tried[name] = off
        return not known

    def _together(self, best: Trial, changes: Sequence[Change]) -> Trial:
        """Try changes of several files at once, then those alone that brought their file nearer."""
        trial = self.trials.attempt(_edited(best.plan, changes))
        if trial.outcome is None and len(changes) > 1:  # one of them is impossible
            for change in changes:
                best = self._together(best, [change])
            return best
        helped = [c for c in changes if trial.off.get(c.path, 0) < best.off.get(c.path, 0)]
        if helped and len(helped) < len(changes):
            trial = self.trials.attempt(_edited(best.plan, helped))
        return trial if trial.cost < best.cost else best


def _edited(plan: Plan, changes: Iterable[Change]) -> Plan:
    for change in changes:
        plan = change.edit(plan)
    return plan
