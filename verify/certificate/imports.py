"""Imports, judged by what they bring: one goes with the code that used it, one comes for a use."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from verify.certificate.judge import Judge, words
from verify.certificate.names import HINT, Facts, LocalImport, Ref
from verify.certificate.resolve import Module, Side, listed
from verify.certificate.source import Import, Unit


class Entry(NamedTuple):
    """What one import brings to a module."""

    name: str
    what: object
    guards: object
    typing: bool  # only a type checker runs it
    loaded: str | None  # all that `import a.b` loads

    def serves(self, ref: Ref) -> bool:
        """Tell whether a reference needs this import: `a.b.c` needs `import a.b`."""
        whole = ".".join((ref.name, *ref.attrs, ""))
        return (
            self.loaded is None
            or self.name != self.loaded.partition(".")[0]
            or (whole.startswith(f"{self.loaded}."))
        )


class Imports:
    """Compares the imports of the changed modules."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.base, self.target = judge.base, judge.target

    def run(self) -> None:
        """Judge the imports of every changed module and function."""
        fresh = {module.stem: module for module in self.judge.new.values()}
        for stem in sorted({*self.judge.stems, *fresh}):
            self._module(self.judge.stems.get(stem), fresh.get(stem))
        for theirs, ours in sorted(self.judge.pairing.pairs.items()):
            old, new = self.judge.old[ours[0]], self.judge.new[theirs[0]]
            before, after = old.source.units[ours[1]], new.source.units[theirs[1]]
            if "import" in before.text or "import" in after.text:
                self._functions(old, new, before, after)
        for path in sorted(self.judge.new):
            self._futures(self.judge.new[path])

    # --- of modules ---

    def _module(self, old: Module | None, new: Module | None) -> None:
        ours = list(self._entries(self.base, old)) if old else []
        theirs = list(self._entries(self.target, new)) if new else []
        gone = Counter(entry for entry, _ in ours)
        come = Counter(entry for entry, _ in theirs)
        present = come.copy()
        both = gone & come
        gone, come = gone - both, come - both
        if old and new:
            self._cancel(old, new, gone, come)
        for entry, site in ours:
            if gone[entry] and old is not None:
                gone[entry] -= 1
                self._gone(old, new, entry, site)
        for entry, site in reversed(theirs):
            if come[entry] and new is not None:
                come[entry] -= 1
                present[entry] -= 1
                self._come(old, new, entry, site, twice=present[entry] > 0)

    @staticmethod
    def _entries(side: Side, module: Module) -> Iterator[tuple[Entry, Import]]:
        for site in module.imports():
            item = site.imported
            if item is None or item.module == "__future__":
                continue
            guards = side.guards(module, site.unit, site.guards, hint=False)
            typing = guards is None
            if typing:
                guards = side.guards(module, site.unit, site.guards, hint=True)
            what: object = side.follow(module, item, hint=True).whats
            if item.member == "*":
                what = tuple(side.find(module.source.path, item.level, item.module)) or item.module
            loaded = item.module if item.member is None else None
            yield Entry(item.name, what, guards, typing, loaded), item

    def _cancel(self, old: Module, new: Module, gone: Counter[Entry], come: Counter[Entry]) -> None:
        """Cancel imports that are spelled otherwise but bring the same definition."""
        for one in sorted(gone, key=repr):
            for other in sorted(come, key=repr):
                alike = one.name == other.name != "*" and one[2:] == other[2:]
                if alike and self.judge.same(old, new, one.name, hint=True):
                    both = min(gone[one], come[other])
                    gone[one] -= both
                    come[other] -= both

    def _gone(self, old: Module, new: Module | None, entry: Entry, item: Import) -> None:
        used = any(entry.serves(ref) for _, ref in self.judge.uses(old, entry.name))
        if used or entry.name in _listed(old):
            return
        if new is not None and entry.loaded is None and entry.name in new.names:
            if self.judge.same(old, new, entry.name, hint=entry.typing):
                return
        why = f"nothing used `{item.spelled}`, yet it is gone"
        self.judge.residual("base", old.source, item.line, "import", why, [item.line])

    def _come(
        self, old: Module | None, new: Module, entry: Entry, item: Import, *, twice: bool
    ) -> None:
        why = self._needless(old, new, entry, item)
        if twice:
            why = f"`{item.spelled}` is there twice"
        if why:
            self.judge.residual("target", new.source, item.line, "import", why, [item.line])

    def _needless(self, old: Module | None, new: Module, entry: Entry, item: Import) -> str | None:
        """Say why an import should not have come, or None."""
        name = entry.name
        if name == "*":
            return "a star import is new"
        if old is not None and name in old.names and entry.loaded is None:
            if self.judge.same(old, new, name, hint=entry.typing):
                return None  # the name was there, and still is
        if name in _listed(new):
            return None
        uses = [(unit, ref) for unit, ref in self.judge.uses(new, name) if entry.serves(ref)]
        if not uses and not self._handed_on(new, name):
            return f"nothing here uses `{item.spelled}`"
        if uses and not entry.typing and all(ref.when == HINT for _, ref in uses):
            if not any(self._ran(new, unit, name) for unit, _ in uses):
                return f"`{item.spelled}` was only for annotations, and now it runs"
        return None

    def _ran(self, new: Module, unit: Unit, name: str) -> bool:
        """Tell whether a name that only annotations of a statement use was bound at run time."""
        pairing = self.judge.pairing
        place = (new.source.path, unit.index)
        origin = pairing.pairs.get(place) or pairing.copies.get(place)
        return origin is None or self.base.lookup(self.judge.old[origin[0]], name).sure

    def _handed_on(self, new: Module, name: str) -> bool:
        """Tell whether another changed module takes a name from this one."""
        for module in self.judge.new.values():
            for unit in module.source.units if module is not new else ():
                if name not in words(unit.text):
                    continue
                for item in self.judge.facts(module, unit).imports:
                    if item.member == name:
                        if new.stem in self.target.find(
                            module.source.path, item.level, item.module
                        ):
                            return True
        return False

    # --- of functions ---

    def _functions(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        ours, theirs = self.judge.facts(old, before), self.judge.facts(new, after)
        one = {_local(self.base, old, item, deep=False): item for item in ours.locals}
        other = {_local(self.target, new, item, deep=False): item for item in theirs.locals}
        if one.keys() != other.keys():
            one = {_local(self.base, old, item, deep=True): item for item in ours.locals}
            other = {_local(self.target, new, item, deep=True): item for item in theirs.locals}
        for entry in sorted(one.keys() - other.keys(), key=repr):
            item = one[entry].imported
            if (one[entry].scope, item.name) not in ours.used:
                why = f"nothing used `{item.spelled}`, yet it is gone"
                self.judge.residual("base", old.source, item.line, "import", why, [item.line])
        for entry in sorted(other.keys() - one.keys(), key=repr):
            item = other[entry].imported
            why = ""
            if (other[entry].scope, item.name) not in theirs.used:
                why = f"nothing here uses `{item.spelled}`"
            elif not _in_time(other[entry], theirs):
                why = f"`{item.spelled}` may come too late for its uses"
            if why:
                self.judge.residual("target", new.source, item.line, "import", why, [item.line])

    # --- of the future ---

    def _futures(self, new: Module) -> None:
        path = new.source.path
        theirs = new.source.futures
        ours = self.judge.old[path].source.futures if path in self.judge.old else frozenset[str]()
        came: set[str] = set()
        for place, origin in self.judge.pairing.pairs.items():
            if place[0] != path:
                continue
            before = self.judge.old[origin[0]].source.futures
            came |= before
            unit = new.source.units[place[1]]
            for name in sorted(before ^ theirs):
                if name in before or self.judge.facts(new, unit).annotated:
                    state = "is no longer" if name in before else "is now"
                    why = f"`from __future__ import {name}` {state} in force here"
                    self.judge.residual("target", new.source, unit.first, "future", why)
        if path in self.judge.old:
            came = set(ours)
        for name in sorted(theirs - came):
            line = new.source.units[0].first
            why = f"`from __future__ import {name}` is new"
            self.judge.residual("target", new.source, line, "future", why, [line])


def _local(side: Side, module: Module, item: LocalImport, *, deep: bool) -> tuple[object, ...]:
    guards = tuple((g.branch, *(ast.dump(t) for t in g.tests)) for g in item.guards)
    loaded = item.imported.module if item.imported.member is None else None
    what = side.follow(module, item.imported, hint=True, deep=deep).whats
    return (item.scope, item.imported.name, item.spot, guards, loaded, what)


def _in_time(item: LocalImport, found: Facts) -> bool:
    """Tell whether an import that changed its place surely runs before each use."""
    lines = [ref.line for ref in found.refs if ref.local and item.imported in ref.local]
    return not item.guards and all(line > item.imported.line for line in lines)


def _listed(module: Module) -> frozenset[str]:
    return (listed(module) if "__all__" in module.names else None) or frozenset()
