"""Which statement of the target is which of the base, and what is left on either side.

Top-level statements are matched whole, by their text, then by their tokens. One that was edited
is matched by its name and compared statement by statement, down to the innermost that differs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from verify.certificate.pieces import Place, Shapes, name_of
from verify.certificate.resolve import Side
from verify.certificate.source import (
    Module,
    Source,
    Unit,
    only_imports,
)
from verify.certificate.whole import Whole, likely, verified

_MOST_COMPARED = 4_000_000  # pairs of like statements; a hostile file may have more
Sources = Mapping[str, Source]


def symbols(side: Side, modules: Iterable[Module], dotted: str) -> set[tuple[object, ...]]:
    """Find the definitions in changed modules that a dotted path names, each where it is made."""
    stems = {module.stem: module for module in modules}
    found: set[tuple[object, ...]] = set()
    for stem, name, rest in named(side, dotted):
        module = stems.get(stem)
        made = module.names.get(name, ()) if module else ()
        if module and made and not any(site.imported for site in made):
            found.add((side.lookup(module, name).whats, dotted.count(":"), *rest))
    return found


# --- whole statements ---


@dataclass
class Pairing:
    """Statements of the target by those of the base. `edited` pairs have differing tokens."""

    pairs: dict[Place, Place] = field(default_factory=dict)  # target -> base
    edited: set[Place] = field(default_factory=set)
    copies: dict[Place, Place] = field(default_factory=dict)  # target -> base
    removed: list[Place] = field(default_factory=list)
    added: list[Place] = field(default_factory=list)
    whole: Whole = field(default_factory=lambda: Whole({}))

    def key(self, path: str, index: int) -> Place:
        """Name a statement of the target after the base's, or by itself."""
        found = self.pairs.get((path, index)) or self.copies.get((path, index))
        return found if found is not None else (f"+{path}", index)


def pair(base: Sources, target: Sources, shapes: Shapes) -> Pairing:
    """Match the statements of the changed files, imports aside."""
    return _Matcher(base, target, shapes).run()


class _Matcher:
    def __init__(self, base: Sources, target: Sources, shapes: Shapes) -> None:
        self.base, self.target, self.shapes = base, target, shapes
        self.found = Pairing()
        self.ours, self.theirs = self._open(base), self._open(target)
        self.flow: Counter[tuple[str, str]] = Counter()  # how much went from which file to which
        self.homes = likely(base, target)
        self.left = set(self.homes.values()) & target.keys()  # another file stands in its place

    @staticmethod
    def _open(side: Sources) -> dict[Place, Unit]:
        return {
            (path, unit.index): unit
            for path in sorted(side)
            for unit in side[path].units
            if not only_imports(unit.node)
        }

    def text(self, _: Source, unit: Unit) -> object:
        return unit.text

    def shape(self, source: Source, unit: Unit) -> object:
        return self.shapes.of(source, unit).key

    def name(self, _: Source, unit: Unit) -> object:
        name = name_of(unit)
        return None if name is None else (type(unit.node).__name__, name)

    def kind(self, _: Source, unit: Unit) -> object:
        return type(unit.node)

    def home(self, path: str) -> str:
        """Give the file of the base that one of the target is, perhaps at another path."""
        return self.homes.get(path, f"+{path}" if path in self.left else path)

    def match(
        self, describe: Callable[[Source, Unit], object], *, here: bool
    ) -> list[tuple[Place, Place]]:
        """Pair what is described alike, in the same file (`here`) or across files."""
        groups: tuple[dict[object, list[Place]], ...] = (defaultdict(list), defaultdict(list))
        sides = ((self.base, self.ours), (self.target, self.theirs))
        for (side, opened), group in zip(sides, groups, strict=True):
            for place, unit in opened.items():
                word = describe(side[place[0]], unit)
                if word is not None:
                    home = place[0] if side is self.base else self.home(place[0])
                    group[(home, word) if here else word].append(place)
        made: list[tuple[Place, Place]] = []
        unclear: list[tuple[list[Place], list[Place]]] = []
        for word, ours in groups[0].items():
            theirs = groups[1].get(word, [])
            if here or (len(ours) == 1 and len(theirs) == 1):
                made.extend(zip(ours, theirs, strict=False))
            elif theirs:
                unclear.append((ours, theirs))
        for one, other in made:
            self.pair(one, other)
        for ours, theirs in unclear:
            made.extend(self._by_flow(ours, theirs))
        return made

    def _by_flow(self, ours: list[Place], theirs: list[Place]) -> Iterator[tuple[Place, Place]]:
        """Pair several like statements: most goes where its neighbours went."""
        ranked = list(zip(ours, theirs, strict=False))
        if len(ours) * len(theirs) < _MOST_COMPARED:
            ranked = [(b, t) for b in ours for t in theirs]
            ranked.sort(key=lambda bt: (-self.flow[bt[0][0], bt[1][0]], *bt))
        for one, other in ranked:
            if one in self.ours and other in self.theirs:
                self.pair(one, other)
                yield one, other

    def pair(self, ours: Place, theirs: Place) -> None:
        self.flow[ours[0], theirs[0]] += len(self.ours.pop(ours).text)
        del self.theirs[theirs]
        self.found.pairs[theirs] = ours

    def run(self) -> Pairing:
        for here in (True, False):
            for describe in (self.text, self.shape):
                self.match(describe, here=here)
        self.copies()
        edited = [*self.match(self.name, here=True), *self.match(self.name, here=False)]
        edited += self.match(self.kind, here=True)  # by order, to show what changed within
        self.found.edited = {theirs for _, theirs in edited}
        self.found.removed, self.found.added = list(self.ours), list(self.theirs)
        whole = verified(self.homes, self.found.pairs, self.left)
        self.found.whole = Whole(whole, self.left & set(whole.values()))
        return self.found

    def copies(self) -> None:
        """Find statements of the target that the base has, but that are paired already."""
        wanted = {unit.text for unit in self.theirs.values()}
        texts: dict[str, list[Place]] = defaultdict(list)
        for ours in self.found.pairs.values():
            text = self.base[ours[0]].units[ours[1]].text
            if text in wanted:
                texts[text].append(ours)
        for theirs, unit in list(self.theirs.items()):
            if texts[unit.text]:
                rank = [(-self.flow[ours[0], theirs[0]], ours) for ours in texts[unit.text]]
                self.found.copies[theirs] = min(rank)[1]
                del self.theirs[theirs]


def named(side: Side, dotted: str) -> Iterator[tuple[str, str, list[str]]]:
    """List the modules, the name in each, and the rest, that a dotted path may mean."""
    parts = re.split("[.:]", dotted)
    for size in range(1, len(parts)):
        stems = side.find("", 0, ".".join(parts[:size]))
        if size > 1 and not stems:
            return  # nor is there anything within
        yield from ((stem, parts[size], parts[size + 1 :]) for stem in stems)
