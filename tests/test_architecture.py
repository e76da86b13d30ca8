"""Folders show the architecture: rooms on floors, no arrow upwards, no circle, each its own map."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.imported import imports

# From the ground up. A room may import rooms before it and itself.
FLOORS = {
    "transforms": (
        "errors", "paths", "syntax", "scopes", "result", "reading", "tree", "source",
        "outline", "formatters", "write", "imports", "move", "callers", "relocation", "engine",
    ),
    "verify": (
        "kernel", "certificate", "report", "history", "ancestry", "proofs", "inference", "review",
        "chain", "origin", "carry", "reports", "bundle", "release", "ci", "commands", "cli",
        "__main__",
    ),
    "verify/kernel": (
        "trees", "verdict", "behaviour", "machine", "pairs", "running", "edits", "disk", "reach",
        "texts", "judging", "door",
    ),
    "repot": ("_engine", "launcher", "hook", "api", "server", "__main__"),
}  # fmt: skip
# Arrows of the package itself: what its own `__init__` holds belongs to everybody.
PACKAGES = tuple(FLOORS)


def modules(package: str) -> dict[str, Path]:
    """Every module of a package by dotted name."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules among the known ones that a file imports, wherever it does."""
    for _, module, names in imports(path):
        for whole in [f"{module}.{name}" for name in names] or [module]:
            if whole in known or module in known:
                yield whole if whole in known else module


def room(package: str, dotted: str) -> str:
    """The child of a package in which a module lies; "" for the package itself."""
    return [*dotted.split("."), ""][len(package.split("/"))]


@pytest.mark.parametrize("package", PACKAGES)
class TestRooms:
    def test_every_room_has_its_floor(self, package: str) -> None:
        assert {room(package, dotted) for dotted in modules(package)} - {""} == set(FLOORS[package])

    def test_no_arrow_points_upwards(self, package: str) -> None:
        known = modules(package)
        floor = {name: number for number, name in enumerate(FLOORS[package])}
        upwards = {
            f"{dotted} -> {target}"
            for dotted, path in known.items()
            for target in imported(path, known)
            if room(package, dotted)
            and room(package, target)
            and floor[room(package, dotted)] < floor[room(package, target)]
        }
        assert upwards == set()

    def test_no_modules_import_each_other_in_a_circle(self, package: str) -> None:
        known = modules(package)
        graph = {
            dotted: {target for target in imported(path, known) if target != dotted}
            for dotted, path in known.items()
        }
        # A package's `__init__` that re-exports its modules is one with them.
        for dotted, path in known.items():
            if path.name == "__init__.py":
                graph[dotted] = {t for t in graph[dotted] if not t.startswith(f"{dotted}.")}
        TopologicalSorter(graph).prepare()

    def test_each_room_says_what_its_modules_are_for(self, package: str) -> None:
        known = modules(package)
        for dotted, path in known.items():
            if path.name != "__init__.py" or dotted in FLOORS:
                continue
            said = ast.get_docstring(ast.parse(path.read_bytes())) or ""
            own = {name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == dotted}
            missing = {name for name in own if not _is_listed(name, said)}
            assert missing == set(), f"{dotted} does not say what these are for"

    def test_the_page_names_every_room(self, package: str) -> None:
        page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        for name in FLOORS[package]:
            dotted = f"{package}.{name}".replace("/", ".")
            assert f"`{dotted}`" in page or name == "__main__"


def _is_listed(name: str, said: str) -> bool:
    """Whether a room's text has a line for a module, or names it as code."""
    word = re.escape(name)
    return re.search(rf"(?m)^(?:\w+, +)*{word}\b|`{word}(?:\.py)?`", said) is not None
