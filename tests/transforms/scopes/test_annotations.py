"""Which annotations, and which strings in them, use a name."""

from __future__ import annotations

import ast

import pytest

from tests.transforms.scopes.rows import resolved, rows, uses

ANNOTATIONS = rows(
    (
        "annotations of parameters and results are evaluated when the function is defined",
        "def f(a: X, *b: X, c: X = 1, **d: X) -> X: ...",
        ["builtin or star, evaluated"] * 5,
    ),
    (
        "annotations of a module's and a class's variables are evaluated",
        """
        a: X = 1
        class C:
            b: X
        """,
        ["builtin or star, evaluated"] * 2,
    ),
    (
        "annotations of a function's local variables never are",
        """
        def f():
            a: X = 1
            self.b: X = 2
        """,
        ["builtin or star, later, postponed"] * 2,
    ),
    (
        "the future import postpones every annotation",
        """
        from __future__ import annotations
        a: X = X
        def f(b: X = X) -> X: ...
        """,
        [
            "builtin or star, later, postponed",
            "builtin or star",
            "builtin or star, later, postponed",
            "builtin or star",
            "builtin or star, later, postponed",
        ],
    ),
    (
        "a function in a function has annotations evaluated with it, later",
        """
        def f():
            def g(a: X): ...
        """,
        ["builtin or star, later, evaluated"],
    ),
    (
        "a string annotation is a use, also nested in another",
        """
        import X
        a: "X"
        b: list["dict['X', X.Y]"]
        """,
        ["module, later, string", "module, later, string, .Y", "module, later, string"],
    ),
    (
        "the same string is a use wherever it stands",
        """
        import X
        a: "list['X']"
        b: "list['X']"
        """,
        ["module, later, string"] * 2,
    ),
    (
        "a string annotation in a class that binds the name may mean either",
        """
        import X
        class C:
            X: "X"
        """,
        ["class C, store", "class C, later, string, or module"],
    ),
    (
        "what Literal holds is no use, however Literal is imported",
        """
        import typing
        import typing_extensions as te
        from typing import Literal, Literal as L
        a: Literal["X"]; b: typing.Literal["X"]; c: te.Literal["X"]; d: L["X", None]
        e: "Literal['X']"
        f: "L[X.Red]"
        """,
        ["builtin or star, later, string, .Red"],
    ),
    (
        "of Annotated only the first argument is a type",
        """
        from typing import Annotated
        a: Annotated["X", "X"]
        b: Annotated[int, X("X")]
        """,
        ["builtin or star, later, string", "builtin or star, evaluated"],
    ),
    (
        "strings that describe an array's shape are no types",
        """
        from jaxtyping import Float
        a: Float["X", "X 3"]
        b: Float[Tensor, "X"]
        """,
        ["builtin or star, later, string"],
    ),
    (
        "a string in a call within an annotation is no type",
        """
        a: field("X")
        b: "no type at all, X"
        c: "X Y"
        """,
        [],
    ),
    (
        "strings in the type arguments of typing's functions are uses",
        """
        from typing import NamedTuple, NewType, TypedDict, TypeVar, cast
        cast("X", "X")
        TypeVar("X", "X", bound="X")
        NewType("X", "X")
        NamedTuple("X", [("X", "X")])
        TypedDict("X", {"X": "X"}, total=False)
        cast(typ=list["X"], val="X")
        """,
        ["builtin or star, later, string"] * 7,
    ),
    (
        "typing's functions are known by another name, and by their module",
        """
        import typing as t
        from typing import cast as c
        def f():
            t.cast("X", 1), c("X", 2)
        """,
        ["builtin or star, later, string"] * 2,
    ),
    (
        "a function that is merely named like one of typing's is not",
        """
        from ours import cast
        cast("X", 1); ns.cast("X", 1); TypeVar("T", bound="X")
        """,
        [],
    ),
    (
        "a string in a subscript is a type only for typing's names and builtin types",
        """
        from typing import Optional
        A = Optional["X"]; B = dict[str, "X"]; C = registry["X"]
        class D(list["X"]): ...
        """,
        ["builtin or star, later, string"] * 3,
    ),
    (
        "an explicit type alias is a type",
        """
        from typing import TypeAlias
        import typing
        A: TypeAlias = "X"
        B: typing.TypeAlias = "list[X]"
        C: "TypeAlias" = "X | None"
        D: str = "X"
        """,
        ["builtin or star, later, string"] * 3,
    ),
    (
        "a star import of typing brings its names",
        """
        from typing import *
        a: Literal["X"]
        cast("X", 1)
        """,
        ["builtin or star, later, string"],
    ),
    (
        "type comments are uses",
        """
        a = []  # type: list[X]
        for b in c:  # type: X
            pass
        with d as e:  # type: "X"
            pass
        def f(a, b):
            # type: (X, "X") -> X
            pass
        def g(
            a,  # type: X
        ): ...
        h = 1  # type: ignore[X]
        """,
        ["builtin or star, later, type comment"] * 7,
    ),
)


@pytest.mark.parametrize(("source", "expected"), ANNOTATIONS)
def test_annotation_uses_names(source: str, expected: list[str]) -> None:
    assert uses(source) == expected


SPANS = rows(
    ("the only name", 'a: "X"', [(0, 1)]),
    ("a name behind others", 'a: "dict[str, X]"', [(10, 11)]),
    ("a name behind letters outside ASCII", 'a: "dict[größe, X]"', [(12, 13)]),
    ("a name on another line", 'a: """dict[\n  str, X]"""', [(13, 14)]),
    ("a name behind leading space", 'a: "  X"', [(2, 3)]),
    ("a name in a string in the string: not told", "a: \"list['X']\"", [None]),
    ("a name by itself has none", "a: X", [None]),
)


@pytest.mark.parametrize(("source", "expected"), SPANS)
def test_string_holds_the_name_at(source: str, expected: list) -> None:
    found = [it for it in resolved(source).references if it.name == "X"]
    assert [it.span for it in found] == expected
    for reference in found:
        if reference.span is not None:
            assert isinstance(reference.node, ast.Constant)
            start, end = reference.span
            assert str(reference.node.value)[start:end] == "X"


def test_a_reference_in_a_type_comment_stands_at_the_node_with_the_comment() -> None:
    text = "a = []  # type: list[X]\n"
    reference = resolved(text).of(None, "X")[0]
    assert isinstance(reference.node, ast.Assign)
    assert reference.span is None
