"""The Pythons that this machine has, for what must be the same under each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path


@cache
def interpreters() -> dict[str, str]:
    """Each supported interpreter that is on the path or kept by pyenv, this one included."""
    found = {f"3.{sys.version_info[1]}": sys.executable}
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in ("3.10", "3.11", "3.12", "3.13"):
        kept = sorted(str(path) for path in root.glob(f"{version}.*/bin/python"))
        for candidate in filter(None, (*kept, shutil.which(f"python{version}"))):
            if version in found:
                break
            code = f"import sys; sys.exit(sys.version_info[1] != {version.partition('.')[2]})"
            done = subprocess.run([candidate, "-c", code], capture_output=True, check=False)
            if done.returncode == 0:
                found[version] = candidate
    return found
