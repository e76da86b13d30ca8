"""The cycle check of a finished move: graphs over the tree before and after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from transforms.changes import Blob
from transforms.cycles import Edges, Graph, imports_of, refuse_cycles
from transforms.errors import Place, Refusal
from transforms.move import Move
from transforms.names import Names
from transforms.parsing import parse
from transforms.tree import Tree


def check_cycles(
    move: Move,
    tree: Tree,
    after: Mapping[str, Blob | None],
    created: Mapping[str, str],
    names: Names,
) -> None:
    """Refuse a move that closes an import cycle. Only modules reached from its edges are parsed."""
    paths = {path for path in after if path.endswith(".py")}
    new_paths = {names.dotted(path): path for path in sorted(paths) if after[path] is not None}
    gone = {names.dotted(path) for path in paths if after[path] is None} - set(new_paths)

    old_paths = {names.dotted(path): path for path in sorted(paths) if path in tree.entries()}

    def path_before(dotted: str) -> str | None:
        return names.path_of(dotted) or old_paths.get(dotted)

    def exists_before(dotted: str) -> bool:
        return path_before(dotted) is not None

    def exists_after(dotted: str) -> bool:
        return dotted in new_paths or (exists_before(dotted) and dotted not in gone)

    def before_edges(dotted: str) -> Edges:
        path = path_before(dotted)
        return {} if path is None else _edges(tree.read(path), path, dotted, names, exists_before)

    def after_edges(dotted: str) -> Edges:
        path = new_paths.get(dotted)
        blob = after[path] if path else None
        if path and blob is not None:
            return _edges(blob.data, path, dotted, names, exists_after)
        path = names.path_of(dotted)
        if path is None or dotted in gone:
            return {}
        return _edges(tree.read(path), path, dotted, names, exists_after)

    def place(dotted: str, line: int) -> Place:
        path = new_paths.get(dotted, names.path_of(dotted) or dotted)
        blob = after.get(path)
        text = blob.data.decode("utf-8", "replace").split("\n") if blob else []
        return Place(path, line, None, text[line - 1] if 0 < line <= len(text) else None)

    def is_imported(dotted: str) -> bool:
        """Whether anything can close a cycle over a module: a test or script is imported by none."""
        if dotted in created or dotted in {source.after.dotted for source in move.sources}:
            return True
        path = names.path_of(dotted)
        if path is None:
            return False  # outside the root: no import of the tree is resolved to it
        last = re.escape(dotted.rpartition(".")[2]).encode()
        spelled = re.compile(
            rb"(?m)^[ \t]*(?:from|import)\b[^\n]*\b" + last + rb"\b|^[ \t]+" + last + rb","
        )
        python = [p for p in tree.entries() if p.endswith(".py") and p != path]
        mentions = tree.read_many(tree.search(re.compile(last), python))
        return any(spelled.search(data) for data in mentions.values())

    refuse_cycles(
        sorted(new_paths),
        is_imported,
        Graph(before_edges),
        Graph(after_edges),
        created,
        place,
    )


def _edges(
    data: bytes, path: str, dotted: str, names: Names, exists: Callable[[str], bool]
) -> Edges:
    try:
        tree = parse(data, path)
    except Refusal:
        return {}  # a file that does not parse loads nothing
    return imports_of(tree, dotted, names.package_of(path), exists)
