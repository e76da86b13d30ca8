"""Every way an unchanged file may spell a name that moved away: none of them goes unseen."""

from __future__ import annotations

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL, UNKNOWN, Certificate

PKG = {"pkg/__init__.py": ""}
PATCH = "from unittest.mock import patch\n"

TOP: dict[str, str] = {
    "behind a string with a hash": 'S = "#"; from m import f\n',
    "behind a semicolon": "x = 1; import m\nm.f()\n",
    "behind a condition on one line": "if True: import m\nm.f()\n",
    "in letters that Python normalises": "from m import \uff46\n",
    "from a module in such letters": "from \uff4d import f\n",
    "as an attribute in such letters": "import m\nm.\uff46()\n",
    "without a blank": "from m import(f)\n",
    "between tabs": "from\tm\timport\tf\n",
    "over continued lines": "from \\\n    m \\\n    import \\\n    f\n",
    "in brackets behind comments": "from m import (  # )\n    X,  # )\n    f,\n)\n",
    "behind a form feed": "\x0cfrom m import f\n",
    "behind a carriage return": "x = 1\rfrom m import f\r",
    "behind a byte order mark": "\ufefffrom m import f\n",
    "in another encoding": "# coding: latin-1\nfrom m import f\n",
    "in UTF-7": "# coding: utf-7\nfrom +AG0- import f\n",
    "in a fallback": "try: from m import f\nexcept ImportError: f = None\n",
    "by a star on a condition": "if True: from m import *\nf()\n",
    "in a nested function": "def a():\n    def b():\n        from m import f\n        return f\n",
    "in a class": "class A:\n    from m import f\n",
    "as a decorator": "import m\n@m.f\ndef g(): pass\n",
    "in a lambda": "import m\ng = lambda: m.f()\n",
    "in an f-string": 'import m\nprint(f"{m.f()}")\n',
    "in a type that is a string": 'import m\ndef g(x: "m.f"): pass\n',
    "to add to it": "import m\nm.f += 1\n",
    "by an import that is global": (
        "def a():\n    global m\n    import m\n\n\ndef b():\n    return m.f()\n"
    ),
    "by a name that may be the module": (
        "try:\n    import m as k\nexcept ImportError:\n    k = None\nk.f()\n"
    ),
    "by asking for it": 'import m\nif hasattr(m, "f"): print(1)\n',
    "by setting it": 'import m\nsetattr(m, "f", 1)\n',
    "among the modules that are loaded": 'import sys\nsys.modules["m"].f()\n',
    "by loading the module by its name": (
        'from importlib import import_module as im\nim("m").f()\n'
    ),
    "by running the module by its name": 'import runpy\nrunpy.run_module("m")["f"]()\n',
    "to patch several at once": PATCH + 'patch.multiple("m", f=1)\n',
    "to patch several of the module": PATCH + "import m\npatch.multiple(m, f=1)\n",
    "to patch it by two strings side by side": PATCH + 'patch("m." "f")\n',
}
ESCAPES: dict[str, str] = {
    "it has another name": "import m\nk = m\nk.f()\n",
    "it has another name in a function": "import m\ndef g():\n    k = m\n    return k.f()\n",
    "it is in a dictionary": 'import m\nD = {"m": m}\nD["m"].f()\n',
    "it is assigned on the way": "import m\nif (k := m): k.f()\n",
    "it is a default": "import m\ndef g(k=m):\n    return k.f()\n",
    "it is matched": "import m\nmatch m:\n    case k: k.f()\n",
    "it is one of several": "import m\nfor k in (m,): k.f()\n",
    "it is loaded again": "import importlib, m\nk = importlib.reload(m)\nk.f()\n",
    "its dictionary is read": 'import m\nm.__dict__["f"]()\n',
    "its names are listed": "import m\nfor n in dir(m): print(n)\n",
    "a getter gets it": 'import m, operator\noperator.attrgetter("f")(m)\n',
    "code that has another name is run": 'import m\nrun = exec\nrun("m.f()")\n',
    "code is run by what was imported": (
        'from builtins import exec as run\nimport m\nrun("m.f()")\n'
    ),
    "a table says where names are": (
        'import importlib\nN = {"f": "m"}\n\n\n'
        "def __getattr__(n):\n    return getattr(importlib.import_module(N[n]), n)\n"
    ),
}
INNER: dict[str, tuple[str, str]] = {
    "by an alias of its package": ("u.py", "import pkg as p\np.m.f()\n"),
    "between blanks": ("u.py", "import pkg\npkg . m . f()\n"),
    "over several lines": ("u.py", "import pkg\n(pkg\n .m\n .f())\n"),
    "relatively with a blank": ("pkg/u.py", "from . m import f\n"),
    "relatively without one": ("pkg/u.py", "from.m import f\n"),
    "relatively from below": ("pkg/s/u.py", "from .. m import f\n"),
    "by loading it relatively": (
        "u.py",
        'import importlib\nimportlib.import_module(".m", "pkg").f()\n',
    ),
    "by loading it from a package": (
        "u.py",
        'import importlib\nimportlib.import_module(".m", package="pkg").f()\n',
    ),
    "by a relative table": (
        "pkg/lazy.py",
        'import importlib\nM = {"f": ".m"}\n\n\ndef __getattr__(n):\n'
        "    return getattr(importlib.import_module(M[n], __name__), n)\n",
    ),
    "by an absolute table": (
        "u.py",
        'import importlib\nM = {"f": "pkg.m"}\n\n\ndef __getattr__(n):\n'
        "    return getattr(importlib.import_module(M[n]), n)\n",
    ),
    "to patch several at once": ("u.py", PATCH + 'patch.multiple("pkg.m", f=1)\n'),
    "among the modules that are loaded": ("u.py", 'import sys\nsys.modules["pkg.m"].f()\n'),
    "by adding two strings": ("u.py", 'monkeypatch.setattr("pkg.m" + ".f", 1)\n'),
    "by adding a constant": ("u.py", PATCH + 'M = "pkg.m"\npatch(M + ".f")\n'),
    "by a percent sign": ("u.py", PATCH + 'M = "pkg.m"\npatch("%s.f" % M)\n'),
    "by a format": ("u.py", PATCH + 'M = "pkg.m"\npatch("{}.f".format(M))\n'),
    "by a class's constant": (
        "u.py",
        PATCH + 'class T:\n    M = "pkg.m"\n\n    def t(self):\n        patch(f"{self.M}.f")\n',
    ),
    "by a function's constant": (
        "u.py",
        PATCH + 'def t():\n    M = "pkg.m"\n    patch(f"{M}.f")\n',
    ),
    "as a program": (
        "u.py",
        'import subprocess, sys\nsubprocess.run([sys.executable, "-m", "pkg.m"])\n',
    ),
}
OWN: dict[str, tuple[str, str]] = {
    "from a dot": ("pkg/u.py", "from . import f\n"),
    "by a star from a dot": ("pkg/u.py", "from . import *\nf()\n"),
    "from two dots": ("pkg/s/u.py", "from .. import f\n"),
    "within a function": ("pkg/u.py", "def g():\n    from . import f\n"),
}


