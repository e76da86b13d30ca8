"""The table of versions: which releases of a formatter Repot runs, and the hash of every wheel.

`versions.toml` is written by `refresh.py`. Each release is one line of it, and only the lines that
are needed are parsed: the whole table would take a tenth of a second.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from transforms.errors import Place
from transforms.formatters.formatter import HOOKS_FILE, Hook
from transforms.formatters.refusals import unknown_version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("versions.toml")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.?(a|b|rc|post)(\d*))?")
_PHASES = ("a", "b", "rc", "", "post")
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
    nearest = older[-1] if older else versions[0]
    raise unknown_version(
        f"{project} {hook.version} is not in Repot's table of versions.",
        Place(HOOKS_FILE, hook.line),
        remedy=f"The nearest is {nearest}: set `rev` to it",
    )


def known(project: str) -> tuple[str, ...]:
    """List the versions of a project that are in the table."""
    return tuple(_lines(f"wheels.{project}"))


@cache
def needs(project: str, version: str) -> dict[str, str]:
    """Give what is installed for one version of a tool, itself first: version by project."""
    found: dict[str, str] = {}
    for since, line in _lines(f"needs.{project}").items():
        if order(since) <= order(version):
            found = tomllib.loads(line)[since]
    return {project: version, **found}


def pins(project: str, version: str) -> tuple[Pin, ...]:
    """Give the same with the hashes of the wheels."""
    return tuple(_pin(name, at) for name, at in needs(project, version).items())


@cache
def _pin(project: str, version: str) -> Pin:
    wheels = tomllib.loads(_lines(f"wheels.{project}")[version])[version]
    return Pin(project, version, tuple(wheels[tag] for tag in sorted(wheels)))


@cache
def _lines(section: str) -> dict[str, str]:
    """Give the lines of one section by their key, which is a version in quotes."""
    text = TABLE.read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n[{section}]\n")
    body = rest.partition("\n[")[0]
    return {line.split('"', 2)[1]: line for line in body.splitlines() if line.startswith('"')}
