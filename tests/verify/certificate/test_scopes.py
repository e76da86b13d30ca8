"""Python's scopes, and imports on conditions: where a name may come to mean something else."""

from __future__ import annotations

import sys

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL, UNKNOWN

PKG = {
    "pkg/__init__.py": "",
    "pkg/h.py": "a = 1\n",
    "pkg/s/__init__.py": "",
    "pkg/s/h.py": "a = 2\n",
}
GUARDED = "from a import x\n\n\ndef f():\n    return x\n"


def arrives(source: str, code: str, there: str, rest: str = X) -> tuple[Tree, Tree]:
    """Move code behind what `n.py` holds already; `source` stays in `m.py`."""
    before = {"m.py": f"{source}\n\n{code}\n\n{rest}", "n.py": there}
    return before, {"m.py": f"{source}\n\n{rest}", "n.py": f"{there}\n\n{code}"}


# What stays, what moves, and what is there already.
REBOUND: dict[str, tuple[str, str, str]] = {
    "a name private to a class": (
        "_A__s = 5\n",
        "class A:\n    def f(self):\n        return __s\n",
        "_A__s = 6\n",
    ),
    "a name that a class deletes": (
        "x = 5\n",
        "class A:\n    x = 1\n    del x\n    y = x\n",
        "x = 6\n",
    ),
    "a name that a class reads before it binds it": (
        "x = 1\n",
        "class A:\n    y = x\n    x = 2\n",
        "x = 3\n",
    ),
    "a name that a class binds on a condition": (
        "x = 1\n",
        "class A:\n    if 1 > 2:\n        x = 2\n    y = x\n",
        "x = 3\n",
    ),
    "a name that a class may bind in a loop": (
        "x = 1\n",
        "class A:\n    for x in ():\n        pass\n    y = x\n",
        "x = 3\n",
    ),
    "a name that a class only annotates": (
        "x = 1\n",
        "class A:\n    x: int\n    y = x\n",
        "x = 3\n",
    ),
    "a name within a comprehension of a class": (
        "x = [1]\n",
        "class A:\n    x = [2]\n    y = [i for i in range(3) if i in x]\n",
        "x = [3]\n",
    ),
    "a default of a lambda": ("x = 1\n", "V = lambda y=x: y\n", "x = 2\n"),
    "the class of a pattern": (
        "class P:\n    pass\n",
        "def f(x):\n    match x:\n        case P():\n            return 1\n",
        "class P:\n    pass\n\n\nZ = 1\n",
    ),
    "the value of a pattern": (
        "import k\n\nprint(k)\n",
        "def f(x):\n    match x:\n        case k.A:\n            return 1\n",
        "import j as k\n\nprint(k)\n",
    ),
    "a decorator": (
        "from a import d\n\nprint(d)\n",
        "@d\nclass A:\n    pass\n",
        "from b import d\n\nprint(d)\n",
    ),
    "a name with an accent of its own": (
        "\u00e9 = 1\n",
        "def f():\n    return \u00e9\n",
        "e\u0301 = 2\n",
    ),
}
if sys.version_info >= (3, 12):
    REBOUND |= {
        "the bound of a type parameter": (
            "class B:\n    pass\n",
            "def f[T: B](x: T) -> T:\n    return x\n",
            "class B:\n    pass\n\n\nZ = 1\n",
        ),
        "the value of a type alias": (
            "class B:\n    pass\n",
            "type Pair[T] = tuple[T, B]\n",
            "class B:\n    pass\n\n\nZ = 1\n",
        ),
        "the base of a generic class": (
            "class B:\n    pass\n",
            "class A[T](B):\n    pass\n",
            "class B:\n    pass\n\n\nZ = 1\n",
        ),
    }


@pytest.mark.parametrize("what", REBOUND)
def test_moved_code_finds_something_else_for(what: str) -> None:
    found = judge(*arrives(*REBOUND[what]))
    assert found.verdict == RESIDUAL, explain(found)
    assert "binding" in {r.kind for r in found.residuals}


GLOBALS = {
    "an assignment": "h = 2",
    "an import": "import h",
    "a loop": "for h in (): pass",
    "a function": "def h(): pass",
    "a class": "class h: pass",
    "a context": "with a as h: pass",
    "an exception": "try: pass\n    except OSError as h: pass",
    "a pattern": "match a:\n        case h: pass",
    "an assignment within a comprehension": "[h := 1 for i in ()]",
    "a deletion": "del h",
}


@pytest.mark.parametrize("how", GLOBALS)
def test_a_function_binds_a_global_that_stayed_by(how: str) -> None:
    code = f"def a():\n    global h\n    {GLOBALS[how]}\n"
    rest = "h = 1\n\n\ndef g():\n    return h\n"
    found = judge(*moved(f"{rest}\n\n{code}", code, rest))
    assert found.verdict == RESIDUAL, explain(found)


