"""What SGLang's classes offer by name, read from their source, and what ours of that name do."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import pool_host

Signatures = dict[str, dict[str, list[str]]]


def theirs(caches: Path) -> Signatures:
    """Read classes and functions of SGLang's host pools, with what they inherit."""
    own: dict[str, tuple[list[str], dict[str, list[str]]]] = {}
    for path in (caches / "memory_pool_host.py", *sorted((caches / "pool_host").glob("*.py"))):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef):
                own[node.name] = [], {"": _names(node.args)}
            elif isinstance(node, ast.ClassDef):
                methods = {
                    each.name: _names(each.args)
                    for each in node.body
                    if isinstance(each, ast.FunctionDef) and _is_public(each.name)
                }
                own[node.name] = (
                    [base.id for base in node.bases if isinstance(base, ast.Name)],
                    {name: methods[name] for name in methods},
                )
    return {name: _with_bases(name, own) for name in own if _is_public(name)}


def ours(name: str) -> Any:
    """Give the class or function of that name of `pool_host`, or None."""
    for module in pkgutil.iter_modules(pool_host.__path__, "pool_host."):
        if not module.ispkg:
            value = vars(importlib.import_module(module.name)).get(name)
            if value is not None and value.__module__ == module.name:
                return value
    return None


def compared(caches: Path) -> dict[tuple[str, str], str]:
    """Say where ours does not take what SGLang's does: by class and member, in few words."""
    said: dict[tuple[str, str], str] = {}
    for name, members in theirs(caches).items():
        value = ours(name)
        if value is None:
            said[name, ""] = "missing"
            continue
        for member, arguments in members.items():
            found = value if not member else _member(value, member)
            if found is None:
                said[name, member] = "missing"
            elif callable(found):
                missing = [each for each in arguments if not _takes(found, each)]
                if missing:
                    said[name, member] = f"without {', '.join(missing)}"
    return said


def _names(arguments: ast.arguments) -> list[str]:
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in listed if each.arg != "self"]


def _is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def _with_bases(
    name: str, own: dict[str, tuple[list[str], dict[str, list[str]]]]
) -> dict[str, list[str]]:
    bases, members = own.get(name, ([], {}))
    inherited: dict[str, list[str]] = {}
    for base in reversed(bases):
        inherited |= _with_bases(base, own)
    return inherited | members


def _member(value: Any, member: str) -> Any:
    found = getattr(value, member, None)
    if found is None and member in getattr(value, "__annotations__", {}):
        return True
    if found is None and hasattr(value, "__getattr__"):  # the anchor's
        return True
    bases = [base for base in getattr(value, "__mro__", ()) if base is not object]
    if found is None and any(member in vars(base).get("__annotations__", {}) for base in bases):
        return True
    return found


def _takes(function: Any, argument: str) -> bool:
    parameters = inspect.signature(function).parameters
    kinds = {each.kind for each in parameters.values()}
    return argument in parameters or inspect.Parameter.VAR_KEYWORD in kinds
