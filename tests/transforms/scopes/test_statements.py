"""What binds a name, and where."""

from __future__ import annotations

import ast

import pytest

from tests.transforms.scopes.rows import NEEDS_312, resolved, rows, scope_name

BINDINGS = rows(
    ("an import binds the first part of its path", "import X.y", ["import"]),
    ("an import with another name binds that one", "import y.z as X", ["import"]),
    ("an import with another name does not bind its own", "import X.y as z", []),
    ("a from import binds a name", "from y import X", ["from import"]),
    ("a from import binds its other name", "from y import z as X", ["from import"]),
    ("a definition", "def X(): ...", ["def"]),
    ("an asynchronous definition", "async def X(): ...", ["def"]),
    ("a class", "class X: ...", ["class"]),
    ("a chained assignment binds twice", "X = X = 1", ["assign", "assign"]),
    ("an annotated assignment", "X: int = 1", ["annotated assign"]),
    ("an annotation alone is told apart", "X: int", ["bare annotation"]),
    ("an annotation of what is in parentheses binds nothing", "(X): int", []),
    ("an augmented assignment", "X += 1", ["augmented assign"]),
    ("a delete", "del X", ["delete"]),
    ("a loop", "for X in y: ...", ["for"]),
    ("a with", "with y as X: ...", ["with"]),
    ("a handler", "try: ...\nexcept E as X: ...", ["except"]),
    ("a walrus", "(X := 1)", ["walrus"]),
    ("a walrus in a comprehension", "[X := y for y in z]", ["walrus"]),
    ("a capture", "match y:\n case [X, *_]: ...", ["match"]),
    ("a star capture", "match y:\n case [*X]: ...", ["match"]),
    ("a mapping's rest", "match y:\n case {**X}: ...", ["match"]),
    ("a named pattern", "match y:\n case (int() | str()) as X: ...", ["match"]),
    ("a store by a global declaration", "def f():\n global X\n X = 1", ["assign"]),
    ("an import by a global declaration", "def f():\n global X\n import X", ["import"]),
    ("a name that is only read", "X", []),
    ("a parameter is not the module's", "def f(X): ...", []),
    ("a type alias", "type X = int", ["type alias"], NEEDS_312),
    (
        "bindings from other scopes stand where the source has them",
        "def f():\n global X\n X = 1\nclass X: ...\n[X := y for y in z]\nX = 2",
        ["assign", "class", "walrus", "assign"],
    ),
)


@pytest.mark.parametrize(("source", "expected"), BINDINGS)
def test_module_binds(source: str, expected: list[str]) -> None:
    module = resolved(source).module
    assert [binding.kind for binding in module.bindings.get("X", [])] == expected


def test_star_imports_are_kept_under_a_star() -> None:
    module = resolved("from a import *\nfrom b import *").module
    assert [binding.kind for binding in module.bindings["*"]] == ["star import"] * 2


def test_parameters_and_type_parameters_bind_in_their_own_scopes() -> None:
    scopes = resolved("def f(a, /, b, *c, d, **e): lambda g=1, *h: g").scopes
    bound = [[(name, b[0].kind) for name, b in scope.bindings.items()] for scope in scopes[1:]]
    assert bound == [
        [(name, "parameter") for name in "abcde"],
        [(name, "parameter") for name in "gh"],
    ]


def test_binding_knows_its_statement_and_where_that_stands() -> None:
    scopes = resolved("if a:\n    def f():\n        global X\n        X = 1\n")
    (binding,) = scopes.module.bindings["X"]
    assert isinstance(binding.statement, ast.Assign)
    assert binding.statement.lineno == 4
    assert scope_name(binding.within) == "function f"
    assert binding.scope is scopes.module
    (declaration,) = binding.within.declarations["X"]
    assert declaration.lineno == 3
