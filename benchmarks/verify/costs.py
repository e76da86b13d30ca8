"""`python -m benchmarks.verify.costs`: what proofs of large moves cost, in seconds of CPU.

The five steps that moved this repository's own modules, each replayed, certified and blamed; and,
where REPOT_HISTORIES names the clones, the certificates of SGLang's #27273, and of one function
moved in SymPy beside `ast.parse` of SymPy's tree. Each is a process of its own, with all that it
starts, from its start to its end: the least of several runs. Beside them stands how long the
machine takes to parse the standard library's own modules, since seconds alone say nothing of a
machine that others use. `--check` exits 1 where a budget is passed.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from pathlib import Path

from benchmarks.transforms.measure import run
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.history.memory import collect_less_often
from verify.proofs.certify import certify_commits
from verify.proofs.prove import prove

ROOT = Path(__file__).parents[2]
STEPS = {
    "08-ground": "8bab9a1e76",
    "09-files": "e1ed2b667c",
    "10-move": "ee735d4561",
    "11-reports": "72198c5b49",
    "12-proofs": "7b51ff1493",
}
STEP_SECONDS = 6.0
SGLANG = "alphabetc1-sglang.git"
SGLANG_BASE = "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9"
SGLANG_TARGET = "7e7e3820c26ba0609f017b99358172a9776197de"
SGLANG_SECONDS = 2.0
SYMPY, SYMPY_TARGET = "sympy-sympy.git", "7d7e21c2a5"


def _prove(repository: str, base: str, target: str, path: str) -> None:
    before, after = GitTree(Path(repository), base), GitTree(Path(repository), target)
    if not prove(parse_plan(before.read(path), path), before, after).replay.reproduces:
        raise SystemExit(f"{path} does not reproduce {target}")


def _certify(repository: str, base: str, target: str) -> None:
    certify_commits(GitTree(Path(repository), base), GitTree(Path(repository), target))


def _parse_tree(repository: str, commit: str) -> None:
    tree = GitTree(Path(repository), commit)
    for data in tree.read_many([p for p in tree.entries() if p.endswith(".py")]).values():
        _parse(data)


def _parse_library() -> None:
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        _parse(path.read_bytes())


def _parse(data: bytes) -> None:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return


_JOBS = {
    "prove": _prove,
    "certify": _certify,
    "parse-tree": _parse_tree,
    "parse-library": _parse_library,
}


def _least(runs: int, *job: str) -> float:
    """Give the least CPU seconds of some runs of a job."""
    command = [sys.executable, "-m", "benchmarks.verify.costs", "--job", *job]
    return min(run(command, cwd=ROOT).cpu for _ in range(runs))


def _measure(runs: int) -> bool:
    """Print what each costs, and tell whether all budgets are kept."""
    unit, kept = _least(runs, "parse-library"), True
    print(f"{'':44}{'CPU s':>8}{'budget':>8}{'x library':>11}")
    print(f"{'ast.parse of the standard library':44}{unit:8.2f}{'':8}{1.0:11.1f}")

    def show(title: str, budget: float, *job: str) -> None:
        nonlocal kept
        took = _least(runs, *job)
        kept = kept and took <= budget
        print(f"{title:44}{took:8.2f}{budget:8.2f}{took / unit:11.1f}", flush=True)

    for name, commit in STEPS.items():
        plan = f"transforms/plans/{name}.toml"
        show(f"{name}, proved", STEP_SECONDS, "prove", str(ROOT), f"{commit}^", commit, plan)
    histories = Path(os.environ.get("REPOT_HISTORIES", ""))
    if (sglang := histories / SGLANG).is_dir():
        job = "certify", str(sglang), SGLANG_BASE, SGLANG_TARGET
        show("#27273, certificate", SGLANG_SECONDS, *job)
    if (sympy := histories / SYMPY).is_dir():
        whole = _least(runs, "parse-tree", str(sympy), SYMPY_TARGET)
        job = "certify", str(sympy), f"{SYMPY_TARGET}^", SYMPY_TARGET
        show("a function moved in SymPy, beside ast.parse", whole, *job)
    return kept


def main() -> int:
    """Measure, print, and tell whether the budgets are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify.costs", description=__doc__)
    parser.add_argument("--runs", type=int, default=2, help="runs of each (2)")
    parser.add_argument("--check", action="store_true", help="exit 1 where a budget is passed")
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.job:
        collect_less_often()
        _JOBS[chosen.job[0]](*chosen.job[1:])
        return 0
    kept = _measure(chosen.runs)
    return 1 if chosen.check and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
