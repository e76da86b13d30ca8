"""What a module's top-level statements bind, use and mutate: the facts a cut is decided on."""

from __future__ import annotations

import ast
import bisect
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from transforms.scopes.types import Binding, Reference
from transforms.source.exports import dunder_all
from transforms.source.fixtures import fixture_uses
from transforms.source.imports import is_type_checking
from transforms.source.module import Module, Statement, first_line
from transforms.source.mutations import changed_names
from transforms.syntax.kinds import is_string, postpones_annotations

_IMPORTS = ("import", "from import", "star import")


@dataclass(frozen=True, slots=True, eq=False)
class ImportedBinding:
    """A module-level name bound by an import.

    `index` is the top-level statement that holds it; `guards` the compound statements around it,
    outermost first (empty for a plain import).
    """

    name: str
    alias: ast.alias
    node: ast.Import | ast.ImportFrom
    index: int
    guards: tuple[ast.stmt, ...]

    @property
    def is_type_checking(self) -> bool:
        """Whether only a type checker runs the import."""
        return any(is_type_checking(guard) for guard in self.guards)


class Symbols:
    """The module-level names of one module, by top-level statement.

    `newer`: fixtures by other names and around every test count as used.
    """

    def __init__(self, module: Module, *, newer: bool = False) -> None:
        self.module = module
        self._newer = newer
        self.statements = module.statements
        self._starts = [(first_line(s.node), s.node.col_offset) for s in self.statements]

    def statement_at(self, node: ast.AST) -> Statement:
        """The top-level statement in which a node stands."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        index = bisect.bisect_right(self._starts, (line, column)) - 1
        starts = [self._starts[i][0] for i in (index, index + 1) if 0 <= i < len(self._starts)]
        if column == 0 and starts[-1] == line != starts[0]:
            index += 1  # a decorator's `@` stands before its own columns
        return self.statements[max(index, 0)]

    @cached_property
    def bindings(self) -> dict[str, list[tuple[int, Binding]]]:
        """Name to its binding places at module level: (top-level statement, binding)."""
        found: dict[str, list[tuple[int, Binding]]] = {}
        scope = self.module.scopes.module
        for name, bindings in scope.bindings.items():
            places = [
                (self.statement_at(binding.statement).index, binding)
                for binding in bindings
                if binding.within is scope or binding.within.kind.value == "comprehension"
            ]
            if places:
                found[name] = places
        return found

    @cached_property
    def defined(self) -> dict[str, list[int]]:
        """Names that statements other than imports bind, with those statements in order."""
        return {
            name: sorted({index for index, _ in places})
            for name, places in self.bindings.items()
            if any(binding.kind not in _IMPORTS for _, binding in places)
        }

    @cached_property
    def imports(self) -> dict[str, list[ImportedBinding]]:
        """Names that imports at module level bind."""
        found: dict[str, list[ImportedBinding]] = {}
        for name, places in self.bindings.items():
            for index, binding in places:
                if binding.kind in _IMPORTS and isinstance(
                    binding.statement, (ast.Import, ast.ImportFrom)
                ):
                    alias = cast("ast.alias", binding.node)
                    guards = _guards(self.statements[index].node, binding.statement)
                    found.setdefault(name, []).append(
                        ImportedBinding(name, alias, binding.statement, index, guards)
                    )
        return found

    @cached_property
    def references(self) -> list[list[Reference]]:
        """By top-level statement: the references that look a name up at module level."""
        found: list[list[Reference]] = [[] for _ in self.statements]
        scope = self.module.scopes.module
        for reference in self.module.scopes.references:
            if reference.owner in (scope, None) or reference.fallback is scope:
                found[self.statement_at(reference.node).index].append(reference)
        for reference in fixture_uses(self.module, newer=self._newer):
            found[self.statement_at(reference.node).index].append(reference)
        return found

    @cached_property
    def all_names(self) -> list[tuple[str, ast.Constant]]:
        """The strings of `__all__`, wherever the module builds it."""
        listed = dunder_all(self.module.tree)
        return list(listed.names) if listed else []

    @cached_property
    def all_statements(self) -> set[int]:
        """The statements that hold those strings."""
        return {self.statement_at(node).index for _, node in self.all_names}

    def binds(self, index: int) -> set[str]:
        """The names that a top-level statement binds at module level."""
        return self._binds.get(index, set())

    @cached_property
    def _binds(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for name, places in self.bindings.items():
            for index, binding in places:
                if binding.kind not in ("delete", "bare annotation") or len(places) == 1:
                    found[index].add(name)
        return found

    def uses(self, indices: Sequence[int]) -> dict[str, list[Reference]]:
        """Names that the statements look up at module level, with the places."""
        found: dict[str, list[Reference]] = {}
        for index in indices:
            for reference in self.references[index]:
                if reference.access == "load" or reference.attributes or self._reads(reference):
                    found.setdefault(reference.name, []).append(reference)
        return found

    def _reads(self, reference: Reference) -> bool:
        """A store that needs the name to exist: `x += 1`, `del x`, `global x` in a function."""
        return reference.access == "delete" or isinstance(reference.statement, ast.AugAssign)

    @cached_property
    def rebound(self) -> dict[str, Reference]:
        """Names that a function re-binds through `global`, with the first place."""
        scope = self.module.scopes.module
        found: dict[str, Reference] = {}
        for reference in self.module.scopes.references:
            if (
                reference.owner is scope
                and reference.access in ("store", "delete")
                and reference.scope is not scope
                and reference.scope.kind.value in ("function", "class")
                and reference.deferred
            ):
                found.setdefault(reference.name, reference)
        return found

    @cached_property
    def mutations(self) -> dict[str, list[int]]:
        """Names that top-level statements change in place at import, with those statements."""
        found: dict[str, list[int]] = {}
        for statement in self.statements:
            for name in sorted(set(changed_names(statement.node))):
                if name in self.defined and statement.index not in self.defined[name]:
                    found.setdefault(name, []).append(statement.index)
        return found

    @cached_property
    def has_future_annotations(self) -> bool:
        """Whether annotations are postponed in the whole module."""
        return any(postpones_annotations(s.node) for s in self.statements)

    @cached_property
    def star_imports(self) -> list[Statement]:
        """The statements `from m import *`."""
        return [
            s
            for s in self.statements
            if isinstance(s.node, ast.ImportFrom) and s.node.names[0].name == "*"
        ]

    def attribute_docstring(self, index: int) -> int | None:
        """The string statement right below an assignment, which documents it."""
        if index + 1 >= len(self.statements):
            return None
        node, below = self.statements[index], self.statements[index + 1]
        if not isinstance(node.node, (ast.Assign, ast.AnnAssign)) or not is_string(below.node):
            return None
        touching = (
            self.module.blank_lines_before(below.start) == 0 and below.start == below.block_start
        )
        return below.index if touching and not below.shared else None


def _guards(top: ast.stmt, wanted: ast.stmt) -> tuple[ast.stmt, ...]:
    """The compound statements from `top` down to the one that holds `wanted`."""
    if top is wanted:
        return ()
    path: list[ast.stmt] = []
    node: ast.stmt = top
    while node is not wanted:
        path.append(node)
        for child in ast.iter_child_nodes(node):
            inner = _holding(child, wanted)
            if inner is not None:
                node = inner
                break
        else:
            break
    return tuple(path)


def _holding(child: ast.AST, wanted: ast.stmt) -> ast.stmt | None:
    """The statement at or below `child` on the way to `wanted`."""
    if not any(node is wanted for node in ast.walk(child)):
        return None
    if isinstance(child, ast.stmt):
        return child
    for node in ast.iter_child_nodes(child):  # an exception handler, a match case
        inner = _holding(node, wanted)
        if inner is not None:
            return inner
    return None
