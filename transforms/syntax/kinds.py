"""What kind of statement one is, where several rooms ask it."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def is_string(node: ast.stmt) -> bool:
    """A statement that is only a string: a docstring, or one in mid-file."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_future(node: ast.stmt) -> bool:
    """A `__future__` import."""
    return isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == "__future__"


def postpones_annotations(node: ast.stmt) -> bool:
    """A `__future__` import that postpones the annotations of its whole module."""
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


def is_main_guard(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and any(
            isinstance(side, ast.Name) and side.id == "__name__"
            for side in (node.test.left, *node.test.comparators)
        )
    )


def statements_inside(node: ast.If | ast.Try | ast.With) -> Iterator[ast.stmt]:
    """List the statements of all branches of a guard, those of its handlers as well."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler):
            yield from child.body
