"""Trees: a working directory, a git commit or a wheel, read through one interface."""

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
