"""Where a name is defined: re-exports followed through the tree, before and after the move."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.changes import Blob
from transforms.document import Document
from transforms.errors import Refusal
from transforms.move import Group, Move
from transforms.names import Names, resolve_import
from transforms.parsing import parse
from transforms.tree import Tree

_DEPTH = 20


class Definitions:
    """Follows `from m import n` from module to module. Files are parsed once, and only on demand."""

    def __init__(self, tree: Tree, names: Names, move: Move, authored: Mapping[str, Blob]) -> None:
        self._tree, self._names, self._move, self._authored = tree, names, move, authored
        self._bound: dict[str, dict[str, tuple[str, str] | None]] = {}

    def defining(self, dotted: str, name: str) -> tuple[str, str]:
        """The module and name that `name` of `dotted` stands for after the move."""
        for _ in range(_DEPTH):
            home = self._move.home(dotted, name)
            if home is not None:
                return home, name
            origin = self._imports(dotted).get(name)
            if origin is None:
                return dotted, name
            dotted, name = origin
        return dotted, name

    def _imports(self, dotted: str) -> dict[str, tuple[str, str] | None]:
        """Names that a module's top-level `from` imports bind; None where it binds one otherwise."""
        if dotted not in self._bound:
            self._bound[dotted] = self._read(dotted)
        return self._bound[dotted]

    def _read(self, dotted: str) -> dict[str, tuple[str, str] | None]:
        path, data = self._find(dotted)
        if data is None:
            return {}
        try:
            tree = parse(data, path)
        except Refusal:
            return {}
        package = self._names.package_of(path)
        found: dict[str, tuple[str, str] | None] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                target = resolve_import(package, node.level, node.module)
                for alias in node.names:
                    bound = alias.asname or alias.name
                    origin = None if target is None or alias.name == "*" else (target, alias.name)
                    found[bound] = None if bound in found else origin
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = None
            elif isinstance(node, ast.Assign):
                for target_node in node.targets:
                    if isinstance(target_node, ast.Name):
                        found[target_node.id] = None
        return found

    def _find(self, dotted: str) -> tuple[str, bytes | None]:
        for path, blob in self._authored.items():
            if path.endswith(".py") and self._names.dotted(path) == dotted:
                return path, blob.data
        path_found = self._names.path_of(dotted)
        return (path_found, self._tree.read(path_found)) if path_found else ("", None)

    def same(self, document: Document, group: Group, name: str) -> bool:
        """Whether an existing destination binds `name` to what the source's `name` is.

        Refuses when it binds the name to something else: moved code would read the wrong one.
        """
        places = document.symbols.bindings.get(name, [])
        if not places:
            return False
        source = group.source
        wanted = self._meaning(source.document, source.located.dotted, name)
        here = self._meaning(document, group.located.dotted, name)
        if wanted is not None and wanted == here:
            return not self._only_for_checkers(document, name)
        if self._same_text(document, group, name):
            return True
        index, _ = places[0]
        raise Refusal(
            "clash",
            f"Moved code uses `{name}` of `{source.located.dotted}`, and "
            f"`{group.located.dotted}` binds another `{name}`.",
            next_step="Rename one of the two first, in a commit of its own.",
            place=document.module.place(document.symbols.statements[index].line),
        )

    def _only_for_checkers(self, document: Document, name: str) -> bool:
        imported = document.symbols.imports.get(name, [])
        return bool(imported) and all(binding.is_type_checking for binding in imported)

    def _meaning(self, document: Document, dotted: str, name: str) -> tuple[str, str] | None:
        """What a module-level name stands for: (module, name), ("", module) for a module itself."""
        imported = document.symbols.imports.get(name)
        if not imported:
            return self.defining(dotted, name) if name in document.symbols.defined else None
        meanings = set()
        for binding in imported:
            if isinstance(binding.node, ast.Import):
                whole = (
                    binding.alias.name
                    if binding.alias.asname
                    else binding.alias.name.partition(".")[0]
                )
                meanings.add(("", whole))
            else:
                target = resolve_import(document.package, binding.node.level, binding.node.module)
                meanings.add(self.defining(target or "", binding.alias.name))
        return meanings.pop() if len(meanings) == 1 else None

    def _same_text(self, document: Document, group: Group, name: str) -> bool:
        """A helper that both modules have, word for word: a logger, a flag, a guard."""
        mine = document.symbols.bindings[name]
        theirs = group.source.symbols.bindings.get(name, [])
        here = {ast.dump(document.symbols.statements[i].node) for i, _ in mine}
        there = {ast.dump(group.source.symbols.statements[i].node) for i, _ in theirs}
        immutable = all(
            isinstance(
                document.symbols.statements[i].node, (ast.Assign, ast.AnnAssign, ast.If, ast.Try)
            )
            for i, _ in mine
        )
        return bool(theirs) and here == there and immutable
