"""Import statements found in a module: their texts, their runs, and where a new one goes.

A run is a sequence of import statements with nothing else between them; blank lines divide it
into groups, as the sections of isort do.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from transforms.import_order import Key, is_sorted, natural
from transforms.import_types import ImportStyle, StatementOrder

ImportNode = ast.Import | ast.ImportFrom

_LINE_END = re.compile(r"\r\n|\r|\n")
SECTION_COMMENT = re.compile(
    r"#.*\b(standard|stdlib|built-?ins?|python|third|3rd|external|first|local|own|project|internal"
    r"|library|libraries|imports?|packages|modules)\b",
    re.IGNORECASE,
)
_ORDERS: tuple[StatementOrder, ...] = ("straight first", "from first", "by module")

# Where interpreters differ, a module counts as standard if any of 3.10 to 3.14 has it, so that the
# result does not depend on the interpreter that runs Repot.
_SOMETIMES_STANDARD = frozenset(
    {"aifc", "annotationlib", "asynchat", "asyncore", "audioop", "binhex", "cgi", "cgitb", "chunk"}
    | {"compression", "crypt", "distutils", "imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis"}
    | {"nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau", "telnetlib"}
    | {"tomllib", "uu", "xdrlib"}
)
STANDARD_LIBRARY = frozenset(sys.stdlib_module_names) | _SOMETIMES_STANDARD


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


class Lines:
    """A text by 1-based lines, as the tokenizer counts them, and `ast` positions in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def __len__(self) -> int:
        return len(self._starts)

    def start(self, line: int) -> int:
        """The offset of a line; the text's length for lines behind the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line(self, line: int) -> str:
        """A line without its end."""
        return self.text[self.start(line) : self.start(line + 1)].rstrip("\r\n")

    def is_blank(self, line: int) -> bool:
        """Whether a line holds nothing but blanks."""
        return not self.line(line).strip(" \t\f")

    def is_continued(self, line: int) -> bool:
        """Whether a line goes on after a backslash behind a statement."""
        text = self.line(line)
        return text.endswith("\\") and "#" not in text

    def offset(self, line: int, column: int) -> int:
        """The offset of a 1-based line and a column in UTF-8 bytes."""
        row = self.line(line)
        if not row.isascii():
            column = len(row.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))
        return self.start(line) + column


def import_nodes(tree: ast.Module) -> Iterator[ImportNode]:
    """Every import statement of a module, wherever it stands, in source order."""
    found: list[ImportNode] = []
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(node, name, None)
            if isinstance(children, list):
                stack += children
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))


def statement_text(lines: Lines, node: ImportNode) -> tuple[str, str]:
    """A statement's text with its trailing comment, and its indentation."""
    start = lines.offset(node.lineno, node.col_offset)
    last = node.end_lineno or node.lineno
    end = lines.offset(last, node.end_col_offset or 0)
    rest = lines.text[end : lines.start(last) + len(lines.line(last))]
    if rest.lstrip(" \t\f").startswith("#"):
        end += len(rest.rstrip(" \t\f"))
    before = lines.text[lines.start(node.lineno) : start]
    return lines.text[start:end], before if not before.strip(" \t\f") else ""


def module_of(node: ImportNode) -> str:
    """The module that a statement imports from, with its dots; the first of a plain import."""
    if isinstance(node, ast.ImportFrom):
        return "." * node.level + (node.module or "")
    return node.names[0].name


def section_of(module: str, first_party: Collection[str] = ()) -> int:
    """0 `__future__`, 1 standard library, 2 third party, 3 first party, 4 relative."""
    if module.startswith("."):
        return 4
    root = module.partition(".")[0]
    if root == "__future__":
        return 0
    if root in STANDARD_LIBRARY:
        return 1
    return 3 if root in first_party else 2


