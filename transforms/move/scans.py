"""Code that lists a folder of modules, and so finds a new one there."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator

from transforms.errors import Refusal
from transforms.result.outcome import Note
from transforms.source.module import Module
from transforms.syntax.called import called_name, last_name
from transforms.syntax.parsing import parse
from transforms.tree import Tree
from transforms.tree.names import Names

# Calls that list what lies in a folder or a package.
_LISTING = frozenset(
    {"iter_modules", "walk_packages", "listdir", "scandir", "glob", "iglob", "rglob", "iterdir"}
    | {"walk", "fwalk", "contents"}
)
_DEEP = frozenset({"walk_packages", "walk", "fwalk", "rglob"})  # those that list what lies below
_CALLS = re.compile(
    rb"(?<!ast\.)\b(?:" + b"|".join(name.encode() for name in sorted(_LISTING)) + rb")[ \t]*\("
)
_PLACES = re.compile(rb"\b__(?:path|file|package|spec)__\b|\bfiles\(__name__\)")
_OWN_FOLDER = frozenset({"__path__", "__file__", "submodule_search_locations"})


def folder_scans(created: Iterable[str], tree: Tree, names: Names) -> Iterator[Note]:
    """Notes on calls that list a folder which gets one of the `created` modules.

    They stand in the package or in one above it, and ask where that lies or name the package.
    """
    for path in created:
        package = names.package_of(path)
        near = [p for p in _above(posixpath.dirname(path), tree) if p != path]
        named = re.compile(rb"[\x22\x27]" + re.escape(package.replace(".", "/").encode()))
        dotted = re.compile(rb"[\x22\x27]" + re.escape(package.encode()) + rb"[\x22\x27]")
        for other, data in tree.read_many(tree.search(_CALLS, near)).items():
            if not any(pattern.search(data) for pattern in (_PLACES, named, dotted)):
                continue
            own = posixpath.dirname(other) == posixpath.dirname(path)
            for node in _scans(other, data, package, own=own):
                message = (
                    f"This lists a folder, to which `{path}` comes; where it takes every "
                    "module that it finds, choose another folder."
                )
                yield Note("folder scan", Module(other, data).place(node.lineno), message)


def _above(folder: str, tree: Tree) -> Iterator[str]:
    """The Python files of a folder, and of those above it."""
    folders = {folder}
    while folder:
        folder = posixpath.dirname(folder)
        folders.add(folder)
    for path in tree.entries():
        if path.endswith(".py") and posixpath.dirname(path) in folders:
            yield path


def _scans(path: str, data: bytes, package: str, *, own: bool) -> Iterator[ast.Call]:
    """The calls of a file that list the folder of `package`; `own`: it lies there itself."""
    try:
        tree = parse(data, path)
    except Refusal:
        return
    asks = any(last_name(node) in _OWN_FOLDER or _is_files(node) for node in ast.walk(tree))
    last = package.rpartition(".")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) in _LISTING and not _is_ast(node):
            reaches = asks and (own or called_name(node) in _DEEP)
            if reaches or _names(node, package, last):
                yield node


def _is_files(node: ast.AST) -> bool:
    """`importlib.resources.files(__package__)`: the folder of the file's own package."""
    if not isinstance(node, ast.Call) or called_name(node) not in ("files", "contents"):
        return False
    return any(last_name(item) in ("__package__", "__name__") for item in node.args)


def _is_ast(call: ast.Call) -> bool:
    """`ast.walk` lists no folder."""
    return isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "ast"


def _names(call: ast.Call, package: str, last: str) -> bool:
    """Whether a call is given the package: `package.__path__`, or its name as a text."""
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and node.attr == "__path__":
            if last_name(node.value) == last:
                return True
        if isinstance(node, ast.Constant) and node.value in (package, package.replace(".", "/")):
            return bool(package)
    return False
