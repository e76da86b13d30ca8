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
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = ROOT / "verify" / "bundle" / "lock.txt"
_RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from verify.ci.action import main; main()"
_FROM_WHEEL = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('pip', run_name='__main__')"
)
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
        pip = _bundled_pip()
        venv.create(environment, clear=True, with_pip=pip is None)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([*_install(python, pip), "-r", str(LOCK)], check=True, cwd=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        return _stop(f"Repot's dependencies could not be installed: {error}")
    judge = [str(python), "-I", "-c", _RUN, str(ROOT)]
    return subprocess.run(judge, check=False, cwd=environment).returncode


def _bundled_pip() -> Path | None:
    """Give the wheel of the pip that Python brings along: to install it takes longer than all else.

    Gives none where a distribution keeps it elsewhere.
    """
    found = find_spec("ensurepip")
    if found is None or found.origin is None:
        return None
    return max(Path(found.origin).parent.glob("_bundled/pip-*.whl"), default=None)


def _install(python: Path, pip: Path | None) -> list[str]:
    """Give the command that installs wheels of the lock, and nothing else."""
    index = os.environ.get("REPOT_INDEX_URL", "")
    return [
        *(str(python), "-I", *(("-m", "pip") if pip is None else ("-c", _FROM_WHEEL, str(pip)))),
        *("--isolated", "--disable-pip-version-check", "install", "--quiet", "--no-compile"),
        *("--no-deps", "--require-hashes", "--only-binary=:all:"),
        *(("--index-url", index) if index else ()),
    ]


def _stop(message: str) -> int:
    sys.stdout.write(f"::error title=Repot::{message}\n")
    return _UNJUDGED


if __name__ == "__main__":
    sys.exit(main())
