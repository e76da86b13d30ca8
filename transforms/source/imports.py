"""Every import statement of a module, wherever it stands.

`transforms.imports.editor` edits them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transforms.source.module import Module
from transforms.tree.names import resolve_import

ImportNode = ast.Import | ast.ImportFrom
_BODIES = ("body", "orelse", "finalbody")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name as `ast` spells it: `a.b.c` for plain imports, `*` for a star, NFKC-normalized."""

    name: str
    asname: str | None = None

    def __str__(self) -> str:
        return self.name if self.asname is None else f"{self.name} as {self.asname}"


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
        """The 1-based line."""
        return self.node.lineno

    @property
    def names(self) -> tuple[ImportedName, ...]:
        """The names, in order."""
        return tuple(ImportedName(alias.name, alias.asname) for alias in self.node.names)

    @property
    def is_from(self) -> bool:
        """Whether it is `from m import ...`."""
        return isinstance(self.node, ast.ImportFrom)

    @property
    def is_star(self) -> bool:
        """Whether it is `from m import *`."""
        return self.is_from and self.node.names[0].name == "*"

    @property
    def is_relative(self) -> bool:
        """Whether it starts with dots."""
        return isinstance(self.node, ast.ImportFrom) and self.node.level > 0

    @property
    def is_local(self) -> bool:
        """Whether it stands in a function or class."""
        return any(isinstance(guard, _FUNCTIONS) for guard in self.guards)

    @property
    def is_type_checking(self) -> bool:
        """Whether only type checkers run it."""
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
    return isinstance(node, ast.If) and not node.orelse and _asks_for_checkers(node.test)


def _asks_for_checkers(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def checkers_run(node: ast.stmt, part: ast.stmt) -> bool:
    """Whether a statement inside another stands where only type checkers come; an `else` is not."""
    if not isinstance(node, ast.If) or not _asks_for_checkers(node.test):
        return False
    return any(child is part for statement in node.body for child in ast.walk(statement))


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
