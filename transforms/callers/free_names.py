"""Whether a name can be used in a caller for what moved, without meaning anything else there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from transforms.callers.context import Caller
from transforms.scopes.types import Binding, Reference, Scope, ScopeKind
from transforms.tree.names import resolve_import


def check_free(
    caller: Caller, name: str, module: str | None, scope: Scope, references: Sequence[Reference]
) -> None:
    """Refuse if `name`, bound in `scope`, would mean something else at one of the references.

    An import that binds the name to `module` already is no obstacle; with None, one that imports
    a symbol which now lives in this file.
    """
    for reference in references:
        for crossed in _seen_from(reference.scope, scope):
            for other in crossed.bindings.get(name, []):
                if _is_same(caller, other, module) and (
                    crossed is scope or _line(other.node) < _line(reference.node)
                ):
                    continue
                raise caller.clash(
                    _line(reference.node), name, f"line {_line(other.node)} binds it"
                )
    _refuse_capture(caller, name, module, scope)
    if module is None:
        return
    for taker, taken, meant in caller.introduced:
        nested = _is_within(taker, scope) or _is_within(scope, taker)
        if taken == name and meant != module and nested:
            line = _line(references[0].node)
            raise caller.clash(line, name, f"`{meant}` needs it, too")
    caller.introduced.append((scope, name, module))


def _refuse_capture(caller: Caller, name: str, module: str | None, scope: Scope) -> None:
    """A name that is bound anew hides what other code found under it: a builtin, an outer name."""
    if name in scope.bindings:
        return
    scopes = caller.document.module.scopes
    for reference in scopes.references:
        if reference.name != name or not _is_within(reference.scope, scope):
            continue
        owner = reference.owner
        if owner is not None and (owner is scope or _is_within(owner, scope)):
            continue
        bindings = [] if owner is None else owner.bindings.get(name, [])
        if bindings and all(_is_same(caller, binding, module) for binding in bindings):
            continue
        raise caller.clash(_line(reference.node), name, "it is read here")


def _seen_from(inner: Scope, outer: Scope) -> Iterator[Scope]:
    """The scopes in which a name is looked up from `inner`, as far out as `outer`."""
    scope: Scope | None = inner
    while scope is not None:
        if scope is inner or scope is outer or scope.kind is not ScopeKind.CLASS:
            yield scope
        if scope is outer:
            return
        scope = scope.parent


def _is_within(scope: Scope, outer: Scope) -> bool:
    return any(crossed is outer for crossed in _seen_from(scope, outer))


def _is_same(caller: Caller, binding: Binding, module: str | None) -> bool:
    """Whether a binding is an import of the module, or of the symbol that lands in this file."""
    alias = binding.node
    if not isinstance(alias, ast.alias):
        return False
    if isinstance(binding.statement, ast.Import):
        bound = alias.name if alias.asname else alias.name.partition(".")[0]
        return bound == module
    site = caller.document.editor.site_of(binding.statement)
    if site is None:
        return False
    home = caller.move.home(site.target or "", alias.name)
    if module is None:
        return home == caller.dotted
    # The old home, too: that import follows what moved.
    meant = {f"{site.target}.{alias.name}".lstrip("."), f"{home}.{alias.name}"}
    return module in meant or module == _handed_on(caller, site.target or "", alias.name)


def is_handed_on(caller: Caller, name: str, symbol: str, scope: Scope) -> bool:
    """Whether a package from which `scope` imports a name takes it from where `symbol` lives."""
    sites = [
        caller.document.editor.site_of(binding.statement)
        for binding in scope.bindings.get(name, ())
        if isinstance(binding.node, ast.alias) and binding.node.name == name
    ]
    return any(s is not None and _handed_on(caller, s.target or "", name) == symbol for s in sites)


def _handed_on(caller: Caller, package: str, name: str) -> str | None:
    """What a package gives by a name that it imports from a source, and nothing else binds."""
    names = caller.around.names
    path = names.path_of(package)
    if path is None or package in caller.sources or package == caller.dotted:
        return None
    symbols = caller.move.open_document(path).symbols
    found = set()
    for binding in symbols.imports.get(name, ()) if name not in symbols.defined else ():
        node = binding.node
        if not isinstance(node, ast.ImportFrom) or binding.guards:
            return None
        target = resolve_import(names.package_of(path), node.level, node.module) or ""
        found.add(f"{caller.move.home(target, binding.alias.name)}.{binding.alias.name}")
    return found.pop() if len(found) == 1 else None


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
