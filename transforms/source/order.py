"""What a statement reads when its module is imported, and whether a move would change what it sees.

A module runs from top to bottom. A name that is bound once can be imported from anywhere; one that
is bound, changed or deleted several times has a history, and a statement in the midst of it must
stay in the midst of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from transforms.scopes.types import Reference, ScopeKind
from transforms.source.fixtures import is_fixture_use
from transforms.source.mutations import roots_changed
from transforms.source.symbols import Symbols
from transforms.syntax.called import root

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Run:
    """What running a statement looks up at module level, and what its calls change there."""

    read: frozenset[str]
    changed: frozenset[str]


@dataclass(eq=False, slots=True)
class Order:
    """The import-time order of one module."""

    symbols: Symbols
    _runs_through: dict[int, _Run] = field(default_factory=dict)
    _called: dict[int, set[ast.AST]] = field(default_factory=dict)
    _events: dict[str, list[int]] | None = None
    _effects: dict[str, list[int]] | None = None

    def events(self, name: str) -> list[int]:
        """The statements that bind, change or delete a name at import, in order."""
        return self._all_events().get(name, [])

    def _all_events(self) -> dict[str, list[int]]:
        if self._events is None:
            found: dict[str, set[int]] = {}
            for name, places in self.symbols.bindings.items():
                kept = {index for index, binding in places if binding.kind != "bare annotation"}
                found[name] = kept or {index for index, _ in places}
            for name, indices in self.symbols.mutations.items():
                found.setdefault(name, set()).update(indices)
            self._events = {name: sorted(indices) for name, indices in found.items()}
        return self._events

    def histories(self) -> dict[str, list[int]]:
        """Names with more than one event."""
        return {name: found for name, found in self._all_events().items() if len(found) > 1}

    def effects(self, name: str) -> list[int]:
        """The events of a name, and the statements that change it through what they call."""
        if self._effects is None:
            found = {other: set(events) for other, events in self._all_events().items()}
            for statement in self.symbols.statements:
                for changed in self._run(statement.index).changed:
                    if changed in self.symbols.defined:
                        found.setdefault(changed, set()).add(statement.index)
            self._effects = {other: sorted(indices) for other, indices in found.items()}
        return self._effects.get(name, [])

    def readers(self) -> dict[str, list[int]]:
        """Names, each with the statements that may look it up at import."""
        found: dict[str, list[int]] = {}
        for statement in self.symbols.statements:
            for name in self.read_at_import(statement.index):
                found.setdefault(name, []).append(statement.index)
        return found

    def read_at_import(self, index: int) -> frozenset[str]:
        """Module-level names that running a statement may look up, through what it calls too."""
        return self._run(index).read

    def _run(self, index: int) -> _Run:
        if index not in self._runs_through:
            self._runs_through[index] = self._follow(index)
        return self._runs_through[index]

    def directly_read(self, index: int) -> frozenset[str]:
        """Module-level names that a statement itself looks up when it runs."""
        return frozenset(r.name for r in self.symbols.references[index] if self.runs_now(r))

    def _follow(self, index: int) -> _Run:
        seen: set[int] = {index}
        read: set[str] = set()
        changed: set[str] = set()
        pending: list[Reference] = [
            reference for reference in self.symbols.references[index] if self.runs_now(reference)
        ]
        # Whoever makes a class runs the metaclass and the hooks of all classes above it.
        heads: set[ast.AST] = {found.node for found in self._head(index)}
        derived: set[int] = set()
        while pending:
            reference = pending.pop()
            read.add(reference.name)
            for target in self.symbols.defined.get(reference.name, []):
                if reference.node in heads and target not in derived:
                    derived.add(target)
                    above = self._head(target)
                    heads.update(found.node for found in above)
                    pending += above
                if target not in seen and self._runs(reference, target):
                    seen.add(target)
                    changed |= self._changed_inside(target)
                    pending += [
                        found
                        for found in self.symbols.references[target]
                        if found.access == "load" and found.annotation in ("", "evaluated")
                    ]
        return _Run(frozenset(read), frozenset(changed))

    def _head(self, index: int) -> list[Reference]:
        """What a class statement names as its bases and its metaclass."""
        node = self.symbols.statements[index].node
        if not isinstance(node, ast.ClassDef):
            return []
        parts = [*node.bases, *(keyword.value for keyword in node.keywords)]
        inside = {found for part in parts for found in ast.walk(part)}
        return [found for found in self.symbols.references[index] if found.node in inside]

    def _changed_inside(self, index: int) -> set[str]:
        """Module-level names that the body of a definition re-binds or changes in place."""
        references = self.symbols.references[index]
        changed = set(roots_changed(self.symbols.statements[index].node))
        return {
            reference.name
            for reference in references
            if reference.node in changed
            or (reference.deferred and reference.access in ("store", "delete"))
        }

    def runs_now(self, reference: Reference) -> bool:
        """Whether a reference is looked up at import: also in a generator or key function."""
        if reference.annotation not in ("", "evaluated") or is_fixture_use(reference):
            return False
        if reference.access != "load" and not isinstance(reference.statement, ast.AugAssign):
            return reference.access == "delete" and not reference.deferred
        if not reference.deferred:
            return True
        scope = reference.scope
        while scope.parent is not None:
            lazy = scope.kind is ScopeKind.FUNCTION and not isinstance(scope.node, ast.Lambda)
            if lazy or scope.kind is ScopeKind.TYPE_PARAMETERS:
                return False
            scope = scope.parent
        return self._is_passed(reference)

    def _is_passed(self, reference: Reference) -> bool:
        """Whether a lambda or generator stands in a call, which may run it at once."""
        return any(
            isinstance(node, ast.Call) and any(inner is reference.node for inner in ast.walk(node))
            for node in ast.walk(reference.statement)
        )

    def _runs(self, reference: Reference, target: int) -> bool:
        """Whether using a name may run the body of the statement that defines it.

        A function that is used may be called by whoever gets it. A class runs when it is called;
        as a base or an annotation its body does not.
        """
        node = self.symbols.statements[target].node
        if isinstance(node, ast.ClassDef):
            at = self.symbols.statement_at(reference.node).index
            if at not in self._called:
                self._called[at] = set(_called(self.symbols.statements[at].node))
            return reference.node in self._called[at]
        if isinstance(node, _FUNCTIONS):
            return True
        return isinstance(node, (ast.If, ast.Try, ast.With)) and any(
            isinstance(child, _FUNCTIONS) for child in ast.walk(node)
        )


def _called(node: ast.AST) -> Iterator[ast.AST]:
    """What calls and decorators start from."""
    for child in ast.walk(node):
        calls: list[ast.expr] = []
        if isinstance(child, ast.Call):
            calls.append(child.func)
        calls += getattr(child, "decorator_list", [])
        for call in calls:
            yield root(call)
