"""`python -m benchmarks.verify.origin`: blame through this history's own series, beside git's.

The modules that the split of pool_host made, as they were when its last move was done and as they
are at HEAD: `git blame -C -C -C` of each through the whole history, and the walk that `repot
origin` makes, of all of them at once. The walk is made in a fresh process with nothing kept, then
with verdicts kept; in a process that runs already, as a server of an editor does; and as a person
types it, one command a file, each of which starts Python anew.

A line counts as traced where it is credited to a commit before the series. Seconds are CPU, those
of git's processes included; the least of several runs, but for the first time. `--check` exits 1
where a budget is passed: of the series itself, as many lines as git traces, in a tenth of its
time with verdicts kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.transforms.measure import run

ROOT = Path(__file__).parents[2]
FILES = tuple(
    f"pool_host/{name}.py"
    for name in (
        "base", "common", "hisparse", "mha", "mla", "mamba", "dsa", "deepseek_v4", "group"
    )
)  # fmt: skip
FIRST, LAST = "transforms/plans/01-base.toml", "transforms/plans/07-group.toml"
SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Table:
    """What one revision came to: lines, and CPU seconds."""

    rev: str
    lines: int
    by_git: int
    by_us: int
    git: float
    first: float
    typed: float
    fresh: float
    running: float

    @property
    def holds(self) -> bool:
        """Whether both budgets are kept."""
        return self.by_us >= self.by_git and self.running <= SHARE * self.git


def git(*arguments: str) -> str:
    """Give what git prints here."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True)
    return done.stdout.decode()


def claimed(plan: str) -> str:
    """Find the commit that names a plan."""
    pattern = f"^Mechanical-Move: {plan}$"
    return git("log", "-1", "--format=%H", f"--grep={pattern}", "HEAD").strip()


def blame(rev: str, series: set[str]) -> tuple[int, int, float]:
    """Count the lines, and those that git traces past the series; and the seconds that it took."""
    lines = traced = 0
    cpu = 0.0
    for path in FILES:
        command = ["git", "blame", "-C", "-C", "-C", "-l", "-s", rev, "--", path]
        done = run(command, cwd=ROOT)
        rows = done.stdout.splitlines()
        lines += len(rows)
        traced += sum(row.split()[0].lstrip("^") not in series for row in rows)
        cpu += done.cpu
    return lines, traced, cpu


def walk(rev: str, times: int) -> list[tuple[float, list[str]]]:
    """Make the walk so many times in this process: CPU seconds, and each line's commit."""
    from verify.chain.cache import VerdictCache
    from verify.origin.asked import asked
    from verify.origin.trace import trace

    found = []
    for _ in range(times):
        start = _cpu()
        traced = trace(asked(ROOT, FILES, rev), verdicts=VerdictCache())
        taken = _cpu() - start
        found.append((taken, [line.commit for each in traced for line in each.lines]))
    return found


def _cpu() -> float:
    return sum(os.times()[:4])


def measured(rev: str, name: str, series: set[str], runs: int) -> Table:
    """Measure one revision."""
    child = [sys.executable, "-m", "benchmarks.verify.origin", "--walk", rev]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "REPOT_CACHE": folder}
        first = run(child, cwd=ROOT, environment=environment).cpu
        fresh = min(run(child, cwd=ROOT, environment=environment).cpu for _ in range(runs))
        command = [sys.executable, "-m", "verify", "origin"]
        typed = sum(run([*command, p, rev], cwd=ROOT, environment=environment).cpu for p in FILES)
        again = run([*child, "--runs", str(runs + 1)], cwd=ROOT, environment=environment).stdout
    told = json.loads(again)
    blamed = [blame(rev, series) for _ in range(runs)]
    lines, traced, _ = blamed[0]
    ours = sum(commit not in series for commit in told["commits"])
    cpu = min(seconds for _, _, seconds in blamed)
    running = min(told["seconds"][1:])
    return Table(name, lines, traced, ours, cpu, first, typed, fresh, running)


def shown(table: Table) -> str:
    """Put one revision into rows of a table."""
    rows: Sequence[tuple[str, int, float]] = (
        ("`git blame -C -C -C`, file by file", table.by_git, table.git),
        ("`repot origin`, the first time", table.by_us, table.first),
        ("with verdicts kept, one command a file", table.by_us, table.typed),
        ("with verdicts kept, a fresh process for all", table.by_us, table.fresh),
        ("with verdicts kept, a process that runs already", table.by_us, table.running),
    )
    head = f"| {table.rev}, {len(FILES)} files, {table.lines:,} lines | traced | CPU s | ratio |"
    body = [f"| {n} | {t:,} | {s:.2f} | {s / table.git:.2f} |" for n, t, s in rows]
    return "\n".join([head, "|---|---|---|---|", *body])


def main() -> int:
    """Measure, print, and tell whether the budgets are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify.origin", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--check", action="store_true", help="exit 1 where a budget is passed")
    parser.add_argument("--walk", metavar="REV", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.walk:
        runs = chosen.runs if "--runs" in sys.argv else 1
        found = walk(chosen.walk, runs)
        seconds = [taken for taken, _ in found]
        print(json.dumps({"seconds": seconds, "commits": found[-1][1]}))
        return 0
    first, last = claimed(FIRST), claimed(LAST)
    if not first or not last:
        print("left out: the series of pool_host is not in this history")
        return 0
    start = time.perf_counter()
    tables = []
    for rev, name in (
        (last, f"{last[:8]}, the last move"),
        (git("rev-parse", "HEAD").strip(), "HEAD"),
    ):
        series = set(git("rev-list", f"{first}^..{rev}").split())
        tables.append(measured(rev, name, series, chosen.runs))
        print(shown(tables[-1]), end="\n\n")
    kept = tables[0].holds
    said = "PASS" if kept else "FAIL"
    print(f"of the series, as many lines in {SHARE} of the time: {said}", end="; ")
    print(f"{time.perf_counter() - start:.0f} s by the clock")
    return 1 if chosen.check and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
