"""Which outside packages a project says it needs, whoever installs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import last
from verify.kernel.trees.tree import Tree

FILES = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt")
# One that is always wanted: no marker after a semicolon, no option before.
_WANTED = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[(<>=!~@][^;]*)?(?:#.*)?$")
_LIST = re.compile(r"^dependencies\s*=\s*\[((?:[^\]\"']|\"[^\"\n]*\"|'[^'\n]*')*)\]", re.M)
_TEXT = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_POETRY = re.compile(r"^[\"']?([A-Za-z0-9][\w.-]*)[\"']?\s*=\s*(.*)$", re.M)
# Packages that are imported by another name than they are installed by.
_CALLED = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "jwt": "pyjwt",
    "pil": "pillow",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}


class Declared:
    """The packages that both sides say they need, by the file that says so."""

    def __init__(self, base: Tree, target: Tree) -> None:
        self._sides = base, target
        self._known: dict[str, set[str]] = {}

    def by(self, package: str, path: str) -> str:
        """Give the file that says a package is needed by what lies at a path, or nothing."""
        base = self._sides[0]
        folder = path.rpartition("/")[0]
        while True:
            files = [f"{folder}/{name}" if folder else name for name in FILES]
            if any(file in base.files for file in files):
                wanted = {plain(package), _CALLED.get(plain(package), "")}
                return next((f for f in files if wanted & self._both(f)), "")
            if not folder:
                return ""
            folder = folder.rpartition("/")[0]

    def _both(self, path: str) -> set[str]:
        if path not in self._known:
            one, two = ({*named(tree, path)} for tree in self._sides)
            self._known[path] = one & two
        return self._known[path]


def named(tree: Tree, path: str) -> Iterator[str]:
    """List the packages that a file says are always needed."""
    if path not in tree.files:
        return
    for text in _listed(tree, path):
        found = _WANTED.match(text)
        if found:
            yield plain(found[1])


def plain(name: str) -> str:
    """Spell a package as all spell it who compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _listed(tree: Tree, path: str) -> Iterator[str]:
    """Give the requirements that a file lists."""
    text, name = tree.text(path), path.rpartition("/")[2]
    if name == "requirements.txt":
        yield from text.split("\n")
    elif name == "setup.cfg":
        options = _section(text, "options")
        found = re.search(r"^install_requires\s*=([^\n]*(?:\n[ \t]+[^\n]*)*)", options, re.M)
        yield from found[1].split("\n") if found else ()
    elif name == "setup.py":
        yield from _called(tree, path)
    else:
        found = _LIST.search(_section(text, "project"))
        for match in _TEXT.finditer(found[1] if found else ""):
            yield match[1] or match[2] or ""
        for match in _POETRY.finditer(_section(text, "tool.poetry.dependencies")):
            if not re.search(r"optional|markers|platform|python\s*=", match[2]):
                yield match[1]


def _section(text: str, name: str) -> str:
    """Give what stands below the head of a section."""
    found = re.search(rf"^\[{re.escape(name)}\][ \t]*\r?$", text, re.M)
    return re.split(r"^\[", text[found.end() :], maxsplit=1, flags=re.M)[0] if found else ""


def _called(tree: Tree, path: str) -> Iterator[str]:
    """Give what `setup()` is told to need, where that stands in a list of texts."""
    source = tree.readable(path)
    for node in walk(source.tree) if source else ():
        for word in node.keywords if isinstance(node, ast.Call) else ():
            if word.arg == "install_requires" and last(node.func) == "setup":  # type: ignore[attr-defined]
                items = word.value.elts if isinstance(word.value, (ast.List, ast.Tuple)) else ()
                yield from (str(i.value) for i in items if isinstance(i, ast.Constant))
