"""`from source import *`: the names that it no longer brings are imported by name."""

from __future__ import annotations

import ast

from transforms.callers.context import Caller
from transforms.imports.statement import ImportedName
from transforms.move.state import SourceState
from transforms.result.outcome import Edit
from transforms.scopes.types import Reference
from transforms.source.imports import Site
from transforms.syntax.kinds import is_string


def rewrite_star(caller: Caller, site: Site, source: SourceState) -> None:
    """Add what the star import of a source lacks after the move; drop it if the source goes."""
    dotted = source.located.dotted
    editor = caller.document.editor
    deleted = source.spec.emptied == "delete"
    for name in sorted(_brought(source)):
        route = caller.route(dotted, name)
        if route is None:
            if _is_used(caller, name) or _is_read_through(caller, source, name):
                caller.read(dotted, name, site.line)
            continue
        if not deleted and _still_brings(caller, source, name):
            continue
        if route in (dotted, caller.dotted) or not _is_needed(caller, site, source, name):
            continue
        editor.add(site, route, caller.spell(site, route), ImportedName(name), site)
        after = f"from {caller.spell(site, route)} import {name}"
        caller.result.edits.append(Edit("star import", site.line, caller.text(site), after))
    if deleted:
        editor.remove(site, ImportedName("*"))


def _brought(source: SourceState) -> set[str]:
    """The names that the star import brought before the move."""
    symbols = source.symbols
    listed = {name for name, _ in symbols.all_names}
    if listed or symbols.all_statements:
        return listed
    names = set(symbols.bindings) - {"*"}
    return {name for name in names if not name.startswith("_")}


def _still_brings(caller: Caller, source: SourceState, name: str) -> bool:
    dotted = source.located.dotted
    if source.spec.becomes is not None:
        return name in caller.move.package_names.get(dotted, ())
    return name in caller.around.bound_back[dotted]


def _is_needed(caller: Caller, site: Site, source: SourceState, name: str) -> bool:
    """Whether this file uses the name, or may pass it on to others."""
    return (
        _passes_on(caller, site)
        or _is_used(caller, name)
        or name in caller.around.readers.through(caller.dotted, source.moved)
    )


def _is_read_through(caller: Caller, source: SourceState, name: str) -> bool:
    """Whether another file gets from here what the source itself imports, and might stop to."""
    orphans = caller.around.orphans[source.located.dotted]
    return name in orphans and name in caller.around.readers.through(caller.dotted, orphans)


def _passes_on(caller: Caller, site: Site) -> bool:
    """Whether the star import is there for others.

    In an `__init__`, marked, or in a file that does nothing but import.
    """
    if site.is_local:
        return False
    if caller.document.module.path.endswith(("__init__.py", "__init__.pyi")):
        return True
    pragma = caller.document.editor.look(site).pragma or ""
    return "F401" in pragma or all(
        isinstance(node, (ast.Import, ast.ImportFrom)) or is_string(node)
        for node in caller.document.module.tree.body
    )


def _is_used(caller: Caller, name: str) -> bool:
    """Whether the file looks the name up where only the star import can have bound it."""
    if name in {listed for listed, _ in caller.document.symbols.all_names}:
        return True
    scopes = caller.document.module.scopes
    if any(True for _ in scopes.of(None, name)):
        return True
    bindings = scopes.module.bindings.get(name)
    if not bindings:
        return False
    body = caller.document.module.tree.body
    surely = [b.statement.lineno for b in bindings if b.statement in body and b.kind != "delete"]
    first = min(surely, default=None)
    return any(
        first is None or (not reference.deferred and _line(reference) <= first)
        for reference in scopes.of(scopes.module, name)
        if reference.access != "store" or isinstance(reference.statement, ast.AugAssign)
    )


def _line(reference: Reference) -> int:
    return getattr(reference.node, "lineno", 0)
