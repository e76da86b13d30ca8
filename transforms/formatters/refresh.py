"""Writes `versions.toml` anew from the package index that pip is set up with. For maintainers.

    python -m transforms.formatters.refresh [FILE]

Another FILE is a table for `--formatters-table`.

One index page is read for each project, through pip itself. The result depends on the index alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from transforms.formatters.registry import projects
from transforms.formatters.versions import TABLE, order

_PYTHONS = r"cp3(?:10|11|12|13|14)-(?:cp3(?:10|11|12|13|14)|abi3)|cp3\d-abi3|py3-none|py2\.py3-none"
_PLATFORMS = (
    r"any|win_amd64|macosx_\d+_\d+_(?:x86_64|arm64|universal2)"
    r"|(?:(?:many|musl)linux[\d_]+(?:x86_64|aarch64)\.?)+"
)
_WHEEL = re.compile(rf"[A-Za-z0-9_.]+-([\w.]+?)-((?:{_PYTHONS})-(?:{_PLATFORMS}))\.whl")
_RELEASE = re.compile(r"\d+(\.\d+)+((a|b|rc)\d+)?(\.post\d+)?")


def main() -> int:
    """Write the table. Returns an exit code: 1 where a pinned version has no wheel."""
    wanted: dict[str, set[str] | None] = dict.fromkeys(projects())
    for tool in projects().values():
        for pinned in tool.needs.values():
            for project, version in pinned.items():
                versions = wanted.setdefault(project, set())
                if versions is not None:
                    versions.add(version)
    found = {project: dict(_releases(project, wanted[project])) for project in sorted(wanted)}
    missing = [
        f"{project} {version}"
        for project, versions in wanted.items()
        for version in sorted(versions or ())
        if version not in found[project]
    ]
    if missing:
        sys.stderr.write(f"no wheel on the index: {', '.join(missing)}\n")
        return 1
    table = Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE
    table.write_text("".join(f"{line}\n" for line in _render(found)), encoding="utf-8")
    return 0


def _releases(project: str, versions: set[str] | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Give each wanted release in order, with the SHA-256 of its wheels by their tags."""
    releases: dict[str, dict[str, str]] = {}
    for filename, sha256 in index_page(project):
        wheel = _WHEEL.fullmatch(filename)
        if wheel and _RELEASE.fullmatch(wheel[1]):
            releases.setdefault(wheel[1], {})[wheel[2]] = sha256
    oldest = order(projects()[project].oldest if project in projects() else "0")
    for version in sorted(releases, key=order):
        if version in versions if versions is not None else order(version) >= oldest:
            yield version, dict(sorted(releases[version].items()))


def index_page(project: str) -> list[tuple[str, str]]:
    """Read file names and hashes from the first index of pip that has the project."""
    collector = import_module("pip._internal.index.collector")
    link = import_module("pip._internal.models.link").Link
    command: Any = import_module("pip._internal.commands").create_command("download")
    options, _ = command.parse_args([project])
    with command.main_context():
        session = command.get_default_session(options)
        reader = collector.LinkCollector.create(session, options=options)
        for location in reader.search_scope.get_index_urls_locations(project):
            page = reader.fetch_response(link(location))
            if page is not None:
                links = [one for one in collector.parse_links(page) if not one.is_yanked]
                return [(one.filename, one.hash) for one in links if one.hash_name == "sha256"]
    return []


def _render(found: dict[str, dict[str, dict[str, str]]]) -> Iterable[str]:
    yield "# The formatters that Repot installs, what they need, and the SHA-256 of each wheel."
    yield "# Written by `python -m transforms.formatters.refresh`; one release is one line."
    for project, tool in sorted(projects().items()):
        if not tool.needs:
            continue
        yield ""
        yield f"[needs.{project}]"
        for since, pinned in tool.needs.items():
            yield f'"{since}" = {{ {_pairs(pinned)} }}'
    for project, releases in found.items():
        yield ""
        yield f"[wheels.{project}]"
        for version, wheels in releases.items():
            yield f'"{version}" = {{ {_pairs(wheels)} }}'


def _pairs(items: Mapping[str, str]) -> str:
    return ", ".join(f'"{key}" = "{value}"' for key, value in sorted(items.items()))


if __name__ == "__main__":
    sys.exit(main())
