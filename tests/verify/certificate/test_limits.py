"""What docs/certificate.md says that the first kernel cannot see. Where one of these is no longer
certified, the page has a row too many.
"""

from __future__ import annotations

import pytest

from tests.documents import ROOT, rows, sections
from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED

PAGE = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")


def taken_out(statement: str, head: str = "", **others: str) -> tuple[Tree, Tree]:
    """Move a statement to a module of its own, with its imports, away from `X`."""
    return moved(f"{head}{statement}\n\n{X}", f"{head}{statement}", X, **others)


LUCK = {
    "p/__init__.py": "",
    "p/s.py": "V = 1\n",
    "q.py": "import p.s\n",
    "m.py": "import p\nimport q\n\n\ndef f():\n    return p.s.V\n\n\nX = 1\n",
}
ONLY_RUN = "from typing import TYPE_CHECKING\n\nif not TYPE_CHECKING:\n    from x import A\n\n\n"
USER = "def f():\n    return A\n"

LIMITS: dict[str, list[tuple[Tree, Tree]]] = {
    "code that reads where it stands through its own attributes": [
        taken_out("class C:\n    def f(self):\n        return type(self).__module__\n"),
        taken_out("def f():\n    return f.__code__.co_filename\n"),
    ],
    "code that reads its own source": [
        taken_out("def f():\n    return inspect.getsource(f)\n", "import inspect\n\n\n")
    ],
    "warnings and logs that name the file of a caller": [
        taken_out('def f():\n    warnings.warn("x", stacklevel=2)\n', "import warnings\n\n\n")
    ],
    "an operator or attribute of an object from outside the tree, that acts when it is used on "
    "import": [
        taken_out("A = library.X | 1\n", "import library\n\n", u_py="import m\n"),
        taken_out("A = library.x.y\n", "import library\n\n", u_py="import m\n"),
    ],
    "an import that only a type checker does not see, once plain": [
        (
            {"m.py": f"{ONLY_RUN}{USER}\n\n{X}"},
            {"m.py": X, "n.py": f"from x import A\n\n\n{USER}"},
        )
    ],
    "a submodule that is there because another file loads it": [
        (
            LUCK,
            {
                **LUCK,
                "m.py": "import p\nimport q\n\n\nX = 1\n",
                "n.py": "import p\n\n\ndef f():\n    return p.s.V\n",
            },
        )
    ],
    "pickles, and whoever stores a dotted name in data": [
        taken_out("class C:\n    pass\n", data_pickle="cm\nC\n.")
    ],
    "other languages": [
        moved(BOTH, F, X, u_pyx="from m import f\n", u_html="{% load m.f %}\n"),
    ],
    "subclasses counted at run time": [
        taken_out(
            "class C(B):\n    pass\n",
            "from library import B\n\n\n",
            u_py="from library import B\n\nB.__subclasses__()\n",
        )
    ],
}


def stated() -> list[str]:
    return [row[0] for row in rows(sections(PAGE)["What the first kernel cannot see"])]


def test_the_page_lists_them() -> None:
    assert stated() == list(LIMITS)


@pytest.mark.parametrize("limit", LIMITS)
def test_it_is_certified_all_the_same(limit: str) -> None:
    for before, after in LIMITS[limit]:
        found = judge(before, after)
        assert found.verdict == CERTIFIED, explain(found)


@pytest.mark.parametrize(
    "statement",
    [
        "def f():\n    return __name__\n",
        "def f():\n    return __file__\n",
        "def f():\n    return f.__globals__\n",
        "def f():\n    return eval('X')\n",
        "A = print()\n",
    ],
)
def test_what_the_page_says_it_does_see_it_sees(statement: str) -> None:
    assert judge(*taken_out(statement, u_py="import m\n")).verdict != CERTIFIED
