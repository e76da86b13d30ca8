"""Code that lists a folder of modules, and so finds a new one there."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator

from transforms.errors import Refusal
from transforms.result.outcome import Note
from transforms.source.module import Module
from transforms.syntax.called import called_name
from transforms.syntax.parsing import parse
from transforms.tree import Tree
from transforms.tree.names import Names

# Calls that list what lies in a folder or a package.
_LISTING = frozenset(
    {"iter_modules", "walk_packages", "listdir", "scandir", "glob", "iglob", "rglob", "iterdir"}
    | {"walk", "fwalk", "contents", "is_resource", "files"}
)
_WORDS = re.compile(b"|".join(re.escape(name.encode()) for name in sorted(_LISTING)))
_OWN_FOLDER = frozenset({"__path__", "__file__"})


def folder_scans(created: Iterable[str], tree: Tree, names: Names) -> Iterator[Note]:
    """Notes on calls that list a folder which gets one of the `created` modules.

    They stand in the package or one above it and ask where that lies, or name the package.
    """
    for path in created:
        folder = posixpath.dirname(path)
        near = {path, *_above(folder, tree)}
        package = names.package_of(path)
        spelled = re.compile(rb"\b" + re.escape(package.encode()) + rb"\b") if package else None
        for other in tree.search(_WORDS, [p for p in tree.entries() if p.endswith(".py")]):
            data = tree.read(other)
            if other in near or (spelled is not None and spelled.search(data)):
                for node in _scans(other, data, package, is_near=other in near):
                    place = Module(other, data).place(node.lineno)
                    message = (
                        f"This lists a folder, to which `{path}` comes; where it takes every "
                        "module that it finds, choose another folder."
                    )
                    yield Note("folder scan", place, message)


def _above(folder: str, tree: Tree) -> Iterator[str]:
    """The Python files of a folder, and of those above it."""
    folders = {folder}
    while folder:
        folder = posixpath.dirname(folder)
        folders.add(folder)
    for path in tree.entries():
        if path.endswith(".py") and posixpath.dirname(path) in folders:
            yield path


def _scans(path: str, data: bytes, package: str, *, is_near: bool) -> Iterator[ast.Call]:
    """The calls of a file that list the folder of `package`."""
    try:
        tree = parse(data, path)
    except Refusal:
        return
    asks = is_near and any(
        (node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")) in _OWN_FOLDER
        for node in ast.walk(tree)
    )
    last = package.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) in _LISTING:
            if asks or _names(node, package, last):
                yield node


def _names(call: ast.Call, package: str, last: str) -> bool:
    """Whether a call is given the package: `package.__path__`, or its name as a text."""
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and node.attr == "__path__":
            value = node.value
            if (value.id if isinstance(value, ast.Name) else getattr(value, "attr", "")) == last:
                return True
        if isinstance(node, ast.Constant) and node.value in (package, package.replace(".", "/")):
            return bool(package)
    return False
