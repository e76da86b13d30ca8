"""What docs/certificate.md says that the kernel does not see. Where one of these is no longer
certified, the page has a row too many.
"""

from __future__ import annotations

import pytest

from tests.documents import ROOT, rows, sections
from tests.verify.kernel.trees import Tree, explain, judge
from verify.kernel import CERTIFIED
from verify.kernel.edits import bodies
from verify.kernel.machine import calls, loads, state, statements, values
from verify.kernel.trees.effects import QUESTIONS

PAGE = sections((ROOT / "docs" / "certificate.md").read_text(encoding="utf-8"))
X = "X = 1\n"


def taken_out(statement: str, head: str = "", **others: str) -> tuple[Tree, Tree]:
    """Move a statement to a module of its own, with its imports, away from `X`."""
    more = {name.replace("_", "."): text for name, text in others.items()}
    before = {"m.py": f"{head}{statement}\n\n{X}", **more}
    return before, {"m.py": X, "n.py": f"{head}{statement}", **more}


ONE, TWO = "def test_one():\n    S.append(1)\n", "def test_two():\n    assert S\n"
TAKEN = "from s import S\n\n\n"
LUCK = {
    "p/__init__.py": "",
    "p/s.py": "V = 1\n",
    "q.py": "import p.s\n",
    "m.py": f"import p\nimport q\n\n\ndef f():\n    return p.s.V\n\n\n{X}",
}
SHARED = """import pytest

N = []


@pytest.fixture(scope="module")
def count():
    N.append(1)
    return len(N)
"""
BYTES = "B = bytearray(b'ab')\nV = memoryview(B)\n\n"
TEST = "def test_{0}(count):\n    assert count == 1\n"
HELD = "import t\n\n\nclass P:\n    def __reduce__(self):\n        return getattr, (t, 'RATE')\n"
OBJECT = "class R:\n    def __del__(self):\n        print(1)\n"
GIVEN = "from r import R\n\nH = R()\n"
DROPS = "def drop():\n    global H\n    H = None\n"
SHOWN = "class C:\n    def m(self):\n        return 1\n\n\n"
PICKLED = "import pickle\n\n\ndef f():\n    return b'm' in pickle.dumps(C)\n"
REPORTED = "import traceback\n\n\ndef f():\n    return 'm.py' in traceback.format_exc()\n"
LIMITS: dict[str, list[tuple[Tree, Tree]]] = {
    "an operator or attribute of an object from outside the tree, that acts": [
        taken_out("A = library.X | 1\n", "import library\n\n", u_py="import m\n"),
        taken_out("A = library.x.y\n", "import library\n\n", u_py="import m\n"),
    ],
    "the order of tests": [
        (
            {"s.py": "S = []\n", "test_a.py": f"{TAKEN}{ONE}\n\n{TWO}"},
            {"s.py": "S = []\n", "test_a.py": f"{TAKEN}{TWO}", "test_b.py": f"{TAKEN}{ONE}"},
        )
    ],
    "whoever stores a dotted name as data": [
        taken_out("class C:\n    pass\n", data_pickle="cm\nC\n.")
    ],
    "a submodule that is there because another file loads it": [
        (
            LUCK,
            {
                **LUCK,
                "m.py": f"import p\nimport q\n\n\n{X}",
                "n.py": "import p\n\n\ndef f():\n    return p.s.V\n",
            },
        )
    ],
    "what a fixture that several tests share has counted": [
        (
            {"conftest.py": SHARED, "test_a.py": f"{TEST.format(1)}\n\n{TEST.format(2)}"},
            {"conftest.py": SHARED, "test_a.py": TEST.format(2), "test_b.py": TEST.format(1)},
        )
    ],
    "bytes that are shown by another object": [
        (
            {"m.py": f"{BYTES}SEEN = V[0]\n\nB[0] = 1\n", "u.py": "from m import SEEN\n"},
            {
                "m.py": f"{BYTES}B[0] = 1\n",
                "n.py": "from m import V\n\nSEEN = V[0]\n",
                "u.py": "from n import SEEN\n",
            },
        )
    ],
    "when an object is given up": [
        (
            {"r.py": OBJECT, "m.py": f"{GIVEN}\n\n{DROPS}"},
            {"r.py": OBJECT, "m.py": f"from n import H\n\n\n{DROPS}", "n.py": GIVEN},
        )
    ],
    "what a pickle or a report of an error has in it": [
        (
            {"m.py": f"{SHOWN}{X}", "u.py": f"from m import C\n\n\n{line}"},
            {"m.py": X, "n.py": SHOWN.rstrip() + "\n", "u.py": f"from n import C\n\n\n{line}"},
        )
        for line in (PICKLED, REPORTED)
    ],
    "`getattr` that is given away with a module and a name": [
        (
            {"t.py": f"RATE = 2\n{X}", "v.py": HELD},
            {"t.py": X, "n.py": "RATE = 2\n", "v.py": HELD},
        )
    ],
}


def test_the_page_lists_them() -> None:
    stated = [row[0] for row in rows(PAGE["What it does not promise"])]
    assert stated[: len(LIMITS)] == list(LIMITS)


@pytest.mark.parametrize("limit", LIMITS)
def test_it_is_certified_all_the_same(limit: str) -> None:
    for before, after in LIMITS[limit]:
        found = judge(before, after)
        assert found.verdict == CERTIFIED, explain(found)


def test_the_page_has_the_bounds_as_they_are() -> None:
    page = PAGE["What it does not promise"]
    assert f"{state.MOST_PATHS} paths through one top-level statement" in page
    assert (
        f"{state.MOST_STEPS:,} steps of a module, {bodies.MOST_STEPS_OF_BODY:,} of a body" in page
    )
    assert f"{calls.MOST_CALLS} within each other, {calls.MOST_READ} where a body is read" in page
    assert f"{calls.MOST_ITEMS} items, {statements.MOST_TURNS} turns" in page
    assert f"{values.MOST_DEPTH} objects within each other" in page
    assert f"{bodies.MOST_INNER} functions that one body makes" in page
    assert f"{loads.MOST_UNITS} states in which one module is loaded" in page


def test_the_questions_that_the_page_names_are_listed() -> None:
    for name in ("torch.cuda.is_available", "os.path.exists"):
        assert name in QUESTIONS
        assert f"`{name}`" in PAGE["What follows from CERTIFIED"]
