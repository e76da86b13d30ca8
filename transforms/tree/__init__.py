"""Trees: a working directory, a git commit or a wheel, read through one interface.

automatic  where machines run what they find: no plan writes there
base       the interface of a tree; a tree laid over another
commit     a commit, read from git's objects in batches
disk       files below a directory, links never followed
git        git's plumbing, under a configuration that nobody can change
names      dotted names and paths, packages and roots, relative names
wheel      a wheel, read from the archive
working    a directory, in git's view where it is a checkout
"""

from __future__ import annotations

from pathlib import Path

from transforms.paths import safe_path
from transforms.tree.base import OverlayTree, Tree
from transforms.tree.commit import GitTree
from transforms.tree.wheel import WheelTree
from transforms.tree.working import WorkingTree

__all__ = [
    "GitTree",
    "OverlayTree",
    "Tree",
    "WheelTree",
    "WorkingTree",
    "open_tree",
    "safe_path",
]


def open_tree(repo: Path | str, at: str | None = None) -> Tree:
    """Open a commit of a repository where `at` names one, else the directory as it lies on disk.

    Raises `Refusal` for what does not exist, and for a bare repository without `at`.
    """
    return WorkingTree(repo) if at is None else GitTree(repo, at)
