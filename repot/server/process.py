"""Runs the engine: a process for each call, with an environment and a folder of its own.

The process gets the few variables that decide where Python, git and the cache are. Git reads no
configuration but the repository's own, no formatter is installed, and what is written for a while
lies in a folder of Repot's cache that is removed when the call ends, however it ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from repot import launcher
from repot.server.refusals import Refusal
from repot.server.root import Root

SECONDS = 600.0  # that one call may take
_MOST_BYTES = 64 << 20  # of a report
_LOOK = 0.5  # seconds after which the report's size is looked at
_MOST_SAID = 4_000  # characters of what a failed engine printed
_SCHEMA = 1  # of the reports that are read here
_GRACE = 10.0  # seconds in which a run that writes puts back what it wrote
_STALE = 24 * 3600.0  # seconds after which a folder is nobody's
_KEPT = (
    "HOME", "USERPROFILE", "LOCALAPPDATA", "SYSTEMROOT", "XDG_CACHE_HOME", "REPOT_CACHE",
    "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A command line of the engine, in parts; `text` is a plan that was given as text.

    `writes`: it may change files of the tree, and is to be let put them back where it is stopped.
    `prints`: it prints something else than its report, which then goes to a file.
    """

    command: str
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    text: str | None = None
    writes: bool = False
    prints: bool = False


PLAN = "plan"  # how a plan that was given as text is called in what comes back


async def report(root: Root, job: Job, *, seconds: float = SECONDS) -> dict[str, Any]:
    """Run a command on the root and give its report, also of a refusal or a fault.

    Ends the engine, and all that it started, where this is cancelled. Raises `Refusal` for what
    takes too long or says too much, `Failed` where there is no report.
    """
    with _folder() as folder:
        file, said = folder / "report.json", folder / "said"
        command = launcher.command(launcher.COMMAND, _arguments(root, job, folder, file))
        with file.open("wb") as printed, said.open("wb") as stream:
            process = await anyio.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if job.prints else printed,
                stderr=stream,
                cwd=root.folder,
                env=environment(root, folder),
                start_new_session=True,
            )
        try:
            with anyio.fail_after(seconds):
                await _watched(process, file)
        except TimeoutError:
            raise _too_long(seconds) from None
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process, grace=_GRACE if job.writes else 0.0)
        found = _read(file, said, process.returncode)
        name = f"{folder}{os.sep}{PLAN}"
        return found if job.text is None else _renamed(found, name, PLAN)


class Failed(Exception):
    """The engine ended without a report: a fault of Repot. The text is what it printed."""


def environment(root: Root, folder: Path) -> dict[str, str]:
    """Give the variables of an engine that serves this root; `folder` is for its files."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {
        **kept,
        "PATH": os.pathsep.join(place for place in places if _is_elsewhere(place, root)),
        "TMPDIR": str(folder),
        "REPOT_OFFLINE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "XDG_CONFIG_HOME": os.devnull,
    }


def _is_elsewhere(place: str, root: Root) -> bool:
    """Whether a folder of PATH lies outside the tree, which may bring a `git` of its own."""
    folder = Path(place)
    return folder.is_absolute() and not folder.resolve().is_relative_to(root.folder)


def _arguments(root: Root, job: Job, folder: Path, file: Path) -> list[str]:
    arguments = list(job.arguments)
    if job.text is not None:
        plan = folder / PLAN
        plan.write_bytes(job.text.encode("utf-8", "surrogateescape"))
        arguments = [str(plan), *arguments]
    report = file if job.prints else "-"
    options = [f"--repo={root.folder}", f"--json={report}", "--traceback", *job.options]
    return [job.command, *options, "--", *arguments]


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for one call in Repot's cache, and remove it; those of killed servers too."""
    above = cache_place() / "calls"
    above.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in above.iterdir():
        with suppress(OSError):
            if other.lstat().st_mtime < time.time() - _STALE:
                shutil.rmtree(other, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(dir=above, prefix="call-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cache_place() -> Path:
    """Give Repot's cache folder: where the engine keeps its own (`transforms.formatters.store`)."""
    if chosen := os.environ.get("REPOT_CACHE"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "repot"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "repot"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "repot"


async def _watched(process: Process, file: Path) -> None:
    """Wait for a process as long as its report is one that is read. Raises `Refusal`."""
    while process.returncode is None:
        with anyio.move_on_after(_LOOK):
            await process.wait()
        if file.stat().st_size > _MOST_BYTES:
            raise Refusal(
                "report-too-large",
                f"The report has more than {_MOST_BYTES >> 20} MiB.",
                next_step="Judge a smaller range, or run the command with `--json FILE`.",
            )


async def _end(process: Process, *, grace: float) -> None:
    """See to it that nothing is left of a process and of what it started."""
    if process.returncode is None and grace:
        _signal(process, signal.SIGINT)  # it puts back what it wrote
        with anyio.move_on_after(grace):
            await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _read(file: Path, said: Path, code: int | None) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
        text = said.read_bytes().decode("utf-8", "replace").strip()
        raise Failed(text[-_MOST_SAID:] or f"It ended with code {code} and said nothing.")
    return found


def _renamed(value: Any, old: str, new: str) -> Any:
    """Give the same with one text in place of another: a path that means nothing to the reader."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, old, new) for key, item in value.items()}
    return value


def _too_long(seconds: float) -> Refusal:
    return Refusal(
        "took-too-long",
        f"It took more than {seconds:,.0f} seconds, and was ended.",
        next_step="Judge a smaller range, or run the command itself.",
    )
