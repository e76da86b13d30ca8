"""usort: it has no options; its settings lie in the pyproject.toml nearest to each file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transforms.formatters.arguments import read_arguments
from transforms.formatters.formatter import (
    Formatter,
    Function,
    Manifest,
    Project,
    Stage,
    Tool,
    always,
)
from transforms.formatters.settings import (
    Configuration,
    Schema,
    Source,
    ancestors,
    join,
    table_of,
    write_toml,
)

SCHEMA = Schema(
    tool="usort",
    passed=frozenset(
        {
            "categories", "default_category", "side_effect_modules", "first_party_detection",
            "merge_imports", "excludes", "known", "known_first_party", "known_third_party",
            "known_standard_library", "magic_commas", "preserve_inline_comments",
            "collapse_blank_lines_in_category",
        }
    ),
)  # fmt: skip


def prepare(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make usort ready: the nearest pyproject.toml of every file, configuring it or not."""
    read_arguments(tool.hook)
    configs: dict[str, bytes] = {}
    for path in paths:
        for folder in ancestors(path):
            candidate = join(folder, "pyproject.toml")
            document = configuration.toml(candidate)
            if document is not None:
                configs[candidate] = _vet(document, configuration.find(candidate))
                break
    return Stage(tool, frozenset(paths), (), configs)


def _vet(document: Mapping[str, Any], source: Source | None) -> bytes:
    where = source or Source("pyproject.toml", "")
    tables: dict[str, dict[str, Any]] = {}
    section = table_of(document, "tool", "usort", source=where)
    if section is not None:
        tables["tool.usort"] = SCHEMA.vet(section, where)
    # usort wraps at black's line length.
    black = table_of(document, "tool", "black", source=where) or {}
    if isinstance(black.get("line-length"), (int, str)):
        tables["tool.black"] = {"line-length": black["line-length"]}
    return write_toml(tables)


FORMATTER = Formatter(
    name="usort",
    repositories=dict.fromkeys(
        ("facebook/usort", "facebookexperimental/usort"),
        Manifest(ids=("usort",), types_or=("python", "pyi")),
    ),
    options={},
    runs=Project(
        "usort",
        oldest="1.0.1",
        entry=Function(
            "usort",
            "usort_path",
            given="path",
            keywords={"write": True},
            complaint="Error sorting {path}: {error}",
        ),
        needs={
            "1.0.1": {
                "attrs": "25.3.0",
                "click": "8.1.8",
                "libcst": "1.8.6",
                "moreorless": "0.5.0",
                "pathspec": "0.12.1",
                "pyyaml": "6.0.3",
                "stdlibs": "2025.10.28",
                "toml": "0.10.2",
                "tomli": "2.2.1",
                "trailrunner": "1.4.0",
                "typing-extensions": "4.14.1",
            },
        },
    ),
    prepare=prepare,
    sorts=always,
    searched=("pyproject.toml",),
)
