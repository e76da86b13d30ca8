"""`python -m benchmarks.verify`: #27273 judged from a bare clone, beside full-history blame.

Replay, certificate and ancestry, in a fresh process with the formatters installed; and, in the same
run, `git blame -C -C -C` of the three files alone, all at once, through the whole history: what a
reviewer would wait for otherwise. Each figure is the least of several runs. `--check` exits 1 where
a budget is passed. Needs the clone that REPOT_HISTORIES names.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.transforms.measure import CommandError, Measured, run

REPOSITORY = "alphabetc1-sglang.git"
BASE = "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9"
TARGET = "7e7e3820c26ba0609f017b99358172a9776197de"
FOLDER = "python/sglang/srt/mem_cache/pool_host"
FILES = tuple(f"{FOLDER}/{name}.py" for name in ("base", "common", "hisparse"))
RIGHT = {
    "reproduces": True,
    "certificate": "CERTIFIED",
    "lines": 340,
    "traced": 326,
    "strict": 313,
}
SECONDS = 6.0  # wall clock, on two cores
ROOT = Path(__file__).parents[2]
PLAN = ROOT / "transforms" / "plans" / "sglang" / "27273.toml"


def judge(repository: Path, environment: dict[str, str]) -> Measured:
    """One whole judgement; what it finds must be right."""
    command = [sys.executable, "-m", "benchmarks.verify.judge", repository, PLAN, BASE, TARGET]
    done = run(command, cwd=ROOT, environment=environment)
    found = json.loads(done.stdout)
    if found != RIGHT:
        raise CommandError(f"the judgement is wrong: {found}")
    return done


def blame(repository: Path) -> Measured:
    """Full-history blame of the three files, all at once."""

    def one(path: str) -> Measured:
        command = ["git", "blame", "-C", "-C", "-C", "--porcelain", TARGET, "--", path]
        return run(command, cwd=repository)

    start = time.perf_counter()
    with ThreadPoolExecutor(len(FILES)) as pool:
        done = list(pool.map(one, FILES))
    return Measured(time.perf_counter() - start, sum(part.cpu for part in done), "")


def main() -> int:
    """Measure, print, and tell whether the budgets are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--check", action="store_true", help="exit 1 where a budget is passed")
    chosen = parser.parse_args()
    histories = os.environ.get("REPOT_HISTORIES")
    if not histories or not (Path(histories) / REPOSITORY).is_dir():
        print(f"left out: REPOT_HISTORIES names no folder that holds {REPOSITORY}")
        return 0
    repository = Path(histories) / REPOSITORY
    judged, blamed = [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        judge(repository, environment)  # installs what is missing, and warms the disk
        for _ in range(chosen.runs):
            judged.append(judge(repository, environment))
            blamed.append(blame(repository))
    wall, beside = min(m.wall for m in judged), min(m.wall for m in blamed)
    cpu, beside_cpu = min(m.cpu for m in judged), min(m.cpu for m in blamed)
    kept = wall <= SECONDS and wall < beside
    print(f"#27273 judged, {os.cpu_count()} cores, the least of {chosen.runs} runs\n")
    print(f"{'':52}{'wall s':>8}{'CPU s':>8}")
    print(f"{'replay, certificate and ancestry':52}{wall:8.2f}{cpu:8.2f}")
    print(f"{'git blame -C -C -C, whole history, three files':52}{beside:8.2f}{beside_cpu:8.2f}")
    print(f"\nratio {wall / beside:.2f}, budget 1; {SECONDS:.0f} s: {'PASS' if kept else 'FAIL'}")
    return 1 if chosen.check and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
