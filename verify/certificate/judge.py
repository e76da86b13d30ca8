"""Whether each conserved statement means what it meant, and each import is there for a reason."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from posixpath import dirname
from typing import TYPE_CHECKING, NamedTuple

from verify.certificate.conserve import (
    Chains,
    Pairing,
    Piece,
    Place,
    Shapes,
    differences,
    folded,
    name_of,
    symbols,
    unlike,
)
from verify.certificate.names import (
    HARMLESS,
    HINT,
    NOW,
    Facts,
    LocalImport,
    Ref,
    facts,
    immutable,
    last_name,
    logger_name,
    words,
)
from verify.certificate.place import CLIMBING, Use, own_place
from verify.certificate.resolve import CHECKING, Look, Side, What
from verify.certificate.source import Import, Module, Source, Unit, is_text

if TYPE_CHECKING:
    from verify.certificate import Findings

_DOTTED = re.compile(r"(?<!\w)[^\W\d]\w*(?:[.:][^\W\d]\w*)+")
_FRAMES = re.compile(
    r"builtins(\.(globals|locals|vars|dir)\b|\Z)|sys\._(getframe|current_frames)|"
    r"inspect\.(currentframe|stack|trace|getmodule|getouter)|.*\.(__globals__|f_globals|f_back)\b|"
    r"traceback\.(extract|format|print)_stack"
)
_NAMESPACES = {"globals", "vars", "dir", "locals"}
_SHARED = re.compile(r"logging\.getLogger|typing(_extensions)?\.(TypeVar|ParamSpec|TypeVarTuple)")
_QUOTED = re.compile("[a-zA-Z]{0,2}[\"']")
_WHY = {"changed": "was changed", "removed": "is gone", "added": "is new"}


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
        plain = self.loaded is None or self.name != self.loaded.partition(".")[0]
        return plain or whole.startswith(f"{self.loaded}.")


class Judge:
    """Compares the changed modules of two trees, statement by statement."""

    def __init__(
        self, base: Side, target: Side, pairing: Pairing, shapes: Shapes, found: Findings
    ) -> None:
        self.base, self.target = base, target
        self.pairing, self.shapes, self.found = pairing, shapes, found
        self.old, self.new = ({m.path: m for m in side.changed()} for side in (base, target))
        self.stems = {module.stem: module for module in self.old.values()}
        self.pairs = [
            (self.old[ours[0]], ours[1], self.new[theirs[0]], theirs[1])
            for theirs, ours in sorted(pairing.pairs.items())
        ]
        self.sources: dict[str, set[str]] = defaultdict(set)  # where a file's statements were
        for old, _, new, _ in self.pairs:
            self.sources[new.path].add(old.path)
        self.whole = pairing.whole
        self.moved = {self.old[old]: self.new[new] for new, old in self.whole.paths.items()}
        for old_module, new_module in self.moved.items():
            self.sources[new_module.path].add(old_module.path)
        self._facts: dict[tuple[int, int, bool], Facts] = {}
        self._edits: dict[Place, list[set[int]]] = {}  # lines that an edit changed, by side
        self._differing: dict[tuple[str, str], frozenset[str]] = {}
        self._gone = set(self.whole.called.values())
        self.frozen: set[tuple[Place, str]] = set()  # read anew each time before, or once

    def run(self) -> None:
        """Judge every statement and every import of the changed files."""
        for path, index in self.pairing.removed:
            self._whole("base", self.old[path].source, index, "removed")
        for path, index in self.pairing.added:
            if self._derived(self.new[path], self.new[path].source.units[index]):
                line = self.new[path].source.units[index].first
                self.found.move("derived", "__all__", path, line, path, line)
            else:
                self._whole("target", self.new[path].source, index, "added")
        for old, before, new, after in self.pairs:
            self._pair(old, old.source.units[before], new, new.source.units[after])
        for theirs, ours in sorted(self.pairing.copies.items()):
            self._copy(self.old[ours[0]], ours[1], self.new[theirs[0]], theirs[1])
        fresh = {module.stem: module for module in self.new.values()}
        for stem in sorted({*self.stems, *fresh}):
            old, new = self.stems.get(stem), fresh.get(stem)
            if new is not None and new.path in self.whole.paths:
                self._imports(self.old[self.whole.paths[new.path]], new)
            elif new is not None or old not in self.moved:
                self._imports(old, new)

    # --- what others ask as well ---

    def facts(self, module: Module, unit: Unit, *, deep: bool = True) -> Facts:
        """Give what a statement refers to."""
        place = (id(module.source), unit.index, deep)
        if place not in self._facts:
            lazy = "annotations" in module.source.futures
            checking = module.outside("TYPE_CHECKING") in CHECKING
            self._facts[place] = facts(unit.node, lazy_hints=lazy, checking=checking, deep=deep)
        return self._facts[place]

    def uses(self, module: Module, name: str) -> Iterator[tuple[Unit, Ref]]:
        """List the uses of a module's name within the module."""
        for unit in module.source.units:
            if name in words(unit.text):
                found = self.facts(module, unit)
                for ref in (*found.refs, *found.guards):
                    if ref.name == name and ref.local is None:
                        yield unit, ref

    def same(self, old: Module, new: Module, name: str, *, hint: bool) -> bool:
        """Tell whether a name means the same in two modules, one of each tree."""
        for deep in (False, True):
            look = Look(hint, deep)
            ours, theirs = self.base.lookup(old, name, look), self.target.lookup(new, name, look)
            if ours.equals(theirs, hint=hint):
                return True
        return False

    def differing(self, old: Module, new: Module) -> frozenset[str]:
        """List the names that do not mean the same in two modules."""
        place = old.path, new.path
        if place not in self._differing:
            names = {*old.names, *new.names}
            for side, module in ((self.base, old), (self.target, new)):
                for stem, _ in side.starred(module):
                    names |= side.exported(stem) or set()
            self._differing[place] = frozenset(
                name
                for name in names
                if not all(self.same(old, new, name, hint=hint) for hint in (False, True))
            )
        return self._differing[place]

    def residual(
        self, side: str, source: Source, line: int, kind: str, why: str, lines: Iterable[int] = ()
    ) -> None:
        """Note a residual with the text of its line."""
        text = source.line_text(line)
        self.found.residual(side, source.path, line, kind, why, text, lines)

    def _whole(self, side: str, source: Source, index: int, kind: str, why: str = "") -> None:
        unit, why = source.units[index], why or f"this statement {_WHY[kind]}"
        first, last = source.line_at(unit.start), source.line_at(max(unit.start, unit.end - 1))
        self.residual(side, source, unit.first, kind, why, range(first, last + 1))

    # --- statements ---

    def _pair(self, old: Module, before: Unit, new: Module, after: Unit) -> None:
        place, moved = (new.path, after.index), old.path != new.path
        self.found.counts["moved" if moved else "kept"] += 1
        if place in self.pairing.edited:
            self._edited(old, before, new, after)
        elif before.text != after.text:
            self.found.counts["relaid"] += 1
        whole = self.moved.get(old) is new
        if is_text(after.node) and ((moved and not whole) or before.index != after.index):
            if 0 in {before.index, after.index}:
                self.found.observe(new.path, after.first, "docstring", "a module's docstring moved")
        if whole:
            self._placed(old, new, after)
        if moved:
            self._moved(old, before, new, after)
        elif before.text == after.text and not words(before.text) & self.differing(old, new):
            if self.base.outside_stars(old) == self.target.outside_stars(new):
                self._references(old, before, new, after, deep=False)
                return
        for site in old.in_unit(before.index) if not any(self._edits.get(place, ())) else ():
            if not all(self.same(old, new, site.name, hint=hint) for hint in (False, True)):
                why = f"{site.name} is bound to something else as well"
                self.residual("target", new.source, after.first, "binding", why)
        self._references(old, before, new, after, deep=True)
        if "import" in before.text or "import" in after.text:
            self._local_imports(old, before, new, after)

    def _moved(self, old: Module, before: Unit, new: Module, after: Unit) -> None:
        symbol = name_of(after) or type(after.node).__name__
        self.found.move("moved", symbol, old.path, before.first, new.path, after.first)
        if hasattr(after.node, "decorator_list") and old.stem != new.stem:
            text = f"{symbol}.__module__ names its new module, and so do pickles of it"
            self.found.observe(new.path, after.first, "module", text)
            for name in map(last_name, after.node.decorator_list):
                if not HARMLESS.fullmatch(name):
                    text = f"{symbol} is now handed to `{name}` from its new module"
                    self.found.observe(new.path, after.first, "registry", text)
        theirs, whole = self.facts(new, after), self.moved.get(old) is new
        for ref in theirs.refs:
            for what, rest in self.target.resolve(new, ref).whats:
                dotted = ".".join([str(what[1]), *rest])
                if whole and dotted.partition(".")[0] == "builtins":
                    continue  # its names went along
                if what[0] in {"ext", "def"} and _FRAMES.match(dotted):
                    why = f"{'.'.join((ref.name, *ref.attrs))} sees where it stands"
                    self.residual("target", new.source, ref.line, "sensitive", why)
        for maker, call, when in theirs.calls:
            name = last_name(call)
            if logger_name(maker, call) is not None and old.stem != new.stem:
                text = "a logger is named after its new module"
                self.found.observe(new.path, call.lineno, "logger", text)
            elif whole:
                continue
            elif maker and not maker.attrs and name in _NAMESPACES and not call.args:
                if name == "globals" or when == NOW:
                    why = f"{name}() sees where it stands"
                    self.residual("target", new.source, call.lineno, "sensitive", why)

    def _placed(self, old: Module, new: Module, after: Unit) -> None:
        """Look at what the code of a module that moved whole makes of its own place."""
        if old.stem == new.stem or "__" not in after.text:
            return
        exempt = {logger_name(ref, call) for ref, call, _ in self.facts(new, after).calls}
        for use in own_place(after.node):
            if id(use.node) in exempt or (
                use.name == "__file__" and self._along(old, new, after, use)
            ):
                continue
            now, was = (m.stem.replace("/", ".") for m in (new, old))
            said = f"`{use.name}` is handed on, and names {now} now; it was {was}"
            if use.name != "__file__" and use.handed:
                self.found.observe(new.path, use.node.lineno, "name", said)
            elif use.name != "__name__" or not use.main:
                why = f"{use.name} is that of {now} now; it was that of {was}"
                self.residual("target", new.source, use.node.lineno, "binding", why)

    def _along(self, old: Module, new: Module, after: Unit, use: Use) -> bool:
        """Tell whether what is found from a module's path went along: its folder moved whole."""
        folders = [new.path, old.path]
        for _ in range(use.climbs + self._climbs_on(use, after)):
            folders = [dirname(folder) for folder in folders]
        return use.climbs > 0 and self.whole.folders.get(folders[0]) == folders[1]

    def _climbs_on(self, use: Use, after: Unit) -> int:
        """Count at most how far up the paths are followed that a statement gives a name to."""
        own = len(CLIMBING.findall(after.text))
        count = 0 if own == use.climbs else own
        for module in self.new.values() if use.kept else ():
            for unit in module.source.units:
                if unit is not after and words(unit.text) & use.kept:
                    count += len(CLIMBING.findall(unit.text))
        return count

    def _references(
        self, old: Module, before: Unit, new: Module, after: Unit, *, deep: bool
    ) -> None:
        """Check that each name in a statement means the same in both trees."""
        ours, theirs = self.facts(old, before, deep=deep), self.facts(new, after, deep=deep)
        edits = self._edits.get((new.path, after.index), [set(), set()])
        had = [ref for ref in ours.refs if ref.line not in edits[0]]
        has = [ref for ref in theirs.refs if ref.line not in edits[1]]
        if len(had) != len(has):
            self.residual("target", new.source, after.first, "binding", "names changed scopes")
            return
        exempt = {logger_name(ref, call) for ref, call, _ in theirs.calls}
        evaluated = {id(ref) for ref in theirs.evaluated}
        for one, other in zip(had, has, strict=True):
            if id(other.node) in exempt:
                continue
            changed = self._reference(old, new, one, other, (before.index, after.index))
            if changed is None and id(other) in evaluated and not (one.local or other.local):
                if self.base.lookup(old, one.name).sure > self.target.lookup(new, other.name).sure:
                    changed = f"something may evaluate this, and {other.name} is no longer bound"
            if changed:
                self.residual("target", new.source, other.line, "binding", changed)

    def _reference(
        self, old: Module, new: Module, one: Ref, other: Ref, units: tuple[int, int]
    ) -> str | None:
        """Say why a reference does not mean what it meant, or None."""
        limits = units if one.when == NOW else (None, None)
        for deep in (False, True):
            ours = self.base.resolve(old, one, limit=limits[0], deep=deep)
            theirs = self.target.resolve(new, other, limit=limits[1], deep=deep)
            if ours.equals(theirs, hint=one.when == HINT):
                if ours.loaded == theirs.loaded:
                    if ours.snapshot != theirs.snapshot:
                        self.frozen |= {w[1:3] for w, _ in ours.whats if w[0] == "def"}
                    return None
                return "it relies on an `import` of a dotted name that changed"
        return f"{'.'.join((other.name, *other.attrs))} is now {theirs}; it was {ours}"

    # --- edited statements ---

    def _edited(self, old: Module, before: Unit, new: Module, after: Unit) -> None:
        ours, theirs = self._chains(self.base, old, before), self._chains(self.target, new, after)

        def same(left: Piece, right: Piece) -> bool:
            prose = right.node is not None and is_text(right.node)
            one, other = list(folded(left, ours)), list(folded(right, theirs))
            return len(one) == len(other) and all(
                a == b or (isinstance(a, str) and isinstance(b, str) and self._string(a, b, prose))
                for a, b in zip(one, other, strict=True)
            )

        one, other = self.shapes.of(old.source, before), self.shapes.of(new.source, after)
        found = list(differences(one, other, same))
        lines = [self._difference(old.source, new.source, *pieces) for pieces in found]
        self._edits[new.path, after.index] = [{n for p in lines for n in p[i]} for i in (0, 1)]
        if not found:
            self.found.counts["repointed"] += 1

    def _chains(self, side: Side, module: Module, unit: Unit) -> Chains:
        """Find the references of a statement that mean a definition of the tree."""
        found = {}
        for ref in self.facts(module, unit).refs:
            if ref.action != "load":
                continue  # who took the name by a `from` import would not see what is written
            limit = unit.index if ref.when == NOW else None
            meaning = side.resolve(module, ref, limit=limit, deep=True)
            rest = {len(rest) for _, rest in meaning.whats}
            known = all(what[0] == "def" or self._went(what) for what, _ in meaning.whats)
            if known and len(rest) == 1:
                names = (ref.name, *ref.attrs[: len(ref.attrs) - rest.pop()])
                start = module.source.offset(ref.line, ref.column)
                chain = tuple(".".join(names).replace(".", " . ").split())
                found[start] = (chain, frozenset(what for what, _ in meaning.whats))
        return found

    def _went(self, what: What) -> bool:
        """Tell whether a meaning is a module that moved whole."""
        return what[0] == "mod" and what[1] in self._gone

    def _string(self, one: str, other: str, prose: bool) -> bool:
        """Tell whether two strings, or comments, differ only in the paths of what moved."""
        comment = one.lstrip("\n").startswith("#")
        if comment or _QUOTED.match(one):
            if self.whole.same(one, other, prose=prose or comment):
                return True
        if one[:1] not in {'"', "'"} or _DOTTED.sub("", one) != _DOTTED.sub("", other):
            return False
        for a, b in zip(_DOTTED.findall(one), _DOTTED.findall(other), strict=True):
            ours = symbols(self.base, self.old.values(), a)
            if a != b and not ours & symbols(self.target, self.new.values(), b):
                return False
        return True

    def _difference(
        self, old: Source, new: Source, one: Piece | None, other: Piece | None
    ) -> tuple[range, range]:
        """Note a statement that differs, and give its lines on each side."""
        ours, left, theirs, right = unlike(old, one, new, other)
        kind = "changed" if ours and theirs else "removed" if ours else "added"
        if ours and (left or not right):
            why = f"this statement {_WHY[kind]}"
            self.residual("base", old, (left or ours)[0], kind, why, left)
        if right:
            self.residual("target", new, right[0], kind, f"this statement {_WHY[kind]}", right)
        return ours, theirs

    # --- copies and what is derived ---

    def _copy(self, old: Module, before: int, new: Module, after: int) -> None:
        first, unit = old.source.units[before], new.source.units[after]
        why = self._forbidden(old, before, new, unit)
        if why is not None:
            return self._whole("target", new.source, after, "copied", why)
        symbol = name_of(unit) or type(unit.node).__name__
        self.found.move("copies", symbol, old.path, first.first, new.path, unit.first)
        return self._references(old, first, new, unit, deep=True)

    def _forbidden(self, old: Module, before: int, new: Module, after: Unit) -> str | None:
        """Say why a statement may not be copied, or None."""
        stays = any((o, i) == (old, before) and n.path == o.path for o, i, n, _ in self.pairs)
        if old.path == new.path or self.moved.get(old) is new:
            return "this statement stands here twice"
        if old.path not in self.sources[new.path] or not (stays or old.path not in self.new):
            return "a copy, but not of what stayed where the code beside it came from"
        name, value = name_of(after), getattr(after.node, "value", None)
        if is_text(after.node):
            return None
        if name is None or value is None or not isinstance(after.node, (ast.Assign, ast.AnnAssign)):
            return "only constants, type variables, loggers and flags may be copied"
        if len(old.names[name]) != 1 or len(new.names[name]) != 1:
            return f"{name} is bound more than once, so a copy is not the same thing"
        return self._another(old, new, after, name, value)

    def _another(
        self, old: Module, new: Module, after: Unit, name: str, value: ast.expr
    ) -> str | None:
        """Say why a copied value would be another than the first, or None."""
        ours, theirs = ([r for _, r in self.uses(module, name)] for module in (old, new))
        dotted = ""
        for ref, call, _ in self.facts(new, after).calls:
            for what, rest in self.target.resolve(new, ref).whats if ref and call is value else ():
                dotted = ".".join([str(what[1]), *rest]) if what[0] == "ext" else "own"
        if _SHARED.fullmatch(dotted):
            self.found.observe(new.path, after.first, "copy", f"{name} exists twice")
        elif not theirs:
            return f"nothing here uses this copy of {name}"
        elif not immutable(value):
            if not isinstance(value, ast.Call) or not dotted or value.args or value.keywords:
                return f"a copy of {name} is another object"
            if not all(ref.condition and not ref.attrs for ref in (*ours, *theirs)):
                return f"a copy of {name} is another object, and it is more than a condition"
            self.found.observe(new.path, after.first, "copy", f"{name} is computed twice")
        return None

    def _derived(self, module: Module, unit: Unit) -> bool:
        """Tell whether `__all__` of a new package lists just what it imports from moved code."""
        names = module.listed() if module.package and module.path not in self.old else None
        if names is None or name_of(unit) != "__all__" or "#" in unit.text or module.stars:
            return False
        plain = {n for n, s in module.names.items() if all(i.imported and not i.guards for i in s)}
        if names != plain - module.source.futures or not isinstance(unit.node, ast.Assign):
            return False
        if len(unit.node.value.elts) != len(names):  # type: ignore[attr-defined]
            return False  # it names something twice
        moved = {(o.path, i) for o, i, n, _ in self.pairs if o.path != n.path}
        old = self.stems.get(module.stem)
        for name in names:
            if old is None or not self.same(old, module, name, hint=False):
                for what, _ in self.target.lookup(module, name, Look(deep=True)).whats:
                    if what[0] != "def" or what[1] not in moved:
                        return False
        return True

    # --- imports ---

    def _entries(self, side: Side, module: Module | None) -> Iterator[tuple[Entry, Import]]:
        for site, item in module.imports() if module else ():
            if item.module == "__future__" or module is None:
                continue
            guards = side.guards(module, site.unit, site.guards, hint=False)
            typing = guards is None
            if typing:
                guards = side.guards(module, site.unit, site.guards, hint=True)
            what: object = side.follow(module, item, Look(hint=True)).whats
            if item.member == "*":
                stems = side.find(module.path, item.level, item.module)
                what = tuple(map(side.called, stems)) or item.module
            loaded = item.module if item.member is None else None
            yield Entry(item.name, what, guards, typing, loaded), item

    def _imports(self, old: Module | None, new: Module | None) -> None:
        """Judge the imports of a module by what they bring."""
        ours, theirs = list(self._entries(self.base, old)), list(self._entries(self.target, new))
        gone, come = Counter(e for e, _ in ours), Counter(e for e, _ in theirs)
        present = come.copy()
        gone, come = gone - come, come - gone
        homes = [self.old[path] for path in self.sources[new.path]] if new else []
        homes += [old] if old and old not in homes else []
        known = {e.guards for home in homes for e, _ in self._entries(self.base, home)}
        for one in sorted(gone, key=repr):  # spelled otherwise, yet it brings the same
            for other in sorted(come, key=repr):
                if one.name == other.name != "*" and one[2:] == other[2:] and old and new:
                    if self.same(old, new, one.name, hint=True):
                        both = min(gone[one], come[other])
                        gone[one] -= both
                        come[other] -= both
        self._respelled(old, new, gone, come)
        left = old is not None and self.moved.get(old, new) is not new
        for entry, item in ours:
            if gone[entry] > 0 and old:
                gone[entry] -= 1
                if not left and not self._leaves(old, new, entry):
                    self._import("base", old, item, "is gone, yet nothing used it")
        for entry, item in reversed(theirs):
            if come[entry] > 0 and new:
                come[entry] -= 1
                present[entry] -= 1
                needless = self._needless(old, new, entry)
                if entry.guards and entry.guards not in known:
                    needless = "is on a condition that is new"
                if present[entry] > 0 or needless:
                    self._import("target", new, item, needless or "is there twice")

    def _respelled(
        self, old: Module | None, new: Module | None, gone: Counter[Entry], come: Counter[Entry]
    ) -> None:
        """Take out imports of modules that moved, by the old name and by the new."""

        def brought(side: Side, module: Module, entry: Entry) -> object:
            if entry.loaded is not None:
                stems = {*map(side.called, side.find(module.path, 0, entry.loaded))}
                return (stems, entry[2:4]) if stems & self._gone else None
            whats = entry.what if isinstance(entry.what, frozenset) else ()
            moved = bool(whats) and all(self._went(what) and not rest for what, rest in whats)
            return entry[1:4] if moved else None

        for one in sorted(gone, key=repr) if self._gone and old and new else ():
            known = brought(self.base, old, one) if old and gone[one] else None
            for other in sorted(come, key=repr) if known and new else ():
                if come[other] and new and brought(self.target, new, other) == known:
                    both = min(gone[one], come[other])
                    gone[one] -= both
                    come[other] -= both

    def _import(self, side: str, module: Module, item: Import, why: str) -> None:
        said = f"`{item.spelled}` {why}"
        self.residual(side, module.source, item.line, "import", said, [item.line])

    def _leaves(self, old: Module, new: Module | None, entry: Entry) -> bool:
        """Tell whether an import may go: something used it, or its name is still the same."""
        used = any(entry.serves(ref) for _, ref in self.uses(old, entry.name))
        if used or entry.name in (old.listed() or ()):
            return True
        if new is None or entry.loaded is not None or entry.name not in new.names:
            return False
        return self.same(old, new, entry.name, hint=entry.typing)

    def _needless(self, old: Module | None, new: Module, entry: Entry) -> str | None:
        """Say why an import should not have come, or None."""
        name = entry.name
        if name == "*":
            return "is new, and nobody can tell what it brings"
        known = old is not None and name in old.names and entry.loaded is None
        if known and old is not None and self.same(old, new, name, hint=entry.typing):
            return None  # the name was there, and still is
        uses = [(unit, ref) for unit, ref in self.uses(new, name) if entry.serves(ref)]
        if not uses:
            wanted = name in (new.listed() or ()) or self._handed_on(new, name)
            return None if wanted else "is new, and nothing here uses it"
        ran = entry.typing or any(ref.when != HINT for _, ref in uses)
        for unit, _ in uses:
            origin = self.pairing.key(new.path, unit.index)
            home = self.old.get(origin[0])
            ran |= home is None or self.base.lookup(home, name).sure
        return None if ran else "was only for annotations, and now it runs"

    def _handed_on(self, new: Module, name: str) -> bool:
        """Tell whether another changed module takes a name from this one."""
        for module in self.new.values():
            for unit in module.source.units if module is not new else ():
                for item in self.facts(module, unit).imports if name in words(unit.text) else ():
                    if item.member == name:
                        if new.stem in self.target.find(module.path, item.level, item.module):
                            return True
        return False

    def _local_imports(self, old: Module, before: Unit, new: Module, after: Unit) -> None:
        """Judge the imports within functions."""
        ours, theirs = self.facts(old, before), self.facts(new, after)
        for deep in (False, True):
            one = {_local(self.base, old, item, deep): item for item in ours.locals}
            other = {_local(self.target, new, item, deep): item for item in theirs.locals}
            if one.keys() == other.keys():
                return
        for entry in sorted(one.keys() - other.keys(), key=repr):
            item = one[entry].imported
            if (one[entry].scope, item.name) not in ours.used:
                self._import("base", old, item, "is gone, yet nothing used it")
            elif one[entry].guards and not any(entry[:2] == e[:2] for e in other):
                self._import("base", old, item, "is gone, which stood on a condition")
        for entry in sorted(other.keys() - one.keys(), key=repr):
            item = other[entry].imported
            lines = [ref.line for ref in theirs.refs if ref.local and item in ref.local]
            if any(entry[:2] == e[:2] and entry[3] != e[3] for e in one):
                self._import("target", new, item, "is on another condition")
            elif (other[entry].scope, item.name) not in theirs.used:
                self._import("target", new, item, "is new, and nothing here uses it")
            elif other[entry].guards or min(lines, default=0) <= item.line:
                self._import("target", new, item, "may come too late for its uses")


def _local(side: Side, module: Module, item: LocalImport, deep: bool) -> tuple[object, ...]:
    guards = tuple((g.branch, *(ast.dump(t) for t in g.tests)) for g in item.guards)
    loaded = item.imported.module if item.imported.member is None else None
    what = side.follow(module, item.imported, Look(hint=True, deep=deep)).whats
    return (item.scope, item.imported.name, item.spot, guards, loaded, what)
