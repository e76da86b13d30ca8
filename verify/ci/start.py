"""The Action's first step: an environment with the pinned wheels, then the judge inside it.

Run as a file by any Python, isolated (`python3 -I start.py`), with the standard library alone. What
is judged by lies in this file's own checkout; nothing is imported from the current folder, and pip
takes only wheels with the hashes of the lock, from wherever it fetches them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = ROOT / "verify" / "bundle" / "lock.txt"
_RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from verify.ci.action import main; main()"
_UNJUDGED = 2


def main() -> int:
    """Make the environment, run the judge in it, and give its exit code."""
    if sys.version_info < (3, 10):  # noqa: UP036 - what runs this file is the runner's choice
        return _stop("Repot needs CPython 3.10 or newer; the Action's input `python` names one.")
    temporary = os.environ.get("RUNNER_TEMP", "")
    if not Path(temporary).is_absolute():
        return _stop("RUNNER_TEMP is not set: this file is the Action's first step.")
    environment = Path(temporary) / "repot-environment"
    try:
        venv.create(environment, clear=True, with_pip=True)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([*_pip(python), "-r", str(LOCK)], check=True, cwd=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        return _stop(f"Repot's dependencies could not be installed: {error}")
    judge = [str(python), "-I", "-c", _RUN, str(ROOT)]
    return subprocess.run(judge, check=False, cwd=environment).returncode


def _pip(python: Path) -> list[str]:
    """Give the command that installs wheels of the lock, and nothing else."""
    index = os.environ.get("REPOT_INDEX_URL", "")
    return [
        *(str(python), "-I", "-m", "pip", "--isolated", "--disable-pip-version-check"),
        *("install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"),
        *(("--index-url", index) if index else ()),
    ]


def _stop(message: str) -> int:
    sys.stdout.write(f"::error title=Repot::{message}\n")
    return _UNJUDGED


if __name__ == "__main__":
    sys.exit(main())
