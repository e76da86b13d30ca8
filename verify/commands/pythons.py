"""Another Python that would do: where syntax is newer than the one that runs Repot.

Interpreters are looked for by their files, in the places where they are kept, and none is run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from transforms.errors import Refusal

_NEEDS = re.compile(r"Run Repot on Python 3\.(\d+) or newer\.")
_NEWEST = 20  # minor versions that are looked for
# Folders of a home in which tools keep interpreters, each in one of its own.
_KEPT = (".pyenv/versions", ".local/share/uv/python", ".asdf/installs/python", ".rye/py")


def with_python(refusal: Refusal, arguments: Sequence[str]) -> Refusal:
    """Let a refusal of newer syntax say which Python here would do, and the line to type.

    `arguments` are those of the command, with its name. Other refusals stay as they are.
    """
    found = _NEEDS.search(refusal.next_step) if refusal.kind == "syntax-error" else None
    if found is None:
        return refusal
    there = newest_python(int(found[1]), os.environ, Path.home())
    said = shlex.join(arguments)
    if there is None:
        step = f"None is found here: `uv tool run --python 3.{found[1]} {said}` gets one."
    else:
        version, path = there
        step = f"This machine has Python 3.{version}: `{_line(version, path, said)}`."
    return Refusal(
        refusal.kind,
        refusal.cause,
        next_step=f"{refusal.next_step} {step}",
        place=refusal.place,
    )


def _line(minor: int, python: str, said: str) -> str:
    """The command again on another interpreter, by a tool that is there, or by pip."""
    quoted = shlex.quote(python)
    if shutil.which("uv"):
        return f"uv tool run --python {quoted} {said}"
    if shutil.which("pipx"):
        return f"pipx run --python {quoted} {said}"
    own = f"~/.repot-3.{minor}"  # beside the repository, not in it
    return f"{quoted} -m venv {own} && {own}/bin/pip install repot && {own}/bin/{said}"


def newest_python(
    oldest: int, environment: Mapping[str, str], home: Path
) -> tuple[int, str] | None:
    """Find the newest interpreter from 3.`oldest` on: its minor version and its file."""
    for minor in range(_NEWEST, oldest - 1, -1):
        for path in _places(f"python3.{minor}", f"3.{minor}", environment, home):
            if path.is_file() and os.access(path, os.X_OK):
                return minor, str(path)
    return None


def _places(name: str, version: str, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    for listed in environment.get("PATH", "").split(os.pathsep):
        folder = Path(listed)  # a relative one is whoever's, and a shim may lead to nothing
        if folder.is_absolute() and folder.name != "shims":
            yield folder / name
    for kept in _KEPT:
        for place in sorted((home / kept).glob(f"*{version}.*"), reverse=True):
            yield place / "bin" / name


def command_line(command: str) -> list[str]:
    """Give the command as it was typed, or its name alone where a program called it."""
    typed = sys.argv[1:]
    return ["repot", *(typed if typed[:1] == [command] else [command, "..."])]
