"""`make bench`: the split 5/N of SGLang by Repot, beside `ast.parse` of the same tree and rope.

Everything is measured in one run on one machine, so ratios hold where seconds do not. Each figure
is the least of several runs. `--check` exits 1 where a budget is passed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.transforms.measure import CommandError, Measured, run
from benchmarks.transforms.subject import Subject, grown, prepare
from transforms.formatters.store import cache_folder

COLD, WARM, MEMORY = 0.55, 0.3, 400  # times `ast.parse` of the tree, and megabytes
TIMES = 10
PHASES = ("search", "parse", "resolve", "format", "write")
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(slots=True)
class Row:
    """The least that runs of one job took."""

    wall: float = float("inf")
    cpu: float = float("inf")
    phases: dict[str, float] = field(default_factory=dict)
    memory: int = 0

    def take(self, measured: Measured, phases: dict[str, float] | None = None) -> None:
        """Count one more run."""
        self.wall, self.cpu = min(self.wall, measured.wall), min(self.cpu, measured.cpu)
        for name, seconds in (phases or {}).items():
            self.phases[name] = min(seconds, self.phases.get(name, seconds))


class Bench:
    """The jobs on one subject. `folder` is scratch space."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject, self.folder = subject, folder
        self.cache = folder / "cache"
        (self.cache / "formatters").mkdir(parents=True, mode=0o700)
        installed = cache_folder() / "installed"
        installed.mkdir(mode=0o700, exist_ok=True)
        (self.cache / "formatters" / "installed").symlink_to(installed)
        # As installed: the first run, which is not timed, leaves bytecode for the others.
        self.environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.environment["REPOT_CACHE"] = str(self.cache)
        self.report = folder / "report.json"
        self.files = self.bytes = 0

    def parse(self, row: Row) -> None:
        """`ast.parse` of every Python file; reading them and starting up do not count."""
        done = run([sys.executable, HERE / "parse_all.py", self.subject.checkout], cwd=self.folder)
        found = json.loads(done.stdout)
        self.files, self.bytes = found["files"], found["bytes"]
        row.take(Measured(found["wall"], found["cpu"], ""))

    def command(self, *options: str) -> list[str | Path]:
        """The command line of `repot apply`."""
        head: list[str | Path] = [sys.executable, "-m", "verify", "apply", self.subject.plan]
        return [*head, "--json", self.report, "--verbose", *options]

    def apply(self, row: Row, *options: str) -> None:
        """One whole `repot apply`, from start to exit."""
        done = run(self.command(*options), cwd=ROOT, environment=self.environment)
        row.take(done, json.loads(self.report.read_bytes())["seconds"])

    def write(self, row: Row, *, cold: bool) -> None:
        """`repot apply --write` in the checkout; what it writes must be right to the byte."""
        if cold:
            shutil.rmtree(self.cache / "formatters" / "results", ignore_errors=True)
        self.apply(row, "--repo", str(self.subject.checkout), "--write")
        right, wanted = self.subject.right(), len(self.subject.wanted)
        if right != wanted:
            raise CommandError(f"only {right} of {wanted} files came out right")
        self.subject.reset()

    def memory(self, row: Row) -> None:
        """The peak of a cold run, all processes together; not one of those that are timed."""
        shutil.rmtree(self.cache / "formatters" / "results", ignore_errors=True)
        command = self.command("--repo", str(self.subject.checkout), "--write")
        row.memory = run(command, cwd=ROOT, environment=self.environment, memory=True).memory
        self.subject.reset()


@dataclass(frozen=True, slots=True)
class RopeRun:
    """What rope did in its time: seconds by symbol, and how many files came out right."""

    measured: Measured
    moved: tuple[tuple[str, float], ...]
    faults: tuple[str, ...]
    right: int


def run_rope(bench: Bench, seconds: float) -> RopeRun:
    """Let rope move the same symbols until its time is over."""
    subject = bench.subject
    pairs: list[str] = []
    for destination, symbols in subject.moves:
        target = subject.checkout / destination
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / "__init__.py").touch()
        target.touch()
        for symbol in symbols:
            pairs += [destination, symbol]
    program = HERE / "rope_move.py"
    head: list[str | Path] = [
        sys.executable,
        program,
        subject.checkout,
        subject.roots,
        subject.source,
    ]
    measured = run([*head, *pairs], cwd=bench.folder, limit=seconds)
    told = [json.loads(line) for line in measured.stdout.splitlines() if line.endswith("}")]
    right = subject.right()
    subject.reset()
    return RopeRun(
        measured,
        tuple((item["symbol"], item["seconds"]) for item in told if not item["fault"]),
        tuple(f"{item['symbol']}: {item['fault']}" for item in told if item["fault"]),
        right,
    )


def measure(bench: Bench, runs: int) -> dict[str, Row]:
    """Take turns, so that a busy minute of the machine falls on all alike."""
    rows = {name: Row() for name in ("parse", "cold", "warm", "commit")}
    bench.write(Row(), cold=True)  # installs what is missing, and warms the disk
    for _ in range(runs):
        bench.parse(rows["parse"])
        bench.write(rows["cold"], cold=True)
        bench.write(rows["warm"], cold=False)
        bench.apply(rows["commit"], "--repo", str(bench.subject.checkout), "--at", "HEAD")
    bench.memory(rows["cold"])
    return rows


