"""The table of versions: which releases of a formatter Repot runs, and the hash of every wheel.

`versions.toml` is written by `refresh.py`. Each release is one line of it, and only the lines that
are needed are parsed: the whole table would take a tenth of a second.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.formatters.formatter import HOOKS_FILE, Hook
from transforms.formatters.refusals import unknown_version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("versions.toml")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.?(a|b|rc|post)(\d*))?")
_PHASES = ("a", "b", "rc", "", "post")
_TAG = r'"[\w.-]{1,120}" = "[\w.]{1,80}"'  # a wheel with its hash, or a project with its version
_ROW = re.compile(
    rf'\[(?:needs|wheels)\.[\w.-]+\]|"[\w.]{{1,60}}" = {{ (?:{_TAG}(?:, {_TAG})*)?(?: )?}}'
)
_others: list[Path] = []  # tables that the user has named
_LONGEST = 5  # numbers of a release that are compared


@dataclass(frozen=True, slots=True)
class Pin:
    """One project at one version, and the SHA-256 of each wheel that may be installed."""

    project: str
    version: str
    hashes: tuple[str, ...]


def order(version: str) -> tuple[int, ...]:
    """Give the key that sorts releases: pre-releases come before theirs, post-releases after."""
    found = _VERSION.match(version)
    if found is None:
        return ()
    numbers = [int(part) for part in found[1].split(".")]
    phase = _PHASES.index(found[2] or "")
    return (*numbers, *([0] * (_LONGEST - len(numbers))), phase, int(found[3] or 0))


def require_known(hook: Hook) -> None:
    """Refuse a version that is not in the table, with the nearest that is."""
    if hook.formatter.project is None:
        return
    project = hook.formatter.project.name
    if hook.version in known(project):
        return
    versions = sorted(known(project), key=order)
    older = [version for version in versions if order(version) < order(hook.version)]
    nearest = (*older[-1:], *versions[:1])
    raise unknown_version(
        f"{project} {hook.version} is not in Repot's table of versions.",
        Place(HOOKS_FILE, hook.line),
        remedy=f"The nearest is {nearest[0]}: set `rev` to it" if nearest else "Name one that is",
    )


@contextmanager
def beside(table: Path) -> Iterator[None]:
    """Know the versions of another table, too, which `refresh` has made: ours comes first.

    A user names it; no tree that is judged can. Raises `Refusal` for a file that is no such table.
    """
    _check(table)
    _others.append(table)
    try:
        yield
    finally:
        _others.remove(table)


def _check(table: Path) -> None:
    try:
        text = table.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _no_table(table, f"it cannot be read: {type(error).__name__}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#") and not _ROW.fullmatch(line):
            raise _no_table(table, "this line is none of such a table", number)


def _no_table(table: Path, why: str, line: int | None = None) -> Refusal:
    return Refusal(
        "formatter-table",
        f"The table of formatters' versions is not used: {why}.",
        next_step="Make one with `python -m transforms.formatters.refresh FILE`, in a clone of "
        "Repot.",
        place=Place(str(table), line),
    )


def known(project: str) -> tuple[str, ...]:
    """List the versions of a project that are in the table."""
    found = dict.fromkeys(_lines(TABLE, f"wheels.{project}"))
    for table in _others:
        found |= dict.fromkeys(_lines(table, f"wheels.{project}"))
    return tuple(found)


def _table_of(project: str, version: str) -> Path:
    """Give the table that has a version: ours, wherever it does."""
    for table in (TABLE, *_others):
        if version in _lines(table, f"wheels.{project}"):
            return table
    return TABLE


def is_ours(project: str, version: str) -> bool:
    """Whether a version is in the table that Repot brings."""
    return _table_of(project, version) == TABLE


def needs(project: str, version: str) -> dict[str, str]:
    """Give what is installed for one version of a tool, itself first: version by project."""
    return _needs(_table_of(project, version), project, version)


@cache
def _needs(table: Path, project: str, version: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for since, line in _lines(table, f"needs.{project}").items():
        if order(since) <= order(version):
            found = tomllib.loads(line)[since]
    return {project: version, **found}


def pins(project: str, version: str) -> tuple[Pin, ...]:
    """Give the same with the hashes of the wheels."""
    table = _table_of(project, version)
    return tuple(_pin(table, name, at) for name, at in needs(project, version).items())


@cache
def _pin(table: Path, project: str, version: str) -> Pin:
    lines = _lines(table, f"wheels.{project}")
    if version not in lines:
        raise _no_table(table, f"it lacks {project} {version}, which it needs")
    wheels = tomllib.loads(lines[version])[version]
    return Pin(project, version, tuple(wheels[tag] for tag in sorted(wheels)))


@cache
def _lines(table: Path, section: str) -> dict[str, str]:
    """Give the lines of one section by their key, which is a version in quotes."""
    text = table.read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n[{section}]\n")
    body = rest.partition("\n[")[0]
    return {line.split('"', 2)[1]: line for line in body.splitlines() if line.startswith('"')}
