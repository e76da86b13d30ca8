"""Which stubs a scratch tree needs for the formatters to tell first-party as in the real one.

They look for an imported module on disk: a folder or a file of that name below a source root. Only
names that occur in the formatted files or their configuration can be looked up, so only those get
a stub; a folder that is not importable by any such name cannot make a difference.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from transforms.changes import SUBMODULE, SYMLINK
from transforms.errors import Place, Refusal
from transforms.formatters.settings import ancestors, inside, is_regular, join
from transforms.tree import Tree

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_SOURCES = frozenset({"py", "pyi", "pyx", "pxd"})
_IMPORTABLE = _SOURCES | {"so", "abi3.so"}
# A folder without `__init__.py` is a namespace to isort unless one of these is in it.
_PROJECT_FILES = frozenset({"setup.cfg", "pyproject.toml"})
# A folder with one is a namespace to isort if its first 4 KiB say so, in one of these spellings.
_NAMESPACE = re.compile(
    rb"""__import__\((['"])pkg_resources\1\)\.declare_namespace\(__name__\)"""
    rb"""|__path__ = __import__\((['"])pkgutil\2\)\.extend_path\(__path__, __name__\)"""
)
_DECLARATION = b"__import__('pkg_resources').declare_namespace(__name__)\n"


@dataclass(frozen=True, slots=True)
class Stubs:
    """Folders and files to lay out: empty, but for an `__init__.py` that declares a namespace."""

    folders: tuple[str, ...]
    files: Mapping[str, bytes]

    def facts(self) -> list[list[str]]:
        """Give what is laid out, for a cache key."""
        declared = [path for path, data in self.files.items() if data]
        return [list(self.folders), list(self.files), declared]


def words(texts: Iterable[bytes]) -> frozenset[str]:
    """Collect every identifier-like word, in code, comments and strings alike."""
    found: set[bytes] = set()
    for text in texts:
        found.update(_WORD.findall(text))
    return frozenset(word.decode("utf-8", "replace") for word in found)


def find_stubs(
    tree: Tree,
    roots: Iterable[str],
    globs: Iterable[str],
    names: frozenset[str],
    touched: Iterable[str],
) -> Stubs:
    """Choose the stubs for the touched files, whose words and configuration's are `names`."""
    entries = tree.entries()
    tops = set(roots)
    if patterns := [_glob(pattern) for pattern in globs]:
        folders = {folder for path in entries for folder in ancestors(path)}
        tops |= {f for f in folders if any(pattern.fullmatch(f) for pattern in patterns)}
    finder = _Finder(names)
    paths = sorted(entries)
    for root in sorted(tops):
        start = len(root) + 1 if root else 0
        for path in _below(paths, root):
            mode = entries[path]
            if mode == SYMLINK:
                _follow(tree, paths, finder, root, path)
            else:
                finder.visit(root, path[start:], mode)
    files = dict.fromkeys(finder.files, b"")
    shown = {path.rpartition("/")[0] for path in files}
    files.update((mark, b"") for folder, mark in finder.marks.items() if folder not in shown)
    for path in touched:  # ruff and usort ask which package a file is in
        inits = [join(folder, "__init__.py") for folder in ancestors(path)]
        files.update((init, b"") for init in inits if is_regular(entries.get(init)))
    for init in _declared(tree, files, sorted(tops)):
        files[init] = _DECLARATION
    return Stubs(tuple(sorted(finder.folders)), dict(sorted(files.items())))


class _Finder:
    """Collects the folders and files below a root whose every name is known."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.folders: set[str] = set()
        self.files: set[str] = set()
        self.marks: dict[str, str] = {}  # folder -> a Python file in it that no name can import
        self._open: dict[tuple[str, str], bool] = {}

    def visit(self, root: str, path: str, mode: int) -> None:
        """Consider one entry of the tree, its path relative to the root."""
        below, _, name = path.rpartition("/")
        known = self._open.get((root, below))
        if known is None:
            known = self._open[root, below] = self._enter(root, below)
        if not known:
            return
        folder = join(root, below) if below else root
        stem, _, suffix = name.partition(".")
        if mode == SUBMODULE:
            if name in self.names:
                self.folders.add(join(folder, name))
        elif not is_regular(mode):
            return
        elif suffix in _IMPORTABLE and (stem in self.names or stem == "__init__"):
            self.files.add(join(folder, name))
        elif below and (suffix.rpartition(".")[2] in _SOURCES or name.lower() in _PROJECT_FILES):
            self.marks.setdefault(folder, join(folder, name))

    def _enter(self, root: str, below: str) -> bool:
        """Lay out a folder as far as its names are known; tell whether they all are."""
        folder = root
        for part in below.split("/") if below else ():
            if part not in self.names:
                return False
            folder = join(folder, part)
            self.folders.add(folder)
        return True


def _below(paths: list[str], folder: str) -> Iterator[str]:
    """Give the paths in a folder, out of sorted ones; all of them for the top."""
    prefix = f"{folder}/" if folder else ""
    for path in islice(paths, bisect_left(paths, prefix), None):
        if not path.startswith(prefix):
            return
        yield path


def _follow(tree: Tree, paths: list[str], finder: _Finder, root: str, link: str) -> None:
    """Lay out what a symbolic link leads to under the link's own path, if that is in the tree."""
    relative = link[len(root) + 1 :] if root else link
    if not finder.names.issuperset(relative.partition(".")[0].split("/")):
        return
    text = tree.read(link).decode("utf-8", "surrogateescape")
    try:
        target = inside(link.rpartition("/")[0], text, Place(link))
    except Refusal:
        return
    entries = tree.entries()
    if is_regular(entries.get(target)):
        finder.visit(root, relative, entries[target])
    for path in _below(paths, target) if target else ():
        if entries[path] != SYMLINK:
            finder.visit(root, relative + path[len(target) :], entries[path])


def _declared(tree: Tree, files: Mapping[str, bytes], roots: Iterable[str]) -> list[str]:
    """List the `__init__.py` stubs whose real text declares a namespace, from the roots down."""
    entries = tree.entries()
    inits = {path for path in files if path.endswith("__init__.py")}
    open_folders = set(roots)
    found: list[str] = []
    while inits:
        level = {p for p in inits if p.rpartition("/")[0].rpartition("/")[0] in open_folders}
        readable = sorted(path for path in level if is_regular(entries.get(path)))
        declaring = [
            path
            for path, data in tree.read_many(readable).items()
            if _NAMESPACE.search(data[:4096])
        ]
        if not declaring:
            break
        found += declaring
        open_folders = {path.rpartition("/")[0] for path in declaring}
        inits -= level
    return found


def _glob(pattern: str) -> re.Pattern[str]:
    """Translate a glob over folders: `*` within one name, `**` over any number of them."""
    pieces = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        translated = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part)
        pieces.append(re.escape(part) if translated is None else translated)
    return re.compile("".join(pieces))
