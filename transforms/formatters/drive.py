"""Runs as a process of its own inside a scratch tree: isort, black or usort over many files.

    python -I -S drive.py ENVIRONMENT PROGRAM < {"argv": [...], "paths": [...]}

`-I` and `-S` leave nothing on the path but the standard library; the environment is added behind
it, so neither the repository's own modules nor an installed plugin can come in. Exits as the
program would; with several calls, as the first that did not exit with 0.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_COLLECT = 4 << 20  # bytes of source between two collections


def main() -> int:
    """Run the program named on the command line."""
    environment, program = sys.argv[1:3]
    sys.path.append(environment)
    request = json.load(sys.stdin)
    # A formatter's trees are garbage in cycles; collecting them while they grow costs a fifth.
    gc.disable()
    run = {"isort": _isort, "black": _black, "usort": _usort}[program]
    return run(request["argv"], request["paths"])


def _isort(argv: Sequence[str], paths: Sequence[str]) -> int:
    isort = import_module("isort.main")
    return _code(lambda: isort.main([*argv, "--", *paths]))


def _black(argv: Sequence[str], paths: Sequence[str]) -> int:
    black = import_module("black")
    # One call a file: several in one call would be spread over processes of black's own.
    return _each(paths, lambda path: black.main([*argv, "--", path], standalone_mode=False))


def _usort(argv: Sequence[str], paths: Sequence[str]) -> int:
    del argv  # it has no options
    usort = import_module("usort")

    def sort(path: str) -> int:
        errors = [result.error for result in usort.usort_path(Path(path), write=True)]
        failed = [error for error in errors if error]
        for error in failed:
            sys.stderr.write(f"Error sorting {path}: {error}\n")
        return int(bool(failed))

    return _each(paths, sort)


def _each(paths: Sequence[str], run: Callable[[str], Any]) -> int:
    size = 0
    for path in paths:
        size += Path(path).stat().st_size
        code = _code(lambda path=path: run(path))  # type: ignore[misc]
        if code:
            return code
        if size > _COLLECT:
            gc.collect()
            size = 0
    return 0


def _code(run: Callable[[], Any]) -> int:
    """Call a command line and give its exit code, however it ends."""
    try:
        code = run()
    except SystemExit as stop:
        code = stop.code
    except Exception as error:
        said = getattr(error, "format_message", None)
        sys.stderr.write(f"{said() if said else f'{type(error).__name__}: {error}'}\n")
        return 1
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    sys.exit(main())
