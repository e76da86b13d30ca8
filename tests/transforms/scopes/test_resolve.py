"""Python's rules for names: which scope's binding each use finds."""

from __future__ import annotations

import random

import pytest

from tests.transforms.scopes.rows import (
    NEEDS_311,
    NEEDS_312,
    NEEDS_313,
    resolved,
    rows,
    scope_name,
    uses,
)

OWNERS = rows(
    (
        "a function reads its own name and not the module's",
        """
        X = 1
        def f():
            X = 2
            return X
        """,
        ["module, store", "function f, store, later", "function f, later"],
    ),
    (
        "a function reads a name of the module that is bound after it",
        """
        def f(): return X
        X = 1
        """,
        ["module, later", "module, store"],
    ),
    (
        "a function's name is local even above its first assignment",
        """
        X = 1
        def f():
            print(X)
            X = 2
        """,
        ["module, store", "function f, later", "function f, store, later"],
    ),
    (
        "a name that the file does not bind has no owner",
        "print(X)",
        ["builtin or star"],
    ),
    (
        "a method does not see its class's names",
        """
        X = 1
        class C:
            X = 2
            def f(self): return X
        """,
        ["module, store", "class C, store", "module, later"],
    ),
    (
        "a class in a class does not see the outer one's names",
        """
        class C:
            X = 2
            class D:
                Y = X
        """,
        ["class C, store", "builtin or star"],
    ),
    (
        "a class body reads its own name once it has bound it",
        """
        X = 1
        class C:
            X = 2
            Y = X
        """,
        ["module, store", "class C, store", "class C"],
    ),
    (
        "a class body reads the module's name until it has bound its own",
        """
        X = 1
        class C:
            X = X
        """,
        ["module, store", "class C, store", "module"],
    ),
    (
        "a class body in a function reads the module's name until it has bound its own",
        """
        X = 1
        def f(X):
            class C:
                X = X
        """,
        ["module, store", "class C, store, later", "module, later"],
    ),
    (
        "a class body that may not have bound the name falls back on the module",
        """
        X = 1
        class C:
            if flag:
                X = 2
            Y = X
        """,
        ["module, store", "class C, store", "class C, or module"],
    ),
    (
        "a method named like the type it returns returns the module's type",
        """
        import X
        class C:
            def X(self) -> X: ...
        """,
        ["module, evaluated"],
    ),
    (
        "a comprehension in a class body sees the class only in its first iterable",
        """
        class C:
            X = [1]
            Y = [X for _ in X]
        """,
        ["class C, store", "builtin or star", "class C"],
    ),
    (
        "a comprehension owns its target",
        """
        X = [X for X in X]
        """,
        ["module, store", "comprehension", "comprehension, store", "module"],
    ),
    (
        "a comprehension's second iterable is its own",
        "[X for Y in Y for X in X]",
        ["comprehension", "comprehension, store", "comprehension"],
    ),
    (
        "a walrus in a comprehension binds in the function around it",
        """
        def f():
            return [(X := y) for y in z], X
        """,
        ["function f, store, later", "function f, later"],
    ),
    (
        "a walrus in nested comprehensions binds in the module",
        "[[(X := y) for y in z] for z in w]",
        ["module, store"],
    ),
    (
        "a walrus in a lambda binds in the lambda",
        "f = lambda: (X := 1) + X",
        ["function, store, later", "function, later"],
    ),
    (
        "a global declaration makes a store the module's",
        """
        def f():
            global X
            X = 1
        """,
        ["module, store, later"],
    ),
    (
        "a function in a function that declares a name global reads the module's",
        """
        def f():
            X = 0
            def g():
                global X
                def h(): return X
            X
        X = 1
        """,
        [
            "function f, store, later",
            "module, later",
            "function f, later",
            "module, store",
        ],
    ),
    (
        "a nonlocal declaration makes a store the enclosing function's",
        """
        def f():
            X = 1
            def g():
                nonlocal X
                X = 2
        """,
        ["function f, store, later", "function f, store, later"],
    ),
    (
        "a nonlocal declaration reaches a parameter bound two functions up",
        """
        def f(X):
            def g():
                def h():
                    nonlocal X
                    X += 1
        """,
        ["function f, store, later"],
    ),
    (
        "a global declaration in a class binds in the module, for the class alone",
        """
        class C:
            global X
            X = 1
            def f(self):
                X = 2
        """,
        ["module, store", "function f, store, later"],
    ),
    (
        "a global declaration of a comprehension's function takes the walrus along",
        """
        def f():
            global X
            [X := y for y in z]
        """,
        ["module, store, later"],
    ),
    (
        "a default is read where the function stands, when it is defined",
        """
        X = 1
        def f(X=X, *, Y=X): return X
        """,
        ["module, store", "module", "module", "function f, later"],
    ),
    (
        "a decorator is read where the function stands",
        """
        @X.register(1)
        def X(): ...
        """,
        ["module, .register"],
    ),
    (
        "bases and class keywords are read where the class stands",
        """
        class C(X, metaclass=X.Meta):
            X = 1
        """,
        ["builtin or star", "builtin or star, .Meta", "class C, store"],
    ),
    (
        "a lambda's default is read at once, its body later",
        "f = lambda a=X: X",
        ["builtin or star", "builtin or star, later"],
    ),
    (
        "a generator expression reads its first iterable at once, the rest later",
        "g = (X for y in X if X)",
        ["builtin or star, later", "builtin or star", "builtin or star, later"],
    ),
    (
        "a list comprehension runs at once",
        "g = [X for y in X if X]",
        ["builtin or star"] * 3,
    ),
    (
        "a class body in a function runs later",
        """
        def f():
            class C(X):
                Y = X
        """,
        ["builtin or star, later", "builtin or star, later"],
    ),
    (
        "an exception's name is bound where the handler stands, and its type is read there",
        """
        try: ...
        except X as X:
            X
        """,
        ["module", "module"],
    ),
    (
        "a delete belongs to the scope that it makes the name local to",
        """
        X = 1
        def f():
            del X
        """,
        ["module, store", "function f, delete, later"],
    ),
    (
        "an attribute is no name",
        "a.X = b.X; c(X=1)",
        [],
    ),
    (
        "a chain of attributes is recorded whole, stores included",
        """
        import X
        X.a.b().c
        X.a.b = X.d[X]
        """,
        ["module, .a.b", "module, .a.b", "module, .d", "module"],
    ),
    (
        "an f-string's expressions and format specs are read",
        "f'{X!r:>{X.width}} {(lambda: X)()}'",
        ["builtin or star", "builtin or star, .width", "builtin or star, later"],
    ),
    (
        "a match captures names, and reads classes, values and guards",
        """
        match X:
            case X.Red | X(X=[1, *_]) if X: ...
            case {"k": a, **X}: ...
        """,
        ["module", "module, .Red", "module", "module"],
    ),
    (
        "an unpacked loop target, a with target and a starred one are stores",
        """
        for a, (X, b) in c: ...
        with d as (X, *e): ...
        [*X] = f
        """,
        ["module, store"] * 3,
    ),
    (
        "`__class__` in a method is the class, also in a function within it",
        """
        class C:
            def f(self):
                def g(): return __class__.X
        """,
        [],
    ),
    (
        "a private name in a class is looked up by its mangled name",
        """
        __X = 1
        _C__X = 2
        class C:
            def f(self): return __X
        """,
        [],
    ),
    (
        "the whole subject of an augmented assignment is one store",
        """
        X = 0
        X += X
        """,
        ["module, store", "module, store", "module"],
    ),
    (
        "a type parameter is seen in annotations, bases and the body, not in defaults",
        """
        def f[X](a: X = X) -> X:
            return X
        """,
        [
            "type parameters f, evaluated",
            "builtin or star",
            "type parameters f, evaluated",
            "type parameters f, later",
        ],
        NEEDS_312,
    ),
    (
        "a class's type parameter is seen in its bases and methods, not in its decorators",
        """
        @X
        class C[X: X](B[X]):
            def f(self): return X
        """,
        [
            "builtin or star",
            "type parameters C, later",
            "type parameters C",
            "type parameters C, later",
        ],
        NEEDS_312,
    ),
    (
        "a method's type parameters see the class around them",
        """
        class C:
            X = int
            def f[T: X](self, a: X): return X
        """,
        ["class C, store", "class C, later", "class C, evaluated", "builtin or star, later"],
        NEEDS_312,
    ),
    (
        "a type alias is evaluated later",
        """
        type X = list[X]
        type Y[T: X] = dict[T, X]
        """,
        ["module, store", "module, later", "module, later", "module, later"],
        NEEDS_312,
    ),
    (
        "a type parameter's default is evaluated later",
        "class C[T = X]: ...",
        ["builtin or star, later"],
        NEEDS_313,
    ),
    (
        "a group handler binds as any other",
        """
        try: ...
        except* X as X: ...
        """,
        ["module"],
        NEEDS_311,
    ),
)


