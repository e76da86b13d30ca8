"""Public renames of whole packages: what a plan of a few lines gives, beside what people committed.

What differs was written by people beside the move: names in prose and addresses, a shorter import
that was there all along, settings that a new root needs. Each such path is named here.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.documents import ROOT
from transforms.engine import apply
from transforms.reading.load import load_plan
from transforms.tree import GitTree

pytestmark = pytest.mark.history

PLANS = ROOT / "benchmarks" / "transforms" / "renames"


@dataclass(frozen=True)
class Rename:
    """A commit, its plan, the number of paths that are the same, and all that are not."""

    clone: str
    commit: str
    plan: str
    same: int
    differ: tuple[str, ...] = ()  # both change it, not alike
    by_hand: tuple[str, ...] = ()  # only the commit changes it
    forgotten: tuple[str, ...] = ()  # only the plan changes it


RENAMES = [
    Rename("pypa-pip", "814514e1bd7b", "pip-vendor", 286),  # four data files among them
    Rename("encode-httpx", "e34df7a7a19b", "httpx-backends", 20),
    Rename(
        "encode-httpx",
        "82dc6f32f864",
        "httpx-private-modules",
        67,
        differ=("httpx/_api.py", "tests/test_content_streams.py", "tests/test_utils.py"),
        forgotten=("docs/quickstart.md",),
    ),
    Rename(
        "pytest-dev-pytest",
        "eaa882f3d534",
        "pytest-src",
        95,
        differ=("setup.py",),
        by_hand=("changelog/3513.trivial.rst",),
        forgotten=("setup.cfg",),
    ),
    Rename(
        "encode-httpx",
        "2d09d5b36c10",
        "httpx-rename",
        66,
        differ=(
            "README.md",
            *(
                f"docs/{name}.md"
                for name in (
                    "advanced",
                    "async",
                    "compatibility",
                    "index",
                    "parallel",
                    "quickstart",
                )
            ),
            "httpx/__version__.py",
            "httpx/config.py",
            "httpx/dispatch/asgi.py",
            "httpx/dispatch/wsgi.py",
        ),
        by_hand=(
            "docs/img/logo.jpg",
            "mkdocs.yml",
            "scripts/clean",
            "scripts/lint",
            "scripts/publish",
            "scripts/test",
        ),
        forgotten=("setup.py",),
    ),
]


@pytest.mark.parametrize("rename", RENAMES, ids=lambda rename: rename.plan)
def test_a_plan_gives_what_was_committed_but_for_what_people_wrote(rename: Rename) -> None:
    clone = Path(os.environ["REPOT_HISTORIES"]) / f"{rename.clone}.git"
    if not clone.is_dir():
        pytest.skip(f"no clone {clone.name}")
    before, target = GitTree(clone, f"{rename.commit}~1"), GitTree(clone, rename.commit)
    outcome = apply(load_plan(PLANS / f"{rename.plan}.toml"), before)
    after = outcome.changes.after()
    raw = subprocess.run(
        ["git", "diff", "--name-only", "--no-renames", "-z", f"{rename.commit}~1", rename.commit],
        cwd=clone,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    committed = set(raw.split("\0")) - {""}
    same = {path for path in committed & set(after) if after[path] == target.blob(path)}
    assert len(same) == rename.same
    assert sorted(committed & set(after) - same) == sorted(rename.differ)
    assert sorted(committed - set(after)) == sorted(rename.by_hand)
    assert sorted(set(after) - committed) == sorted(rename.forgotten)
