"""Writes to a module from anywhere: what a function writes, other functions read.

A write that reached a reader before must reach it after, and no other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field

from verify.kernel.machine import Machine
from verify.kernel.pairs.both import Both
from verify.kernel.reach import far
from verify.kernel.reach.setters import Setters
from verify.kernel.verdict import BREAKS, Place

Name = tuple[str, str]  # a module and a name in it
Definition = Hashable


@dataclass
class _Side:
    readers: dict[Name, set[Definition]] = field(default_factory=lambda: defaultdict(set))
    writers: dict[Definition, dict[Name, Place]] = field(default_factory=lambda: defaultdict(dict))
    titles: dict[Definition, str] = field(default_factory=dict)

    def edges(self) -> dict[tuple[Definition, Definition], tuple[Name, Place]]:
        """List who writes what whom reads."""
        return {
            (writer, reader): (name, place)
            for writer, names in self.writers.items()
            for name, place in names.items()
            for reader in self.readers.get(name, ())
        }


class Writes:
    """Collects writers and readers of both sides over all entries."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.base, self.target = _Side(), _Side()

    def read(self, side: str, reader: Definition, title: str, names: set[Name]) -> None:
        """Note what a function reads of modules."""
        at = self.base if side == self.both.base.side else self.target
        at.titles[reader] = title
        for name in names:
            at.readers[name].add(reader)

    def note(self, machine: Machine) -> None:
        """Note what the functions and statements of a run write."""
        side = machine.tree.side
        at = self.base if side == self.both.base.side else self.target
        for (writer, module, name), (path, line) in machine.written.items():
            at.writers[writer].setdefault((module, name), Place(path, line, side))

    def report(self) -> None:
        """Report writes that reach other readers than before."""
        ours, theirs = self.base.edges(), self.target.edges()
        for one, two, now, titles in (
            (ours, theirs, "no longer", self.base.titles),
            (theirs, ours, "now", self.target.titles),
        ):
            found: dict[Name, tuple[set[str], set[Place]]] = defaultdict(lambda: (set(), set()))
            for edge, (name, place) in one.items():
                if edge not in two and self._shared(edge):
                    found[name][0].add(titles.get(edge[1], "a function"))
                    found[name][1].add(place)
            for name, (readers, places) in found.items():
                self.both.found.say(BREAKS, ".".join(name), _reaches(now, sorted(readers)), *places)

    def report_unknown(self, near: Collection[str]) -> None:
        """Report writes to an object that nobody knows, if it may be a module whose readers moved.

        Such a write reaches every name of that spelling in every module that is used as a value.
        """
        apart: dict[str, set[str]] = defaultdict(set)
        for module, name in self.base.readers.keys() | self.target.readers.keys():
            sides = (self.base, self.target)
            one, two = (set(side.readers.get((module, name), ())) for side in sides)
            if any(reader in side.titles for reader in one ^ two for side in sides):
                apart[name].add(module)
        setters = Setters(self.both, apart) if apart else None
        if setters is not None:
            setters.report(near)
        said = self._said(apart)
        far.report(self.both, said, near)
        writers = (names for side in self._sides() for names in side.writers.values())
        noted = {(name, place.path) for names in writers for name, place in names.items()}
        far.by_texts(self.both, said, noted)

    def _said(self, apart: Mapping[str, set[str]]) -> dict[Name, str]:
        """Say what becomes of a write to each name that other functions read now."""
        found = {}
        for name, modules in apart.items():
            for module in modules:
                ours, theirs = (s.readers.get((module, name), set()) for s in self._sides())
                for readers, now in ((ours - theirs, "no longer"), (theirs - ours, "now")):
                    edges = [reader for reader in readers if self._shared((None, reader))]
                    titles = sorted(self.base.titles[reader] for reader in edges)
                    if titles:
                        found[module, name] = _reaches(now, titles)
        return found

    def _sides(self) -> tuple[_Side, _Side]:
        return self.base, self.target

    def _shared(self, edge: tuple[Definition, Definition]) -> bool:
        return edge[1] in self.base.titles and edge[1] in self.target.titles


def _reaches(now: str, readers: list[str]) -> str:
    first, *more = readers
    rest = f" and {len(more)} more" if more else ""
    return f"a value that is set there while the program runs {now} reaches {first}{rest}"
