"""From what a program can start: modules, scripts, and what runs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from verify.kernel.pairs.both import Both
from verify.kernel.trees.source import is_python
from verify.kernel.trees.tree import Tree, installed, needs_beside
from verify.kernel.trees.words import raw, words

_IMPORT = re.compile(r"^\s*(?:from|import)\s+\w", re.M)
# Endings of other languages and of prose: nothing there is run by Python.
_OTHERS = words(
    """md rst txt toml cfg ini json yaml yml pyi ipynb pyx pxd pxi html htm js ts tsx jsx java kt
    scala go rs c h cc cpp hpp cu cuh hs swift proto lua rb pl php vue css scss svg xml sh bash
    bat ps1 sql csv tsv tex bib lock patch diff in j2 jinja cmake mk r jl m mm dart ml"""
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file from which something starts, in both trees. `name` is what it is imported by.

    `by_name` is a script that can be run by the name of its module alone, now.
    """

    path: str
    target: str
    name: str
    target_name: str
    script: bool = False
    by_name: bool = False
    guessed: bool = False  # whether nothing but what it does says that it is a script

    def __str__(self) -> str:
        return self.path if self.script else self.name


def entries(base: Tree, target: Tree, reached: Iterable[str]) -> list[Entry]:
    """List the files from which something can start, of those that reach a change."""
    there = {path for path in reached if path in base.files} | set(lone_scripts(base))
    wanted = {path for path in there if not base.is_blank(path)}
    found = []
    users: dict[str, int] = dict.fromkeys(wanted, 0)
    for path in wanted:
        for other in base.imports(path) if path.endswith(".py") else ():
            if other != path and other in users:
                users[other] += 1
    for path in sorted(wanted, key=lambda p: (users[p], p)):
        twin = became(path, target)
        if twin is None:
            continue
        if path.endswith(".py"):
            found.append(Entry(path, twin, name_of(base, path), name_of(target, twin)))
        if is_script(base, path):
            named = _by_name(base, target, path, twin)
            found.append(Entry(path, twin, "__main__", "__main__", script=True, by_name=named))
        elif not users[path] and _acts_alone(base, path):
            found.append(Entry(path, twin, "__main__", "__main__", script=True, guessed=True))
    return found


def _by_name(base: Tree, target: Tree, path: str, twin: str) -> bool:
    """Tell whether a script within a package needs that package now, and nobody minds.

    It could be run by its path as well before, where Python searches the folder that it lies in.
    Somebody minds if a file names it, or its first line does; and it could not be run by its name
    if it needs what lies beside it.
    """
    folder, _, file = path.rpartition("/")
    inside = f"{folder}/__init__.py" in base.files and f"{folder}/__init__.py" in target.files
    if not inside or installed(base, path) or not installed(target, twin):
        return False
    if base.files[path][:2] == b"#!" or needs_beside(base, path):
        return False
    named = rb"(?<![\w.-])" + raw(re.escape(file)) + rb"\b"
    if file == "__main__.py":  # Python runs its folder as well
        called = raw(re.escape(folder.rpartition("/")[2]))
        started = rb"\b(?:python[\w.]*|executable|run_path)\b(?![^\n]*-m\b)[^\n]*\b"
        named += rb"|" + started + called + rb"\b"
    wanted = re.compile(named)
    return not any(
        wanted.search(data)
        for tree in (base, target)
        for other, data in tree.files.items()
        if other not in (path, twin)
    )


def _acts_alone(tree: Tree, path: str) -> bool:
    """Tell whether a file in no package does something by itself, so that it may be a script."""
    folder, _, name = path.rpartition("/")
    if not folder or f"{folder}/__init__.py" in tree.files:
        return False
    if name in ("conftest.py", "conf.py", "setup.py") or name.startswith("test_"):
        return False
    source = tree.readable(path)
    return acts(source.tree.body if source else [])


def acts(body: Iterable[ast.stmt]) -> bool:
    """Tell whether statements do something by themselves: a call whose value nobody keeps."""
    return any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in body)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file of the target in which moved code arrives, and where that comes from."""

    path: str
    origins: tuple[str, ...]  # files of the base
    now: tuple[str, ...]  # what is left of them in the target, and the file itself


def arrivals(both: Both) -> list[Arrival]:
    """List the files in which code arrives."""
    sources: dict[str, set[str]] = {}
    for target, base in both.pairing.base_of.items():
        if target[0] != base[0] and target[0].endswith(".py"):
            sources.setdefault(target[0], set()).add(base[0])
    for path in both.changed:
        if path in both.target.files and path not in both.base.files and path.endswith(".py"):
            sources.setdefault(path, set())
    found = []
    for path, origins in sorted(sources.items()):
        known = sorted(origin for origin in origins if origin.endswith(".py"))
        twins = [became(origin, both.target) for origin in known]
        now = [*dict.fromkeys(twin for twin in twins if twin), path]
        old = [became(path, both.base)] if path in both.base.files else []
        ours = [*known, *(o for o in old if o)]
        found.append(Arrival(path, tuple(dict.fromkeys(ours)), tuple(dict.fromkeys(now))))
    return found


def became(path: str, target: Tree) -> str | None:
    """Give where a module lies now: a module may become a package, and the other way round."""
    options = [path]
    if path.endswith("/__init__.py"):
        options.append(path.removesuffix("/__init__.py") + ".py")
    elif path.endswith(".py"):
        options.append(path[:-3] + "/__init__.py")
    return next((option for option in options if option in target.files), None)


def is_script(tree: Tree, path: str) -> bool:
    """Tell whether a file is run by itself."""
    if not path.endswith(".py") or path.endswith("__main__.py"):
        return True
    source = tree.readable(path)
    return source.asks_main if source else "__main__" in tree.text(path)


def lone_scripts(tree: Tree) -> list[str]:
    """List the files that may be scripts though no ending says so."""
    found = []
    for path, data in tree.files.items():
        name = path.rpartition("/")[2]
        suffix = name.rpartition(".")[2].lower() if "." in name else ""
        if suffix in ("py", *_OTHERS) or b"\0" in data[:1000] or name.startswith("."):
            continue
        if is_python(path, data) or (_IMPORT.search(tree.text(path)) and tree.readable(path)):
            found.append(path)
    return found


def name_of(tree: Tree, path: str) -> str:
    """Give the name that a file is imported by when it is what starts."""
    name = tree.name(path)
    relative = re.search(r"^\s*from\s+\.", tree.text(path), re.M)
    if relative and "/" in path and "." not in name and not path.endswith("/__init__.py"):
        return tree.spaced(path)
    return name
