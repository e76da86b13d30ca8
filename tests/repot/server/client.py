"""A real client of the server, the SDK's own, over stdio, as a test reads it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.repot.rig import Installation

ROOT = Path(__file__).resolve().parents[3]
# The console script as an installation writes it: its own folder comes first on the path.
SCRIPT = "from repot.launcher import main\nif __name__ == '__main__':\n    main()\n"


@dataclass(frozen=True)
class Agent:
    """Calls tools, and takes what they give."""

    session: ClientSession

    async def call(self, name: str, **given: Any) -> dict[str, Any]:
        """Call a tool that answers."""
        answer = await self.session.call_tool(name, given)
        assert not answer.is_error, answer.structured_content
        found: dict[str, Any] = answer.structured_content
        return found

    async def refused(self, name: str, **given: Any) -> dict[str, Any]:
        """Call a tool that refuses, and give why."""
        answer = await self.session.call_tool(name, given)
        assert answer.is_error, answer.structured_content
        found: dict[str, Any] = answer.structured_content["refusal"]
        assert found["kind"]
        assert found["cause"]
        assert found["next_step"]
        return found

    async def rows(self, name: str, wanted: str, **given: Any) -> list[dict[str, Any]]:
        """Call a tool, and give all rows of one list, from all pages."""
        page = await self.call(name, **given)
        rows = list(page["rows"])
        while page["next"]:
            page = await self.call("page", cursor=page["next"])
            rows += page["rows"]
        return [row for row in rows if row["list"] == wanted]


@asynccontextmanager
async def agent(
    root: Path,
    folder: Path,
    more: Mapping[str, str] | None = None,
    installed: Installation | None = None,
) -> AsyncIterator[Agent]:
    """Start the server in its root as a client does, by the console script, and talk to it."""
    if installed is None:
        script = folder / "bin" / "repot"
        script.parent.mkdir(exist_ok=True)
        script.write_text(SCRIPT)
        command, variables = [sys.executable, str(script)], {"PYTHONPATH": str(ROOT)}
    else:
        command, variables = [installed.script], {}
    parameters = StdioServerParameters(
        command=command[0],
        args=[*command[1:], "mcp", "--root", str(root)],
        cwd=root,
        env={"REPOT_CACHE": str(folder / "cache"), **variables, **(more or {})},
    )
    async with (
        stdio_client(parameters) as (reading, writing),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield Agent(session)
