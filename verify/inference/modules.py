"""Which modules and packages went elsewhere whole, as the tables of a plan.

Renames that git records take no part. A folder of which every file went alike is one table, and so
are modules by a pattern.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname

from transforms.paths import ModuleName
from transforms.reading.model import Relocation
from transforms.tree import GitTree
from transforms.tree.names import Names

_INIT = "__init__.py"
_FEWEST = 3  # modules that make a pattern
# What a plan of ours leaves at an old path begins so.
_MOVED_TO = re.compile(rb'"""Moved to `[\w.]+`\."""')
_WARNS = re.compile(rb"^ *def __getattr__\(", re.MULTILINE)


class WholeMoves:
    """The moves of whole modules between two trees, and the packages that came for them."""

    def __init__(self, base: GitTree, target: GitTree, pairs: Mapping[str, str]) -> None:
        self.base, self.target = base, target
        self.before, self.after = base.entries(), target.entries()
        self.names = Names(base)
        self.pairs = dict(pairs)

    def tables(self) -> tuple[Relocation, ...]:
        """Give the tables: packages first, then patterns, then single modules."""
        left = dict(self.pairs)
        found: list[Relocation] = []
        for old, new in self._folders():
            found.append(self._named(f"{old}/{_INIT}", f"{new}/{_INIT}", (old, new)))
            left = {path: to for path, to in left.items() if not path.startswith(f"{old}/")}
        for old, new, paths in self._patterns(left):
            found.append(_by_path(old, new))
            left = {path: to for path, to in left.items() if path not in paths}
        found += [self._named(old, new) for old, new in sorted(left.items())]
        return tuple(found)

    # --- tables ---

    def _named(self, old: str, new: str, folders: tuple[str, str] | None = None) -> Relocation:
        """One module, or one package by its folders: by dotted names where both have one root."""
        kept = self._kept(old)
        ours, theirs = (self.names.dotted(path) for path in (old, new))
        into_init = folders is None and _INIT in (basename(old), basename(new))
        plain = all(part.isidentifier() for part in f"{ours}.{theirs}".split("."))
        if (
            plain
            and ours != theirs
            and not into_init
            and _root(old, ours) == _root(new, theirs) is not None
        ):
            ends = ModuleName(ours, is_path=False), ModuleName(theirs, is_path=False)
            return Relocation(*ends, 0, kept)
        return _by_path(*(folders or (old, new)), kept)

    def _kept(self, old: str) -> str | None:
        """What stays at an old path: a module that warns, or one that hands the names on."""
        place = old if old in self.after else f"{old[:-3]}/{_INIT}"
        taken = place in self.pairs.values() or (place != old and place in self.before)
        if taken or place not in self.after or (place != old and not self._forwards(place)):
            return None
        return "warn" if _WARNS.search(self.target.read(place)) else "reexport"

    def _forwards(self, path: str) -> bool:
        return path in self.after and forwards(self.target.read(path))

    # --- folders and patterns ---

    def _folders(self) -> Iterator[tuple[str, str]]:
        """The outermost folders of which each file went to the same place in another folder."""
        goals: dict[str, set[str]] = defaultdict(set)
        for pair in self.pairs.items():
            old, new = pair
            while basename(old) == basename(new) and "/" in old and "/" in new:
                old, new = dirname(old), dirname(new)
                goals[old].add(new)
        whole: list[str] = []
        for old in sorted(goals):
            new = next(iter(goals[old]))
            if len(goals[old]) == 1 and not any(old.startswith(f"{other}/") for other in whole):
                if self._alike(old, new):
                    whole.append(old)
                    yield old, new

    def _alike(self, old: str, new: str) -> bool:
        """Whether all that lay in one folder lies in the other now, and it is a package."""
        inside = [path for path in self.before if path.startswith(f"{old}/")]
        for path in inside:
            goal = new + path[len(old) :]
            if path.endswith(".py"):
                if self.pairs.get(path) != goal:
                    return False
            elif path in self.after or goal not in self.after:
                return False
        left = self.after.keys() & set(inside)
        return f"{old}/{_INIT}" in self.pairs and all(map(self._forwards, left))

    def _patterns(self, left: Mapping[str, str]) -> Iterator[tuple[str, str, set[str]]]:
        """Modules of one folder whose names begin alike, and that went to one folder alike."""
        groups: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for old, new in left.items():
            if old not in self.after and basename(new) != _INIT:
                groups[dirname(old), dirname(new)].append((old, new))
        for (source, goal), pairs in sorted(groups.items()):
            taken = set[str]()
            for head, short in _heads(pairs):
                own = {old for old, new in pairs if _fits(old, new, head, short)} - taken
                there = [p for p in self.before if dirname(p) == source and _begins(p, head)]
                if len(own) >= _FEWEST and own == set(there):
                    taken |= own
                    yield f"{source}/{head}*.py", f"{goal}/{short}*.py", own


def forwards(data: bytes) -> bool:
    """Whether a file is what a plan with `old` leaves at an old path."""
    return _MOVED_TO.match(data) is not None


def _by_path(old: str, new: str, kept: str | None = None) -> Relocation:
    return Relocation(ModuleName(old, is_path=True), ModuleName(new, is_path=True), 0, kept)


def _root(path: str, dotted: str) -> str | None:
    """The folder that a module's dotted name begins in; None if the name is no path there."""
    stem = path.removesuffix(".py").removesuffix("/__init__")
    place = dotted.replace(".", "/")
    return stem.removesuffix(place) if stem == place or stem.endswith(f"/{place}") else None


def _begins(path: str, head: str) -> bool:
    return path.endswith(".py") and basename(path).startswith(head)


def _fits(old: str, new: str, head: str, short: str) -> bool:
    """Whether a pattern takes one path to the other, with the same text for the star."""
    return _begins(old, head) and basename(new) == short + basename(old)[len(head) :]


def _heads(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The beginnings of names up to an underscore, and what each becomes; the shortest first."""
    found = set()
    for old, new in pairs:
        ours, theirs = basename(old).removesuffix(".py"), basename(new).removesuffix(".py")
        for at in (match.end() for match in re.finditer("_", ours)):
            if at < len(ours) and theirs.endswith(ours[at:]):
                found.add((ours[:at], theirs.removesuffix(ours[at:])))
    return sorted(found, key=lambda pair: (len(pair[0]), pair))
