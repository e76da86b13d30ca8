"""A real client session, over stdio: a module is split, and its commit is proved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from repot.server.tools import TOOLS
from tests.repot.rig import Installation
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli


def test_a_client_is_answered(tmp_path: Path) -> None:
    from tests.repot.server.client import agent

    history = History(tmp_path / "repo")
    history.commit({PLAN_PATH: PLAN})

    async def work() -> None:
        async with agent(history.folder, tmp_path) as client:
            tools = (await client.session.list_tools()).tools
            assert [tool.name for tool in tools] == [*TOOLS, "page"]
            hints = {tool.name: tool.annotations for tool in tools if tool.annotations}
            assert [n for n, hint in hints.items() if not hint.read_only_hint] == ["apply"]
            for given in ({"plan": "../x"}, {"plan": "/etc/passwd"}):
                assert (await client.refused("plan", **given))["kind"] == "outside-root"
            assert (await client.refused("page", cursor="x:1"))["kind"] == "unknown-page"
            assert (await client.refused("nothing"))["kind"] == "bad-argument"

    anyio.run(work)
    assert not list((tmp_path / "cache").rglob("call-*"))


@pytest.mark.system  # five engines, 4 s of CPU; `test_calls.py` tries every tool without them
def test_an_agent_splits_a_module_with_what_is_installed(
    installed: Installation, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from tests.repot.server.client import agent

    history = History(tmp_path / "repo")
    trap = "raise SystemExit(9)\n"
    names = ("repot", "verify", "mcp", "anyio")
    history.commit({**BEFORE, **{f"{name}/__init__.py": trap for name in names}})

    async def work() -> None:
        async with agent(history.folder, tmp_path, installed=installed) as client:
            (money, _) = await client.rows("symbols", "definitions", module="shop.orders")
            assert (money["value"]["names"], money["value"]["lines"]) == (["Money"], 2)
            # A plan is checked before it is anywhere.
            wrong = await client.refused("plan", text=PLAN.replace('"Money"', '"Mony"'))
            assert (wrong["kind"], wrong["place"]["path"]) == ("unknown-symbol", "plan")
            assert wrong["place"]["line"] == 7
            assert "Money" in wrong["next_step"]
            (history.folder / "plans").mkdir()
            (history.folder / PLAN_PATH).write_text(PLAN)
            history.git("add", "--all")
            history.git("commit", "--quiet", "-m", "Plan it")
            written = await client.call("apply", plan=PLAN_PATH, write=True)
            assert written["head"]["written"]
            assert (history.folder / "shop/money.py").read_text() == AFTER["shop/money.py"]
            history.git("add", "--all")
            history.git("commit", "--quiet", "-m", f"Move\n\nMechanical-Move: {PLAN_PATH}")
            assert (await client.call("certify", range="HEAD"))["head"][
                "certificate"
            ] == "CERTIFIED"

    anyio.run(work)
    assert cli.run(["chain", "HEAD^..HEAD", "--repo", str(history.folder), "-j1"]) == 0
    assert "GREEN" in capfd.readouterr().out
    assert history.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["mcp"], 2, "Missing option '--root'"),
        (["mcp", "--help"], 0, "an MCP server over stdio"),
        (["mcp", "--root", "/nowhere/at/all"], 2, "refused (no-such-directory)"),
        (["mcp", "--root=.", "--root=."], 2, "started by the installed command"),
    ],
)
def test_it_is_started_by_one_command_line(arguments: list[str], code: int, said: str) -> None:
    command = [sys.executable, "-I", "-m", "repot", *arguments]
    done = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in (done.stdout + done.stderr).decode()


def test_the_cache_lies_outside_of_what_is_served(tmp_path: Path) -> None:
    history = History(tmp_path / "repo")
    history.commit({PLAN_PATH: PLAN})
    command = [sys.executable, "-I", "-m", "repot", "mcp", "--root", str(history.folder)]
    variables = {**os.environ, "REPOT_CACHE": str(history.folder / "cache")}
    done = subprocess.run(command, input=b"", capture_output=True, env=variables, check=False)
    assert done.returncode == 2
    assert b"refused (formatter-cache)" in done.stderr
    assert history.git("status", "--porcelain") == ""
