"""Settings that tools read: where they lie, and the few that matter here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch

from verify.kernel.tree import Tree

FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_SECTIONS = {
    "pyproject.toml": r"\[tool\.pytest(?:\.ini_options)?\]",
    "setup.cfg": r"\[tool:pytest\]",
}


def is_settings(path: str) -> bool:
    """Tell whether a file holds settings that Python's tools read."""
    name = path.rpartition("/")[2]
    known = name in (*FILES, "setup.py", "entry_points.txt", "MANIFEST.in")
    return known or ("/" not in path and name.endswith((".cfg", ".ini", ".toml")))


@dataclass(frozen=True, slots=True)
class Collection:
    """What pytest collects."""

    folders: tuple[str, ...]
    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    classes: tuple[str, ...] = ("Test",)
    functions: tuple[str, ...] = ("test",)

    def takes(self, path: str) -> bool:
        """Tell whether a file is collected."""
        name = path.rpartition("/")[2]
        if not any(fnmatch(name, pattern) for pattern in self.files):
            return False
        return not self.folders or any(
            path.startswith(f"{folder.rstrip('/')}/") for folder in self.folders
        )

    def takes_name(self, name: str, *, of_class: bool) -> bool:
        """Tell whether a function or class is collected by its name."""
        patterns = self.classes if of_class else self.functions
        return any(
            fnmatch(name, pattern) if "*" in pattern else name.startswith(pattern)
            for pattern in patterns
        )


def collection(tree: Tree) -> Collection:
    """Read pytest's settings at the top of a tree."""
    for name in FILES:
        if name not in tree.files:
            continue
        text = tree.text(name)
        section = re.search(_SECTIONS.get(name, r"\[pytest\]"), text)
        if section is None and name not in ("pytest.ini", ".pytest.ini"):
            continue
        body = text[section.end() if section else 0 :]
        body = re.split(r"^\[", body, maxsplit=1, flags=re.M)[0]
        folders = _words(body, "testpaths")
        kept = tuple(f for f in folders if f.rstrip("/") in tree.folders)
        return Collection(
            kept,
            _words(body, "python_files") or Collection(()).files,
            _words(body, "python_classes") or Collection(()).classes,
            _words(body, "python_functions") or Collection(()).functions,
        )
    return Collection(())


def _words(body: str, key: str) -> tuple[str, ...]:
    """Give the words of a setting, be it a list of TOML or lines of an ini file."""
    found = re.search(rf"^{key}\s*=\s*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)", body, re.M)
    return tuple(re.findall(r"[\w./*?-]+", found[1])) if found else ()
