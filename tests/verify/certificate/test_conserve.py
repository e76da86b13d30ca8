"""Statements, copies and comments: what is conserved, and how a difference is told."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL

USES = "\n\ndef f():\n    return V\n"
ALSO = "\n\ndef g():\n    return V\n"
LOCK = "import threading\n\nV = threading.Lock()\n"
TYPE = "from typing import TypeVar\n\nT = TypeVar('T')\n\n\n"
CLASS = "class A:\n    def f(self):\n{}        return 1\n\n    def g(self):\n{}        return 2\n"

COPIES: dict[str, tuple[Tree, Tree, str]] = {
    "a number": (*moved(f"V = 1\n{USES}{ALSO}", f"V = 1\n{USES}", f"V = 1\n{ALSO}"), CERTIFIED),
    "a tuple of literals": (
        *moved(f"V = (1, -2)\n{USES}{ALSO}", f"V = (1, -2)\n{USES}", f"V = (1, -2)\n{ALSO}"),
        CERTIFIED,
    ),
    "a type variable": (
        *moved(
            f"{TYPE}def f(x: T):\n    return x\n\n\ndef g(x: T):\n    return x\n",
            f"{TYPE}def f(x: T):\n    return x\n",
            f"{TYPE}def g(x: T):\n    return x\n",
        ),
        CERTIFIED,
    ),
    "a number that nothing uses": (
        *moved(f"V = 1\n\n\n{F}{ALSO}", f"V = 1\n\n\n{F}", f"V = 1\n{ALSO}"),
        RESIDUAL,
    ),
    "a number that did not stay": (
        {"m.py": f"V = 1\n{USES}{ALSO}\n\n{X}"},
        {"m.py": X, "n.py": f"V = 1\n{USES}", "o.py": f"V = 1\n{ALSO}"},
        RESIDUAL,
    ),
    "a number that a function assigns": (
        *moved(
            f"V = 0\n{USES}\n\ndef g():\n    global V\n    V = 2\n",
            f"V = 0\n{USES}",
            "V = 0\n\n\ndef g():\n    global V\n    V = 2\n",
        ),
        RESIDUAL,
    ),
    "a list": (*moved(f"V = []\n{USES}{ALSO}", f"V = []\n{USES}", f"V = []\n{ALSO}"), RESIDUAL),
    "a dictionary": (
        *moved(f"V = {{}}\n{USES}{ALSO}", f"V = {{}}\n{USES}", f"V = {{}}\n{ALSO}"),
        RESIDUAL,
    ),
    "a lock": (*moved(LOCK + USES + ALSO, LOCK + USES, LOCK + ALSO), RESIDUAL),
    "a flag that is more than a condition": (
        *moved(
            f"from k import k\n\nV = k()\n{USES}{ALSO}",
            f"from k import k\n\nV = k()\n{USES}",
            f"from k import k\n\nV = k()\n{ALSO}",
            k_py="def k():\n    return []\n",
        ),
        RESIDUAL,
    ),
    "a tuple that holds a list": (
        *moved(f"V = (1, [])\n{USES}{ALSO}", f"V = (1, [])\n{USES}", f"V = (1, [])\n{ALSO}"),
        RESIDUAL,
    ),
    "a sentinel": (
        *moved(f"V = object()\n{USES}{ALSO}", f"V = object()\n{USES}", f"V = object()\n{ALSO}"),
        RESIDUAL,
    ),
    "a function": (
        *moved(
            f"def V():\n    pass\n{USES}{ALSO}",
            f"def V():\n    pass\n{USES}",
            f"def V():\n    pass\n{ALSO}",
        ),
        RESIDUAL,
    ),
    "a statement in its own file": ({"m.py": BOTH}, {"m.py": f"{BOTH}{X}"}, RESIDUAL),
}


@pytest.mark.parametrize("case", COPIES)
def test_a_copy_of(case: str) -> None:
    before, after, verdict = COPIES[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)
    if verdict == CERTIFIED:
        assert len(found.copies) == 1


COMMENTS: dict[str, tuple[Tree, Tree, str]] = {
    "one within a function goes to another": (
        {"m.py": CLASS.format("        # one\n", "")},
        {"m.py": CLASS.format("", "        # one\n")},
        RESIDUAL,
    ),
    "one at the end of a block leaves it": (
        {"m.py": "if X:\n    f()\n    # one\ng()\n"},
        {"m.py": "if X:\n    f()\n# one\ng()\n"},
        RESIDUAL,
    ),
    "one that stands alone is lost": ({"m.py": f"# one\n\n{X}"}, {"m.py": X}, RESIDUAL),
    "one that stands alone is new": ({"m.py": X}, {"m.py": f"# one\n\n{X}"}, RESIDUAL),
    "one that stands alone goes elsewhere": (
        {"m.py": f"# one\n\nX = 1\n\n\n{F}"},
        {"m.py": f"X = 1\n\n# one\n\n\n{F}"},
        RESIDUAL,
    ),
    "the header is copied along": (
        *moved(f"# licence\n\n{X}\n\n{F}", f"# licence\n\n\n{F}", f"# licence\n\n{X}"),
        CERTIFIED,
    ),
    "one behind an import is lost": (
        {"m.py": f"import os  # noqa: F401\n{X}"},
        {"m.py": f"import os\n{X}"},
        RESIDUAL,
    ),
    "one behind an import goes to another": (
        {"m.py": f"import os  # noqa: F401\nimport sys\n{X}"},
        {"m.py": f"import os\nimport sys  # noqa: F401\n{X}"},
        RESIDUAL,
    ),
    "one for linters at what imports a moved name back": (
        *moved(f"{X}\n\n{F}", F, f"from n import f  # noqa: F401\n\n{X}"),
        CERTIFIED,
    ),
    "one that says more at what imports a moved name back": (
        *moved(f"{X}\n\n{F}", F, f"from n import f  # noqa: E501\n\n{X}"),
        RESIDUAL,
    ),
    "one for linters at an import of something else": (
        *moved(f"import os\n\n{X}\n\n{F}", F, f"import os  # noqa: F401\n\n{X}"),
        RESIDUAL,
    ),
    "one behind an import stays when others go": (
        *moved(
            "from os import (\n    getpid,  # noqa\n    path,\n)\n\n\n"
            "def f():\n    return path\n\n\nX = getpid\n",
            "from os import path\n\n\ndef f():\n    return path\n",
            "from os import getpid  # noqa\n\nX = getpid\n",
        ),
        CERTIFIED,
    ),
    "a type comment is lost": ({"m.py": "V = []  # type: list\n"}, {"m.py": "V = []\n"}, RESIDUAL),
    "a section's title stays when the section moves": (
        *moved(f"X = 1\n\n# functions\n\n\n{F}", F, "X = 1\n\n# functions\n"),
        CERTIFIED,
    ),
    "a symbol's comment stays when the symbol moves": (
        *moved(f"X = 1\n\n\n# one\n{F}", F, "X = 1\n\n\n# one\n"),
        RESIDUAL,
    ),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_of_comments(case: str) -> None:
    before, after, verdict = COMMENTS[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


LAYOUT: dict[str, tuple[Tree, Tree, str]] = {
    "lines are joined": ({"m.py": "V = [\n    1,\n]\n"}, {"m.py": "V = [1,]\n"}, CERTIFIED),
    "a trailing comma comes": ({"m.py": "V = [1]\n"}, {"m.py": "V = [1,]\n"}, RESIDUAL),
    "parentheses come": ({"m.py": "V = 1\n"}, {"m.py": "V = (1)\n"}, RESIDUAL),
    "quotes change": ({"m.py": "V = 'a'\n"}, {"m.py": 'V = "a"\n'}, RESIDUAL),
    "blank lines come": ({"m.py": BOTH}, {"m.py": f"\n\n{BOTH}\n\n"}, CERTIFIED),
    "code hides behind blank lines": ({"m.py": F}, {"m.py": F + "\n" * 5000 + X}, RESIDUAL),
    "an import hides behind a semicolon": ({"m.py": X}, {"m.py": "X = 1; import evil\n"}, RESIDUAL),
    "a form feed comes": ({"m.py": BOTH}, {"m.py": BOTH.replace("\n\n\n", "\f\n\n")}, CERTIFIED),
    "line endings change": (*moved(BOTH, F.replace("\n", "\r\n"), X), CERTIFIED),
    "a byte order mark comes": ({"m.py": F}, {"m.py": f"\ufeff{F}"}, CERTIFIED),
    "tabs become spaces": ({"m.py": F}, {"m.py": F.replace("    ", "\t")}, CERTIFIED),
    "a string's own spaces change": ({"m.py": "V = 'a  b'\n"}, {"m.py": "V = 'a b'\n"}, RESIDUAL),
    "an f-string's spaces change": ({"m.py": "V = f'{X }'\n"}, {"m.py": "V = f'{X}'\n"}, RESIDUAL),
    "braces double in an f-string": (
        {"m.py": "V = f'{X}'\n"},
        {"m.py": "V = f'{{X}}'\n"},
        RESIDUAL,
    ),
    "an empty file comes": ({"m.py": F}, {"m.py": F, "n.py": ""}, CERTIFIED),
}


@pytest.mark.parametrize("case", LAYOUT)
def test_of_layout(case: str) -> None:
    before, after, verdict = LAYOUT[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


def test_a_residual_is_the_innermost_statement() -> None:
    before = "class A:\n    def f(self):\n        if self:\n            x = 1\n            y = 2\n"
    found = judge({"m.py": before}, {"m.py": before.replace("y = 2", "y = 4")})
    assert [(r.side, r.line, r.kind, r.text, r.lines) for r in found.residuals] == [
        ("base", 5, "changed", "y = 2", (5,)),
        ("target", 5, "changed", "y = 4", (5,)),
    ]
    assert (found.added_lines, found.removed_lines) == (1, 1)


def test_only_the_lines_that_differ_are_counted() -> None:
    before = "f(\n    1,\n    2,\n)\n"
    found = judge({"m.py": before}, {"m.py": before.replace("2,", "3,\n    4,")})
    assert [(r.side, r.lines) for r in found.residuals] == [("base", (3,)), ("target", (3, 4))]


def test_a_header_that_changed_leaves_its_block_alone() -> None:
    before = 'with open("a") as x:\n    f()\n    g()\n'
    found = judge({"m.py": before}, {"m.py": before.replace('"a"', '"b"')})
    assert [(r.side, r.lines) for r in found.residuals] == [("base", (1,)), ("target", (1,))]


def test_like_statements_go_where_their_neighbours_went() -> None:
    one = "import threading\n\nL = threading.Lock()\n\n\ndef a():\n    return L\n"
    two = one.replace("def a", "def b")
    found = judge({"m.py": one, "n.py": two}, {"p.py": one, "q.py": two})
    assert found.verdict == CERTIFIED, explain(found)
    assert [(m.symbol, m.source, m.destination) for m in found.moved if m.symbol == "L"] == [
        ("L", "m.py", "p.py"),
        ("L", "n.py", "q.py"),
    ]


def test_a_relaid_statement_is_counted() -> None:
    assert judge({"m.py": "V = [\n    1]\n"}, {"m.py": "V = [1]\n"}).relaid == 1
