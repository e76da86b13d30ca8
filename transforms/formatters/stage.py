"""One formatter made ready to run: its arguments, its vetted configuration, its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from transforms.formatters.hooks import Hook


@dataclass(frozen=True, slots=True)
class Tool:
    """A formatter that a repository runs. `label` is how a report names it."""

    name: str  # isort, black, ruff, `ruff format`, usort, trailing-whitespace, end-of-file-fixer
    version: str
    hook: Hook = field(repr=False, compare=False)
    sorts: bool = False  # whether it puts imports in order

    @property
    def label(self) -> str:
        """Name and version, as in `isort 7.0.0`."""
        return f"{self.name} {self.version}"

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Stage:
    """What one tool is run with. Paths are of the tree; the tool runs at its top."""

    tool: Tool
    selected: frozenset[str]  # the files it is given
    argv: tuple[str, ...] = ()
    configs: Mapping[str, bytes] = field(default_factory=dict)  # files written before it runs
    roots: frozenset[str] = frozenset()  # folders it looks in for first-party modules
    globs: frozenset[str] = frozenset()  # patterns of such folders
    accepts: frozenset[int] = frozenset({0})  # exit codes of a run that succeeded

    def digest(self) -> str:
        """Name all that decides what it does to a file, but for the file."""
        parts = [
            self.tool.name,
            self.tool.version,
            list(self.argv),
            [[path, data.decode("utf-8")] for path, data in sorted(self.configs.items())],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
