"""The pair of trees, with what everyone asks of it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

from verify.kernel.pairs.asked import Asked, asked
from verify.kernel.pairs.pairing import At, Pairing, pair
from verify.kernel.pairs.renames import Renames
from verify.kernel.pairs.whole import relocated
from verify.kernel.trees.source import Source, Statement
from verify.kernel.trees.tree import Parsed, Tree
from verify.kernel.verdict import BASE, TARGET, Findings, Place


@dataclass
class Both:
    """Base and target, which statement became which, and what is found."""

    base: Tree
    target: Tree
    changed: frozenset[str]  # Python files that differ, on either side
    pairing: Pairing
    relocated: Mapping[str, str]  # modules that moved whole, each with its new path
    found: Findings = field(default_factory=Findings)

    @classmethod
    def of(
        cls,
        base: Mapping[str, bytes],
        target: Mapping[str, bytes],
        changed: Iterable[str],
        blank: Collection[str] = frozenset(),
        parsed: Parsed | None = None,
    ) -> Both:
        """Read two trees. The changed files must parse; of those that are `blank` none changed."""
        parsed = parsed or Parsed()
        one, two = (
            Tree(side, files, parsed, blank) for side, files in ((BASE, base), (TARGET, target))
        )
        apart = frozenset(changed)
        pairing = pair(one, two, apart)
        moved = relocated(one, two, pairing)
        two.before = one
        two.called = {new: one.name(old) for old, new in moved.items()}
        return cls(one, two, apart, pairing, moved)

    @cached_property
    def asked(self) -> Asked:
        """Give what the `__getattr__` of changed modules is for."""
        return asked(self.base, self.target, self.changed, self.pairing.new)

    @cached_property
    def renames(self) -> Renames:
        """Give the new names of what moved."""
        return Renames(self.base, self.target, self.pairing.moved(), self.relocated)

    def sites(self, tree: Tree) -> Sites:
        """Give the names of a tree's statements: those of the base."""
        return Sites(self, tree)

    def statement(self, tree: Tree, at: At) -> Statement:
        """Give a top-level statement."""
        return tree.source(at[0]).statements[at[1]]

    def sources(self, tree: Tree) -> list[Source]:
        """List the changed files of one side."""
        return [tree.source(path) for path in sorted(self.changed) if path in tree.files]

    def place(self, tree: Tree, at: At) -> Place:
        """Give where a statement stands."""
        return Place(at[0], self.statement(tree, at).first, tree.side)

    def span(self, tree: Tree, at: At) -> Place:
        """Give where a statement stands, with all its lines."""
        statement = self.statement(tree, at)
        lines = tuple(range(statement.first, statement.last + 1))
        return Place(at[0], statement.first, tree.side, lines)

    def edited(self, base: At, target: At) -> tuple[Place, ...]:
        """Give where a statement was edited, on each side that has lines of its own."""
        one, two = self.statement(self.base, base), self.statement(self.target, target)
        ours, theirs = one.text.split("\n"), two.text.split("\n")
        head = _alike(ours, theirs)
        tail = _alike(ours[head:][::-1], theirs[head:][::-1])
        places = []
        for path, side, statement, count in (
            (base[0], BASE, one, len(ours)),
            (target[0], TARGET, two, len(theirs)),
        ):
            last = min(statement.first + count - tail - 1, statement.last)
            lines = tuple(range(statement.first + head, last + 1))
            if lines:
                places.append(Place(path, lines[0], side, lines))
        return tuple(places) or (self.place(self.target, target),)

    def name(self, path: str) -> str:
        """Spell a module as somebody imports it."""
        tree = self.target if path in self.target.files else self.base
        return tree.name(path) if path.endswith(".py") else path


def _alike(ours: list[str], theirs: list[str]) -> int:
    """Count the lines that two lists have in common from their start."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False))
    return sum(1 for _ in same)


class Sites:
    """Names statements: one of the target is called as the base's that it was."""

    def __init__(self, both: Both, tree: Tree) -> None:
        self._both = both
        self._tree = tree

    def __call__(self, path: str, index: int) -> Hashable:
        """Name a top-level statement."""
        if path not in self._both.changed or self._tree.side == BASE:
            statement = self._tree.source(path).statements[index]
            if path in self._both.changed and statement.imports_only:
                return self._imports(path, index)
            return path, index
        base = self._both.pairing.base_of.get((path, index))
        if base is not None:
            return base
        if self._tree.source(path).statements[index].imports_only:
            return self._imports(path, index)
        return "new", path, index

    def _imports(self, path: str, index: int) -> Hashable:
        """Name a statement that only imports: it makes nothing of its own, wherever it stands."""
        node = self._tree.source(path).statements[index].node
        return "import", type(node).__name__, path, index
