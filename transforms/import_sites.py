"""Every import statement of a module, wherever it stands, and edits of them that fit together.

One statement can lose names to a move, gain names from another, and get a new neighbour in the
same run; `ImportEditor` collects these and renders each statement once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from transforms.edits import Edits
from transforms.imports import (
    ImportedName,
    ImportStatement,
    ImportStyle,
    NameComments,
    Shrink,
    render_import,
)
from transforms.module import Module
from transforms.names import resolve_import

ImportNode = ast.Import | ast.ImportFrom
_BODIES = ("body", "orelse", "finalbody")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(eq=False, slots=True)
class Site:
    """One import statement: where it stands, in which run of statements, and what it imports.

    `start` and `end` span the small statement; `line_end` is the end of its line, with a trailing
    comment. `target` is the absolute module of a `from` import, `None` for a plain one or one
    that climbs above the top. `guards` are the compound statements around it, outermost first.
    """

    node: ImportNode
    start: int
    end: int
    line_end: int
    indent: str
    alone: bool
    target: str | None
    block: Sequence[ast.stmt]
    guards: tuple[ast.AST, ...]

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def names(self) -> tuple[ImportedName, ...]:
        return tuple(ImportedName(alias.name, alias.asname) for alias in self.node.names)

    @property
    def is_from(self) -> bool:
        return isinstance(self.node, ast.ImportFrom)

    @property
    def is_star(self) -> bool:
        return self.is_from and self.node.names[0].name == "*"

    @property
    def is_relative(self) -> bool:
        return isinstance(self.node, ast.ImportFrom) and self.node.level > 0

    @property
    def is_local(self) -> bool:
        return any(isinstance(guard, _FUNCTIONS) for guard in self.guards)

    @property
    def is_type_checking(self) -> bool:
        return any(is_type_checking(guard) for guard in self.guards)

    @property
    def kind(self) -> str:
        """The word for this import in reports."""
        if self.is_star:
            return "star import"
        if self.is_type_checking:
            return "type-checking import"
        if self.is_local:
            return "local import"
        return "guarded import" if self.guards else "import"


def is_type_checking(node: ast.AST) -> bool:
    """Whether `node` is `if TYPE_CHECKING:`, however the constant is spelled, without an `else`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def find_sites(module: Module, package: str) -> list[Site]:
    """All import statements, in source order. `package` is where relative imports start."""
    return list(_walk(module, package, module.tree.body, ()))


def _walk(
    module: Module, package: str, body: Sequence[ast.stmt], guards: tuple[ast.AST, ...]
) -> Iterator[Site]:
    stack: list[Iterator[tuple[ast.stmt, Sequence[ast.stmt], tuple[ast.AST, ...]]]] = []
    stack.append(iter([(node, body, guards) for node in body]))
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
            continue
        node, block, around = item
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield _site(module, package, node, block, around)
            continue
        inside = (*around, node)
        children = [
            (child, suite, inside) for suite in suites(node) for child in suite
        ]  # in source order: a suite follows the other
        if children:
            stack.append(iter(children))


