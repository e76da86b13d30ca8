"""Small trees in memory, and stand-ins for installed formatters, for the formatters' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from transforms.formatters import api
from transforms.formatters.versions import Pin
from transforms.result.changes import REGULAR, SYMLINK
from transforms.tree import Tree

PRE_COMMIT = ".pre-commit-config.yaml"
REPOSITORIES = {
    "isort": ("https://github.com/PyCQA/isort", "7.0.0"),
    "black": ("https://github.com/psf/black", "26.1.0"),
    "ruff": ("https://github.com/astral-sh/ruff-pre-commit", "v0.15.1"),
    "ruff-check": ("https://github.com/astral-sh/ruff-pre-commit", "v0.15.1"),
    "ruff-format": ("https://github.com/astral-sh/ruff-pre-commit", "v0.15.1"),
    "usort": ("https://github.com/facebook/usort", "v1.0.8"),
    "trailing-whitespace": ("https://github.com/pre-commit/pre-commit-hooks", "v6.0.0"),
    "end-of-file-fixer": ("https://github.com/pre-commit/pre-commit-hooks", "v6.0.0"),
}


class MemoryTree(Tree):
    """A tree of texts; a value of `Link` is a symbolic link."""

    label = "tree in memory"

    def __init__(
        self, files: Mapping[str, str | bytes], modes: Mapping[str, int] | None = None
    ) -> None:
        self.texts = files
        self.files = {p: t.encode() if isinstance(t, str) else t for p, t in files.items()}
        links = {path: SYMLINK for path, text in files.items() if isinstance(text, Link)}
        self.modes = {**dict.fromkeys(self.files, REGULAR), **links, **(modes or {})}

    def entries(self) -> Mapping[str, int]:
        return dict(sorted(self.modes.items()))

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            yield path, self.files[path]


class Link(str):
    """The text of a symbolic link."""

    __slots__ = ()


def hooks(*lines: str, top: str = "") -> str:
    """Write a pre-commit configuration: each line is a hook's id and further keys, in YAML."""
    text = f"{top}\nrepos:\n" if top else "repos:\n"
    for line in lines:
        url, rev = REPOSITORIES[line.partition(",")[0]]
        text += f"- repo: {url}\n  rev: {rev}\n  hooks:\n  - {{id: {line}}}\n"
    return text


def tree(*lines: str, top: str = "", **files: str) -> MemoryTree:
    """Make a tree of one module with these hooks; `__` in a file's name is `/`, `_dot_` is `.`."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return MemoryTree({PRE_COMMIT: hooks(*lines, top=top), "package/module.py": "", **named})


def stand_in(folder: Path, program: str, body: str) -> Path:
    """Write an environment whose program runs `body` for each file: `path` is a `Path`.

    `argv` holds the arguments before the files.
    """
    function = f"def formatted(path, argv):\n{_indent(body)}\n"
    if program == "isort":
        module = folder / "isort" / "main.py"
        call = (
            "def main(argv):\n"
            "    at = argv.index('--')\n"
            "    for name in argv[at + 1:]:\n"
            "        formatted(Path(name), argv[:at])\n"
        )
    else:
        module = folder / program / "__init__.py"
        call = "def main(argv, standalone_mode):\n    return formatted(Path(argv[-1]), argv[:-2])\n"
    module.parent.mkdir(parents=True)
    (module.parent / "__init__.py").touch()
    module.write_text(f"from pathlib import Path\n{function}{call}", encoding="utf-8")
    return folder


def append(text: str) -> str:
    """Give a body that adds the text at the end of a file, once."""
    return (
        "data = path.read_bytes()\n"
        f"if {text.encode()!r} not in data: path.write_bytes(data + {text.encode()!r})"
    )


def stand_ins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let programs be stand-ins: what this gives, given a body by program, puts them in place.

    A program that has none may not be asked for.
    """
    installed: dict[str, Path] = {}

    def ensure(folder: Path, label: str, pins: tuple[Pin, ...], say: object) -> Path:
        return installed[pins[0].project]

    def install(**bodies: str) -> None:
        for program, body in bodies.items():
            installed[program] = stand_in(folder / "installed" / program, program, body)

    monkeypatch.setattr(api, "ensure", ensure)
    return install


def _indent(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.strip().splitlines())