IMPORTS: dict[str, tuple[Tree, Tree]] = {
    "a condition of an import calls": (
        {"m.py": f"{GUARDED}\n\n{X}"},
        {
            "m.py": X,
            "n.py": GUARDED.replace("x\n", "x\nif print(1):\n    from a import x\n", 1),
        },
    ),
    "what a fallback catches calls": (
        {"m.py": f"{GUARDED}\n\n{X}"},
        {
            "m.py": X,
            "n.py": GUARDED.replace(
                "x\n", "x\ntry:\n    from a import x\nexcept print(1):\n    from a import x\n", 1
            ),
        },
    ),
    "an import in a class is relative": (
        {**PKG, "pkg/m.py": f"class A:\n    from .h import a\n\n\n{X}"},
        {**PKG, "pkg/m.py": X, "pkg/s/n.py": "class A:\n    from .h import a\n"},
    ),
    "one in a class within a function is": (
        {**PKG, "pkg/m.py": f"def f():\n    class A:\n        from .h import a\n\n\n{X}"},
        {**PKG, "pkg/m.py": X, "pkg/s/n.py": "def f():\n    class A:\n        from .h import a\n"},
    ),
    "an import leaves the block that catches its failure": (
        {
            "m.py": "def f():\n    try:\n        import a\n        return a.b()\n"
            "    except ImportError:\n        return None\n"
        },
        {
            "m.py": "import a\n\n\ndef f():\n    try:\n        return a.b()\n"
            "    except ImportError:\n        return None\n"
        },
    ),
    "an import pushes a docstring down": (
        {"m.py": 'def f():\n    "doc"\n    import os\n    return os\n'},
        {"m.py": 'def f():\n    import os\n    "doc"\n    return os\n'},
    ),
    "a name that changes is taken once": (
        {
            "k.py": "C = 1\n\n\ndef s():\n    global C\n    C = 2\n",
            "m.py": "def f():\n    from k import C\n    return C\n",
        },
        {
            "k.py": "C = 1\n\n\ndef s():\n    global C\n    C = 2\n",
            "m.py": "from k import C\n\n\ndef f():\n    return C\n",
        },
    ),
    "a name comes from a module that nothing loaded": (
        {"a.py": "x = 1\n", "e.py": "from a import x\nprint('e')\n", "m.py": GUARDED},
        {
            "a.py": "x = 1\n",
            "e.py": "from a import x\nprint('e')\n",
            "m.py": GUARDED.replace("from a", "from e"),
        },
    ),
    "two modules hand an import on to each other": (
        {"u1.py": X, "u2.py": "Y = 1\n", "e.py": "print(1)\nz = 1\n"},
        {
            "u1.py": f"from u2 import e\n\n{X}",
            "u2.py": "from u1 import e\n\nY = 1\n",
            "e.py": "print(1)\nz = 1\n",
        },
    ),
}


@pytest.mark.parametrize("how", IMPORTS)
def test_it_is_no_move_if(how: str) -> None:
    found = judge(*IMPORTS[how])
    assert found.verdict == RESIDUAL, explain(found)


CHECKING = {
    "of another object": ("import cfg\n", "if cfg.TYPE_CHECKING:\n    print(A)\n"),
    "of a function's parameter": (
        "",
        "def g(TYPE_CHECKING):\n    if TYPE_CHECKING:\n        return A\n",
    ),
}


@pytest.mark.parametrize("what", CHECKING)
def test_code_on_a_condition_runs_if_it_is_a_flag(what: str) -> None:
    head, rest = CHECKING[what]
    head = f"{head}from typing import TYPE_CHECKING\n"
    made = "class A:\n    pass\n"
    found = judge(
        {"m.py": f"{head}\n\n{made}\n\n{rest}"},
        {"n.py": made, "m.py": f"{head}\nif TYPE_CHECKING:\n    from n import A\n\n\n{rest}"},
    )
    assert found.verdict == RESIDUAL, explain(found)


def test_a_type_checkers_flag_comes_from_typing() -> None:
    head = "import typing\nfrom cfg import TYPE_CHECKING\n"
    made, rest = "class A:\n    pass\n", "if TYPE_CHECKING:\n    print(A)\n"
    guard = "if typing.TYPE_CHECKING:\n    from n import A\n"
    found = judge(
        {"m.py": f"{head}\n\n{made}\n\n{rest}"}, {"n.py": made, "m.py": f"{head}\n{guard}\n{rest}"}
    )
    assert found.verdict == RESIDUAL, explain(found)


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("if TYPE_CHECKING:", CERTIFIED),
        ("if not TYPE_CHECKING:", RESIDUAL),
        ("if False:", RESIDUAL),
    ],
)
def test_a_type_checker_still_sees_what_an_annotation_means(test: str, verdict: str) -> None:
    use = "\n\ndef f(x: 'A') -> None:\n    return x\n"
    head = f"from typing import TYPE_CHECKING\n\n{test}\n    from q import A\n"
    found = judge(*moved(f"from q import A\n{use}", f"{head}{use}", None, q_py=X))
    assert found.verdict == verdict, explain(found)


