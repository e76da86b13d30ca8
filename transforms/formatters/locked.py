"""Local hooks that run a formatter by `uv run`, at the version that `uv.lock` names."""

from __future__ import annotations

import re
import shlex

from transforms.formatters import registry
from transforms.formatters.formatter import Formatter
from transforms.formatters.settings import is_regular
from transforms.tree import Tree

LOCK = "uv.lock"
_RUNS = ("uv", "run")
# Options of `uv run` that take no value and choose no other version.
_PLAIN = frozenset(
    {"--frozen", "--locked", "--no-sync", "--quiet", "-q", "--no-progress", "--offline"}
    | {"--all-extras", "--all-groups", "--dev", "--no-project", "--isolated"}
)
_PACKAGE = re.compile(
    r'(?m)^\[\[package\]\]\nname = "([\w.-]{1,100})"\nversion = "([\w.+!-]{1,60})"$'
)


def command_of(entry: str) -> tuple[Formatter, tuple[str, ...]] | None:
    """Give the formatter that a command runs by `uv run`, and its other words; None for others."""
    try:
        words = tuple(shlex.split(entry))
    except ValueError:
        return None
    if words[:2] != _RUNS:
        return None
    rest = words[2:]
    while rest and rest[0] in _PLAIN:
        rest = rest[1:]
    rest = rest[1:] if rest[:1] == ("--",) else rest
    return registry.command_of(rest)


def locked_version(tree: Tree, project: str) -> str | None:
    """Give the one version of a project that the tree's lock names; None if it names none."""
    if not is_regular(tree.entries().get(LOCK)):
        return None
    text = tree.read(LOCK).decode("utf-8", "replace").replace("\r\n", "\n")
    found = {version for name, version in _PACKAGE.findall(text) if name == project}
    return found.pop() if len(found) == 1 else None
