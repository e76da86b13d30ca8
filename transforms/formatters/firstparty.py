"""Which stubs a scratch tree needs for the formatters to tell first-party as in the real one.

They look for an imported module on disk: a folder or a file of that name below a source root. Only
names that occur in the formatted files or their configuration can be looked up, so only those get
a stub; a folder that is not importable by any such name cannot make a difference.

What is told by the folder that one cloned into is not reproduced: where one clones is no property
of a repository.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from transforms.errors import Place, Refusal
from transforms.formatters import registry
from transforms.formatters.settings import ancestors, inside, is_regular, join
from transforms.result.changes import SUBMODULE, SYMLINK
from transforms.tree import Tree

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_SOURCES = frozenset({"py", "pyi", "pyx", "pxd"})
_IMPORTABLE = _SOURCES | {"so", "abi3.so"}
_AFTER_SLASH = "0"  # the character that sorts behind `/`


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
    if patterns := [pattern.split("/") for pattern in globs]:
        folders = {folder for path in entries for folder in ancestors(path)}
        tops |= {f for f in folders if any(_matches(f.split("/"), p) for p in patterns)}
    finder = _Finder(tree, names)
    for root in sorted(tops):
        finder.walk(root, root)
    files = dict.fromkeys(finder.files, b"")
    shown = {path.rpartition("/")[0] for path in files}
    files.update((mark, b"") for folder, mark in finder.marks.items() if folder not in shown)
    for path in touched:  # some ask which package a file is in
        inits = [join(folder, "__init__.py") for folder in ancestors(path)]
        files.update((init, b"") for init in inits if is_regular(entries.get(init)))
    files.update(_declared(tree, files, sorted(tops)))
    return Stubs(tuple(sorted(finder.folders)), dict(sorted(files.items())))


class _Finder:
    """Collects the folders and files below a root whose every name is known."""

    def __init__(self, tree: Tree, names: frozenset[str]) -> None:
        self.tree = tree
        self.names = names
        self.folders: set[str] = set()
        self.files: set[str] = set()
        self.marks: dict[str, str] = {}  # folder -> a Python file in it that no name can import
        self._entries = tree.entries()
        self._paths = sorted(self._entries)
        self._preventing = frozenset().union(*(n.prevented_by for n in registry.namespaces()))

    def walk(self, source: str, folder: str, *, linked: bool = False) -> None:
        """Lay out what lies in `source` as if it lay in `folder`, each name being known.

        What lies in a folder of an unknown name is stepped over, however much that is.
        """
        prefix = f"{source}/" if source else ""
        at = bisect_left(self._paths, prefix)
        while at < len(self._paths) and self._paths[at].startswith(prefix):
            path = self._paths[at]
            *parents, name = path[len(prefix) :].split("/")
            unknown = next((n for n, part in enumerate(parents) if part not in self.names), None)
            known = parents[:unknown]
            self.folders.update(join(folder, "/".join(known[: n + 1])) for n in range(len(known)))
            if unknown is not None:
                closed = prefix + "/".join(parents[: unknown + 1])
                at = bisect_left(self._paths, closed + _AFTER_SLASH, at)
                continue
            below = join(folder, "/".join(parents)) if parents else folder
            self._visit(path, below, name, at_top=not parents and not linked, linked=linked)
            at += 1

    def _visit(self, path: str, folder: str, name: str, *, at_top: bool, linked: bool) -> None:
        mode = self._entries[path]
        stem, _, suffix = name.partition(".")
        if mode == SUBMODULE and name in self.names:
            self.folders.add(join(folder, name))
        elif mode == SYMLINK and not linked and stem in self.names:
            self._follow(path, folder, name)
        elif is_regular(mode):
            self._module(folder, name, stem, suffix, at_top=at_top)

    def _module(self, folder: str, name: str, stem: str, suffix: str, *, at_top: bool) -> None:
        if suffix in _IMPORTABLE and (stem in self.names or stem == "__init__"):
            self.files.add(join(folder, name))
        elif not at_top:
            if suffix.rpartition(".")[2] in _SOURCES or name.lower() in self._preventing:
                self.marks.setdefault(folder, join(folder, name))

    def _follow(self, link: str, folder: str, name: str) -> None:
        """Lay out what a link leads to under the link's own path, if that is in the tree.

        Links in there are not followed: they may lead round in circles.
        """
        text = self.tree.read(link).decode("utf-8", "surrogateescape")
        try:
            target = inside(link.rpartition("/")[0], text, Place(link))
        except Refusal:
            return
        if is_regular(self._entries.get(target)):
            stem, _, suffix = name.partition(".")
            self._module(folder, name, stem, suffix, at_top=True)
        elif target and name in self.names:
            at = bisect_left(self._paths, f"{target}/")
            if at < len(self._paths) and self._paths[at].startswith(f"{target}/"):
                self.folders.add(join(folder, name))
                self.walk(target, join(folder, name), linked=True)


def _declared(tree: Tree, files: Mapping[str, bytes], roots: Iterable[str]) -> dict[str, bytes]:
    """Give the `__init__.py` stubs whose real text declares a namespace, from the roots down."""
    entries = tree.entries()
    inits = {path for path in files if path.endswith("__init__.py")}
    open_folders = set(roots)
    found: dict[str, bytes] = {}
    while inits:
        level = {p for p in inits if p.rpartition("/")[0].rpartition("/")[0] in open_folders}
        readable = sorted(path for path in level if is_regular(entries.get(path)))
        declaring = {
            path: one.declaration
            for path, data in tree.read_many(readable).items()
            for one in registry.namespaces()
            if one.declared.search(data[:4096])
        }
        if not declaring:
            break
        found.update(declaring)
        open_folders = {path.rpartition("/")[0] for path in declaring}
        inits -= level
    return found


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Match a folder's names with a pattern's: `**` is any number of names, `*` part of one."""
    states = {0}
    for part in [*parts, None]:
        for state in sorted(states):
            while state < len(pattern) and pattern[state] == "**":
                state += 1  # noqa: PLW2901 - `**` may also be no name
                states.add(state)
        if part is None:
            break
        inner = {state for state in states if state < len(pattern)}
        states = {state for state in inner if pattern[state] == "**"} | {
            state + 1 for state in inner if fnmatchcase(part, pattern[state])
        }
    return len(pattern) in states
