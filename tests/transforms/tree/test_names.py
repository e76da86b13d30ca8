"""Modules, packages and roots: what a name means in a tree, and what a path is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.case import MemoryTree
from transforms.errors import Place, Refusal
from transforms.paths import ModuleName, from_bytes
from transforms.result.changes import Blob
from transforms.tree.names import Located, Names, relative_name, resolve_import

PLACE = Place("move.toml", 3)


def names(*paths: str, roots: tuple[str, ...] = ()) -> Names:
    return Names(MemoryTree({path: Blob(b"") for path in paths}), roots)


def by_name(text: str) -> ModuleName:
    return ModuleName(text, is_path=False)


def by_path(text: str) -> ModuleName:
    return ModuleName(text, is_path=True)


# Each row: the paths of the tree, the roots that the plan gives, a dotted name, its path.
FOUND = {
    "a module at the top": (["m.py"], (), "m", "m.py"),
    "a module of a package at the top": (["p/__init__.py", "p/m.py"], (), "p.m", "p/m.py"),
    "a package is its __init__": (["p/__init__.py"], (), "p", "p/__init__.py"),
    "a package below a folder that is none": (
        ["src/p/__init__.py", "src/p/m.py"], (), "p.m", "src/p/m.py",
    ),
    "a package without any __init__": (["lib/p/m.py"], (), "p.m", "lib/p/m.py"),
    "of two, the one whose folder is the root": (
        ["p/__init__.py", "p/m.py", "x/__init__.py", "x/p/__init__.py", "x/p/m.py"],
        (), "p.m", "p/m.py",
    ),
    "of two, the one below the given root": (
        ["a/p/m.py", "b/p/m.py"], ("b",), "p.m", "b/p/m.py",
    ),
    "below the second of two given roots": (
        ["a/q/n.py", "b/p/m.py", "c/p/m.py"], ("a", "b"), "p.m", "b/p/m.py",
    ),
    "a given root that is the top": (["p/m.py", "x/p/m.py"], ("",), "p.m", "p/m.py"),
    "a module before a stub": (["p/__init__.py", "p/m.py", "p/m.pyi"], (), "p.m", "p/m.py"),
}  # fmt: skip


@pytest.mark.parametrize(("paths", "roots", "dotted", "path"), FOUND.values(), ids=FOUND.keys())
def test_a_name_is_found_and_its_path_is_called_so(
    paths: list[str], roots: tuple[str, ...], dotted: str, path: str
) -> None:
    found = names(*paths, roots=roots)
    assert found.locate(by_name(dotted), PLACE) == Located(path, dotted, True)
    assert found.dotted(path) == dotted
    assert found.path_of(dotted) == path
    again = names(*paths, roots=roots)
    assert again.locate(by_path(path), PLACE).path == path


REFUSED = {
    "an unknown module has the nearest names": (
        ["p/__init__.py", "p/memory.py"], "p.memry", "unknown-module", "Did you mean `p.memory`?",
    ),
    "a name in two places": (
        ["a/p/m.py", "b/p/m.py"], "p.m", "ambiguous-module", "`roots = [",
    ),
    "a folder without modules": (["p/__init__.py"], "p.m", "unknown-module", "Did you mean `p`?"),
    "nothing alike": (["p/__init__.py"], "zzzzzz", "unknown-module", "by path or by dotted name"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "dotted", "kind", "next_step"), REFUSED.values(), ids=REFUSED.keys()
)
def test_a_name_that_cannot_be_found_is_refused_at_the_plan_s_line(
    paths: list[str], dotted: str, kind: str, next_step: str
) -> None:
    with pytest.raises(Refusal) as caught:
        names(*paths).locate(by_name(dotted), PLACE)
    assert (caught.value.kind, caught.value.place) == (kind, PLACE)
    assert next_step in caught.value.next_step


def test_an_unknown_path_has_the_nearest_paths() -> None:
    with pytest.raises(Refusal) as caught:
        names("p/__init__.py", "p/memory.py").locate(by_path("p/memroy.py"), PLACE)
    assert "`p/memory.py`" in caught.value.next_step


# Where new modules lie, once the source `p.m` below `src` is located.
NEW = {
    "beside the source": ("p.n", False, "src/p/n.py"),
    "in a package that is not there yet": ("p.x.n", False, "src/p/x/n.py"),
    "a package that is not there yet": ("p.x", True, "src/p/x/__init__.py"),
    "a package that is there": ("p", True, "src/p/__init__.py"),
    "not in a package of the same name elsewhere": ("p.vendored", False, "src/p/vendored.py"),
    "in another package that is there": ("tests.helpers", False, "tests/helpers.py"),
    "at the top of the source's root": ("q", False, "src/q.py"),
}


@pytest.mark.parametrize(("dotted", "package", "path"), NEW.values(), ids=NEW.keys())
def test_a_new_module_lies_below_the_source_s_root(dotted: str, package: bool, path: str) -> None:
    tree = ("src/p/__init__.py", "src/p/m.py", "tests/__init__.py", "tests/helpers.py",
            "vendor/p/__init__.py", "vendor/p/vendored.py")  # fmt: skip
    found = names(*tree, roots=())
    found.locate(by_path("src/p/m.py"), PLACE)
    located = found.locate_new(by_name(dotted), PLACE, package=package)
    assert (located.path, located.dotted, located.exists) == (path, dotted, path in tree)


def test_files_outside_the_root_are_named_below_their_own() -> None:
    found = names("src/p/__init__.py", "src/p/m.py", "tests/__init__.py", "tests/u/t.py", "s.py")
    found.locate(by_name("p.m"), PLACE)
    assert found.dotted("tests/u/t.py") == "tests.u.t"
    assert found.dotted("s.py") == "s"
    assert found.dotted("bin/tool") == "bin.tool"
    assert found.package_of("src/p/__init__.py") == "p"
    assert found.package_of("src/p/m.py") == "p"
    assert found.package_of("s.py") == ""
    assert found.path_of("tests.u.t") is None
    assert found.path_of("") is None


def test_every_given_root_names_what_lies_in_it() -> None:
    found = names("a/p/m.py", "b/q/n.py", "a/x/r/s.py", roots=("a", "b", "a/x"))
    found.locate(by_name("q.n"), PLACE)
    assert (found.root, found.path_of("p.m"), found.path_of("q.n")) == ("b", "a/p/m.py", "b/q/n.py")
    assert [found.dotted(path) for path in ("a/p/m.py", "b/q/n.py", "a/x/r/s.py")] == [
        "p.m", "q.n", "r.s",
    ]  # fmt: skip
    assert found.locate_new(by_name("q.new"), PLACE).path == "b/q/new.py"


def test_without_any_init_the_imports_show_the_root() -> None:
    files = {
        "one/app/core/m.py": Blob(b""),
        "one/tool.py": Blob(b"from app.core.m import X\nimport app.core.m\n"),
        "two.py": Blob(b"    from one.app.core.m import X\n"),
    }
    found = Names(MemoryTree(files))
    assert found.locate(by_path("one/app/core/m.py"), PLACE).dotted == "app.core.m"


def test_odd_file_names_are_no_patterns() -> None:
    odd = ["x/y/c++(1.py", "x/y/a[b.py", from_bytes(b"x/\xff/p/m.py"), from_bytes(b"z/\xff/p/m.py")]
    found = names(*odd)
    assert found.locate(by_path("x/y/c++(1.py"), PLACE).dotted == "x.y.c++(1"
    assert names(*odd).locate(by_path("x/y/a[b.py"), PLACE).exists
    with pytest.raises(Refusal, match="could be"):
        names(*odd).locate(by_name("p.m"), PLACE)


def test_names_do_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = names("src/p/__init__.py", "src/p/m.py")
    assert found.locate(by_name("p.m"), PLACE).path == "src/p/m.py"


PARTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5).map(".".join)


@given(PARTS, PARTS)
def test_a_relative_name_means_the_module_it_was_made_for(package: str, target: str) -> None:
    relative = relative_name(package, target)
    if relative is None:
        assert package.split(".", maxsplit=1)[0] != target.split(".", maxsplit=1)[0]
        return
    module = relative.lstrip(".")
    assert resolve_import(package, len(relative) - len(module), module or None) == target


def test_an_import_that_climbs_above_the_top_means_nothing() -> None:
    assert resolve_import("a.b", 0, "x.y") == "x.y"
    assert resolve_import("a.b", 1, "x") == "a.b.x"
    assert resolve_import("a.b", 2, None) == "a"
    assert resolve_import("a.b", 4, "x") is None
    assert relative_name("", "a") is None
