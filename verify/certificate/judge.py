"""Whether each conserved statement means what it meant, and each import is there for a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable

from verify.certificate.both import Both
from verify.certificate.conserve import Pairing, symbols
from verify.certificate.findings import Findings
from verify.certificate.imports import Imports
from verify.certificate.meaning import Look
from verify.certificate.names import (
    HARMLESS,
    HINT,
    NOW,
    Ref,
    immutable,
    last_name,
    logger_name,
    words,
)
from verify.certificate.pieces import (
    Chains,
    Piece,
    Place,
    Shapes,
    differences,
    folded,
    name_of,
    unlike,
)
from verify.certificate.place import judge_place
from verify.certificate.resolve import Side
from verify.certificate.source import Module, Source, Unit, is_text

_DOTTED = re.compile(r"(?<!\w)[^\W\d]\w*(?:[.:][^\W\d]\w*)+")
_FRAMES = re.compile(
    r"builtins(\.(globals|locals|vars|dir)\b|\Z)|sys\._(getframe|current_frames)|"
    r"inspect\.(currentframe|stack|trace|getmodule|getouter)|.*\.(__globals__|f_globals|f_back)\b|"
    r"traceback\.(extract|format|print)_stack"
)
_NAMESPACES = {"globals", "vars", "dir", "locals"}
_LOGS = frozenset(
    {
        "debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log",
        "isEnabledFor",
    }
)  # fmt: skip
_SHARED = re.compile(r"logging\.getLogger|typing(_extensions)?\.(TypeVar|ParamSpec|TypeVarTuple)")
_QUOTED = re.compile("[a-zA-Z]{0,2}[\"']")
_WHY = {"changed": "was changed", "removed": "is gone", "added": "is new"}


class Judge(Both):
    """Compares the changed modules of two trees, statement by statement."""

    def __init__(
        self,
        base: Side,
        target: Side,
        pairing: Pairing,
        shapes: Shapes,
        found: Findings,
        search: Callable[[re.Pattern[bytes]], Iterable[str]],
    ) -> None:
        super().__init__(base, target, pairing, found)
        self.shapes, self.search = shapes, search
        self.pairs = [
            (self.old[ours[0]], ours[1], self.new[theirs[0]], theirs[1])
            for theirs, ours in sorted(pairing.pairs.items())
        ]
        self._edits: dict[Place, list[set[int]]] = {}  # lines that an edit changed, by side
        self._differing: dict[tuple[str, str], frozenset[str]] = {}
        self.imports = Imports(self)
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
            had, has = self.stems.get(stem), fresh.get(stem)
            if has is not None and has.path in self.whole.paths:
                self.imports.compare(self.old[self.whole.paths[has.path]], has)
            elif has is not None or had not in self.moved:
                self.imports.compare(had, has)

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
            judge_place(self, old, new, after)
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
            self.imports.compare_local(old, before, new, after)

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
        self._sensitive(old, new, after)

    def _sensitive(self, old: Module, new: Module, after: Unit) -> None:
        """Report what a moved statement learns of the place where it stands."""
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
        loggers = one.attrs == other.attrs and self._logs(old, one) and self._logs(new, other)
        if loggers and not self._is_heard(old, new):
            text = "it is logged under the name of its new module"
            self.found.observe(new.path, other.line, "logger", text)
            return None
        name = ".".join((other.name, *other.attrs))
        if str(ours) == str(theirs):
            what = "" if str(theirs) == name else f": {theirs}"
            return f"{name} is another one in its new module{what}"
        return f"{name} is now {theirs}; it was {ours}"

    def _logs(self, module: Module, ref: Ref) -> bool:
        """Tell whether a name is the module's own logger, which here does nothing but log.

        A logger that is named after its module is one value, wherever that is. What was done to it
        is part of it: a level, a handler, or whoever else is handed it or asks for it by name.
        """
        sites = module.names.get(ref.name, [])
        if ref.local or len(sites) != 1 or sites[0].imported or sites[0].guards:
            return False
        unit = module.source.units[sites[0].unit]
        if name_of(unit) != ref.name or not self._is_logger(module, unit):
            return False
        uses = (other for _, other in self.uses(module, ref.name))
        logs = all(o.action == "load" and o.attrs[:1] and o.attrs[0] in _LOGS for o in uses)
        return logs and not self._is_named(module, ref.name)

    def _is_logger(self, module: Module, unit: Unit) -> bool:
        side = self.target if self.new.get(module.path) is module else self.base
        for maker, call, _ in self.facts(module, unit).calls:
            if call is getattr(unit.node, "value", None) and logger_name(maker, call) is not None:
                whats = side.resolve(module, maker).whats if maker else ()
                return [(w[0], ".".join([str(w[1]), *rest])) for w, rest in whats] == [
                    ("ext", "logging.getLogger")
                ]
        return False

    def _is_heard(self, old: Module, new: Module) -> bool:
        """Whether somebody asks for a logger above one of the two, and not above the other."""
        ours, theirs = (module.stem.split("/")[:-1] for module in (old, new))
        while ours[:1] == theirs[:1] and ours:
            ours, theirs = ours[1:], theirs[1:]
        above = "|".join(map(re.escape, {*ours, *theirs}))
        if not above.isascii():
            return True
        said = (
            rf"getLogger\(\s*[\"'](?:[\w.]*\.)?(?:{above})[\"']"
            rf"|[\"'][\w.]+\.(?:{above})[\"']\s*:"
        )
        return bool(above) and self._says(said, ())

    def _is_named(self, module: Module, name: str) -> bool:
        """Whether another file has a module's logger for more than to log, or by a text.

        Both trees are looked through: what configured the old one counts as well.
        """
        last = module.stem.removesuffix("/__init__").rpartition("/")[2]
        if not f"{last}{name}".isascii():
            return True
        said = (
            rf"\b{re.escape(last)}\.{name}\b(?!\.(?:{'|'.join(sorted(_LOGS))})\()"
            rf"|\b{re.escape(last)}\s+import\s*(?:\([^)]*|[^\n]*)\b{name}\b"
            rf"|[\"'](?:[\w.]*\.)?{re.escape(last)}(?:\.{name})?[\"']"
        )
        return self._says(said, (module.path,))

    def _says(self, said: str, but: Container[str]) -> bool:
        """Whether a file of either tree has a match of a pattern of ASCII, `but` for some."""
        changed = (*self.old.values(), *self.new.values())
        if any(o.path not in but and re.search(said, o.source.text) for o in changed):
            return True
        return any(True for _ in self.search(re.compile(said.encode())))

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
        for use in self.facts(module, unit).refs:
            ref, written = use, use.action != "load"
            if written and not use.attrs:
                continue
            if written:
                ref = use._replace(attrs=use.attrs[:-1], action="load")
            limit = unit.index if ref.when == NOW else None
            meaning = side.resolve(module, ref, limit=limit, deep=True)
            if written and not all(self.went(what) and not rest for what, rest in meaning.whats):
                continue  # who took the name by a `from` import would not see what is written
            rest = {len(rest) for _, rest in meaning.whats}
            known = all(what[0] == "def" or self.went(what) for what, _ in meaning.whats)
            if known and len(rest) == 1:
                names = (ref.name, *ref.attrs[: len(ref.attrs) - rest.pop()])
                start = module.source.offset(ref.line, ref.column)
                chain = tuple(".".join(names).replace(".", " . ").split())
                found[start] = (chain, frozenset(what for what, _ in meaning.whats))
        return found

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
