"""One file under edit: its module, its imports, and everything the move wants changed in it.

Every part of the mover that touches a file goes through its `Document`, so that two operations on
one statement end in one edit, and a file is parsed once.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from transforms.errors import Place
from transforms.imports.comments import drop_comments
from transforms.imports.editor import ImportEditor
from transforms.imports.order import section_of, statement_key
from transforms.imports.placement import Head
from transforms.imports.statement import ImportedName, ImportStyle, render_import
from transforms.imports.style import infer_style
from transforms.source.edits import Block, Edits, Rank
from transforms.source.imports import Site, is_type_checking
from transforms.source.module import Module, Statement
from transforms.source.symbols import Symbols
from transforms.syntax.parsing import once
from transforms.tree.names import refuse_unimportable


@dataclass(frozen=True, slots=True)
class Wanted:
    """A name that a file needs: from which module (absolute), spelled how, for run time or not.

    `pragma` is a comment for tools that a statement made for it carries. `apart`: for type checkers
    even where the module is loaded at run time.
    """

    target: str
    spelled: str
    name: ImportedName
    type_checking: bool = False
    pragma: str | None = None
    apart: bool = False


@dataclass(frozen=True, slots=True)
class _New:
    """A new statement at module level. `module` is what it is sorted by."""

    module: str
    plain: bool
    text: str  # without the last line end
    before: int | None  # the offset of what needs it first


class Document:
    """A file being changed. `package` is where relative imports in it start.

    `newer`: a name for annotations joins a run-time import of its module, and the constant of type
    checkers is spelled as the file spells it, or the one that it is made `like`.
    """

    def __init__(
        self,
        path: str,
        data: bytes,
        package: str,
        *,
        sorter: bool,
        style: ImportStyle | None = None,
        newer: bool = False,
        like: Document | None = None,
    ) -> None:
        self.path = path
        self.package = package
        found = (Module, path, data, newer)
        self.module = once(found, lambda: Module(path, data, newer=newer))
        self.newer, self.like = newer, like
        self.sorter = sorter  # a formatter sorts imports afterwards: in place is enough
        self._style = style
        self.edits = Edits(self.module.text, self.module.newline)
        self.editor = ImportEditor(self.module, package, lambda: self.style, sorter=sorter)
        known = (Symbols, path, data, newer)
        self.symbols = once(known, lambda: Symbols(self.module, newer=newer))
        self.head = Head(self.module)
        self._wanted: list[tuple[Wanted, int | None]] = []
        self._new: list[_New] = []
        self._type_checking: list[Wanted] = []

    @cached_property
    def style(self) -> ImportStyle:
        """How the file writes its imports."""
        module = self.module
        found = (infer_style, module.path, module.data)
        return self._style or once(found, lambda: infer_style(module, self.editor.sites))

    def finish(self) -> bytes:
        """The new bytes."""
        if self.newer:
            self._settle_type_checking()
        if self._type_checking:
            self._create_type_checking_block()
        self._place_new()
        self._drop_empty_guards()
        drop_comments(self.module, self.editor, self.edits)
        self.editor.finish(self.edits)
        return self.module.encode(self.edits.apply())

    def import_name(self, wanted: Wanted, *, before: int | None = None) -> None:
        """Import a name at module level: merged into a statement that fits, else beside the others.

        `before` is the offset of the first use: what stands behind it does not count.
        """
        refuse_unimportable(wanted.spelled, Place(self.path, 1))
        if wanted.type_checking:
            if not self.newer:
                self._import_for_type_checking(wanted)
            elif wanted not in self._type_checking:
                self._type_checking.append(wanted)  # until all is known that is imported
            return
        site = self.statement_from(wanted.target, before, wanted.pragma)
        if site is None and wanted.pragma is None:
            site = self._one_of_its_module(wanted.target, before)
        if site is None and self.sorter and wanted.pragma is None:
            last = self.head.last_import(wanted.spelled, before)
            site = self.editor.site_of(last)
        if site is None:
            if not any(wanted == other for other, _ in self._wanted):
                self._wanted.append((wanted, before))
        else:
            self.editor.add(site, wanted.target, wanted.spelled, wanted.name, None)

    def _has_one_each(self, target: str) -> bool:
        """Whether names taken from `target` have statements of their own."""
        return self.style.one_name_per_statement or self.editor.has_one_each(
            self.module.tree.body, target
        )

    def spells_relatively(self, top: str) -> bool:
        """Whether imports of the package `top` are mostly spelled with dots in this file."""
        relative = sum(site.is_relative for site in self.editor.sites)
        absolute = sum(
            not site.is_relative and (site.target or "").partition(".")[0] == top
            for site in self.editor.sites
        )
        return relative > absolute

    def _one_of_its_module(self, target: str, before: int | None) -> Site | None:
        """A statement that a new one stands near, where each name has a statement of its own."""
        if not self._has_one_each(target):
            return None
        for site in self.editor.sites:
            if site.guards or site.is_star or not site.alone or self.editor.is_emptied(site):
                continue
            if self.editor.target_of(site) == target and (before is None or site.start < before):
                return site
        return None

    def import_plain(
        self, name: ImportedName, *, before: int | None = None, comment: str = ""
    ) -> None:
        """`import NAME` at module level, unless it is there, with a comment above it."""
        if not self._has_plain(name):
            text = render_import(None, [name], style=self.style, newline=self.module.newline)
            self._add_new(_New(name.name, True, comment + text, before))

    def import_text(self, text: str, spelled: str, *, before: int | None = None) -> None:
        """Put in a `from` import as it is written elsewhere."""
        self._add_new(_New(spelled, False, text, before))

    def _add_new(self, new: _New) -> None:
        if all(new.text != other.text for other in self._new):
            self._new.append(new)

    def _has_plain(self, name: ImportedName) -> bool:
        return any(
            not (site.guards or site.is_from)
            and name in site.names
            and name not in self.editor.removed(site)
            for site in self.editor.sites
        )

    def statement_from(
        self, target: str, before: int | None = None, pragma: str | None = None
    ) -> Site | None:
        """An unguarded module-level `from target import ...` that may take names, the first one.

        With a `pragma`, only one that carries it.
        """
        if self._has_one_each(target):
            return None
        for site in self.editor.sites:
            if site.guards or site.is_star or not site.alone:
                continue
            if self.editor.target_of(site) != target or self.editor.is_emptied(site):
                continue
            if before is not None and site.start >= before:
                continue
            if pragma is None or pragma == self.editor.look(site).pragma:
                return site
        return None

    def type_checking_guard(self) -> list[Site]:
        """Imports under `if TYPE_CHECKING:` at module level, in order."""
        return [
            site
            for site in self.editor.sites
            if len(site.guards) == 1 and site.is_type_checking and not self.editor.is_emptied(site)
        ]

    def _import_for_type_checking(self, wanted: Wanted) -> None:
        inside = self.type_checking_guard()
        if inside:
            same = [
                site
                for site in inside
                if self.editor.target_of(site) == wanted.target and not site.is_star
            ]
            anchor = same[0] if same else inside[-1]
            self.editor.add(anchor, wanted.target, wanted.spelled, wanted.name, None)
        elif wanted not in self._type_checking:
            self._type_checking.append(wanted)

    def _settle_type_checking(self) -> None:
        """Names for annotations join a run-time import of their module; the others have a guard."""
        waiting, self._type_checking = self._type_checking, []
        for wanted in waiting:
            if any(other.name == wanted.name for other, _ in self._wanted):
                continue  # it is imported at run time, too
            if not wanted.apart and self._loads(wanted.target):
                self._join(replace(wanted, type_checking=False))
            else:
                self._import_for_type_checking(wanted)

    def _join(self, wanted: Wanted) -> None:
        """Import a name with others; in a new statement it stands where their order has it."""
        count = len(self._wanted)
        self.import_name(wanted)
        for at, (other, _) in enumerate(self._wanted[:count]):
            if other.target == wanted.target and other.name.name > wanted.name.name:
                self._wanted[at:] = [*self._wanted[count:], *self._wanted[at:count]]
                return

    def _loads(self, target: str) -> bool:
        """Whether a plain statement of the module level imports names from `target`."""
        return any(other.target == target for other, _ in self._wanted) or any(
            self.editor.target_of(site) == target and not self.editor.is_emptied(site)
            for site in self.editor.sites
            if site.is_from and not site.guards
        )

    def checking_module(self) -> ImportedName | None:
        """How the file imports `typing` where it asks it for `TYPE_CHECKING`, if it does that."""
        for statement in self.symbols.statements:
            node = statement.node
            if isinstance(node, ast.If) and is_type_checking(node):
                root = node.test.value if isinstance(node.test, ast.Attribute) else None
                for binding in self.symbols.imports.get(getattr(root, "id", ""), []):
                    if isinstance(binding.node, ast.Import) and not binding.guards:
                        return ImportedName(binding.alias.name, binding.alias.asname)
        return None

    def spelled_checking(self) -> str:
        """Import what tells type checkers apart, and give the name by which it is asked for."""
        likes = [self, self.like] if self.newer and self.like else [self] if self.newer else []
        if "TYPE_CHECKING" in self.symbols.bindings:
            return "TYPE_CHECKING"
        for name in filter(None, (document.checking_module() for document in likes)):
            self.import_plain(name)
            return f"{name.asname or name.name}.TYPE_CHECKING"
        self.import_name(Wanted("typing", "typing", ImportedName("TYPE_CHECKING")))
        return "TYPE_CHECKING"

    def _create_type_checking_block(self) -> None:
        checking = self.spelled_checking()
        indent = self.style.indent_unit
        newline = self.module.newline
        lines = [
            indent + statement.text + newline
            for statement in sorted(self._grouped(self._type_checking, indent), key=self._key)
        ]
        text = f"if {checking}:" + newline + "".join(lines)
        offset = self.head.end
        self.edits.insert_block(offset, Block(text, 1, self.gap_after(offset), Rank.TYPE_CHECKING))

    def drop_checked(self, name: str) -> None:
        """Take a name out of the imports for type checkers: it is imported at run time now."""
        for site in self.type_checking_guard():
            for item in site.names:
                if (item.asname or item.name) == name:
                    self.editor.remove(site, item)

    def _drop_empty_guards(self) -> None:
        """An `if TYPE_CHECKING:` that lost all its imports goes, and so does its own import."""
        dropped = sum(
            prune(self, statement)
            for statement in self.symbols.statements
            if is_type_checking(statement.node) and not self.edits.is_deleted(statement.start)
        )
        if not dropped or self._type_checking:
            return
        scope = self.module.scopes.module
        name = ImportedName("TYPE_CHECKING")
        if len(self.module.scopes.of(scope, name.name)) > dropped:
            return
        for site in self.editor.sites:
            if site.is_from and not site.guards and name in site.names:
                self.editor.remove(site, name)

    def _grouped(
        self, wanted: Sequence[Wanted], indent: str, before: int | None = None
    ) -> list[_New]:
        """One statement for each module and pragma, with all names wanted from it."""
        groups: dict[tuple[str, str | None], list[ImportedName]] = {}
        for item in wanted:
            groups.setdefault((item.spelled, item.pragma), []).append(item.name)
        return [
            _New(
                spelled,
                False,
                render_import(
                    spelled, names, style=self.style, indent=indent,
                    newline=self.module.newline, comment=pragma,
                ),
                before,
            )
            for (spelled, pragma), names in groups.items()
        ]  # fmt: skip

    def _place_new(self) -> None:
        """Put new statements where the file's own order has them; several as one would."""
        firsts = [before for _, before in self._wanted if before is not None]
        statements = self._grouped(
            [wanted for wanted, _ in self._wanted], "", min(firsts, default=None)
        )
        statements += self._new
        if not statements:
            return
        if not self.head.imports:
            self._start_block(statements)
            return
        places: dict[int, list[tuple[_New, int, int]]] = {}
        for new in statements:
            point = self.head.place(
                new.module, self.style, self._first_party, plain=new.plain, before=new.before
            )
            places.setdefault(point.offset, []).append((new, point.blank_before, point.blank_after))
        for offset, found in places.items():
            self._place_at(offset, found)

    def _place_at(self, offset: int, found: list[tuple[_New, int, int]]) -> None:
        """Several at one place are sorted among each other, and divided where sections are."""
        found.sort(key=lambda item: self._key(item[0]))
        for number, (new, before, after) in enumerate(found):
            gap = before
            if number:
                upper, _, wanted = found[number - 1]
                gap = self._gap_between(upper, new) if before or wanted else 0
            self.edits.insert_lines(
                offset,
                new.text + self.module.newline,
                before=gap,
                after=after if number == len(found) - 1 else 0,
            )

    def _start_block(self, statements: list[_New]) -> None:
        """The first imports of a file."""
        statements.sort(key=self._key)
        newline = self.module.newline
        text = ""
        for number, new in enumerate(statements):
            if number:
                text += newline * self._gap_between(statements[number - 1], new)
            text += new.text + newline
        offset = self.head.header_end
        block = Block(text, 1 if offset else 0, self.gap_after(offset), Rank.IMPORTS)
        self.edits.insert_block(offset, block)

    def _section(self, new: _New) -> int:
        return section_of(new.module, self._first_party)

    @property
    def _first_party(self) -> frozenset[str]:
        return frozenset({self.package.partition(".")[0]} - {""})

    def _gap_between(self, above: _New, below: _New) -> int:
        return self.style.section_gap if self._section(above) != self._section(below) else 0

    def _key(self, new: _New) -> tuple[int, object]:
        style = self.style
        return self._section(new), statement_key(
            new.module,
            plain=new.plain,
            order=style.statement_order,
            ignore_case=style.ignore_module_case,
        )

    def gap_after(self, offset: int) -> int:
        """Blank lines between new imports or guards at `offset` and what will follow them."""
        module = self.module
        for statement in self.symbols.statements:
            start = statement.block_start
            if start < offset or self.edits.is_deleted(start):
                continue
            above = module.text[offset:start].rstrip(" \t\f\r\n")
            end = offset + len(above)
            if above and not self.edits.is_deleted(module.line_start(end - 1)):
                break  # a banner, which keeps the gap above it
            return module.definition_gap if statement.is_definition else 1
        return 1


def prune(document: Document, statement: Statement) -> bool:
    """Delete a guard whose imports all go, if only imports were in it; whether it went."""
    editor = document.editor
    inside = [site for site in editor.sites if site.guards and site.guards[0] is statement.node]
    gone = {site.node for site in inside if editor.is_emptied(site)}
    if gone and is_empty_without(statement.node, gone):
        editor.forget(inside)
        document.edits.delete_lines(
            document.module.line_start(statement.start), document.module.after_line(statement.end)
        )
        return True
    return False


def is_empty_without(node: ast.stmt, gone: Collection[ast.stmt]) -> bool:
    """Whether a guard would hold nothing but `pass` once the imports in `gone` have left it.

    A `try` loses its meaning with its body: its handlers go with it, unless they hold a definition.
    """
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return node in gone
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
