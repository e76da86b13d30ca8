"""Asks Python how two trees behave: the end of the line whose other end is `running.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

SCRIPT = Path(__file__).with_name("running.py")
# What an interpreter has loaded before it runs anything: no module of a tree hides that.
EARLY = ("sys", "builtins", "io", "abc", "os", "codecs", "site", "stat", "posixpath", "encodings")


@dataclass(frozen=True)
class Behaviour:
    """Whether two trees differ, where, and how many entries of the base end well."""

    differs: bool
    sound: int
    where: str


class Judge:
    """An interpreter that runs pairs of trees, one after the other."""

    def __enter__(self) -> Judge:
        paths = [sysconfig.get_path("purelib")]
        flags = ["-I", "-S", "-B", "-W", "ignore"]
        command = [sys.executable, *flags, str(SCRIPT), json.dumps(EARLY), json.dumps(paths)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def compare(self, base: Mapping[str, str], target: Mapping[str, str]) -> Behaviour:
        """Run both trees, and compare."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"base": base, "target": target}), file=self._process.stdin, flush=True)
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "fault" not in said, said["fault"]
        where = f"{said.get('entry')}: {said.get('base')} / {said.get('target')}"
        return Behaviour(said["differs"], said.get("sound", 0), where if said["differs"] else "")
