"""Calls that name an attribute of a module by a string: patches, and plain look-ups."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from transforms.syntax.called import called_name

# Called with an object and a name: `patch.object`, `monkeypatch.setattr`, `mocker.spy`, ...
_PATCHES = frozenset({"object", "setattr", "delattr", "spy", "stub"})
_LOOKUPS = frozenset({"getattr", "hasattr"})
# Keywords of `patch.multiple` that name no attribute.
PATCH_OPTIONS = frozenset({"spec", "create", "spec_set", "autospec", "new_callable"})


@dataclass(frozen=True, slots=True)
class AttributeCall:
    """A call whose first argument is an object. `name`: its second, if that is a literal."""

    node: ast.Call
    called: str
    name: str | None


def call_on(statement: ast.stmt, target: ast.AST) -> AttributeCall | None:
    """The call in a statement whose first argument is `target`, positionally or as `target=`."""
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        first = node.args[0] if node.args else named.get("target")
        if first is not target:
            continue
        second = node.args[1] if len(node.args) > 1 else named.get("attribute", named.get("name"))
        literal = second.value if isinstance(second, ast.Constant) else None
        return AttributeCall(node, called_name(node), literal if isinstance(literal, str) else None)
    return None


def is_only_tested(statement: ast.stmt, target: ast.AST) -> bool:
    """Whether an expression stands alone, or is compared or tested, but is not passed on."""
    if isinstance(statement, ast.Delete):
        return True
    for node in ast.walk(statement):
        tested: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            tested = [node.left, *node.comparators]
        elif isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            tested = [node.test]
        elif isinstance(node, ast.Expr):
            tested = [node.value]
        elif isinstance(node, ast.UnaryOp):
            tested = [node.operand]
        if any(item is target for item in tested):
            return True
    return False


def replaces(text: str, name: str) -> bool:
    """Whether a file seems to assign or patch an attribute of that name somewhere."""
    word = re.escape(name)
    pattern = rf"""['"](?:[\w.]*\.)?{word}['"]|\.{word}\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)"""
    return re.search(pattern, text) is not None


def is_patch(call: AttributeCall) -> bool:
    """Whether the call replaces the attribute."""
    return call.called in _PATCHES and _has_name(call)


def is_assignment(call: AttributeCall) -> bool:
    """Whether the call is the builtin that assigns or deletes an attribute for good."""
    plain = isinstance(call.node.func, ast.Name) and call.called in ("setattr", "delattr")
    return plain and _has_name(call)


def is_lookup(call: AttributeCall) -> bool:
    """Whether the call reads the attribute."""
    return call.called in _LOOKUPS and _has_name(call)


def _has_name(call: AttributeCall) -> bool:
    keywords = {keyword.arg for keyword in call.node.keywords}
    return len(call.node.args) > 1 or bool({"attribute", "name"} & keywords)
