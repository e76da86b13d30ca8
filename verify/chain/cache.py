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

PROVED = "proved"  # the verdict on a claimed move that its plan reproduces
_ENGINE = ("transforms", "verify")


def claim_key(parent_tree: str, tree: str, plan: str, named: str) -> str:
    """Give what the judgement of a commit is kept under.

    The trees are its parent's and its own; `plan` is mode and id of the plan that its trailer
    names, as the parent has it, and `named` the path.
    """
    return f"{parent_tree} {tree} {plan} {named}"


class VerdictCache:
    """Judgements by key. Without a folder that is the user's alone, it keeps nothing.

    `name` is the folder's: judgements of another sort have their own, and push none of these out.
    """

    def __init__(self, name: str = "verdicts") -> None:
        try:
            self._results: Results | None = Results(cache_folder(name))
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
