"""SGLang's landed commits are clean under its hooks, and shuffled imports come back in order."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from transforms.formatters import repository_formatters
from transforms.result.changes import REGULAR, Blob
from transforms.tree import GitTree, OverlayTree

pytestmark = [pytest.mark.history, pytest.mark.registry]

LANDED = {
    "1/N": "c06220159b",
    "2/N": "1af53f67b2",
    "3/N": "66076f2409",
    "4/N": "e57323cae9",
    "5/N": "ff1fc1fbdf",
    "6/N": "108a183f6b",
    "7/N": "9dd57ef8c4",
    "8/N": "0077f84d37",
    "9/N": "8ff9c2b227",
}
_IMPORT = re.compile(r"(import|from) [\w.]+( import [\w, ]+)?( as \w+)?")


def history() -> Path:
    return Path(os.environ["REPOT_HISTORIES"]) / "bytedance-iaas-sglang.git"


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ.setdefault("REPOT_CACHE", str(tmp_path_factory.mktemp("repot-cache")))


def touched(target: GitTree, revision: str) -> dict[str, bytes]:
    names = subprocess.run(
        ["git", "diff", "--name-only", "--diff-filter=d", f"{revision}~1", revision],
        cwd=history(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return target.read_many(name for name in names if name.endswith(".py"))


@pytest.mark.parametrize("revision", LANDED.values(), ids=LANDED.keys())
def test_a_landed_commit_is_clean(revision: str) -> None:
    formatters = repository_formatters(GitTree(history(), f"{revision}~1"))
    assert [tool.label for tool in formatters.tools] == [
        "trailing-whitespace 6.0.0",
        "end-of-file-fixer 6.0.0",
        "isort 7.0.0",
        "ruff 0.15.1",
        "black 26.1.0",
    ]
    target = GitTree(history(), revision)
    files = touched(target, revision)
    made = formatters.format(files, target)
    assert {path: one.data for path, one in made.items()} == files
    assert not any(one.changed_by for one in made.values())


def shuffled(source: str, chance: random.Random) -> str:
    """Shuffle each run of import statements at the top level that take one line."""
    lines = source.split("\n")
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _IMPORT.fullmatch(lines[end]):
            end += 1
        run = lines[at:end]
        chance.shuffle(run)
        lines[at:end] = run
        at = end + 1
    return "\n".join(lines)


@pytest.mark.parametrize("revision", ["ff1fc1fbdf", "108a183f6b"])
def test_shuffled_imports_come_back_in_order(revision: str) -> None:
    target = GitTree(history(), revision)
    files = touched(target, revision)
    chance = random.Random(revision)  # noqa: S311 - a reproducible order, no secret
    mixed = {path: shuffled(data.decode(), chance).encode() for path, data in files.items()}
    after = OverlayTree(target, {path: Blob(data, REGULAR) for path, data in mixed.items()})
    made = repository_formatters(target).format(mixed, after)
    assert {path: one.data for path, one in made.items()} == files
    changed = {path for path in files if mixed[path] != files[path]}
    assert len(changed) > len(files) // 2
    assert all(made[path].changed_by == ("isort 7.0.0",) for path in changed)
