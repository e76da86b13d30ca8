"""How the engine is started: its own modules first, and nothing of the user's among them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from repot.launcher import COMMAND, SERVER, wanted
from tests.interpreters import interpreters
from tests.repot.rig import TRAP, VERSION, Installation, packages, probing, variables, write
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History

# Ours, what ours import, and Python's own that are loaded late enough to be taken for them.
NAMES = (
    "transforms", "verify", "typer", "rich", "libcst", "yaml", "tomli", "json", "ast", "signal",
    "subprocess", "multiprocessing", "concurrent", "tempfile", "dataclasses", "hashlib", "logging",
)  # fmt: skip
Start = Callable[[Installation], list[str]]
STARTS: dict[str, Start] = {
    "the script": lambda made: [made.script],
    "by name": lambda made: [made.python, "-m", "repot"],
    "by name, isolated": lambda made: [made.python, "-I", "-m", "repot"],
    "by name, without the environment": lambda made: [made.python, "-E", "-m", "repot"],
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return probing(tmp_path_factory.mktemp("probe") / "env", sys.executable)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """A user's folder, with packages of the names that Repot's have."""
    return packages(tmp_path / "user", *NAMES)


def told(made: Installation, command: Sequence[str], cwd: Path, **more: str) -> dict[str, Any]:
    """Run the probe and give what it tells; nothing may have left its name."""
    canary = cwd / "CANARY"
    done = made.run(*command, cwd=cwd, more={"CANARY": str(canary), **more})
    assert (done.returncode, done.stderr) == (0, "")
    assert not canary.exists(), canary.read_text()
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("paths", ["", ".", "whole", ":"], ids=["unset", "dot", "whole", "empty"])
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_nothing_of_the_users_is_imported(
    probe: Installation, users: Path, start: Start, paths: str
) -> None:
    more = {"PYTHONPATH": str(users) if paths == "whole" else paths} if paths else {}
    found = told(probe, start(probe), users, **more)
    assert found["path"][0] == str(probe.engine)
    assert not {"", ".", str(users), str(probe.folder / "bin")} & set(found["path"])
    assert found["PYTHONPATH"] is None
    assert found["files"][1] == str(probe.engine / "transforms" / "__init__.py")


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_under_every_interpreter(version: str, users: Path, tmp_path: Path) -> None:
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    made = probing(tmp_path / "env", python)
    # Those that installed packages have, too: they come after ours.
    packages(made.site, "transforms", "verify")
    ours = [str(made.engine / name / "__init__.py") for name in ("verify", "transforms")]
    for start in STARTS.values():
        found = told(made, start(made), users, PYTHONPATH=".")
        assert found["path"][0] == str(made.engine)
        assert str(made.site) in found["path"]
        assert found["files"][1] == ours[1]
    child = told(made, [made.script, "child"], users, PYTHONPATH=".")["child"]
    assert child[:2] == ours
    assert not child[2].startswith(str(users))


def test_the_script_goes_on_in_its_own_process_where_it_may(
    probe: Installation, users: Path
) -> None:
    found = told(probe, [probe.script], users)
    assert found["origin"][1] == probe.script
    assert told(probe, [probe.python, "-I", "-m", "repot"], users)["origin"][1] == "-I"
    again = told(probe, [probe.script], users, PYTHONPATH=".")
    assert again["origin"][1] == str(probe.site / "repot" / "launcher.py")
    again = told(probe, [probe.python, "-m", "repot"], users)
    assert again["origin"][1] == str(probe.site / "repot" / "launcher.py")


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_without_the_sdk_it_is_the_engine_that_answers_for_the_server(
    probe: Installation, users: Path, start: Start
) -> None:
    packages(users, "mcp", "anyio")  # not that one
    found = told(probe, [*start(probe), "mcp", "--root", "."], users, PYTHONPATH=".")
    assert found["argv"] == ["mcp", "--root", "."]
    assert found["path"][0] == str(probe.engine)


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (["mcp", "--root", "x"], SERVER),
        (["mcp", "--root=x"], SERVER),
        (["mcp", "--root"], COMMAND),
        (["mcp", "--help"], COMMAND),
        (["mcp", "--root", "x", "--help"], COMMAND),
        (["mcp", "x", "--root"], COMMAND),
        (["apply", "mcp"], COMMAND),
        ([], COMMAND),
    ],
)
def test_one_command_line_alone_is_the_servers(arguments: list[str], module: str) -> None:
    assert wanted(arguments) == module


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python has no safe path")
def test_a_safe_path_is_taken_as_it_is(probe: Installation, users: Path) -> None:
    found = told(probe, [probe.python, "-P", "-m", "repot"], users)
    assert found["origin"][1:3] == ["-P", "-m"]
    found = told(probe, [probe.script], users, PYTHONSAFEPATH="1")
    assert found["path"][0] == str(probe.engine)
    assert found["path"].count(str(probe.site)) == 1


@pytest.mark.parametrize("paths", ["", "."], ids=["the same", "a fresh one"])
class TestProcess:
    def run(
        self, probe: Installation, paths: str, *arguments: str, data: bytes = b""
    ) -> subprocess.CompletedProcess[str]:
        more = {"PYTHONPATH": paths} if paths else {}
        return probe.run(probe.script, *arguments, more=more, data=data)

    def test_arguments_and_input_arrive_as_they_are(self, probe: Installation, paths: str) -> None:
        given = ["-m", "x", "--", "", "a b", "\u00e9", "*", "-c"]
        assert json.loads(self.run(probe, paths, *given).stdout)["argv"] == given
        assert json.loads(self.run(probe, paths, "read", data=b"x\n").stdout)["stdin"] == "x\n"

    def test_it_ends_as_the_engine_does(self, probe: Installation, paths: str) -> None:
        assert self.run(probe, paths, "end with 7").returncode == 7

    def test_it_is_the_process_that_was_started(self, probe: Installation, paths: str) -> None:
        env = variables({"PYTHONPATH": paths} if paths else {})
        child = subprocess.Popen([probe.script], env=env, stdout=subprocess.PIPE, cwd="/")
        out, _ = child.communicate()
        assert json.loads(out)["pid"] == child.pid

    def test_it_is_interrupted_on_its_terminal(self, probe: Installation, paths: str) -> None:
        env = variables({"PYTHONPATH": paths} if paths else {})
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [probe.script, "wait"], env=env, stdin=theirs, stdout=theirs, stderr=theirs, cwd="/",
            start_new_session=True,
            preexec_fn=hear_interrupts,  # noqa: PLW1509 - no thread of ours runs here
        )  # fmt: skip
        os.close(theirs)
        assert os.read(ours, 7) == b"waiting"
        child.send_signal(signal.SIGINT)
        assert child.wait(30) in (-signal.SIGINT, 1, 130)
        os.close(ours)


def hear_interrupts() -> None:
    """Undo what a shell does to what it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_what_python_was_told_is_told_to_a_fresh_one(probe: Installation) -> None:
    flags = ["-B", "-Xutf8", "-X", "pycache_prefix=/nowhere", "-W", "error::UserWarning"]
    done = probe.run(probe.python, *flags, "-m", "repot")
    options, warnings, no_bytecode = json.loads(done.stdout)["options"]
    assert options == {"utf8": True, "pycache_prefix": "/nowhere"}
    assert warnings == ["error::UserWarning"]
    assert no_bytecode == 1


