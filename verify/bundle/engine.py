"""Which of Repot's own files a bundle carries: what `inside` imports, and what those files read.

Told from the import statements alone, so it is the same wherever Repot is installed.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = Path(__file__).with_name("lock.txt")
_PACKAGES = frozenset({"transforms", "verify"})
_ENTRY = "verify/bundle/inside.py"
# Run by path in processes of their own, or read as data: no import names them.
_TABLE = "transforms/formatters/versions.toml"
_BY_PATH = (
    "transforms/formatters/drive.py",
    "transforms/formatters/match_paths.py",
    _TABLE,
)
_PAIR = re.compile(r'"([\w.-]+)" = "([\w.]+)"')  # a project and its version, in such a table


@cache
def engine_files() -> Mapping[str, str]:
    """Give the text of each file by its path from the top of the distribution, sorted."""
    found: dict[str, str] = {}
    waiting = [_ENTRY, *_BY_PATH]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = (ROOT / path).read_bytes().decode("utf-8")
            if path.endswith(".py"):
                waiting += _needed(path, found[path])
    return dict(sorted(found.items()))


def carried_files(installs: Collection[str]) -> Mapping[str, str]:
    """Give what a bundle carries: of the table of versions just the lines that its plan needs.

    `installs` is all that its formatters take, each a project with its version.
    """
    table = engine_files()[_TABLE]
    return {**engine_files(), _TABLE: "".join(_excerpt(table, installs))}


def in_table(installs: Iterable[str]) -> Iterator[str]:
    """Give those that the table of versions has."""
    rows = {f"{project} {version}" for kind, project, version, _ in _rows() if kind == "wheels"}
    return (one for one in installs if one in rows)


def _excerpt(table: str, installs: Collection[str]) -> Iterator[str]:
    """Give the wheels of what is installed, and the rows on what a tool needs that are met by it.

    The row that a tool goes by is among these; what is larger or newer it passes over, as ever.
    """
    yield table[: table.index("[")].rstrip("\n") + "\n"
    last = ""
    tools = {one.partition(" ")[0] for one in installs}
    for kind, project, version, line in _rows():
        needed = {" ".join(pair) for pair in _PAIR.findall(line)} if kind == "needs" else set()
        if project in tools and needed.issubset(installs):
            if kind == "needs" or f"{project} {version}" in installs:
                head = f"[{kind}.{project}]\n"
                yield f"\n{head}{line}" if head != last else line
                last = head


@cache
def _rows() -> tuple[tuple[str, str, str, str], ...]:
    """Read the table of versions, without understanding more of it: section, version and line."""
    found = []
    kind = project = ""
    for line in engine_files()[_TABLE].splitlines(keepends=True):
        if line.startswith("["):
            kind, _, project = line.strip("[]\n").partition(".")
        elif line.startswith('"'):
            found.append((kind, project, line.split('"', 2)[1], line))
    return tuple(found)


def lock_text() -> str:
    """Give the lock: a requirements file for pip with the hash of every wheel."""
    return LOCK.read_bytes().decode("utf-8")


def engine_digest() -> str:
    """Give the SHA-256 of the lock and the whole engine: what a release is known by."""
    return _digest(engine_files())


def carried_digest(installs: Collection[str]) -> str:
    """Give the SHA-256 of the lock and what a bundle carries, as its own code computes it."""
    return _digest(carried_files(installs))


def _digest(files: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, text in {"": lock_text(), **files}.items():
        data = text.encode()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def dependencies() -> set[str]:
    """Name the top-level modules that the engine imports and that are neither ours nor Python's."""
    found = set()
    for path, text in engine_files().items():
        if path.endswith(".py"):
            found |= {name.partition(".")[0] for name, _ in _imports(ast.parse(text))}
    return found - _PACKAGES - sys.stdlib_module_names - {"tomllib"}  # of Python's own from 3.11


def _needed(path: str, text: str) -> Iterator[str]:
    """Give the files of ours that one file needs: packages above it, and what it imports."""
    folders = path.split("/")[:-1]
    for depth in range(1, len(folders) + 1):
        yield "/".join([*folders[:depth], "__init__.py"])
    for module, names in _imports(ast.parse(text)):
        if module.partition(".")[0] in _PACKAGES:
            for candidate in (module, *(f"{module}.{name}" for name in names)):
                yield from _files(candidate)


def _files(module: str) -> Iterator[str]:
    place = module.replace(".", "/")
    for path in (f"{place}.py", f"{place}/__init__.py"):
        if (ROOT / path).is_file():
            yield path


def _imports(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Give every statement, in any order: imports are among them, and in no expression."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, field, ())