def statement_key(module: str, *, plain: bool, order: StatementOrder, ignore_case: bool) -> Key:
    """The sort key of a statement among those of its section."""
    dots = len(module) - len(module.lstrip("."))
    # isort and Ruff put `..a` before `.a`, and these before what is absolute.
    spelled = f"{module[:dots]}_{module[dots:]}" if dots else module
    by_name = (natural(spelled.lower() if ignore_case else spelled), spelled)
    if order == "by module":
        return (by_name, not plain)
    return (plain == (order == "from first"), by_name)


@dataclass(frozen=True, slots=True)
class Sorting:
    """An order of statements: the words of `ImportStyle`, and what comes first in the key."""

    order: StatementOrder
    ignore_case: bool
    first: Callable[[str], int]

    def key(self, module: str, *, plain: bool) -> Key:
        """The sort key of a statement that imports from `module` (imports it, if `plain`)."""
        rest = statement_key(module, plain=plain, order=self.order, ignore_case=self.ignore_case)
        return (self.first(module), *rest)

    def is_followed(self, statements: Sequence[tuple[str, bool]]) -> bool:
        """Whether statements, each a module and whether it is a plain import, stand in order."""
        return is_sorted([self.key(module, plain=plain) for module, plain in statements])


def sorting_of(statements: Sequence[tuple[str, bool]], style: ImportStyle) -> Sorting | None:
    """The order that statements follow, the style's own if they do; None if they follow none.

    Each is a module as spelled and whether it is a plain import. In a group without blank lines
    relative imports may come last, or one section after the other.
    """
    wanted = (style.statement_order, style.ignore_module_case)
    orders = sorted(
        ((order, ignore) for order in _ORDERS for ignore in (True, False)),
        key=lambda item: item != wanted,
    )
    for first in (_is_relative, _nothing, section_of):
        for order, ignore in orders:
            sorting = Sorting(order, ignore, first)
            if sorting.is_followed(statements):
                return sorting
    return None


def orders_followed(nodes: Sequence[ImportNode]) -> list[tuple[StatementOrder, bool]]:
    """The orders (and whether they ignore case) in which the statements are sorted."""
    statements = spelled(nodes)
    return [
        (order, ignore_case)
        for order in _ORDERS
        for ignore_case in (True, False)
        if Sorting(order, ignore_case, _nothing).is_followed(statements)
    ]


def spelled(nodes: Sequence[ImportNode]) -> list[tuple[str, bool]]:
    """Each statement's module as spelled, and whether it is a plain import."""
    return [(module_of(node), isinstance(node, ast.Import)) for node in nodes]


def _is_relative(module: str) -> int:
    return int(module.startswith("."))


def _nothing(module: str) -> int:
    return 0


def runs(block: Sequence[ast.stmt]) -> list[list[ImportNode]]:
    """The runs of import statements of a block, `__future__` left out."""
    found: list[list[ImportNode]] = [[]]
    for node in block:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append([])
        elif module_of(node) != "__future__":
            found[-1].append(node)
    return [run for run in found if run]


def groups(lines: Lines, run: Sequence[ImportNode]) -> list[list[ImportNode]]:
    """A run divided at its blank lines."""
    found = [[run[0]]]
    for before, node in pairwise(run):
        between = range((before.end_lineno or before.lineno) + 1, node.lineno)
        if any(lines.is_blank(line) for line in between):
            found.append([])
        found[-1].append(node)
    return found


def insertion_point(
    text: str,
    tree: ast.Module,
    module: str,
    style: ImportStyle,
    *,
    block: Sequence[ast.stmt] | None = None,
    plain: bool = False,
    first_party: Collection[str] = (),
) -> Insertion:
    """Where a new `from MODULE import ...` (`import MODULE` if `plain`) goes when nothing sorts.

    `module` is as it will be spelled, with leading dots. `block` is the statement list it goes
    into (default: the module's own). In a group that is sorted it goes to its sorted place;
    otherwise behind the last statement of its section; otherwise to the end of the run.
    `first_party` holds the top-level names that are the project's own.
    """
    lines = Lines(text)
    body = tree.body if block is None else block
    candidates = _head_runs(body) or runs(body)
    if not candidates:
        return _after_header(lines, body)
    seeker = _Seeker(lines, body, module, style, plain, first_party)
    run = max(candidates, key=lambda run: max(seeker.likeness(node) for node in run))
    return seeker.place(groups(lines, run))


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
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass))


