"""Names: a statement is conserved only if each of them still means the same definition."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL, Certificate

TYPES = "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
LAZY = "from __future__ import annotations\n\n\n"
FALLBACK = "try:\n    from a import x\nexcept ImportError:\n    from b import x\n\nprint(x)\n"
SWAPPED = "try:\n    from b import x\nexcept ImportError:\n    from a import x\n\nprint(x)\n"
A = "class A:\n    x: int\n"
PKG = {"pkg/__init__.py": "", "pkg/h.py": "a = 1\n", "pkg/s/__init__.py": ""}

CERTIFIED_CASES: dict[str, tuple[Tree, Tree]] = {
    "a module is renamed": ({"m.py": F}, {"n.py": F}),
    "a qualified reference is re-pointed": (
        {"m.py": BOTH, "u.py": "import m\n\nm.f(m.X)\n"},
        {"m.py": X, "n.py": F, "u.py": "import m\nimport n\n\nn.f(m.X)\n"},
    ),
    "a qualified reference becomes a bare one": (
        {"m.py": BOTH, "u.py": "import m\n\n\ndef g():\n    m.f()\n"},
        {"m.py": X, "n.py": F, "u.py": "from n import f\n\n\ndef g():\n    f()\n"},
    ),
    "the source keeps a shim": moved(
        BOTH, F, f"from n import f\n\n{X}", u_py="from m import f\n\nf()\n"
    ),
    "a relative import is rebased": (
        {**PKG, "pkg/m.py": f"def f():\n    from .h import a\n    return a\n\n\n{X}"},
        {**PKG, "pkg/m.py": X, "pkg/s/n.py": "def f():\n    from ..h import a\n    return a\n"},
    ),
    "a global moves with all that assigns it": moved(
        f"C = 0\n\n\ndef f():\n    global C\n    C += 1\n\n\n{X}",
        "C = 0\n\n\ndef f():\n    global C\n    C += 1\n",
        X,
    ),
    "a default that is a list moves along": moved(
        f"D = []\n\n\ndef f(x=D):\n    return x\n\n\n{X}",
        "D = []\n\n\ndef f(x=D):\n    return x\n",
        X,
    ),
    "names of one assignment move together": moved(
        "A, B = 1, 2\n\n\ndef g():\n    return A\n",
        "A, B = 1, 2\n",
        "from n import A\n\n\ndef g():\n    return A\n",
    ),
    "a star import that can be listed becomes a plain one": (
        {
            "m.py": f"from k import *\n\n\ndef f():\n    return kk()\n\n\n{X}",
            "k.py": "def kk():\n    pass\n",
        },
        {
            "m.py": f"from k import *\n\n{X}",
            "n.py": "from k import kk\n\n\ndef f():\n    return kk()\n",
            "k.py": "def kk():\n    pass\n",
        },
    ),
    "only unevaluated annotations use what is imported for types": moved(
        f"{LAZY}{A}\n\ndef f(a: A) -> None:\n    pass\n",
        LAZY + A,
        f"{TYPES}if TYPE_CHECKING:\n    from n import A\n\n\ndef f(a: A) -> None:\n    pass\n",
    ),
    "a module becomes a package": (
        {
            **PKG,
            "pkg/m.py": f"{F}\n\ndef g():\n    return f()\n",
            "u.py": "from pkg.m import f, g\n\nf(g)\n",
        },
        {
            **PKG,
            "pkg/m/__init__.py": "from pkg.m.a import f\nfrom pkg.m.b import g\n",
            "pkg/m/a.py": F,
            "pkg/m/b.py": "from pkg.m.a import f\n\n\ndef g():\n    return f()\n",
            "u.py": "from pkg.m import f, g\n\nf(g)\n",
        },
    ),
    "a new package lists what it imports": (
        {**PKG, "pkg/m.py": BOTH, "u.py": "from pkg.m import f\n\nf()\n"},
        {
            **PKG,
            "pkg/m.py": X,
            "pkg/n/__init__.py": 'from pkg.n.c import f\n\n__all__ = ["f"]\n',
            "pkg/n/c.py": F,
            "u.py": "from pkg.n import f\n\nf()\n",
        },
    ),
    "functions that call each other change places": (
        {"m.py": "def a():\n    b()\n\n\ndef b():\n    pass\n"},
        {"m.py": "def b():\n    pass\n\n\ndef a():\n    b()\n"},
    ),
}

RESIDUAL_CASES: dict[str, tuple[Tree, Tree]] = {
    "a function is deleted": ({"m.py": BOTH}, {"m.py": X}),
    "a caller's import stays behind": moved(BOTH, F, X, u_py="from m import f\n"),
    "a global is rebound where others read a copy": moved(
        "C = 0\n\n\ndef f():\n    global C\n    C += 1\n\n\ndef g():\n    return C\n",
        "C = 0\n\n\ndef f():\n    global C\n    C += 1\n",
        "from n import C\n\n\ndef g():\n    return C\n",
    ),
    "a global is assigned on the line of its declaration": moved(
        "C = 1\n\n\ndef f(): global C; C = 2\n\n\ndef g():\n    return C\n",
        "C = 1\n\n\ndef f(): global C; C = 2\n",
        "from n import C\n\n\ndef g():\n    return C\n",
    ),
    "a function assigns a global that stayed": moved(
        "C = 0\n\n\ndef f():\n    global C\n    C += 1\n",
        "def f():\n    global C\n    C += 1\n",
        "C = 0\n",
    ),
    "what is written from outside is read by name": (
        {"m.py": "C = 1\n\n\ndef g():\n    return C\n", "u.py": "import m\n\nm.C = 5\n"},
        {
            "m.py": "from n import C\n\n\ndef g():\n    return C\n",
            "n.py": "C = 1\n",
            "u.py": "import n\n\nn.C = 5\n",
        },
    ),
    "two definitions of one name meet": (
        {"a.py": F, "b.py": "def f():\n    return 2\n"},
        {"c.py": f"{F}\n\ndef f():\n    return 2\n"},
    ),
    "a moved definition shadows one that was there": (
        {"a.py": BOTH, "c.py": "def f():\n    return 2\n\n\ndef g():\n    return f()\n"},
        {"a.py": X, "c.py": f"def f():\n    return 2\n\n\ndef g():\n    return f()\n\n\n{F}"},
    ),
    "the new module has a function named like a builtin": (
        {
            "a.py": f'def f():\n    return open("x")\n\n\n{X}',
            "c.py": "def open(n):\n    return 2\n",
        },
        {"a.py": X, "c.py": 'def open(n):\n    return 2\n\n\ndef f():\n    return open("x")\n'},
    ),
    "the new module imports a star from outside": (
        {"a.py": f'def f():\n    return open("x")\n\n\n{X}', "c.py": "from os import *\n"},
        {"a.py": X, "c.py": 'from os import *\n\n\ndef f():\n    return open("x")\n'},
    ),
    "the global of a moved function is another one there": (
        {"a.py": f"L = 1\n\n\ndef f():\n    return L\n\n\n{X}", "c.py": "L = 2\n"},
        {"a.py": f"L = 1\n\n{X}", "c.py": "L = 2\n\n\ndef f():\n    return L\n"},
    ),
    "an annotation that is a string names nothing": moved(
        f"{A}\n\ndef f(x: 'A'):\n    return x\n", "def f(x: 'A'):\n    return x\n", A
    ),
    "run-time code uses what is imported for types": moved(
        f"{LAZY}{A}\n\ndef f(a: A) -> None:\n    A()\n",
        LAZY + A,
        f"{TYPES}if TYPE_CHECKING:\n    from n import A\n\n\ndef f(a: A) -> None:\n    A()\n",
    ),
    "evaluated annotations use what is imported for types": moved(
        f"{A}\n\ndef f(a: A) -> None:\n    pass\n",
        A,
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from n import A\n\n\n"
        "def f(a: A) -> None:\n    pass\n",
    ),
    "a base class may evaluate annotations": moved(
        f"{LAZY}from z import Model\n\n\n{A}\n\nclass B(Model):\n    a: A\n",
        LAZY + A,
        f"{TYPES}from z import Model\n\nif TYPE_CHECKING:\n    from n import A\n\n\n"
        "class B(Model):\n    a: A\n",
    ),
    "a relative import is not rebased": (
        {**PKG, "pkg/m.py": f"def f():\n    from .h import a\n    return a\n\n\n{X}"},
        {**PKG, "pkg/m.py": X, "pkg/s/n.py": "def f():\n    from .h import a\n    return a\n"},
    ),
    "a name of one assignment is taken for another": moved(
        "A, B = 1, 2\n\n\ndef g():\n    return A\n",
        "A, B = 1, 2\n",
        "from n import B as A\n\n\ndef g():\n    return A\n",
    ),
    "two modules exchange their functions under one import": (
        {
            "m.py": F,
            "n.py": "def f():\n    return 2\n",
            "u.py": "import os\n\n\ndef g():\n    from m import f\n    return f(), os\n",
        },
        {
            "n.py": F,
            "m.py": "def f():\n    return 2\n",
            "u.py": "import os\n\n\ndef g():\n    from m import f\n    return f(), os\n",
        },
    ),
    "a new package lists more than it got": (
        {**PKG, "pkg/e.py": "y = 1\n", "pkg/m.py": BOTH, "u.py": "from pkg.m import f\n\nf()\n"},
        {
            **PKG,
            "pkg/e.py": "y = 1\n",
            "pkg/m.py": X,
            "pkg/n/c.py": F,
            "u.py": "from pkg.n import f\n\nf()\n",
            "pkg/n/__init__.py": "from pkg.e import y\nfrom pkg.n.c import f\n\n"
            '__all__ = ["f", "y"]\n',
        },
    ),
    "a submodule is read that nothing here imports": (
        {**PKG, "pkg/m.py": f"{F}\n\n{X}", "u.py": "import pkg.m\n\npkg.m.f(pkg.m.X)\n"},
        {
            **PKG,
            "pkg/m.py": X,
            "pkg/n.py": F,
            "u.py": "import pkg.m\n\npkg.n.f(pkg.m.X)\n",
        },
    ),
    "an import in a class brings something else": (
        {"m.py": "class A:\n    from os import path\n"},
        {"m.py": "class A:\n    from posixpath import path\n"},
    ),
    "a fallback catches more": (
        {"m.py": FALLBACK},
        {"m.py": FALLBACK.replace("ImportError", "Exception")},
    ),
    "two fallbacks change places": (
        {"m.py": FALLBACK},
        {"m.py": SWAPPED},
    ),
    "a guard that assigns is changed": (
        {"m.py": "import os\n\nif (n := os.getpid()):\n    import sys\n\nprint(n, sys)\n"},
        {"m.py": "import os\n\nif (n := os.getppid()):\n    import sys\n\nprint(n, sys)\n"},
    ),
    "a package hides the module it came from": ({"m.py": BOTH}, {"m.py": BOTH, "m/__init__.py": F}),
    "a new module hides one of Python's own": ({"m.py": BOTH}, {"m.py": X, "random.py": F}),
    "moved code reads another docstring": moved(
        f'"""Doc."""\n\n\ndef f():\n    return __doc__\n\n\n{X}',
        "def f():\n    return __doc__\n",
        f'"""Doc."""\n\n{X}',
    ),
}


@pytest.mark.parametrize("case", CERTIFIED_CASES)
def test_it_means_the_same(case: str) -> None:
    found = judge(*CERTIFIED_CASES[case])
    assert found.verdict == CERTIFIED, explain(found)


@pytest.mark.parametrize("case", RESIDUAL_CASES)
def test_it_means_something_else(case: str) -> None:
    found = judge(*RESIDUAL_CASES[case])
    assert found.verdict == RESIDUAL, explain(found)


SENSITIVE = {
    "its file": "def f():\n    return __file__\n",
    "its package": "def f():\n    return __package__\n",
    "its name": "def f():\n    return __name__\n",
    "its globals": "def f():\n    return globals()\n",
    "its namespace": "N = vars()\n",
    "its frame": "import sys\n\n\ndef f():\n    return sys._getframe(1)\n",
    "the stack": "from inspect import stack\n\n\ndef f():\n    return stack()\n",
    "whether it is the program": 'def f():\n    pass\n\n\nif __name__ == "__main__":\n    f()\n',
}


@pytest.mark.parametrize("what", SENSITIVE)
def test_moved_code_may_not_look_at(what: str) -> None:
    code = SENSITIVE[what]
    found = judge(*moved(f"{code}\n\n{X}", code, X))
    assert found.verdict == RESIDUAL, explain(found)


def test_a_function_may_look_at_its_own_locals() -> None:
    code = "def f():\n    return locals()\n"
    found = judge(*moved(f"{code}\n\n{X}", code, X))
    assert found.verdict == CERTIFIED, explain(found)


def test_a_logger_may_be_named_after_its_module_and_that_is_listed() -> None:
    code = "import logging\n\nlog = logging.getLogger(__name__)\n\n\ndef f():\n    log.info(1)\n"
    found = judge(*moved(f"{code}\n\n{X}", code, X))
    assert found.verdict == CERTIFIED, explain(found)
    assert [(o.path, o.line, o.kind) for o in found.observables if o.kind == "logger"] == [
        ("n.py", 3, "logger")
    ]


LOG = "import logging\n\nlog = logging.getLogger(__name__)\n"
G = "\n\ndef g():\n    log.info(2)\n"
H = "\n\ndef h():\n    log.info(1)\n"


def from_logger_to_logger(there: str = "", here: str = "", **others: str) -> Certificate:
    """Move `h` from a module with a logger to another one with its own."""
    before = {"m.py": f"{LOG}{here}{G}{H}", "n.py": f"{LOG}{there}{G}"}
    after = {"m.py": f"{LOG}{here}{G}", "n.py": f"{LOG}{there}{G}{H}"}
    rest = {f"{name}.py": text for name, text in others.items()}
    return judge({**before, **rest}, {**after, **rest})


def test_code_may_log_by_the_logger_of_its_new_module_and_that_is_listed() -> None:
    found = from_logger_to_logger(other="import m, n\n\nm.log.info(1)\nn.g()\n")
    assert found.verdict == CERTIFIED, explain(found)
    assert [(o.path, o.line, o.kind) for o in found.observables if o.kind == "logger"] == [
        ("n.py", 11, "logger")
    ]


@pytest.mark.parametrize("there", ["log.setLevel(10)\n", "given = [log]\n", "log = open\n"])
def test_a_logger_that_does_more_than_log_is_another_one(there: str) -> None:
    for found in (from_logger_to_logger(there), from_logger_to_logger(here=there)):
        assert found.verdict == RESIDUAL, explain(found)


@pytest.mark.parametrize("module", ["m", "n"])
@pytest.mark.parametrize(
    "text",
    [
        "import {}\n\n{}.log.setLevel(10)\n",
        "from {} import (\n    g,\n    log,\n)\n\nlog.setLevel(10)\n",
        'import logging\n\nlogging.getLogger("{}").setLevel(10)\n',
        'from unittest import mock\n\nmock.patch("{}.log")\n',
    ],
)
def test_a_logger_that_somebody_configures_or_names_is_another_one(module: str, text: str) -> None:
    found = from_logger_to_logger(other=text.replace("{}", module))
    assert found.verdict == RESIDUAL, explain(found)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", CERTIFIED),
        ('logging.getLogger("top").setLevel(10)\n', CERTIFIED),
        ('logging.getLogger("top.one").setLevel(10)\n', RESIDUAL),
        ('LEVELS = {"top.two": {"level": 10}}\n', RESIDUAL),
    ],
)
def test_a_logger_that_is_heard_above_one_of_the_two_is_another_one(
    text: str, verdict: str
) -> None:
    inits = {f"{folder}/__init__.py": "" for folder in ("top", "top/one", "top/two")}
    rest = {**inits, "settings.py": f"import logging\n\n{text}"}
    before = {"top/one/m.py": f"{LOG}{G}{H}", "top/two/n.py": f"{LOG}{G}", **rest}
    after = {"top/one/m.py": f"{LOG}{G}", "top/two/n.py": f"{LOG}{G}{H}", **rest}
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


def test_what_is_spelled_alike_and_is_another_is_not_said_to_be_itself() -> None:
    code = "from own import make\n\nX = make(__name__)\n"
    found = judge(*moved(f"{code}\n\n{F}", code, F, own="def make(name):\n    return [name]\n"))
    reasons = [item.why for item in found.residuals]
    assert "__name__ is another one in its new module" in reasons, explain(found)


TYPED = "def f():\n    found = []  # type: {}\n    return found\n"


@pytest.mark.parametrize(
    ("source", "comment", "verdict"),
    [
        ("typing", "List[int]", CERTIFIED),
        ("typing", "ignore  # a List", RESIDUAL),
        ("typing", "Dict[str, int]", RESIDUAL),
        ("own", "List[int]", RESIDUAL),  # to import it runs it
    ],
)
def test_a_name_in_a_comment_that_says_a_type_needs_its_import(
    source: str, comment: str, verdict: str
) -> None:
    code = f"from {source} import List\n\n\n{TYPED.format(comment)}"
    found = judge(*moved(f"{code}\n\n{X}", code, X, own="List = list\nprint(List)\n"))
    assert found.verdict == verdict, explain(found)


@pytest.mark.parametrize(("back", "verdict"), [("", CERTIFIED), ("import a\n\n\n", RESIDUAL)])
def test_a_new_module_closes_a_circle_where_it_imports_back(back: str, verdict: str) -> None:
    """It counts as the one that it came from, unless it imports nothing that leads back."""
    lazy = "def g():\n    from m import f\n\n    return f()\n"
    before = {"m.py": f"from a import g\n\n\n{F}\n\nX = g\n", "a.py": lazy}
    after = {
        "m.py": "from a import g\n\n\nX = g\n",
        "n.py": f"{back}{F}",
        "a.py": "from n import f\n\n\ndef g():\n    return f()\n",
    }
    found = judge(before, after)
    circles = [item.why for item in found.residuals if item.kind == "cycle"]
    assert bool(circles) is (verdict == RESIDUAL), explain(found)
    assert found.verdict == verdict, explain(found)
