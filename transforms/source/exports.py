"""What a module lists in `__all__`, as far as it can be read without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DunderAll:
    """The literal names of `__all__`, in order, and whether other names may be added."""

    names: tuple[tuple[str, ast.Constant], ...]
    statements: tuple[ast.stmt, ...]  # those that make or change `__all__`
    dynamic: bool

    def __contains__(self, name: object) -> bool:
        return any(name == listed for listed, _ in self.names)


def dunder_all(tree: ast.Module) -> DunderAll | None:
    """Read every module-level statement that makes or changes `__all__`; None without any.

    Understood are assignments, `+=`, and `append`, `extend`, `insert`, `remove` calls on literal
    lists, tuples and sets of strings. Anything else makes the outcome `dynamic`.
    """
    names: list[tuple[str, ast.Constant]] = []
    statements: list[ast.stmt] = []
    dynamic = False
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            values = _changes(node) if isinstance(node, ast.stmt) else None
            if values is None:
                waiting += reversed(list(ast.iter_child_nodes(node)))
                continue
            statements.append(node)  # type: ignore[arg-type]
            for value in values:
                found, known = _strings(value)
                names += found
                dynamic = dynamic or not known
    return DunderAll(tuple(names), tuple(statements), dynamic) if statements else None


def _is_all(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _changes(node: ast.stmt) -> list[ast.expr] | None:
    """List the values that `node` gives to `__all__`; None if it does not touch it."""
    if isinstance(node, ast.Assign) and any(_is_all(target) for target in node.targets):
        return [node.value]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)) and _is_all(node.target):
        return [] if node.value is None else [node.value]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and _is_all(call.func.value):
            if call.func.attr in ("append", "insert"):
                wrapped = ast.List(elts=call.args[-1:], ctx=ast.Load())
                return [ast.copy_location(wrapped, call)]
            if call.func.attr == "extend":
                return list(call.args)
            # `remove`, `sort` and others: the list is no longer what the literals say.
            return [] if call.func.attr in ("sort", "reverse") else [call]
    return None


def _strings(node: ast.expr) -> tuple[list[tuple[str, ast.Constant]], bool]:
    """List the literal strings of a value, and tell whether that is all of it."""
    found: list[tuple[str, ast.Constant]] = []
    known = True
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (ast.List, ast.Tuple, ast.Set)):
            waiting += reversed(part.elts)
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.append((part.value, part))
        elif isinstance(part, ast.Call) and _is_copy(part):
            waiting += reversed(part.args)
        elif not _is_all(part):
            known = False
    return found, known


def _is_copy(node: ast.Call) -> bool:
    """Whether `node` is `list(...)`, `tuple(...)`, `sorted(...)` of one value."""
    return (
        isinstance(node.func, ast.Name)
        and node.func.id in ("list", "tuple", "set", "sorted", "frozenset")
        and len(node.args) <= 1
        and not node.keywords
    )
