"""The abstract machine: what it binds, what it takes for an event, and where paths join."""

from __future__ import annotations

import abc
import importlib
import typing

import pytest

from verify.kernel.machine import Machine
from verify.kernel.machine.values import key
from verify.kernel.trees.effects import BASES
from verify.kernel.trees.tree import Parsed, Tree


def run(**files: str) -> Machine:
    """Import `a` of a small tree; `__` stands for `/`."""
    named = {name.replace("__", "/") + ".py": text.encode() for name, text in files.items()}
    machine = Machine(Tree("base", named, Parsed()), lambda path, index: (path, index), [""])
    machine.load("a")
    return machine


def bound(machine: Machine, name: str) -> object:
    return key(machine.modules["a"].names[name])


def events(machine: Machine) -> list[object]:
    return [event.what[0] for event in machine.trace if event.acts]


BINDS = {
    "a constant is its value": ("X = 1 + 2\n", ("int", "3")),
    "text is put together": ("X = 'a' + f'{1}'\n", ("str", "'a1'")),
    "a call of the tree is run": ("def f(x):\n    return x\n\n\nX = f(4)\n", ("int", "4")),
    "a comprehension is run": ("X = len([n for n in (1, 2)])\n", ("int", "2")),
    "what is outside has its name": ("import os\nX = os.sep\n", ("outside", "os.sep")),
    "a class reads its own names": ("class A:\n    y = 2\n    z = y\nX = A.z\n", ("int", "2")),
    "the first branch that holds": ("if 1 > 2:\n    X = 1\nelse:\n    X = 2\n", ("int", "2")),
    "what was caught": ("try:\n    Y\nexcept NameError:\n    X = 5\n", ("int", "5")),
}


@pytest.mark.parametrize("what", BINDS)
def test_it_binds(what: str) -> None:
    text, expected = BINDS[what]
    assert bound(run(a=text), "X") == expected


INERT = {
    "literals": "X = [1, {'a': (2,)}]\n",
    "functions and classes": "class A:\n    def f(self):\n        print(1)\n",
    "a plain instance": "class A:\n    def __init__(self):\n        self.x = 1\nX = A()\n",
    "a maker on the list": "import re\nX = re.compile('a')\n",
    "an object that the statement itself made": "X = []\nfor n in (1,):\n    Y = [n]\n",
    "an object that the module itself made": "X = []\nX.append(1)\nY = {}\nY['k'] = X\n",
    "a table that the module's own decorator fills": (
        "R = []\n\n\ndef keep(f):\n    R.append(f)\n    return f\n\n\n@keep\ndef g():\n    pass\n"
    ),
}
ACTS = {
    "a call that nobody knows": "import other\nother.f()\n",
    "an object that another module made": "import b\nb.R.append(1)\n",
    "an object that others may have by now": "X = []\nimport b\nX.append(1)\n",
    "a base that hooks in": "from b import B\n\n\nclass C(B):\n    pass\n",
    "a hook of its own that fills what another made": (
        "from b import R\n\n\nclass D:\n    def __init_subclass__(cls):\n        R.append(1)\n\n\n"
        "class E(D):\n    pass\n"
    ),
    "the environment": "import os\nos.environ['A'] = '1'\n",
    "a module's name from elsewhere": "import b\nb.X = 2\n",
}


@pytest.mark.parametrize("what", INERT)
def test_it_is_inert(what: str) -> None:
    assert events(run(a=INERT[what])) == []


HOOKS = "X = 1\nR = []\n\n\nclass B:\n    def __init_subclass__(cls):\n        R.append(1)\n"


@pytest.mark.parametrize("what", ACTS)
def test_it_acts(what: str) -> None:
    assert events(run(a=ACTS[what], b=HOOKS))


def test_paths_join_behind_a_guard() -> None:
    text = "try:\n    import fast\nexcept ImportError:\n    fast = None\nX = fast\n"
    machine = run(a=text)
    assert bound(machine, "X") == (
        "choice",
        ("has", "fast"),
        ("outside", "fast"),
        ("NoneType", "None"),
    )
    assert machine.deaths == []


def test_a_path_on_which_an_outside_module_is_missing_ends() -> None:
    [death] = run(a="import fast\nX = 1\n").deaths
    assert (death.error, death.outside) == ("ModuleNotFoundError", "fast")


def test_the_same_question_has_the_same_answer() -> None:
    guard = "try:\n    import fast\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
    machine = run(a=f"{guard}if HAVE:\n    X = fast\nelse:\n    X = 0\n")
    assert machine.deaths == []
    assert bound(machine, "X") == ("choice", ("has", "fast"), ("outside", "fast"), ("int", "0"))


def test_parents_are_imported_first_and_have_their_submodules() -> None:
    machine = run(a="import p.q\nX = p.q.Z\n", p____init__="", p__q="Z = 3\n")
    assert [*machine.modules] == ["a", "p", "p.q"]
    assert bound(machine, "X") == ("int", "3")


def test_a_cycle_sees_what_is_bound_so_far() -> None:
    machine = run(a="Y = 1\nimport b\nX = b.Z\n", b="import a\nZ = a.Y\n")
    assert bound(machine, "X") == ("int", "1")


def test_a_base_that_is_said_to_be_plain_is_plain() -> None:
    plain = [name for name, why in BASES.items() if why.startswith("its metaclass is plain")]
    aliases = [name for name, why in BASES.items() if why.endswith("by another name")]
    for name in aliases:
        assert getattr(typing, name.removeprefix("typing.")).__origin__, name
    assert plain
    for name in plain:
        module, _, title = name.rpartition(".")
        made = getattr(importlib.import_module(module), title)
        assert type(made) in (type, abc.ABCMeta), name
        assert not any("__init_subclass__" in vars(one) for one in made.__mro__[:-1]), name
