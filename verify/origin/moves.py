"""Where the lines that a proved move brought to a file stood before it.

The plan names the modules and the symbols, so a line is looked for in the very statement that it
moved with, never in another one that reads alike. Only lines whose bytes are equal are paired.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from transforms.errors import Refusal
from transforms.move.resolve import with_leaving
from transforms.reading.model import Plan
from transforms.relocation.targets import find_targets
from transforms.result.diff import edits
from transforms.source.module import Module, Statement
from transforms.source.symbols import Symbols
from transforms.tree import GitTree
from transforms.tree.names import Names

Lines = Mapping[int, tuple[str, int]]  # a line of the target -> path and line in the parent


def rows_of(data: bytes) -> list[bytes]:
    """Split at line feeds, as git counts lines; a last line may have none."""
    rows = data.split(b"\n")
    return rows if rows[-1] else rows[:-1]


def moved_lines(plan: Plan, parent: GitTree, tree: GitTree) -> dict[str, Lines]:
    """Pair the lines of each file that a plan brought code to with those of the parent.

    What cannot be told from the plan is left out: whoever asks may look for it otherwise.
    """
    return _Pairing(plan, parent, tree).found


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a file, first and last line, that is looked for in another."""

    path: str
    first: int
    last: int


class _File:
    """A module of one side: its rows, and its statements with the lines they take."""

    def __init__(self, tree: GitTree, path: str) -> None:
        self.path = path
        self.data = tree.read(path)
        self.rows = rows_of(self.data)

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols(Module(self.path, self.data))

    def part(self, statement: Statement) -> _Part:
        """The lines of a statement, as git counts them: a lone CR ends none."""
        text = self.symbols.module.text
        first = text.count("\n", 0, statement.block_start) + 1
        return _Part(
            self.path, first, first + text.count("\n", statement.block_start, statement.end)
        )

    def bound(self, name: str) -> list[Statement]:
        """The statements that define a name, in order."""
        return [self.symbols.statements[n] for n in self.symbols.defined.get(name, ())]

    def text(self, statement: Statement) -> str:
        """A statement as it stands, without the comments above it."""
        return self.symbols.module.text[statement.start : statement.end]


class _Pairing:
    def __init__(self, plan: Plan, parent: GitTree, tree: GitTree) -> None:
        self.plan = with_leaving(plan, parent)
        self.parent, self.tree = parent, tree
        self.names = Names(parent, self.plan.roots)
        self._files: dict[tuple[bool, str], _File] = {}
        self._found: dict[str, dict[int, tuple[str, int]]] = defaultdict(dict)
        with suppress(Refusal):
            self._symbols()
        with suppress(Refusal):
            self._whole_files()
        for path in self._found:
            self._between(path)
        self.found: dict[str, Lines] = dict(self._found)

    def _symbols(self) -> None:
        places = {
            str(source.module): self.names.locate(source.module, self.plan.place(source.line))
            for source in self.plan.sources
        }
        by_any_name = {**{p.dotted: p for p in places.values()}, **places}
        by_any_name.update({place.path: place for place in places.values()})
        for spec in self.plan.destinations:
            first = next(iter(places))
            source = by_any_name[first if spec.source is None else str(spec.source)]
            target = self.names.locate_new(spec.module, self.plan.place(spec.line))
            with suppress(Refusal):
                self._statements(source.path, target.path, (*spec.symbols, *spec.copy, *spec.carry))
        for item in self.plan.sources:
            if item.becomes is not None:
                after = self.names.locate_new(item.becomes, self.plan.place(item.line))
                self._whole_file(places[str(item.module)].path, after.path)

    def _statements(self, source: str, target: str, names: tuple[str, ...]) -> None:
        """Pair the statements that define these names, then others that read the same."""
        before, after = self._file(source, before=True), self._file(target)
        taken: set[int] = set()
        for name in names:
            for old, new in zip(before.bound(name), after.bound(name), strict=False):
                if new.index not in taken:
                    taken.add(new.index)
                    self._pair(before.part(old), after.part(new))
        alike: dict[str, list[Statement]] = defaultdict(list)
        for statement in before.symbols.statements:
            alike[before.text(statement)].append(statement)
        for statement in after.symbols.statements:
            others = alike[after.text(statement)]
            if statement.index not in taken and others:
                old = others.pop(0) if len(others) > 1 else others[0]
                self._pair(before.part(old), after.part(statement))

    def _whole_files(self) -> None:
        if not self.plan.moves:
            return
        targets = find_targets(self.plan, self.parent, self.names)
        for old, new in sorted(targets.paths.items()):
            if old != new:
                self._whole_file(old, new)

    def _whole_file(self, old: str, new: str) -> None:
        if old in self.parent.entries() and new in self.tree.entries():
            before, after = self._file(old, before=True), self._file(new)
            whole = (_Part(file.path, 1, len(file.rows)) for file in (before, after))
            self._pair(*whole)

    def _file(self, path: str, *, before: bool = False) -> _File:
        if (before, path) not in self._files:
            self._files[before, path] = _File(self.parent if before else self.tree, path)
        return self._files[before, path]

    def _pair(self, old: _Part, new: _Part) -> None:
        """Pair the lines that two stretches share, unless they have a pair already."""
        before = self._file(old.path, before=True).rows[old.first - 1 : old.last]
        after = self._file(new.path).rows[new.first - 1 : new.last]
        found = self._found[new.path]
        for left, right in _shared(before, after):
            found.setdefault(new.first + right, (old.path, old.first + left))

    def _between(self, path: str) -> None:
        """Pair what stands around what is paired, as far as it is the same on both sides."""
        found, rows = self._found[path], self._file(path).rows
        for line in sorted(found):
            for step in (1, -1):
                here, (source, there) = line + step, found[line]
                before = self._file(source, before=True).rows
                there += step
                while (
                    here not in found
                    and 0 < here <= len(rows)
                    and 0 < there <= len(before)
                    and rows[here - 1] == before[there - 1]
                ):
                    found[here] = source, there
                    here, there = here + step, there + step


def _shared(before: list[bytes], after: list[bytes]) -> Iterator[tuple[int, int]]:
    """Give the indices of the lines that two texts share, in order."""
    left = right = 0
    for edit in [*edits(before, after), None]:
        end = len(before) if edit is None else edit.old_start
        while left < end:
            yield left, right
            left, right = left + 1, right + 1
        if edit is not None:
            left, right = edit.old_end, edit.new_end
