"""Runs as a process of its own, under a time limit: which paths a hook's patterns let through.

pre-commit's patterns are Python's regular expressions, and one that a repository brings may take
for ever. Reads JSON on standard input: pairs of patterns (searched, not to be found), and paths.
Writes, for each pair, the numbers of the paths that pass; or the pattern that is none.
"""

from __future__ import annotations

import json
import re
import sys


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    passed = []
    for include, exclude in request["pairs"]:
        compiled = []
        for pattern in (include, exclude):
            try:
                compiled.append(re.compile(pattern))
            except (re.error, RecursionError, OverflowError) as error:
                json.dump({"bad": pattern, "error": str(error)}, sys.stdout)
                return
        wanted, unwanted = compiled
        passed.append(
            [
                number
                for number, path in enumerate(request["paths"])
                if wanted.search(path) and not unwanted.search(path)
            ]
        )
    json.dump({"passed": passed}, sys.stdout)


if __name__ == "__main__":
    main()
