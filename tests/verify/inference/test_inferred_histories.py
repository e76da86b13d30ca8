"""`repot infer` on commits that were mined for moves, not for what it says of them.

Each has functions and classes of at least 20 lines together that stand word for word in another
file after it; of those that a search of each history found they were drawn by lot. Many are
anything but pure. The figures are authored lines and paths left over, at most: files that were
deleted beside the move, or an `__init__` that is gone.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transforms.tree import GitTree
from verify.inference.infer import infer

MINED = {
    "encode-httpx": {
        "24b6923669": (145, 0),
        "354c4cac1f": (252, 1),
        "d6628ca88a": (276, 5),
        "2a3a97a1c3": (0, 1),
        "e09fc3741f": (148, 2),
        "0bdcbaef72": (37, 0),
        "d07c4b4407": (0, 0),
    },
    "pypa-pip": {
        "82a2651f93": (3, 0),
        "8b4713f63c": (0, 0),
        "f115d1fa2d": (44, 1),
        "ea4ac30674": (0, 0),
        "22bbc67bdd": (3, 0),
        "2b5e87cd37": (0, 0),
        "2dad78a99f": (262, 0),
    },
    "pytest-dev-pytest": {
        "525639eaa0": (0, 0),
        "9714dc0b5c": (24, 0),
        "c56d7ac40e": (1, 3),
        "2831cb9ab5": (8, 0),
    },
    "optuna-optuna": {
        "b3dc753cf1": (961, 0),
        "10d2bf5c0d": (0, 0),
        "1e1b78fec4": (163, 0),
        "2857a83370": (17, 0),
        "b091d5c750": (115, 2),
        "abc071c0c1": (0, 0),
        "e7d91ce9a3": (33, 0),
    },
    "pallets-werkzeug": {"46ff5e91ed": (185, 0), "33e276b08d": (3, 1), "c5f4004e8f": (6, 0)},
    "qutebrowser-qutebrowser": {
        "a015e2603b": (47, 0),
        "98421e3c35": (0, 0),
        "2c10a7d70f": (0, 0),
    },
    "sympy-sympy": {"5b5f69ead1": (11, 0), "0cbab7fd02": (20, 0)},
}


@pytest.mark.history
@pytest.mark.parametrize(
    ("repository", "commit"), [(name, commit) for name, found in MINED.items() for commit in found]
)
def test_a_mined_commit_is_inferred(repository: str, commit: str) -> None:
    repo = Path(os.environ["REPOT_HISTORIES"]) / f"{repository}.git"
    if not repo.exists():
        pytest.skip(f"there is no {repo}")
    found = infer(GitTree(repo, f"{commit}^"), GitTree(repo, commit))
    most, left = MINED[repository][commit]
    assert found.plan.authored_lines <= most
    assert len(found.left) <= left
    assert found.holds or left
    assert found.share.moved >= 0.85 * found.share.lines
