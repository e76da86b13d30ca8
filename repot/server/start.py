"""Reads the command line `repot mcp --root DIR`, and refuses before the SDK is even loaded."""

from __future__ import annotations

import logging
import sys

from repot.server.process import cache_place
from repot.server.refusals import Refusal
from repot.server.root import Root

_REFUSED = 2  # the exit code


def main() -> int:
    """Serve until the client is gone; give the exit code."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        root = Root.of(_root(sys.argv[1:]))
        if cache_place().resolve().is_relative_to(root.folder):
            raise Refusal(
                "formatter-cache",
                "The cache folder lies in the folder that is served.",
                next_step="Set REPOT_CACHE to a folder of your own, outside of it.",
                path=str(cache_place()),
            )
    except Refusal as refusal:
        where = f"  {refusal.path}: " if refusal.path else "  "
        sys.stderr.write(
            f"repot mcp: refused ({refusal.kind})\n\n{where}{refusal.cause}\n\n"
            f"{refusal.next_step}\n".encode("ascii", "backslashreplace").decode()
        )
        return _REFUSED
    from repot.server.app import serve

    serve(root)
    return 0


def _root(arguments: list[str]) -> str:
    """Give the folder; the launcher has seen to it that nothing else is there."""
    return arguments[-1].removeprefix("--root=")
