"""For which Pythons a verdict holds: those that the tree says it runs on."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from itertools import takewhile

EVERY = "every Python"
DEFERS = (3, 14)  # annotations are evaluated when somebody asks for them, not before
_KEYS = (
    ("pyproject.toml", re.compile(r"""^\s*requires-python\s*=\s*["']([^"'\n]*)["']""", re.M)),
    ("setup.cfg", re.compile(r"^\s*python_requires\s*=\s*([^\n]*)", re.M)),
    ("setup.py", re.compile(r"""\bpython_requires\s*=\s*["']([^"'\n]*)["']""")),
    ("pyproject.toml", re.compile(r"""^\s*python\s*=\s*["']([^"'\n]*)["']""", re.M)),  # poetry
)
_CLAUSE = re.compile(r"\s*(>=|>|==|~=|\^|~)?\s*(\d+(?:\.\d+)*)")


def required(files: Mapping[str, bytes]) -> str:
    """Give the Pythons that a tree asks for, as its settings spell them, or nothing."""
    for path, pattern in _KEYS:
        if path in files:
            found = pattern.search(files[path].decode("utf-8", "replace"))
            if found:
                return found[1].strip()
    return ""


def oldest(spelled: str) -> tuple[int, ...]:
    """Give the oldest Python that a requirement allows; nothing allows all."""
    found: tuple[int, ...] = ()
    for clause in spelled.split(","):
        match = _CLAUSE.match(clause)
        if match and match[1]:
            number = tuple(int(part) for part in match[2].split("."))
            if match[1] == ">" and len(number) == 2:
                number = number[0], number[1] + 1
            found = max(found, number)
    return found


def defers(spelled: str) -> bool:
    """Tell whether every Python that is allowed leaves annotations until somebody asks."""
    return oldest(spelled)[:2] >= DEFERS


def here() -> str:
    """Name the Python that reads the files."""
    return ".".join(str(part) for part in sys.version_info[:2])


def told(spelled: str) -> str:
    """Say for which Pythons a verdict holds."""
    plain = "".join(takewhile(str.isprintable, spelled))[:80]
    asked = (
        f"Python {plain}, as the tree requires" if plain else f"{EVERY}, for the tree names none"
    )
    return f"{asked}; read by Python {here()}"
