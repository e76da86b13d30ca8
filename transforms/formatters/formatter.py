"""What there is to say of a formatter: the one interface between its module and this package.

A `tool_*` module describes each of its formatters by a `Formatter`, and `registry` lists them. No
other module knows one by name. Adding one touches its module, its test, that list, and the table of
versions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from transforms.formatters.settings import Configuration, is_regular
from transforms.result.changes import EXECUTABLE

HOOKS_FILE = ".pre-commit-config.yaml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a repository's `.pre-commit-hooks.yaml` says of a formatter's hooks."""

    ids: tuple[str, ...]
    types: tuple[str, ...] = ("file",)
    types_or: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """What becomes of one option of a hook's arguments."""

    name: str  # the setting it stands for
    takes: str = ""  # nothing, `value`, or `number?` (a value if the next argument is a number)
    effect: str = "pass"  # pass on; drop: it changes no byte; path: names a file or folder; refuse
    reason: str = ""  # why it is refused


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function that formats files; `drive` calls it in a process of its own.

    It is given the arguments, `--` and all files; or the same with one file a call; or nothing but
    the path of one file, and then it gives results whose `error` is empty where it succeeded.
    """

    module: str
    name: str
    given: Literal["arguments", "arguments of one file", "path"]
    keywords: Mapping[str, bool] = field(default_factory=dict)
    complaint: str = "Error in {path}: {error}"  # how the error in a result is told


@dataclass(frozen=True, slots=True)
class Program:
    """A program in the `bin` folder of what is installed, given the arguments, `--` and files.

    If Repot's own environment has it at the wanted version, that one is run.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Project:
    """What is installed to run a formatter: a project on the package index."""

    name: str
    oldest: str  # the first release in the table of versions
    entry: Function | Program
    # What it needs from a version on: the newest that every interpreter in the table can install.
    needs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A formatter that Repot does itself, the same in every version of it."""

    fix: Callable[[Stage, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Namespaces:
    """How a formatter tells a namespace package from another, so that stubs are told alike."""

    prevented_by: frozenset[str]  # files, in small letters: a folder with one needs `__init__.py`
    declared: re.Pattern[bytes]  # found in the first 4 KiB of an `__init__.py` that declares one
    declaration: bytes  # an `__init__.py` that does


def always(hook: Hook, configuration: Configuration) -> bool:
    """Answer yes, whatever the hook and the configuration say."""
    del hook, configuration
    return True


def never(hook: Hook, configuration: Configuration) -> bool:
    """Answer no, whatever the hook and the configuration say."""
    del hook, configuration
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Formatter:
    """One formatter. `name` is how reports and refusals call it."""

    name: str
    repositories: Mapping[str, Manifest]  # on GitHub, in small letters, former names as well
    options: Mapping[str, Option]  # by flag; a hook with any other argument is refused
    runs: Project | BuiltIn
    # Makes it ready for files: its arguments and a configuration vetted and written anew.
    prepare: Callable[[Tool, Configuration, Sequence[str]], Stage]
    changes: Callable[[Hook, Configuration], bool] = always  # or does it only complain?
    sorts: Callable[[Hook, Configuration], bool] = never  # whether it puts imports in order
    environment: Mapping[str, str] = field(default_factory=dict)  # `{home}`: an empty folder
    searched: tuple[str, ...] = ()  # files it would take from above the folder it runs in
    namespaces: Namespaces | None = None
    commands: tuple[tuple[str, ...], ...] = ()  # how `uv run` calls it, in a local hook

    @property
    def project(self) -> Project | None:
        """What is installed to run it, if it is not built in."""
        return self.runs if isinstance(self.runs, Project) else None


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook that runs a formatter, with its manifest's defaults filled in."""

    formatter: Formatter = field(repr=False)
    version: str
    args: tuple[tuple[str, int], ...]  # each with its line in the file
    files: str  # regular expressions, searched in the path
    exclude: str
    types: tuple[str, ...]
    types_or: tuple[str, ...]
    exclude_types: tuple[str, ...]
    line: int

    @property
    def program(self) -> str:
        """The formatter's name."""
        return self.formatter.name

    def takes(self, path: str, mode: int | None) -> bool:
        """Tell whether the types let a file through; `files` and `exclude` are judged elsewhere."""
        tags = file_types(path, mode)
        return (
            bool(tags)
            and tags.issuperset(self.types)
            and (not self.types_or or not tags.isdisjoint(self.types_or))
            and tags.isdisjoint(self.exclude_types)
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A formatter that a repository runs. `label` is how a report names it."""

    hook: Hook = field(repr=False)
    sorts: bool = False  # whether it puts imports in order

    @property
    def formatter(self) -> Formatter:
        """All that is known of it."""
        return self.hook.formatter

    @property
    def name(self) -> str:
        """The formatter's name."""
        return self.formatter.name

    @property
    def version(self) -> str:
        """The version that the repository's hook names."""
        return self.hook.version

    @property
    def label(self) -> str:
        """Name and version, as in `name 7.0.0`."""
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


def file_types(path: str, mode: int | None) -> frozenset[str]:
    """Give pre-commit's tags of a Python file; none for a link, or a file of another kind."""
    kind = {"py": "python", "pyi": "pyi"}.get(path.rpartition(".")[2])
    if kind is None or not is_regular(mode):
        return frozenset()
    return frozenset(
        {"file", "text", kind, "executable" if mode == EXECUTABLE else "non-executable"}
    )
