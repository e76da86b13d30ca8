"""The order of judgement: entries are run on both sides, compared, and read off."""

from __future__ import annotations

from collections.abc import Hashable

from verify.kernel.bodies import Bodies, Reference
from verify.kernel.both import Both
from verify.kernel.copies import Copies
from verify.kernel.entries import Entry, entries
from verify.kernel.lookups import Lookups
from verify.kernel.machine.values import Class, Function
from verify.kernel.runs import Run, Runs
from verify.kernel.traces import Comparison, Gains
from verify.kernel.verdict import BASE, BREAKS, TARGET, Place
from verify.kernel.writes import Writes

Resolved = list[tuple[Reference, Hashable]]


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
        self.statements: dict[str, dict[str, tuple[set[str], set[str]]]] = {}

    def run(self) -> None:
        """Judge all entries."""
        for entry in entries(self.both.base, self.both.target, self.both.changed):
            one, two = self.runs.pair(entry)
            self._entry(entry, one, two)
        self.writes.report()
        self.lookups.report()

    def _entry(self, entry: Entry, one: Run, two: Run) -> None:
        Comparison(self.both, entry, one, two, self.gains).run()
        self.copies.check(two.machine)
        self.lookups.note(one.machine, two.machine)
        self._bodies(entry, one, two)

    def _bodies(self, entry: Entry, one: Run, two: Run) -> None:
        ours, theirs = Bodies(one.machine), Bodies(two.machine)
        shared = one.machine.definitions.keys() & two.machine.definitions.keys()
        for name in sorted(shared, key=repr):
            a, b = one.machine.definitions[name].value, two.machine.definitions[name].value
            title = getattr(b.node, "name", "lambda")
            reads: tuple[set[tuple[str, str]], set[tuple[str, str]]] = (set(), set())
            self._references(ours.resolve(a, reads[0]), theirs.resolve(b, reads[1]), b)
            if isinstance(a, Function) and isinstance(b, Function):
                p, q = ours.probe(a), theirs.probe(b)
                self.lookups.note(one.machine, two.machine)
                for side, probe, seen in ((BASE, p, reads[0]), (TARGET, q, reads[1])):
                    self.writes.read(side, name, title, probe.reads | seen)
                    for what, (path, line) in probe.writes.items():
                        self.writes.write(side, name, what, Place(path, line, side))
                if [e.what for e in p.events] != [e.what for e in q.events]:
                    place = Place(b.scope.module.path, b.node.lineno)
                    self.both.found.say(BREAKS, title, "what it does when called differs", place)

    def _references(self, first: Resolved, second: Resolved, b: Function | Class) -> None:
        title = getattr(b.node, "name", "lambda")
        path = b.scope.module.path
        if len(first) != len(second):
            first, second = _aligned(first), _aligned(second)
        for (one, means), (two, now) in zip(first, second, strict=False):
            if means != now:
                spelled = ".".join(two.parts)
                why = f"`{spelled}` in it is something else than `{'.'.join(one.parts)}` was"
                if now[0] == "unbound":
                    why = f"`{spelled}` in it is bound to nothing"
                self.both.found.say(BREAKS, title, why, Place(path, two.line))


def _aligned(found: Resolved) -> Resolved:
    """Keep one of each spelling where a body's imports changed what it refers to."""
    return sorted({reference.parts: (reference, means) for reference, means in found}.items())
