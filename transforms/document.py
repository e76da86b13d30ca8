"""One file under edit: its module, its imports, and everything the move wants changed in it.

Every part of the mover that touches a file goes through its `Document`, so that two operations on
one statement end in one edit, and a file is parsed once.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from transforms.edits import Block, Edits
from transforms.import_editor import ImportEditor
from transforms.import_sites import Site, is_type_checking
from transforms.imports import ImportedName, ImportStyle, render_import
from transforms.module import Module, Statement
from transforms.style import infer_style, insertion_point
from transforms.symbols import Symbols, is_future, is_string

_GUARDS = (ast.If, ast.Try)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A name that a file needs: from which module (absolute), spelled how, for run time or not."""

    target: str
    spelled: str
    name: ImportedName
    type_checking: bool = False


class Document:
    """A file being changed. `package` is where relative imports in it start."""

    def __init__(
        self,
        path: str,
        data: bytes,
        package: str,
        *,
        sorter: bool,
        style: ImportStyle | None = None,
    ) -> None:
        self.path = path
        self.package = package
        self.module = Module(path, data)
        self.sorter = sorter  # a formatter sorts imports afterwards: in place is enough
        self._style = style
        self.edits = Edits(self.module.text, self.module.newline)
        self.editor = ImportEditor(self.module, package, lambda: self.style, sorter=sorter)
        self.symbols = Symbols(self.module)
        self._type_checking: list[Wanted] = []
        self._fresh: list[Wanted] = []  # for a file without any import to stand beside

    @cached_property
    def style(self) -> ImportStyle:
        return self._style or infer_style(self.module.text, self.module.tree)

    def finish(self) -> bytes:
        """The new bytes."""
        self._add_first_imports()
        self.editor.finish(self.edits)
        return self.module.encode(self.edits.apply())

    def import_name(self, wanted: Wanted, *, before: int | None = None) -> None:
        """Import a name at module level: merged into a statement that fits, else beside the others.

        `before` is the offset of the first use at import time: an existing statement behind it
        does not count.
        """
        if wanted.type_checking:
            self._import_for_type_checking(wanted)
            return
        site = self.statement_from(wanted.target, before)
        if site is None and self.sorter:
            block = self.import_block()
            site = block[-1] if block else None
        if site is None:
            self._fresh.append(wanted)
            return
        self.editor.add(site, wanted.target, wanted.spelled, wanted.name, None)

    def import_plain(self, name: ImportedName) -> None:
        """`import NAME` at module level, unless it is there."""
        if any(not s.guards and not s.is_from and name in s.names and name not in self.editor.removed(s)
               for s in self.editor.sites):  # fmt: skip
            return
        block = self.import_block()
        if self.sorter and block:
            self.editor.add_plain(block[-1], name)
            return
        text = f"import {name}" + self.module.newline
        if block:
            point = insertion_point(
                self.module.text, self.module.tree, name.name, self.style, plain=True
            )
            newline = self.module.newline
            self.edits.insert(
                point.offset, newline * point.blank_before + text + newline * point.blank_after
            )
        else:
            offset = self.header_end()
            self.edits.insert_block(
                offset, Block(text, 1 if offset else 0, self._gap_after(offset))
            )

    def statement_from(self, target: str, before: int | None) -> Site | None:
        """An unguarded module-level `from target import ...`, the first one."""
        if self.style.one_name_per_statement:
            return None
        for site in self.editor.sites:
            if site.guards or site.is_star or self.editor.target_of(site) != target:
                continue
            if self.editor.is_emptied(site) or (before is not None and site.start >= before):
                continue
            return site
        return None

    def import_block(self) -> list[Site]:
        """The unguarded imports at the head of the module, before the first other statement."""
        nodes: list[ast.stmt] = []
        for node in self.module.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if not is_future(node):
                    nodes.append(node)
            elif not (is_string(node) or self._holds_only_imports(node)):
                if nodes:
                    break
        return [site for site in self.editor.sites if any(site.node is node for node in nodes)]

    def _holds_only_imports(self, node: ast.stmt) -> bool:
        return isinstance(node, _GUARDS) and all(
            isinstance(child, (ast.Import, ast.ImportFrom, ast.Pass)) for child in node.body
        )

    def head_end(self) -> int:
        """The offset of the line after the docstring, `__future__` imports and import block."""
        end = self.header_end()
        for statement in self.symbols.statements:
            node = statement.node
            if isinstance(node, (ast.Import, ast.ImportFrom)) or self._holds_only_imports(node):
                end = self.module.after_line(statement.end)
            elif not is_string(node):
                break
        return end

    def header_end(self) -> int:
        """The offset of the line after leading comments, docstring and `__future__` imports."""
        end = 0
        statements = self.symbols.statements
        for statement in statements:
            if not (
                is_future(statement.node) or (statement.index == 0 and is_string(statement.node))
            ):
                break
            end = self.module.after_line(statement.end)
        if end or (statements and self.module.blank_lines_before(statements[0].block_start) == 0):
            return end
        limit = statements[0].block_start if statements else len(self.module.text)
        return self.module.line_start(limit) if self.module.text[:limit].strip() else 0

    def _import_for_type_checking(self, wanted: Wanted) -> None:
        inside = [
            site
            for site in self.editor.sites
            if len(site.guards) == 1 and site.is_type_checking and not self.editor.is_emptied(site)
        ]
        if inside:
            same = [
                site
                for site in inside
                if self.editor.target_of(site) == wanted.target and not site.is_star
            ]
            anchor = same[0] if same else inside[-1]
            self.editor.add(anchor, wanted.target, wanted.spelled, wanted.name, None)
        else:
            self._type_checking.append(wanted)

    def _add_first_imports(self) -> None:
        if self._type_checking:
            self._create_type_checking_block()
        if not self._fresh:
            return
        if self.import_block():
            self._add_in_order()
            return
        lines = self._render(self._fresh, "")
        offset = self.header_end()
        self.edits.insert_block(offset, Block(lines, 1 if offset else 0, self._gap_after(offset)))

    def _add_in_order(self) -> None:
        """No formatter sorts afterwards: each new statement goes where its file would have it."""
        newline, module = self.module.newline, self.module
        for spelled in sorted({item.spelled for item in self._fresh}):
            items = [item for item in self._fresh if item.spelled == spelled]
            point = insertion_point(module.text, module.tree, spelled, self.style)
            text = self._render(items, "")
            if point.offset and not module.text[: point.offset].endswith(("\n", "\r")):
                text = newline + text
            self.edits.insert(
                point.offset, newline * point.blank_before + text + newline * point.blank_after
            )

    def _create_type_checking_block(self) -> None:
        typing = Wanted("typing", "typing", ImportedName("TYPE_CHECKING"))
        if "TYPE_CHECKING" not in self.symbols.imports:
            self.import_name(typing)
        indent = self.style.indent_unit
        text = "if TYPE_CHECKING:" + self.module.newline + self._render(self._type_checking, indent)
        offset = self.head_end()
        self.edits.insert_block(offset, Block(text, 1, self._gap_after(offset)))

    def _render(self, wanted: list[Wanted], indent: str) -> str:
        groups: dict[str, list[ImportedName]] = {}
        for item in wanted:
            groups.setdefault(item.spelled, []).append(item.name)
        newline = self.module.newline
        return "".join(
            indent
            + render_import(spelled, names, style=self.style, indent=indent, newline=newline)
            + newline
            for spelled, names in sorted(groups.items())
        )

    def _gap_after(self, offset: int) -> int:
        """Blank lines between new imports at `offset` and what follows."""
        following = self.statement_after(offset)
        return 2 if following is not None and following.is_definition else 1

    def statement_after(self, offset: int) -> Statement | None:
        return next((s for s in self.symbols.statements if s.block_start >= offset), None)


