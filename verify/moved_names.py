"""Which files a change moved code between, told from the two trees alone.

A top-level name that one file stops defining and another starts to define has moved. This only
chooses the files whose ancestry is measured; it proves nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.parsing import parse
from transforms.tree import GitTree
from verify.ancestry import Ancestry, measure
from verify.certificate import Certificate
from verify.explaining import explainer


@dataclass(frozen=True, slots=True)
class MovedFiles:
    """Paths of the base that lost names, and paths of the target that received them."""

    sources: tuple[str, ...]
    destinations: tuple[str, ...]


def measure_move(
    base: GitTree, target: GitTree, certificate: Callable[[], Certificate]
) -> Ancestry:
    """Measure the ancestry of every file that a change moved code to."""
    moved = find_moved(base, target)
    explain = explainer(target.read_many(moved.destinations), certificate)
    return measure(base, target, moved.sources, moved.destinations, explain)


def find_moved(base: GitTree, target: GitTree) -> MovedFiles:
    """Compare what the changed Python files define at top level."""
    old, new = base.ids(), target.ids()
    changed = [
        path
        for path in sorted({*old, *new})
        if path.endswith(".py") and old.get(path) != new.get(path)
    ]
    before = base.read_many([path for path in changed if path in old])
    after = target.read_many([path for path in changed if path in new])
    defined = {path: _defined(before[path], path) if path in before else set() for path in changed}
    defines = {path: _defined(after[path], path) if path in after else set() for path in changed}
    lost = {path: defined[path] - defines[path] for path in changed}
    gained = {path: defines[path] - defined[path] for path in changed}
    sources = [p for p in changed if any(lost[p] & gained[other] for other in changed)]
    destinations = [p for p in changed if any(gained[p] & lost[other] for other in changed)]
    return MovedFiles(tuple(sources), tuple(destinations))


def _defined(data: bytes, path: str) -> set[str]:
    """Names that definitions and assignments at top level bind, guards included."""
    try:
        waiting: list[ast.stmt] = list(parse(data, path).body)
    except Refusal:
        return set()
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {
                t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)
            }
        elif isinstance(node, (ast.If, ast.Try)):
            waiting += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            ]
    return names
