"""Several entries: what one statement reads at import and another changes.

Programs import several entries, in any order. A statement that an entry runs on one side only must
not act, which the comparison of traces sees, and must read nothing that anybody changes. A guard
whose condition acts may not stand where it did not.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Hashable

from verify.kernel.both import Both
from verify.kernel.machine import Machine
from verify.kernel.verdict import BREAKS, Place


class Observed:
    """Collects what statements read and change, over all runs of both sides."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.sees: dict[Hashable, set[Hashable]] = defaultdict(set)
        self.changes: dict[Hashable, set[Hashable]] = defaultdict(set)
        self.apart: dict[Hashable, tuple[str, str]] = {}  # run on one side only: by which entry

    def entry(self, name: str, one: Machine, two: Machine, *, done: bool) -> None:
        """Note which statements an entry runs on one side only."""
        if not done:
            return
        ours, theirs = one.ran, two.ran
        for ran in (ours.keys() - theirs.keys()) | (theirs.keys() - ours.keys()):
            site = ours.get(ran, theirs.get(ran))
            now = "no longer runs" if ran in ours else "now runs"
            self.apart.setdefault(site, (name, now))

    def covered(self, name: str, one: Machine, two: Machine) -> None:
        """The same for an entry that another's run has loaded as if it were what starts."""
        ours, theirs = (
            set(machine.order[machine.spans[name].ran : machine.spans[name].ran_last])
            for machine in (one, two)
        )
        for site in ours ^ theirs:
            now = "no longer runs" if site in ours else "now runs"
            self.apart.setdefault(site, (name, now))

    def note(self, *machines: Machine) -> None:
        """Collect what runs have read and changed."""
        for machine in machines:
            for what, sites in machine.sees.items():
                self.sees[what] |= sites
            for what, sites in machine.changes.items():
                self.changes[what] |= sites

    def guards(self, one: Machine, two: Machine) -> None:
        """Check that no acting condition of an import stands more often than before."""
        ours = Counter(ast.dump(test) for test in one.guards.values())
        theirs = Counter(ast.dump(test) for test in two.guards.values())
        for (path, line), test in two.guards.items():
            if theirs[ast.dump(test)] > ours[ast.dump(test)]:
                why = "the condition acts, and stands twice"
                self.both.found.say(BREAKS, ast.unparse(test)[:50], why, Place(path, line))

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
