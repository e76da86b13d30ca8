"""Import cycles: none may be new. A new module counts as the module it came from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from verify.certificate.judge import Judge
from verify.certificate.resolve import Module, Side


class Cycles:
    """Looks for import edges of the target that close a circle which the base did not have."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.old = {module.stem for module in judge.old.values()}
        flow: dict[str, Counter[str]] = defaultdict(Counter)
        for theirs, ours in judge.pairing.pairs.items():
            new, old = judge.new[theirs[0]], judge.old[ours[0]]
            flow[new.stem][old.stem] += 1
        self.home = {}
        for module in judge.new.values():
            stem = module.stem
            if stem not in self.old:
                parent = stem.rpartition("/")[0]
                known = flow[stem] or flow[parent]
                inner = Counter[str]()
                for other, found in flow.items():
                    if other.startswith(f"{stem}/"):
                        inner += found
                known = known or inner
                if known:
                    self.home[stem] = min(known, key=lambda s: (-known[s], s))

    def run(self) -> None:
        """Report each new edge that closes a circle."""
        ours: set[tuple[str, str]] = set()
        for module in self.judge.old.values():
            ours |= {(module.stem, stem) for stem, _ in edges(self.judge.base, module)}
        for module in self.judge.new.values():
            for stem, line in sorted(edges(self.judge.target, module)):
                one, other = self.home.get(module.stem, module.stem), self.home.get(stem, stem)
                if one == other or (one, other) in ours:
                    continue
                back = self._path(self.judge.target, other, one)
                if back and not self._path(self.judge.base, one, other):
                    circle = " -> ".join(s.replace("/", ".") for s in [one, *back])
                    self.judge.residual(
                        "target",
                        module.source,
                        line,
                        "cycle",
                        f"this closes an import cycle: {circle}",
                    )

    def _path(self, side: Side, start: str, end: str) -> list[str] | None:
        """Give the modules that importing one loads until it loads another."""
        below: dict[str, str] = {start: ""}
        todo = [start]
        while todo:
            stem = todo.pop(0)
            if stem == end:
                path = [stem]
                while below[path[0]]:
                    path.insert(0, below[path[0]])
                return path
            for part in self._members(side, stem):
                module = side.module(part)
                for found, _ in sorted(edges(side, module)) if module else ():
                    found = self.home.get(found, found) if side is self.judge.target else found
                    if found not in below:
                        below[found] = stem
                        todo.append(found)
        return None

    def _members(self, side: Side, stem: str) -> list[str]:
        if side is self.judge.base:
            return [stem]
        return [stem, *(s for s, home in sorted(self.home.items()) if home == stem)]


def edges(side: Side, module: Module) -> set[tuple[str, int]]:
    """List what a module imports when it is imported, packages on the way included.

    Its own package counts only if a name is taken from it.
    """
    found = set()
    for site in module.imports():
        item = site.imported
        if item is None or side.guards(module, site.unit, site.guards, hint=False) is None:
            continue
        for stem in side.find(module.source.path, item.level, item.module):
            inner = f"{stem}/{item.member}"
            whole = (
                inner
                if item.member and side.exists(inner) and not _binds(side, stem, item.member)
                else stem
            )
            parts = whole.split("/")
            for size in range(1, len(parts) + 1):
                part = "/".join(parts[:size])
                own = module.stem.startswith(f"{part}/") and part != stem
                own = own or (part == stem != whole and module.stem.startswith(f"{part}/"))
                if part in side.files and part != module.stem and not own:
                    found.add((part, item.line))
    return found


def _binds(side: Side, stem: str, name: str) -> bool:
    module = side.module(stem)
    return module is not None and name in module.names
