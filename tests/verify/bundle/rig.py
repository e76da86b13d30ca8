"""A small history with one move, its bundle, and ways to run that bundle as a stranger would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.transforms.checkouts import Kept, kept, lay_out_kept
from tests.verify.histories import AFTER, BEFORE, PLAN, History
from verify.bundle.build import Subject, build
from verify.bundle.engine import carried_digest
from verify.reports.verify import PASS

HOSTILE = "import pathlib, sys\npathlib.Path({mark!r}).touch()\nraise SystemExit(0)\n"
# What a bundle's own code imports, and more: none of it may come from the clone.
NAMES = (
    "argparse", "collections", "hashlib", "importlib", "json", "os", "pathlib", "re", "shutil",
    "stat", "subprocess", "tempfile", "typing", "dataclasses", "__future__", "site", "venv",
    "ensurepip", "pip", "sitecustomize", "usercustomize", "encodings", "transforms", "verify",
    "libcst", "yaml", "tomli", "tomllib", "runpy", "ast", "git",
)  # fmt: skip


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def passes(self) -> bool:
        """Whether it says PASS, as its last line, and ends as one that does."""
        said = PASS in self.out + self.err
        assert said == (self.code == 0 and self.out.endswith(f"{PASS}\n"))
        return said


@cache
def _history() -> tuple[Kept, str, str]:
    """Give the clone of every world, its base and its target: git makes it once."""
    with tempfile.TemporaryDirectory() as folder:
        clone = History(Path(folder))
        base = clone.commit(BEFORE, "Sell things")
        target = clone.commit(AFTER, "Move Money")
        return kept(clone.folder), base, target


class World:
    """A clone, a bundle beside it, and a cache folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.installs: tuple[str, ...] = ()  # what the bundle's formatters take
        files, self.base, self.target = _history()
        lay_out_kept(folder / "clone", files)
        self.clone = History(folder / "clone")
        self.cache = folder / "cache"
        self.cache.mkdir(mode=0o700)
        self.file = folder / "check_money.py"
        self.file.write_bytes(self.bundle())

    def bundle(self, plan: str = PLAN, base: str | None = None) -> bytes:
        """Give the bundle of the move."""
        return build(Subject(plan, base or self.base, self.target, self.installs))

    @property
    def own(self) -> Path:
        """The folder where the bundle keeps things."""
        return self.cache / "repot" / f"bundle-{carried_digest(self.installs)}"

    def warm(self) -> None:
        """Put this very environment where the bundle keeps the one that it makes."""
        place = self.environment()
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "python").symlink_to(sys.executable)
        (place / "lib").symlink_to(Path(sys.prefix) / "lib")
        (place / "pyvenv.cfg").write_bytes((Path(sys.prefix) / "pyvenv.cfg").read_bytes())
        (place / "complete").touch()
        for folder in (self.own, self.own.parent):
            folder.chmod(0o700)

    def resemble(self, other: World) -> None:
        """Take over the engine that a run in another world wrote, and what Python compiled there.

        What is compiled holds for a file of the same time, and lies below the name of its folder.
        """
        self.own.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.own.parent.chmod(0o700)
        engine = shutil.copytree(
            other.own / "engine", self.own / "engine", copy_function=os.link
        )  # files of the same inode: who changes one takes it away first
        compiled = other.own / "compiled"
        (self.own / "compiled").symlink_to(compiled)
        theirs, ours = (
            compiled / folder.relative_to("/") for folder in (other.own / "engine", engine)
        )
        ours.parent.mkdir(parents=True)
        ours.symlink_to(theirs)

    def environment(self) -> Path:
        """Name the folder of this Python's environment, as the bundle does."""
        names: dict[str, object] = {"__name__": "bundle", "sys": sys}
        path = list(sys.path)
        try:
            exec(compile(self.file.read_bytes(), str(self.file), "exec"), names)  # noqa: S102
        finally:
            sys.path[:] = path
        function = names["environment"]
        assert callable(function)
        place = function(self.own)
        assert isinstance(place, Path)
        return place

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Give the environment variables of a run: offline, and with the cache of this world."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        kept.pop("REPOT_CACHE", None)
        return {**kept, "XDG_CACHE_HOME": str(self.cache), **(more or {})}

    def run(
        self,
        *arguments: str,
        python: str = sys.executable,
        file: Path | None = None,
        cwd: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Done:
        """Run `python3 FILE.py` in the clone."""
        command = [python, str(file or self.file), *arguments]
        return finish(command, cwd or self.clone.folder, self.variables(more))


def finish(command: Sequence[str], cwd: Path, env: Mapping[str, str], data: bytes = b"") -> Done:
    """Run a command to its end."""
    done = subprocess.run(
        command, cwd=cwd, env=env, input=data, capture_output=True, check=False, timeout=600
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def litter(folder: Path, mark: Path) -> None:
    """Fill a folder with modules that bear the names of real ones and leave a mark when run."""
    for name in NAMES:
        (folder / f"{name}.py").write_text(HOSTILE.format(mark=str(mark)), encoding="utf-8")
