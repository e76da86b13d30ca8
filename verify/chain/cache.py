"""Judgements of commits, kept in the user's own cache folder so that a second run is instant.

A judgement depends on two trees, a plan, the engine and the Python that reads the code; all of
them are in its key. What was refused is never kept: another day it may be judged.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import verify
from transforms.errors import Refusal
from transforms.formatters.store import Results, cache_folder

_ENGINE = ("transforms", "verify")


class VerdictCache:
    """Judgements by key. Without a folder that is the user's alone, it keeps nothing."""

    def __init__(self) -> None:
        try:
            self._results: Results | None = Results(cache_folder("verdicts"))
        except Refusal:
            self._results = None

    def get(self, key: str) -> dict[str, Any] | None:
        """Give what was kept under the key, as `put` had it."""
        data = self._results.get(self._full(key)) if self._results else None
        if data is None:
            return None
        found = json.loads(data)
        return found if isinstance(found, dict) else None

    def put(self, key: str, judgement: object) -> None:
        """Keep a judgement, a dataclass of plain values."""
        if self._results and is_dataclass(judgement) and not isinstance(judgement, type):
            data = json.dumps(asdict(judgement), sort_keys=True)
            self._results.put(self._full(key), data.encode())

    def prune(self) -> None:
        """Remove what was used longest ago, where there is too much."""
        if self._results:
            self._results.prune()

    def _full(self, key: str) -> str:
        return f"{engine_digest()} {sys.version_info[:3]} {key}"


@cache
def engine_digest() -> str:
    """Digest the engine's own sources: a changed engine has not judged anything yet."""
    root = Path(verify.__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in _ENGINE:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in {".py", ".toml"} and "plans" not in path.parts:
                name = path.relative_to(root).as_posix()
                digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()
