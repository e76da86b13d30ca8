"""What the statements of a module define: the names, without those that imports bring."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from transforms.syntax.kinds import statements_inside


def defined_names(*statements: ast.stmt) -> Iterator[str]:
    """Give the names that definitions and assignments bind, guards included, in their order."""
    waiting = list(reversed(statements))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (t.id for t in ast.walk(target) if isinstance(t, ast.Name))
        elif isinstance(node, (ast.If, ast.Try)):
            waiting += reversed(list(statements_inside(node)))
