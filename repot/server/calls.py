"""Answers one call: holds its arguments against the schema, runs the engine, gives the first page.

One engine runs at a time: two of them would share the cores, and a write needs the tree to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from repot.server.pages import Shelf, paged, readable
from repot.server.process import SECONDS, Failed, report
from repot.server.refusals import Refusal
from repot.server.root import Root
from repot.server.tools import known

MORE = "page"  # the tool that gives a further page


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call comes to. `failed`: it was refused, or Repot itself failed."""

    content: dict[str, Any]
    failed: bool = False


class Desk:
    """Where calls come in. One for each client."""

    def __init__(self, root: Root, *, seconds: float = SECONDS) -> None:
        self._root = root
        self._seconds = seconds
        self._shelf = Shelf()
        self._turn = anyio.Lock()

    async def answer(self, name: str, given: Mapping[str, Any] | None) -> Answer:
        """Answer a call. What is refused is an answer, too."""
        try:
            if name == MORE:
                return Answer(self._shelf.page(_cursor(given)))
            return await self._run(name, given)
        except Refusal as refusal:
            return _refused(name, refusal)

    async def _run(self, name: str, given: Mapping[str, Any] | None) -> Answer:
        tool = known(name)
        arguments = tool.take(given)
        self._root.check()
        job = tool.job(self._root, arguments)
        try:
            async with self._turn:
                found = await report(self._root, job, seconds=self._seconds)
        except (Failed, OSError) as failure:  # the last: of the cache folder, or a full disk
            found = {
                "command": job.command,
                "verdict": "fault",
                "summary": ["This is a fault of Repot, not of your input. Please report it."],
                "fault": {"error": type(failure).__name__, "message": str(failure)},
            }
        result = paged(readable(tool.view(found)), tool.first)
        self._shelf.keep(result)
        failed = "refusal" in found or "fault" in found
        return Answer(result.page(1), failed)


def _cursor(given: Mapping[str, Any] | None) -> str:
    cursor = (given or {}).get("cursor")
    return cursor if isinstance(cursor, str) else ""


def _refused(name: str, refusal: Refusal) -> Answer:
    found = {
        "command": name,
        "verdict": "unjudged",
        "headline": f"refused ({refusal.kind})",
        "summary": [refusal.cause, refusal.next_step, "Nothing was written."],
        "refusal": refusal.data(),
    }
    return Answer(paged(readable(found)).page(1), failed=True)
