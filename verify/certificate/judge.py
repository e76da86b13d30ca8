"""Whether each conserved statement still means what it meant, and may be where it is."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from verify.certificate.conserve import (
    Difference,
    Pairing,
    Piece,
    Place,
    Shapes,
    differences,
    name_of,
)
from verify.certificate.names import HINT, NOW, Facts, Ref, facts, last_name
from verify.certificate.resolve import Meaning, Module, Side, describe, listed, stem_of
from verify.certificate.source import Source, Unit, is_text

if TYPE_CHECKING:
    from verify.certificate import Findings

_DOTTED = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)+")
_FRAMES = re.compile(
    r"inspect\.(currentframe|stack|trace|getmodule|getouterframes)|sys\._(getframe|getframemodulename)"
)
_NAMESPACES = {"globals", "vars", "dir", "locals"}
_Chains = Mapping[int, tuple[int, object]]  # offset -> how many tokens, and what they mean


class Judge:
    """Compares the changed modules of two trees, statement by statement."""

    def __init__(
        self, base: Side, target: Side, pairing: Pairing, shapes: Shapes, found: Findings
    ) -> None:
        self.base, self.target = base, target
        self.pairing, self.shapes, self.found = pairing, shapes, found
        self.old = {m.source.path: m for m in base.changed()}
        self.new = {m.source.path: m for m in target.changed()}
        self.stems = {m.stem: m for m in self.old.values()}
        self._facts: dict[tuple[int, int, bool], Facts] = {}
        self._edits: dict[Place, set[int]] = {}  # the lines that an edit changed
        self.sources: dict[str, set[str]] = defaultdict(set)  # what moved into a file came from
        for (path, _), (origin, _) in pairing.pairs.items():
            self.sources[path].add(origin)
        self._differing: dict[tuple[str, str], frozenset[str]] = {}

    def run(self) -> None:
        """Judge every statement of the changed files."""
        for path, index in self.pairing.removed:
            self._whole(
                "base", self.old[path].source, self.old[path].source.units[index], "removed"
            )
        for path, index in self.pairing.added:
            module = self.new[path]
            unit = module.source.units[index]
            if self._derived(module, unit):
                self.found.move("derived", "__all__", path, unit.first, path, unit.first)
            else:
                self._whole("target", module.source, unit, "added")
        for theirs, ours in sorted(self.pairing.pairs.items()):
            self._pair(ours, theirs)
        for theirs, ours in sorted(self.pairing.copies.items()):
            self._copy(ours, theirs)

    # --- what others ask as well ---

    def facts(self, module: Module, unit: Unit, *, deep: bool = True) -> Facts:
        """Give what a statement refers to."""
        place = (id(module.source), unit.index, deep)
        if place not in self._facts:
            lazy = "annotations" in module.source.futures
            checking = module.outside("TYPE_CHECKING") is not None
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
        return any(
            equal(
                self.base.lookup(old, name, hint=hint, deep=deep),
                self.target.lookup(new, name, hint=hint, deep=deep),
                hint=hint,
            )
            for deep in (False, True)
        )

    def differing(self, old: Module, new: Module) -> frozenset[str]:
        """List the names that do not mean the same in two modules."""
        place = (old.source.path, new.source.path)
        if place not in self._differing:
            names = {*old.names, *new.names}
            for side, module in ((self.base, old), (self.target, new)):
                for stem in side.starred(module):
                    names |= side.exported(stem) or set()
            self._differing[place] = frozenset(
                name
                for name in names
                for hint in (False, True)
                if not self.same(old, new, name, hint=hint)
            )
        return self._differing[place]

    def residual(
        self, side: str, source: Source, line: int, kind: str, why: str, lines: Iterable[int] = ()
    ) -> None:
        """Note a residual with the text of its line."""
        text = source.line_text(line)
        self.found.residual(side, source.path, line, kind, why, text, lines)

    def _whole(self, side: str, source: Source, unit: Unit, kind: str, why: str = "") -> None:
        why = why or f"this statement {'is gone' if kind == 'removed' else 'is new'}"
        first, last = source.line_at(unit.start), source.line_at(max(unit.start, unit.end - 1))
        self.residual(side, source, unit.first, kind, why, range(first, last + 1))

    # --- statements ---

    def _pair(self, ours: Place, theirs: Place) -> None:
        old, new = self.old[ours[0]], self.new[theirs[0]]
        before, after = old.source.units[ours[1]], new.source.units[theirs[1]]
        moved = ours[0] != theirs[0]
        self.found.counts["moved" if moved else "kept"] += 1
        if theirs in self.pairing.edited:
            self._edited(old, new, before, after)
        elif before.text != after.text:
            self.found.counts["relaid"] += 1
        if moved:
            self._moved(old, new, before, after)
        elif before.text == after.text and not words(before.text) & self.differing(old, new):
            if self.base.outside_stars(old) == self.target.outside_stars(new):
                self._references(old, new, before, after, deep=False)
                return
        if not self._edits.get(theirs):
            for site in old.in_unit(before.index):
                if not all(self.same(old, new, site.name, hint=hint) for hint in (False, True)):
                    why = f"{site.name} is bound to something else as well"
                    self.residual("target", new.source, after.first, "binding", why)
        self._references(old, new, before, after, deep=True)

    def _moved(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        symbol = name_of(after) or type(after.node).__name__
        path = new.source.path
        self.found.move("moved", symbol, old.source.path, before.first, path, after.first)
        if hasattr(after.node, "decorator_list"):
            what = f"{symbol}.__module__ names its new module, and so do pickles of it"
            self.found.observe(path, after.first, "module", what)
        if is_text(after.node) and 0 in {before.index, after.index}:
            self.found.observe(path, after.first, "docstring", "a docstring of another module")
        for ref, call, _ in self.facts(new, after).calls:
            name = call.args and last_name(call.args[0]) if _names_logger(ref, call) else None
            if name == "__name__":
                what = "a logger is named after its new module"
                self.found.observe(path, call.lineno, "logger", what)
        self._sensitive(new, after)

    def _sensitive(self, new: Module, after: Unit) -> None:
        """Refuse what looks at the module or the frame it stands in."""
        theirs = self.facts(new, after)
        for ref in theirs.refs:
            for what, rest in self.target.resolve(new, ref).whats:
                dotted = ".".join([str(what[1]), *rest])
                if what[0] == "ext" and _FRAMES.match(dotted):
                    why = f"{dotted} sees where it stands"
                    self.residual("target", new.source, ref.line, "sensitive", why)
        for ref, call, when in theirs.calls:
            if ref and not ref.attrs and ref.name in _NAMESPACES and not call.args:
                if ref.name == "globals" or when == NOW:
                    why = f"{ref.name}() sees where it stands"
                    self.residual("target", new.source, ref.line, "sensitive", why)

    def _references(
        self, old: Module, new: Module, before: Unit, after: Unit, *, deep: bool
    ) -> None:
        """Check that each name in a statement means the same in both trees."""
        ours, theirs = self.facts(old, before, deep=deep), self.facts(new, after, deep=deep)
        edits = self._edits.get((new.source.path, after.index), set())
        if len(ours.refs) != len(theirs.refs):
            if not edits:
                why = "names belong to other scopes than before"
                self.residual("target", new.source, after.first, "binding", why)
            return
        exempt = {id(call.args[0]) for ref, call, _ in theirs.calls if _names_logger(ref, call)}
        evaluated = {id(ref) for ref in theirs.evaluated}
        for one, other in zip(ours.refs, theirs.refs, strict=True):
            if id(other.node) in exempt or other.line in edits:
                continue
            why = self._reference(old, new, one, other, (before.index, after.index))
            if why is None and id(other) in evaluated and one.local is other.local is None:
                bound = self.base.lookup(old, one.name), self.target.lookup(new, other.name)
                if bound[0].sure and not bound[1].sure:
                    why = (
                        f"something may evaluate an annotation, and {other.name} is no longer bound"
                    )
            if why:
                self.residual("target", new.source, other.line, "binding", why)

    def _reference(
        self, old: Module, new: Module, one: Ref, other: Ref, units: tuple[int, int]
    ) -> str | None:
        """Say why a reference does not mean what it meant, or None."""
        limits = units if one.when == NOW else (None, None)
        for deep in (False, True):
            ours = self.base.resolve(old, one, limit=limits[0], deep=deep)
            theirs = self.target.resolve(new, other, limit=limits[1], deep=deep)
            if equal(ours, theirs, hint=one.when == HINT):
                if (one.name, one.attrs) == (other.name, other.attrs):
                    if ours.loaded != theirs.loaded:
                        return f"it relies on `import {ours.loaded or theirs.loaded}`"
                return None
        name = ".".join((other.name, *other.attrs))
        return f"{name} is now {describe(theirs)}; it was {describe(ours)}"

    # --- edited statements ---

    def _edited(self, old: Module, new: Module, before: Unit, after: Unit) -> None:
        ours, theirs = self._chains(self.base, old, before), self._chains(self.target, new, after)

        def same(left: Piece, right: Piece) -> bool:
            one, other = list(_folded(left, ours)), list(_folded(right, theirs))
            return len(one) == len(other) and all(
                a == b or (isinstance(a, str) and isinstance(b, str) and self._string(a, b))
                for a, b in zip(one, other, strict=True)
            )

        one, other = self.shapes.of(old.source, before), self.shapes.of(new.source, after)
        lines = self._edits[new.source.path, after.index] = set()
        found = list(differences(one, other, same))
        for difference in found:
            lines |= self._difference(old.source, new.source, difference)
        if not found:
            self.found.counts["repointed"] += 1

    def _chains(self, side: Side, module: Module, unit: Unit) -> _Chains:
        """Find the references of a statement that mean a definition of the tree."""
        found = {}
        for ref in self.facts(module, unit).refs:
            limit = unit.index if ref.when == NOW else None
            meaning = side.resolve(module, ref, limit=limit, deep=True)
            rest = {len(rest) for _, rest in meaning.whats}
            if {what[0] for what, _ in meaning.whats} == {"def"} and len(rest) == 1:
                size = 2 * (len(ref.attrs) - rest.pop()) + 1
                start = module.source.offset(ref.line, ref.column)
                found[start] = (size, frozenset(what for what, _ in meaning.whats))
        return found

    def _string(self, one: str, other: str) -> bool:
        """Tell whether two string tokens differ only in the paths of moved symbols."""
        if one[:1] not in {'"', "'"} or _DOTTED.sub("", one) != _DOTTED.sub("", other):
            return False
        pairs = zip(_DOTTED.findall(one), _DOTTED.findall(other), strict=True)
        return all(a == b or self._renamed(a, b) for a, b in pairs)

    def _renamed(self, one: str, other: str) -> bool:
        """Tell whether two dotted paths name one moved symbol, each where it is defined."""
        ours = _symbols(self.base, self.old.values(), one)
        theirs = _symbols(self.target, self.new.values(), other)
        return bool(ours & theirs) and one.count(":") == other.count(":")

    def _difference(self, old: Source, new: Source, difference: Difference) -> set[int]:
        """Note a statement that differs, with the lines of each side that do."""
        one, other = difference.base, difference.target
        ours = _extent(old, one, whole=other is None)
        theirs = _extent(new, other, whole=one is None)
        left, right = list(ours), list(theirs)
        if ours and theirs:
            left, right = _changed(old, ours, new, theirs)
        kind = "changed" if ours and theirs else "removed" if ours else "added"
        why = {
            "changed": "this statement was changed",
            "removed": "this statement is gone",
            "added": "this statement is new",
        }[kind]
        if ours and (left or not right):
            self.residual("base", old, (left or ours)[0], kind, why, left)
        if right:
            self.residual("target", new, right[0], kind, why, right)
        return set(theirs)

    # --- copies and what is derived ---

    def _copy(self, ours: Place, theirs: Place) -> None:
        old, new = self.old[ours[0]], self.new[theirs[0]]
        before, after = old.source.units[ours[1]], new.source.units[theirs[1]]
        why = self._forbidden(old, new, before, after)
        if why is not None:
            self._whole("target", new.source, after, "copied", why)
            return
        symbol = name_of(after) or type(after.node).__name__
        path = new.source.path
        self.found.move("copies", symbol, old.source.path, before.first, path, after.first)
        self._references(old, new, before, after, deep=True)

    def _forbidden(self, old: Module, new: Module, before: Unit, after: Unit) -> str | None:
        """Say why a statement may not be copied, or None."""
        path = old.source.path
        if path == new.source.path:
            return "this statement stands here twice"
        if path not in self.sources[new.source.path]:
            return "this statement is a copy, but nothing moved along with it"
        stays = (path, before.index) in {
            ours for theirs, ours in self.pairing.pairs.items() if theirs[0] == path
        }
        if not stays and path in self.new:
            return "this statement is a copy of one that did not stay where it was"
        name, value = name_of(after), getattr(after.node, "value", None)
        if is_text(after.node):
            return None
        if name is None or value is None or not isinstance(after.node, (ast.Assign, ast.AnnAssign)):
            return "only constants, type variables, loggers and flags may be copied"
        if not any(self.uses(new, name)) and last_name(value) != "getLogger":
            return f"nothing here uses this copy of {name}"
        if len(old.names[name]) != 1 or len(new.names[name]) != 1:
            return f"{name} is bound more than once, so a copy is not the same thing"
        if _immutable(value):
            return None
        return self._shared(old, new, after, name, value)

    def _shared(
        self, old: Module, new: Module, after: Unit, name: str, value: ast.expr
    ) -> str | None:
        """Say why the result of a call may not be copied, or None."""
        why = f"a copy of {name} is another object"
        dotted = ""
        for ref, call, _ in self.facts(new, after).calls:
            if ref and call is value:
                for what, rest in self.target.resolve(new, ref).whats:
                    dotted = ".".join([str(what[1]), *rest]) if what[0] == "ext" else "own"
        if re.fullmatch(r"logging\.getLogger|typing(_extensions)?\.(TypeVar|ParamSpec)", dotted):
            self.found.observe(new.source.path, after.first, "copy", f"{name} exists twice")
            return None
        if not isinstance(value, ast.Call) or value.args or value.keywords or not dotted:
            return why
        for module in (old, new):
            if not all(ref.condition and not ref.attrs for _, ref in self.uses(module, name)):
                return f"{why}, and it is used as more than a condition"
        self.found.observe(new.source.path, after.first, "copy", f"{name} is computed twice")
        return None

    def _derived(self, module: Module, unit: Unit) -> bool:
        """Tell whether `__all__` of a new package lists just what it imports from moved code."""
        if name_of(unit) != "__all__" or not module.package or module.source.path in self.old:
            return False
        names, value = listed(module), getattr(unit.node, "value", None)
        imported = {n for n, found in module.names.items() if all(s.imported for s in found)}
        if names is None or names != imported - module.source.futures or module.stars:
            return False
        if not isinstance(unit.node, ast.Assign) or len(value.elts) != len(names):  # type: ignore[union-attr]
            return False
        old = self.stems.get(module.stem)
        for name in names:
            if old is not None and self.same(old, module, name, hint=False):
                continue
            for what, _ in self.target.lookup(module, name, deep=True).whats:
                if what[0] != "def" or not self.has_moved(what[1]):
                    return False
        return True

    def has_moved(self, key: Place) -> bool:
        """Tell whether a statement of the base stands in another file of the target."""
        return any(o == key and t[0] != o[0] for t, o in self.pairing.pairs.items())


def equal(ours: Meaning, theirs: Meaning, *, hint: bool) -> bool:
    """Tell whether two meanings, one of each tree, are the same.

    A name that a function rebinds must also be read the same way: live, or as it once was.
    """
    if hint:
        return ours.whats == theirs.whats
    if ours.alternatives != theirs.alternatives:
        return False
    return ours.snapshot == theirs.snapshot or not ours.rebound


@lru_cache(maxsize=50_000)
def words(text: str) -> frozenset[str]:
    """List the words of a text, also as Python normalises identifiers."""
    found = frozenset(re.findall(r"\w+", text))
    return found if text.isascii() else found | {unicodedata.normalize("NFKC", w) for w in found}


def _names_logger(ref: Ref | None, call: ast.Call) -> bool:
    return ref is not None and last_name(call) == "getLogger" and len(call.args) == 1


def _symbols(side: Side, modules: Iterable[Module], dotted: str) -> set[tuple[object, ...]]:
    """Find the definitions in changed modules that a dotted path names."""
    parts = re.split("[.:]", dotted)
    stems = {m.stem: m for m in modules}
    found: set[tuple[object, ...]] = set()
    for size in range(1, len(parts)):
        for stem in side.find("", 0, ".".join(parts[:size])):
            module = stems.get(stem)
            sites = module.names.get(parts[size], ()) if module else ()
            if module and sites and not any(s.imported for s in sites):
                found.add((side.lookup(module, parts[size]).whats, *parts[size + 1 :]))
    return found


def _folded(piece: Piece, chains: _Chains) -> Iterator[object]:
    """Give a piece's tokens, each reference to a definition as one."""
    index, head = 0, piece.head
    while index < len(head):
        size, meaning = chains.get(piece.tokens[index].start, (0, None))
        part = head[index : index + size]
        if size and len(part) == size and all(dot == "." for dot in part[1::2]):
            yield meaning
            index += size
        else:
            yield head[index]
            index += 1


def _extent(source: Source, piece: Piece | None, *, whole: bool) -> range:
    """Give the lines of a statement, or of its head alone."""
    tokens = [] if piece is None else list(piece.every()) if whole else piece.tokens
    if not tokens:
        return range(0)
    return range(source.line_at(tokens[0].start), source.line_at(tokens[-1].end - 1) + 1)


def _changed(old: Source, ours: range, new: Source, theirs: range) -> tuple[list[int], list[int]]:
    """Give the lines of two stretches that differ."""
    one = [old.line_text(n).strip() for n in ours]
    other = [new.line_text(n).strip() for n in theirs]
    left: list[int] = []
    right: list[int] = []
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            left.extend(ours[i:j])
            right.extend(theirs[k:m])
    return left, right


def _immutable(node: ast.expr) -> bool:
    """Tell whether an expression is made of literals that cannot change."""
    if isinstance(node, ast.Tuple):
        return all(map(_immutable, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _immutable(node.operand)
    if isinstance(node, ast.BinOp):
        return _immutable(node.left) and _immutable(node.right)
    return isinstance(node, ast.Constant)
