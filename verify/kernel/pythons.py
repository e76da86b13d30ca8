"""For which Pythons a verdict holds: those that the projects of the changed files say they need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SAYS = {
    "pyproject.toml": re.compile(rb"^\s*requires-python\s*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE),
    "setup.cfg": re.compile(rb"^\s*python_requires\s*=\s*([^#\n]+)", re.MULTILINE),
    "setup.py": re.compile(rb"\bpython_requires\s*=\s*[\"']([^\"'\n]+)[\"']"),
}


def allowed(files: Mapping[str, bytes], changed: Iterable[str]) -> tuple[str, ...]:
    """Give what the nearest settings above each changed file say, as they spell it."""
    folders = {path.rpartition("/")[0] for path in changed}
    known: dict[str, str] = {}
    return tuple(sorted({_above(files, folder, known) for folder in folders} - {""}))


def _above(files: Mapping[str, bytes], folder: str, known: dict[str, str]) -> str:
    passed = []
    said = ""
    while folder not in known:
        passed.append(folder)
        said = _said(files, folder)
        if said or not folder:
            break
        folder = folder.rpartition("/")[0]
    else:
        said = known[folder]
    known.update(dict.fromkeys(passed, said))
    return said


def _said(files: Mapping[str, bytes], folder: str) -> str:
    for name, pattern in _SAYS.items():
        found = pattern.search(files.get(f"{folder}/{name}" if folder else name, b""))
        if found:
            return found[1].decode("utf-8", "replace").strip()
    return ""