DYNAMIC = {
    "takes `globals` as a value": "def f():\n    g = globals\n    return g()\n",
    "takes `globals` as a default": "def f(g=globals):\n    return g()\n",
    "calls `globals` of `builtins`": (
        "import builtins\n\n\ndef f():\n    return builtins.globals()\n"
    ),
    "gets `globals` from `builtins`": (
        "import builtins\n\n\ndef f():\n    return getattr(builtins, 'globals')()\n"
    ),
    "gives `exec` another name": "run = exec\n\n\ndef f():\n    run('X')\n",
    "imports `exec` as another name": (
        "from builtins import exec as run\n\n\ndef f():\n    run('X')\n"
    ),
    "hands `eval` on": "def f(x):\n    return map(eval, x)\n",
    "reads the module of a class body": "class A:\n    home = __module__\n",
    "reads the stack": "import traceback\n\n\ndef f():\n    return traceback.extract_stack()\n",
    "reads all frames": "import sys\n\n\ndef f():\n    return sys._current_frames()\n",
    "reads its own globals": "def f():\n    return f.__globals__\n",
    "loads a module of its package": (
        "import importlib\n\n\ndef f():\n    return importlib.import_module('.a', __package__)\n"
    ),
}


@pytest.mark.parametrize("how", DYNAMIC)
def test_no_one_can_tell_what_moved_code_finds_that(how: str) -> None:
    code = DYNAMIC[how]
    found = judge(*moved(f"{code}\n\n{X}", code, X))
    assert found.verdict in {RESIDUAL, UNKNOWN}, explain(found)


TEXTS: dict[str, tuple[Tree, Tree]] = {
    "a comment loses its last mark": ({"m.py": f"# one;\n\n\n{X}"}, {"m.py": f"# one\n\n\n{X}"}),
    "a comment loses a backslash": ({"m.py": f"# one\\\n\n\n{X}"}, {"m.py": f"# one\n\n\n{X}"}),
    "a comment in UTF-7 holds code": (
        {"m.py": "# coding: utf-7\nX = 1\n# one\n"},
        {"m.py": "# coding: utf-7\nX = 1\n# one+AAo-print(1)\n"},
    ),
    "a program of Windows changes": ({"m.pyw": "print(1)\n"}, {"m.pyw": "print(2)\n"}),
    "an import has an accent of its own": ({"m.py": BOTH}, {"m.py": f"import e\u0301\n\n\n{BOTH}"}),
}


@pytest.mark.parametrize("how", TEXTS)
def test_a_text_is_another_if(how: str) -> None:
    found = judge(*TEXTS[how])
    assert found.verdict == RESIDUAL, explain(found)


HONEST: dict[str, tuple[Tree, Tree]] = {
    "a name private to a class moves with it": moved(
        f"_A__s = 5\n\n\nclass A:\n    def f(self):\n        return __s\n\n\n{X}",
        "_A__s = 5\n\n\nclass A:\n    def f(self):\n        return __s\n",
        X,
    ),
    "a local import moves to the top": (
        {"k.py": "def c():\n    pass\n", "m.py": "def f():\n    from k import c\n    return c\n"},
        {"k.py": "def c():\n    pass\n", "m.py": "from k import c\n\n\ndef f():\n    return c\n"},
    ),
    "a class with an import of its own moves": (
        {**PKG, "pkg/m.py": f"class A:\n    from .h import a\n\n\n{X}"},
        {**PKG, "pkg/m.py": X, "pkg/n.py": "class A:\n    from .h import a\n"},
    ),
    "a caller takes a name from its package": (
        {
            "p/__init__.py": "from p.m import f\n",
            "p/m.py": F,
            "u.py": "from p.m import f\n\nf()\n",
        },
        {"p/__init__.py": "from p.m import f\n", "p/m.py": F, "u.py": "from p import f\n\nf()\n"},
    ),
}


@pytest.mark.parametrize("how", HONEST)
def test_it_is_a_move_if(how: str) -> None:
    found = judge(*HONEST[how])
    assert found.verdict == CERTIFIED, explain(found)


def test_what_an_edited_statement_names_elsewhere_still_means_the_same() -> None:
    """An edit takes its own lines out of the comparison, not those beside it."""
    body = "class A(Base):\n    def f(self):\n        return {}\n"
    before = {"q.py": "class Base:\n    pass\n\n\nclass Other:\n    pass\n"}
    head = "from q import Base\n\n\n"
    edited = judge(
        {**before, "m.py": head + body.format("1")},
        {**before, "m.py": head + body.format("str(2)")},
    )
    assert {(r.kind, r.line) for r in edited.residuals} == {("changed", 6)}
    redirected = judge(
        {**before, "m.py": head + body.format("1")},
        {**before, "m.py": head.replace("Base", "Other as Base") + body.format("str(2)")},
    )
    assert {(r.kind, r.line) for r in redirected.residuals} >= {("changed", 6), ("binding", 4)}
