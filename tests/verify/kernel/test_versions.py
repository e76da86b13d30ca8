"""For which Pythons a verdict holds: annotations are evaluated where any of them does it."""

from __future__ import annotations

import pytest

from tests.verify.kernel.trees import judge
from verify.kernel import CERTIFIED, UNKNOWN
from verify.kernel.trees.versions import defers, here, oldest, required

BASE = {"a.py": "def f(x: Late):\n    return x\n\n\nclass Late:\n    pass\n\n\nX = 1\n"}
TARGET = {
    "a.py": "from b import X\n\n\ndef f(x: Late):\n    return x\n\n\nclass Late:\n    pass\n",
    "b.py": "X = 1\n",
}
ASKED = {
    "of a project": ({"pyproject.toml": '[project]\nrequires-python = ">=3.10"\n'}, ">=3.10"),
    "of settings": ({"setup.cfg": "[options]\npython_requires = >=3.8,<4\n"}, ">=3.8,<4"),
    "of a script": ({"setup.py": "setup(python_requires='~=3.9')\n"}, "~=3.9"),
    "of poetry": ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.14"\n'}, "^3.14"),
    "none": ({"pyproject.toml": "[project]\n"}, ""),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_requirement_is_found(what: str) -> None:
    files, spelled = ASKED[what]
    assert required({path: text.encode() for path, text in files.items()}) == spelled


@pytest.mark.parametrize(
    ("spelled", "first", "later"),
    [
        ("", (), False),
        (">=3.10", (3, 10), False),
        (">3.13", (3, 14), True),
        (">=3.14,<4", (3, 14), True),
        ("<4,>=3.15.1", (3, 15, 1), True),
        ("==3.12.*", (3, 12), False),
        ("!=3.14", (), False),
    ],
)
def test_the_oldest_python_decides(spelled: str, first: tuple[int, ...], later: bool) -> None:
    assert (oldest(spelled), defers(spelled)) == (first, later)


def test_annotations_wait_where_every_python_lets_them_wait() -> None:
    settings = {"pyproject.toml": '[project]\nrequires-python = ">=3.14"\n'}
    found = judge({**BASE, **settings}, {**TARGET, **settings})
    assert found.verdict == CERTIFIED
    assert found.pythons == f"Python >=3.14, as the tree requires; read by Python {here()}"


def test_annotations_are_evaluated_where_any_python_does_it_at_once() -> None:
    settings = {"pyproject.toml": '[project]\nrequires-python = ">=3.12"\n'}
    assert judge({**BASE, **settings}, {**TARGET, **settings}).verdict == UNKNOWN


def test_what_this_python_cannot_read_is_refused_with_the_reason() -> None:
    settings = {"pyproject.toml": '[project]\nrequires-python = ">=3.99"\n'}
    [finding] = judge({"a.py": "x = 1\n", **settings}, {"a.py": "x = @\n", **settings}).findings
    assert finding.why.startswith(f"Python {here()} reads it, the tree wants >=3.99: ")
