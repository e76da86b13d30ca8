"""`repot mcp`: what the server is called with. It is started by `repot.launcher`, not from here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from transforms.errors import Refusal
from verify.commands.options import UsageError, conclude
from verify.report.console import Output

HELP = """Serve the tools of a repository to agents: an MCP server over stdio.

The tools are symbols, plan, apply (dry by default), certify, review, infer and carry_check. Nothing
outside DIR is read or written but git's object folders, Python and Repot's cache; nothing is
installed, and nothing of the tree is run.

\b
Examples:
  repot mcp --root .
  repot mcp --root ~/src/shop

\b
Exit codes:
  0  the client is gone
  2  a refusal: DIR is not the top of a repository, or the extra is missing
  3  a fault of Repot
"""
_ELSEWHERE = "The server is started by the installed command: repot mcp --root DIR"


def mcp(
    context: typer.Context,
    root: Annotated[
        Path, typer.Option("--root", metavar="DIR", help="The top of the repository to serve.")
    ],
) -> None:
    """Say why no server was started; where one can be, the launcher never comes here."""
    if find_spec("mcp") is not None:
        raise UsageError(_ELSEWHERE, context)
    conclude("mcp", Output(), lambda _telling: _refuse(root))


def _refuse(root: Path) -> NoReturn:
    raise Refusal(
        "no-extra",
        f"What serves {root} to agents needs the official SDK of MCP, which is not installed.",
        next_step="Install it beside Repot: pip install 'repot[mcp]'",
    )
