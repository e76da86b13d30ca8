"""The wheel itself, as each installer puts it into an environment, beside a user's packages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.interpreters import interpreters
from tests.repot.rig import (
    ROOT,
    Installation,
    copy_of_the_project,
    made_up_wheel,
    variables,
)
from tests.sharing import UV, installed_uv
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [pytest.mark.registry, pytest.mark.thorough]

PIPX = ["pipx==1.18.4", UV]  # pipx hands on to uv, where that lies beside it
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONSTRAINTS = ["-c", str(ROOT / "constraints.txt")]
SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def call(*command: str, cwd: Path | str = "/", more: Mapping[str, str] | None = None) -> str:
    """Run a command that succeeds, and give what it prints."""
    done = subprocess.run(
        command, cwd=cwd, env=variables(more), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(folder: Path, python: str) -> Installation:
    """Make an environment, without pip."""
    call(python, "-I", "-m", "venv", "--without-pip", str(folder))
    return Installation(folder)


def python(wanted: str) -> str:
    """Name an interpreter, or skip the test."""
    found = interpreters().get(wanted)
    if found is None:
        pytest.skip(f"Python {wanted} is not installed")
    return found


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_project(tmp_path_factory.mktemp("source") / "a tree")


@dataclass(frozen=True)
class Tools:
    """An environment with what builds and what installs."""

    own: Installation
    installer: str

    def pip(self, *arguments: str, into: Installation | None = None) -> str:
        """Run pip for an environment, by default for the one that it is in."""
        options = ["--python", into.python] if into else []
        command = [self.own.python, "-I", "-m", "pip", "--disable-pip-version-check"]
        return call(*command, *options, "--quiet", *arguments)

    def uv(self, command: str, *arguments: str, into: Installation) -> str:
        """Run `uv pip` for an environment: as pip does it, in a tenth of the time."""
        options = ["--quiet", "--no-config", "--python", into.python]
        return call(self.installer, "pip", command, *options, *arguments)

    def build(self, source: Path, folder: Path) -> Path:
        """Build the wheel of a folder or an archive of sources."""
        self.pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source))
        (built,) = folder.glob("repot-*.whl")
        return built


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("tools") / "env"
    made = Tools(environment(folder, sys.executable), installed_uv(tmp_path_factory))
    (setuptools,) = PROJECT["build-system"]["requires"]
    made.uv("install", f"pip=={version('pip')}", setuptools, *PIPX, into=made.own)
    return made


@pytest.fixture(scope="module")
def wheel(source: Path, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tools.build(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A project with a package `transforms` of its own, and a move in it."""
    history = History(tmp_path_factory.mktemp("history"))
    own = {f"{name}/__init__.py": "raise SystemExit(9)\n" for name in ("transforms", "verify")}
    history.commit({**BEFORE, **own, PLAN_PATH: PLAN}, "Plan")
    claim = f"Move\n\nMechanical-Move: {PLAN_PATH}"
    history.commit({**AFTER, **own, PLAN_PATH: PLAN}, claim)
    history.commit({**AFTER, **own, PLAN_PATH: PLAN, "note.txt": "x\n"}, "Note")
    return history


def works(script: str, history: History, *, jobs: int = 2) -> None:
    """Run a command that imports most of the engine, here and in other processes."""
    command = [script, "chain", "HEAD~2..HEAD", "--jobs", str(jobs), "--no-cache"]
    printed = call(*command, cwd=history.folder, more={"PYTHONPATH": "."})
    assert "2 commits: 1 for human eyes, 1 proved." in printed


def theirs_works(made: Installation) -> None:
    """Import a user's own packages."""
    code = "import transforms.cli as a, verify.cli as b; assert a.MINE and b.MINE"
    call(made.python, "-I", "-c", code)


