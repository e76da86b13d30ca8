"""Repot as an installer leaves it, made without one: a bare environment and copies of the files."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = "9.8.7"  # of these installations, so that no other one is taken for them
# The console script as pip writes it.
SCRIPT = """\
#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from repot.launcher import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
# An engine that tells how it was started, in place of the real one.
PROBE = """\
import json, os, sys
import transforms

def child():
    import verify, multiprocessing
    return [verify.__file__, transforms.__file__, multiprocessing.__file__]

def main():
    if sys.argv[1:] == ["end with 7"]:
        sys.exit(7)
    if sys.argv[1:] == ["wait"]:
        import time
        sys.stdout.write("waiting\\n")
        sys.stdout.flush()
        time.sleep(60)
    told = {
        "pid": os.getpid(), "path": sys.path, "argv": sys.argv[1:], "origin": sys.orig_argv,
        "files": [__file__, transforms.__file__], "PYTHONPATH": os.environ.get("PYTHONPATH"),
        "options": [dict(sys._xoptions), sys.warnoptions, sys.flags.dont_write_bytecode],
        "stdin": sys.stdin.read() if sys.argv[1:] == ["read"] else "",
    }
    if sys.argv[1:] == ["child"]:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context
        os.chdir(os.path.dirname(__file__))  # as a worker does: it looks there first
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            told["child"] = pool.submit(child).result()
    print(json.dumps(told))
"""
TRAP = "import os\nopen(os.environ['CANARY'], 'a').write(__name__ + '\\n')\n"


@dataclass(frozen=True)
class Installation:
    """An environment that Repot lies in."""

    folder: Path

    @property
    def site(self) -> Path:
        """The folder that packages are installed in."""
        (found,) = self.folder.glob("lib/python3.*/site-packages")
        return found

    @property
    def engine(self) -> Path:
        """The engine's own folder."""
        return self.site / "repot" / "_engine"

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def script(self) -> str:
        """The console script."""
        return str(self.folder / "bin" / "repot")

    def run(
        self,
        *command: str,
        cwd: Path | str = "/",
        more: Mapping[str, str] | None = None,
        data: bytes = b"",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, the console script by default."""
        done = subprocess.run(
            command, cwd=cwd, env=variables(more), input=data, capture_output=True, check=False
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )


def variables(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give this process's variables without those that are Python's."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, **(more or {})}


def bare(folder: Path, python: str) -> Installation:
    """Make an environment with the launcher, the script, and no engine."""
    make = [python, "-I", "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(make, check=True, capture_output=True)
    made = Installation(folder)
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "repot", made.site / "repot", ignore=skipped)
    Path(made.script).write_text(SCRIPT.format(python=made.python))
    Path(made.script).chmod(0o755)
    return made


def probing(folder: Path, python: str) -> Installation:
    """Make an installation whose engine only tells how it was started."""
    made = bare(folder, python)
    texts = {"verify/__init__.py": "", "verify/cli.py": PROBE, "transforms/__init__.py": ""}
    write(made.engine, texts)
    return made


def whole(folder: Path, python: str) -> Installation:
    """Make an installation with the engine, its record, and what this environment has besides."""
    made = bare(folder, python)
    skipped = shutil.ignore_patterns("__pycache__")
    for package in ("transforms", "verify"):
        shutil.copytree(ROOT / package, made.engine / package, ignore=skipped)
    (made.site / "others.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    info = made.site / f"repot-{VERSION}.dist-info"
    write(info, {"METADATA": f"Metadata-Version: 2.1\nName: repot\nVersion: {VERSION}\n"})
    (info / "RECORD").write_text("".join(f"{line}\n" for line in record(made)))
    return made


def record(made: Installation) -> Iterator[str]:
    """List the files of an installation with their hashes."""
    for path in sorted(made.site.glob("repot/**/*")):
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).digest()
            text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            name = path.relative_to(made.site).as_posix()
            yield f"{name},sha256={text},{path.stat().st_size}"


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def packages(folder: Path, *names: str, text: str = TRAP) -> Path:
    """Write packages that leave their name in the file CANARY when they are imported."""
    write(folder, {f"{name}/__init__.py": text for name in names})
    return folder


def copy_of_the_project(folder: Path) -> Path:
    """Copy what git has or would take: a build leaves folders behind."""
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    printed = subprocess.run(listing, capture_output=True, check=True).stdout.decode()
    for path in filter(None, printed.split("\0")):
        if (ROOT / path).is_file() and not path.startswith("tests/"):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, target)
    return folder


def made_up_wheel(folder: Path) -> Path:
    """Make the wheel of a user's project that has packages with the names of ours."""
    files = {f"{name}/__init__.py": "MINE = True\n" for name in ("transforms", "verify")}
    files |= {f"{name}/cli.py": "MINE = True\n" for name in ("transforms", "verify")}
    info = "theirs-1.0.dist-info"
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    wheel = folder / "theirs-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