def paths(found: Certificate) -> set[str]:
    """List the files that a certificate complains of."""
    return {r.path for r in found.residuals} | {u.path for u in found.unknowns}


@pytest.mark.parametrize("how", TOP)
def test_a_file_still_reaches_what_moved(how: str) -> None:
    found = judge(*moved(BOTH, F, X, u_py=TOP[how]))
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.path for r in found.residuals} == {"u.py"}


@pytest.mark.parametrize("how", ESCAPES)
def test_no_one_can_tell_what_is_read_of_a_module_when(how: str) -> None:
    found = judge(*moved(BOTH, F, X, u_py=ESCAPES[how]))
    assert found.verdict in {RESIDUAL, UNKNOWN}, explain(found)
    assert paths(found) == {"u.py"}


@pytest.mark.parametrize("how", INNER)
def test_a_file_still_reaches_what_moved_within_a_package(how: str) -> None:
    path, text = INNER[how]
    rest = {**PKG, "pkg/s/__init__.py": "", path: text}
    gone = how == "as a program"
    found = judge(
        {**rest, "pkg/m.py": BOTH},
        {**rest, "pkg/n.py": BOTH} if gone else {**rest, "pkg/m.py": X, "pkg/n.py": F},
    )
    assert found.verdict in {RESIDUAL, UNKNOWN}, explain(found)
    assert paths(found) == {path}


@pytest.mark.parametrize("how", OWN)
def test_a_file_still_reaches_what_left_its_package(how: str) -> None:
    path, text = OWN[how]
    rest = {"pkg/s/__init__.py": "", path: text}
    found = judge({**rest, "pkg/__init__.py": BOTH}, {**rest, "pkg/__init__.py": X, "n.py": F})
    assert found.verdict == RESIDUAL, explain(found)
    assert {r.path for r in found.residuals} == {path}


def test_a_script_and_a_program_of_windows_are_read() -> None:
    for path in ("tool", "u.pyw"):
        text = "#!/usr/bin/env python3\nfrom m import f\n"
        found = judge({"m.py": BOTH, path: text}, {"m.py": X, "n.py": F, path: text})
        assert found.verdict == RESIDUAL, explain(found)


def test_a_module_that_is_gone_and_loaded_by_its_name() -> None:
    user = {"u.py": 'import importlib\nimportlib.import_module("m")\n'}
    found = judge({"m.py": F, **user}, {"n.py": F, **user})
    assert found.verdict == RESIDUAL, explain(found)


