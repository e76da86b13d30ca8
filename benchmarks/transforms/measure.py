"""One command, measured: wall-clock seconds, CPU seconds and peak memory, its children included."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLES = 0.02  # seconds between two looks at memory


class CommandError(Exception):
    """A command of the benchmark failed; the text is what it said."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took, in seconds, and what it printed. `cpu` counts finished children.

    `memory` is the most that it and its children held at once, in bytes, where that was looked at:
    resident pages summed over processes, so what they share counts more than once.
    """

    wall: float
    cpu: float
    stdout: str
    memory: int = 0
    timed_out: bool = False


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
    memory: bool = False,
) -> Measured:
    """Run a command to its end, or kill it and its children after `limit` seconds.

    `memory`: look at its memory all along, which costs time. Raises `CommandError` if it fails.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        timed_out, peak = False, 0
        try:
            if limit is not None or memory:
                peak = _watch(process, start + limit if limit is not None else None)
                timed_out = peak < 0
                if timed_out:
                    os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode and not timed_out:
            said = err.read().decode(errors="replace")
            raise CommandError(f"{' '.join(map(str, command))}\n{said}")
        text = out.read().decode(errors="replace")
        return Measured(wall, usage.ru_utime + usage.ru_stime, text, abs(peak), timed_out)


def _watch(process: subprocess.Popen[bytes], deadline: float | None) -> int:
    """Look on until the process ends; give its peak memory, negative if its time ran out first."""
    import psutil

    peak = 1
    watched = psutil.Process(process.pid)
    while True:
        try:
            if watched.status() == psutil.STATUS_ZOMBIE:
                return peak
            family = [watched, *watched.children(recursive=True)]
            peak = max(peak, sum(part.memory_info().rss for part in family))
        except psutil.NoSuchProcess:
            pass  # a child that has just ended
        if deadline is not None and time.perf_counter() > deadline:
            return -peak
        time.sleep(_SAMPLES)