def _after_header(lines: Lines, body: Sequence[ast.stmt]) -> Insertion:
    """Behind the docstring and `__future__` imports of a block that imports nothing else."""
    last: ast.stmt | None = None
    for number, node in enumerate(body):
        docstring = number == 0 and _is_head(node) and isinstance(node, ast.Expr)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (docstring or future):
            break
        last = node
    after = body[body.index(last) + 1 :] if last is not None else body
    top = bool(body) and body[0].col_offset == 0
    gap = (2 if after and hasattr(after[0], "body") else 1) if top else 0
    if last is not None:
        line = (last.end_lineno or last.lineno) + 1
        present = line
        while present <= len(lines) and lines.is_blank(present):
            present += 1
        return Insertion(lines.start(line), line, 1, max(gap - (present - line), 0))
    line = _first_line(after[0]) if after else 1
    while line > 1 and lines.line(line - 1).lstrip(" \t").startswith("#") and after and not top:
        line -= 1
    return Insertion(lines.start(line), line, 0, gap if after else 0)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min(node.lineno, *(int(item.lineno) for item in decorators), node.lineno)


@dataclass(frozen=True, slots=True)
class _Seeker:
    """Looks for the place of one new statement."""

    lines: Lines
    body: Sequence[ast.stmt]
    module: str
    style: ImportStyle
    plain: bool
    first_party: Collection[str]

    def section(self, module: str) -> int:
        return section_of(module, self.first_party)

    def likeness(self, node: ImportNode) -> tuple[int, int]:
        """How near a statement is: leading parts of the module shared, then the same section."""
        other = module_of(node)
        same = int(self.section(other) == self.section(self.module))
        if other.startswith(".") != self.module.startswith("."):
            return (0, 0)
        shared = int(self.module.startswith("."))
        for mine, its in zip(
            self.module.lstrip(".").split("."), other.lstrip(".").split("."), strict=False
        ):
            if mine != its:
                break
            shared += 1
        return (shared, same)

    def place(self, found: Sequence[Sequence[ImportNode]]) -> Insertion:
        near = [max(self.likeness(node) for node in group) for group in found]
        best = max(near)
        mine = self.section(self.module)
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
        return Insertion(self.lines.start(line), line, 0, self.style.section_gap)

    def _within(self, group: Sequence[ImportNode]) -> Insertion:
        sorting = sorting_of(spelled(group), self.style)
        if sorting is not None and (len(group) > 1 or self.style.sorted_statements):
            new = sorting.key(self.module, plain=self.plain)
            keys = [sorting.key(module, plain=plain) for module, plain in spelled(group)]
            behind = [node for node, key in zip(group, keys, strict=True) if key <= new]
            if behind:
                return self._behind(behind[-1])
            line = self._comment_start(group[0], heads_group=len(group) > 1)
            return Insertion(self.lines.start(line), line)
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
        while line <= len(self.lines) and self.lines.is_continued(line - 1):
            line += 1
        return Insertion(self.lines.start(line), line, before, after)

    def _comment_start(self, node: ast.stmt, *, heads_group: bool) -> int:
        """The line where a statement begins with its comments; a section's heading stays above."""
        line = node.lineno
        for other in self.body:  # one that ends on the same line, before a semicolon
            if other.lineno < line <= (other.end_lineno or other.lineno):
                line = other.lineno
        while line > 1 and self.lines.line(line - 1).lstrip(" \t\f").startswith("#"):
            if line - 1 == 1 and self.lines.line(1).startswith("#!"):
                break
            if heads_group and SECTION_COMMENT.search(self.lines.line(line - 1)):
                break
            line -= 1
        return line
