"""Worlds without an outside package: where only the target fails, that breaks, or is assumed away.

A move takes along what the code needs, so a module may come to need a package that it did without.
That breaks whoever has not installed it, unless nobody is there to mind: the project says that the
package is always installed, or every module that imports this one could not be imported without
the package before. Both are assumptions, and each names the package.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from verify.kernel.edits.needs import rows
from verify.kernel.machine.units import Death
from verify.kernel.pairs.both import Both
from verify.kernel.running.entries import Entry
from verify.kernel.running.runs import Run
from verify.kernel.running.traces import covers
from verify.kernel.trees.declared import Declared
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import TRIES, last
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import ASSUMED, BREAKS, Place

_ASKING = words("find_spec import_module importorskip __import__ find_loader version")
INSTALLED = "what is installed"


@dataclass
class Worlds:
    """The entries that need an outside package now and did without before."""

    both: Both
    near: set[str] = field(default_factory=set)
    _missing: dict[str, dict[Entry, Death]] = field(default_factory=dict)  # by package
    _needed: dict[str, set[str]] = field(default_factory=dict)  # files that needed it before

    def entry(self, entry: Entry, one: Run, two: Run) -> None:
        """Note what an entry needs on either side."""
        known = {_told(death) for death in one.deaths}
        for death in one.deaths:
            if death.outside and len(death.answers) == 1 and not entry.script:
                self._needed.setdefault(_top(death), set()).add(entry.path)
        for death in two.deaths:
            covered = covers(one.deaths, death.answers)
            if death.outside and _told(death) not in known and not covered:
                self._missing.setdefault(_top(death), {}).setdefault(entry, death)

    def report(self) -> None:
        """Report each package that entries need now."""
        declared: dict[str, list[str]] = defaultdict(list)
        for package, found in self._missing.items():
            brought = all(self._brought(package, death) for death in found.values())
            if brought and not self._doubted(package):
                where = {self._declared.by(package, entry.path) for entry in found}
                if "" not in where:
                    declared[min(where)].append(package)
                    continue
                if self._nobody(package, [*found]):
                    self._say_nobody(package, found)
                    continue
            self._breaks(found)
        for path, packages in sorted(declared.items()):
            names = ", ".join(sorted(packages))
            why = f"everybody has the packages that {path} asks for: {names}"
            self.both.found.say(ASSUMED, INSTALLED, why, Place(path, 1))

    def _breaks(self, found: dict[Entry, Death]) -> None:
        said: set[Hashable] = set()
        for entry, death in found.items():
            why = f"where {death.outside} is not installed, importing it now raises {death.error}"
            place = Place(death.path, death.line)
            if (why, place) not in said:
                said.add((why, place))
                self.both.found.say(BREAKS, str(entry), why, place)

    def _say_nobody(self, package: str, found: dict[Entry, Death]) -> None:
        for death in found.values():
            name = self.both.name(death.path)
            why = f"{package} is there wherever {name} is imported: all in this tree who do need it"
            self.both.found.say(ASSUMED, INSTALLED, why, Place(death.path, death.line))

    def _brought(self, package: str, death: Death) -> bool:
        """Tell whether code that needed a package as it was imported arrived where a run ends."""
        origins = {b[0] for t, b in self.both.pairing.base_of.items() if t[0] == death.path}
        return any(self._at_top(self.both.base, p, package) for p in {death.path, *origins})

    def _at_top(self, tree: Tree, path: str, package: str) -> bool:
        found = rows(tree, tree.source(path)) if path in tree.files else ()
        return any(r.module.partition(".")[0] == package and not r.guards for r, _ in found)

    def _nobody(self, package: str, found: list[Entry]) -> bool:
        """Tell whether all who import what needs a package now needed it before."""
        needed = self._needed.get(package, set())
        paths = {entry.path for entry in found}
        if any(entry.script or self._starts(entry.path) for entry in found):
            return False
        above = {path: self._users.get(path, set()) for path in paths}
        return all(above.values()) and all(users <= needed | paths for users in above.values())

    def _starts(self, path: str) -> bool:
        """Tell whether somebody starts a file, or imports it from elsewhere, by what files say."""
        name = path.rpartition("/")[2]
        if name.startswith(("test", "conftest")) or name.endswith("_test.py"):
            return True
        spelled = [raw(re.escape(name)) for name in self.both.base.names(path)]
        wanted = re.compile(rb"(?<![\w.])(?:" + b"|".join(sorted(spelled)) + rb")(?![\w.])")
        return any(
            wanted.search(data)
            for other, data in self.both.base.files.items()
            if not other.endswith(".py")
        )

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        """Give who imports each file, wherever the statement stands, on either side."""
        found: dict[str, set[str]] = {}
        for tree in (self.both.base, self.both.target):
            for path in self.near & tree.files.keys():
                for other in tree.imports(path) if path.endswith(".py") else ():
                    if other != path:
                        found.setdefault(other, set()).add(path)
        return found

    @cached_property
    def _declared(self) -> Declared:
        return Declared(self.both.base, self.both.target)

    def _doubted(self, package: str) -> bool:
        """Tell whether somebody in the tree asks whether a package is there."""
        wanted = raw(package)
        trees = (self.both.base, self.both.target)
        files = {(path, data): tree for tree in trees for path, data in tree.files.items()}
        return any(
            _asks(tree, path, package)
            for (path, data), tree in files.items()
            if path.endswith(".py") and wanted in data
        )


def _asks(tree: Tree, path: str, package: str) -> bool:
    """Tell whether a file asks whether a package is there: in a `try`, or by its name."""
    source = tree.readable(path)
    if source is None:
        return True
    for node in walk(source.tree):
        if isinstance(node, TRIES) and package in _imported(node.body):  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Call) and last(node.func) in _ASKING:
            texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if any(str(text).partition(".")[0] == package for text in texts):
                return True
    return False


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Give the first parts of the names that some statements import."""
    for node in (inner for statement in body for inner in walk(statement)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _top(death: Death) -> str:
    return death.outside.partition(".")[0]


def _told(death: Death) -> tuple[Hashable, ...]:
    return death.answers, death.error, death.about, death.outside
