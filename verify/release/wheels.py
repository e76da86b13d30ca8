"""Wheels that Repot is shown on: fetched from the package index by name and hash, and kept."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal

_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Wheel:
    """One file on the package index, told by its name and its hash."""

    project: str
    version: str
    file: str
    sha256: str
    python: str
    abi: str
    platform: str


def _sglang(version: str, sha256: str) -> Wheel:
    file = f"sglang-{version}-cp311-cp311-manylinux_2_34_x86_64.whl"
    return Wheel("sglang", version, file, sha256, "3.11", "cp311", "manylinux_2_34_x86_64")


# The release before the split of #27273 landed, and the first one after it.
BEFORE = _sglang("0.5.13.post1", "1c1653ecf2893c7d7b1cf0c3e1cc9b7550ebad95c809de2f44bcc91b7a1e1fe3")
AFTER = _sglang("0.5.14", "4fe16056b45c8aca00f5f90ceb174dc3a62a3f5dccf159c791370795cd00fc99")


def cache_folder() -> Path:
    """Repot's folder for downloads: `REPOT_CACHE`, else below the user's cache folder."""
    own = os.environ.get("REPOT_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "repot"


def fetch_wheel(wheel: Wheel) -> Path:
    """The wheel's file, downloaded once. Raises `Refusal` without network, or on a wrong hash.

    The same file under any interpreter and platform: it is read as an archive, never installed.
    """
    folder = cache_folder() / "wheels"
    path = folder / wheel.file
    if path.is_file() and _digest(path) == wheel.sha256:
        return path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        _download(wheel, scratch)
        found = Path(scratch) / wheel.file
        if not found.is_file():
            raise _refusal(wheel, f"the package index offers no file {wheel.file}")
        if _digest(found) != wheel.sha256:
            raise Refusal(
                "wrong-wheel",
                f"The index's {wheel.file} has another sha256 than the released one.",
                next_step="Do not use it. Name another index to pip, or split a clone of SGLang.",
                place=Place(wheel.file),
            )
        found.replace(path)
    return path


def _download(wheel: Wheel, folder: str) -> None:
    command = [
        sys.executable, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--only-binary", ":all:", "--implementation", "cp",
        "--python-version", wheel.python, "--abi", wheel.abi, "--platform", wheel.platform,
        "--dest", folder, f"{wheel.project}=={wheel.version}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise _refusal(wheel, f"the package index did not answer within {_SECONDS} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise _refusal(wheel, lines[-1] if lines else "pip could not download it")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _refusal(wheel: Wheel, cause: str) -> Refusal:
    return Refusal(
        "no-wheel",
        f"{wheel.project} {wheel.version} cannot be had: {cause}.",
        next_step="With access to the package index it is downloaded once; a clone works without: "
        "make transform REPO=path/to/sglang REV=e1955bf57ab3",
        place=Place(wheel.file),
    )
