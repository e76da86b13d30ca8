"""black: its options, its settings, and the project root at which it finds them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from transforms.formatters.arguments import options, read_arguments
from transforms.formatters.formatter import (
    Formatter,
    Function,
    Manifest,
    Option,
    Project,
    Stage,
    Tool,
)
from transforms.formatters.refusals import bad_configuration
from transforms.formatters.settings import (
    Configuration,
    Schema,
    Source,
    ancestors,
    inside,
    join,
    table_of,
    write_toml,
)
from transforms.formatters.versions import order

# Until this version a pyproject.toml marked the root even if it did not configure black.
_NEEDS_SECTION = order("24.2.0")

_PART = "formats a part of a file, which no hook does"
SCHEMA = Schema(
    tool="black",
    passed=frozenset(
        {
            "line-length", "target-version", "skip-string-normalization",
            "skip-magic-trailing-comma", "preview", "unstable", "enable-unstable-feature", "pyi",
            "skip-source-first-line", "force-exclude", "required-version", "fast", "safe",
            "experimental-string-processing",
        }
    ),
    ignored=frozenset(
        {
            # They choose among the files of a folder; a hook names every file.
            "include", "exclude", "extend-exclude",
            "verbose", "quiet", "color", "no-color", "workers", "no-cache", "python-cell-magics",
            # Not a setting of black's: releases before 24.1 passed over it, as over any other.
            "python-version",
            # A hook that only checks passes when the files are formatted, so they are.
            "check", "diff",
        }
    ),
    refused={
        "ipynb": "makes notebooks of Python files",
        "line-ranges": _PART,
        "code": "replaces the files",
        "config": "names another configuration",
        "cache-dir": "writes files elsewhere",
        "stdin-filename": "replaces the files",
        "src": "names files itself",
    },
)  # fmt: skip

_FLAGS = {
    "pyi": "--pyi",
    "skip-string-normalization": "-S --skip-string-normalization",
    "skip-magic-trailing-comma": "-C --skip-magic-trailing-comma",
    "skip-source-first-line": "-x --skip-source-first-line",
    "preview": "--preview",
    "unstable": "--unstable",
    "experimental-string-processing": "--experimental-string-processing",
    "fast": "--fast",
    "safe": "--safe",
}
_VALUES = {
    "line-length": "-l --line-length",
    "target-version": "-t --target-version",
    "enable-unstable-feature": "--enable-unstable-feature",
    "force-exclude": "--force-exclude",
    "required-version": "--required-version",
}
OPTIONS = {
    **options(_FLAGS),
    **options(_VALUES, "value"),
    **options(
        {name: f"--{name}" for name in ("check", "diff", "color", "no-color", "no-cache")}
        | {"verbose": "-v --verbose", "quiet": "-q --quiet"},
        effect="drop",
    ),
    **options(
        {name: f"--{name}" for name in ("include", "exclude", "extend-exclude")}
        | {"workers": "-W --workers"},
        "value",
        effect="drop",
    ),
    **options({"config": "--config"}, "value", effect="path"),
    "--line-ranges": Option("line-ranges", effect="refuse", reason=_PART),
    "--cache-dir": Option("cache-dir", effect="refuse", reason=SCHEMA.refused["cache-dir"]),
    "--ipynb": Option("ipynb", effect="refuse", reason=SCHEMA.refused["ipynb"]),
}


def prepare(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make black ready. Only the root's own configuration is written, so each file finds it."""
    argv: list[str] = []
    named: Source | None = None
    for argument in read_arguments(tool.hook):
        if argument.option.effect == "path":
            path = inside("", argument.value or "", argument.place)
            named = configuration.find(path)
            if named is None:
                raise bad_configuration(f"There is no file `{path}`.", argument.place)
        else:
            argv += argument.argv()
    root = _root(tool.version, configuration, paths)
    path = named.path if named else join(root, "pyproject.toml")
    document = configuration.toml(path)
    configs = {}
    if document is not None:
        configs[path] = _vet(document, configuration.find(path) or Source(path, ""))
    if named:
        argv += ["--config", path]
        marker = join(root, "pyproject.toml")
        if root:
            configs.setdefault(marker, write_toml({"tool.black": {}}))
    return Stage(tool, frozenset(paths), tuple(argv), configs)


def _root(version: str, configuration: Configuration, paths: Sequence[str]) -> str:
    """Find the project root as black does: upwards from what all files have in common."""
    common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    for folder in [common, *ancestors(common)]:
        document = configuration.toml(join(folder, "pyproject.toml")) if folder else None
        if document is not None:
            tools = document.get("tool")
            if order(version) < _NEEDS_SECTION or (isinstance(tools, dict) and "black" in tools):
                return folder
    return ""


def _vet(document: Mapping[str, Any], source: Source) -> bytes:
    tables: dict[str, dict[str, Any]] = {}
    # black reads the oldest Python to support from here where its own section does not say.
    project = document.get("project")
    if isinstance(project, dict) and isinstance(project.get("requires-python"), str):
        tables["project"] = {"requires-python": project["requires-python"]}
    section = table_of(document, "tool", "black", source=source)
    if section is not None:
        # black takes `line_length` and `--line-length` for `line-length`.
        spelled = {key.replace("--", "").replace("_", "-"): value for key, value in section.items()}
        tables["tool.black"] = SCHEMA.vet(spelled, source)
    return write_toml(tables)


_NEEDS = {
    "click": "8.1.8",
    "mypy-extensions": "1.1.0",
    "packaging": "25.0",
    "pathspec": "0.12.1",
    "platformdirs": "4.3.8",
    "tomli": "2.2.1",
    "typing-extensions": "4.14.1",
}
FORMATTER = Formatter(
    name="black",
    repositories=dict.fromkeys(
        ("psf/black", "python/black", "ambv/black", "psf/black-pre-commit-mirror"),
        Manifest(ids=("black", "black-jupyter"), types_or=("python", "pyi", "jupyter")),
    ),
    options=OPTIONS,
    runs=Project(
        "black",
        oldest="22.1.0",
        # Several files in one call would be spread over processes of black's own.
        entry=Function(
            "black",
            "main",
            given="arguments of one file",
            keywords={"standalone_mode": False},
        ),
        needs={
            "22.1.0": {**_NEEDS, "click": "8.0.4"},  # the next click broke it
            "22.3.0": _NEEDS,
            "25.9.0": {**_NEEDS, "pytokens": "0.3.0"},
            "26.1.0": {**_NEEDS, "pathspec": "1.0.4", "pytokens": "0.4.1"},
        },
    ),
    prepare=prepare,
    environment={"BLACK_CACHE_DIR": "{home}"},
)
