"""SGLang's own series of splits: each plan, applied to its base, gives the landed tree.

Bytes and modes of every path of the two trees are compared, with the formatters that the
repository named at that base.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.transforms.checkouts import checkout, run_git
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.formatters import repository_formatters
from transforms.reading.load import load_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome
from transforms.tree import GitTree, OverlayTree, Tree

pytestmark = pytest.mark.history

PLANS = ROOT / "transforms" / "plans" / "sglang"
LANDED, PROPOSED = "bytedance-iaas-sglang.git", "alphabetc1-sglang.git"


@dataclass(frozen=True)
class Step:
    """One commit of the series: who holds it, its ids, and the lines that people wrote in it."""

    plan: str
    base: str
    target: str
    authored: int
    repository: str = LANDED

    def tree(self, commit: str) -> GitTree:
        return GitTree(Path(os.environ["REPOT_HISTORIES"]) / self.repository, commit)


STEPS = (
    Step(
        "27273",
        "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9",
        "7e7e3820c26ba0609f017b99358172a9776197de",
        7,
        PROPOSED,
    ),
    Step(
        "1",
        "972fbf771103e2385e8c2dbf6baa15366b761a4b",
        "c06220159bca623b139018c8fe5c3822a8ded5de",
        15,
    ),
    Step(
        "2",
        "a10bd785bedad1a443be9b7ad13ffb499896cfce",
        "1af53f67b24aeb8e8e39e9326304c452a76c35e7",
        0,
    ),
    Step(
        "3",
        "be45745f3858f12f4ad006adf9986bf7b0dcd7be",
        "66076f2409030c19626a68834fc085bb208bf344",
        0,
    ),
    Step(
        "5",
        "1109acc24b06f7f72c89ee474b4b498d3a6af0c1",
        "ff1fc1fbdff315fe44b9431ca5aae00d7bd7f733",
        7,
    ),
    Step(
        "6",
        "4c5fe42be4c93a77dcf9d1d9a6e1381171fb2f29",
        "108a183f6bdd2035e649f6812c17ddb3193ebd65",
        9,
    ),
    Step(
        "7",
        "cbcbef6811c63db198b2d1729104f4d69e8bce7d",
        "9dd57ef8c48e2cd82292d849f01e2130c5203e67",
        16,
    ),
    Step(
        "8",
        "ea27e3ddab1212f72e96d245627dfeefee52e096",
        "0077f84d37a013213fb59700564e1637987a3f79",
        0,
    ),
    Step(
        "9",
        "8a123cbd0e1c1ca735615a071d46879b72f6235d",
        "8ff9c2b2276e388f94c88be08c644554fa384b6f",
        4,
    ),
)


@cache
def applied(step: Step) -> Outcome:
    tree = step.tree(step.base)
    return apply(
        load_plan(PLANS / f"{step.plan}.toml"), tree, formatters=repository_formatters(tree)
    )


def _id(blob: Blob) -> str:
    head = b"blob %d\0" % len(blob.data)
    return hashlib.sha1(head + blob.data, usedforsecurity=False).hexdigest()


def _listed(tree: GitTree) -> dict[str, tuple[int, str]]:
    ids = tree.ids()
    return {path: (mode, ids[path]) for path, mode in tree.entries().items()}


def _result(base: GitTree, changed: Mapping[str, Blob | None]) -> dict[str, tuple[int, str]]:
    listed = _listed(base)
    for path, blob in changed.items():
        if blob is None:
            del listed[path]
        else:
            listed[path] = blob.mode, _id(blob)
    return listed


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.plan)
def test_the_plan_gives_the_landed_tree_in_every_path(step: Step) -> None:
    outcome = applied(step)
    target = step.tree(step.target)
    result = _result(step.tree(step.base), outcome.changes.after())
    wanted = _listed(target)
    differ = [path for path in {**result, **wanted} if result.get(path) != wanted.get(path)]
    assert differ == []
    # The ids say that bytes are equal; here are the bytes themselves.
    for path, change in outcome.changes.items():
        assert change.after == target.blob(path), path


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.plan)
def test_no_more_lines_are_authored_than_people_wrote(step: Step) -> None:
    assert applied(step).authored_lines == step.authored


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.plan)
def test_the_diff_turns_the_base_into_the_target_for_git_too(step: Step, tmp_path: Path) -> None:
    base = step.tree(step.base)
    changes = applied(step).changes
    before = {path: change.before for path, change in changes.items() if change.before}
    folder = checkout(tmp_path / "base", before)
    run_git(folder, "apply", "--index", "-", stdin=changes.diff())
    listing = run_git(folder, "ls-files", "--stage", "-z").decode().split("\0")[:-1]
    modes = {line.split("\t")[1]: int(line.split(" ")[0], 8) for line in listing}
    wanted = {path: change.after for path, change in changes.items() if change.after}
    assert modes == {path: blob.mode for path, blob in wanted.items()}
    for path, blob in wanted.items():
        assert (folder / path).read_bytes() == blob.data, path
    assert all(base.blob(path) == blob for path, blob in before.items())


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.plan)
def test_a_second_run_is_refused(step: Step) -> None:
    base = step.tree(step.base)
    after: Tree = OverlayTree(base, applied(step).changes.after())
    with pytest.raises(Refusal) as caught:
        apply(load_plan(PLANS / f"{step.plan}.toml"), after)
    assert caught.value.kind == "already-applied"
    assert caught.value.place is not None
    assert caught.value.place.line is not None
