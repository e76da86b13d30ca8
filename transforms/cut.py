"""The source after the move: statements cut, orphaned imports dropped, names imported back."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from transforms.document import Document, Wanted, is_empty_without
from transforms.edits import Block
from transforms.errors import Refusal
from transforms.imports import ImportedName, render_import
from transforms.move import Group, Move, SourceState
from transforms.names import relative_name
from transforms.preamble import reached_modules
from transforms.symbols import ImportedBinding, Symbols, is_future, is_string


class Cut:
    """What one source loses and gets. `external` are names that other files read through it."""

    def __init__(self, source: SourceState, move: Move) -> None:
        self.source, self.move = source, move
        self.symbols: Symbols = source.symbols
        self.document: Document = source.document
        self.remaining = [
            statement.index
            for statement in self.symbols.statements
            if statement.index not in source.cut
        ]
        self.removed_imports: list[str] = []
        self.imports_back: list[str] = []

    def used_by_moved(self) -> set[str]:
        """Names that the moved and copied statements look up."""
        copied = {index for group in self._groups() for index in group.copied}
        return set(self.symbols.uses(sorted(set(self.source.cut) | copied)))

    def candidates(self) -> set[str]:
        """Imports that the move may orphan: moved code uses them, what stays does not."""
        moved = set(self.symbols.uses(sorted(self.source.cut)))
        return {
            name for name in self.symbols.imports if name in moved and not self._stays_used(name)
        }

    def _groups(self) -> list[Group]:
        return [group for group in self.move.groups if group.source is self.source]

    def _stays_used(self, name: str) -> bool:
        """Whether a statement that stays looks `name` up, apart from the guards that bind it."""
        if any(name == listed for listed, node in self.symbols.all_names
               if self.symbols.statement_at(node).index in self.remaining):  # fmt: skip
            return True
        own = {binding.index for binding in self.symbols.imports[name] if binding.guards}
        rest = [index for index in self.remaining if index not in own]
        return name in self.symbols.uses(rest) or name in self.symbols.uses(sorted(own))

    def apply(self, external: set[str]) -> None:
        """Record every edit in the source's document."""
        module = self.document.module
        for index in sorted(self.source.cut):
            statement = self.symbols.statements[index]
            self.document.edits.delete_lines(
                module.line_start(statement.block_start), module.after_line(statement.end)
            )
        self._drop_orphans(self.candidates() - external)
        self._drop_dotted_orphans()
        self._import_back()

    def _drop_orphans(self, names: set[str]) -> None:
        drop: dict[int, list[ImportedBinding]] = {}
        for name in sorted(names):
            bindings = self.symbols.imports[name]
            if self._is_suppressed(bindings):
                continue
            for binding in bindings:
                drop.setdefault(binding.index, []).append(binding)
        for index, bindings in sorted(drop.items()):
            if bindings[0].guards:
                self._drop_in_guard(index, bindings)
            else:
                for binding in bindings:
                    self._drop_alias(binding)

    def _drop_dotted_orphans(self) -> None:
        """`import a.b` goes when only moved code reached `a.b`, though `a` is still used."""
        for name, bindings in sorted(self.symbols.imports.items()):
            dotted = [b for b in bindings if isinstance(b.node, ast.Import) and "." in b.alias.name
                      and b.alias.asname is None and not b.guards]  # fmt: skip
            if len(bindings) < 2 or not dotted or name in self.candidates():
                continue
            staying = self.symbols.uses(self.remaining).get(name, [])
            leaving = self.symbols.uses(sorted(self.source.cut)).get(name, [])
            if not staying or not leaving:
                continue
            needed = reached_modules(bindings, staying)
            used = reached_modules(bindings, leaving)
            for binding in dotted:
                if binding in used and binding not in needed and len(used) < len(bindings):
                    self._drop_alias(binding)

    def _is_suppressed(self, bindings: Iterable[ImportedBinding]) -> bool:
        """An import with `# noqa` is there for its effect, or for others: it stays."""
        for binding in bindings:
            for site in self.document.editor.sites:
                if site.node is binding.node:
                    pragma = self.document.editor.statement(site).pragma or ""
                    if "noqa" in pragma.lower():
                        return True
        return False

    def _drop_alias(self, binding: ImportedBinding) -> None:
        name = ImportedName(binding.alias.name, binding.alias.asname)
        for site in self.document.editor.sites:
            if site.node is binding.node:
                self.document.editor.remove(site, name)
                self.removed_imports.append(_spelled(binding))

    def _drop_in_guard(self, index: int, bindings: list[ImportedBinding]) -> None:
        """Names leave the imports inside a guard; a guard of imports alone goes when it is empty."""
        statement = self.symbols.statements[index]
        editor, module = self.document.editor, self.document.module
        inside = [s for s in editor.sites if s.guards and s.guards[0] is statement.node]
        dropped = {id(binding.alias) for binding in bindings}
        gone = {
            id(site.node)
            for site in inside
            if all(id(alias) in dropped for alias in site.node.names)
        }
        if self._is_probe(statement.node) and not self._binds_only(index, bindings):
            return
        if isinstance(statement.node, ast.Try):
            if self._binds_only(index, bindings) and self._fallbacks_only(statement.node):
                gone = {id(site.node) for site in inside}
            else:
                return  # a guard that does more than import these names stays as it is
        self.removed_imports += [_spelled(binding) for binding in bindings]
        if is_empty_without(statement.node, gone) or isinstance(statement.node, ast.Try):
            self.document.edits.delete_lines(
                module.line_start(statement.block_start), module.after_line(statement.end)
            )
            return
        for binding in bindings:
            for site in inside:
                if site.node is binding.node:
                    editor.remove(site, ImportedName(binding.alias.name, binding.alias.asname))

    def _is_probe(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and bool(node.orelse)

    def _binds_only(self, index: int, bindings: list[ImportedBinding]) -> bool:
        names = {binding.name for binding in bindings}
        return self.symbols.binds(index) <= names

    def _fallbacks_only(self, node: ast.Try) -> bool:
        """The handlers bind the names to constants, pass or raise."""
        handled = [child for handler in node.handlers for child in handler.body]
        return all(
            isinstance(child, (ast.Pass, ast.Raise, ast.Import, ast.ImportFrom))
            or (isinstance(child, ast.Assign) and isinstance(child.value, ast.Constant))
            for child in [*node.body, *handled, *node.orelse, *node.finalbody]
        )

    def needed_back(self) -> dict[str, bool]:
        """Moved names that what stays looks up, or that stay importable; true: only annotations."""
        used = self.symbols.uses(self.remaining)
        listed = {
            name
            for name, node in self.symbols.all_names
            if self.symbols.statement_at(node).index in self.remaining
        }
        reexports = self.source.spec.reexports
        wanted: dict[str, bool] = {}
        for name in sorted(self.source.moved):
            shim = (reexports is None and not name.startswith("_")) or name in (reexports or ())
            if name not in used and name not in listed and not shim:
                continue
            references = used.get(name, [])
            annotates = bool(references) and all(
                r.annotation == "string" or r.annotation in ("postponed", "type comment")
                for r in references
            )
            wanted[name] = annotates and name not in listed and not shim
        return wanted

    def _import_back(self) -> None:
        wanted = self.needed_back()
        in_place: list[Wanted] = []
        for name, type_checking in wanted.items():
            item = Wanted(*self._target(name), ImportedName(name), type_checking)
            self.imports_back.append(f"from {item.spelled} import {name}")
            if self.source.spec.imports_back == "in place" and not type_checking:
                existing = self.document.statement_from(item.target, self._first_cut())
                if existing is None:
                    in_place.append(item)
                    continue
            self.document.import_name(item)
        if in_place:
            self._insert_in_place(in_place)

    def _target(self, name: str) -> tuple[str, str]:
        """The module to import `name` back from, and how it is spelled here."""
        dotted = self.source.located.dotted
        after = self.source.after
        target = self.move.route(dotted, name) or ""
        if (after.dotted + ".").startswith(target + "."):
            target = self.move.home(dotted, name) or target
        return target, self._spell(target)

    def _spell(self, target: str) -> str:
        package = self.source.after.package
        relative = absolute = 0
        top = self.source.located.dotted.partition(".")[0]
        for site in self.document.editor.sites:
            if site.is_relative:
                relative += 1
            elif site.target and site.target.partition(".")[0] == top:
                absolute += 1
        return (relative_name(package, target) or target) if relative > absolute else target

    def _first_cut(self) -> int:
        return self.symbols.statements[min(self.source.cut)].block_start

    def _insert_in_place(self, wanted: list[Wanted]) -> None:
        """An import block in the middle of the file, where the first removed block stood."""
        newline = self.document.module.newline
        groups: dict[str, list[ImportedName]] = {}
        for item in wanted:
            groups.setdefault(item.spelled, []).append(item.name)
        text = "".join(
            render_import(spelled, sorted(names, key=lambda n: n.name), style=self.document.style,
                          newline=newline) + newline
            for spelled, names in sorted(groups.items())
        )  # fmt: skip
        first = min(self.source.cut)
        offset = self.document.module.line_start(self._first_cut())
        below = next((i for i in self.remaining if i > first), None)
        after = 1
        if below is not None and self.symbols.statements[below].is_definition:
            after = 2
        self.document.edits.insert_block(offset, Block(text, 2, after))

    def leftovers(self) -> list[int]:
        """Remaining statements that are more than imports, strings, `__all__` and copied helpers."""
        copied = {index for group in self._groups() for index in group.copied}
        found = []
        for index in self.remaining:
            node = self.symbols.statements[index].node
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) or is_string(node):
                continue
            if index in copied or index in self.symbols.all_statements or _guards_imports(node):
                continue
            found.append(index)
        return found

    def fate(self) -> str:
        """`kept`, `deleted` or `renamed to PATH`. Refuses to delete a module that is not empty."""
        spec = self.source.spec
        if spec.becomes is not None:
            return f"renamed to {self.source.after.path}"
        left = self.leftovers()
        if spec.emptied == "delete":
            if left:
                statement = self.symbols.statements[left[0]]
                raise Refusal(
                    "not-empty",
                    f"`{self.source.located.path}` is to be deleted, but this statement stays in it.",
                    next_step='Move it too, or drop `emptied = "delete"`.',
                    place=self.source.place(statement.line),
                )
            return "deleted"
        return "kept"


