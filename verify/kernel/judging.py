"""The order of judgement: entries are run on both sides, compared, and read off."""

from __future__ import annotations

import ast

from verify.kernel import doctests, strings, tests
from verify.kernel.bodies import Bodies, Resolved
from verify.kernel.both import Both
from verify.kernel.conserve import symbol
from verify.kernel.copies import Copies
from verify.kernel.entries import Arrival, arrivals, entries, near
from verify.kernel.explain import Edits
from verify.kernel.lookups import Lookups
from verify.kernel.machine.values import Class, Function, Made
from verify.kernel.observed import Observed
from verify.kernel.runs import DONE, Run, Runs
from verify.kernel.source import DEFINITIONS
from verify.kernel.traces import Comparison, Gains
from verify.kernel.verdict import BREAKS, Place
from verify.kernel.writes import Writes


def judge(both: Both) -> None:
    """Run every entry in both trees and report what differs."""
    Judge(both).run()


class Judge:
    """Everything that is known from all entries."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.runs = Runs(both)
        self.gains = Gains()
        self.writes = Writes(both)
        self.lookups = Lookups(both, self.gains)
        self.copies = Copies(both)
        self.observed = Observed(both)
        self.edits = Edits(both)

    def run(self) -> None:
        """Judge all entries."""
        self.runs.near = near(self.both.base, self.both.changed)
        self.runs.near |= near(self.both.target, self.both.changed)
        for entry in entries(self.both.base, self.both.target, self.runs.near):
            one, two = self.runs.pair(entry)
            done = Comparison(self.both, entry, one, two, self.gains).run()
            self.observed.entry(str(entry), one.machine, two.machine, done=done)
            self._read(one, two)
        for arrival in arrivals(self.both):
            self._arrival(arrival)
        tests.check(self.both, self.runs)
        doctests.check(self.both)
        strings.check(self.both)
        self.writes.report()
        self.lookups.report()
        self.observed.report()
        self.edits.report()

    def _arrival(self, arrival: Arrival) -> None:
        """Look at code where it arrives, beside where it comes from, whoever else loads it."""
        one, two = self.runs.together(arrival)
        if two.ended != DONE and one.ended == DONE and two.failure is not None:
            about = two.failure.about or two.failure.outside
            why = f"importing it raises {two.failure.error}: {about}"
            name = self.both.name(arrival.path)
            self.both.found.say(BREAKS, name, why, Place(*two.at))
        self.observed.guards(one.machine, two.machine)
        self._read(one, two)

    def _read(self, one: Run, two: Run) -> None:
        self.copies.check(two.machine)
        self._bodies(one, two)
        for run in (one, two):
            self.writes.note(run.machine)
        self.lookups.note(one.machine, two.machine)
        self.observed.note(one.machine, two.machine)
        self.edits.note(one.machine, two.machine)

    def _bodies(self, one: Run, two: Run) -> None:
        ours, theirs = Bodies(one.machine), Bodies(two.machine)
        shared = one.machine.definitions.keys() & two.machine.definitions.keys()
        for name in sorted(shared, key=repr):
            a, b = one.machine.definitions[name].value, two.machine.definitions[name].value
            self._definition(name, (ours, a), (theirs, b))
        self._tops(ours, theirs)

    def _tops(self, ours: Bodies, theirs: Bodies) -> None:
        """Compare what compound statements refer to, whatever branch the runs take."""
        for target, base in self.both.pairing.base_of.items():
            node = self.both.statement(self.both.target, target).node
            if isinstance(node, (*DEFINITIONS, ast.Assign, ast.Expr)):
                continue
            first = ours.top(*base, set())
            second = theirs.top(*target, set())
            if first is not None and second is not None:
                name = (("top", base, ""), 0)
                self._compare(name, symbol(node), target[0], first, second)

    def _definition(
        self,
        name: Made,
        one: tuple[Bodies, Function | Class],
        two: tuple[Bodies, Function | Class],
    ) -> None:
        title = getattr(two[1].node, "name", "lambda")
        found = []
        for bodies, value in (one, two):
            reads: set[tuple[str, str]] = set()
            found.append(bodies.resolve(value, reads))
            self.writes.read(bodies.machine.tree.side, name, title, reads)
        self._references(name, found[0], found[1], two[1])
        if isinstance(one[1], Function) and isinstance(two[1], Function):
            p, q = one[0].probe(one[1]), two[0].probe(two[1])
            for probe, (bodies, _) in ((p, one), (q, two)):
                self.writes.read(bodies.machine.tree.side, name, title, probe.reads)
            if p.acts != q.acts:
                place = Place(two[1].scope.module.path, two[1].node.lineno)
                self.both.found.say(BREAKS, title, "what it does when called differs", place)

    def _references(
        self, name: Made, first: Resolved, second: Resolved, b: Function | Class
    ) -> None:
        title = getattr(b.node, "name", "lambda")
        self._compare(name, title, b.scope.module.path, first, second)

    def _compare(
        self, name: Made, title: str, path: str, first: Resolved, second: Resolved
    ) -> None:
        if len(first) != len(second):
            first, second = _aligned(first, second), _aligned(second, first)
        for (one, means), (two, now) in zip(first, second, strict=False):
            if means == now:
                self.edits.same(name, one.parts, two.parts)
                continue
            spelled = ".".join(two.parts)
            why = f"`{spelled}` in it is something else than `{'.'.join(one.parts)}` was"
            if isinstance(now, tuple) and now[0] == "unbound":
                why = f"`{spelled}` in it is bound to nothing"
            self.both.found.say(BREAKS, title, why, Place(path, two.line))


def _aligned(found: Resolved, other: Resolved) -> Resolved:
    """Keep one of each spelling that both have, where a body's imports changed what it has."""
    shared = {reference.parts for reference, _ in other}
    kept = {reference.parts: (reference, means) for reference, means in found}
    return [kept[parts] for parts in sorted(kept) if parts in shared]
