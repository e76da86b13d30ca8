"""Import statements as they stand in a module: their texts, and the runs and groups they form.

A run is a sequence of import statements with nothing else between them; blank lines divide it
into groups, as the sections of isort do.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from transforms.source.imports import ImportNode
from transforms.source.module import Module


def statement_text(module: Module, node: ImportNode) -> tuple[str, str]:
    """A statement's text with its trailing comment, and its indentation."""
    start, end = module.span(node)
    rest = module.text[end : module.line_end(end)]
    if rest.lstrip(" \t\f").startswith("#"):
        end += len(rest.rstrip(" \t\f"))
    before = module.text[module.line_start(start) : start]
    return module.text[start:end], before if not before.strip(" \t\f") else ""


def module_of(node: ImportNode) -> str:
    """The module that a statement imports from, with its dots; the first of a plain import."""
    if isinstance(node, ast.ImportFrom):
        return "." * node.level + (node.module or "")
    return node.names[0].name


def spelled(nodes: Sequence[ImportNode]) -> list[tuple[str, bool]]:
    """Each statement's module as spelled, and whether it is a plain import."""
    return [(module_of(node), isinstance(node, ast.Import)) for node in nodes]


def runs(block: Sequence[ast.stmt]) -> list[list[ImportNode]]:
    """The runs of import statements of a block, `__future__` left out."""
    found: list[list[ImportNode]] = [[]]
    for node in block:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append([])
        elif module_of(node) != "__future__":
            found[-1].append(node)
    return [run for run in found if run]


def groups(module: Module, run: Sequence[ImportNode]) -> list[list[ImportNode]]:
    """A run divided at its blank lines."""
    found = [[run[0]]]
    for before, node in pairwise(run):
        between = range((before.end_lineno or before.lineno) + 1, node.lineno)
        if any(not module.line_text(line).strip(" \t\f") for line in between):
            found.append([])
        found[-1].append(node)
    return found
