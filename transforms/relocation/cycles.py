"""Import cycles that a whole move would make.

What moves keeps its imports, so a cycle among modules stays what it was. New is only what a new
place loads: the `__init__` of the package that a module comes to lie in.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Mapping

from transforms.errors import Refusal
from transforms.move.cycles import Graph, Loading
from transforms.reading.accepts import Accepts
from transforms.relocation.targets import Targets
from transforms.result.changes import Blob
from transforms.tree import Tree
from transforms.tree.names import Names


def refuse_new_cycles(
    targets: Targets,
    tree: Tree,
    after: Mapping[str, Blob | None],
    names: Names,
    parsed: Mapping[bytes, ast.Module],
    accepts: Accepts,
) -> None:
    """Refuse a move after which a package loads, while it is loaded, what needs it."""
    if not accepts.cycles:
        return
    homes = {new.rpartition(".")[0] for new in targets.renames.values()} - {""}
    inits = {home: path for home in homes if (path := _init_of(home, tree, after, names))}
    if not inits:
        return
    loading = Loading(tree, after, names, parsed)
    before, later = Graph(loading.before_edges), Graph(loading.after_edges)
    came = {new: old for old, new in targets.renames.items()}
    for module in sorted(loading.new_paths):
        loaded = {name: line for name, line in later.edges(module).items() if name in inits}
        if not loaded:
            continue
        old = {targets.renamed(name) for name in before.edges(came.get(module, module))}
        for target, line in sorted(loaded.items()):
            if target in old:
                continue
            back = later.path(target, module, {})
            if back is None or _was_cyclic(before, came, module, target):
                continue
            if not loading.is_imported(module):
                continue
            place = loading.place(module, line)
            refusal = Refusal(
                "cycle",
                "The move would make an import cycle: " + " -> ".join([module, *back]) + ".",
                next_step=f"Choose a package whose `__init__` does not need `{module}`, or move "
                "what its `__init__` imports.",
                place=place,
            )
            around = (module, *back)
            accepts.refuse(refusal, (*around, *(loading.place(name, 1).path for name in around)))


def _init_of(
    package: str, tree: Tree, after: Mapping[str, Blob | None], names: Names
) -> str | None:
    """The `__init__` of a package after the move, if it has one that is not empty."""
    for path, blob in after.items():
        if posixpath.basename(path) == "__init__.py" and names.dotted(path) == package:
            return path if blob is not None and blob.data.strip() else None
    found = names.path_of(package)
    if found is None or posixpath.basename(found) != "__init__.py":
        return None
    return found if tree.read(found).strip() else None


def _was_cyclic(before: Graph, came: Mapping[str, str], module: str, target: str) -> bool:
    one, other = came.get(module, module), came.get(target, target)
    there = before.path(one, other, {})
    return there is not None and before.path(other, one, {}) is not None
