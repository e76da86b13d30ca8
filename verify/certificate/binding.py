"""Whether the names of every conserved statement mean what they meant, and each import is needed."""

from __future__ import annotations

import ast
import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from verify.certificate.conserve import Difference, Pairing, Piece, Place, Shapes, differences, name_of
from verify.certificate.findings import Findings, Moved
from verify.certificate.names import HINT, NOW, Facts, LocalImport, Ref, facts
from verify.certificate.resolve import Meaning, Module, Side, listed, stem_of
from verify.certificate.source import IMPORTS, Site, Source, Unit, is_text, only_imports

_DOTTED = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)+")
_FRAMES = re.compile(r"(?:inspect\.(?:currentframe|stack|trace|getmodule|getouterframes)|sys\._getframe)$")
_SCOPES = {"globals", "vars", "dir", "locals"}
_TYPE_MAKERS = {"TypeVar", "ParamSpec", "TypeVarTuple"}


class Judge:
    """Compares the changed modules of two trees, statement by statement."""

    def __init__(
        self, base: Side, target: Side, pairing: Pairing, shapes: Shapes, found: Findings,
        ours: Mapping[str, Source], theirs: Mapping[str, Source],
    ) -> None:
        self.base, self.target = base, target
        self.pairing, self.shapes, self.found = pairing, shapes, found
        self.ours, self.theirs = ours, theirs
        self.old = {stem_of(p): self._module(base, p) for p in ours}
        self.new = {stem_of(p): self._module(target, p) for p in theirs}
        self._facts: dict[tuple[int, int, bool], Facts] = {}
        self.differing: dict[str, frozenset[str]] = {}
        self.sources: dict[str, set[str]] = defaultdict(set)  # target path -> base paths
        for (path, _), (origin, _) in {**pairing.pairs, **pairing.copies}.items():
            self.sources[path].add(origin)
        self.derived: set[Place] = set()

    @staticmethod
    def _module(side: Side, path: str) -> Module:
        module = side.module(stem_of(path))
        if module is None or module.source.path != path:
            raise LookupError(path)
        return module

    def facts(self, source: Source, unit: Unit, *, deep: bool = True) -> Facts:
        """Give what a statement refers to."""
        place = (id(source), unit.index, deep)
        if place not in self._facts:
            lazy = "annotations" in source.futures
            self._facts[place] = facts(unit.node, lazy_hints=lazy, deep=deep)
        return self._facts[place]

    def run(self) -> None:
        """Judge everything that the changed files alone can tell."""
        for stem in sorted(set(self.old) & set(self.new)):
            self.differing[stem] = self._differing(self.old[stem], self.new[stem])
        self._added()
        for theirs, ours in sorted(self.pairing.pairs.items()):
            self._pair(ours, theirs)
        for theirs, ours in sorted(self.pairing.copies.items()):
            self._copy(ours, theirs)
        for stem in sorted(set(self.old) | set(self.new)):
            self._imports(stem)
            self._futures(stem)

    def _differing(self, old: Module, new: Module) -> frozenset[str]:
        """List the names that do not mean the same in both versions of a module."""
        names = {*old.names, *new.names}
        for module in (old, new):
            for site in module.stars:
                for stem in self.base.find(module.source.path, site.imported.level, site.imported.module):  # type: ignore[union-attr]
                    names |= self.base.exported(stem) or set()
        return frozenset(
            name
            for name in names
            for hint in (False, True)
            if not self.means_same(old, new, name, hint)
        )

    def means_same(self, old: Module, new: Module, name: str, hint: bool) -> bool:
        """Tell whether a name means the same in two modules, one of each tree."""
        for deep in (False, True):
            ours = self.base.lookup(old, name, hint=hint, deep=deep)
            theirs = self.target.lookup(new, name, hint=hint, deep=deep)
            if _equal(ours, theirs, hint):
                return True
        return False

    # --- statements ---

    def _pair(self, ours: Place, theirs: Place) -> None:
        old, new = self.old[stem_of(ours[0])], self.new[stem_of(theirs[0])]
        before, after = old.source.units[ours[1]], new.source.units[theirs[1]]
        moved = old.source.path != new.source.path
        self.found.counts["moved" if moved else "kept"] += 1
        if theirs in self.pairing.edited:
            self._edited(old, new, before, after)
        elif before.text != after.text:
            self.found.relaid += 1
        if moved:
            self._moved(old, new, before, after)
        stays = not moved and before.text == after.text
        if stays and not _words(before.text) & self.differing[old.stem]:
            if self.base.outside_stars(old) == self.target.outside_stars(new):
                self._references(old, new, before, after, deep=False)
                return
        for site in old.in_unit(before.index):
            for hint in (False, True):
                if not self.means_same(old, new, site.name, hint):
                    self._residual_at(new, after, "binding", f"{site.name} is bound to something else here")
        self._references(old, new, before, after, deep=True)
        self._local_imports(old, new, before, after)

    def _means_same_from(self, old: Module, new: Module, name: str, hint: bool) -> bool:
        return self.means_same(old, new, name, hint)

    def _residual_at(self, module: Module, unit: Unit, kind: str, why: str, line: int = 0, side: str = "target") -> None:
        line = line or unit.line
        self.found.residual(side, module.source.path, line, kind, why, module.source.line_text(line))

    def _moved(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        symbol = name_of(after) or type(after.node).__name__
        self.found.moved.append(
            Moved(symbol, old.source.path, before.line, new.source.path, after.line)
        )
        if isinstance(after.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.found.observe(
                new.source.path, after.line, "module", f"{symbol}.__module__ names its new module"
            )

    def _references(self, old: Module, new: Module, before: Unit, after: Unit, *, deep: bool) -> None:
        ours = self.facts(old.source, before, deep=deep)
        theirs = self.facts(new.source, after, deep=deep)
        place = (new.source.path, after.index)
        if len(ours.refs) != len(theirs.refs):
            if place not in self.pairing.edited:
                self._residual_at(new, after, "binding", "names belong to other scopes here")
            return
        loggers = set(_logger_names(theirs))
        for one, other in zip(ours.refs, theirs.refs):
            if id(other.node) in loggers:
                if old.stem != new.stem:
                    self.found.observe(new.source.path, other.line, "logger", "a logger is named after its new module")
                continue
            why = self._reference(old, new, one, other, before, after)
            if why:
                self._residual_at(new, after, "binding", why, other.line)
        if old.source.path != new.source.path:
            self._sensitive(new, after, theirs)

    def _reference(self, old: Module, new: Module, one: Ref, other: Ref, before: Unit, after: Unit) -> str | None:
        """Say why a reference does not mean what it meant, or None."""
        for deep in (False, True):
            limits = (before.index, after.index) if one.when == NOW else (None, None)
            ours = self.base.resolve(old, one, limit=limits[0], deep=deep)
            theirs = self.target.resolve(new, other, limit=limits[1], deep=deep)
            if not _equal(ours, theirs, one.when == HINT):
                continue
            if (one.name, one.attrs) == (other.name, other.attrs) and ours.loaded != theirs.loaded:
                return f"{'.'.join((one.name, *one.attrs))} relies on `import {ours.loaded or theirs.loaded}`"
            return None
        name = ".".join((other.name, *other.attrs))
        return f"{name} is now {describe(theirs)}, it was {describe(ours)}"

    def _sensitive(self, new: Module, after: Unit, theirs: Facts) -> None:
        """Refuse what looks at the module or the frame it stands in."""
        for ref in theirs.refs:
            for what, rest in self.target.resolve(new, ref).whats:
                dotted = ".".join([str(what[1]), *rest])
                if what[0] == "ext" and _FRAMES.match(dotted):
                    self._residual_at(new, after, "sensitive", f"{dotted} sees where it stands", ref.line)
        for ref, call, when in theirs.calls:
            if ref and not ref.attrs and ref.name in _SCOPES and not call.args:
                if ref.name in {"locals", "vars", "dir"} and when != NOW:
                    continue
                self._residual_at(new, after, "sensitive", f"{ref.name}() sees where it stands", ref.line)

    # --- edited statements ---

    def _edited(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        one, other = self.shapes.of(old.source, before), self.shapes.of(new.source, after)
        ours, theirs = self._chains(self.base, old, before), self._chains(self.target, new, after)

        def same(left: Piece, right: Piece) -> bool:
            return self._repointed(left, ours, right, theirs)

        found = list(differences(one, other, same))
        for difference in found:
            self._difference(old.source, new.source, difference)
        if not found:
            self.found.counts["repointed"] += 1

    def _chains(self, side: Side, module: Module, unit: Unit) -> dict[int, tuple[int, object]]:
        """Map where a reference to a definition of the tree starts to its tokens and meaning."""
        found = {}
        for ref in self.facts(module.source, unit).refs:
            limit = unit.index if ref.when == NOW else None
            meaning = side.resolve(module, ref, limit=limit, deep=True)
            if {what[0] for what, _ in meaning.whats} != {"def"}:
                continue
            rest = {len(rest) for _, rest in meaning.whats}
            if len(rest) == 1:
                size = 2 * (len(ref.attrs) - rest.pop()) + 1
                start = module.source.offset(ref.line, ref.column)
                found[start] = (size, frozenset(what for what, _ in meaning.whats))
        return found

    def _repointed(
        self, left: Piece, ours: Mapping[int, tuple[int, object]],
        right: Piece, theirs: Mapping[int, tuple[int, object]],
    ) -> bool:
        one = list(_folded(left, ours))
        other = list(_folded(right, theirs))
        return len(one) == len(other) and all(
            a == b or (isinstance(a, str) and isinstance(b, str) and self._string(a, b))
            for a, b in zip(one, other)
        )

    def _string(self, one: str, other: str) -> bool:
        """Tell whether two string tokens differ only in the paths of moved symbols."""
        if one[:1] not in "\"'" or one[:1] != other[:1]:
            return False
        if _DOTTED.sub("", one) != _DOTTED.sub("", other):
            return False
        names = _DOTTED.findall(one), _DOTTED.findall(other)
        return all(a == b or self._renamed(a, b) for a, b in zip(*names))

    def _renamed(self, one: str, other: str) -> bool:
        """Tell whether two dotted paths name one moved symbol, each where it is defined."""
        ours, theirs = self._symbols(self.base, self.old, one), self._symbols(self.target, self.new, other)
        return any(
            (key == twin and rest == tail) for key, rest in ours for twin, tail in theirs
        ) and one.count(":") == other.count(":")

    @staticmethod
    def _symbols(side: Side, modules: Mapping[str, Module], dotted: str) -> list[tuple[object, object]]:
        parts = re.split("[.:]", dotted)
        found: list[tuple[object, object]] = []
        for size in range(1, len(parts)):
            for stem in side.find("", 0, ".".join(parts[:size])):
                module = modules.get(stem)
                sites = module.names.get(parts[size], []) if module else []
                if module and sites and all(s.imported is None for s in sites):
                    found.append((side.lookup(module, parts[size]).whats, parts[size + 1 :]))
        return found

    def _difference(self, old: Source, new: Source, difference: Difference) -> None:
        one, other, what = difference.base, difference.target, difference.what
        ours = _extent(old, one) if one else range(0)
        theirs = _extent(new, other) if other else range(0)
        if one and other:
            ours, theirs = _changed(old, ours, new, theirs)  # type: ignore[assignment]
        why = {
            "changed": "this statement was changed",
            "removed": "this statement is gone",
            "added": "this statement is new",
            "comment": "the comments here differ",
        }[what]
        if one and (ours or not theirs):
            line = next(iter(ours), old.line_at(one.tokens[0].start))
            self.found.residual("base", old.path, line, what, why, old.line_text(line), ours)
        if other and theirs:
            line = next(iter(theirs))
            self.found.residual("target", new.path, line, what, why, new.line_text(line), theirs)

    def _added(self) -> None:
        for path, index in self.pairing.removed:
            source = self.ours[path]
            unit = source.units[index]
            lines = range(unit.line, unit.last + 1)
            self.found.residual("base", path, unit.line, "removed", "this statement is gone", source.line_text(unit.line), lines)
        for path, index in self.pairing.added:
            source = self.theirs[path]
            unit = source.units[index]
            if self._derived(self.new[stem_of(path)], unit):
                self.derived.add((path, index))
                self.found.derived.append(Moved("__all__", path, unit.line, path, unit.line))
                continue
            lines = range(unit.line, unit.last + 1)
            self.found.residual("target", path, unit.line, "added", "this statement is new", source.line_text(unit.line), lines)

    def _derived(self, module: Module, unit: Unit) -> bool:
        """Tell whether `__all__` of a new package lists just what it imports from moved code."""
        path = module.source.path
        if name_of(unit) != "__all__" or not module.package or path in self.ours:
            return False
        names = listed(module)
        imported = {n for n, found in module.names.items() if all(s.imported for s in found)} - {"annotations"}
        value = getattr(unit.node, "value", None)
        if names is None or names != imported or not isinstance(unit.node, ast.Assign):
            return False
        if len(value.elts) != len(names):  # type: ignore[union-attr]
            return False
        old = self.old.get(module.stem)
        for name in names:
            meaning = self.target.lookup(module, name, deep=True)
            if old is not None and _equal(self.base.lookup(old, name, deep=True), meaning, False):
                continue
            if not all(what[0] == "def" and self._is_moved(what[1]) for what, _ in meaning.whats):
                return False
        return True

    def _is_moved(self, key: Place) -> bool:
        return any(ours == key and theirs[0] != ours[0] for theirs, ours in self.pairing.pairs.items())

    # --- copies ---

    def _copy(self, ours: Place, theirs: Place) -> None:
        old, new = self.old[stem_of(ours[0])], self.new[stem_of(theirs[0])]
        before, after = old.source.units[ours[1]], new.source.units[theirs[1]]
        why = self._forbidden(old, new, before, after)
        if why is None:
            symbol = name_of(after) or type(after.node).__name__
            self.found.copies.append(Moved(symbol, old.source.path, before.line, new.source.path, after.line))
            self._references(old, new, before, after, deep=True)
            return
        self._residual_at(new, after, "copied", why)

    def _forbidden(self, old: Module, new: Module, before: Unit, after: Unit) -> str | None:
        """Say why a statement may not be copied, or None."""
        if old.source.path == new.source.path:
            return "this statement stands here twice"
        stays = any(b == (old.source.path, before.index) and t[0] == b[0] for t, b in self.pairing.pairs.items())
        if not stays and old.stem in self.new and old.source.path in self.theirs:
            return "a copy of a statement that did not stay where it was"
        node = after.node
        if is_text(node):
            return None
        name = name_of(after)
        value = getattr(node, "value", None)
        if name is None or value is None or not isinstance(node, (ast.Assign, ast.AnnAssign)):
            return "only constants, type variables, loggers and flags may be copied"
        for module in (old, new):
            if len(module.names[name]) != 1:
                return f"{name} is bound more than once, so a copy is not the same thing"
        if _immutable(value):
            return None
        if not isinstance(value, ast.Call):
            return f"a copy of {name} is another object"
        dotted = self._dotted(new, after)
        last = dotted.rpartition(".")[2]
        if last == "getLogger" and dotted.startswith("logging."):
            return None
        if last in _TYPE_MAKERS and dotted.startswith("typing"):
            return None
        if value.args or value.keywords:
            return f"a copy of {name} is another object"
        for side, module in ((self.base, old), (self.target, new)):
            uses = [ref for _, ref in self.uses(module, name)]
            if not all(ref.condition and not ref.attrs for ref in uses) or (not uses and module is new):
                return f"a copy of {name} is another object, and it is used as more than a condition"
        self.found.observe(new.source.path, after.line, "twice", f"{name} is computed in both modules")
        return None

    def _dotted(self, module: Module, unit: Unit) -> str:
        """Give the dotted name outside of the tree that a statement calls."""
        for ref, call, _ in self.facts(module.source, unit).calls:
            if ref and call is getattr(unit.node, "value", None):
                for what, rest in self.target.resolve(module, ref).whats:
                    if what[0] == "ext":
                        return ".".join([what[1], *rest])
        return ""

    # --- imports ---

    def uses(self, module: Module, name: str) -> Iterator[tuple[Unit, Ref]]:
        """List the uses of a module's name within the module."""
        for unit in module.source.units:
            if name not in _words(unit.text):
                continue
            found = self.facts(module.source, unit)
            for ref in (*found.refs, *found.guards):
                if ref.name == name and ref.local is None:
                    yield unit, ref

    def _futures(self, stem: str) -> None:
        new = self.new.get(stem)
        if new is None:
            return
        old = self.old.get(stem)
        ours = {f for path in self.sources[new.source.path] for f in self.ours[path].futures}
        if old is not None:
            ours = set(old.source.futures) | (ours & new.source.futures if not old.source.units else set())
        theirs = new.source.futures
        for (path, index), (origin, _) in self.pairing.pairs.items():
            if path == new.source.path:
                for name in sorted(self.ours[origin].futures ^ theirs):
                    unit = new.source.units[index]
                    if self.facts(new.source, unit).annotated or name != "annotations" or name not in theirs:
                        state = "now" if name in theirs else "no longer"
                        self._residual_at(new, unit, "future", f"`from __future__ import {name}` is {state} in force")
        for name in sorted(theirs - ours):
            self._residual_at(new, new.source.units[0], "future", f"`from __future__ import {name}` is new")

    def _entries(self, side: Side, module: Module | None) -> Counter[tuple[object, ...]]:
        """Count what a module imports: name, what it is, on which condition, for types only."""
        found: Counter[tuple[object, ...]] = Counter()
        self_sites = [*module.stars, *(s for sites in module.names.values() for s in sites)] if module else []
        for site in self_sites:
            item = site.imported
            if item is None or item.module == "__future__" or module is None:
                continue
            found[self._entry(side, module, site)] += 1
        return found

    @staticmethod
    def _entry(side: Side, module: Module, site: Site) -> tuple[object, ...]:
        item = site.imported
        guards = side.guards(module, site.unit, site.guards, hint=False)
        only_hint = guards is None
        if only_hint:
            guards = side.guards(module, site.unit, site.guards, hint=True)
        loaded = item.module if item.member is None else None  # type: ignore[union-attr]
        if item.member == "*":  # type: ignore[union-attr]
            stems = side.find(module.source.path, item.level, item.module)  # type: ignore[union-attr]
            return ("*", tuple(stems) or item.module, guards, only_hint, None)  # type: ignore[union-attr]
        return (site.name, side.follow(module, item, True).whats, guards, only_hint, loaded)  # type: ignore[arg-type]

    def _imports(self, stem: str) -> None:
        """Judge the imports of a module by what they bring."""
        old, new = self.old.get(stem), self.new.get(stem)
        ours, theirs = self._entries(self.base, old), self._entries(self.target, new)
        gone, come = ours - theirs, theirs - ours
        self._cancel(old, new, gone, come)
        for side, module, entries in ((self.base, old, gone), (self.target, new, come)):
            if module is None:
                continue
            for site in [*module.stars, *(s for sites in list(module.names.values()) for s in sites)]:
                if site.imported is None or site.imported.module == "__future__":
                    continue
                entry = self._entry(side, module, site)
                if entries[entry] > 0:
                    entries[entry] -= 1
                    if side is self.base:
                        self._gone(module, new, site, entry)
                    else:
                        self._come(old, module, site, entry, ours)

    def _cancel(self, old: Module | None, new: Module | None, gone: Counter[tuple[object, ...]], come: Counter[tuple[object, ...]]) -> None:
        """Cancel imports that are spelled otherwise but bring the same definition."""
        if old is None or new is None:
            return
        for one in list(gone):
            for other in list(come):
                if gone[one] and come[other] and one[0] == other[0] != "*" and one[2:] == other[2:]:
                    name = str(one[0])
                    if self.means_same(old, new, name, hint=bool(one[3])):
                        both = min(gone[one], come[other])
                        gone[one] -= both
                        come[other] -= both

    def _gone(self, old: Module, new: Module | None, site: Site, entry: tuple[object, ...]) -> None:
        if any(self._is_use(ref, entry) for _, ref in self.uses(old, site.name)) or self._listed(old, site.name):
            return
        if new is not None and site.imported and site.imported.member not in {None, "*"} and self.means_same(old, new, site.name, bool(entry[3])):
            return
        line = site.imported.line if site.imported else site.line
        self.found.residual("base", old.source.path, line, "import", f"nothing used `{site.imported.spelled}`, yet it is gone", old.source.line_text(line), [line])  # type: ignore[union-attr]

    @staticmethod
    def _is_use(ref: Ref, entry: tuple[object, ...]) -> bool:
        loaded = entry[4]
        if loaded is None or "." not in str(loaded):
            return True
        return ".".join((ref.name, *ref.attrs, "")).startswith(f"{loaded}.") or ref.name not in str(loaded).split(".")

    def _come(self, old: Module | None, new: Module, site: Site, entry: tuple[object, ...], ours: Counter[tuple[object, ...]]) -> None:
        item = site.imported
        if item is None:
            return
        why = f"nothing here uses `{item.spelled}`"
        if ours[entry] > 0:
            why = f"`{item.spelled}` is there twice"
        elif item.member == "*":
            why = "a star import is new"
        elif old is not None and item.member is not None and self._kept(old, new, site.name, bool(entry[3])):
            return
        else:
            uses = [(u, r) for u, r in self.uses(new, site.name) if self._is_use(r, entry)]
            if self._listed(new, site.name):
                return
            if not uses and self._imported_elsewhere(new, site.name):
                return
            if uses and (entry[3] or any(r.when != HINT for _, r in uses)):
                return
            if any(self._ran_before(new, unit, site.name) for unit, _ in uses):
                return
            if uses:
                why = f"`{item.spelled}` was only for annotations, and now runs"
        self.found.residual("target", new.source.path, item.line, "import", why, new.source.line_text(item.line), [item.line])

    def _kept(self, old: Module, new: Module, name: str, hint: bool) -> bool:
        """Tell whether a name is still bound to what it was bound to by other means."""
        return name in old.names and self.means_same(old, new, name, hint)

    def _ran_before(self, new: Module, unit: Unit, name: str) -> bool:
        """Tell whether a name that only annotations of a moved statement use was bound at run time."""
        place = (new.source.path, unit.index)
        origin = self.pairing.pairs.get(place) or self.pairing.copies.get(place)
        if origin is None:
            return False
        old = self.old[stem_of(origin[0])]
        return any(self.base.guards(old, s.unit, s.guards, hint=False) is not None for s in old.names.get(name, ()))

    @staticmethod
    def _listed(module: Module, name: str) -> bool:
        return "__all__" in module.names and name in (listed(module) or ())

    def _imported_elsewhere(self, new: Module, name: str) -> bool:
        """Tell whether another changed module imports a name from this one."""
        for module in self.new.values():
            if module is new:
                continue
            for unit in module.source.units:
                if name not in _words(unit.text):
                    continue
                found = self.facts(module.source, unit)
                items = [i.imported for i in found.locals]
                items += [s.imported for sites in module.names.values() for s in sites if s.unit == unit.index and s.imported]
                for item in items:
                    if item.member == name and new.stem in self.target.find(module.source.path, item.level, item.module):
                        return True
        return False

    def _local_imports(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        """Judge the imports within functions."""
        ours, theirs = self.facts(old.source, before), self.facts(new.source, after)
        one = {self._local(self.base, old, item): item for item in ours.locals}
        other = {self._local(self.target, new, item): item for item in theirs.locals}
        for entry in sorted(set(one) - set(other), key=repr):
            item = one[entry]
            if (item.scope, item.imported.name) not in ours.used:
                self._residual_at(old, before, "import", f"nothing used `{item.imported.spelled}`, yet it is gone", item.imported.line, "base")
        for entry in sorted(set(other) - set(one), key=repr):
            item = other[entry]
            if (item.scope, item.imported.name) not in theirs.used:
                self._residual_at(new, after, "import", f"nothing here uses `{item.imported.spelled}`", item.imported.line)
            elif not self._dominates(item, theirs):
                self._residual_at(new, after, "import", f"`{item.imported.spelled}` comes too late", item.imported.line)

    def _local(self, side: Side, module: Module, item: LocalImport) -> tuple[object, ...]:
        guards = tuple((g.branch, *(ast.dump(t) for t in g.tests)) for g in item.guards)
        loaded = item.imported.module if item.imported.member is None else None
        whats = side.follow(module, item.imported, True, True).whats
        return (item.scope, item.imported.name, item.spot, guards, loaded, whats)

    @staticmethod
    def _dominates(item: LocalImport, found: Facts) -> bool:
        lines = [r.line for r in found.refs if r.local and item.imported in r.local]
        return not item.guards and all(line > item.imported.line for line in lines)


def describe(meaning: Meaning) -> str:
    """Name a meaning for a reader."""
    words = []
    for alternative in meaning.alternatives:
        what = alternative.what
        rest = ".".join(["", *alternative.rest])
        if what[0] in {"def", "later", "del"}:
            words.append(f"{what[2]}{rest} of {what[1][0].removeprefix('+')}")
        elif what[0] in {"at", "missing", "dynamic"}:
            words.append(f"{'.'.join(map(str, what[1:3]))}{rest}" + (" (missing)" if what[0] == "missing" else ""))
        elif what[0] == "free":
            words.append("nothing")
        else:
            words.append(f"{what[0]} {what[1]}{rest}")
        if alternative.guards:
            words[-1] += " on a condition"
    return " or ".join(dict.fromkeys(words))


def _equal(ours: Meaning, theirs: Meaning, hint: bool) -> bool:
    if hint:
        return ours.whats == theirs.whats
    if ours.alternatives != theirs.alternatives:
        return False
    return ours.snapshot == theirs.snapshot or not ours.rebound


@lru_cache(maxsize=20_000)
def _words(text: str) -> frozenset[str]:
    found = frozenset(re.findall(r"\w+", text))
    return found if text.isascii() else frozenset(unicodedata.normalize("NFKC", w) for w in found) | found


def _logger_names(found: Facts) -> Iterator[int]:
    """Give the `__name__` nodes that only name a logger."""
    for ref, call, _ in found.calls:
        if ref and (ref.attrs or (ref.name,))[-1] == "getLogger" and len(call.args) == 1:
            if isinstance(call.args[0], ast.Name) and call.args[0].id == "__name__":
                yield id(call.args[0])


def _folded(piece: Piece, chains: Mapping[int, tuple[int, object]]) -> Iterator[object]:
    """Give a piece's tokens, each reference to a definition as one."""
    index = 0
    head = piece.head
    while index < len(head):
        size, meaning = chains.get(piece.tokens[index].start, (0, None))
        part = head[index : index + size]
        if size and all(dot == "." for dot in part[1::2]) and len(part) == size:
            yield meaning
            index += size
        else:
            yield head[index]
            index += 1


def _extent(source: Source, piece: Piece) -> range:
    last = piece.end if piece.blocks or not piece.tokens else piece.tokens[-1].end
    return range(source.line_at(piece.tokens[0].start), source.line_at(max(piece.tokens[0].start, last - 1)) + 1)


def _changed(old: Source, ours: range, new: Source, theirs: range) -> tuple[list[int], list[int]]:
    """Give the lines of two stretches that differ."""
    one = [old.line_text(n).strip() for n in ours]
    other = [new.line_text(n).strip() for n in theirs]
    left: list[int] = []
    right: list[int] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            left.extend(ours[i:j])
            right.extend(theirs[k:m])
    return left, right


def _immutable(node: ast.expr) -> bool:
    """Tell whether an expression is made of literals that cannot change."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Tuple):
        return all(map(_immutable, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _immutable(node.operand)
    return isinstance(node, ast.BinOp) and _immutable(node.left) and _immutable(node.right)
