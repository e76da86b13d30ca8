"""`python -m benchmarks.moves`: public commits that move definitions, by people and by tools.

REPOT_HISTORIES names the folder of the bare clones; commits whose clone is not there are left out
and counted. Seconds are of CPU, the start of a process included. `--check` exits 1 where a commit
that breaks is certified, or where fewer are inferred or certified than the floors below.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.moves.pyref import count_moves
from benchmarks.moves.readings import PURE, Reading, readings
from benchmarks.transforms.measure import CommandError, run

ROOT = Path(__file__).parents[2]
INFERRED = 0.95  # of all commits, at least
ALARMS = 0.9  # of those that are nothing but a move, not certified, at most
_LIMIT = 600.0  # seconds for one commit


@dataclass(frozen=True, slots=True)
class Row:
    """What Repot, git and PyRef say of one commit, beside what a reader says of it."""

    reading: Reading
    inferred: bool
    authored: int | None
    verdict: str
    seconds: tuple[float, float]  # to infer, to certify
    changed: int
    coloured: int | None
    pyref: int | None

    def cells(self) -> list[str]:
        """Give the row of the table."""
        reading = self.reading
        share = "" if self.coloured is None or not self.changed else self.coloured / self.changed
        return [
            f"{reading.repository.partition('-')[2]} {reading.commit[:10]}",
            reading.said + (f", settled: {reading.settled}" if reading.settled else ""),
            "yes" if self.inferred else "no",
            "" if self.authored is None else str(self.authored),
            self.verdict,
            " + ".join(f"{seconds:.1f}" for seconds in self.seconds),
            "" if share == "" else f"{share:.0%}",
            "" if self.pyref is None else str(self.pyref),
        ]


HEADS = ("commit", "a reader", "inferred", "authored", "verdict", "CPU s", "coloured", "PyRef")


def measure(reading: Reading, repo: Path, pyref: Sequence[Path]) -> Row:
    """Ask the tools. `pyref` is the Python that runs PyRef, and its `main.py`."""
    found: dict[str, Any] = {}
    seconds = []
    for job in ("infer", "certify"):
        command = [sys.executable, "-m", "benchmarks.moves.one", job, repo, reading.commit]
        done = run(command, cwd=ROOT, limit=_LIMIT)
        if done.timed_out:
            raise CommandError(f"{job} of {reading.commit} took more than {_LIMIT:.0f} s")
        found |= json.loads(done.stdout)
        seconds.append(done.cpu)
    moves = reading.pyref
    if pyref:
        moves = count_moves(pyref[1], pyref[0], repo, reading.commit, _LIMIT)
    return Row(
        reading,
        found["inferred"],
        found["authored"],
        found["verdict"],
        (seconds[0], seconds[1]),
        found["changed"],
        found["coloured"],
        moves,
    )


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Give the table as Markdown, and what it comes to."""
    yield f"| {' | '.join(HEADS)} |"
    yield "|---" * len(HEADS) + "|"
    for row in rows:
        yield f"| {' | '.join(row.cells())} |"
    yield ""
    pure = [row for row in rows if row.reading.holds == PURE]
    alarms = [row for row in pure if row.reading.is_alarm(row.verdict)]
    false = [row for row in rows if row.reading.is_false(row.verdict)]
    apart = [row for row in rows if row.reading.first != row.reading.second]
    yield (
        f"{len(rows)} commits: {sum(row.inferred for row in rows)} inferred; {len(pure)} nothing "
        f"but a move, of which {len(pure) - len(alarms)} certified; {len(false)} that break "
        f"certified. The readings disagree on {len(apart)}."
    )


def fails(rows: Sequence[Row]) -> bool:
    """Whether a commit that breaks is certified, or a floor is not reached."""
    pure = [row for row in rows if row.reading.holds == PURE]
    alarms = sum(row.reading.is_alarm(row.verdict) for row in pure)
    inferred = sum(row.inferred for row in rows)
    false = any(row.reading.is_false(row.verdict) for row in rows)
    return false or inferred < INFERRED * len(rows) or alarms > ALARMS * len(pure)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if `--check` is given and it does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moves", description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="ID", help="only these, by how they begin")
    parser.add_argument("--check", action="store_true", help="exit 1 if the table does not hold")
    parser.add_argument(
        "--pyref",
        nargs=2,
        type=Path,
        default=(),
        metavar=("PYTHON", "MAIN"),
        help="run PyRef, too: a Python that has what it needs, and its main.py; else what it said "
        "when the commits were read",
    )
    options = parser.parse_args(arguments)
    if "REPOT_HISTORIES" not in os.environ:
        parser.error("REPOT_HISTORIES has to name the folder of the bare clones")
    rows, without = [], 0
    wanted = tuple(options.commits) or ("",)
    for reading in readings():
        repo = Path(os.environ["REPOT_HISTORIES"]) / f"{reading.repository}.git"
        if not reading.commit.startswith(wanted):
            continue
        if not repo.is_dir():
            without += 1
            continue
        rows.append(measure(reading, repo, options.pyref))
        print(rows[-1].cells(), file=sys.stderr, flush=True)
    print("\n".join(lines(rows)))
    if without:
        print(f"{without} commits are left out: there is no clone of their repositories.")
    return 1 if options.check and fails(rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CommandError as error:
        sys.exit(f"The scoreboard could not be made: {error}")
