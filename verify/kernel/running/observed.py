"""Several entries: what one statement reads at import and another changes.

Programs import several entries, in any order. A statement that an entry runs on one side only must
not act, which the comparison of traces sees, and must read nothing that anybody changes. A guard
whose condition acts may not stand where it did not.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable

from verify.kernel.machine import Machine
from verify.kernel.machine.units import LOAD, Event, Unit
from verify.kernel.pairs.both import Both
from verify.kernel.running.runs import Run
from verify.kernel.verdict import BREAKS, Place


class Observed:
    """Collects what statements read and change, over all runs of both sides."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.sees: dict[Hashable, set[Hashable]] = defaultdict(set)
        self.changes: dict[Hashable, set[Hashable]] = defaultdict(set)
        self.apart: dict[Hashable, tuple[str, str]] = {}  # run on one side only: by which entry
        self._alike: dict[tuple[int, int], bool] = {}

    def entry(self, name: str, one: Run, two: Run, *, done: bool) -> None:
        """Note which statements an entry runs on one side only."""
        if not done:
            return
        ours, theirs = self._ran(one, two), self._ran(two, one)
        for ran in ours.keys() ^ theirs.keys():
            site = ours.get(ran, theirs.get(ran))
            now = "no longer runs" if ran in ours else "now runs"
            self.apart.setdefault(site, (name, now))

    def body(self, name: str, one: Iterable[Event], two: Iterable[Event]) -> None:
        """Note which statements a body runs on one side only, by what it imports."""
        ours, theirs = _below(one), _below(two)
        for ran in ours.keys() ^ theirs.keys():
            now = "no longer runs" if ran in ours else "now runs"
            self.apart.setdefault(ours.get(ran, theirs.get(ran)), (name, now))

    def _ran(self, run: Run, other: Run) -> dict[str, Hashable]:
        """Give what a run has run, but for units that did the same on the other side."""
        found: dict[str, Hashable] = {}
        for unit in run.units:
            twin = other.by_root.get(unit.root)
            if twin is None or not self._same(unit, twin):
                found |= unit.ran
        return found

    def _same(self, one: Unit, two: Unit) -> bool:
        pair = min(one.number, two.number), max(one.number, two.number)
        if pair not in self._alike:
            self._alike[pair] = one.ran.keys() == two.ran.keys()
        return self._alike[pair]

    def note(self, *machines: Machine) -> None:
        """Collect what runs have read and changed."""
        for machine in machines:
            for what, sites in machine.sees.items():
                self.sees[what] |= sites
            for what, sites in machine.changes.items():
                self.changes[what] |= sites

    def guards(self, one: Run, two: Run) -> None:
        """Check that no acting condition of an import stands more often than before."""
        ours = Counter(ast.dump(test) for _, test in _guards(one))
        theirs = Counter(ast.dump(test) for _, test in _guards(two))
        for (path, line), test in _guards(two):
            if theirs[ast.dump(test)] > ours[ast.dump(test)] and not self._came(path, line):
                why = "this condition acts, and now it is asked twice"
                self.both.found.say(BREAKS, ast.unparse(test)[:50], why, Place(path, line))

    def _came(self, path: str, line: int) -> bool:
        """Tell whether a line of the target is in a statement that stood before, and once."""
        if path not in self.both.changed:
            return True
        pairing = self.both.pairing
        return any(
            statement.first <= line <= statement.last
            and (path, statement.index) in pairing.base_of
            and (path, statement.index) not in pairing.copies
            for statement in self.both.target.source(path).statements
        )

    def report(self) -> None:
        """Report statements that read what another changes, and that an entry runs on one side."""
        for what, readers in self.sees.items():
            writers = self.changes.get(what, set())
            for site in readers & self.apart.keys():
                if writers - {site}:
                    entry, now = self.apart[site]
                    why = f"{entry} {now} a statement that reads what another one changes"
                    self.both.found.say(BREAKS, entry, why, *self._place(site))

    def _place(self, site: Hashable) -> tuple[Place, ...]:
        if isinstance(site, tuple) and len(site) == 2:
            path, index = site
            if path in self.both.base.files and isinstance(index, int):
                return (self.both.place(self.both.base, (path, index)),)
        return ()


def _below(events: Iterable[Event]) -> dict[str, Hashable]:
    """Give the statements of all units that events load."""
    found: dict[str, Hashable] = {}
    seen: set[int] = set()
    todo = [*events]
    while todo:
        unit = todo.pop().what
        if unit[0] == LOAD and isinstance(unit[1], Unit) and unit[1].number not in seen:
            seen.add(unit[1].number)
            found |= unit[1].ran
            todo += unit[1].events
    return found


def _guards(run: Run) -> list[tuple[tuple[str, int], ast.expr]]:
    """List the acting conditions in the modules of a run."""
    there = {getattr(module, "path", "") for unit in run.units for module in unit.modules.values()}
    return [(at, test) for at, test in run.machine.guards.items() if at[0] in there]