def suites(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """The statement lists of a compound statement, in source order."""
    body = getattr(node, "body", None)
    if isinstance(body, list):
        yield body
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body
    for name in _BODIES[1:]:
        suite = getattr(node, name, None)
        if suite:
            yield suite


def _site(
    module: Module,
    package: str,
    node: ImportNode,
    block: Sequence[ast.stmt],
    guards: tuple[ast.AST, ...],
) -> Site:
    start, end = module.span(node)
    line_start = module.line_start(start)
    line_end = module.line_end(end)
    before = module.text[line_start:start]
    behind = module.text[end:line_end].strip(" \t\f")
    alone = not before.strip(" \t\f") and (not behind or behind.startswith("#"))
    target = None
    if isinstance(node, ast.ImportFrom):
        target = resolve_import(package, node.level, node.module)
    indent = (
        before if not before.strip(" \t") else before[: len(before) - len(before.lstrip(" \t"))]
    )
    return Site(node, start, end, line_end, indent, alone, target, block, guards)


@dataclass(slots=True)
class _New:
    module: str | None
    names: list[ImportedName]
    comments: dict[ImportedName, NameComments]
    comment: str | None


@dataclass(slots=True)
class _Changes:
    removed: list[ImportedName] = field(default_factory=list)
    added: list[ImportedName] = field(default_factory=list)
    added_comments: dict[ImportedName, NameComments] = field(default_factory=dict)
    renamed: str | None = None
    respelled: str | None = None
    new: list[_New] = field(default_factory=list)


class ImportEditor:
    """Collects edits of the import statements of one module and renders them into `Edits`."""

    def __init__(self, module: Module, package: str, style: Callable[[], ImportStyle]) -> None:
        self.module = module
        self.package = package
        self._style = style  # asked for late: most files are read and never changed
        self.sites = find_sites(module, package)
        self.shrink: dict[int, Shrink] = {}  # by id of a site's node
        self.default_shrink = Shrink.COLLAPSE
        self.relayout: set[int] = set()  # sites laid out anew although they lose nothing
        self._changes: dict[int, _Changes] = {}

    @property
    def style(self) -> ImportStyle:
        return self._style()

    def statement(self, site: Site) -> ImportStatement:
        end = site.line_end if site.alone else site.end
        text = (
            self.module.text[site.start : end].rstrip(" \t\f")
            if site.alone
            else (self.module.text[site.start : end])
        )
        return ImportStatement.parse(
            text, newline=self.module.newline, indent=site.indent, style=self.style
        )

    def _of(self, site: Site) -> _Changes:
        return self._changes.setdefault(id(site.node), _Changes())

    def removed(self, site: Site) -> list[ImportedName]:
        changes = self._changes.get(id(site.node))
        return changes.removed if changes else []

    def is_emptied(self, site: Site) -> bool:
        """Whether every name has left the statement and none has come."""
        changes = self._changes.get(id(site.node))
        return bool(
            changes
            and len(changes.removed) == len(site.node.names)
            and not (changes.added or changes.new or changes.renamed)
        )

    def forget(self, sites: Sequence[Site]) -> None:
        """Drop what was collected for statements that go with the guard around them."""
        for site in sites:
            self._changes.pop(id(site.node), None)

    def remove(self, site: Site, name: ImportedName) -> None:
        removed = self._of(site).removed
        if name not in removed:
            removed.append(name)

    def add(
        self, site: Site, target: str, spelled: str, name: ImportedName, origin: Site | None
    ) -> None:
        """Import `name` from `target` in the run of `site`: in a statement that imports from there,
        or in a new one right behind `site`. `origin` is the statement that the name leaves."""
        comments = self.statement(origin).removed_comments([name]) if origin else {}
        existing = self.existing(site, target)
        if existing is not None:
            changes = self._of(existing)
            if name in existing.names and name not in changes.removed:
                return
            if name not in changes.added:
                changes.added.append(name)
                changes.added_comments.update(comments)
            return
        changes = self._of(site)
        pragma = self.statement(origin).pragma if origin else None
        for new in changes.new:
            if new.module == spelled and name.name != "*":
                if name not in new.names:
                    new.names.append(name)
                    new.comments.update(comments)
                    new.comment = new.comment or pragma
                return
        changes.new.append(_New(spelled, [name], dict(comments), pragma))

    def add_plain(self, site: Site, name: ImportedName) -> None:
        """`import NAME` behind `site`, unless its run has it."""
        for other in self.sites:
            if other.block is site.block and not other.is_from and name in other.names:
                if name not in self.removed(other):
                    return
        new = self._of(site).new
        if not any(item.module is None and name in item.names for item in new):
            new.append(_New(None, [name], {}, None))

    def rename(self, site: Site, spelled: str) -> None:
        """The whole statement imports from another module: its layout and comments stay."""
        self._of(site).renamed = spelled

    def respell(self, site: Site, spelled: str) -> None:
        """The statement names its module otherwise; names may leave it all the same."""
        self._of(site).respelled = spelled

    def existing(self, site: Site, target: str) -> Site | None:
        """A statement of the same run that imports names from `target`."""
        if self.style.one_name_per_statement:
            return None
        block = list(site.block)
        here = block.index(site.node)
        for other in self.sites:
            if other.block is not site.block or other.target != target or other.is_star:
                continue
            if other is site or (self._changes.get(id(other.node)) or _Changes()).renamed:
                continue
            if self.is_emptied(other):
                continue
            there = block.index(other.node)
            between = block[min(here, there) + 1 : max(here, there)]
            if there < here or all(
                isinstance(node, (ast.Import, ast.ImportFrom)) for node in between
            ):
                return other
        return None

    def finish(self, edits: Edits) -> None:
        """Render every changed statement. Statements that lost all names are deleted."""
        for site in self.sites:
            changes = self._changes.get(id(site.node))
            if changes is not None or id(site.node) in self.relayout:
                self._render(site, changes or _Changes(), edits)

    def _render(self, site: Site, changes: _Changes, edits: Edits) -> None:
        lines = [text for text in [self._remaining(site, changes)] if text is not None]
        for new in sorted(changes.new, key=lambda item: (item.module or "", item.names[0].name)):
            lines.append(self._new(site, new))
        if lines:
            joint = self.module.newline + site.indent if site.alone else "; "
            edits.replace(site.start, self._end(site), joint.join(lines))
        elif site.alone and not self._is_sole(site):
            edits.delete_lines(
                self.module.line_start(site.start), self.module.after_line(site.line_end)
            )
        elif self._is_sole(site):
            edits.replace(site.start, site.end, "pass")
        else:
            self._delete_small(site, edits)

    def _end(self, site: Site) -> int:
        if not site.alone:
            return site.end
        text = self.module.text[site.start : site.line_end]
        return site.start + len(text.rstrip(" \t\f"))

    def _remaining(self, site: Site, changes: _Changes) -> str | None:
        text = self.module.text[site.start : self._end(site)]
        untouched = not (changes.removed or changes.added or changes.renamed or changes.respelled)
        if untouched and id(site.node) not in self.relayout:
            return text
        statement = self.statement(site)
        shrink = self.shrink.get(id(site.node), self.default_shrink)
        if changes.renamed is not None:
            return statement.renamed(changes.renamed)
        if len(changes.removed) == len(site.node.names) and not changes.added:
            return None
        if changes.added:
            text = statement.with_names(changes.added, comments=changes.added_comments)
            statement = ImportStatement.parse(
                text, newline=self.module.newline, indent=site.indent, style=self.style
            )
        if changes.removed or id(site.node) in self.relayout:
            text = statement.without(changes.removed, shrink) or ""
        if changes.respelled:
            statement = ImportStatement.parse(
                text, newline=self.module.newline, indent=site.indent, style=self.style
            )
            text = statement.renamed(changes.respelled)
        return text

    def _new(self, site: Site, new: _New) -> str:
        return render_import(
            new.module,
            new.names,
            style=self.style,
            indent=site.indent,
            newline=self.module.newline,
            comment=new.comment,
            comments=new.comments,
        )

    def _is_sole(self, site: Site) -> bool:
        """Whether the deleted statement would leave its suite without any statement."""
        if not site.guards:
            return False
        return (
            all(
                isinstance(node, (ast.Import, ast.ImportFrom))
                and (node is site.node or self._is_gone(node))
                for node in site.block
            )
            and site.node is site.block[-1]
        )

    def _is_gone(self, node: ImportNode) -> bool:
        return any(other.node is node and self.is_emptied(other) for other in self.sites)

    def _delete_small(self, site: Site, edits: Edits) -> None:
        """Take one statement out of a line of several."""
        text, start, end = self.module.text, site.start, site.end
        behind = end + len(text[end : site.line_end]) - len(text[end : site.line_end].lstrip(" \t"))
        if text[behind : behind + 1] == ";":
            behind += 1
            while text[behind : behind + 1] in (" ", "\t"):
                behind += 1
            if text[behind : site.line_end].strip() and not text[behind:].startswith("#"):
                edits.replace(start, behind, "")
                return
        before = text[self.module.line_start(start) : start].rstrip(" \t")
        cut = self.module.line_start(start) + len(before)
        edits.replace(cut - 1 if before.endswith(";") else cut, end, "")
