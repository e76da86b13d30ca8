"""What other files read, write or patch, what runs on import, and what no one can tell."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL, UNKNOWN

PKG = {"pkg/__init__.py": ""}
FLAG = "from k import is_on\n\n_on = is_on()\n\n\ndef f():\n    if _on:\n        return 1\n"
REG = "R = []\n\n\ndef register(c):\n    R.append(c)\n    return c\n"

READERS = {
    "imports it": "from m import NAME\n",
    "imports it within a function": "def g():\n    from m import NAME\n",
    "reads it": "import m\n\nm.NAME()\n",
    "reads it by an alias": "import m as k\n\nk.NAME()\n",
    "writes it": "import m\n\nm.NAME = 1\n",
    "deletes it": "import m\n\ndel m.NAME\n",
    "patches it by its path": 'from unittest import mock\n\nmock.patch("m.NAME")\n',
    "patches it by a path made of a constant": 'M = "m"\n\nmock.patch(f"{M}.NAME")\n',
    "patches it in its module": 'import m\n\nmock.patch.object(m, "NAME")\n',
    "sets it in its module": 'import m\n\nmonkeypatch.setattr(m, "NAME", 1)\n',
    "sets it by its path": 'monkeypatch.setattr("m.NAME", 1)\n',
    "gets it by its name": 'import m\n\ngetattr(m, "NAME")\n',
    "imports a star and uses it": "from m import *\n\nNAME()\n",
    "loads the module by its name": 'import importlib\n\nimportlib.import_module("m").NAME()\n',
    "names an entry point": 'setup(entry_points={"console_scripts": ["m:NAME"]})\n',
    "names it for type checkers": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from m import NAME\n"
    ),
}


@pytest.mark.parametrize("how", READERS)
def test_an_unchanged_file_loses_what_moved_and_it(how: str) -> None:
    found = judge(*moved(BOTH, F, X, u_py=READERS[how].replace("NAME", "f")))
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.path for r in found.residuals} == {"u.py"}
    assert {r.kind for r in found.residuals} == {"reach"}


@pytest.mark.parametrize("how", READERS)
def test_an_unchanged_file_keeps_what_stayed_and_it(how: str) -> None:
    found = judge(*moved(BOTH, F, X, u_py=READERS[how].replace("NAME", "X")))
    assert found.verdict == CERTIFIED, explain(found)


MORE: dict[str, tuple[Tree, Tree, str]] = {
    "a star import hands a loss on": (
        *moved(BOTH, F, X, u_py="from m import *\n", v_py="from u import f\n"),
        RESIDUAL,
    ),
    "a star import brings what it did not": (
        {
            "m.py": BOTH,
            "n.py": "Z = 1\n",
            "k.py": F,
            "u.py": "from k import f\nfrom n import *\n\nf()\n",
        },
        {
            "m.py": X,
            "n.py": f"Z = 1\n\n\n{F}",
            "k.py": F,
            "u.py": "from k import f\nfrom n import *\n\nf()\n",
        },
        RESIDUAL,
    ),
    "star imports go round in a circle": (
        {"m.py": f"from k import *\n\n\n{BOTH}", "k.py": "from m import *\n"},
        {"m.py": f"from k import *\n\n{X}", "n.py": F, "k.py": "from m import *\n"},
        RESIDUAL,
    ),
    "a star import brings what nobody looks at": (
        {"m.py": BOTH, "n.py": "Z = 1\n", "u.py": "from n import *\n\nprint(Z)\n"},
        {"m.py": X, "n.py": f"Z = 1\n\n\n{F}", "u.py": "from n import *\n\nprint(Z)\n"},
        CERTIFIED,
    ),
    "an imported name was taken from the source": (
        *moved(
            f"import json\n\n\ndef f():\n    return json\n\n\n{X}",
            "import json\n\n\ndef f():\n    return json\n",
            X,
            u_py="from m import json\n",
        ),
        RESIDUAL,
    ),
    "a module is gone and taken from its package": (
        {**PKG, "pkg/m.py": F, "u.py": "from pkg import m\n"},
        {**PKG, "pkg/n.py": F, "u.py": "from pkg import m\n"},
        RESIDUAL,
    ),
    "a module is gone and imported": (
        {**PKG, "pkg/m.py": F, "u.py": "import pkg.m\n"},
        {**PKG, "pkg/n.py": F, "u.py": "import pkg.m\n"},
        RESIDUAL,
    ),
    "a module is gone and imported relatively": (
        {**PKG, "pkg/m.py": F, "pkg/u.py": "from . import m\n"},
        {**PKG, "pkg/n.py": F, "pkg/u.py": "from . import m\n"},
        RESIDUAL,
    ),
    "a module is gone and named as a plugin": (
        {**PKG, "pkg/m.py": F, "u.py": 'pytest_plugins = ["pkg.m"]\n'},
        {**PKG, "pkg/n.py": F, "u.py": 'pytest_plugins = ["pkg.m"]\n'},
        RESIDUAL,
    ),
    "a function hides a submodule": (
        {
            "pkg/__init__.py": "Q = 1\n",
            "pkg/f.py": "Z = 1\n",
            "m.py": BOTH,
            "u.py": "from pkg import f\n\nf.Z\n",
        },
        {
            "pkg/__init__.py": f"Q = 1\n\n\n{F}",
            "pkg/f.py": "Z = 1\n",
            "m.py": X,
            "u.py": "from pkg import f\n\nf.Z\n",
        },
        RESIDUAL,
    ),
    "what is written to the old module is not seen": (
        *moved(
            "D = 1\n\n\ndef f():\n    return D\n\n\ndef g():\n    return D\n",
            "D = 1\n\n\ndef f():\n    return D\n",
            "from n import D\n\n\ndef g():\n    return D\n",
            u_py="import m\n\nm.D = 2\n",
        ),
        RESIDUAL,
    ),
    "a patch names the moved symbol": (
        {"m.py": BOTH, "u.py": 'mock.patch("m.f")\n'},
        {"m.py": X, "n.py": F, "u.py": 'mock.patch("n.f")\n'},
        CERTIFIED,
    ),
    "a patch names another global of the new module": (
        {
            "m.py": f"import os\n\n\ndef f():\n    return os\n\n\n{X}",
            "u.py": 'mock.patch("m.os")\n',
        },
        {
            "m.py": X,
            "n.py": "import os\n\n\ndef f():\n    return os\n",
            "u.py": 'mock.patch("n.os")\n',
        },
        RESIDUAL,
    ),
    "`__all__` lists what moved": (
        *moved(f'__all__ = ["f", "X"]\n\n\n{BOTH}', F, f'__all__ = ["f", "X"]\n\n{X}'),
        RESIDUAL,
    ),
    "`__all__` is edited": (
        *moved(f'__all__ = ["f", "X"]\n\n\n{BOTH}', F, f'__all__ = ["X"]\n\n{X}'),
        RESIDUAL,
    ),
    "an entry point of the project": (
        *moved(BOTH, F, X, pyproject_toml='[project.scripts]\nx = "m:f"\n'),
        RESIDUAL,
    ),
    "prose names what moved": (*moved(BOTH, F, X, a_md="see m.f\n"), CERTIFIED),
}


@pytest.mark.parametrize("case", MORE)
def test_what_others_reach(case: str) -> None:
    before, after, verdict = MORE[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


def test_a_patch_of_what_moved_code_reads_is_listed() -> None:
    reads = "import os\n\n\ndef f():\n    return os\n"
    stays = "import os\n\nX = os\n"
    before, after = moved(f"{reads}\n\nX = os\n", reads, stays, u_py='mock.patch("m.os")\n')
    found = judge(before, after)
    assert found.verdict == CERTIFIED, explain(found)
    assert [(o.path, o.line) for o in found.observables if o.kind == "patch"] == [("u.py", 1)]


def test_prose_that_names_what_moved_is_listed() -> None:
    found = judge(*moved(BOTH, F, X, a_md="# One\n\nsee m.f\n"))
    assert [(o.path, o.line) for o in found.observables if o.kind == "mention"] == [("a.md", 3)]


ORDER: dict[str, tuple[Tree, Tree, str]] = {
    "a call is no longer run with the source": (
        *moved(
            f"import atexit\n\n\n{F}\n\natexit.register(f)\n\n{X}",
            f"import atexit\n\n\n{F}\n\natexit.register(f)\n",
            X,
        ),
        RESIDUAL,
    ),
    "a call is still run with the source": (
        *moved(
            f"import atexit\n\n\n{F}\n\natexit.register(f)\n\n\ndef g():\n    f()\n",
            f"import atexit\n\n\n{F}\n\natexit.register(f)\n",
            "from n import f\n\n\ndef g():\n    f()\n",
        ),
        CERTIFIED,
    ),
    "two calls change places": (
        {"m.py": "print(1)\nprint(2)\n"},
        {"m.py": "print(2)\nprint(1)\n"},
        RESIDUAL,
    ),
    "two calls change places in the new module": (
        *moved("X = 1\nprint(1)\nprint(2)\n", "print(2)\nprint(1)\n", "import n\n\nX = 1\n"),
        RESIDUAL,
    ),
    "a call moves above one that stayed": (
        *moved(
            f"print(1)\nprint(2)\n\n\n{F}\n\ng = f\n",
            f"print(2)\n\n\n{F}",
            "from n import f\n\nprint(1)\n\ng = f\n",
        ),
        RESIDUAL,
    ),
    "a registered class is no longer loaded": (
        *moved(
            f"from reg import register\n\n\n@register\nclass A:\n    pass\n\n\n{X}",
            "from reg import register\n\n\n@register\nclass A:\n    pass\n",
            X,
            reg_py=REG,
        ),
        RESIDUAL,
    ),
    "an effect comes from making a value": (
        *moved(
            f"from reg import register\n\nA = register(1)\n\n{X}",
            "from reg import register\n\nA = register(1)\n",
            X,
            reg_py=REG,
        ),
        RESIDUAL,
    ),
    "a flag is no longer loaded": (
        *moved(
            f"{FLAG}\n\n{X}",
            FLAG,
            X,
            k_py="def is_on():\n    return 1\n",
        ),
        CERTIFIED,
    ),
    "a value is made before its function": (
        {"m.py": "def b():\n    return 1\n\n\nX = b()\n"},
        {"m.py": "X = b()\n\n\ndef b():\n    return 1\n"},
        RESIDUAL,
    ),
    "a value is made before what its function calls": (
        {"m.py": "def b():\n    return 1\n\n\ndef a():\n    return b()\n\n\nX = a()\n"},
        {"m.py": "def a():\n    return b()\n\n\nX = a()\n\n\ndef b():\n    return 1\n"},
        RESIDUAL,
    ),
    "a path is set after the import it was for": (
        {"m.py": "import sys\n\nsys.path.insert(0, 'x')\n\nimport os\n\nprint(os)\n"},
        {"m.py": "import sys\nimport os\n\nsys.path.insert(0, 'x')\n\nprint(os)\n"},
        RESIDUAL,
    ),
    "two modules import each other too early": (
        *moved(
            "Y = 1\n\n\ndef f():\n    return Y\n\n\ndef g():\n    return f()\n",
            "from m import Y\n\n\ndef f():\n    return Y\n",
            "from n import f\n\nY = 1\n\n\ndef g():\n    return f()\n",
        ),
        RESIDUAL,
    ),
    "an existing module closes a circle": (
        {
            "m.py": f"import t\n\n\ndef f():\n    return t\n\n\n{X}",
            "n.py": "Z = 1\n",
            "t.py": "import n\n",
        },
        {
            "m.py": X,
            "n.py": "import t\n\nZ = 1\n\n\ndef f():\n    return t\n",
            "t.py": "import n\n",
        },
        RESIDUAL,
    ),
    "a new module counts as the one it came from": (
        {"m.py": f"import t\n\n\ndef f():\n    return t\n\n\n{X}", "t.py": "import m\n"},
        {
            "m.py": f"import n\n\n{X}\n\nprint(n)\n",
            "n.py": "import t\n\n\ndef f():\n    return t\n",
            "t.py": "import m\n",
        },
        RESIDUAL,
    ),
}


@pytest.mark.parametrize("case", ORDER)
def test_what_runs_on_import(case: str) -> None:
    before, after, verdict = ORDER[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


DYNAMIC: dict[str, tuple[Tree, Tree, str]] = {
    "moved code evaluates": (
        *moved(f"def f(e):\n    return eval(e)\n\n\n{X}", "def f(e):\n    return eval(e)\n", X),
        UNKNOWN,
    ),
    "a method is called eval": (
        *moved(f"def f(e):\n    return e.eval()\n\n\n{X}", "def f(e):\n    return e.eval()\n", X),
        CERTIFIED,
    ),
    "the source runs text": (*moved(f"{F}\n\nexec('X = 1')\n", F, "exec('X = 1')\n"), UNKNOWN),
    "moved code loads a module by a computed name": (
        *moved(
            f"import importlib\n\n\ndef f(n):\n    return importlib.import_module(n)\n\n\n{X}",
            "import importlib\n\n\ndef f(n):\n    return importlib.import_module(n)\n",
            X,
        ),
        UNKNOWN,
    ),
    "the source answers for any name": (
        *moved(
            f"{F}\n\ndef __getattr__(n):\n    return 1\n", F, "def __getattr__(n):\n    return 1\n"
        ),
        UNKNOWN,
    ),
    "the source replaces itself": (
        *moved(
            f"import sys\n\nsys.modules['m'] = 1\n\n\n{F}",
            F,
            "import sys\n\nsys.modules['m'] = 1\n",
        ),
        UNKNOWN,
    ),
    "another file asks the source for a computed name": (
        *moved(BOTH, F, X, u_py="import m\n\n\ndef g(n):\n    return getattr(m, n)\n"),
        UNKNOWN,
    ),
    "another file runs text that names the source": (
        *moved(BOTH, F, X, u_py='exec("from m import X")\n'),
        UNKNOWN,
    ),
    "another file evaluates something else": (
        *moved(BOTH, F, X, u_py='import m\n\neval("1")\n'),
        CERTIFIED,
    ),
    "a caller whose names stay the same evaluates": (
        {"m.py": BOTH, "u.py": "from m import f\n\neval('1')\nf()\n"},
        {"m.py": X, "n.py": F, "u.py": "from n import f\n\neval('1')\nf()\n"},
        CERTIFIED,
    ),
    "another file that names the source does not parse": (
        *moved(BOTH, F, X, u_py="from m import f\n(\n"),
        UNKNOWN,
    ),
}


@pytest.mark.parametrize("case", DYNAMIC)
def test_what_no_one_can_tell(case: str) -> None:
    before, after, verdict = DYNAMIC[case]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)


def test_a_folder_whose_name_is_no_text_is_looked_at_like_any_other() -> None:
    folder = "caf\udce9"
    before = {f"{folder}/m.py": f"{F}\n\n{X}", f"{folder}/u.py": "from .m import f\n\nf()\n"}
    after = {
        f"{folder}/n.py": F,
        f"{folder}/m.py": X,
        f"{folder}/u.py": "from .n import f\n\nf()\n",
    }
    assert judge(before, after).verdict == CERTIFIED
    assert judge(before, {**after, f"{folder}/u.py": before[f"{folder}/u.py"]}).verdict == RESIDUAL
