"""Moves of whole modules and packages that must not be made, and large ones that must."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import EXECUTABLE, REGULAR, Blob
from transforms.result.outcome import Outcome
from transforms.tree import GitTree

LINK, SUBMODULE = 0o120000, 0o160000
FILES: dict[str, bytes | Blob] = {
    "shop/__init__.py": b"",
    "shop/orders.py": b"class Order: pass\n",
    "shop/money.py": b"from .orders import Order\n",
    "shop/pack/__init__.py": b"",
    "shop/pack/core.py": b"from ..orders import Order\n",
    "shop/pack/data.txt": b"data\n",
    ".github/workflows/ci.yml": b"run: python -m shop.orders\n",
    "tools/loose.py": b"x = 1\n",
}


def table(old: str, new: str, *more: str) -> str:
    key = "path" if "/" in old or old.endswith(".py") or old.startswith(".") else "module"
    return "\n".join(["[[move]]", f'{key} = "{old}"', f'to = "{new}"', *more, ""])


def move(files: Mapping[str, bytes | Blob] | Mapping[str, bytes], *tables: str) -> Outcome:
    blobs = {
        path: data if isinstance(data, Blob) else Blob(data, REGULAR)
        for path, data in files.items()
    }
    head = 'format = 1\nformatters = "none"\n'
    return apply(parse_plan((head + "".join(tables)).encode(), "plan.toml"), MemoryTree(blobs))


REFUSED = {
    "into git's own folder": (table("shop.orders", ".git/hooks/x.py"), "plan-schema"),
    "out of the tree": (table("shop.orders", "../orders.py"), "plan-schema"),
    "to an absolute path": (table("shop.orders", "/srv/orders.py"), "plan-schema"),
    "to where machines run what they find": (
        table("shop.orders", ".github/workflows/orders.py"),
        "runs-by-itself",
    ),
    "from where machines run what they find": (
        table(".github/workflows", "shop/flows"),
        "runs-by-itself",
    ),
    "to a name that is taken": (table("shop.orders", "shop.money"), "clash"),
    "to the name of a package": (table("shop.orders", "shop.pack"), "clash"),
    "a package to the name of a module": (table("shop.pack", "shop.money"), "clash"),
    "to a name that differs by case": (table("shop.orders", "shop/Money.py"), "clash"),
    "below a module": (table("shop.orders", "shop.money.orders"), "clash"),
    "to a keyword": (table("shop.orders", "shop.class"), "plan-schema"),
    "to a keyword, by path": (table("shop.orders", "shop/class.py"), "not-importable"),
    "to a name that no import can have": (
        table("shop.orders", "shop/my-orders.py"),
        "not-importable",
    ),
    "to a file that is not Python": (table("shop.orders", "shop/orders.txt"), "plan-schema"),
    "to a folder": (table("shop.orders", "shop/sales"), "plan-schema"),
    "a package to a file": (table("shop.pack", "shop/sales.py"), "plan-schema"),
    "to itself": (table("shop.orders", "shop.orders"), "already-applied"),
    "a package into itself, which leaves no package": (table("shop", "shop.shop"), "no-init"),
    "a package into its own part": (table("shop.pack", "shop.pack.core"), "no-init"),
    "two to one place": (
        table("shop.orders", "shop.x") + table("shop.money", "shop.x"),
        "clash",
    ),
    "one twice": (table("shop.orders", "shop.x") + table("shop.orders", "shop.y"), "plan-schema"),
    "one twice, by name and by path": (
        table("shop.orders", "shop.x") + table("shop/orders.py", "shop/y.py"),
        "clash",
    ),
    "one that is not there": (table("shop.nothing", "shop.x"), "unknown-module"),
    "a pattern that nothing matches": (
        table("shop/im_*.py", "shop/in/*.py"),
        "unknown-module",
    ),
    "a star on one side": (table("shop/im_*.py", "shop/in/x.py"), "plan-schema"),
    "into a new folder without an `__init__`": (
        table("shop.orders", "shop.sales.orders"),
        "no-init",
    ),
    "to an `__init__` that has code": (table("shop.orders", "shop/pack/__init__.py"), "clash"),
}


@pytest.mark.parametrize(("plan", "kind"), REFUSED.values(), ids=REFUSED.keys())
def test_is_refused(plan: str, kind: str) -> None:
    files = {**FILES, "shop/pack/__init__.py": b"x = 1\n"}
    with pytest.raises(Refusal) as refused:
        move(files, plan)
    assert refused.value.kind == kind, str(refused.value)
    assert refused.value.next_step


def test_a_package_goes_into_itself_where_it_stays_one() -> None:
    package = '[[package]]\nmodule = "shop"\nexports = []\n'
    after = move(FILES, table("shop", "shop.shop"), package).changes.after()
    assert "shop/__init__.py" not in after  # a new one, and empty as the old one was
    assert after["shop/shop/money.py"] == Blob(b"from .orders import Order\n", REGULAR)


class TestWhatIsNoFile:
    def test_links_go_along_and_are_noted(self) -> None:
        files = {**FILES, "shop/pack/link.txt": Blob(b"../money.py", LINK)}
        outcome = move(files, table("shop.pack", "shop.kit"))
        after = outcome.changes.after()
        assert after["shop/kit/link.txt"] == Blob(b"../money.py", LINK)
        assert [n.place.path for n in outcome.notes if "symbolic" in n.message] == [
            "shop/pack/link.txt"
        ]

    def test_a_module_that_is_a_link_goes_along_unread(self) -> None:
        files = {**FILES, "shop/pack/core.py": Blob(b"../orders.py", LINK)}
        after = move(files, table("shop.pack", "shop.kit")).changes.after()
        assert after["shop/kit/core.py"] == Blob(b"../orders.py", LINK)

    def test_a_link_alone_is_refused(self) -> None:
        with pytest.raises(Refusal) as refused:
            move({**FILES, "shop/l.py": Blob(b"orders.py", LINK)}, table("shop.l", "shop.m"))
        assert refused.value.kind == "symlink"

    def test_a_submodule_is_refused(self, tmp_path: Path) -> None:
        def git(*arguments: str) -> str:
            done = subprocess.run(
                ["git", "-c", "user.name=n", "-c", "user.email=e@x.example", *arguments],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout.strip()

        git("init", "-q")
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop/__init__.py").write_text("")
        git("add", ".")
        git("commit", "-qm", "Start")
        commit = git("rev-parse", "HEAD")
        git("update-index", "--add", "--cacheinfo", f"160000,{commit},shop/vendored")
        git("commit", "-qm", "Vendor")
        plan = parse_plan(
            b'format = 1\nformatters = "none"\n' + table("shop", "mart").encode(), "p"
        )
        with pytest.raises(Refusal) as refused:
            apply(plan, GitTree(tmp_path, "HEAD"))
        assert refused.value.kind == "submodule"
        assert "shop/vendored" in str(refused.value)


class TestWhatMayBeAnything:
    def test_an_empty_package(self) -> None:
        after = move({"shop/__init__.py": b""}, table("shop", "mart")).changes.after()
        assert after == {"shop/__init__.py": None, "mart/__init__.py": Blob(b"", REGULAR)}

    def test_a_folder_that_nothing_makes_a_package(self) -> None:
        files = {"tools/a.py": b"from tools import b\n", "tools/b.py": b"from . import a\n"}
        after = move(files, table("tools", "kit")).changes.after()
        assert after["kit/a.py"] == Blob(b"from kit import b\n", REGULAR)
        assert after["kit/b.py"] == Blob(b"from . import a\n", REGULAR)

    def test_bytes_that_are_no_text(self) -> None:
        data = bytes(range(256)) * 20
        files = {**FILES, "shop/pack/data.bin": data, "shop/pack/notes.txt": b"shop.pack \xff\n"}
        after = move(files, table("shop.pack", "shop.kit")).changes.after()
        assert after["shop/kit/data.bin"] == Blob(data, REGULAR)
        assert after["shop/kit/notes.txt"] == Blob(b"shop.kit \xff\n", REGULAR)

    def test_modes(self) -> None:
        files = {**FILES, "shop/pack/run.sh": Blob(b"#!/bin/sh\npython -m shop.pack\n", EXECUTABLE)}
        after = move(files, table("shop.pack", "shop.kit")).changes.after()
        assert after["shop/kit/run.sh"] == Blob(b"#!/bin/sh\npython -m shop.kit\n", EXECUTABLE)

    def test_a_file_elsewhere_that_does_not_parse(self) -> None:
        files = {**FILES, "old.py": b"print 'shop.orders'\n"}
        outcome = move(files, table("shop.orders", "shop.sales"))
        assert ("left alone", "old.py") in [(n.kind, n.place.path) for n in outcome.notes]


def program(modules: int) -> dict[str, bytes]:
    files = {"shop/__init__.py": b""}
    for number in range(modules):
        other = (number * 7) % modules
        files[f"shop/m{number}.py"] = (
            f"from shop import m{other}\nfrom .m{other} import V\nimport shop.m{other}\n\n\n"
            f"def f():\n    return shop.m{other}.V, m{other}.V, V\n".encode()
        )
    return files


def seconds(modules: int) -> float:
    files = program(modules)
    start = time.process_time()
    outcome = move(files, table("shop", "mart"))
    assert len(outcome.changes) == 2 * (modules + 1)
    return time.process_time() - start


@pytest.mark.thorough
def test_time_grows_with_the_number_of_modules_and_no_faster() -> None:
    seconds(50)
    small, large = seconds(150), seconds(600)
    assert large < 4 * 2 * small, (small, large)


@pytest.mark.thorough
def test_a_file_of_a_mebibyte_and_as_many_mentions() -> None:
    line = b"VALUE = ['shop.orders is long', 1, 2, 3]\n"
    data = b"from .orders import Order\n" + line * (1024 * 1024 // len(line))
    files = {**FILES, "shop/big.py": data, "shop/big.json": b'"shop.big"' * 100_000}
    start = time.process_time()
    after = move(files, table("shop.big", "shop.pack.big")).changes.after()
    assert time.process_time() - start < 30
    moved = data.replace(b"from .orders", b"from ..orders")
    assert after["shop/pack/big.py"] == Blob(moved, REGULAR)
