"""Which of Repot's own files a bundle carries: what `inside` imports, and what those files read.

Told from the import statements alone, so it is the same wherever Repot is installed.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = Path(__file__).with_name("lock.txt")
_PACKAGES = frozenset({"transforms", "verify"})
_ENTRY = "verify/bundle/inside.py"
# Run by path in processes of their own, or read as data: no import names them.
_BY_PATH = (
    "transforms/formatters/drive.py",
    "transforms/formatters/match_paths.py",
    "transforms/formatters/versions.toml",
)


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


def lock_text() -> str:
    """Give the lock: a requirements file for pip with the hash of every wheel."""
    return LOCK.read_bytes().decode("utf-8")


def engine_digest() -> str:
    """Give the SHA-256 of the lock and the engine, as a bundle's own code computes it."""
    digest = hashlib.sha256()
    for name, text in {"": lock_text(), **engine_files()}.items():
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
