"""Where an import goes when nothing sorts afterwards.

At the head of a module (`Head`), beside the import that makes it necessary, or, once it names
another module, to another place in its group (`Run`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from transforms.imports.names import ImportStyle
from transforms.imports.order import (
    STANDARD_LIBRARY,
    Key,
    orders_followed,
    section_of,
    sorting_of,
    statement_key,
)
from transforms.imports.runs import groups, module_of, runs, spelled
from transforms.source.imports import ImportNode, Site
from transforms.source.module import Module, first_line
from transforms.syntax.kinds import is_future, is_string

_GUARDS = (ast.If, ast.Try)
_IMPORTS = (ast.Import, ast.ImportFrom)
_HEADING = re.compile(
    r"#.*\b(standard|stdlib|built-?ins?|python|third|3rd|external|first|local|own|project|internal"
    r"|library|libraries|imports?|packages|modules)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Insertion:
    """Where a new statement goes: before the 1-based `line`, which begins at `offset`.

    `line` may be one past the last, and then the text may lack a line end. `blank_before` and
    `blank_after` are the blank lines to put between the new statement and what stands before and
    after it, beyond those that are there.
    """

    offset: int
    line: int
    blank_before: int = 0
    blank_after: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Right below `site`, or above it; with an `offset`, at the start of the line there."""

    site: Site
    above: bool = False
    offset: int | None = None


