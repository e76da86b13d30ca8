"""Which of SGLang's classes keep slots, and with which code: read from its source, not run."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# What a pool of SGLang's holds its free slots in.
SLOT_ATTRIBUTES = frozenset(
    {"free_slots", "release_slots", "num_release_slots", "slot_used", "mem_state"}
)
# How many slots there are, and how many to a page, where several ranks share a row.
GEOMETRY = ("logical_size", "logical_page_size")


@dataclass(frozen=True)
class Function:
    """A function that touches slots, or says how many there are."""

    module: str
    line: int  # its first, decorators included
    signature: str
    digest: str

    @property
    def is_like(self) -> tuple[str, str]:
        """What another release's function must have alike to be replaced by the same."""
        return self.signature, self.digest


# By "Class.method", or the name alone of one outside a class.
Family = dict[str, Function]
# Signature and digest of the same.
Record = Mapping[str, tuple[str, str]]


def read_family(package: str, folder: Path) -> Family:
    """Read the modules of host pools in the folder of SGLang's package of caches.

    Raises FileNotFoundError if none is there, and SyntaxError where one cannot be read.
    """
    found: Family = {}
    for name, path in _modules(package, folder):
        source = path.read_bytes()
        lines = source.decode().splitlines(keepends=True)
        for qualified, node in _functions(ast.parse(source, str(path)).body):
            if not _keeps_slots(qualified, node):
                continue
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            text = "".join(lines[first - 1 : node.end_lineno])
            digest = hashlib.sha256(text.encode()).hexdigest()[:32]
            signature = ast.unparse(node.args)
            if node.returns is not None:
                signature = f"{signature} -> {ast.unparse(node.returns)}"
            found[qualified] = Function(name, first, signature, digest)
    return found


def record_of(family: Family) -> Record:
    """Give what is compared of a family."""
    return {name: function.is_like for name, function in sorted(family.items())}


def differences(found: Record, tested: Record) -> list[str]:
    """Say in words what of a family is not as it was tested."""
    said = []
    for name in sorted({*found, *tested}):
        if name not in found:
            said.append(f"{name} is missing")
        elif name not in tested:
            said.append(f"{name} touches slots and was not there")
        elif found[name][0] != tested[name][0]:
            said.append(f"{name} takes ({found[name][0]}), not ({tested[name][0]})")
        elif found[name] != tested[name]:
            said.append(f"{name} has another body")
    return said


def _modules(package: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the modules that host pools may stand in, with their files."""
    whole = folder / "memory_pool_host.py"
    parts = sorted((folder / "pool_host").glob("*.py"))
    if not whole.is_file() and not parts:
        raise FileNotFoundError(f"{folder} has neither memory_pool_host.py nor pool_host/")
    if whole.is_file():
        yield f"{package}.memory_pool_host", whole
    for path in parts:
        dotted = "" if path.stem == "__init__" else f".{path.stem}"
        yield f"{package}.pool_host{dotted}", path


def _functions(
    body: Iterable[ast.stmt], inside: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Give the functions of a module and of its classes, under whatever conditions."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{inside}{node.name}.")
        else:
            parts = (getattr(node, field, ()) for field in ("body", "orelse", "finalbody"))
            for part in parts:
                yield from _functions(part, inside)
            for handler in getattr(node, "handlers", ()):
                yield from _functions(handler.body, inside)


def _keeps_slots(qualified: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if qualified.rpartition(".")[2] in GEOMETRY:
        return True
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in SLOT_ATTRIBUTES:
            return True
        if isinstance(part, ast.Constant) and part.value in SLOT_ATTRIBUTES:  # getattr, setattr
            return True
    return False


def digest_of_modules(package: str, folder: Path) -> str:
    """Give a digest of all modules that host pools stand in, name by name and byte for byte."""
    whole = hashlib.sha256()
    for name, path in _modules(package, folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{name} {content}\n".encode())
    return whole.hexdigest()[:32]
