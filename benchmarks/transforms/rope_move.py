"""Run as a program: move top-level symbols with rope, one after the other.

    python rope_move.py ROOT ROOTS SOURCE DESTINATION SYMBOL [DESTINATION SYMBOL ...]

ROOT is the project, ROOTS the folder in it where dotted names start; SOURCE and DESTINATION are
paths in the project, and destinations exist. Prints a line of JSON for each symbol.
"""

from __future__ import annotations

import json
import re
import sys
import time

from rope.base.project import Project  # type: ignore[import-untyped]
from rope.refactor.move import create_move  # type: ignore[import-untyped]


def main(root: str, roots: str, source: str, moves: list[str]) -> None:
    """Move the symbols, and tell of each when it is done."""
    project = Project(root, ropefolder=None, source_folders=[roots] if roots else [])
    module = project.get_resource(source)
    for destination, symbol in zip(moves[::2], moves[1::2], strict=True):
        start = time.perf_counter()
        found = re.search(
            rf"^(?:(?:async )?def |class )?({re.escape(symbol)})\b", module.read(), re.MULTILINE
        )
        fault = ""
        try:
            if found is None:
                raise LookupError(f"{symbol} is not there")
            mover = create_move(project, module, found.start(1))
            project.do(mover.get_changes(project.get_resource(destination)))
        except Exception as error:  # rope raises whatever its visitors meet
            fault = f"{type(error).__name__}: {error}"[:200]
        seconds = time.perf_counter() - start
        print(json.dumps({"symbol": symbol, "seconds": seconds, "fault": fault}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
