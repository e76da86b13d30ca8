"""What runs when a module is imported: it still runs, in its order, and nothing else does."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL

REG = "R = []\n\n\ndef register(c):\n    R.append(c)\n    return c\n"
WRAPS = (
    "from functools import wraps\n\n\ndef timed(f):\n    @wraps(f)\n    def inner(*a):\n"
    "        return f(*a)\n\n    return inner\n"
)
OPERATOR = (
    "class P:\n    def __rshift__(self, x):\n        print(x)\n        return x\n\n\np = P()\n"
)
TORCH = "\n\ndef f():\n    return torch\n"
USES = "\n\ndef g():\n    return f()\n"

REORDERED: dict[str, tuple[Tree, Tree]] = {
    "the environment is set behind the import it was for": (
        {"m.py": "import os\nos.environ['A'] = '1'\nimport torch\n\nprint(torch)\n"},
        {"m.py": "import os\nimport torch\nos.environ['A'] = '1'\n\nprint(torch)\n"},
    ),
    "moved code imports before the environment is set": (
        {"m.py": f"import os\nos.environ['A'] = '1'\nimport torch\n{TORCH}{USES}"},
        {
            "n.py": f"import torch\n{TORCH}",
            "m.py": f"import os\nfrom n import f\nos.environ['A'] = '1'\n{USES}",
        },
    ),
    "moved code imports before a call that prepares it": (
        {"m.py": f"import sys\nsys.path.insert(0, 'x')\nimport torch\n{TORCH}{USES}"},
        {
            "n.py": f"import torch\n{TORCH}",
            "m.py": f"import sys\nfrom n import f\nsys.path.insert(0, 'x')\n{USES}",
        },
    ),
    "a key is read before it is written": (
        {"m.py": "D = {'a': 0}\nD['a'] = 1\nV = D['a']\n"},
        {"m.py": "D = {'a': 0}\nV = D['a']\nD['a'] = 1\n"},
    ),
    "a key is read before it is written in the source": (
        {
            "k.py": "D = {'a': 0}\n",
            "m.py": "from k import D\n\nD['a'] = 1\nV = D['a']\n\n\ndef g():\n    return V\n",
        },
        {
            "k.py": "D = {'a': 0}\n",
            "n.py": "from k import D\n\nV = D['a']\n",
            "m.py": "from k import D\nfrom n import V\n\nD['a'] = 1\n\n\ndef g():\n    return V\n",
        },
    ),
    "a list is measured before it grows": (
        {"m.py": "L = []\nL.append(1)\nV = len(L)\n"},
        {"m.py": "L = []\nV = len(L)\nL.append(1)\n"},
    ),
    "a list is measured before a function fills it": (
        {"m.py": "L = []\n\n\ndef fill():\n    L.append(1)\n\n\nfill()\nV = len(L)\n"},
        {"m.py": "L = []\n\n\ndef fill():\n    L.append(1)\n\n\nV = len(L)\nfill()\n"},
    ),
    "a default is computed before the list grows": (
        {"m.py": "L = []\nL.append(1)\n\n\ndef f(n=len(L)):\n    return n\n"},
        {"m.py": "L = []\n\n\ndef f(n=len(L)):\n    return n\n\n\nL.append(1)\n"},
    ),
    "a class is made before the list grows": (
        {"m.py": "L = []\nL.append(1)\n\n\nclass A:\n    n = len(L)\n"},
        {"m.py": "L = []\n\n\nclass A:\n    n = len(L)\n\n\nL.append(1)\n"},
    ),
    "an effect comes to a module that others load": (
        {
            "a.py": f"from b import {X[0]}\n\n\ndef g():\n    return X\n\n\nprint(1)\n",
            "b.py": X,
            "c.py": "from b import X\n",
        },
        {
            "a.py": "from b import X\n\n\ndef g():\n    return X\n",
            "b.py": f"{X}\nprint(1)\n",
            "c.py": "from b import X\n",
        },
    ),
}


@pytest.mark.parametrize("how", REORDERED)
def test_it_is_no_move_if(how: str) -> None:
    found = judge(*REORDERED[how])
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.kind for r in found.residuals} == {"order"}


LOST: dict[str, tuple[str, str]] = {
    "a class body calls": ("import reg\n\n\nclass A:\n    k = reg.register('A')\n", REG),
    "a class body adds": ("import reg\n\n\nclass A:\n    reg.N += 1\n", "N = 1\n"),
    "a method's decorator registers": (
        "import reg\n\n\nclass A:\n    @reg.register\n    def f(self):\n        pass\n",
        REG,
    ),
    "a default calls": ("import reg\n\n\ndef f(k=reg.register('A')):\n    pass\n", REG),
    "a base is called for": ("import reg\n\n\nclass A(reg.register(object)):\n    pass\n", REG),
    "a base registers its children": (
        "from reg import B\n\n\nclass A(B):\n    pass\n",
        "R = []\n\n\nclass B:\n    def __init_subclass__(cls):\n        R.append(cls)\n",
    ),
    "a base of a base does": (
        "from reg import C\n\n\nclass A(C):\n    pass\n",
        "R = []\n\n\nclass B:\n    def __init_subclass__(cls):\n        R.append(cls)\n\n\n"
        "class C(B):\n    pass\n",
    ),
    "a base has a metaclass": (
        "from reg import B\n\n\nclass A(B):\n    pass\n",
        "class M(type):\n    def __new__(*a):\n        print(a)\n        return type.__new__(*a)\n"
        "\n\nclass B(metaclass=M):\n    pass\n",
    ),
    "an annotation calls": ("import reg\n\nx: reg.register(1) = 2\n", REG),
    "a parameter's annotation calls": (
        "import reg\n\n\ndef f(a: reg.register(1)):\n    pass\n",
        REG,
    ),
    "a list is made by calls": ("import reg\n\nV = [reg.register(i) for i in range(3)]\n", REG),
    "a decorator only has a harmless name": (
        "from reg import dataclass\n\n\n@dataclass\nclass A:\n    pass\n",
        REG.replace("register", "dataclass"),
    ),
    "an operator is the tree's own": ("from reg import p\n\nV = p >> 'a'\n", OPERATOR),
    "a comparison is the tree's own": ("from reg import p\n\nV = [p == 1]\n", OPERATOR),
    "a text formats an object of the tree": ("from reg import p\n\nV = f'{p}'\n", OPERATOR),
    "a mark of a test is given what is called for": (
        "import pytest\nimport reg\n\n\n@pytest.mark.parametrize('a', reg.register([1]))\n"
        "def f(a):\n    pass\n",
        REG,
    ),
    "a mark of a test is given it by its name": (
        "import pytest\nimport reg\n\n\n@pytest.mark.skipif(False, reason=reg.register('A'))\n"
        "def f():\n    pass\n",
        REG,
    ),
    "a mark is the tree's own": (
        "from reg import mark\n\n\n@mark.slow\ndef f():\n    pass\n",
        "R = []\n\n\nclass Mark:\n    def slow(self, f):\n        R.append(f)\n        return f\n"
        "\n\nmark = Mark()\n",
    ),
    "a product runs through what somebody else does": (
        "import itertools\nimport pytest\nfrom reg import G\n\n\n"
        "@pytest.mark.parametrize('a', itertools.product(G, [1]))\ndef f(a):\n    pass\n",
        "G = iter([1, 2])\n",
    ),
    "an array is made of what the tree makes": (
        "import numpy as np\nfrom reg import p\n\nV = np.array([p])\n",
        OPERATOR,
    ),
    "a base is an object's item": ("from reg import p\n\n\nclass A(p[0]):\n    pass\n", OPERATOR),
    "a call is bound to a name that nothing reads": ("from reg import P\n\nV = P()\n", OPERATOR),
    "a decorator's argument calls": (
        "import reg\nimport functools\n\n\n@functools.wraps(reg.register(1))\ndef f():\n    pass\n",
        REG,
    ),
    "a decorator that is made registers": (
        "from reg import named\n\n\n@named('a')\ndef f():\n    pass\n",
        "R = {}\n\n\ndef named(n):\n    def inner(f):\n        R[n] = f\n        return f\n\n"
        "    return inner\n",
    ),
}


@pytest.mark.parametrize("how", LOST)
def test_an_effect_is_no_longer_loaded_where(how: str) -> None:
    code, rest = LOST[how]
    found = judge(*moved(f"{code}\n\n{X}", code, X, reg_py=rest))
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.why for r in found.residuals} == {"importing m no longer runs this"}


IDLE = {
    "a decorator of the tree only wraps": (
        "from reg import timed\n\n\n@timed\ndef f():\n    pass\n",
        WRAPS,
    ),
    "a decorator of the tree that is made only wraps": (
        "from reg import named\n\n\n@named('a')\ndef f():\n    pass\n",
        "def named(n):\n    def deco(f):\n        def inner(*a):\n            print(n)\n"
        "            return f(*a)\n\n        return inner\n\n    return deco\n",
    ),
    "a number of the tree is added to": ("from reg import n\n\nV = n + 1\n", "n = int('1')\n"),
    "a class of the tree may be missing": (
        "from reg import B\n\nV = B | None\n",
        "class B:\n    pass\n",
    ),
    "a test is marked": (
        "import itertools\nimport pytest\nfrom reg import MODES\n\n\n"
        "@pytest.mark.slow\n@pytest.mark.parametrize('a', itertools.product(MODES, [None, 1]))\n"
        "@pytest.mark.skipif(False, reason='no')\ndef f(a):\n    pass\n",
        "MODES = ['a', 'b']\n",
    ),
    "an array is made of numbers": ("import numpy as np\n\nV = np.array([18.0, 72.0])\n", ""),
    "a base of the tree is plain": (
        "from reg import B\n\n\nclass A(B):\n    x: int = 1\n\n    def f(self, k=(1, 2)):\n"
        "        return k\n",
        "class B:\n    pass\n",
    ),
}


@pytest.mark.parametrize("how", IDLE)
def test_nothing_is_lost_where(how: str) -> None:
    code, rest = IDLE[how]
    found = judge(*moved(f"{code}\n\n{X}", code, X, reg_py=rest))
    assert found.verdict == CERTIFIED, explain(found)


def test_a_reader_may_pass_an_effect_that_it_does_not_see() -> None:
    before = {"m.py": "import os\n\nD = {'a': 1}\nos.umask(2)\nV = D['a']\n"}
    after = {"m.py": "import os\n\nD = {'a': 1}\nV = D['a']\nos.umask(2)\n"}
    found = judge(before, after)
    assert found.verdict == CERTIFIED, explain(found)


def test_a_docstring_that_is_none_any_more_is_listed() -> None:
    found = judge(
        {"m.py": '"""Doc."""\n\nimport os\n\nprint(os)\n'},
        {"m.py": 'import os\n\n"""Doc."""\n\nprint(os)\n'},
    )
    assert "docstring" in {o.kind for o in found.observables}


FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef db():\n    return 1\n"
TESTS: dict[str, tuple[Tree, Tree, str]] = {
    "a fixture leaves its conftest": (
        {
            "conftest.py": f"import helpers\n{FIXTURE}\n\ndef other():\n    return helpers\n",
            "helpers.py": "A = 1\n",
            "test_a.py": "def test_a(db):\n    pass\n",
        },
        {
            "conftest.py": "import helpers\n\n\ndef other():\n    return helpers\n",
            "helpers.py": "import pytest\n\nA = 1\n\n\n@pytest.fixture\ndef db():\n    return 1\n",
            "test_a.py": "def test_a(db):\n    pass\n",
        },
        RESIDUAL,
    ),
    "a hook leaves its conftest": (
        {"conftest.py": f"def pytest_configure(config):\n    print(1)\n\n\n{X}"},
        {"conftest.py": X, "helpers.py": "def pytest_configure(config):\n    print(1)\n"},
        RESIDUAL,
    ),
    "a test leaves the file of its fixture": (
        {
            "test_a.py": f"{FIXTURE}\n\ndef test_x(db):\n    pass\n\n\ndef test_y(db):\n    pass\n",
        },
        {
            "test_a.py": f"{FIXTURE}\n\ndef test_y(db):\n    pass\n",
            "test_b.py": "def test_x(db):\n    pass\n",
        },
        RESIDUAL,
    ),
    "a test goes where none are looked for": (
        {"test_a.py": "def test_x():\n    pass\n\n\ndef test_y():\n    pass\n"},
        {"test_a.py": "def test_y():\n    pass\n", "helpers.py": "def test_x():\n    pass\n"},
        RESIDUAL,
    ),
    "a test goes to another file of tests": (
        {"test_a.py": "def test_x():\n    pass\n\n\ndef test_y():\n    pass\n"},
        {"test_a.py": "def test_y():\n    pass\n", "test_b.py": "def test_x():\n    pass\n"},
        CERTIFIED,
    ),
}


@pytest.mark.parametrize("how", TESTS)
def test_what_pytest_finds_by_its_place(how: str) -> None:
    before, after, verdict = TESTS[how]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)