class Head:
    """What stands above a module's first definition.

    A statement that acts (`sys.path.insert(...)`, `os.environ[...] = ...`) divides the imports into
    sections: what it prepares is imported below it.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.statements = module.statements

    @cached_property
    def imports(self) -> list[ast.stmt]:
        """The unguarded imports before the first statement that is none."""
        nodes: list[ast.stmt] = []
        for statement in self.statements:
            node = statement.node
            if statement.is_import:
                if not is_future(node):
                    nodes.append(node)
            elif not (is_string(node) or holds_only_imports(node)) and nodes:
                break
        return nodes

    @cached_property
    def end(self) -> int:
        """The offset of the line after the docstring, `__future__` imports and import block."""
        end = self.header_end
        for statement in self.statements:
            if statement.is_import or holds_only_imports(statement.node):
                end = max(end, self.module.after_line(statement.end))
            elif not is_string(statement.node):
                break
        return end

    @cached_property
    def header_end(self) -> int:
        """The offset of the line after leading comments, docstring and `__future__` imports."""
        end = 0
        for statement in self.statements:
            node = statement.node
            if not (is_future(node) or (statement.index == 0 and is_string(node))):
                break
            end = self.module.after_line(statement.end)
        if end:
            return end
        limit = self.statements[0].block_start if self.statements else len(self.module.text)
        above = self.module.text[:limit]
        if not above.strip():
            return 0
        if not self.module.blank_lines_before(limit) and self.statements:
            return limit  # comments of the file that touch its first statement
        return self.module.after_line(len(above.rstrip(" \t\f\r\n")) - 1)

    def place(
        self,
        name: str,
        style: ImportStyle,
        first_party: Collection[str],
        *,
        plain: bool,
        before: int | None,
    ) -> Insertion:
        """Where a new import goes; `before`: the offset of what needs it first."""
        return insertion_point(
            self.module,
            name,
            style,
            block=self._section(name, before),
            plain=plain,
            first_party=first_party,
        )

    def last_import(self, name: str, before: int | None) -> ast.stmt | None:
        """The import behind which a formatter will sort a new one into its section."""
        block = self._section(name, before)
        nodes = self.imports if block is None else [n for n in block if isinstance(n, _IMPORTS)]
        return next((node for node in reversed(nodes) if not is_future(node)), None)

    def _section(self, name: str, before: int | None) -> Sequence[ast.stmt] | None:
        """The part of the head in which an import belongs; None if the head is not divided."""
        sections = [
            section
            for section in self._sections
            if before is None or self.module.span(section[0])[0] < before
        ]
        if len(self._sections) < 2 or not sections:
            return None
        shared = [max(_parts_shared(name, node) for node in section) for section in sections]
        if max(shared):
            return sections[len(shared) - 1 - shared[::-1].index(max(shared))]
        return sections[0] if name.partition(".")[0] in STANDARD_LIBRARY else sections[-1]

    @cached_property
    def _sections(self) -> list[list[ast.stmt]]:
        """The head divided at statements that act; parts without an import are left out."""
        found: list[list[ast.stmt]] = [[]]
        for statement in self.statements:
            if statement.is_definition:
                break
            if _acts(statement.node):
                found.append([])
            else:
                found[-1].append(statement.node)
        return [
            section
            for section in found
            if any(isinstance(node, _IMPORTS) and not is_future(node) for node in section)
        ]


def holds_only_imports(node: ast.stmt) -> bool:
    """Whether a statement is a guard of imports."""
    return isinstance(node, _GUARDS) and all(
        isinstance(child, (*_IMPORTS, ast.Pass)) for child in node.body
    )


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets)
    if isinstance(node, _GUARDS):
        inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt)]
        return any(_acts(child) for child in inner if not isinstance(child, _GUARDS))
    return isinstance(
        node, (ast.Delete, ast.AugAssign, ast.For, ast.While, ast.With, ast.Assert, ast.Raise)
    )


def insertion_point(
    module: Module,
    name: str,
    style: ImportStyle,
    *,
    block: Sequence[ast.stmt] | None = None,
    plain: bool = False,
    first_party: Collection[str] = (),
) -> Insertion:
    """Where a new `from NAME import ...` (`import NAME` if `plain`) goes when nothing sorts.

    `name` is the module as it will be spelled, with leading dots. `block` is the statement list
    it goes into (default: the module's own). In a group that is sorted it goes to its sorted place;
    otherwise behind the last statement of its section; otherwise to the end of the run.
    `first_party` holds the top-level names that are the project's own.
    """
    body = module.tree.body if block is None else block
    candidates = _head_runs(body) or runs(body)
    if not candidates:
        return _after_header(module, body)
    seeker = _Seeker(module, body, name, style, plain, first_party)
    run = max(candidates, key=lambda run: max(seeker.likeness(node) for node in run))
    return seeker.place(groups(module, run))


def _head_runs(body: Sequence[ast.stmt]) -> list[list[ImportNode]]:
    """The runs before the first statement that is neither import, string nor guarded import."""
    head: list[ast.stmt] = []
    for node in body:
        inside = node.body if isinstance(node, (ast.If, ast.Try, ast.With)) else [node]
        if not all(_is_head(child) for child in inside):
            break
        head.append(node)
    return runs(head)


def _is_head(node: ast.stmt) -> bool:
    return _is_constant(node) or isinstance(node, (*_IMPORTS, ast.Pass))


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _after_header(module: Module, body: Sequence[ast.stmt]) -> Insertion:
    """Behind the docstring and `__future__` imports of a block that imports nothing else."""
    last: ast.stmt | None = None
    for number, node in enumerate(body):
        if not ((number == 0 and _is_constant(node)) or is_future(node)):
            break
        last = node
    after = body[body.index(last) + 1 :] if last is not None else body
    top = bool(body) and body[0].col_offset == 0
    gap = (2 if after and hasattr(after[0], "body") else 1) if top else 0
    if last is not None:
        line = (last.end_lineno or last.lineno) + 1
        present = line
        while present <= len(module.line_starts) and not module.line_text(present).strip(" \t\f"):
            present += 1
        return Insertion(_start(module, line), line, 1, max(gap - (present - line), 0))
    line = first_line(after[0]) if after else 1
    while line > 1 and _is_comment(module, line - 1) and after and not top:
        line -= 1
    return Insertion(_start(module, line), line, 0, gap if after else 0)


def _start(module: Module, line: int) -> int:
    """The offset of a line; the text's length for the line behind the last."""
    starts = module.line_starts
    return starts[line - 1] if line <= len(starts) else len(module.text)


def _is_comment(module: Module, line: int) -> bool:
    return module.line_text(line).lstrip(" \t\f").startswith("#")


def _with_comments(module: Module, line: int, *, heads_group: bool) -> int:
    """The line where a statement on `line` begins with its comments; a heading stays above.

    So does a shebang. `heads_group`: the statement is the first of several.
    """
    while line > 1 and _is_comment(module, line - 1):
        above = module.line_text(line - 1)
        if (line == 2 and above.startswith("#!")) or (heads_group and is_heading(above)):
            break
        line -= 1
    return line


def _parts_shared(name: str, node: ast.stmt) -> int:
    """How many leading parts of its module an import shares with a new one; its dots are one."""
    if not isinstance(node, _IMPORTS) or is_future(node):
        return 0
    other = module_of(node)
    if name.startswith(".") != other.startswith("."):
        return 0
    count = int(name.startswith("."))
    for mine, its in zip(name.lstrip(".").split("."), other.lstrip(".").split("."), strict=False):
        if mine != its:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class _Seeker:
    """Looks for the place of one new statement, which imports from `name`."""

    module: Module
    body: Sequence[ast.stmt]
    name: str
    style: ImportStyle
    plain: bool
    first_party: Collection[str]

    def section(self, module: str) -> int:
        return section_of(module, self.first_party)

    def likeness(self, node: ImportNode) -> tuple[int, int]:
        """How near a statement is: leading parts of the module shared, then the same section."""
        other = module_of(node)
        if other.startswith(".") != self.name.startswith("."):
            return (0, 0)
        same = int(self.section(other) == self.section(self.name))
        return (_parts_shared(self.name, node), same)

    def place(self, found: Sequence[Sequence[ImportNode]]) -> Insertion:
        near = [max(self.likeness(node) for node in group) for group in found]
        best = max(near)
        mine = self.section(self.name)
        if best == (0, 1) and mine == 2:
            # Not of a package that the file imports already: third party goes before first party.
            return self._within(found[near.index(best)])
        if best > (0, 0):
            return self._within(found[len(near) - 1 - near[::-1].index(best)])
        sections = [max(self.section(module_of(node)) for node in group) for group in found]
        if len(found) == 1 and len({self.section(module_of(node)) for node in found[0]}) > 1:
            return self._within(found[0])  # a file that does not divide its imports
        earlier = [n for n, section in enumerate(sections) if section < mine]
        if earlier:
            return self._behind(found[earlier[-1]][-1], self.style.section_gap, 0)
        first = found[0][0]
        line = self._comment_start(first, heads_group=False)
        return Insertion(_start(self.module, line), line, 0, self.style.section_gap)

    def _within(self, group: Sequence[ImportNode]) -> Insertion:
        sorting = sorting_of(spelled(group), self.style)
        if sorting is not None and (len(group) > 1 or self.style.sorted_statements):
            new = sorting.key(self.name, plain=self.plain)
            keys = [sorting.key(module, plain=plain) for module, plain in spelled(group)]
            behind = [node for node, key in zip(group, keys, strict=True) if key <= new]
            if behind:
                return self._behind(behind[-1])
            line = self._comment_start(group[0], heads_group=len(group) > 1)
            return Insertion(_start(self.module, line), line)
        near = [self.likeness(node) for node in group]
        best = max(near)
        if best == (0, 0):
            return self._behind(group[-1])
        return self._behind(group[len(near) - 1 - near[::-1].index(best)])

    def _behind(self, node: ast.stmt, before: int = 0, after: int = 0) -> Insertion:
        line = (node.end_lineno or node.lineno) + 1
        for other in self.body:  # those behind a semicolon may be longer
            if other.lineno < line <= (other.end_lineno or other.lineno):
                line = (other.end_lineno or other.lineno) + 1
        while line <= len(self.module.line_starts) and _is_continued(self.module, line - 1):
            line += 1
        return Insertion(_start(self.module, line), line, before, after)

    def _comment_start(self, node: ast.stmt, *, heads_group: bool) -> int:
        """The line where a statement begins with its comments; a section's heading stays above."""
        line = node.lineno
        for other in self.body:  # one that ends on the same line, before a semicolon
            if other.lineno < line <= (other.end_lineno or other.lineno):
                line = other.lineno
        return _with_comments(self.module, line, heads_group=heads_group)


def _is_continued(module: Module, line: int) -> bool:
    """Whether a line goes on after a backslash behind a statement."""
    text = module.line_text(line)
    return text.endswith("\\") and "#" not in text


@dataclass(frozen=True, slots=True)
class Run:
    """The import statements of one block, and what each will import from (None: no change)."""

    module: Module
    sites: Sequence[Site]
    spelled: Callable[[Site], str | None]
    style: ImportStyle

    def place_beside(self, site: Site, name: str, *, plain: bool, first: str = "") -> Place:
        """Where an import of `name` (`import name` if `plain`) goes that `site` makes necessary.

        `first` is the first name that it takes: it orders statements that share a module.

        In a group of statements that is sorted it goes to its sorted place; in any other right
        below `site`.
        """
        group = self._group(site)
        key = self._order_of(group)
        if key is None or (len(group) == 1 and not self.style.sorted_statements):
            return Place(site)
        before = self._before(group, key, key(name, plain), first)
        return Place(before[-1]) if before else self._above(group)

    def new_place(self, site: Site, name: str) -> Place | None:
        """Where the statement at `site` goes once it imports from `name`; None if it may stay."""
        group = self._group(site)
        key = self._order_of(group)
        others = [m for m in group if m is not site and self.spelled(m) is None]
        if key is None or not others:
            return None
        if module_of(site.node).startswith(".") != name.startswith("."):
            return None  # another section, which a sorted group does not hold
        if site.line > 1 and _is_comment(self.module, site.line - 1):
            return None  # its comment would come to stand above another
        first = site.names[0].name if len(site.names) == 1 else ""
        rank = len(self._before(others, key, key(name, False), first))
        if rank == sum(m in others for m in group[: group.index(site)]):
            return None
        return Place(others[rank - 1]) if rank else self._above(others)

    def _order_of(self, group: Sequence[Site]) -> Callable[[str, bool], Key] | None:
        """The key that a group is sorted by, of a module and whether it is a plain import."""
        orders = orders_followed(spelled([member.node for member in group]))
        if not orders or not all(member.alone for member in group):
            return None
        wanted = (self.style.statement_order, self.style.ignore_module_case)
        order, ignore = wanted if wanted in orders else orders[0]
        return lambda name, plain: statement_key(name, plain=plain, order=order, ignore_case=ignore)

    def _before(
        self, group: Sequence[Site], key: Callable[[str, bool], Key], new: Key, first: str
    ) -> list[Site]:
        """The statements of a sorted group that stand before a new one."""
        keys = [key(self.spelled(m) or module_of(m.node), not m.is_from) for m in group]
        return [
            member
            for member, its in zip(group, keys, strict=True)
            if its < new or (its == new and not _comes_first(first, member))
        ]

    def _group(self, site: Site) -> list[Site]:
        """The statements around `site` that no other statement and no blank line divides off."""
        by_node: dict[ast.stmt, Site] = {member.node: member for member in self.sites}
        block = list(site.block)
        start = stop = block.index(site.node)
        while start > 0 and block[start - 1] in by_node:
            start -= 1
        while stop + 1 < len(block) and block[stop + 1] in by_node:
            stop += 1
        nodes = [by_node[node].node for node in block[start : stop + 1]]
        group = next(group for group in groups(self.module, nodes) if site.node in group)
        return [by_node[node] for node in group]

    def _above(self, group: Sequence[Site]) -> Place:
        """Above the first statement and the comment that speaks of it, below a heading."""
        first = group[0]
        line = _with_comments(self.module, first.line, heads_group=len(group) > 1)
        if line in (1, first.line):  # a comment that heads the file stays its head
            return Place(first, above=True)
        return Place(first, above=True, offset=self.module.line_starts[line - 1])


def _comes_first(name: str, site: Site) -> bool:
    """Whether `name` stands before the names of a statement of the same module."""
    return bool(name) and len(site.names) == 1 and name.lower() < site.names[0].name.lower()


def is_heading(comment: str) -> bool:
    """Whether a comment heads a section of imports: `# third party`, `# local imports`."""
    return _HEADING.search(comment) is not None
