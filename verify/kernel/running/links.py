"""Which units of the two sides belong together: they make the same definitions, or hold the same.

Units are compared in pairs, and each pair once. Which ones are to be compared follows from the
definitions in them, and from the statements that were paired.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from verify.kernel.machine.units import Unit
from verify.kernel.machine.values import MOST_DEPTH, Class, Function, Made, Module, Product
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.running.runs import Run
from verify.kernel.trees.nodes import children
from verify.kernel.trees.source import DEFINITIONS


class Links:
    """The pairs of units, as they come up."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self._compound: dict[str, list[tuple[At, At]]] = defaultdict(list)
        for target, base in both.pairing.base_of.items():
            node = both.statement(both.target, target).node
            plain = isinstance(node, (*DEFINITIONS, ast.Assign, ast.Expr))
            if not plain or (not isinstance(node, DEFINITIONS) and _deep(node)):
                self._compound[base[0]].append((base, target))
        self._makers: dict[Made, list[Unit]] = defaultdict(list)  # units of the target
        self._holders: dict[str, list[Unit]] = defaultdict(list)
        self._known: set[int] = set()
        self._of: dict[int, tuple[int, list[Unit]]] = {}

    def enter(self, two: Run) -> None:
        """Take in the units that a run of the target has and that were not known yet."""
        for other in two.units:
            if other.root and other.number not in self._known:
                self._known.add(other.number)
                self._add(other)

    def of(self, unit: Unit, two: Run) -> Iterator[Unit]:
        """List the units of the target, of those that are there, that belong to one of the base.

        The run of the target has been entered.
        """
        if not unit.root:
            yield from two.units
            return
        number, found = self._of.get(unit.number, (-1, []))
        if number != len(self._known):
            found = self._find(unit)
            self._of[unit.number] = len(self._known), found
        yield from (other for other in found if two.by_root.get(other.root) is other)
        yield two.units[-1]  # what nobody keeps

    def _add(self, unit: Unit) -> None:
        for name in unit.definitions:
            self._makers[name].append(unit)
        for path in paths(unit):
            self._holders[path].append(unit)

    def _find(self, unit: Unit) -> list[Unit]:
        found: dict[int, Unit] = {}
        for name in unit.definitions:
            found.update((other.number, other) for other in self._makers.get(name, ()))
        for path in paths(unit):
            for _, target in self._compound.get(path, ()):
                found.update((other.number, other) for other in self._holders.get(target[0], ()))
        return list(found.values())

    def compound(self, one: Unit, two: Unit) -> Iterator[tuple[At, At]]:
        """List the statements that stand in both and are compared by the names in them."""
        there = paths(two)
        for path in paths(one):
            yield from (pair for pair in self._compound.get(path, ()) if pair[1][0] in there)


def _deep(node: ast.AST) -> bool:
    """Tell whether a statement makes values that lie too deep in each other to be compared."""
    todo = [(node, 0)]
    while todo:
        at, depth = todo.pop()
        depth += isinstance(at, _HOLDING)
        if depth > MOST_DEPTH:
            return True
        todo += [(child, depth) for child in children(at)]
    return False


_HOLDING = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call)


def paths(unit: Unit) -> set[str]:
    """Give the files of a unit."""
    return {module.path for module in unit.modules.values() if isinstance(module, Module)}


def owner(unit: Unit, made: Function) -> Class | None:
    """Give the class that a method is of."""
    if unit.owners is None:
        unit.owners = {}
        for definition in unit.definitions.values():
            if isinstance(definition.value, Class):
                for value in definition.value.attributes.values():
                    inner = value.wraps if isinstance(value, Product) else value
                    if isinstance(inner, Function):
                        unit.owners[inner.name] = definition.value
    return unit.owners.get(made.name)
