"""The definitions of a module: their sizes, and who uses whom."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from transforms.scopes.types import Reference
from transforms.source.module import Module, Statement
from transforms.source.symbols import Symbols

_LOGGERS = frozenset({"getLogger", "get_logger", "init_logger"})


@dataclass(frozen=True, slots=True)
class Node:
    """What moves as one: every statement that binds or changes the same names.

    `names` in the order in which they are bound; `lines` with comments that touch it; `line` is
    where it begins. `is_copied`: a new module gets one of its own, by a copy: a logger, or a flag
    that a call without arguments tells.
    """

    number: int
    names: tuple[str, ...]
    line: int
    lines: int
    is_definition: bool
    is_copied: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """A module's definitions, and by number whom each uses, apart from what is `copied`.

    `resting` are the first lines of statements that bind nothing (and import nothing), and so
    cannot leave; `needed` are the nodes that these use.
    """

    nodes: tuple[Node, ...]
    uses: dict[int, frozenset[int]]
    copied: dict[int, frozenset[str]]
    resting: tuple[int, ...]
    needed: frozenset[int]

    def users(self, number: int) -> list[int]:
        """List who uses a node."""
        return [other for other, used in self.uses.items() if number in used]


def graph_of(module: Module) -> Graph:
    """Read a module. Names are resolved as Python does; what only annotations name is no use."""
    symbols = Symbols(module, newer=True)
    owner = _owners(symbols)
    members: dict[int, list[Statement]] = defaultdict(list)
    for index, first in owner.items():
        members[first].append(module.statements[index])
    nodes = tuple(
        _node(number, members[first], module, symbols)
        for number, first in enumerate(sorted(members))
    )
    numbers = {name: node.number for node in nodes for name in node.names}
    by_first = dict(zip(sorted(members), nodes, strict=True))
    used: dict[int, set[int]] = {node.number: set() for node in nodes}
    copied: dict[int, set[str]] = {node.number: set() for node in nodes}
    needed: set[int] = set()
    resting: list[int] = []
    for statement in module.statements:
        if statement.index not in owner:
            if not statement.is_import and not _is_docstring(statement):
                resting.append(statement.line)
                needed |= _used(symbols, [statement.index], numbers)
            continue
        node = by_first[owner[statement.index]]
        for number in _used(symbols, [statement.index], numbers) - {node.number}:
            if nodes[number].is_copied:
                copied[node.number] |= {*nodes[number].names}
            else:
                used[node.number].add(number)
    return Graph(
        nodes,
        {number: frozenset(found) for number, found in used.items()},
        {number: frozenset(found) for number, found in copied.items()},
        tuple(resting),
        frozenset(number for number in needed if not nodes[number].is_copied),
    )


def _owners(symbols: Symbols) -> dict[int, int]:
    """By statement the first one that moves with it: they bind, or change, the same name."""
    first: dict[int, int] = {}

    def root(index: int) -> int:
        while first.setdefault(index, index) != index:
            index = first[index]
        return index

    imported = {binding.index for bound in symbols.imports.values() for binding in bound}
    for name, indices in symbols.defined.items():
        together = sorted({*indices, *symbols.mutations.get(name, ())} - imported)
        if _is_hidden(name) or not together:
            continue
        for index in together:
            a, b = root(together[0]), root(index)
            first[max(a, b)] = min(a, b)
    return {index: root(index) for index in list(first)}


def _is_hidden(name: str) -> bool:
    """Whether a name is the module's own affair: `__all__`, `__getattr__`, `_` of a loop."""
    return (name.startswith("__") and name.endswith("__")) or name == "_"


def _node(number: int, members: list[Statement], module: Module, symbols: Symbols) -> Node:
    names = [
        name
        for statement in members
        for name in sorted(symbols.binds(statement.index))
        if name in symbols.defined and not _is_hidden(name)
    ]
    lines = sum(
        module.line_of(max(s.block_start, s.end - 1)) - module.line_of(s.block_start) + 1
        for s in members
    )
    nodes = [statement.node for statement in members]
    return Node(
        number,
        tuple(dict.fromkeys(names)),
        members[0].line,
        lines,
        any(statement.is_definition for statement in members),
        len(nodes) == 1 and _is_copied(nodes[0]),
    )


def _is_copied(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    is_flag = not node.value.args and not node.value.keywords and name.startswith(("is_", "has_"))
    return name in _LOGGERS or is_flag


def _used(symbols: Symbols, indices: list[int], numbers: dict[str, int]) -> set[int]:
    return {
        numbers[name]
        for name, references in symbols.uses(indices).items()
        if name in numbers and any(map(_runs, references))
    }


def _runs(reference: Reference) -> bool:
    return reference.annotation in ("", "evaluated")


def _is_docstring(statement: Statement) -> bool:
    node = statement.node
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_of(graph: Graph, numbers: Iterable[int]) -> Iterator[str]:
    """Name nodes, each by its first name, in the order of the module."""
    yield from (graph.nodes[number].names[0] for number in sorted(numbers))
