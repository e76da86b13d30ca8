"""Imports that close a circle which the base did not have."""

from __future__ import annotations

from collections import Counter, defaultdict

from verify.certificate.judge import Judge


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