def prune(document: Document, statement: Statement, drop: set[tuple[int, str]]) -> bool:
    """Drop names from the imports inside a guard; delete the guard when only imports were in it.

    `drop` holds (id of the import node, alias as spelled). Returns whether the guard went.
    """
    editor = document.editor
    inside = [site for site in editor.sites if site.guards and site.guards[0] is statement.node]
    for site in inside:
        for name in site.names:
            if (id(site.node), str(name)) in drop:
                editor.remove(site, name)
    gone = {id(site.node) for site in inside if editor.is_emptied(site)}
    if gone and is_empty_without(statement.node, gone):
        editor.forget(inside)
        document.edits.delete_lines(
            document.module.line_start(statement.start), document.module.after_line(statement.end)
        )
        return True
    return False


def is_empty_without(node: ast.stmt, gone: set[int]) -> bool:
    """Whether a guard would hold nothing but `pass` once the imports in `gone` have left it.

    A `try` loses its meaning with its body: its handlers go with it, unless they hold a definition.
    """
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return id(node) in gone
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.If):
        return all(is_empty_without(child, gone) for child in [*node.body, *node.orelse])
    if isinstance(node, ast.Try):
        handled = [child for handler in node.handlers for child in handler.body]
        main = [*node.body, *node.orelse, *node.finalbody]
        return all(is_empty_without(child, gone) for child in main) and all(
            is_empty_without(child, gone) or isinstance(child, ast.Raise) for child in handled
        )
    return False


__all__ = ["Document", "Wanted", "is_empty_without", "is_type_checking", "prune"]
