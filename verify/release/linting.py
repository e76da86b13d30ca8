"""Ruff's opinion of some files: undefined names and unused imports, without any configuration."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Lint:
    """One finding: the rule, where, and the name it is about."""

    path: str
    line: int
    code: str
    name: str
    message: str


def lint(files: Mapping[str, bytes], scratch: Path) -> list[Lint]:
    """Check the files, written below an empty folder. F821 is undefined, F401 unused."""
    for path, data in files.items():
        target = scratch / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    command = [
        sys.executable, "-I", "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet",
        "--select", "F401,F821", "--output-format", "json", *sorted(files),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=scratch, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"ruff failed: {done.stderr.decode(errors='replace')[:500]}")
    found = []
    for item in json.loads(done.stdout):
        name = re.search(r"`([^`]*)`", item["message"])
        path = Path(item["filename"]).resolve().relative_to(scratch.resolve()).as_posix()
        found.append(
            Lint(
                path,
                item["location"]["row"],
                item["code"],
                name[1] if name else "",
                item["message"],
            )
        )
    return sorted(found, key=lambda lint: (lint.path, lint.line, lint.code, lint.name))
