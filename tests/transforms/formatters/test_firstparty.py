"""Which stubs let isort, ruff and usort decide as in the real tree."""

from __future__ import annotations

import pytest

from tests.transforms.formatters.trees import Link, MemoryTree
from transforms.formatters.firstparty import Stubs, find_stubs, words
from transforms.result.changes import SUBMODULE
from transforms.tree import Tree

ROOTS = ("", "src")


class UnreadTree(MemoryTree):
    """A tree whose files must not be read."""

    def read_many(self, paths: object) -> dict[str, bytes]:
        assert not list(paths)  # type: ignore[call-overload]
        return {}


def stubs(files: dict[str, str], source: str, *roots: str, globs: tuple[str, ...] = ()) -> Stubs:
    tree = MemoryTree({"touched.py": source, **files})
    return find(tree, source, *roots, globs=globs)


def find(tree: Tree, source: str, *roots: str, globs: tuple[str, ...] = ()) -> Stubs:
    return find_stubs(tree, roots or ROOTS, globs, words([source.encode()]), ["touched.py"])


LAID_OUT = {
    "a module at the top": ({"own.py": ""}, "import own", [], ["own.py"]),
    "a package at the top": (
        {"own/__init__.py": "", "own/part.py": "", "own/other.py": ""},
        "from own import part",
        ["own"],
        ["own/__init__.py", "own/part.py"],
    ),
    "a module below src": ({"src/own.py": ""}, "import own", [], ["src/own.py"]),
    "a module deep in packages": (
        {"a/b/c.py": "", "a/b/d.py": "", "a/x/c.py": ""},
        "import a.b.c",
        ["a", "a/b"],
        ["a/b/c.py"],
    ),
    "a folder without any Python": ({"data/rows.csv": ""}, "import data", ["data"], []),
    "a folder of folders": ({"a/b/rows.csv": ""}, "import a.c", ["a"], []),
    "a Python file that nothing imports, since its folder is no namespace then": (
        {"own/1st.py": "", "own/2nd.py": "", "own/notes.txt": ""},
        "import own.part",
        ["own"],
        ["own/1st.py"],
    ),
    "a project file, for the same reason": (
        {"own/pyproject.toml": "", "own/notes.txt": ""},
        "import own.part",
        ["own"],
        ["own/pyproject.toml"],
    ),
    "a stub file and an extension": (
        {"own.pyi": "", "fast.so": "", "slow.abi3.so": "", "own.txt": ""},
        "import own, fast, slow",
        [],
        ["fast.so", "own.pyi", "slow.abi3.so"],
    ),
    "nothing that is not named": ({"own.py": "", "a/b.py": ""}, "import os", [], []),
    "nothing below a folder that is not named": ({"a/own.py": ""}, "import own", [], []),
    "what a comment or a string names": ({"own.py": ""}, "# own", [], ["own.py"]),
    "a name beyond ASCII": ({"größe.py": ""}, "import größe", [], ["größe.py"]),
    "what a link to a folder leads to": (
        {"own": Link("libs/own"), "libs/own/__init__.py": "", "libs/own/part.py": ""},
        "import own.part",
        ["own"],
        ["own/__init__.py", "own/part.py"],
    ),
    "what a link to a module leads to": (
        {"own.py": Link("libs/own.py"), "libs/own.py": ""},
        "import own",
        [],
        ["own.py"],
    ),
    "no link out of the tree": (
        {"own": Link("../own"), "os": Link("/usr/lib")},
        "import own, os",
        [],
        [],
    ),
    "no link to the top": ({"own": Link("."), "a.py": ""}, "import own.a", [], ["a.py"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "source", "folders", "modules"), LAID_OUT.values(), ids=LAID_OUT.keys()
)
def test_laid_out_is(
    files: dict[str, str], source: str, folders: list[str], modules: list[str]
) -> None:
    found = stubs(files, source)
    assert list(found.folders) == folders
    assert list(found.files) == modules
    assert not any(found.files.values())


def test_a_submodule_is_a_folder() -> None:
    tree = MemoryTree({"touched.py": ""}, {"own": SUBMODULE, "other": SUBMODULE})
    assert find(tree, "import own").folders == ("own",)


def test_the_packages_that_a_file_is_in_are_laid_out() -> None:
    files = {"a/__init__.py": "", "a/b/__init__.py": "", "a/b/c.py": "import os", "__init__.py": ""}
    found = find_stubs(MemoryTree(files), ROOTS, (), words([b"import os"]), ["a/b/c.py"])
    assert list(found.files) == ["__init__.py", "a/__init__.py", "a/b/__init__.py"]


DECLARED = {
    "by pkgutil": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    "by pkg_resources": '__import__("pkg_resources").declare_namespace(__name__)\n',
}


@pytest.mark.parametrize("text", DECLARED.values(), ids=DECLARED.keys())
def test_a_namespace_that_is_declared_stays_one(text: str) -> None:
    files = {"a/__init__.py": text, "a/b/__init__.py": text, "a/b/c/__init__.py": "x = 1"}
    found = stubs(files, "import a.b.c")
    assert [path for path, data in found.files.items() if data] == [
        "a/__init__.py",
        "a/b/__init__.py",
    ]


def test_a_declaration_after_four_kibibytes_or_inside_a_package_is_none() -> None:
    text = DECLARED["by pkgutil"]
    late = stubs({"a/__init__.py": "#" * 4096 + "\n" + text}, "import a")
    inner = stubs({"a/__init__.py": "", "a/b/__init__.py": text}, "import a.b")
    assert not any(late.files.values())
    assert not any(inner.files.values())


GLOBS = {
    "one level": ("libs/*/src", ["libs/one/src"]),
    "any level": ("libs/**/src", ["libs/one/src", "libs/two/deep/src"]),
    "a part of a name": ("libs/o*/src", ["libs/one/src"]),
    "one character": ("libs/on?/src", ["libs/one/src"]),
    "no folder": ("other/*", []),
}


@pytest.mark.parametrize(("pattern", "roots"), GLOBS.values(), ids=GLOBS.keys())
def test_source_folders_by_pattern(pattern: str, roots: list[str]) -> None:
    files = {"libs/one/src/own.py": "", "libs/two/deep/src/own.py": ""}
    found = stubs(files, "import own", "nowhere", globs=(pattern,))
    assert list(found.files) == [f"{root}/own.py" for root in roots]


def test_the_order_of_the_tree_and_of_the_roots_does_not_matter() -> None:
    files = {f"{name}/{part}.py": "" for name in "abc" for part in "abc12"}
    source = "import a.b, b.c, c.a"
    backwards = dict(reversed(files.items()))
    assert stubs(files, source, "", "a").facts() == stubs(backwards, source, "a", "").facts()


def test_only_names_in_the_files_cost_anything() -> None:
    files = {f"package{number}/module.py": "" for number in range(1000)}
    tree = UnreadTree({"touched.py": "", **files})
    assert find(tree, "import package7.module").files.keys() == {"package7/module.py"}


def test_words_are_those_of_code_comments_and_strings() -> None:
    assert words([b"import a.b as c  # d\n'e f-g' 1h", "ü = _i".encode()]) == set("abcdefg") | {
        "import", "as", "ü", "_i", "h",
    }  # fmt: skip
