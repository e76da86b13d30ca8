"""What stays at an old path: run by CPython, read by mypy."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from mypy import api

from tests.transforms.case import CASES, Case, load_case, run_case
from tests.transforms.test_whole_moves import moved
from transforms.errors import Refusal
from transforms.result.outcome import Outcome

CASE = load_case(CASES / "relocation" / "old_warn.case")


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def child(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(folder)},
        check=False,
    )


def applied(case: Case, folder: Path) -> Path:
    outcome = run_case(case)
    assert isinstance(outcome, Outcome), outcome
    files = {**case.before, **outcome.changes.after()}
    return write({path: blob.data for path, blob in files.items() if blob is not None}, folder)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return applied(CASE, tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = load_case(CASES / "source" / "old_names_warn.case")
    return applied(case, tmp_path_factory.mktemp("shop"))


USES = [
    ("from shop.orders import Order", "shop.orders.Order"),
    ("import shop.orders; shop.orders.Order", "shop.orders.Order"),
    ("from shop.orders import *; Order", "shop.orders.Order"),
    ("from shop.orders import other", "shop.orders.other"),
    ("from shop.orders import _private", "shop.orders._private"),
    ("from shop.orders import __version__", "shop.orders.__version__"),
    ("import shop.orders; assert hasattr(shop.orders, 'Order')", "shop.orders.Order"),
    ("from shop.pack import Core", "shop.pack.Core"),
    ("from shop.pack.core import Core", "shop.pack.core.Core"),
    ("from shop.pack import *; Core, core.Core", "shop.pack.Core"),
    ("from shop.single import VALUE", "shop.single.VALUE"),
    ("from shop.open import *; late(), early(), join", "shop.open.late"),
    ("import shop.open; shop.open.join", "shop.open.join"),
]


class TestWarn:
    @pytest.mark.parametrize(("code", "name"), USES, ids=[code for code, _ in USES])
    def test_gives_the_name_and_names_the_new_home_where_it_is_asked_for(
        self, tree: Path, code: str, name: str
    ) -> None:
        (tree / "user.py").write_text(f"# one\n# two\n{code}\n")
        done = child(tree, "-W", "always::DeprecationWarning", "user.py")
        assert done.returncode == 0, done.stderr
        old, _, last = name.rpartition(".")
        new = {"shop.single": "shop.single.core"}.get(old, old.replace("shop.", "shop.sales.", 1))
        assert f"user.py:3: DeprecationWarning: `{name}` is now `{new}.{last}`" in done.stderr
        others = re.findall(r"^(\S+?):\d+: DeprecationWarning", done.stderr, re.MULTILINE)
        assert {Path(other).name for other in others} == {"user.py"}

    def test_is_the_same_object_and_the_same_module_once(self, tree: Path) -> None:
        code = (
            "import shop.orders, shop.sales.orders as new, sys, warnings\n"
            "warnings.simplefilter('ignore')\n"
            "assert shop.orders.Order is new.Order and shop.orders is not new\n"
            "assert not hasattr(shop.orders, 'nothing') and not hasattr(shop.orders, '__path__')\n"
            "assert sys.modules['shop.orders'] is shop.orders\n"
            "assert dir(shop.orders) == ['Order']\n"
            "import shop.pack\n"
            "assert shop.pack.core.Core is shop.pack.Core\n"
        )
        done = child(tree, "-c", code)
        assert done.returncode == 0, done.stderr

    def test_importing_the_module_alone_warns_of_nothing_and_loads_nothing(
        self, tree: Path
    ) -> None:
        code = "import sys, shop.orders; print('shop.sales.orders' in sys.modules)"
        done = child(tree, "-W", "error", "-c", code)
        assert (done.stdout, done.stderr) == ("False\n", "")

    @pytest.mark.parametrize(
        ("module", "status", "printed"),
        [
            ("shop.orders", 3, "ran __main__ ['x']\n"),
            ("shop.pack", 0, "pack ran\n"),
            ("shop.re", 0, "re ran\n"),
            ("shop.single", 1, ""),  # a package now, and never one to run
        ],
    )
    def test_runs_what_could_be_run(
        self, tree: Path, module: str, status: int, printed: str
    ) -> None:
        done = child(tree, "-m", module, "x")
        assert (done.returncode, done.stdout) == (status, printed), done.stderr

    def test_what_was_pickled_by_its_old_name_loads(self, tree: Path) -> None:
        data = b"cshop.orders\nOrder\n."  # protocol 0: the class by its path
        assert b"shop.orders" in data
        (tree / "old.pickle").write_bytes(data)
        code = "import pickle; print(pickle.load(open('old.pickle', 'rb')).__module__)"
        done = child(tree, "-c", code)
        assert done.stdout == "shop.sales.orders\n", done.stderr
        assert pickle.PROTO not in data

    def test_private_modules_and_tests_leave_nothing(self, tree: Path) -> None:
        assert not (tree / "shop/pack/_hidden.py").exists()
        assert not (tree / "shop/pack/test_core.py").exists()
        assert (tree / "shop/sales/pack/_hidden.py").exists()


def test_type_checkers_see_the_same_types(tree: Path) -> None:
    text = """\