@pytest.mark.parametrize(("source", "expected"), OWNERS)
def test_name_finds_its_owner(source: str, expected: list[str]) -> None:
    assert uses(source) == expected


def test_class_cell_and_mangled_names() -> None:
    scopes = resolved(
        """
        __X = 1
        class _C:
            def f(self): return __class__, __X, a.__y, __X__
            __module__
        """
    )
    found = {it.name: scope_name(it.owner) for it in scopes.references}
    assert found["__class__"] == "class _C"
    assert found["__X"] == "module"
    assert found["_C__X"] == "builtin or star"  # the class does not see the module's `__X`
    assert found["__module__"] == "class _C"
    assert found["__X__"] == "builtin or star"
    assert [it.attributes for it in scopes.references if it.name == "a"] == [("_C__y",)]


def test_references_are_found_by_owner_and_name() -> None:
    scopes = resolved(
        """
        X = 1
        class C:
            if X: X = 2
            Y = X
        def f(): return X, Z
        """
    )
    lines = [it.statement.lineno for it in scopes.of(scopes.module, "X")]
    assert lines == [2, 4, 5, 6]
    assert [it.name for it in scopes.of(None, "Z")] == ["Z"]
    assert scopes.of(scopes.module, "missing") == []


def test_references_come_in_source_order() -> None:
    source = "\n".join(f"def f{i}(a{i}=[b for b in c{i}]): return lambda: d{i}" for i in range(50))
    places = [(it.node.lineno, it.node.col_offset) for it in resolved(source).references]  # type: ignore[attr-defined]
    assert places == sorted(places)


@pytest.mark.parametrize("seed", range(3))
def test_ten_thousand_assignments_of_one_name_take_no_quadratic_time(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    lines = [f"    X = X + {rng.random()}" for _ in range(10_000)]
    scopes = resolved("X = 0\nclass C:\n" + "\n".join(lines))
    assert len(scopes.references) == 20_001
