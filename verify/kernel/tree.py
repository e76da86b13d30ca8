"""One of the two trees: its files, what Python would call them, and where an import leads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verify.kernel.source import OpaqueError, Source, is_python, parse

_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]*import\b[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\n)*)"
    r"|import[ \t]+((?:[^\n\\]|\\\n)*))",
    re.M,
)
_NAME = re.compile(r"[^\W\d][\w.]*")
_WORD = re.compile(r"""["']\.?([^\W\d]\w*)(?=["':])""")  # alone in a text, or its first
_QUOTED = re.compile(r"""["'](\.?[^\W\d]\w*(?:[.:]\w+)+)["']""")
# Imports by a text: as it stands, or put together, so that any word may be a part of the name.
_CALLED = r"\b(?:import_module|__import__|locate|resolve_name|import_string)\s*\(\s*"
_PLAIN = re.compile(_CALLED + r"""["']([\w.:]+)["']\s*[,)]""")
_COMPUTED = re.compile(_CALLED + r"""(?!["'][\w.:]+["']\s*[,)])|\blazy_loader\b""")
_PLUGINS = re.compile(r"^pytest_plugins\s*=\s*(.*(?:\n[ \t]+.*)*)", re.M)


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
        self.called: Mapping[str, str] = {}  # modules that moved whole: their names before, by path
        self.files = files
        self._parsed = parsed
        self._imports: dict[str, set[str]] = {}
        self.folders = {""}
        for path in files:
            folder = path.rpartition("/")[0]
            while folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]

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

    @cached_property
    def workspace(self) -> tuple[str, ...]:
        """Give the `src` folders of the projects in this tree: each finds the others."""
        return tuple(sorted(root for root in self.roots if root.endswith("/src")))

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

    @cached_property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """Give the files that a dotted name may lead to, from whatever root."""
        found: dict[str, list[str]] = {}
        for path in self.files:
            if path.endswith(".py"):
                for name in {self.name(path), self.spaced(path), dotted(path)}:
                    found.setdefault(name, []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def imports(self, path: str) -> set[str]:
        """List the files that a file may import, wherever its statements stand."""
        if path not in self._imports:
            self._imports[path] = set(self._imported(path))
        return self._imports[path]

    def _imported(self, path: str) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/__init__.py" in self.files:
            if f"{folder}/__init__.py" != path:
                yield f"{folder}/__init__.py"
            folder = folder.rpartition("/")[0]
        text = self.text(path)
        found: set[str] = set()
        for name in spelled(text, {self.name(path), self.spaced(path)}, path):
            parts = name.split(".")
            for end in range(len(parts), 0, -1):
                found.update(self.named.get(".".join(parts[:end]), ()))
        yield from found
        if _COMPUTED.search(text):  # the names may stand in a table of a module beside
            words = {word for at in (path, *found) for word in _WORD.findall(self.text(at))}
            for word in words & self.stems.keys():
                yield from self.stems[word]

    @cached_property
    def stems(self) -> Mapping[str, tuple[str, ...]]:
        """Give the files by the last word of their names."""
        found: dict[str, list[str]] = {}
        for name, paths in self.named.items():
            found.setdefault(name.rpartition(".")[2], []).extend(paths)
        return {name: tuple(paths) for name, paths in found.items()}

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


def spelled(text: str, own: Iterable[str], path: str) -> Iterator[str]:
    """List the dotted names that a file imports or spells in a text, read off its lines."""
    for match in _IMPORT.finditer(text):
        source, names, modules = match.groups()
        if modules is not None:
            yield from _NAME.findall(modules)
            continue
        taken = _NAME.findall(names)
        for module in absolute(source, own, path):
            yield from (f"{module}.{name}" for name in taken)
            yield module
    for match in _PLAIN.finditer(text):
        yield match[1].replace(":", ".").strip(".")
    for match in _PLUGINS.finditer(text):
        yield from _NAME.findall(match[1])
    for match in _QUOTED.finditer(text):
        yield match[1].replace(":", ".").strip(".")


def absolute(source: str, own: Iterable[str], path: str) -> Iterator[str]:
    """Give what a `from` import names, for each name that its module may have."""
    module = source.lstrip(".")
    level = len(source) - len(module)
    if not level:
        yield module
        return
    for name in own:
        parts = name.split(".")
        if not path.endswith("__init__.py"):
            parts = parts[:-1]
        above = parts[: len(parts) - level + 1]
        yield ".".join([*above, *([module] if module else [])])


def reaching(tree: Tree, changed: Iterable[str]) -> set[str]:
    """List the files from which a changed one may be reached: they import it, or one that does.

    A text that spells a module's name counts as an import. Whoever imports a module imports the
    packages above it first.
    """
    users: dict[str, set[str]] = {}
    for path in tree.python():
        for other in tree.imports(path):
            users.setdefault(other, set()).add(path)
    found: set[str] = set()
    todo = [path for path in changed if path in tree.files]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += users.get(path, ())
    return found


def search_path(tree: Tree, path: str, *, script: bool) -> Sequence[str]:
    """Give the folders that Python searches when a file is what starts."""
    if script:
        return [path.rpartition("/")[0]]
    folders = [tree.root(path)]
    for more in ("", "src", *tree.workspace):
        if more not in folders and more in tree.folders:
            folders.append(more)
    return folders
