"""The engine of a call: what it is given, and that nothing of it is left, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from repot import launcher
from repot.server import process
from repot.server.calls import Desk
from repot.server.process import Failed, Job, cache_place, report
from repot.server.refusals import Refusal
from repot.server.root import Root
from tests.verify.histories import PLAN, PLAN_PATH, History
from transforms.formatters import store

# In place of the engine: it starts a process of its own, says who they are, and waits.
WAITS = """\
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
def stop(*_):
    open(NOTE + ".stopped", "w").write("x")
    sys.exit(130)
signal.signal(signal.SIGINT, stop)
open(NOTE + ".new", "w").write(f"{os.getpid()} {child.pid}")
os.rename(NOTE + ".new", NOTE)
time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Root]:
    history = History(tmp_path / "repo")
    history.commit({PLAN_PATH: PLAN})
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    yield Root.of(str(history.folder))
    calls = tmp_path / "cache" / "calls"
    assert not calls.exists() or not list(calls.iterdir())


def engine(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    command = [sys.executable, "-I", "-S", "-c", text]
    monkeypatch.setattr(launcher, "command", lambda _module, given: [*command, *given])


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_there, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_there, pids))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("writes", [False, True], ids=["reads", "writes"])
@pytest.mark.parametrize("how", ["cancelled", "too long"])
def test_nothing_is_left_of_what_is_stopped(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, writes: bool
) -> None:
    note = tmp_path / "note"
    engine(monkeypatch, f"NOTE = {str(note)!r}\n{WAITS}")
    job = Job("apply", writes=writes)

    async def cancelled() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(report, root, job)
            while not note.exists():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    async def too_long() -> None:
        with pytest.raises(Refusal) as found:
            await report(root, job, seconds=3.0)
        assert found.value.kind == "took-too-long"

    anyio.run(cancelled if how == "cancelled" else too_long)
    wait_until_gone([int(word) for word in note.read_text().split()])
    # One that writes is told first, and can put back what it wrote.
    assert Path(f"{note}.stopped").exists() == writes


def test_an_engine_that_says_nothing_is_a_fault(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(monkeypatch, "import sys; sys.exit('it went wrong')")
    with pytest.raises(Failed, match="it went wrong"):
        anyio.run(report, root, Job("certify"))
    engine(monkeypatch, "print('{\"schema\": 2}')")
    answer = anyio.run(Desk(root).answer, "certify", {})
    assert (answer.failed, answer.content["verdict"]) == (True, "fault")
    assert "Please report it" in answer.content["summary"][0]


def test_a_cache_that_cannot_be_written_is_told(root: Root, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file\n")
    answer = anyio.run(Desk(root).answer, "certify", {})
    assert (answer.failed, answer.content["verdict"]) == (True, "fault")
    assert str(tmp_path / "cache") in answer.content["fault"]["message"]


def test_a_report_beyond_all_bounds_is_refused(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_MOST_BYTES", 1000)
    engine(monkeypatch, "print(' ' * 2000)")
    answer = anyio.run(Desk(root).answer, "certify", {})
    assert answer.content["refusal"]["kind"] == "report-too-large"


# Tells what it was given, as a report.
TELLS = """\
import json, os, sys
names = sorted(os.listdir(os.environ["TMPDIR"]))
plan = [open(word).read() for word in sys.argv if word.endswith("/plan")]
print(json.dumps({"schema": 1, "command": "x", "verdict": "holds", "given": sys.argv[1:],
    "env": dict(os.environ), "cwd": os.getcwd(), "names": names, "text": plan,
    "stdin": sys.stdin.read()}))
"""


def told(root: Root, job: Job) -> Any:
    return anyio.run(report, root, job)


def test_it_gets_its_own_folder_and_few_variables(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(monkeypatch, TELLS)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT", "GIT_INDEX_FILE", "PYTHONPATH",
                 "PYTHONSTARTUP", "LD_PRELOAD", "SECRET_TOKEN", "GIT_EXEC_PATH"):  # fmt: skip
        monkeypatch.setenv(name, str(tmp_path / "evil"))
    (root.folder / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{root.folder / 'bin'}:.:/usr/bin:{root.folder}")
    found = told(root, Job("apply", ("--x",), ("HEAD",), text="\u00e9 = 1\n"))
    ours = {"PATH", "TMPDIR", "REPOT_OFFLINE", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"}
    ours |= {"GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME", "LC_CTYPE"}  # the last by Python itself
    assert set(found["env"]) <= {*process._KEPT, *ours}
    assert found["env"]["PATH"] == "/usr/bin"
    assert found["env"]["REPOT_OFFLINE"] == "1"
    assert (found["cwd"], found["stdin"]) == (str(root.folder), "")
    assert found["env"]["TMPDIR"].startswith(str((tmp_path / "cache" / "calls").resolve()))
    # The plan was in that folder, and is called by no path of it.
    assert found["text"] == ["\u00e9 = 1\n"]
    assert found["given"][-3:] == ["--", "plan", "HEAD"]
    assert found["given"][:4] == ["apply", f"--repo={root.folder}", "--json=-", "--traceback"]


def test_what_a_killed_server_left_is_removed(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(monkeypatch, TELLS)
    old, new = tmp_path / "cache" / "calls" / "call-old", tmp_path / "cache" / "calls" / "call-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    told(root, Job("certify"))
    assert (old.exists(), new.exists()) == (False, True)
    new.rmdir()


@pytest.mark.parametrize("variables", [{}, {"XDG_CACHE_HOME": "/x"}, {"REPOT_CACHE": "/y/../z"}])
def test_the_cache_is_the_engines(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("XDG_CACHE_HOME", "REPOT_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for system in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        assert cache_place() == store._place()


def test_two_calls_run_one_after_the_other(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "at-once"
    alone = f"os.mkdir({str(note)!r}); time.sleep(0.1); os.rmdir({str(note)!r})"
    engine(monkeypatch, f"import os, time\n{alone}\n{TELLS}")
    desk = Desk(root)
    answers = []

    async def call() -> None:
        answers.append(await desk.answer("certify", {}))

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            group.start_soon(call)

    anyio.run(both)
    assert [answer.failed for answer in answers] == [False, False]
