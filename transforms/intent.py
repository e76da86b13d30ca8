"""What a plan says of modules and files that the move itself does not touch: each must be there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.changes import Blob
from transforms.errors import Refusal
from transforms.move import Move
from transforms.parsing import parse
from transforms.plan import Plan
from transforms.tree import Tree


def check_roots(plan: Plan, tree: Tree) -> None:
    """A root that is no folder of the tree is a typing error."""
    for root in plan.roots:
        if root and not any(path.startswith(root + "/") for path in tree.entries()):
            raise Refusal(
                "plan-schema",
                f"`roots`: there is no folder `{root}` in the {tree.label}.",
                next_step="Name the folder in which dotted names start, such as `src`.",
                place=plan.place(1),
            )


def check_targets(plan: Plan, move: Move, tree: Tree, after: Mapping[str, Blob | None]) -> None:
    """Every `shrink` rule names a file, and every route a module that binds the name."""
    if not (plan.shrink or move.routes):
        return
    python = [path for path in {*after, *tree.entries()} if path.endswith((".py", ".pyi"))]
    names = {move.names.dotted(path): path for path in sorted(python)}
    for rule in plan.shrink:
        if str(rule.file) not in names and str(rule.file) not in python:
            raise Refusal(
                "unknown-file",
                f"`shrink`: there is no file `{rule.file}` before or after the move.",
                next_step="Name the file whose imports are laid out, by path or by dotted name.",
                place=plan.place(rule.line),
            )
    for symbol, dotted in sorted(move.routes.items()):
        path = names.get(dotted)
        if path is None or not _binds(path, symbol, tree, after):
            raise Refusal(
                "plan-schema",
                f"`import_from`: `{dotted}` will not bind `{symbol}`: no caller could import it.",
                next_step="Export it there (`[[package]]` with `exports`), author the line, or "
                f"drop the route of `{symbol}`.",
                place=plan.place(1),
            )


def _binds(path: str, symbol: str, tree: Tree, after: Mapping[str, Blob | None]) -> bool:
    """Whether a module binds a name somewhere, or may through a star or `__getattr__`."""
    blob = after[path] if path in after else tree.blob(path)
    if blob is None:
        return False
    for node in ast.walk(parse(blob.data, path)):
        if isinstance(node, ast.alias):
            if (node.asname or node.name.partition(".")[0]) in (symbol, "*"):
                return True
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name in (symbol, "__getattr__"):
                return True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == symbol:
            return True
    return False
