"""Whether each import is there for a reason, and whether those that are gone may be gone."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from verify.certificate.both import Both
from verify.certificate.meaning import Look
from verify.certificate.names import HINT, LocalImport, Ref, all_words, words
from verify.certificate.resolve import Side
from verify.certificate.source import Import, Module, Unit

_TYPING = frozenset({"typing", "typing_extensions"})
_IMPORT = re.compile(r"\bimport\b")
_BLOCK = re.compile(r"\n\s*(?:from|import|def|class|if|try|for|while|with|return)\b")


def imports_in(text: str) -> list[tuple[frozenset[str], frozenset[str], bool]] | None:
    """List what may be imports: the words before and after the keyword, and if a star is there.

    None where that is too much to look at: no file may take for ever.
    """
    found, left = [], 65536 + 16 * len(text)
    for at in _IMPORT.finditer(text):
        end = _BLOCK.search(text, at.end())
        after = text[at.end() : end.start() if end else len(text)]
        before = text[text.rfind("\n", 0, at.start()) + 1 : at.start()]
        left -= len(before) + len(after)
        if left < 0:
            return None
        found.append((all_words(before), all_words(after), "*" in after))
    return found


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


class Imports:
    """Compares what the changed modules of two trees import."""

    def __init__(self, both: Both) -> None:
        self.both = both

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

    def compare(self, old: Module | None, new: Module | None) -> None:
        """Judge the imports of a module by what they bring."""
        ours, theirs = (
            list(self._entries(self.both.base, old)),
            list(self._entries(self.both.target, new)),
        )
        gone, come = Counter(e for e, _ in ours), Counter(e for e, _ in theirs)
        present = come.copy()
        gone, come = gone - come, come - gone
        homes = [self.both.old[path] for path in self.both.sources[new.path]] if new else []
        homes += [old] if old and old not in homes else []
        known = {e.guards for home in homes for e, _ in self._entries(self.both.base, home)}
        for one in sorted(gone, key=repr):  # spelled otherwise, yet it brings the same
            for other in sorted(come, key=repr):
                if one.name == other.name != "*" and one[2:] == other[2:] and old and new:
                    if self.both.same(old, new, one.name, hint=True):
                        both = min(gone[one], come[other])
                        gone[one] -= both
                        come[other] -= both
        self._respelled(old, new, gone, come)
        left = old is not None and self.both.moved.get(old, new) is not new
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
                return (stems, entry[2:4]) if stems & self.both.gone else None
            whats = entry.what if isinstance(entry.what, frozenset) else ()
            moved = bool(whats) and all(self.both.went(what) and not rest for what, rest in whats)
            return entry[1:4] if moved else None

        for one in sorted(gone, key=repr) if self.both.gone and old and new else ():
            known = brought(self.both.base, old, one) if old and gone[one] else None
            for other in sorted(come, key=repr) if known and new else ():
                if come[other] and new and brought(self.both.target, new, other) == known:
                    both = min(gone[one], come[other])
                    gone[one] -= both
                    come[other] -= both

    def _import(self, side: str, module: Module, item: Import, why: str) -> None:
        said = f"`{item.spelled}` {why}"
        self.both.residual(side, module.source, item.line, "import", said, [item.line])

    def _leaves(self, old: Module, new: Module | None, entry: Entry) -> bool:
        """Tell whether an import may go: something used it, or its name is still the same."""
        used = any(entry.serves(ref) for _, ref in self.both.uses(old, entry.name))
        used = used or _in_type_comment(old, entry.name)
        if used or entry.name in (old.listed() or ()):
            return True
        if new is None or entry.loaded is not None or entry.name not in new.names:
            return False
        return self.both.same(old, new, entry.name, hint=entry.typing)

    def _needless(self, old: Module | None, new: Module, entry: Entry) -> str | None:
        """Say why an import should not have come, or None."""
        name = entry.name
        if name == "*":
            return "is new, and nobody can tell what it brings"
        known = old is not None and name in old.names and entry.loaded is None
        if known and old is not None and self.both.same(old, new, name, hint=entry.typing):
            return None  # the name was there, and still is
        uses = [(unit, ref) for unit, ref in self.both.uses(new, name) if entry.serves(ref)]
        if not uses:
            wanted = name in (new.listed() or ()) or self._handed_on(new, name)
            wanted = wanted or _in_type_comment(new, name)
            return None if wanted else "is new, and nothing here uses it"
        ran = entry.typing or any(ref.when != HINT for _, ref in uses)
        for unit, _ in uses:
            origin = self.both.pairing.key(new.path, unit.index)
            home = self.both.old.get(origin[0])
            ran |= home is None or self.both.base.lookup(home, name).sure
        return None if ran else "was only for annotations, and now it runs"

    def _handed_on(self, new: Module, name: str) -> bool:
        """Tell whether another changed module takes a name from this one."""
        for module in self.both.new.values():
            for unit in module.source.units if module is not new else ():
                for item in (
                    self.both.facts(module, unit).imports if name in words(unit.text) else ()
                ):
                    if item.member == name:
                        if new.stem in self.both.target.find(module.path, item.level, item.module):
                            return True
        return False

    def compare_local(self, old: Module, before: Unit, new: Module, after: Unit) -> None:
        """Judge the imports within functions."""
        ours, theirs = self.both.facts(old, before), self.both.facts(new, after)
        for deep in (False, True):
            one = {_local(self.both.base, old, item, deep): item for item in ours.locals}
            other = {_local(self.both.target, new, item, deep): item for item in theirs.locals}
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


def _in_type_comment(module: Module, name: str) -> bool:
    """Tell whether a name of `typing` is there for a comment that says a type: `# type: List[int]`.

    Of other modules an import is one that runs, whatever a comment says.
    """
    sites = module.names.get(name, [])
    if not sites or any(not s.imported or s.imported.module not in _TYPING for s in sites):
        return False
    said = re.compile(rf"#\s*type:(?!\s*ignore\b)[^\n]*\b{re.escape(name)}\b")
    return any(said.search(unit.text) for unit in module.source.units)


def _local(side: Side, module: Module, item: LocalImport, deep: bool) -> tuple[object, ...]:
    guards = tuple((g.branch, *(ast.dump(t) for t in g.tests)) for g in item.guards)
    loaded = item.imported.module if item.imported.member is None else None
    what = side.follow(module, item.imported, Look(hint=True, deep=deep)).whats
    return (item.scope, item.imported.name, item.spot, guards, loaded, what)
