"""Settings that tools read: where they lie, and the few that matter here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch

from verify.kernel.trees.tree import Tree

FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_SECTIONS = {
    "pyproject.toml": r"\[tool\.pytest(?:\.ini_options)?\]",
    "setup.cfg": r"\[tool:pytest\]",
}


# Folders that pytest enters only if it is told to, by their names.
_LEFT_OUT = (
    "*.egg",
    ".*",
    "_darcs",
    "build",
    "CVS",
    "dist",
    "node_modules",
    "venv",
    "{arch}",
)


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
    outside: tuple[str, ...] = _LEFT_OUT  # folders that are never entered, by their names
    ignored: tuple[str, ...] = ()  # files and folders that are left out by their paths
    plugins: tuple[str, ...] = ()
    doctests: bool = False  # whether docstrings of all modules are collected
    importlib: bool = False  # whether test files may share their names
    everywhere: tuple[str, ...] = ()  # fixtures that all tests use

    def takes(self, path: str) -> bool:
        """Tell whether a file is collected."""
        name = path.rpartition("/")[2]
        return any(fnmatch(name, pattern) for pattern in self.files) and self.enters(path)

    def enters(self, path: str) -> bool:
        """Tell whether pytest comes to where a file lies."""
        folder = path.rpartition("/")[0]
        if any(fnmatch(part, pattern) for part in folder.split("/") for pattern in self.outside):
            return False
        if any(fnmatch(path, p) or path.startswith(f"{p.rstrip('/')}/") for p in self.ignored):
            return False
        return not self.folders or any(
            path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in self.folders
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
        kept = tuple(f for f in folders if f.rstrip("/") in tree.folders | tree.files.keys())
        options = _text(body, "addopts")
        usual = Collection(())
        return Collection(
            kept,
            _words(body, "python_files") or usual.files,
            _words(body, "python_classes") or usual.classes,
            _words(body, "python_functions") or usual.functions,
            _words(body, "norecursedirs") or usual.outside,
            tuple(re.findall(r"--ignore(?:-glob)?[=\s]+['\"]?([\w./*?-]+)", options)),
            tuple(re.findall(r"(?:^|[\s'\"])-p[\s,'\"]*(?!no:)([\w.]+)", options)),
            doctests="doctest-modules" in options,
            importlib="importlib" in options,
            everywhere=_words(body, "usefixtures"),
        )
    return Collection(())


def _words(body: str, key: str) -> tuple[str, ...]:
    """Give the words of a setting."""
    return tuple(re.findall(r"[\w./*?-]+", _text(body, key)))


def _text(body: str, key: str) -> str:
    """Give what a setting says, be it a list of TOML or lines of an ini file."""
    found = re.search(rf"^{key}\s*=\s*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)", body, re.M)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Where unittest looks for tests."""

    start: str = ""
    pattern: str = "test*.py"

    def takes(self, tree: Tree, path: str) -> bool:
        """Tell whether unittest finds a file: every folder on the way to it is a package."""
        folder, _, name = path.rpartition("/")
        if not fnmatch(name, self.pattern):
            return False
        while folder != self.start:
            if not folder or f"{folder}/__init__.py" not in tree.files:
                return False
            folder = folder.rpartition("/")[0]
        return True


_STARTS = re.compile(
    r"-m unittest(?: discover)?(?P<words>[^\n;&|]*)|unittest discover(?P<more>[^\n;&|]*)"
    r"|manage\.py test"
)


def discovery(tree: Tree) -> Discovery | None:
    """Read off what tools run how unittest is started, if it is."""
    for path, data in tree.files.items():
        if not path.endswith(_TOOLS) or not (b"unittest" in data or b"manage.py test" in data):
            continue
        found = _STARTS.search(tree.text(path))
        if found is not None:
            said = found["words"] or found["more"] or ""
            start = re.search(r"(?:^|\s)(?:-s|--start-directory)[\s=]+([\w./-]+)", said)
            pattern = re.search(r"(?:^|\s)(?:-p|--pattern)[\s=]+['\"]?([\w.*?]+)", said)
            where = start[1].strip("./") if start else ""
            return Discovery(where, pattern[1] if pattern else "test*.py")
    return None


_TOOLS = (
    "Makefile",
    "tox.ini",
    "noxfile.py",
    ".sh",
    ".yml",
    ".yaml",
    ".toml",
    ".cfg",
    "runtests.py",
)
