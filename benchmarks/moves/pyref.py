"""PyRef on one commit: github.com/PyRef/PyRef, which is not on the package index.

It looks at files that were there before and after, and walks a whole history before it does. So the
commit is laid down in a repository of two commits, with the Python files that it changed alone.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.transforms.measure import run
from transforms.tree import GitTree
from verify.history.made import make

_MOVES = "Move Method"


def count_moves(program: Path, python: Path, repo: Path, commit: str, limit: float) -> int | None:
    """Count the moves that PyRef's `main.py` finds; None where it has no time or fails."""
    base, target = GitTree(repo, f"{commit}^"), GitTree(repo, commit)
    before, after = base.ids(), target.ids()
    paths = [p for p in {*before, *after} if p.endswith(".py") and before.get(p) != after.get(p)]
    with tempfile.TemporaryDirectory(prefix="repot-pyref-") as name:
        checkout = Path(name) / "commit"
        made = make(checkout)
        for tree, ids in ((base, before), (target, after)):
            _lay(checkout, paths, tree.read_many([path for path in paths if path in ids]))
            made.git.add("--all", "--force")
            made.git.commit("--quiet", "--allow-empty", "--message", "One side of the commit")
        head = made.git.rev_parse("HEAD")
        command = [python, program, "getrefs", "--repopath", checkout, "--commit", head]
        environment = {**os.environ, "PYTHONPATH": str(program.parent)}
        run(command, cwd=Path(name), environment=environment, limit=limit)
        report = Path(name) / "commit_data.json"
        if not report.exists():
            return None
        return report.read_text(encoding="utf-8").count(json.dumps(_MOVES))


def _lay(checkout: Path, paths: list[str], files: Mapping[str, bytes]) -> None:
    for path in paths:
        file = checkout / path
        if path in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(files[path])
        else:
            file.unlink(missing_ok=True)
