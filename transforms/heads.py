"""The head of a module: where its header ends, where its imports stand, where a new one goes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import cached_property

from transforms.import_runs import STANDARD_LIBRARY, Insertion, insertion_point, module_of
from transforms.import_types import ImportStyle
from transforms.kinds import is_future, is_string
from transforms.module import Module

_GUARDS = (ast.If, ast.Try)
_IMPORTS = (ast.Import, ast.ImportFrom)


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
        spelled: str,
        style: ImportStyle,
        first_party: Collection[str],
        *,
        plain: bool,
        before: int | None,
    ) -> Insertion:
        """Where a new import goes; `before`: the offset of what needs it first."""
        return insertion_point(
            self.module.text,
            self.module.tree,
            spelled,
            style,
            block=self._section(spelled, before),
            plain=plain,
            first_party=first_party,
        )

    def last_import(self, spelled: str, before: int | None) -> ast.stmt | None:
        """The import behind which a formatter will sort a new one into its section."""
        block = self._section(spelled, before)
        nodes = self.imports if block is None else [n for n in block if isinstance(n, _IMPORTS)]
        return next((node for node in reversed(nodes) if not is_future(node)), None)

    def _section(self, spelled: str, before: int | None) -> Sequence[ast.stmt] | None:
        """The part of the head in which an import belongs; None if the head is not divided."""
        sections = [
            section
            for section in self._sections
            if before is None or self.module.span(section[0])[0] < before
        ]
        if len(self._sections) < 2 or not sections:
            return None
        shared = [max(_shared(spelled, node) for node in section) for section in sections]
        if max(shared):
            return sections[len(shared) - 1 - shared[::-1].index(max(shared))]
        return sections[0] if spelled.partition(".")[0] in STANDARD_LIBRARY else sections[-1]

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


def _shared(spelled: str, node: ast.stmt) -> int:
    """How many leading parts of its module an import shares with a new one."""
    if not isinstance(node, _IMPORTS) or is_future(node):
        return 0
    other = module_of(node)
    if spelled.startswith(".") != other.startswith("."):
        return 0
    count = int(spelled.startswith("."))
    for mine, its in zip(
        spelled.lstrip(".").split("."), other.lstrip(".").split("."), strict=False
    ):
        if mine != its:
            break
        count += 1
    return count
