"""What is carried is the split of what was edited, byte for byte; and it seldom needs a person.

The judge is another way to the same place: git merges branch and main as if no split had been made,
and the mover splits what comes out.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings

from tests.effort import FULL
from tests.transforms.case import MemoryTree
from tests.verify.carry.drawn import Case, Module, cases, edited, imported
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.model import Plan
from transforms.result.changes import Blob
from transforms.tree import GitTree
from verify.carry.job import Way, plan_job
from verify.carry.splits import read_splits
from verify.history.scratch import Scratch

PLAN = "split.toml"
MOVE = f"Move\n\nMechanical-Move: {PLAN}"


def split(files: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Give the files after the move. Raises `Refusal`."""
    tree = MemoryTree({path: Blob(text.encode()) for path, text in files.items()})
    after: dict[str, str] = dict(files)
    for path, blob in apply(plan, tree).changes.after().items():
        after.pop(path, None)
        if blob is not None:
            after[path] = blob.data.decode()
    return after


def merged(folder: Path, one: str, two: str) -> dict[str, str] | None:
    """Merge two branches as git does; None where it conflicts."""
    done = subprocess.run(
        ["git", "--git-dir", str(folder), "merge-tree", "--write-tree", one, two],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    return None if done.returncode else contents(GitTree(folder, commit_of(folder, done.stdout)))


def commit_of(folder: Path, tree: str) -> str:
    command = ["git", "--git-dir", str(folder), "commit-tree", "-m", "x", tree.strip()]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def contents(tree: GitTree) -> dict[str, str]:
    return {path: data.decode() for path, data in tree.read_many(tree.entries()).items()}


def history(folder: Path, case: Case) -> None:
    """Lay the case down: `split`, `landed` with more, `unsplit` without, `feature`."""
    plan = {PLAN: case.text()}
    start, before = case.module, case.before
    last = edited(before, case.later)
    before_files, last_files = {**before.files(), **plan}, {**last.files(), **plan}
    moved = split(before_files, case.plan(before))
    later = split(last_files, case.plan(before))
    commits = []
    module: Module = start
    for edits in case.branch:
        module = edited(module, edits)
        commits.append(("Work", {**module.files(), **plan}))
    imported(
        folder,
        {
            "main": (None, [("Start", {**start.files(), **plan})]),
            "feature": ("main", commits),
            "unsplit": ("main", [("Later", last_files)]),
            "split": ("main", [("Earlier", before_files), (MOVE, moved)]),
        },
    )
    imported(folder, {"landed": ("split", [("Later", later)])})


def outcome(case: Case) -> str:
    """Carry the branch of a case, and compare; gives what came of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "r"
        try:
            history(folder, case)
        except Refusal:
            return "main cannot be split"
        whole = merged(folder, "unsplit", "feature")
        splits = read_splits(folder, ["split"], [])
        main = GitTree(folder, "landed")
        tip = GitTree(folder, "feature")
        try:
            job = plan_job(("feature", tip.commit), main, splits, {})
            with Scratch(main.repository) as scratch:
                way = Way(main.repository, job, scratch)
                progress, halt = way.run(way.start())
                if halt is not None:
                    why = halt.result.refusal.kind if halt.result.refusal else halt.label[:4]
                    return f"stopped: {why}" if whole is not None else "git stops, too"
                steps = progress.chain
                tree = steps[-1].tree if steps else way.stages[-1].tree
                carried = contents(GitTree(scratch.folder, scratch.commit(tree)))
        except Refusal as refusal:
            return f"refused: {refusal.kind}"
        if whole is None or broken(whole):
            alone = "git stops, carry does not"
            return alone if whole is None else "one side calls what the other deleted"
        try:
            wanted = split(whole, planned(case, whole))
        except Refusal:
            return "the edited module cannot be split"
        return compared(case, carried, wanted)


def compared(case: Case, carried: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Hold what was carried against the split of what was edited.

    What a commit adds goes where its neighbours went; a later one may take these away.
    """
    if len(case.branch) > 1 and carried != wanted:
        assert _without_added(carried) == _without_added(wanted)
        return "equal, but for the place of what was added between two that parted"
    assert carried == wanted
    return "equal"


def _without_added(files: Mapping[str, str]) -> tuple[list[list[str]], list[str]]:
    """Part every file's lines from the functions that the branch added."""
    rest, added = [], []
    for _, text in sorted(files.items()):
        parts = re.split(r"^(?=def )", text, flags=re.M)
        rest.append([p.strip() for p in parts if p.strip() and not p.startswith("def new_")])
        added += [part.strip() for part in parts if part.startswith("def new_")]
    return rest, sorted(added)


def planned(case: Case, files: Mapping[str, str]) -> Plan:
    """The plan for a module of which only the text is known."""
    return case.plan(Module(tuple((name, ()) for name in defined(files))))


def defined(files: Mapping[str, str]) -> list[str]:
    """The functions of the module."""
    rows = files["pkg/big.py"].split("\n")
    return [row[4:].partition("(")[0] for row in rows if row.startswith("def ")]


def broken(files: Mapping[str, str]) -> bool:
    """Whether a caller imports what is not there."""
    start = "from pkg.big import "
    rows = [text.split("\n")[0] for text in files.values() if text.startswith(start)]
    wanted = {name for row in rows for name in row.removeprefix(start).split(", ")}
    return not wanted <= set(defined(files))


def test_what_is_carried_is_the_split_of_what_was_edited() -> None:
    tally: Counter[str] = Counter()

    @settings(max_examples=50 if FULL else 8,
              suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
    @given(cases())
    def carried(case: Case) -> None:
        found = outcome(case)
        event(found)
        tally[found] += 1

    carried()
    stops = sum(count for found, count in tally.items() if found.startswith(("stopped", "ref")))
    clean = stops + tally["equal"] + tally["the edited module cannot be split"]
    assert stops <= clean // 10 + (not FULL), tally
