"""`python -m benchmarks.verify.generated`: generated pairs, judged by both kernels and by Python.

Each pair is a small tree before and after a move, often with one more edit. Python runs both; a
kernel is wrong if it certifies what behaves differently, and cries wolf if it does not certify a
move that is nothing else and behaves the same. `--show WHAT` prints pairs, `--seed N --pairs 1`
one of them. `--check` exits 1 where what is promised does not hold.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tests.verify.generated.judge import Behaviour, Judge
from tests.verify.generated.pairs import KINDS, Pair, pair
from verify import certificate, kernel
from verify.kernel import CERTIFIED, UNKNOWN

BATCH = 50
REGULAR = 0o100644


@dataclass(frozen=True)
class Judged:
    """A pair, and what everybody says of it."""

    pair: Pair
    behaviour: Behaviour
    verdict: str
    findings: tuple[str, ...]
    assumptions: int
    old: str
    seconds: float  # of the kernel's CPU

    @property
    def wrong(self) -> str:
        """What is wrong with the kernel's verdict, if anything is."""
        if self.behaviour.differs:
            return "false CERTIFIED" if self.verdict == CERTIFIED else ""
        return "false alarm" if self.verdict != CERTIFIED and self.is_move else ""

    @property
    def is_move(self) -> bool:
        """Whether it is the move and nothing else, of a tree that runs."""
        return self.pair.honest and not self.behaviour.differs and self.behaviour.sound > 0


def _guarded(certify: Callable[..., object], base: object, target: object) -> object:
    try:
        return certify(base, target)
    except Exception as error:
        return error


def judged(one: Pair, judge: Judge, *, old: bool) -> Judged:
    """Judge a pair three times."""
    sides = [
        {path: (text.encode(), REGULAR) for path, text in files.items()}
        for files in (one.base, one.target)
    ]
    start = time.process_time()
    found = _guarded(kernel.certify, *sides)
    seconds = time.process_time() - start
    before = _guarded(certificate.certify, *sides) if old else None
    behaviour = judge.compare(one.base, one.target)
    if not isinstance(found, kernel.Certificate):
        return Judged(one, behaviour, "FAULT", (repr(found),), 0, "", seconds)
    said = tuple(str(f) for f in found.findings)
    was = str(getattr(before, "verdict", ""))
    return Judged(one, behaviour, found.verdict, said, len(found.assumptions), was, seconds)


def batch(first: int, count: int, old: bool) -> list[Judged]:
    """Judge some pairs in one process."""
    with Judge() as judge:
        return [judged(pair(seed), judge, old=old) for seed in range(first, first + count)]


def run(first: int, count: int, jobs: int, *, old: bool) -> Iterator[Judged]:
    """Judge all pairs."""
    starts = list(range(first, first + count, BATCH))
    sizes = [min(BATCH, first + count - start) for start in starts]
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(batch, starts, sizes, [old] * len(starts)):
            yield from found


def show(one: Judged) -> None:
    """Print a pair with all that is said of it."""
    print(f"=== {one.pair}: {one.wrong or 'right'}\n{one.pair.move}")
    print(f"behaviour {one.behaviour}\n{one.verdict}, old {one.old}")
    print("\n".join(one.findings))
    for path in sorted({*one.pair.base, *one.pair.target}):
        before, after = (
            side.get(path, "").splitlines() for side in (one.pair.base, one.pair.target)
        )
        rows = [f"  {line}" for line in before]
        if before != after:
            rows = list(difflib.unified_diff(before, after, n=99, lineterm=""))[3:]
        print("\n".join([f"--- {path}", *(row for row in rows if row.strip())]))


def table(found: list[Judged]) -> bool:
    """Print the figures; say whether they hold."""
    apart = [j for j in found if j.behaviour.differs]
    moves = [j for j in found if j.is_move]
    wrong = Counter(j.wrong for j in found)
    old = sum(j.old == CERTIFIED for j in apart)
    few = sum(j.assumptions <= 2 for j in moves)
    print(f"{len(found)} pairs; {len(apart)} behave differently ({_share(len(apart), found)})")
    print(f"{'kind':44}{'differ':>8}{'same':>8}{'moves':>8}{'false C':>9}{'alarms':>8}{'old C':>8}")
    for kind, name in KINDS.items():
        mine = [j for j in found if j.pair.kind == kind]
        differ = [j for j in mine if j.behaviour.differs]
        row = Counter(j.wrong for j in mine)
        was = sum(j.old == CERTIFIED for j in differ)
        print(
            f"{kind} {name:42}{len(differ):8}{len(mine) - len(differ):8}"
            f"{sum(j.is_move for j in mine):8}{row['false CERTIFIED']:9}"
            f"{row['false alarm']:8}{was:8}"
        )
    faults = sum(j.verdict == "FAULT" for j in found)
    print(f"false CERTIFIED: {wrong['false CERTIFIED']}; faults: {faults}")
    alarms = wrong["false alarm"]
    print(f"false alarms: {alarms} of {len(moves)} moves ({_share(alarms, moves)})")
    said = sum(j.wrong == "false alarm" and j.verdict == UNKNOWN for j in found)
    print(
        f"  {said} of them UNKNOWN: something in the tree can reach what moved by its name or place"
    )
    print(f"at most two assumptions: {few} of {len(moves)} moves ({_share(few, moves)})")
    print(f"the old kernel certifies {old} of {len(apart)} that differ ({_share(old, apart)})")
    seconds = sum(j.seconds for j in found)
    print(f"the kernel takes {1000 * seconds / max(1, len(found)):.1f} ms a pair")
    return not wrong["false CERTIFIED"] and 10 * len(apart) >= 3 * len(found)


def _share(part: int, whole: list[Judged]) -> str:
    return f"{100 * part / max(1, len(whole)):.1f} %"


def main() -> int:
    """Draw, judge, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.verify.generated", description=__doc__
    )
    option = parser.add_argument
    option("--pairs", type=int, default=1000, help="how many (1000)")
    option("--seed", type=int, default=0, help="the first seed (0)")
    option("--jobs", type=int, default=1, help="processes (1)")
    option("--show", choices=["wrong", "certified", "alarms", "all"], help="print these pairs")
    option("--no-old", action="store_true", help="leave the old kernel out")
    option("--check", action="store_true", help="exit 1 where the figures do not hold")
    chosen = parser.parse_args()
    shown = {"certified": {"false CERTIFIED"}, "alarms": {"false alarm"}}
    shown["wrong"] = {"false CERTIFIED", "false alarm"}
    found = []
    for one in run(chosen.seed, chosen.pairs, chosen.jobs, old=not chosen.no_old):
        found.append(one)
        if chosen.show == "all" or one.wrong in shown.get(chosen.show, ()):
            show(one)
    held = table(found)
    return 1 if chosen.check and not held else 0


if __name__ == "__main__":
    sys.exit(main())