def test_it_holds_code_and_data_below_one_name(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    listing = ["git", "ls-files", "hicache", "pool_host", "repot", "transforms", "verify"]
    tracked = call(*listing, cwd=ROOT).splitlines()
    wanted = {
        f"repot/_engine/{path}" if path.startswith(("transforms/", "verify/")) else path
        for path in tracked
        if (ROOT / path).exists()
    }
    assert wanted <= names
    info = f"{wheel.name.split('-py3')[0]}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"hicache", "pool_host", "repot", info}


def test_from_an_archive_of_the_sources_it_is_the_same(
    wheel: Path, source: Path, tools: Tools, tmp_path: Path
) -> None:
    call(tools.own.python, "-I", "-c", SDIST, str(tmp_path), cwd=source)
    (archive,) = tmp_path.glob("repot-*.tar.gz")
    again = tools.build(archive, tmp_path)
    with ZipFile(wheel) as one, ZipFile(again) as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


@pytest.mark.parametrize(("wanted", "installer"), [("3.10", "uv"), ("3.13", "pip")])
def test_two_wheels_in_one_environment(
    wanted: str, installer: str, wheel: Path, tools: Tools, history: History, tmp_path: Path
) -> None:
    made = environment(tmp_path / "env", python(wanted))
    ours, theirs = [*CONSTRAINTS, str(wheel)], [str(made_up_wheel(tmp_path))]
    # What both need is there: it is the two wheels that the installer is tried on.
    tools.uv("install", *CONSTRAINTS, *PROJECT["project"]["dependencies"], into=made)

    def install(*what: str) -> None:
        if installer == "uv":
            tools.uv("install", *what, into=made)
        else:
            tools.pip("install", "--no-compile", *what, into=made)

    def uninstall(name: str) -> None:
        if installer == "uv":
            tools.uv("uninstall", name, into=made)
        else:
            tools.pip("uninstall", "--yes", name, into=made)

    install(*ours)  # ours first
    install(*theirs)
    works(made.script, history)
    theirs_works(made)
    file = str(tmp_path / "bundle.py")
    asked = ["--base", "HEAD~2", "--target", "HEAD~1", "-o", file]
    call(made.script, "bundle", PLAN_PATH, *asked, cwd=history.folder)
    assert "SAME" in call(made.script, "bundle", "--check", file, cwd=history.folder)
    uninstall("theirs")
    works(made.script, history, jobs=1)
    assert not list(made.site.glob("transforms*"))
    uninstall("repot")
    assert not list(made.site.glob("repot*"))
    install(*theirs)  # theirs first
    install(*ours)
    works(made.script, history)
    theirs_works(made)
    uninstall("repot")
    theirs_works(made)


def test_an_editable_installation_gives_nothing_else(
    source: Path, tools: Tools, history: History, tmp_path: Path
) -> None:
    made = environment(tmp_path / "env", python("3.13"))
    tools.uv("install", *CONSTRAINTS, "--editable", str(source), into=made)
    tools.uv("install", str(made_up_wheel(tmp_path)), into=made)
    works(made.script, history)
    theirs_works(made)
    assert call(made.python, "-I", "-m", "repot.hook", "--help").startswith("usage: repot.hook")
    assert call(made.script, "--version") == f"repot {PROJECT['project']['version']}\n"
    assert "torch" not in tools.uv("freeze", into=made)


def test_uv_installs_it_as_a_tool(
    wheel: Path, tools: Tools, history: History, tmp_path: Path
) -> None:
    more = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    options = ["--quiet", "--no-config", "--python", python("3.13"), "--constraints"]
    call(
        tools.installer,
        "tool",
        "install",
        *options,
        str(ROOT / "constraints.txt"),
        str(wheel),
        more=more,
    )
    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"repot", "hicache"}
    works(str(tmp_path / "bin" / "repot"), history)


def test_pipx_installs_it(wheel: Path, tools: Tools, history: History, tmp_path: Path) -> None:
    more = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    options = ["--quiet", "--python", python("3.10"), f"--pip-args={' '.join(CONSTRAINTS)}"]
    call(str(tools.own.folder / "bin" / "pipx"), "install", *options, str(wheel), more=more)
    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"repot", "hicache"}
    works(str(tmp_path / "bin" / "repot"), history)
