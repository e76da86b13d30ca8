"""Names that stand in texts: entry points, settings, tables, documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from verify.kernel.both import Both
from verify.kernel.entries import lone_scripts
from verify.kernel.needs import every
from verify.kernel.settings import is_settings
from verify.kernel.source import OpaqueError, stored
from verify.kernel.tree import Tree, dotted
from verify.kernel.verdict import BREAKS, OBSERVED, OPEN, Place

# `a.b:c`, `a.b.c`, `a.b : c`: a path of names, with the last one apart or not.
_PATH = re.compile(r"(?<![\w./-])(?=([A-Za-z_]\w*(?:\.\w+)*)(?:\s*:\s*|\.)([A-Za-z_]\w*)(?!\w))")
_TEXTS = (".md", ".rst", ".txt", ".yaml", ".yml", ".json", ".sh", ".ipynb", ".pyi", ".html")


def lost(both: Both) -> dict[str, set[str]]:
    """Give the names that modules no longer have, by the module's name, read off the text."""
    found: dict[str, set[str]] = {}
    for path in sorted(both.changed):
        if path not in both.base.files or not path.endswith(".py"):
            continue
        before = _bound(both.base, path)
        after: set[str] = set()
        for twin in (path, f"{path[:-3]}/__init__.py", path.replace("/__init__.py", ".py")):
            if twin in both.target.files:
                after |= _bound(both.target, twin)
        if "*" in after or "__getattr__" in after:
            continue
        if before - after:
            for name in {both.base.name(path), both.base.spaced(path), dotted(path)}:
                found.setdefault(name, set()).update(before - after)
    return found


def _bound(tree: Tree, path: str) -> set[str]:
    return {name for node in tree.source(path).tree.body for name in stored(node)}


def check(both: Both) -> None:
    """Report texts of unchanged files that name what a module lost."""
    gone = lost(both)
    if not gone:
        return
    scripts = set(lone_scripts(both.target))
    needle = re.compile("|".join(sorted({re.escape(name.rpartition(".")[2]) for name in gone})))
    for path in sorted(both.target.files):
        if both.base.files.get(path) != both.target.files[path] and path.endswith(".py"):
            continue
        settings = is_settings(path)
        script = path in scripts
        if not (settings or script or path.endswith((".py", *_TEXTS))):
            continue
        text = both.target.text(path)
        if not needle.search(text):
            continue
        if script or path.endswith(".py"):
            _python(both, path, gone)
        else:
            _text(both, path, text, gone, settings=settings)


# An entry point: what it is called, the module, and what in it is called.
_POINT = re.compile(
    r"""^\s*(?:['"]?([\w.-]+)['"]?\s*=\s*)?['"]?([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)""", re.M
)


@dataclass(frozen=True, slots=True)
class Point:
    """An entry point that leads elsewhere than before: a module and a name in it, on both sides."""

    path: str
    line: int
    base: tuple[str, str]
    target: tuple[str, str]


def points(both: Both) -> list[Point]:
    """List the entry points of settings that name another module now."""
    found = []
    for path in sorted(both.base.files.keys() & both.target.files.keys()):
        if is_settings(path) and both.base.files[path] != both.target.files[path]:
            ours, theirs = _points(both.base.text(path)), _points(both.target.text(path))
            for name, (line, now) in theirs.items():
                if name in ours and ours[name][1] != now:
                    found.append(Point(path, line, ours[name][1], now))
    return found


def _points(text: str) -> dict[str, tuple[int, tuple[str, str]]]:
    found = {}
    for match in _POINT.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        found[match[1] or match[3]] = line, (match[2], match[3])
    return found


def _named(text: str, gone: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    for match in _PATH.finditer(text):
        module, name = match[1], match[2]
        while module:
            if name in gone.get(module, ()):
                yield module, name
                break
            module, _, name = module.rpartition(".")


def _text(both: Both, path: str, text: str, gone: dict[str, set[str]], *, settings: bool) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        for module, name in _named(line, gone):
            table = path.endswith((".json", ".yaml", ".yml"))
            kind = BREAKS if settings else OPEN if table else OBSERVED
            why = f"this names {name}, which is no longer there"
            both.found.say(kind, f"{module}.{name}", why, Place(path, number))


def _python(both: Both, path: str, gone: dict[str, set[str]]) -> None:
    try:
        tree = both.target.source(path).tree
    except OpaqueError:
        return
    packaging = path.rpartition("/")[2] == "setup.py"
    for row in every(both.target, both.target.source(path)):
        if row.member in gone.get(row.module, ()):
            why = f"this imports {row.member}, which is no longer there"
            both.found.say(BREAKS, f"{row.module}.{row.member}", why, Place(path, 1))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if len(node.value) > 1 << 12 or "\n" in node.value.strip():
            continue
        whole = packaging or re.fullmatch(r"[\w.:=\s\[\],-]+", node.value)
        for module, name in _named(node.value, gone) if whole else ():
            kind = BREAKS if packaging else OPEN
            why = f"a text names {name}, which is no longer there"
            both.found.say(kind, f"{module}.{name}", why, Place(path, node.lineno))
