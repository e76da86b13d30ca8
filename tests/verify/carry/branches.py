"""A small history with a split on main, and branches that were begun before it."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli

Files = tuple[tuple[str, str], ...]
BASE = {**BEFORE, PLAN_PATH: PLAN}
SPLIT = {**AFTER, PLAN_PATH: PLAN}
MOVE = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
LATER = {"README": "later\n"}
EARLIER = {"NEWS": "earlier\n"}
ORDERS = BEFORE["shop/orders.py"]
TWO = {"shop/orders.py": ORDERS.replace("Decimal(1)", "Decimal(2)")}


@cache
def _laid(before: Files, after: Files, message: str, _: str) -> Path:
    """Make such a history once in a process; tests work on copies."""
    folder = Path(tempfile.mkdtemp(prefix="repot-story-")) / "repo"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    history = History(folder)
    history.commit(dict(before), "Start")
    history.git("branch", "feature")
    history.commit({**dict(before), **EARLIER}, "Earlier")
    history.commit({**dict(after), **EARLIER}, message)
    history.commit({**dict(after), **EARLIER, **LATER}, "Later")
    return folder


class Story:
    """Main: a start, a commit, the split and another commit; a branch `feature` at the start."""

    def __init__(
        self,
        folder: Path,
        before: Mapping[str, str] = BASE,
        after: Mapping[str, str] = SPLIT,
        message: str = MOVE,
    ) -> None:
        key = tuple(before.items()), tuple(after.items()), message
        shutil.copytree(_laid(*key, os.environ.get("GIT_DEFAULT_HASH", "")), folder, symlinks=True)
        self.history = History(folder)  # what is there already stays
        self.folder = folder
        self.before, self.state = dict(before), dict(before)
        listed = self.git("log", "--reverse", "--format=%H", "main").split()
        self.start, self.parent, self.split, self.main = listed

    def git(self, *arguments: str) -> str:
        return self.history.git(*arguments)

    def commit(
        self, changes: Mapping[str, str | None], message: str = "Work", branch: str = "feature"
    ) -> str:
        """Commit changes to the branch, and leave it again."""
        self.git("switch", "--quiet", branch)
        self.state.update({path: text for path, text in changes.items() if text is not None})
        for path, text in changes.items():
            if text is None:
                del self.state[path]
        made = self.history.commit(self.state, message)
        self.git("switch", "--quiet", "main")
        return made

    def carry(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Run the command; gives its exit code and what it says as data."""
        report = self.folder.parent / "report.json"
        report.unlink(missing_ok=True)
        options = ("--repo", str(self.folder), "--json", str(report))
        code = cli.run(["carry", *options, *arguments])
        return code, json.loads(report.read_text()) if report.exists() else {}

    def over(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Carry `feature` over the split."""
        return self.carry("feature", "--over", self.split, *arguments)

    def files(self, rev: str = "feature") -> dict[str, str]:
        """Give the files of a commit."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", rev).split("\0")
        return {name: self.text(name, rev) for name in names if name}

    def text(self, path: str, rev: str = "feature") -> str:
        return self.git("cat-file", "blob", f"{rev}:{path}") + "\n"

    def changed(self, rev: str = "feature", base: str = "main") -> set[str]:
        """Name the files in which a commit differs from main."""
        return set(self.git("diff", "--name-only", "--no-renames", base, rev).split())

    def left(self) -> bool:
        """Whether a stop, or what is left of one, is there."""
        names = ("repot/carry/state.json", "repot/carry/tree")
        refs = self.git("for-each-ref", "refs/repot/carrying")
        trees = self.git("worktree", "list").count("\n")
        return bool(refs) or trees > 0 or any((self.folder / ".git" / n).exists() for n in names)
