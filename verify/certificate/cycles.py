"""What importing a module runs, and imports that close a circle which the base did not have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping

from verify.certificate.judge import Judge
from verify.certificate.pieces import Place
from verify.certificate.source import Import, Module

# A statement by its index and its place, with each import of it: the modules that it may name, and
# what of them nobody changed.
Step = tuple[int, Place, list[tuple[Import, list[str], list[str]]]]


def cycles(judge: Judge) -> None:
    """Report each import that closes a circle which the base did not have.

    A new module counts as the one that most of it came from, as long as it is in the circle itself:
    one that imports nothing back closes none, whoever takes from it what a circle gave before.
    """
    flow: dict[str, Counter[str]] = defaultdict(Counter)
    for old, _, new, _ in judge.pairs:
        for stem in {new.stem, new.stem.rpartition("/")[0]} - judge.stems.keys():
            flow[stem][old.stem] += 1
    fresh = {module.stem for module in judge.new.values()}
    home = {s: min(c, key=lambda o: (-c[o], o)) for s, c in flow.items() if s in fresh}
    home.update({new.stem: old.stem for old, new in judge.moved.items() if new.stem != old.stem})
    known = {(m.stem, stem) for m in judge.old.values() for stem, _ in judge.base.edges(m)}
    for module in judge.new.values():
        for stem, line in sorted(judge.target.edges(module)):
            one, other = home.get(module.stem, module.stem), home.get(stem, stem)
            if one == other or (one, other) in known or judge.base.path({}, one, other):
                continue  # it was loaded from here before, perhaps by a longer way
            back = judge.target.path(home, other, one)
            if back and judge.target.path({}, stem, module.stem):
                circle = " -> ".join(s.replace("/", ".") for s in (one, *back))
                why = f"this closes an import cycle: {circle}"
                judge.residual("target", module.source, line, "cycle", why)


def outside(known: Container[str], item: Import, stems: list[str]) -> list[str]:
    """Name what an import loads that nobody changed."""
    if any(stem in known for stem in stems):
        return []
    return stems if item.level else [item.module]


class Run:
    """An import of a module: `trace` is what acts, `faults` what is taken before it is bound."""

    def __init__(
        self, steps: Callable[[Module], list[Step]], modules: Mapping[str, Module], entry: str
    ) -> None:
        self._steps, self.modules = steps, modules
        self.trace: list[Place] = []
        self.faults: set[tuple[str, int, str, str]] = set()
        self._reached: dict[str, float] = {}
        self._whole: set[str] = set()  # with all that it lies in
        self._ran: dict[Place, int] = {}  # where in the trace
        self._outside: dict[str, int] = {}  # what no one here changed: how much ran before
        self._load(entry)

    def before(self, place: Place, other: Run) -> set[str]:
        """List what was loaded before a statement ran, of what the other run loads as well."""
        at = self._ran[place]
        return {n for n, size in self._outside.items() if size <= at and n in other._outside}

    def _load(self, stem: str) -> None:
        if stem in self._whole:
            return
        parts = stem.split("/")
        for size in range(1, len(parts) + 1):
            part = "/".join(parts[:size])
            if part in self.modules and part not in self._reached:
                self._execute(self.modules[part])
        self._whole.add(stem)

    def _execute(self, module: Module) -> None:
        stem, trace, ran = module.stem, self.trace, self._ran
        for index, place, taken in self._steps(module):
            self._reached[stem] = index
            for item, stems, outside in taken:
                for name in outside:
                    self._outside.setdefault(name, len(trace))
                if stems:
                    self._take(module, item, stems)
            ran.setdefault(place, len(trace))
            trace.append(place)
        self._reached[stem] = float("inf")

    def _take(self, module: Module, item: Import, stems: list[str]) -> None:
        for stem in stems:
            if stem not in self._whole:
                self._load(stem)
            found = self.modules.get(stem)
            made = found.names.get(item.member or "", ()) if found else ()
            if made and all(site.unit >= self._reached[stem] for site in made):
                self.faults.add((module.stem, item.line, stem, str(item.member)))
            elif item.member and not made:
                self._load(f"{stem}/{item.member}")
