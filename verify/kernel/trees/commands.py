"""Which tests the commands of a tree run, where these name files, folders or modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from verify.kernel.trees.settings import FILES
from verify.kernel.trees.tree import Tree

_PLACES = ("Makefile", "Dockerfile", "Jenkinsfile", "Procfile", "justfile", "noxfile.py")
_ENDINGS = (".sh", ".bash", ".yml", ".yaml", ".mk", ".toml", ".cfg", ".ini", ".bat", ".ps1")
_STARTS = re.compile(r"(?:\bpytest\b|\bpy\.test\b|-m\s+unittest\b)(?!\.)([^\n;&|]*)")
_DESELECTED = re.compile(r"--deselect[=\s]+['\"]?([\w./-]+::[\w.:\[\]-]+)")
_CHOSEN = re.compile(r"(?:^|\s)-k[\s=]+(?:'([^'\n]*)'|\"([^\"\n]*)\"|(\w+))", re.M)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Command:
    """A line that starts tests: where it stands, and what it names."""

    path: str
    line: int
    names: tuple[str, ...]

    def runs(self, tree: Tree, path: str) -> bool:
        """Tell whether it runs the tests of a file."""
        module = tree.name(path)
        return not self.names or any(
            path == name or path.startswith(f"{name}/") or f"{module}.".startswith(f"{name}.")
            for name in self.names
        )


class Commands:
    """The commands of a tree that start tests."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._lost: dict[tuple[str, str], Command | None] = {}

    @cached_property
    def every(self) -> list[Command]:
        """List them."""
        return [*self._found()]

    def _found(self) -> Iterator[Command]:
        for path in sorted(self.tree.files):
            if not path.endswith((*_PLACES, *_ENDINGS)) or path in FILES[:2]:
                continue
            data = self.tree.files[path]
            if b"pytest" not in data and b"py.test" not in data and b"unittest" not in data:
                continue
            for number, line in enumerate(self.tree.text(path).split("\n"), 1):
                found = _STARTS.search(line)
                if found and "discover" not in found[1] and _is_command(line, found.start()):
                    yield Command(path, number, tuple(self._names(found[1])))

    def _names(self, words: str) -> Iterator[str]:
        """List what the words of a command name: files, folders and modules of the tree."""
        for word in words.replace('"', " ").replace("'", " ").replace(",", " ").split():
            name = word.split("::")[0].removeprefix("./").rstrip("/")
            known = name in self.tree.files or name in self.tree.folders - {""}
            if known or (name in self.tree.named and not word.startswith("-")):
                yield name

    def lost(self, before: str, tree: Tree, after: str) -> Command | None:
        """Give a command that ran the tests of a file, if none runs them where they are now."""
        if (before, after) not in self._lost:
            ran = [one for one in self.every if one.runs(self.tree, before)]
            kept = any(one.runs(tree, after) for one in self.every)
            self._lost[before, after] = None if kept or not ran else ran[0]
        return self._lost[before, after]


def _is_command(line: str, at: int) -> bool:
    """Tell whether a word that starts tests is no requirement, section or name of a setting."""
    before = line[:at].rstrip()
    return not re.search(r"[\[\w]$|pip3? install|install_requires|^\s*#", before) or bool(
        re.search(r"(?:\brun|\bpython\S*|-m|exec|commands\s*=)$", before)
    )


def chosen(text: str, before: str, after: str) -> str:
    """Give the word by which settings choose tests, if a file's name has it on one side only."""
    for found in _CHOSEN.finditer(text):
        for word in _WORD.findall(found[1] or found[2] or found[3] or ""):
            if word not in ("and", "or", "not") and (word in before) != (word in after):
                return str(word)
    return ""


def deselected(text: str, path: str, title: str) -> bool:
    """Tell whether settings leave a test out by its file and name."""
    if "--deselect" not in text:
        return False
    wanted = f"{path}::{title.replace('.', '::')}"
    return any(wanted.startswith(name.split("[")[0]) for name in _DESELECTED.findall(text))
