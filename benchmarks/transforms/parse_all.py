"""Run as a program: parse every Python file below a folder with `ast`, and say what it took.

    python parse_all.py FOLDER

Files are read before the clock starts. Files that do not parse count as well. Prints JSON: the
number of `files`, their `bytes`, and `wall` and `cpu` seconds of the parsing alone.
"""

from __future__ import annotations

import ast
import json
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path


def main(folder: Path) -> None:
    """Parse, and print what it took."""
    paths = sorted(
        path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink()
    )
    sources = [path.read_bytes() for path in paths]
    warnings.simplefilter("ignore")
    wall, cpu = time.perf_counter(), time.process_time()
    for source in sources:
        with suppress(SyntaxError, ValueError):
            ast.parse(source)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"files": len(paths), "bytes": sum(map(len, sources)), "wall": wall, "cpu": cpu}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
