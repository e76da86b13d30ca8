"""Whether the plan that a commit names is one, by what its parent and the commit itself hold."""

from __future__ import annotations

import os

from transforms.paths import to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import GitTree


def plan_fault(parent: GitTree, tree: GitTree, path: str) -> str | None:
    """Why the plan that a commit names is none: it is judged by what its parent holds."""
    mode = parent.entries().get(path)
    if mode is None:
        here = " (the commit itself adds it)" if path in tree.entries() else ""
        return f"its parent has no plan `{path}`{here}; commit the plan before the move"
    if mode not in (REGULAR, EXECUTABLE):
        return f"`{path}` is a symbolic link or a submodule, not a plan"
    if parent.ids()[path] != tree.ids().get(path):
        return f"it changes the plan that it names, `{path}`"
    return None


def entry_at(head: GitTree, commit: str, path: str) -> str:
    """What a commit has at a path: mode and id, as a key; empty where it has nothing."""
    name = os.fsdecode(to_bytes(path))  # as bytes under any locale
    printed = head.repository.run("ls-tree", "-z", "--full-tree", commit, "--", name)
    return printed.partition(b"\t")[0].decode("ascii", "replace")
