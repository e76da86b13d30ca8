"""Folders that are listed: which one, where the way from `__file__` to it is written down."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from verify.kernel.words import words

# Methods of a path that list what lies in it, and those that list what lies below it, too.
LISTS = frozenset({"glob", "iterdir", "rglob", "walk"})
_DEEP = ("rglob", "walk", "walk_packages")
_SAME = words(
    """pathlib.Path pathlib.PurePath os.path.abspath os.path.realpath os.path.normpath os.fspath
    builtins.str builtins.sorted builtins.list"""
)
_SAME_METHODS = frozenset({"resolve", "absolute", "expanduser", "as_posix"})
_FILE = "*file*"


def way(key: Hashable) -> list[str] | None:
    """Give the parts of a path that a value is, None where that cannot be told."""
    if not isinstance(key, tuple) or len(key) < 2:
        return None
    if key[0] == "unknown":
        return way(key[1])
    if key[0] in ("__file__", "__path__") and isinstance(key[1], str):
        folder = [part for part in key[1].split("/") if part]
        return [*folder, _FILE] if key[0] == "__file__" else folder
    return _made(*key) if len(key) == 3 else None


def _made(kind: Hashable, of: Hashable, by: Hashable) -> list[str] | None:
    if kind == "attribute" and by == "parent":
        return _up(way(of))
    if kind in ("Div", "Add"):
        return _joined(way(of), [by])
    return _called(of, by) if kind == "call" else None


def _called(function: Hashable, arguments: Hashable) -> list[str] | None:
    given = arguments[0] if isinstance(arguments, tuple) and arguments else ()
    if not isinstance(given, tuple):
        return None
    if isinstance(function, str) and given:
        if function == "os.path.dirname":
            return _up(way(given[0]))
        if function in _SAME or function == "os.path.join":
            return _joined(way(given[0]), list(given[1:]))
    if isinstance(function, tuple) and function[0] == "unknown":
        method = function[1]
        if isinstance(method, tuple) and len(method) == 3 and method[0] == "attribute":
            if method[2] in _SAME_METHODS:
                return way(method[1])
            if method[2] == "joinpath":
                return _joined(way(method[1]), list(given))
    return None


def _up(parts: list[str] | None) -> list[str] | None:
    return parts[:-1] if parts else None


def _joined(parts: list[str] | None, more: list[Hashable]) -> list[str] | None:
    if parts is None:
        return None
    for one in more:
        text = literal_text(one)
        if text is None:
            return None
        for part in text.split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts = [*parts, part]
    return parts


def literal_text(key: Hashable) -> str | None:
    """Give a constant's text, if it is one."""
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "str" and isinstance(key[1], str):
        text: object = ast.literal_eval(key[1])
        return text if isinstance(text, str) else None
    return None


def listing(path: Hashable, how: str, pattern: str = "") -> tuple[str, bool] | None:
    """Give the folder that is listed, and whether those below are; None if it cannot be told.

    A listing that takes no modules is one of the folder "-".
    """
    parts = way(path)
    if parts is None:
        return None
    at = next((n for n, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    wanted = "/".join([*parts[at:], *([pattern] if pattern else [])])
    if wanted and not wanted.endswith(("*", "?", "py", "]")):
        return "-", False
    deep = how.endswith(_DEEP) or "/" in wanted or "**" in wanted
    return "/".join(parts[:at]), deep
