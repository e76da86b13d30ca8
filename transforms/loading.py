"""The cycle check of a finished move: graphs over the tree before and after it."""

from __future__ import annotations

import ast
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
    parsed: Mapping[bytes, ast.Module],
) -> None:
    """Refuse a move that closes an import cycle. Only modules reached from its edges are parsed.

    `created` maps a new module's dotted name to its source's; `parsed` holds the trees of files
    that were parsed already, by their bytes.
    """
    loading = Loading(tree, after, names, parsed)
    family = {*created, *(source.after.dotted for source in move.sources)}
    refuse_cycles(
        sorted(loading.new_paths),
        lambda dotted: dotted in family or loading.is_imported(dotted),
        Graph(loading.before_edges),
        Graph(loading.after_edges),
        created,
        loading.place,
    )


class Loading:
    """What modules load, before the move and after it."""

    def __init__(
        self,
        tree: Tree,
        after: Mapping[str, Blob | None],
        names: Names,
        parsed: Mapping[bytes, ast.Module],
    ) -> None:
        self.tree, self.after, self.names = tree, after, names
        self._parsed: dict[bytes, ast.Module | None] = dict(parsed)
        paths = sorted(path for path in after if path.endswith(".py"))
        self.new_paths = {names.dotted(path): path for path in paths if after[path] is not None}
        self._old_paths = {names.dotted(path): path for path in paths if path in tree.entries()}
        gone = {names.dotted(path) for path in paths if after[path] is None}
        self._gone = gone - set(self.new_paths)

    def before_edges(self, dotted: str) -> Edges:
        """What a module loads before the move."""
        path = self._path_before(dotted)
        if path is None:
            return {}
        return self._edges(self.tree.read(path), path, dotted, self._existed)

    def after_edges(self, dotted: str) -> Edges:
        """What a module loads after it."""
        path = self.new_paths.get(dotted)
        blob = self.after[path] if path else None
        if path and blob is not None:
            return self._edges(blob.data, path, dotted, self._exists)
        path = self.names.path_of(dotted)
        if path is None or dotted in self._gone:
            return {}
        return self._edges(self.tree.read(path), path, dotted, self._exists)

    def place(self, dotted: str, line: int) -> Place:
        """A line of a module as the move leaves it."""
        path = self.new_paths.get(dotted, self.names.path_of(dotted) or dotted)
        blob = self.after.get(path)
        text = blob.data.decode("utf-8", "replace").split("\n") if blob else []
        return Place(path, line, None, text[line - 1] if 0 < line <= len(text) else None)

    def is_imported(self, dotted: str) -> bool:
        """Whether any import can close a cycle over a module: tests and scripts have none."""
        path = self.names.path_of(dotted)
        if path is None:
            return False  # outside the root: no import of the tree is resolved to it
        last = re.escape(dotted.rpartition(".")[2]).encode()
        spelled = re.compile(
            rb"(?m)^[ \t]*(?:from|import)\b[^\n]*\b" + last + rb"\b|^[ \t]+" + last + rb","
        )
        python = [p for p in self.tree.entries() if p.endswith(".py") and p != path]
        mentions = self.tree.read_many(self.tree.search(re.compile(last), python))
        return any(spelled.search(data) for data in mentions.values())

    def _path_before(self, dotted: str) -> str | None:
        return self.names.path_of(dotted) or self._old_paths.get(dotted)

    def _existed(self, dotted: str) -> bool:
        return self._path_before(dotted) is not None

    def _exists(self, dotted: str) -> bool:
        return dotted in self.new_paths or (self._existed(dotted) and dotted not in self._gone)

    def _edges(self, data: bytes, path: str, dotted: str, exists: Callable[[str], bool]) -> Edges:
        if data not in self._parsed:
            try:
                self._parsed[data] = parse(data, path)
            except Refusal:
                self._parsed[data] = None  # a file that does not parse loads nothing
        module = self._parsed[data]
        package = self.names.package_of(path)
        return {} if module is None else imports_of(module, dotted, package, exists)
