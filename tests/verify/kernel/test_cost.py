"""What the kernel does for trees of many modules, counted: modules run and bodies read."""

from __future__ import annotations

import time

import pytest

from tests.verify.kernel.trees import files
from verify.kernel import certify
from verify.kernel.edits.bodies import Bodies
from verify.kernel.judging import Judge
from verify.kernel.machine import Machine
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.near import near
from verify.kernel.trees.tree import Parsed, Tree

Texts = dict[str, str]
MOVED = "def moved():\n    return 1\n"
STAYS = "def stays():\n    return 2\n"


def chain(many: int) -> tuple[Texts, Texts]:
    """Each module imports the next one; a function moves out of the last."""
    base = {f"m{at}.py": f"from m{at + 1} import stays\n" for at in range(many)}
    base |= {f"m{many}.py": MOVED + "\n\n" + STAYS, "other.py": "X = 1\n"}
    return base, base | {f"m{many}.py": STAYS, "other.py": "X = 1\n\n\n" + MOVED}


def package(many: int) -> tuple[Texts, Texts]:
    """A package that imports all its modules, each of which imports the package's others."""
    uses = "from pkg.base import stays\nfrom pkg import base\n\n\ndef f():\n    return stays()\n"
    base = {f"pkg/m{at}.py": uses for at in range(many)}
    base["pkg/__init__.py"] = "".join(f"from pkg.m{at} import f as f{at}\n" for at in range(many))
    base |= {"pkg/base.py": MOVED + "\n\n" + STAYS, "pkg/other.py": "X = 1\n"}
    return base, base | {"pkg/base.py": STAYS, "pkg/other.py": "X = 1\n\n\n" + MOVED}


def users(many: int) -> tuple[Texts, Texts]:
    """Many modules import one whose function moves, and which acts as it is imported."""
    acts = "import sys\n\nsys.setrecursionlimit(2000)\n"
    base = {f"u{at}.py": "from a import stays\nimport acts\n" for at in range(many)}
    base |= {"a.py": MOVED + "\n\n" + STAYS, "acts.py": acts, "b.py": "X = 1\n"}
    return base, base | {"a.py": STAYS, "b.py": "X = 1\n\n\n" + MOVED}


def judged(base: Texts, target: Texts) -> Judge:
    ours, theirs = ({path: text.encode() for path, text in t.items()} for t in (base, target))
    changed = {path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path)}
    judge = Judge(Both.of(ours, theirs, changed))
    judge.run()
    return judge


@pytest.mark.parametrize("shape", [chain, package, users])
@pytest.mark.parametrize("many", [10, 40])
def test_a_module_is_run_once_on_each_side(many: int, shape: object) -> None:
    assert callable(shape)
    base, target = shape(many)
    judge = judged(base, target)
    assert judge.runs.ran <= 2 * len(base) + 4


def test_a_body_is_read_no_more_often_where_more_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    probe = Bodies.probe

    def counted(*given: object) -> object:
        read.append(given)
        return probe(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Bodies, "probe", counted)
    judged(*users(5))
    few = len(read)
    judged(*users(60))
    assert len(read) - few == few


def test_a_long_chain_of_attributes_is_read_once() -> None:
    """It was put into words anew for each of its dots: 33 seconds for five thousand."""
    text = f"import a\n\nX = a{'.b' * 3000}\n"
    base, target = files({"m.py": text}), files({"n.py": text})
    start = time.process_time()
    certify(base, target)
    assert time.process_time() - start < 5


def machine(**texts: str) -> Machine:
    named = {name.replace("__", "/") + ".py": text.encode() for name, text in texts.items()}
    return Machine(Tree("base", named, Parsed()), lambda path, index: (path, index), [""])


def test_what_loads_is_kept_and_acts_for_each_entry() -> None:
    run = machine(a="import c\n", b="import c\n", c="import out\nout.f()\n")
    seen = []
    for name in ("a", "b"):
        run.begin([""])
        run.load(name)
        seen.append([event.what[0] for event in run.trace if event.acts])
        assert set(run.modules) == {name, "c"}
        run.end()
    assert seen[0] == seen[1] == [("call")]
    assert run.loaded == 3


def test_a_cycle_is_run_for_each_module_that_it_is_entered_by() -> None:
    run = machine(a="import b\nX = 1\n", b="import a\nY = hasattr(a, 'X')\n")
    found = []
    for name in ("a", "b", "a"):
        run.begin([""])
        run.load(name)
        found.append(getattr(run.modules["b"].names["Y"], "value", None))
        run.end()
    assert found == [False, True, False]
    assert run.loaded == 4


def test_what_changes_another_module_is_not_kept() -> None:
    run = machine(a="import d\n", w="import d\nd.X = 2\n", d="X = 1\n", r="import w\nimport d\n")
    for name, expected in (("r", 2), ("a", 1), ("r", 2)):
        run.begin([""])
        run.load(name)
        assert getattr(run.modules["d"].names["X"], "value", None) == expected
        run.end()


def test_a_submodule_is_there_only_for_who_imports_it() -> None:
    run = machine(p____init__="", p__q="X = 1\n", a="import p.q\n", b="import p\n")
    there = []
    for name in ("a", "b", "a"):
        run.begin([""])
        run.load(name)
        there.append("q" in run.modules["p"].names)
        run.end()
    assert there == [True, False, True]


def test_however_large_a_tree_is_imports_in_functions_count() -> None:
    base, target = users(450)
    base |= {f"late{at}.py": "def f():\n    import u0\n" for at in range(5)}
    base |= {
        "says.py": "def f():\n    from a import moved\n",
        "calls.py": "def f():\n    import a\nf()\n",
    }
    target = base | {path: text for path, text in target.items() if path in ("a.py", "b.py")}
    ours, theirs = ({path: text.encode() for path, text in t.items()} for t in (base, target))
    found = near(Both.of(ours, theirs, {"a.py", "b.py"}))
    assert {"u7.py", "says.py", "calls.py", *(f"late{at}.py" for at in range(5))} <= found
