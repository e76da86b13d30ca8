"""Imports that a move entails: what code needs where it arrives, and no longer needs where it was.

Import statements are not paired. Each import is one row, by the name it binds, where that comes
from and the guards around it. A row that is new must be needed by something in its file; one that
is gone must have been needed by what left.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from verify.kernel.both import Both
from verify.kernel.source import IMPORTS, TRIES, Source, blocks, stored
from verify.kernel.tree import Tree
from verify.kernel.verdict import BASE, EXPLAINED, TARGET, TEXT, Place

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Row:
    """One name that an import brings."""

    name: str
    module: str  # absolute where it can be told
    member: str | None
    guards: tuple[str, ...]

    @property
    def plain(self) -> tuple[str, str, str | None]:
        """Give the row without its guards."""
        return self.name, self.module, self.member


class Imports:
    """Compares the imports of the changed files."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.origins: dict[str, set[str]] = {}
        for target, base in both.pairing.base_of.items():
            self.origins.setdefault(target[0], set()).add(base[0])
        self._names = {
            name
            for base, _ in both.pairing.moved()
            for name in stored(both.statement(both.base, base).node)
        }

    def check(self) -> None:
        """Report imports that nothing entails."""
        for source in self.both.sources(self.both.target):
            self._come(source)
        for source in self.both.sources(self.both.base):
            if source.path in self.both.target.files:
                self._gone(source)

    def _come(self, source: Source) -> None:
        path = source.path
        known: Counter[Row] = Counter()
        before: set[str] = set()
        used_before: set[str] = set()
        if path in self.both.base.files:
            old = self.both.base.source(path)
            known = Counter(row for row, _ in rows(self.both.base, old))
            before = {name for node in old.tree.body for name in stored(node)}
            used_before = used(old)
        plain = {row.plain for row in known}
        here = used(source)
        seen: Counter[Row] = Counter()
        for row, line in rows(self.both.target, source):
            seen[row] += 1
            if seen[row] <= known[row]:
                continue
            why = self._unneeded(row, path, here, before, used_before, seen)
            if row.plain in plain and not why:
                why = "stands under another guard, or twice" if row.name in used_before else ""
            if why:
                self._say(TEXT, row, f"this import {why}", Place(path, line, TARGET))
            else:
                self._say(EXPLAINED, row, "code here needs this import", Place(path, line))

    def _unneeded(
        self,
        row: Row,
        path: str,
        here: set[str],
        before: set[str],
        used_before: set[str],
        seen: Counter[Row],
    ) -> str:
        if seen[row] > 1:
            return "stands twice"
        if row.module == "__future__":
            return "" if self._carried(row, path) else "is new"
        if row.member == "*" or row.name in here:
            return ""
        if row.name in before or path not in self.both.base.files and path.endswith("__init__.py"):
            return ""  # what the file had is still found there
        handed_on = path.endswith("__init__.py") and row.name in self._names
        return "" if handed_on else "is needed by nothing"

    def _carried(self, row: Row, path: str) -> bool:
        """Tell whether a new file has what `from __future__` brings where its code comes from."""
        if path in self.both.base.files:
            return False
        return any(
            row in {r for r, _ in rows(self.both.base, self.both.base.source(origin))}
            for origin in self.origins.get(path, ())
        )

    def _gone(self, source: Source) -> None:
        path = source.path
        after = self.both.target.source(path)
        known = Counter(row for row, _ in rows(self.both.target, after))
        plain = {row.plain for row in known}
        names = {row.name for row in known}
        here = used(after)
        left = self._left(source)
        for row, line in rows(self.both.base, source):
            if known[row] > 0:
                known[row] -= 1
                continue
            if row.plain in plain:
                continue  # told where it stands now
            place = Place(path, line, BASE)
            if row.name in left and (row.name not in here or row.name in names):
                self._say(EXPLAINED, row, "what needed this import has left", place)
            elif row.name in here and row.name in names:
                self._say(EXPLAINED, row, "the name comes from elsewhere now", place)
            else:
                self._say(TEXT, row, "this import is gone, though nothing that used it left", place)

    def _left(self, source: Source) -> set[str]:
        """Give the words of the statements that left a file, or changed in it."""
        found: set[str] = set()
        for statement in source.statements:
            at = source.path, statement.index
            now = self.both.pairing.becomes.get(at)
            moved = now is None or now[0] != source.path
            if moved or self.both.statement(self.both.target, now or at).text != statement.text:
                if not statement.imports_only:
                    found |= set(_WORD.findall(statement.text))
        return found

    def _say(self, kind: str, row: Row, why: str, place: Place) -> None:
        spelled = f"from {row.module} import {row.member}" if row.member else f"import {row.module}"
        self.both.found.say(kind, spelled, why, place)


def rows(tree: Tree, source: Source) -> Iterator[tuple[Row, int]]:
    """List the imports of a module, outside of functions, with their lines."""
    package = tree.name(source.path).split(".")
    if not source.path.endswith("__init__.py"):
        package = package[:-1]
    todo: list[tuple[ast.stmt, tuple[str, ...]]] = [(n, ()) for n in source.tree.body]
    for node, guards in todo:
        if isinstance(node, IMPORTS):
            for row in _rows(node, package, guards):
                yield row, node.lineno
        elif isinstance(node, (ast.If, *TRIES, ast.With)):
            for number, block in enumerate(blocks(node)):
                test = getattr(node, "test", None)
                said = ast.dump(test) if test is not None else type(node).__name__
                todo.extend((inner, (*guards, f"{number} {said}")) for inner in block)


def _rows(
    node: ast.Import | ast.ImportFrom, package: list[str], guards: tuple[str, ...]
) -> Iterator[Row]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield Row(name, alias.name, None, guards)
        return
    module = node.module or ""
    if node.level:
        above = package[: len(package) - node.level + 1]
        module = ".".join([*above, *([module] if module else [])])
    for alias in node.names:
        yield Row(alias.asname or alias.name, module, alias.name, guards)


def used(source: Source) -> set[str]:
    """Give the words of a file that may be uses of names: all but those in its imports."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if len(node.value) < 1 << 12:
                found |= set(_WORD.findall(node.value))
    return found

