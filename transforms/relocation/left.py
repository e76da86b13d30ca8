"""Files under `leave`: where they import what moves, and which of their patches miss the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from transforms.callers.lookups import call_on, is_assignment, is_patch
from transforms.relocation.python import PythonFile
from transforms.scopes.types import Reference


def imported(file: PythonFile) -> Iterator[tuple[int, str]]:
    """Lines that import a module that moves, however they spell it."""
    for handle in file.handles():
        if handle.imported in file.targets.renames:
            yield handle.site.line, handle.imported


def patched(file: PythonFile) -> Iterator[tuple[int, str]]:
    """Lines that replace a name of a module that moves, through what an import binds."""
    for handle in file.handles():
        for reference in file.references(handle.binding):
            depth = file.depth(handle, reference) or 0
            old = ".".join([*handle.module.split("."), *reference.attributes[:depth]])
            node = [reference.node, *reference.attribute_nodes][depth]
            if old in file.targets.renames and _replaces(reference, node):
                yield getattr(reference.node, "lineno", 1), old


def _replaces(reference: Reference, node: ast.AST) -> bool:
    """Whether a statement patches or assigns an attribute of what `node` gives."""
    call = call_on(reference.statement, node)
    if call is not None:
        return is_patch(call) or is_assignment(call)
    return any(
        isinstance(part, ast.Attribute)
        and part.value is node
        and isinstance(part.ctx, (ast.Store, ast.Del))
        for part in ast.walk(reference.statement)
    )
