"""Which names a top-level statement changes in place when its module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from transforms.syntax.called import decorating, last_name, root
from transforms.syntax.kinds import is_main_guard

# Functions that change their first argument.
_CHANGING = frozenset(
    {"setattr", "delattr", "shuffle", "heapify", "heappush", "heappop", "heapreplace", "insort"}
    | {"insort_left", "insort_right", "update_wrapper", "register_type"}
)
_CONTAINER_METHODS = frozenset(
    {"append", "appendleft", "extend", "insert", "remove", "pop", "popleft", "popitem", "clear"}
    | {"update", "setdefault", "add", "discard", "sort", "reverse", "register", "setLevel"}
)
# Attributes of decorators that add what they decorate to their owner.
_REGISTERING = frozenset({"register", "setter", "getter", "deleter", "add", "append", "impl"})


def changed_names(node: ast.stmt) -> Iterator[str]:
    """Names that a statement changes at import, apart from binding them.

    `X.append(...)`, `X[k] = v`, `X.attr = v`, `del X[k]`, `setattr(X, ...)`, a definition
    decorated with `@X.register`, and the same inside `if`, `for`, `with`, `try` and `match`. What
    runs only as a script (`if __name__ == "__main__":`) changes nothing at import.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        for decorator in node.decorator_list:
            target = decorating(decorator)
            if isinstance(target, ast.Attribute) and _registers(target.attr):
                yield from _root(target)
    elif isinstance(node, ast.Expr):
        yield from _called(node.value)
    elif isinstance(node, (ast.Assign, ast.Delete)):
        for target in node.targets:
            yield from _stored(target)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield from _stored(node.target)
    elif not is_main_guard(node):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield from _stored(node.target)
        for child in _children(node):
            yield from changed_names(child)


def roots_changed(node: ast.stmt) -> Iterator[ast.Name]:
    """The names, anywhere inside a statement, of what it changes in place.

    By stores, and by methods of containers; other methods, a logger's for one, are taken to change
    nothing that is read.
    """
    for child in ast.walk(node):
        targets: list[ast.expr] = []
        if isinstance(child, (ast.Assign, ast.Delete)):
            targets = list(child.targets)
        elif isinstance(child, (ast.AugAssign, ast.AnnAssign)):
            targets = [child.target]
        elif isinstance(child, ast.Call):
            function = child.func
            if isinstance(function, ast.Attribute) and function.attr in _CONTAINER_METHODS:
                targets = [function]
            elif last_name(function) in _CHANGING:
                targets = child.args[:1]
        for target in targets:
            for part in ast.walk(target) if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                start = root(part)
                if isinstance(start, ast.Name) and start is not part:
                    yield start


def decorator_roots(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that the decorators of a definition start from, each with its decorator."""
    for decorator in getattr(node, "decorator_list", []):
        target = decorating(decorator)
        for name in _root(target):
            yield name, decorator


def _registers(attribute: str) -> bool:
    return attribute in _REGISTERING or attribute.startswith(("register_", "add_"))


def _children(node: ast.stmt) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _called(value: ast.expr) -> Iterator[str]:
    """The owner of a method that is called for its effect, or what a function changes."""
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call):
        return
    function = value.func
    if last_name(function) in _CHANGING and value.args:
        yield from _root(value.args[0])
    elif isinstance(function, ast.Attribute):
        yield from _root(function)


def _stored(target: ast.expr) -> Iterator[str]:
    if isinstance(target, (ast.Attribute, ast.Subscript)):
        yield from _root(target)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _stored(element)
    elif isinstance(target, ast.Starred):
        yield from _stored(target.value)


def _root(node: ast.expr) -> Iterator[str]:
    """The name that a chain of attributes, subscripts and calls starts from."""
    start = root(node)
    if isinstance(start, ast.Name):
        yield start.id