NEW: dict[str, tuple[Tree, Tree]] = {
    "a library": (
        {"m.py": BOTH, "u.py": "import numpy\n\nnumpy.array(1)\n"},
        {"m.py": X, "numpy.py": F, "u.py": "import numpy\n\nnumpy.array(1)\n"},
    ),
    "a module that scripts beside it import": (
        {"lib/utils.py": "a = 1\n", "app/m.py": BOTH, "app/x.py": "import utils\n\nutils.a\n"},
        {
            "lib/utils.py": "a = 1\n",
            "app/m.py": X,
            "app/utils.py": F,
            "app/x.py": "import utils\n\nutils.a\n",
        },
    ),
    "a function that its package imports": (
        {
            "pkg/__init__.py": "from pkg.h import core\n",
            "pkg/h.py": "def core():\n    pass\n",
            "pkg/m.py": BOTH,
            "u.py": "from pkg import core\n\ncore()\n",
        },
        {
            "pkg/__init__.py": "from pkg.h import core\n",
            "pkg/h.py": "def core():\n    pass\n",
            "pkg/m.py": X,
            "pkg/core.py": F,
            "u.py": "from pkg import core\n\ncore()\n",
        },
    ),
    "a constant of its package": (
        {"pkg/__init__.py": "core = 1\n", "pkg/m.py": BOTH},
        {"pkg/__init__.py": "core = 1\n", "pkg/m.py": X, "pkg/core.py": F},
    ),
    "what Python loads by itself": ({"m.py": BOTH}, {"m.py": X, "sitecustomize.py": F}),
}


@pytest.mark.parametrize("what", NEW)
def test_a_new_module_hides(what: str) -> None:
    found = judge(*NEW[what])
    assert found.verdict == RESIDUAL, explain(found)


def test_a_package_may_take_a_function_from_the_module_named_after_it() -> None:
    found = judge(
        {"pkg/__init__.py": "from pkg.m import f\n", "pkg/m.py": BOTH},
        {"pkg/__init__.py": "from pkg.f import f\n", "pkg/m.py": X, "pkg/f.py": F},
    )
    assert found.verdict == CERTIFIED, explain(found)


@pytest.mark.parametrize(
    ("link", "leads", "path"), [("k.py!l", "m.py", "k"), ("lib!l", ".", "lib.m")]
)
def test_a_link_gives_a_changed_module_another_name(link: str, leads: str, path: str) -> None:
    rest = {link: leads, "u.py": f"from {path} import f\n"}
    found = judge({"m.py": BOTH, **rest}, {"m.py": X, "n.py": F, **rest})
    assert found.verdict == UNKNOWN, explain(found)


def test_a_link_that_leads_elsewhere_is_let_be() -> None:
    found = judge(*moved(BOTH, F, X, **{"k!l": "docs/a.md"}))
    assert found.verdict == CERTIFIED, explain(found)


LISTS = {
    "appends to it": '__all__ = ["X"]\n__all__.append("f")\n',
    "adds lists": '__all__ = ["X"] + ["f"]\n',
    "extends it on a condition": '__all__ = ["X"]\nif X:\n    __all__.extend(["f"])\n',
}


@pytest.mark.parametrize("how", LISTS)
def test_a_list_of_exports_is_not_believed_if_a_module(how: str) -> None:
    head = LISTS[how]
    user = {"u.py": "from m import *\nf()\n"}
    base = {"m.py": f"{X}{head}\n\n{F}", **user}
    found = judge(base, {"m.py": f"{X}{head}", "n.py": F, **user})
    assert found.verdict == RESIDUAL, explain(found)
    assert {"u.py"} <= {r.path for r in found.residuals}


@pytest.mark.parametrize("how", ["m.V = 2", 'setattr(m, "V", 2)'])
def test_what_is_written_to_a_constant_does_not_reach_its_copy(how: str) -> None:
    uses = "V = 1\n\n\ndef g():\n    return V\n"
    rest = "V = 1\n\n\ndef h():\n    return V\n"
    both = f"{uses}\n\ndef h():\n    return V\n"
    found = judge(*moved(both, uses, rest, u_py=f"import m\n\n{how}\n"))
    assert found.verdict == RESIDUAL, explain(found)


def test_what_is_written_elsewhere_does_not_reach_a_name_taken_once() -> None:
    rest = {"k.py": "C = 1\n", "u.py": "import k\n\nk.C = 5\n"}
    before = "import k\n\n\ndef f():\n    return k.C\n"
    after = "from k import C\n\n\ndef f():\n    return C\n"
    found = judge({"m.py": before, **rest}, {"m.py": after, **rest})
    assert found.verdict == RESIDUAL, explain(found)
