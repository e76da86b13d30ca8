"""Released wheels of SGLang, taken from the package registry by hash and kept in a cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
# The wheel of CPython 3.11 on Linux: its Python files are those of every other.
_TAG = "cp311-cp311-manylinux_2_34_x86_64"
_SHA256 = {
    "0.5.13.post1": "1c1653ecf2893c7d7b1cf0c3e1cc9b7550ebad95c809de2f44bcc91b7a1e1fe3",
    "0.5.14": "4fe16056b45c8aca00f5f90ceb174dc3a62a3f5dccf159c791370795cd00fc99",
    "0.5.18": "e97b585dd2d5db2802599feba47c84cce972f5e1231a6816fef996200207b5cf",
}


def sample(items: Sequence[Item], step: int, *, in_ci: int) -> Sequence[Item]:
    """Every so many of a release's files: more of them in CI, all with REPOT_FULL=1."""
    if os.environ.get("REPOT_FULL") == "1":
        return items
    return items[:: in_ci if os.environ.get("CI") else step]


def sglang_wheel(version: str) -> Path:
    """The wheel file of an SGLang release, downloaded on first use, under any interpreter.

    Raises `KeyError` for a release whose hash is not listed here, `ValueError` for a file that
    does not have its hash, `subprocess.CalledProcessError` if pip cannot get it.
    """
    expected = _SHA256[version]
    name = f"sglang-{version}-{_TAG}.whl"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "repot" / "wheels"
    kept = cache / name
    if kept.is_file() and _sha256(kept) == expected:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        command = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", scratch]
        command += ["--only-binary", ":all:", "--python-version", "3.11", "--abi", "cp311"]
        command += ["--implementation", "cp", "--platform", "manylinux_2_34_x86_64"]
        subprocess.run([*command, f"sglang=={version}"], check=True)
        found = _sha256(Path(scratch) / name)
        if found != expected:
            raise ValueError(f"{name} has SHA-256 {found}, not {expected}")
        (Path(scratch) / name).replace(kept)
    return kept


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
