"""A small process that forks, for each action, one that is killed on the way.

A process that holds all the tests is large: a fork of it takes a hundred times as long as a fork of
this one, and some tests need hundreds.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import transforms.tree.disk
from transforms.tree.disk import Step

ROOT = Path(__file__).resolve().parents[3]
Action = Callable[[Step], object]
Place = int | tuple[str, str]


class Killer:
    """Runs actions, each in a process that is killed before a step; a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Killer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def status(self, action: Action, at: Place) -> int:
        """Give how the process ended, as `os.waitpid` says it; the action is pickled."""
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        pickle.dump((action, at), asked)
        asked.flush()
        return int(answers.readline())


def run(action: Action, at: Place) -> None:
    """Run an action, and end at once before the step that is meant."""
    steps = 0

    def step(operation: str, name: bytes) -> None:
        nonlocal steps
        if steps == at or (
            isinstance(at, tuple) and operation == at[0] and name.endswith(at[1].encode())
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1

    action(step)


def main() -> None:
    """Fork a process for each action that is asked for, and say how it ended."""
    # What a killed process has written the system keeps, and a disk takes long.
    transforms.tree.disk._sync = lambda descriptor: None
    while True:
        try:
            action, at = pickle.load(sys.stdin.buffer)  # noqa: S301 (it is our own)
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run(action, at)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
