"""Whether the engine that runs is the one that was installed, file by file.

An installer leaves a record of what it wrote, with hashes. A checkout has none: there the engine is
what lies in it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from transforms.errors import Place, Refusal
from verify.bundle.engine import ROOT

_PACKAGES = frozenset({"transforms", "verify"})
_PRIVATE = "_engine"  # the folder's name where Repot is installed; see `repot.launcher`


def require_installed() -> None:
    """Raise `Refusal` where a bundle would carry anything else, or be held against it."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in _PACKAGES and file is not None:
            if not Path(file).resolve().is_relative_to(ROOT):
                raise _refusal(f"The module `{name}` was loaded from elsewhere.", file)
    require_recorded(ROOT)


def require_recorded(root: Path) -> None:
    """Raise `Refusal` where the files of an installed engine are not those of its record."""
    recorded = _recorded(root) if is_private(root) else None
    if recorded is None:
        return
    found = {path.relative_to(root).as_posix(): path for path in _files(root)}
    for name in sorted(found.keys() | recorded.keys()):
        if name not in found:
            raise _refusal("A file of the engine is gone.", name)
        if name not in recorded:
            raise _refusal("A file lies in the engine that was not installed with it.", name)
        if _hash(found[name]) != recorded[name]:
            raise _refusal("A file of the engine is not as it was installed.", name)


def doubts(root: Path = ROOT) -> str:
    """Say what keeps this engine from vouching for itself; empty where it is as installed."""
    if not is_private(root):
        return "This Repot is a working copy"
    return "" if _recorded(root) else "This Repot has no record of what was installed"


def is_private(root: Path) -> bool:
    """Whether the engine lies where an installation puts it, and not in a checkout."""
    return root.name == _PRIVATE and root.parent.name == "repot"


def _recorded(root: Path) -> dict[str, str] | None:
    """Give the hash of each of the engine's files by its path; `None` where there is no record.

    Where an editable installation links the files, its record names none of them.
    """
    home = root.parent.parent
    below = f"repot/{_PRIVATE}/"
    for distribution in distributions(name="repot", path=[str(home)]):
        found = dict(_rows(distribution, below))
        if found:
            return found
    return None


def _rows(distribution: Distribution, below: str) -> Iterator[tuple[str, str]]:
    """Give path and hash of the engine's files; what was compiled is not part of it.

    From the record's own text: since Python 3.12 `Distribution.files` leaves out what is gone.
    """
    for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        path, recorded = [*row, "", ""][:2]
        if path.startswith(below) and "__pycache__" not in path.split("/"):
            kind, _, value = recorded.partition("=")
            if kind == "sha256":
                yield path.removeprefix(below), value


def _files(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if "__pycache__" not in path.parts and not path.is_dir():
            yield path


def _hash(path: Path) -> str:
    """Hash a file as a record does: URL-safe base64 without padding."""
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _refusal(cause: str, place: str) -> Refusal:
    return Refusal(
        "foreign-engine",
        cause,
        next_step="Install Repot anew, into an environment of its own.",
        place=Place(place),
    )