def _guards_imports(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
        return True
    if isinstance(node, ast.If):
        return all(map(_guards_imports, [*node.body, *node.orelse]))
    if isinstance(node, ast.Try):
        handled = [child for handler in node.handlers for child in handler.body]
        return all(map(_guards_imports, [*node.body, *node.orelse, *handled]))
    return False


def _spelled(binding: ImportedBinding) -> str:
    alias = binding.alias.name + (f" as {binding.alias.asname}" if binding.alias.asname else "")
    if isinstance(binding.node, ast.ImportFrom):
        return f"from {'.' * binding.node.level}{binding.node.module or ''} import {alias}"
    return f"import {alias}"


def rebase_relative(source: SourceState) -> None:
    """A module that became part of a package of its own name: its relative imports gain a level."""
    document = source.document
    for site in document.editor.sites:
        if site.is_relative and site.target is not None and not document.editor.is_sent(site):
            spelled = relative_name(source.after.package, site.target)
            if spelled is not None:
                document.editor.respell(site, spelled)


def docstring_first(source: SourceState) -> None:
    """Put the leading string above the `__future__` import that stands before it."""
    document, statements = source.document, source.symbols.statements
    futures = [s for s in statements if is_future(s.node)]
    texts = [s for s in statements if is_string(s.node)]
    if (
        not futures
        or not texts
        or futures[0].index > texts[0].index
        or futures[-1].index + 1 != texts[0].index
    ):
        return
    module = document.module
    block = module.text[futures[0].block_start : futures[-1].end]
    document.edits.delete_lines(
        module.line_start(futures[0].block_start), module.after_line(futures[-1].end)
    )
    end = module.after_line(texts[0].end)
    document.edits.insert_block(
        end, Block(block + module.newline, 1, module.blank_lines_after(texts[0].end))
    )


__all__ = ["Cut", "docstring_first", "rebase_relative"]
