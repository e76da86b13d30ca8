"""One of the two trees: its files, what Python would call them, and where an import leads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verify.kernel.source import OpaqueError, Source, is_python, parse

WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Found:
    """Where an import leads: a `module`, a `package` or a folder without `__init__`."""

    kind: str
    path: str
    folders: tuple[str, ...] = ()  # where its submodules are looked for


class Parsed:
    """Files as they parse, shared by both trees: most of their files are the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Source | OpaqueError] = {}

    def read(self, path: str, data: bytes) -> Source:
        """Parse a file. Raises `OpaqueError`."""
        where = path, data
        if where not in self._known:
            try:
                self._known[where] = parse(path, data)
            except OpaqueError as error:
                self._known[where] = error
        found = self._known[where]
        if isinstance(found, OpaqueError):
            raise found
        return found


class Tree:
    """The files of one side."""

    def __init__(self, side: str, files: Mapping[str, bytes], parsed: Parsed) -> None:
        self.side = side
        self.files = files
        self._parsed = parsed
        self.folders = {""}
        for path in files:
            while "/" in path:
                path = path.rpartition("/")[0]
                if path in self.folders:
                    break
                self.folders.add(path)

    def source(self, path: str) -> Source:
        """Parse a file. Raises `OpaqueError`."""
        return self._parsed.read(path, self.files[path])

    def text(self, path: str) -> str:
        """Give a file as text, whatever its bytes."""
        return self.files[path].decode("utf-8", "replace")

    def python(self) -> list[str]:
        """List the files that are Python by their name or first line."""
        return [path for path, data in self.files.items() if is_python(path, data)]

    @cached_property
    def roots(self) -> frozenset[str]:
        """Give the folders above all topmost packages and lone modules."""
        return frozenset(self.root(path) for path in self.files if path.endswith(".py"))

    def find(self, name: str, folders: Iterable[str]) -> Found | None:
        """Look for a module or package as Python does, in the order of the folders."""
        spaces = []
        for folder in folders:
            place = f"{folder}/{name}" if folder else name
            if f"{place}/__init__.py" in self.files:
                return Found("package", f"{place}/__init__.py", (place,))
            if f"{place}.py" in self.files:
                return Found("module", f"{place}.py")
            if place in self.folders:
                spaces.append(place)
        return Found("space", "", tuple(spaces)) if spaces else None

    def root(self, path: str) -> str:
        """Give the folder above the topmost package that a file lies in."""
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/__init__.py" in self.files:
            folder = folder.rpartition("/")[0]
        return folder

    def name(self, path: str) -> str:
        """Give a module's dotted name, as somebody would import it."""
        root = self.root(path)
        inner = path[len(root) + 1 :] if root else path
        return dotted(inner)

    def spaced(self, path: str) -> str:
        """Give a module's name counted from the top of the tree, or from `src`."""
        return dotted(path.removeprefix("src/"))


def dotted(path: str) -> str:
    """Turn a path into a dotted name."""
    stem = path.removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".")


def words(text: str) -> frozenset[str]:
    """Give all words of a text."""
    return frozenset(WORD.findall(text))


def stem(path: str) -> str:
    """Give the last word of a module's name."""
    parts = path.split("/")
    return parts[-2] if parts[-1] == "__init__.py" and len(parts) > 1 else parts[-1][:-3]


def reaching(tree: Tree, changed: Iterable[str]) -> set[str]:
    """List the files from which a changed one may be reached: they name it, or one that does.

    Names are taken as words, wherever they stand, so the list is too long rather than too short.
    """
    python = tree.python()
    mention: dict[str, list[str]] = {}
    stems = {stem(path) for path in python if path.endswith(".py")}
    for path in python:
        for word in words(tree.text(path)) & stems:
            mention.setdefault(word, []).append(path)
    inside: dict[str, list[str]] = {}
    for path in python:
        inside.setdefault(path.rpartition("/")[0], []).append(path)
    found: set[str] = set()
    todo = [path for path in changed if path in tree.files]
    while todo:
        path = todo.pop()
        if path in found or not path.endswith(".py"):
            continue
        found.add(path)
        todo += mention.get(stem(path), ())
        if path.endswith("/__init__.py"):  # whoever imports a submodule imports it first
            todo += inside[path.rpartition("/")[0]]
    return found


def search_path(tree: Tree, path: str, *, script: bool) -> Sequence[str]:
    """Give the folders that Python searches when a file is what starts."""
    if script:
        return [path.rpartition("/")[0]]
    folders = [tree.root(path)]
    for more in ("", "src"):
        if more not in folders and more in tree.folders:
            folders.append(more)
    return folders
