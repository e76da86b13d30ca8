"""Imports that only moved code needed: found with all that depends on them, and taken out.

An import that nothing used before the move is not an orphan of it. Neither is one with `# noqa`,
which is there for its effect or for others, nor one that other files read through the source.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from transforms.imports.document import Document, is_empty_without
from transforms.imports.guards import (
    drop_empty_branches,
    holds_imports,
    may_stand_twice,
    only_imports,
    stands_alone,
    suppresses,
)
from transforms.imports.statement import ImportedName
from transforms.move.needs import dotted_imports, reached_modules
from transforms.source.imports import is_type_checking
from transforms.source.symbols import ImportedBinding, Symbols


class Orphans:
    """What a source need not import any more once the statements in `cut` have left it.

    `names` are bound by imports that go, `guards` are statements that go whole. `kept` are names
    that others read; `checks`: an `if TYPE_CHECKING:` is needed for other imports; `newer`: what a
    guard sets beside its imports goes with them, and an import leaves an `if TYPE_CHECKING:` alone.
    """

    def __init__(
        self,
        document: Document,
        cut: Collection[int],
        kept: Collection[str] = (),
        *,
        checks: bool = False,
        newer: bool = False,
    ) -> None:
        self.document = document
        self.symbols: Symbols = document.symbols
        self.cut = set(cut)
        self.kept = set(kept)
        self.checks = checks
        self.newer = newer
        self.flags = self._flags() if newer else {}
        self.names: set[str] = set()
        self.guards: set[int] = set()
        self._find()

    @property
    def staying(self) -> list[int]:
        """Statements that stay in the source."""
        gone = self.cut | self.guards
        return [s.index for s in self.symbols.statements if s.index not in gone]

    def _find(self) -> None:
        """A guard that goes may take the last use of another import with it: so until none does."""
        while True:
            left = self.symbols.uses(sorted(self.cut | self.guards))
            used = self.symbols.uses(self.staying)
            listed = {
                name
                for name, node in self.symbols.all_names
                if self.symbols.statement_at(node).index not in self.cut
            }
            self.names = {
                name
                for name, bindings in {**self.flags, **self.symbols.imports}.items()
                if name in left
                and name not in used
                and name not in listed
                and name not in self.kept
                and not self._is_suppressed(bindings)
            }
            guards = {
                binding.index
                for name in self.names
                for binding in self.symbols.imports.get(name, ())
                if binding.guards and self._goes(binding.index)
            }
            if guards <= self.guards:
                return
            self.guards |= guards

    def _alone(self, binding: ImportedBinding, node: ast.stmt) -> bool:
        return self.newer and is_type_checking(node) and stands_alone(binding.guards)

    def _may_stand_twice(self, node: ast.stmt) -> bool:
        return may_stand_twice(node, newer=self.newer)

    def _flags(self) -> dict[str, list[ImportedBinding]]:
        """Names that guards of imports set beside them, as `HAS_X` is set; nothing else binds."""
        symbols, found = self.symbols, {}
        for name, indices in symbols.defined.items():
            nodes = [symbols.statements[index].node for index in indices]
            if name not in symbols.imports and all(map(holds_imports, nodes)):
                changed = name in symbols.rebound or name in symbols.mutations
                if all(map(self._may_stand_twice, nodes)) and not changed:
                    found[name] = list[ImportedBinding]()
        return found

    def _is_suppressed(self, bindings: Iterable[ImportedBinding]) -> bool:
        editor = self.document.editor
        sites = [editor.site_of(binding.node) for binding in bindings]
        return any(
            site is not None and "noqa" in (editor.look(site).pragma or "").lower()
            for site in sites
        )

    def _goes(self, index: int) -> bool:
        """Whether a guard imports nothing but orphans, and does nothing else."""
        node = self.symbols.statements[index].node
        if index in self.cut or not self.symbols.binds(index) <= self.names:
            return False
        if self.checks and is_type_checking(node):
            return False
        if isinstance(node, ast.Try):
            return _only_falls_back(node)
        if suppresses(node):
            return self.newer and self._may_stand_twice(node)
        if self.flags and self.symbols.binds(index) & self.flags.keys():
            return self._may_stand_twice(node)
        gone = {
            site.node
            for site in self.document.editor.sites
            if site.guards and site.guards[0] is node
        }
        return is_empty_without(node, gone)

    def drop(self) -> list[str]:
        """Take the imports out of the document. Returns them as they are spelled, in order."""
        document, module = self.document, self.document.module
        dropped: list[ImportedBinding] = []
        for index in sorted(self.guards):
            statement = self.symbols.statements[index]
            document.edits.delete_lines(
                module.line_start(statement.block_start), module.after_line(statement.end)
            )
        branched = set()
        for name in sorted(self.names):
            for binding in self.symbols.imports.get(name, ()):
                node = self.symbols.statements[binding.index].node
                if binding.index in self.guards:
                    dropped.append(binding)
                elif not binding.guards or only_imports(node) or self._alone(binding, node):
                    self._remove(binding)
                    dropped.append(binding)
                    branched |= {binding.index} if binding.guards else set()
        for index in sorted(branched):
            node = self.symbols.statements[index].node
            drop_empty_branches(document, node, document.editor, document.edits)
        dropped += self._drop_dotted()
        return list(map(spelled, sorted(dropped, key=_position)))

    def _drop_dotted(self) -> list[ImportedBinding]:
        """`import a.b` goes when only moved code reached `a.b`, though `a` is still used."""
        dropped = []
        for name, bindings in sorted(self.symbols.imports.items()):
            dotted = [binding for binding in dotted_imports(bindings) if not binding.guards]
            if len(bindings) < 2 or not dotted or name in self.names | self.kept:
                continue
            staying = self.symbols.uses(self.staying).get(name, [])
            leaving = self.symbols.uses(sorted(self.cut)).get(name, [])
            if not staying or not leaving or self._is_suppressed(dotted):
                continue
            needed = reached_modules(bindings, staying)
            used = reached_modules(bindings, leaving)
            for binding in dotted:
                if binding in used and binding not in needed and len(used) < len(bindings):
                    self._remove(binding)
                    dropped.append(binding)
        return dropped

    def _remove(self, binding: ImportedBinding) -> None:
        name = ImportedName(binding.alias.name, binding.alias.asname)
        site = self.document.editor.site_of(binding.node)
        if site is not None:
            self.document.editor.remove(site, name)


def _only_falls_back(node: ast.Try) -> bool:
    """Whether a `try` imports, and its handlers import, bind a constant, pass or raise."""
    handled = [child for handler in node.handlers for child in handler.body]
    return all(
        isinstance(child, (ast.Pass, ast.Raise, ast.Import, ast.ImportFrom))
        or (isinstance(child, ast.Assign) and isinstance(child.value, ast.Constant))
        for child in [*node.body, *handled, *node.orelse, *node.finalbody]
    )


def _position(binding: ImportedBinding) -> tuple[int, int]:
    return binding.alias.lineno, binding.alias.col_offset


def spelled(binding: ImportedBinding) -> str:
    """An imported name as a statement of its own."""
    alias = binding.alias.name + (f" as {binding.alias.asname}" if binding.alias.asname else "")
    if isinstance(binding.node, ast.ImportFrom):
        return f"from {'.' * binding.node.level}{binding.node.module or ''} import {alias}"
    return f"import {alias}"