from shop.orders import Order
from shop.re import A, f
from shop.single import VALUE
from shop.open import early
import shop.pack
reveal_type(Order().total())
reveal_type(A)
reveal_type(f())
reveal_type(VALUE)
reveal_type(early())
reveal_type(shop.pack.Core())
"""
    (tree / "typed.py").write_text(text)
    (tree / "wrong.py").write_text("from shop.orders import Ordre\n")
    config = tree / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\nwarn_unreachable = true\n")
    options = ["--config-file", str(config), "--cache-dir", str(tree / "cache")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        found, errors, _ = api.run([*options, "typed.py", "wrong.py", "shop/single/__init__.py"])
    notes = re.findall(r'typed.py:\d+: note: Revealed type is "([\w.]+)"', found)
    notes = [note.removeprefix("builtins.") for note in notes]  # as newer ones of mypy have it
    want = ["int", "int", "str", "int", "str"]
    assert notes == [*want, "shop.sales.pack.core.Core"], found + errors
    problems = [line for line in found.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in problems if "sales" not in line] == ["wrong.py"]


class TestNamesThatLeaveAModule:
    """`old = "warn"` of a `[[source]]`."""

    def test_are_given_with_a_warning(self, left: Path) -> None:
        (left / "user.py").write_text("from shop.orders import Money\nfrom shop.orders import *\n")
        done = child(left, "-W", "always::DeprecationWarning", "user.py")
        assert re.findall(r"user.py:(\d): DeprecationWarning: (.*)", done.stderr) == [
            ("1", "`shop.orders.Money` is now `shop.money.Money`"),
            ("2", "`shop.orders.Money` is now `shop.money.Money`"),
            ("2", "`shop.orders.parse` is now `shop.parsing.parse`"),
        ]

    def test_what_is_used_there_and_what_is_not_there_warn_of_nothing(self, left: Path) -> None:
        code = (
            "import shop.orders as o\no.Used, o.Order\n"
            "for name in ('_hidden', 'nothing', '__path__'):\n    assert not hasattr(o, name)\n"
        )
        done = child(left, "-W", "error", "-c", code)
        assert (done.returncode, done.stderr) == (0, "")

    def test_type_checkers_see_the_same_types(self, left: Path) -> None:
        (left / "typed.py").write_text(
            "from shop.orders import Money, parse\nreveal_type(Money())\nreveal_type(parse(''))\n"
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(left)
            found, _, _ = api.run(["--strict", "--cache-dir", str(left / "cache"), "typed.py"])
        notes = re.findall(r'note: Revealed type is "(?:builtins\.)?([\w.]+)"', found)
        assert notes == ["shop.money.Money", "str"], found
        assert ": error:" not in found


class TestReexport:
    FILES: ClassVar = {
        "shop/__init__.py": b"",
        "shop/a.py": b"A = 1\n_B = 2\n\n\nclass C:\n    pass\n",
    }
    PLAN = '[[move]]\nmodule = "shop.a"\nto = "shop.b"\nold = "reexport"\n'

    def test_imports_what_is_public(self) -> None:
        after, _ = moved(self.FILES, self.PLAN)
        assert after["shop/a.py"].decode() == (
            '"""Moved to `shop.b`."""\n\nfrom shop.b import A as A\nfrom shop.b import C as C\n\n'
            '__all__ = ["A", "C"]\n'
        )

    def test_the_way_back_replaces_what_was_left(self) -> None:
        there, _ = moved(self.FILES, self.PLAN)
        again, _ = moved(there, '[[move]]\nmodule = "shop.b"\nto = "shop.a"\n')
        assert again == self.FILES

    def test_a_file_that_comes_to_lie_there_is_refused(self) -> None:
        files = {**self.FILES, "shop/z.py": b"Z = 1\n"}
        plan = self.PLAN + '[[move]]\nmodule = "shop.z"\nto = "shop.a"\n'
        with pytest.raises(Refusal, match="is to stay importable") as refused:
            moved(files, plan)
        assert refused.value.kind == "clash"


def test_json_of_what_moved_says_what_is_kept() -> None:
    _, outcome = moved(TestReexport.FILES, TestReexport.PLAN)
    (item,) = outcome.relocated
    assert json.dumps([item.old_module, item.new_module, item.kept]) == (
        '["shop.a", "shop.b", "reexport"]'
    )
