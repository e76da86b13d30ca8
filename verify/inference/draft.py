"""A first plan from what the trees show: sources, destinations, anchors, copies and routes."""

from __future__ import annotations

import ast
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from transforms.paths import ModuleName
from transforms.reading.model import AuthoredFile, Destination, Package, Plan, Source
from transforms.tree import GitTree
from transforms.tree.names import Names, resolve_import
from verify.inference.evidence import Evidence, File, Moved
from verify.inference.modules import WholeMoves
from verify.kernel.verdict import Certificate


class Draft:
    """Makes the first plan. `certificate` says which helper statements were copied."""

    def __init__(
        self, base: GitTree, target: GitTree, evidence: Evidence, certificate: Certificate
    ) -> None:
        self.base, self.target = base, target
        self.evidence, self.certificate = evidence, certificate
        self.names = Names(base)
        self.before, self.after = base.entries(), target.entries()
        # Modules that turned into packages of the same name, and what took the rest of each.
        self.becomes = dict(self._becoming())

    def plan(self, title: str) -> Plan:
        """Give the plan; its formatters are the repository's own."""
        moves = [m for m in self.evidence.moved if self.becomes.get(m.source) != m.destination]
        return Plan(
            sources=tuple(self._sources(moves)),
            destinations=tuple(self._destinations(moves)),
            packages=tuple(self._exports(moves)),
            files=tuple(self._new_packages()),
            import_from=self._routes(moves),
            title=title,
        )

    def with_modules(self, plan: Plan, whole: WholeMoves) -> Plan:
        """Add what moved whole; a file that moved is no new one."""
        taken = set(whole.pairs.values())
        files = (file for file in plan.files if self._path(file.file) not in taken)
        packages = (*plan.packages, *whole.packages())
        return replace(plan, moves=whole.tables(), files=tuple(files), packages=packages)

    def _path(self, name: ModuleName) -> str | None:
        if name.is_path:
            return name.text
        return next((p for p in self.evidence.new if self.names.dotted(p) == name.text), None)

    def name(self, path: str) -> ModuleName:
        """How a plan names a module: by dotted name where the path is a module's."""
        dotted = self.names.dotted(path)
        if all(part.isidentifier() for part in dotted.split(".")):
            return ModuleName(dotted, is_path=False)
        return ModuleName(path, is_path=True)

    def _becoming(self) -> Iterator[tuple[str, str]]:
        for source in sorted({m.source for m in self.evidence.moved}):
            package = f"{source[:-3]}/__init__.py"
            if source in self.after or package in self.before or package not in self.after:
                continue
            inside = Counter(
                m.destination
                for m in self.evidence.moved
                if m.source == source and m.destination.startswith(f"{source[:-3]}/")
            )
            if inside:
                yield source, min(inside, key=lambda path: (-inside[path], path))

    def _sources(self, moves: list[Moved]) -> Iterator[Source]:
        for path in sorted({m.source for m in moves} | set(self.becomes)):
            rest = self.becomes.get(path)
            gone = path not in self.after and rest is None
            yield Source(
                self.name(path),
                0,
                emptied="delete" if gone else None,
                becomes=self.name(rest) if rest else None,
            )

    def _destinations(self, moves: list[Moved]) -> Iterator[Destination]:
        several = len({m.source for m in moves}) > 1
        keyed = sorted(moves, key=lambda m: (m.destination, m.source, m.line))
        for (path, source), group in groupby(keyed, key=lambda m: (m.destination, m.source)):
            copies = tuple(dict.fromkeys(self._copies(path, source)))
            for anchor, symbols in self._runs(path, list(group)):
                yield Destination(
                    self.name(path),
                    symbols,
                    0,
                    source=self.name(source) if several else None,
                    copy=copies,
                    **anchor,  # type: ignore[arg-type]
                )
                copies = ()

    def _runs(
        self, path: str, moves: list[Moved]
    ) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
        """Symbols that stand together, each run with the anchor that puts it there."""
        new = self.evidence.new[path]
        if path not in self.evidence.old:
            yield {}, tuple(dict.fromkeys(m.name for m in moves))
            return
        own = self.evidence.old[path].defined()
        wanted = {m.name for m in moves}
        run: list[str] = []
        previous = ""
        for item in new.definitions:
            if set(item.names) & wanted:
                run += [name for name in item.names if name in wanted]
            elif set(item.names) & own.keys():
                if run:
                    yield self._anchor(previous, item.names[0]), tuple(dict.fromkeys(run))
                    run = []
                previous = item.names[0]
        if run:
            yield {}, tuple(dict.fromkeys(run))

    def _anchor(self, previous: str, following: str) -> dict[str, str]:
        return {"after": previous} if previous else {"before": following}

    def _copies(self, path: str, source: str) -> Iterator[str]:
        known = self.evidence.old[source].defined()
        for item in self.certificate.copies:
            if item.destination == path and item.symbol in known:
                yield item.symbol

    def _routes(self, moves: list[Moved]) -> dict[str, ModuleName]:
        """Names that callers import from another module than the one that defines them now."""
        homes = {m.name: self.names.dotted(m.destination) for m in moves}
        routes: dict[str, Counter[str]] = {}
        for file in self.evidence.new.values():
            for module, name in imported(file, self.names):
                if name in homes and homes[name].startswith(f"{module}."):
                    routes.setdefault(name, Counter())[module] += 1
        taken = {m.source for m in moves}
        stays = {self.names.dotted(path) for path in taken}
        return {
            name: ModuleName(min(found, key=lambda m: (-found[m], m)), is_path=False)
            for name, found in sorted(routes.items())
            if not set(found) <= stays or self.becomes
        }

    def _exports(self, moves: list[Moved]) -> Iterator[Package]:
        """What an `__init__` that was there already exports anew."""
        homes: Mapping[str, str] = {m.name: self.names.dotted(m.destination) for m in moves}
        for path, file in sorted(self.evidence.new.items()):
            if posixpath.basename(path) != "__init__.py" or path not in self.evidence.old:
                continue
            had = set(imported(self.evidence.old[path], self.names))
            names = [
                name
                for module, name in imported(file, self.names)
                if homes.get(name) == module and (module, name) not in had
            ]
            if names:
                yield Package(self.name(path), tuple(sorted(names)), 0)

    def _new_packages(self) -> Iterator[AuthoredFile]:
        """The `__init__` of each package that comes with the move, as it is."""
        for path, file in sorted(self.evidence.new.items()):
            moved_to = any(m.destination == path for m in self.evidence.moved)
            if posixpath.basename(path) == "__init__.py" and path not in self.before:
                if file.data.strip() and not moved_to:
                    yield AuthoredFile(self.name(path), file.data.decode("utf-8"), 0)


def imported(file: File, names: Names) -> list[tuple[str, str]]:
    """List what a file imports by `from`: the module's dotted name, and the name."""
    package = names.package_of(file.path)
    found = []
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom):
            module = resolve_import(package, node.level, node.module)
            found += [(module, alias.name) for alias in node.names if module]
    return found
