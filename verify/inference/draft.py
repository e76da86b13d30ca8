"""A first plan from what the trees show: sources, destinations, anchors, copies and routes."""

from __future__ import annotations

import ast
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from transforms.errors import Place, Refusal
from transforms.paths import ModuleName
from transforms.reading.model import (
    FORMATS,
    AuthoredDeletion,
    AuthoredFile,
    Destination,
    Package,
    Plan,
    Source,
)
from transforms.tree import GitTree
from transforms.tree.names import Names, resolve_import
from verify.inference.evidence import Evidence, File, Moved
from verify.inference.modules import WholeMoves, forwards
from verify.inference.remainder import may_be_authored, text_of

_INIT = "__init__.py"
_ALL = "__all__"
_PLAN = Place("plan")


class Draft:
    """Makes the first plan. `whole` are the files that went whole, each with its new path.

    Symbols leave first, and what is left of a module goes then: where one lands in a file that came
    from another, the plan names that other.
    """

    def __init__(
        self,
        base: GitTree,
        target: GitTree,
        evidence: Evidence,
        whole: Mapping[str, str] | None = None,
    ) -> None:
        self.base, self.target = base, target
        self.evidence, self.whole = evidence, whole or {}
        self._came = {new: old for old, new in self.whole.items()}
        self.names = Names(base)
        self.before, self.after = base.entries(), target.entries()
        moved = [m for m in evidence.moved if m.source.endswith(".py") and not self._goes_along(m)]
        # Modules that turned into packages of the same name, and what took the rest of each.
        self.becomes = dict(self._becoming(moved))
        self.moves = [m for m in moved if self.becomes.get(m.source) != m.destination]
        self._by_path: set[str] = set()  # modules whose dotted names could be others
        firsts = {m.source for m in self.moves} | set(self.becomes) or set(self.whole)
        if firsts:
            self._locate(min(firsts))

    def _locate(self, first: str) -> None:
        """Settle where dotted names start: the first source of a plan says so."""
        dotted = Names(self.base).dotted(first)
        with suppress(Refusal):
            if dotted and self.names.locate(ModuleName(dotted, is_path=False), _PLAN).path == first:
                return
        self.names = Names(self.base)
        self.names.locate(ModuleName(first, is_path=True), _PLAN)
        self._by_path.add(first)

    def _goes_along(self, item: Moved) -> bool:
        """Whether a name went with its whole module, or is in a stub, which is never split."""
        return (
            self.whole.get(item.source) == item.destination
            or not item.source.endswith(".py")
            or not item.destination.endswith(".py")
        )

    def plan(self, title: str) -> Plan:
        """Give the plan; its formatters are the repository's own."""
        plan = Plan(
            sources=tuple(self._sources()),
            destinations=tuple(self._destinations()),
            packages=tuple(self._exports()),
            files=tuple(self._authored()),
            deletions=tuple(self._deleted()),
            import_from=self._routes(),
            title=title,
            format=FORMATS[-1],
        )
        if not self.whole:
            return plan
        whole = WholeMoves(self.base, self.target, self.whole)
        return replace(plan, moves=whole.tables())

    def name(self, path: str, *, package: bool = False) -> ModuleName:
        """How a plan names a module: by dotted name where that means just this path."""
        dotted = self.names.dotted(path)
        plain = dotted and all(part.isidentifier() for part in dotted.split("."))
        if plain and path not in self._by_path:
            name = ModuleName(dotted, is_path=False)
            with suppress(Refusal):
                if self.names.locate_new(name, _PLAN, package=package).path == path:
                    return name
        return ModuleName(path, is_path=True)

    def old_path(self, path: str) -> str:
        """Where what is now a file was before: the same path, or that of a module that went."""
        return self._came.get(path, path)

    def _becoming(self, moved: list[Moved]) -> Iterator[tuple[str, str]]:
        for source in sorted({m.source for m in moved}):
            package = f"{source[:-3]}/{_INIT}"
            if source in self.after or package in self.before or package not in self.after:
                continue
            lines: Counter[str] = Counter()
            for m in moved:
                if m.source == source and m.destination.startswith(f"{source[:-3]}/"):
                    file = self.evidence.new[m.destination]
                    if m.destination != package and m.destination not in self.before:
                        lines[m.destination] += file.defined()[m.name].lines
            if lines:
                yield source, min(lines, key=lambda p: (*self._unlike(source, p), -lines[p], p))

    def _unlike(self, source: str, path: str) -> tuple[bool, int]:
        """How unlike a module is to what is left of a source: the docstring first, then lines."""
        old, new = self.evidence.old[source], self.evidence.new[path]
        docstring = ast.get_docstring(old.tree)
        same = Counter(old.data.splitlines()) & Counter(new.data.splitlines())
        keeps = docstring is not None and ast.get_docstring(new.tree) == docstring
        return not keeps, -sum(count for line, count in same.items() if line.strip())

    # --- sources ---

    def _sources(self) -> Iterator[Source]:
        for path in sorted({m.source for m in self.moves} | set(self.becomes)):
            rest = self.becomes.get(path)
            kept = self.evidence.new.get(self.whole.get(path, rest or path))
            gone = kept is None and path not in self.after
            had = self.evidence.old[path].defined()
            warns = kept is not None and "__getattr__" in kept.defined() and not self.whole
            yield Source(
                self.name(path),
                0,
                old="warn" if warns and "__getattr__" not in had else None,
                imports_back="in place" if kept and self._is_in_place(path, kept) else "sorted",
                emptied="delete" if gone else None,
                becomes=self.name(rest) if rest else None,
            )

    def _is_in_place(self, path: str, kept: File) -> bool:
        """Whether a source imports back in the middle of its code, and did not before."""
        homes = {self.names.dotted(m.destination) for m in self.moves if m.source == path}
        firsts = [d.first for d in kept.definitions if not d.is_helper]
        package = self.names.package_of(kept.path)
        return any(
            isinstance(node, ast.ImportFrom)
            and resolve_import(package, node.level, node.module) in homes
            and node.lineno > min(firsts, default=node.lineno)
            for node in kept.tree.body
        )

    # --- destinations ---

    def _destinations(self) -> Iterator[Destination]:
        several = len({m.source for m in self.moves} | set(self.becomes)) > 1
        copied: set[tuple[str, str]] = set()
        for path in sorted({m.destination for m in self.moves}):
            for source, anchor, symbols in self._runs(path):
                first = (path, source) not in copied
                copied.add((path, source))
                yield Destination(
                    self.name(self.old_path(path)),
                    symbols,
                    0,
                    source=self.name(source) if several else None,
                    copy=tuple(dict.fromkeys(self._copies(path, source))) if first else (),
                    **anchor,  # type: ignore[arg-type]
                )

    def _runs(self, path: str) -> Iterator[tuple[str, dict[str, str], tuple[str, ...]]]:
        """Symbols of one source that stand together, with the anchor that puts them there."""
        new, old = self.evidence.new[path], self.evidence.old.get(self.old_path(path))
        origins = {m.name: m.source for m in self.moves if m.destination == path}
        own: set[str] = set()
        if old is not None:
            own = old.defined().keys() - {m.name for m in self.moves if m.source == old.path}
        found: list[tuple[str, str, list[str]]] = []  # the source, what stands above, the symbols
        placed: set[str] = set()
        previous = ""
        for item in new.definitions:
            names = [name for name in item.names if name in origins]
            for name in names:
                if not found or found[-1][:2] != (origins[name], previous):
                    found.append((origins[name], previous, []))
                if name not in placed:
                    found[-1][2].append(name)
                    placed.add(name)
            if not names and set(item.names) & own:
                previous = item.names[0]
        for source, above, symbols in found:
            if symbols:
                yield source, self._anchor(above, previous, own, new), tuple(symbols)

    def _anchor(self, above: str, last: str, own: set[str], new: File) -> dict[str, str]:
        """Where a run stands that has one symbol above it, in a file whose last one is another."""
        if above == last:
            return {}
        if above:
            return {"after": above}
        below = (name for item in new.definitions for name in item.names if name in own)
        return {"before": next(below)}

    def _copies(self, path: str, source: str) -> Iterator[str]:
        """Helpers that a source keeps and that its destination got, in the same words."""
        old, new = self.evidence.old[source], self.evidence.new[path]
        kept = self.evidence.new.get(self.whole.get(source, self.becomes.get(source, source)))
        had = self.evidence.old.get(self.old_path(path))
        for name, item in new.defined().items():
            was = old.defined().get(name)
            if was is None or not was.may_be_copied or (had and name in had.defined()):
                continue
            if kept and name in kept.defined() and new.text(item) == old.text(was):
                yield name

    # --- what callers import, and what packages export ---

    def _routes(self) -> dict[str, ModuleName]:
        """Names that callers import from another module than the one that defines them now."""
        homes = {m.name: self.names.dotted(m.destination) for m in self.moves}
        routes: dict[str, Counter[str]] = {}
        for file in self.evidence.new.values():
            for module, name in imported(file, self.names):
                if name in homes and homes[name].startswith(f"{module}."):
                    routes.setdefault(name, Counter())[module] += 1
        stays = {self.names.dotted(path) for path in {m.source for m in self.moves}}
        return {
            name: ModuleName(min(found, key=lambda m: (-found[m], m)), is_path=False)
            for name, found in sorted(routes.items())
            if not set(found) <= stays or self.becomes
        }

    def _exports(self) -> Iterator[Package]:
        """What an `__init__` exports anew."""
        homes = {m.name: self.names.dotted(m.destination) for m in self.moves}
        for source, rest in self.becomes.items():
            for name in bound(self.evidence.old[source]):
                homes.setdefault(name, self.names.dotted(rest))
        for path, file in sorted(self.evidence.new.items()):
            if posixpath.basename(path) != _INIT or path in self.whole.values():
                continue
            old = self.evidence.old.get(path)
            known = bound(old) if old else set()  # what it named already follows as in any caller
            found = imported(file, self.names, top=True)
            names = {n for module, n in found if homes.get(n) == module and n not in known}
            listed = set(listed_in_all(file))
            own = self.names.dotted(path)
            if old is None:
                names |= {name for name in listed if homes.get(name) == own}
            if names or (old is None and not file.data):
                listed &= names
                module = self.name(path, package=True)
                yield Package(module, tuple(sorted(names)), 0, dunder_all=not names or bool(listed))

    def _authored(self) -> Iterator[AuthoredFile]:
        """The `__init__` of each package that comes with the move and exports none of it, as it is.

        One that does is derived.
        """
        derived = {str(item.module) for item in self._exports()}
        for path, file in sorted(self.evidence.new.items()):
            if posixpath.basename(path) == _INIT and path not in self.before:
                taken = path in self.whole.values() or forwards(file.data)
                taken |= any(m.destination == path for m in self.evidence.moved)
                text = text_of(file.data)
                if text and not taken and str(self.name(path, package=True)) not in derived:
                    yield AuthoredFile(self.name(path, package=True), text, 0)

    def _deleted(self) -> Iterator[AuthoredDeletion]:
        """Code that is gone without having moved: it is no caller, and in nobody's way.

        So is what a module that came whole replaces. Of sources, and of the `__init__` that says
        what names mean, the move leaves something first.
        """
        sources = {m.source for m in self.moves} | self.becomes.keys()
        went = self.whole.keys() | {f"{path}i" for path in self.whole}
        taken = self._came.keys() - went
        for path in sorted(self.evidence.old):
            if posixpath.basename(path).startswith("__init__.") or path in sources | went:
                continue
            made_way = forwards(self.evidence.old[path].data)
            gone = path in taken and not made_way if path in self.after else True
            if gone and may_be_authored(path):
                yield AuthoredDeletion(ModuleName(path, is_path=True), 0)


def imported(file: File, names: Names, *, top: bool = False) -> list[tuple[str, str]]:
    """List what a file imports by `from`: the module's dotted name, and the name.

    `top`: by statements of the module itself, which stand in nothing else.
    """
    package = names.package_of(file.path)
    found = []
    for node in file.tree.body if top else ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom):
            module = resolve_import(package, node.level, node.module)
            found += [(module, alias.name) for alias in node.names if module]
    return found


def bound(file: File) -> set[str]:
    """What a file binds: by definitions, and by imports anywhere in it."""
    found = set(file.defined())
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def listed_in_all(file: File) -> Iterator[str]:
    """Give the strings that an `__all__` of the file lists, however it is put together."""
    for node in file.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == _ALL for target in targets):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value
