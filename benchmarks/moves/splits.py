"""`python -m benchmarks.moves.splits`: ten splits of real modules, by plans that a person wrote.

Each plan is applied to the commit that its row names, and nothing is written. REPOT_HISTORIES names
the folder of the bare clones. How it went when it was made by hand, and what the project's own
tests said before and after, stands in splits.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.transforms.measure import CommandError, run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEADS = ("module", "lines", "into", "as made", "now", "CPU s", "inferred", "tests before", "after")


def splits() -> list[dict[str, Any]]:
    """Read the rows: what was split where, and how it went."""
    data = tomllib.loads((HERE / "splits.toml").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = data["split"]
    return rows


def plan_of(row: dict[str, Any]) -> Path:
    """Give the plan of a row."""
    return HERE / "splits" / f"{row['plan']}.toml"


def cells(row: dict[str, Any], now: str, seconds: str) -> list[str]:
    """Give a row of the table."""
    inferred = f"{row['inferred']} authored" if "inferred" in row else ""
    return [
        f"{row['module']} {row['commit'][:10]}",
        str(row["lines"]),
        str(row["into"]),
        row["made"],
        now,
        seconds,
        inferred,
        row["before"],
        row["after"],
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moves.splits", description=__doc__)
    parser.parse_args(arguments)
    if "REPOT_HISTORIES" not in os.environ:
        parser.error("REPOT_HISTORIES has to name the folder of the bare clones")
    print(f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|")
    for row in splits():
        repo = Path(os.environ["REPOT_HISTORIES"]) / f"{row['repository']}.git"
        now, seconds = "no clone", ""
        if repo.is_dir():
            command = [sys.executable, "-m", "benchmarks.moves.one", "split", repo, row["commit"]]
            done = run([*command, plan_of(row)], cwd=ROOT)
            now, seconds = json.loads(done.stdout)["said"], f"{done.cpu:.1f}"
        print(f"| {' | '.join(cells(row, now, seconds))} |", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CommandError as error:
        sys.exit(f"The table could not be made: {error}")
