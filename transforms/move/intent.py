"""What a plan says of modules and files that the move itself does not touch: each must be there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.errors import Place, Refusal
from transforms.move.state import Move
from transforms.reading.model import Plan
from transforms.result.changes import Blob
from transforms.syntax.parsing import parse
from transforms.tree import Tree
from transforms.tree.names import resolve_import

_DEPTH = 20  # re-exports followed to a definition
_UNTOUCHED = Blob(b"")  # stands for a file that the move leaves alone


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
    """Every `shrink` rule names a file, and every route a module that offers what moved."""
    by_group = [group for group in move.groups if group.spec.import_from is not None]
    if not (plan.shrink or move.routes or by_group):
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
    routes = _Routes(move, tree, after, names)
    for symbol, dotted in sorted(move.routes.items()):
        if routes.leads(dotted, symbol, routes.homes(symbol)) is None:
            raise Refusal(
                "plan-schema",
                f"`import_from`: `{dotted}` will not bind `{symbol}`: no caller could import it.",
                next_step="Export it there (`[[package]]` with `exports`), author the line, or "
                f"drop the route of `{symbol}`.",
                place=plan.place(1),
            )
        routes.check(dotted, symbol, plan.place(1))
    for group in by_group:
        for symbol in (*group.spec.carry, *group.spec.symbols):
            route = move.route(group.source.located.dotted, symbol)
            if route is not None:
                routes.check(route, symbol, plan.place(group.spec.line))


class _Routes:
    """Whether modules, as the move leaves them, offer what moved under its name."""

    def __init__(
        self,
        move: Move,
        tree: Tree,
        after: Mapping[str, Blob | None],
        paths: Mapping[str, str],
    ) -> None:
        self._move, self._tree, self._after, self._paths = move, tree, after, paths

    def homes(self, symbol: str) -> set[str]:
        """The modules that have the symbol after the move, one for each source that it left."""
        homes = (self._move.home(s.located.dotted, symbol) for s in self._move.sources)
        return {home for home in homes if home is not None}

    def check(self, dotted: str, symbol: str, place: Place) -> None:
        """Refuse a route to a module that binds the name to something else."""
        if self.leads(dotted, symbol, self.homes(symbol)) is False:
            raise Refusal(
                "clash",
                f"`import_from`: `{symbol}` of `{dotted}` is not the one that moves.",
                next_step="Route callers to a module that imports it from its new home.",
                place=place,
            )

    def leads(self, dotted: str, symbol: str, homes: set[str], depth: int = 0) -> bool | None:
        """Whether `symbol` of a module is what moved; None where the module does not bind it.

        A star import, or the `__getattr__` of a package above the new home, may lead there.
        """
        if dotted in homes:
            return True
        path = self._paths.get(dotted)
        blob = None if path is None else self._after.get(path, _UNTOUCHED)
        if path is not None and blob is _UNTOUCHED:
            blob = self._tree.blob(path)
        if path is None or blob is None or depth > _DEPTH:
            return None
        found: set[bool | None] = set()
        package = self._move.names.package_of(path)
        for node in ast.walk(parse(blob.data, path)):
            if isinstance(node, ast.ImportFrom):
                target = resolve_import(package, node.level, node.module) or ""
                for alias in node.names:
                    if (alias.asname or alias.name) == symbol:
                        found.add(self.leads(target, alias.name, homes, depth + 1) is True)
                    elif alias.name == "*":
                        found.add(self.leads(target, symbol, homes, depth + 1))
            elif _binds(node, symbol):
                found.add(False)
            elif isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                above = any(home.startswith(f"{dotted}.") for home in homes)
                found.add(True if above else None)
        found.discard(None)
        return all(found) if found else None


def _binds(node: ast.AST, symbol: str) -> bool:
    """Whether a node defines the name anew. Names inside functions count: they are few."""
    if isinstance(node, ast.Import):
        return any((a.asname or a.name.partition(".")[0]) == symbol for a in node.names)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == symbol
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == symbol