def scale(bench: Bench, runs: int) -> dict[str, Row]:
    """The same move, read from a commit of the tree and from one of ten times its size."""
    repository = grown(bench.subject, bench.folder, TIMES)
    rows = {"small": Row(), "large": Row()}
    bench.apply(Row(), "--repo", str(repository), "--at", "small")
    for _ in range(runs):
        for name, row in rows.items():
            bench.apply(row, "--repo", str(repository), "--at", name)
    return rows


def print_rows(bench: Bench, rows: dict[str, Row], runs: int) -> bool:
    """Print the main table; whether every budget is kept."""
    subject, parse = bench.subject, rows["parse"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{subject.title}: {bench.files:,} Python files, {bench.bytes / 1e6:.1f} MB;")
    print(f"{subject.symbols} symbols move. Python {platform.python_version()}, {cores} cores,")
    print(f"the least of {runs} runs; a ratio is to `ast.parse` of every Python file.\n")
    print(f"{'':34}{'wall s':>8}{'ratio':>8}{'CPU s':>8}{'ratio':>8}  budget")
    kept = True
    for name, label, budget in (
        ("parse", "ast.parse of every file", None),
        ("cold", "repot apply --write, nothing kept", COLD),
        ("warm", "repot apply --write, again", WARM),
        ("commit", "repot apply --at HEAD, again", None),
    ):
        row = rows[name]
        wall, cpu = row.wall / parse.wall, row.cpu / parse.cpu
        verdict = "" if budget is None else f"{budget:.2f} {'PASS' if wall <= budget else 'FAIL'}"
        kept = kept and (budget is None or wall <= budget)
        print(f"{label:34}{row.wall:8.2f}{wall:8.2f}{row.cpu:8.2f}{cpu:8.2f}  {verdict}")
    memory = rows["cold"].memory / 1e6
    verdict = "PASS" if memory <= MEMORY else "FAIL"
    print(f"\npeak memory, all processes: {memory:.0f} MB, budget {MEMORY} MB {verdict}")
    print(f"files right to the byte: {len(subject.wanted)} of {len(subject.wanted)}\n")
    print_phases({"cold": rows["cold"], "warm": rows["warm"], "commit": rows["commit"]})
    return kept and memory <= MEMORY


def print_phases(rows: dict[str, Row]) -> None:
    """Print seconds by phase; the rest is starting up, listing the tree, and the report."""
    print(f"{'seconds':10}" + "".join(f"{name:>9}" for name in (*PHASES, "rest", "wall")))
    for name, row in rows.items():
        seconds = [row.phases.get(phase, 0.0) for phase in PHASES]
        seconds += [row.wall - sum(seconds), row.wall]
        print(f"{name:10}" + "".join(f"{value:9.2f}" for value in seconds))


def print_rope(bench: Bench, rope: RopeRun, rows: dict[str, Row]) -> None:
    """Print what rope did beside Repot's cold run."""
    subject, cold = bench.subject, rows["cold"]
    print(
        f"\nrope, {rope.measured.wall:.0f} s: {len(rope.moved)} of {subject.symbols} symbols moved"
    )
    for symbol, seconds in rope.moved:
        print(f"  {seconds:8.1f} s  {symbol}  ({seconds / cold.wall:.0f} times the whole split)")
    for fault in rope.faults:
        print(f"  failed     {fault}")
    left = subject.symbols - len(rope.moved) - len(rope.faults)
    if left:
        print(
            f"  left undone when its time was over: {left} symbols (--rope-seconds gives it more)"
        )
    print(f"  files right to the byte: {rope.right} of {len(subject.wanted)}")
    print(f"  peak memory: {rope.measured.memory / 1e6:.0f} MB")


def print_scale(rows: dict[str, Row]) -> None:
    """Print what a larger tree costs."""
    print(f"\nThe tree, and {TIMES} times the tree with the same callers, read from a commit.")
    print(
        "The search looks at every byte once; what follows sees only the files that can matter.\n"
    )
    print_phases(rows)
    small, large = rows["small"], rows["large"]
    print("\nratio     " + "".join(
        f"{large.phases.get(p, 0) / small.phases[p] if small.phases.get(p) else 1:9.2f}"
        for p in PHASES
    ) + f"{'':9}{large.wall / small.wall:9.2f}")  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 if `--check` is given and a budget is passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transforms", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="how often each job runs (3)")
    parser.add_argument("--check", action="store_true", help="exit 1 if a budget is passed")
    toggle = argparse.BooleanOptionalAction
    parser.add_argument("--rope", action=toggle, default=True, help="run rope on the same job")
    parser.add_argument("--rope-seconds", type=float, default=240, help="rope's time (240)")
    parser.add_argument("--scale", action=toggle, default=True, help="ten times the tree")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="repot-bench-") as scratch:
        bench = Bench(prepare(Path(scratch)), Path(scratch))
        rows = measure(bench, options.runs)
        kept = print_rows(bench, rows, options.runs)
        if options.rope:
            print_rope(bench, run_rope(bench, options.rope_seconds), rows)
        if options.scale:
            print_scale(scale(bench, options.runs))
    return 1 if options.check and not kept else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CommandError as error:
        sys.exit(f"The benchmark could not be run: {error}")
