"""The formatters that Repot runs, and what they have in common. Each one's module says the rest."""

from __future__ import annotations

from collections.abc import Iterator

from transforms.formatters import tool_black, tool_isort, tool_ruff, tool_usort, whitespace
from transforms.formatters.formatter import Formatter, Manifest, Namespaces, Program, Project

FORMATTERS: tuple[Formatter, ...] = (
    tool_isort.FORMATTER,
    tool_black.FORMATTER,
    tool_ruff.CHECK,
    tool_ruff.FORMAT,
    tool_usort.FORMATTER,
    whitespace.TRAILING,
    whitespace.ENDING,
)


def hooks_of(repository: str) -> dict[str, tuple[Formatter, Manifest]]:
    """Give the formatters of a repository on GitHub by the ids of their hooks."""
    return {
        identity: (formatter, formatter.repositories[repository])
        for formatter in FORMATTERS
        if repository in formatter.repositories
        for identity in formatter.repositories[repository].ids
    }


def command_of(words: tuple[str, ...]) -> tuple[Formatter, tuple[str, ...]] | None:
    """Give the formatter that a command line calls, and the words behind its name."""
    for formatter in FORMATTERS:
        for command in formatter.commands:
            if words[: len(command)] == command:
                return formatter, words[len(command) :]
    return None


def telling_ids() -> frozenset[str]:
    """Give the ids that name a formatter wherever the hook comes from, for no other uses them."""
    return frozenset(
        identity
        for formatter in FORMATTERS
        if formatter.project
        for manifest in formatter.repositories.values()
        for identity in manifest.ids
    )


def projects() -> dict[str, Project]:
    """Give what the formatters are installed from, by name."""
    return {one.project.name: one.project for one in FORMATTERS if one.project}


def program_of(project: str) -> str | None:
    """Give the name of the program that a project installs, if it is run as one."""
    entry = projects()[project].entry if project in projects() else None
    return entry.name if isinstance(entry, Program) else None


def searched() -> tuple[str, ...]:
    """Give the names of files that a formatter would take from above the folder it runs in."""
    return tuple(dict.fromkeys(name for one in FORMATTERS for name in one.searched))


def namespaces() -> Iterator[Namespaces]:
    """Give the ways in which formatters tell a namespace package."""
    return (one.namespaces for one in FORMATTERS if one.namespaces)