@pytest.mark.parametrize("paths", ["", "."], ids=["the same", "a fresh one"])
def test_an_engine_that_cannot_be_loaded_is_a_fault(tmp_path: Path, paths: str) -> None:
    made = probing(tmp_path / "env", sys.executable)
    write(made.engine, {"transforms/__init__.py": "import gone\n"})
    done = made.run(made.script, more={"PYTHONPATH": paths})
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot be loaded: No module named 'gone'" in done.stderr


class TestInstalledBeside:
    @pytest.fixture
    def made(self, tmp_path: Path) -> Installation:
        made = probing(tmp_path / "env", sys.executable)
        packages(made.site, "verify", "transforms", text="\n")
        return made

    def test_what_a_pth_file_has_imported_is_not_taken_for_ours(
        self, made: Installation, tmp_path: Path
    ) -> None:
        (made.site / "a.pth").write_text("import verify, transforms\n")
        found = told(made, [made.script], tmp_path)
        assert found["files"][1] == str(made.engine / "transforms" / "__init__.py")

    def test_an_import_hook_that_gives_another_engine_is_a_fault(self, made: Installation) -> None:
        hook = (
            "import sys\nfrom importlib.util import spec_from_file_location\n"
            "class Hook:\n"
            "    @staticmethod\n"
            "    def find_spec(name, path=None, target=None):\n"
            "        if name == 'verify.cli':\n"
            f"            return spec_from_file_location(name, {str(made.site / 'c.py')!r})\n"
            "sys.meta_path.insert(0, Hook)\n"
        )
        write(made.site, {"hook.py": hook, "a.pth": "import hook\n", "c.py": "main = exit\n"})
        done = made.run(made.script)
        assert done.returncode == 3
        assert f"`verify.cli` comes from {made.site / 'c.py'}" in done.stderr

    def test_a_folder_that_only_pythonpath_names_is_no_hindrance(
        self, made: Installation, tmp_path: Path
    ) -> None:
        """As `pip install --target` leaves it."""
        target = tmp_path / "target"
        target.mkdir()
        (made.site / "repot").rename(target / "repot")
        found = told(made, [made.script], tmp_path, PYTHONPATH=str(target))
        assert found["path"][0] == str(target / "repot" / "_engine")
        assert found["path"][-1] == str(target)


COMMANDS = {
    "apply": ["apply", PLAN_PATH, "--at", "HEAD~2"],
    "review": ["review", "HEAD~2..HEAD~1"],
    "chain": ["chain", "HEAD~2..HEAD", "--jobs", "2", "--no-cache"],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> History:
    """The history of a project that has packages with the names of ours, and many others."""
    history = History(tmp_path_factory.mktemp("project"))
    users = {f"{name}/__init__.py": TRAP for name in NAMES}
    claim = f"Move\n\nMechanical-Move: {PLAN_PATH}"
    history.commit({**BEFORE, **users, PLAN_PATH: PLAN}, "start")
    history.commit({**AFTER, **users, PLAN_PATH: PLAN}, claim)
    history.commit({**AFTER, **users, PLAN_PATH: PLAN, "x.txt": "x\n"}, "Note")
    return history


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_every_command_runs_in_such_a_project(
    installed: Installation, project: History, tmp_path: Path, command: list[str]
) -> None:
    more = {"PYTHONPATH": ".", "CANARY": str(tmp_path / "CANARY")}
    done = installed.run(installed.script, *command, cwd=project.folder, more=more)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "CANARY").exists()


def test_the_version_is_that_of_the_installation(installed: Installation) -> None:
    assert installed.run(installed.script, "--version").stdout == f"repot {VERSION}\n"
