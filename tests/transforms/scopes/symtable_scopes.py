"""Compares name resolution with the compiler's own symbol tables."""

from __future__ import annotations

import ast
import symtable
import sys
from collections import defaultdict
from collections.abc import Iterator

from transforms.scopes.resolve import Reference, Scope, ScopeKind, Scopes

_COMPREHENSIONS: dict[type, str] = {
    ast.Lambda: "lambda",
    ast.ListComp: "listcomp",
    ast.SetComp: "setcomp",
    ast.DictComp: "dictcomp",
    ast.GeneratorExp: "genexpr",
}
# Since 3.12 the symbol tables of list, set and dict comprehensions may be merged into their parent.
_MERGED = sys.version_info >= (3, 12)


def differences(source: str, scopes: Scopes) -> list[str]:
    """Say where the scopes of `source` differ from the compiler's. Raises `SyntaxError`."""
    return list(_Comparison(scopes).run(symtable.symtable(source, "<source>", "exec")))


class _Comparison:
    def __init__(self, scopes: Scopes) -> None:
        self._module = scopes.module
        self._children: dict[Scope, list[Scope]] = defaultdict(list)
        self._uses: dict[Scope, list[Reference]] = defaultdict(list)
        for scope in scopes.scopes:
            if scope.parent is not None:
                self._children[scope.parent].append(scope)
        for reference in scopes.references:
            # The compiler does not look into strings, nor at annotations that are not evaluated.
            if reference.annotation in ("", "evaluated"):
                self._uses[reference.scope].append(reference)

    def run(self, table: symtable.SymbolTable) -> Iterator[str]:
        waiting: list[tuple[Scope, symtable.SymbolTable]] = [(self._module, table)]
        while waiting:
            scope, table = waiting.pop()
            theirs = defaultdict(list)
            for child in table.get_children():
                if "annotation" not in str(child.get_type()):  # 3.14 and newer
                    theirs[child.get_lineno(), child.get_name()].append(child)
            ours: dict[tuple[int, str], list[Scope]] = defaultdict(list)
            merged: set[str] = set()
            children = list(reversed(self._children[scope]))
            while children:
                child_scope = children.pop()
                key = _key(child_scope)
                if _MERGED and key not in theirs and key[1].endswith("comp"):
                    merged.update(child_scope.bindings)
                    merged.update(use.name for use in self._uses[child_scope])
                    children += reversed(self._children[child_scope])
                else:
                    ours[key].append(child_scope)
            yield from self._names(scope, table, merged)
            if {key: len(found) for key, found in ours.items()} != {
                key: len(found) for key, found in theirs.items()
            }:
                yield f"{scope}: scopes {sorted(ours)}, the compiler has {sorted(theirs)}"
                continue
            for key, found in ours.items():
                for child_scope in found:
                    partner = min(theirs[key], key=lambda it: self._distance(child_scope, it))
                    theirs[key].remove(partner)
                    waiting.append((child_scope, partner))

    def _distance(self, scope: Scope, table: symtable.SymbolTable) -> int:
        """How unlike two scopes of one name on one line are: their order differs."""
        names = {*scope.bindings, *(use.name for use in self._uses[scope])}
        mine = {(name, name in scope.bindings) for name in names}
        return len(mine ^ {(it.get_name(), it.is_local()) for it in table.get_symbols()})

    def _names(self, scope: Scope, table: symtable.SymbolTable, merged: set[str]) -> Iterator[str]:
        symbols = {symbol.get_name(): symbol for symbol in table.get_symbols()}
        for name in {*scope.bindings, *(use.name for use in self._uses[scope])} - {"*"}:
            if name not in symbols:
                yield f"{scope}: {name} is not in the compiler's table"
        for name, symbol in symbols.items():
            if name in merged or name.startswith("."):
                continue
            bound = self._is_bound(scope, symbol)
            if bound is not None and bound != (name in scope.bindings):
                yield f"{scope}: {name} is {'' if bound else 'not '}bound for the compiler"
            for use in self._uses[scope]:
                if use.name == name and not self._agrees(use, symbol):
                    yield f"{scope}: {name} belongs to {use.owner}, for the compiler {symbol}"

    def _is_bound(self, scope: Scope, symbol: symtable.Symbol) -> bool | None:
        """Whether the compiler has `scope` own the name; None where its table does not tell."""
        if scope is not self._module:
            return symbol.is_local()
        own = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        # A function may bind it by a `global` statement.
        elsewhere = scope.bindings.get(symbol.get_name(), [])
        if any(binding.within is not scope for binding in elsewhere):
            return None
        return own or symbol.is_annotated()

    def _agrees(self, use: Reference, symbol: symtable.Symbol) -> bool:
        owner = use.owner
        if use.scope is self._module:
            return owner in (None, self._module)
        if symbol.is_free():
            return owner not in (None, self._module, use.scope)
        if symbol.is_local():
            # A class body that has not bound the name yet reads the module's.
            late = use.scope.kind is ScopeKind.CLASS and owner in (None, self._module)
            return owner is use.scope or late
        return owner in (None, self._module)


def _key(scope: Scope) -> tuple[int, str]:
    node = scope.node
    line = getattr(node, "lineno", 0)
    if type(node) in _COMPREHENSIONS:
        return line, _COMPREHENSIONS[type(node)]
    name = getattr(node, "name", "")
    return line, name.id if isinstance(name, ast.Name) else name
