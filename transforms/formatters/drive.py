"""Runs as a process of its own inside a scratch tree: a formatter in Python over many files.

    python -I -S drive.py ENVIRONMENT < {"entry": {...}, "argv": [...], "paths": [...]}

`-I` and `-S` leave nothing on the path but the standard library; the environment is added behind
it, so neither the repository's own modules nor an installed plugin can come in. Exits as the
formatter would; with several calls, as the first that did not exit with 0.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_COLLECT = 4 << 20  # bytes of source between two collections


def main() -> int:
    """Call the function that the request names."""
    sys.path.append(sys.argv[1])
    request = json.load(sys.stdin)
    # A formatter's trees are garbage in cycles; collecting them while they grow costs a fifth.
    gc.disable()
    return run(request["entry"], request["argv"], request["paths"])


def run(entry: Mapping[str, Any], argv: Sequence[str], paths: Sequence[str]) -> int:
    """Give the function the files as it takes them: see `Function` in `formatter`."""
    function = getattr(import_module(entry["module"]), entry["name"])
    keywords = entry["keywords"]
    if entry["given"] == "arguments":
        return _code(lambda: function([*argv, "--", *paths], **keywords))
    if entry["given"] == "arguments of one file":
        return _each(paths, lambda path: function([*argv, "--", path], **keywords))

    def judged(path: str) -> int:
        errors = [result.error for result in function(Path(path), **keywords)]
        failed = [error for error in errors if error]
        for error in failed:
            sys.stderr.write(f"{entry['complaint'].format(path=path, error=error)}\n")
        return int(bool(failed))

    return _each(paths, judged)


def _each(paths: Sequence[str], call: Callable[[str], Any]) -> int:
    size = 0
    for path in paths:
        size += Path(path).stat().st_size
        code = _code(lambda path=path: call(path))  # type: ignore[misc]
        if code:
            return code
        if size > _COLLECT:
            gc.collect()
            size = 0
    return 0


def _code(call: Callable[[], Any]) -> int:
    """Call a command line and give its exit code, however it ends."""
    try:
        code = call()
    except SystemExit as stop:
        code = stop.code
    except Exception as error:
        said = getattr(error, "format_message", None)
        sys.stderr.write(f"{said() if said else f'{type(error).__name__}: {error}'}\n")
        return 1
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    sys.exit(main())
