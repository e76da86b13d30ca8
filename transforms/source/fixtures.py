"""Fixtures of pytest: used by the name of a parameter, which no rule of Python's scopes sees."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.scopes.types import Reference, Scope
from transforms.source.module import Module
from transforms.syntax.called import called_name, decorating, last_name

_TEST_FILE = re.compile(r"(?:test_.*|.*_tests?|conftest|tests?)\.py\Z")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def fixture_uses(module: Module, *, newer: bool = False) -> list[Reference]:
    """Uses of the module's own and imported fixtures by tests, fixtures and marks.

    `newer`: also of those that have another name for tests (`name=`), and those that are around
    every test (`autouse=True`).
    """
    scope = module.scopes.module
    if not _is_test_module(module.path, scope):
        return []
    available = {name: name for name in scope.bindings if _may_be_fixture(scope, name)}
    fixtures = list(own_fixtures(module.tree)) if newer else []
    available |= {fixture.name: fixture.node.name for fixture in fixtures}
    asked = [
        (statement, node, available.get(name)) for statement, node, name in _asked(module.tree)
    ]
    for test in _tests(module.tree) if newer else ():
        asked += [(test, test, f.node.name) for f in fixtures if f.autouse]
    return [
        Reference(name, node, scope, scope, "load", True, "", (), (), True, statement)
        for statement, node, name in asked
        if name is not None
    ]


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture at module level: its function, the name by which tests ask, if they have to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    autouse: bool


def own_fixtures(tree: ast.Module) -> Iterator[Fixture]:
    """The fixtures that a module defines."""
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) and _is_fixture(node):
            given: dict[str | None, ast.expr] = {}
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and last_name(decorator.func).endswith(
                    "fixture"
                ):
                    given |= {keyword.arg: keyword.value for keyword in decorator.keywords}
            name, autouse = given.get("name"), given.get("autouse")
            named = name.value if isinstance(name, ast.Constant) else None
            around = autouse.value is True if isinstance(autouse, ast.Constant) else bool(autouse)
            yield Fixture(node, named if isinstance(named, str) else node.name, around)


def is_conftest(path: str) -> bool:
    """Whether pytest looks for fixtures and hooks in a file, for all tests below its folder."""
    return posixpath.basename(path) == "conftest.py"


def finds(conftest: str, path: str) -> bool:
    """Whether tests of the file `path` find the fixtures of a `conftest.py` by themselves."""
    folder = posixpath.dirname(conftest)
    return is_conftest(conftest) and (not folder or path.startswith(folder + "/"))


def _tests(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            yield node
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield node


def is_fixture_use(reference: Reference) -> bool:
    """Whether a reference is one that `fixture_uses` made."""
    nodes = (ast.arg, ast.Constant, *_FUNCTIONS, ast.ClassDef)
    return reference.annotation == "" and isinstance(reference.node, nodes)


def _is_test_module(path: str, scope: Scope) -> bool:
    return "pytest" in scope.bindings or bool(_TEST_FILE.match(posixpath.basename(path)))


def _may_be_fixture(scope: Scope, name: str) -> bool:
    return any(
        isinstance(binding.node, ast.alias)
        or (isinstance(binding.node, _FUNCTIONS) and _is_fixture(binding.node))
        for binding in scope.bindings[name]
    )


def _asked(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.AST, str]]:
    """Names that pytest looks up: (statement, where it is named, name)."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, _FUNCTIONS) and (node.name.startswith("test") or _is_fixture(node)):
            yield from ((node, argument, argument.arg) for argument in _parameters(node))
        if isinstance(node, ast.ClassDef):
            pending += node.body
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Assign)):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and called_name(call) in (
                    "usefixtures",
                    "getfixturevalue",
                ):
                    for literal in call.args:
                        if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                            yield node, literal, literal.value


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.arg]:
    """Parameters without a default that no `parametrize` fills."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    plain = plain[: len(plain) - len(arguments.defaults)]
    only = [
        argument
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    filled = {name for decorator in node.decorator_list for name in _parametrized(decorator)}
    for argument in (*plain, *only):
        if argument.arg not in ("self", "cls") and argument.arg not in filled:
            yield argument


def _parametrized(decorator: ast.expr) -> Iterator[str]:
    if not isinstance(decorator, ast.Call) or called_name(decorator) != "parametrize":
        return
    if not decorator.args or any(keyword.arg == "indirect" for keyword in decorator.keywords):
        return
    for part in ast.walk(decorator.args[0]):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from (name.strip() for name in part.value.split(","))


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        if last_name(decorating(decorator)).endswith("fixture"):
            return True
    return False
