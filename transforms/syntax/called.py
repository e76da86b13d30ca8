"""What a call or a decorator is called, and what a chain of attributes starts from."""

from __future__ import annotations

import ast


def last_name(node: ast.AST | None) -> str:
    """Give the last name of `a.b.c` or `c`; nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called_name(node: ast.Call) -> str:
    """Give the last name of what is called; nothing for anything but a name or an attribute."""
    return last_name(node.func)


def decorating(decorator: ast.expr) -> ast.expr:
    """Give what decorates: of `@a.b(...)` and of `@a.b` it is `a.b`."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def bare(node: ast.expr) -> ast.expr:
    """Give an expression without the calls and subscripts at its end: `a.b` of `a.b[c](d)`."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def root(node: ast.AST) -> ast.AST:
    """Give what a chain of attributes, calls and subscripts starts from."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def root_name(node: ast.expr) -> ast.Name | None:
    """Find the name that a chain of nothing but attributes starts from, if it does."""
    while node.__class__ is ast.Attribute:
        node = node.value
    return node if isinstance(node, ast.Name) else None
