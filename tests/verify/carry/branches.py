"""A small history with a split on main, and branches that were begun before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli

BASE = {**BEFORE, PLAN_PATH: PLAN}
SPLIT = {**AFTER, PLAN_PATH: PLAN}
MOVE = f"Move Money\n\nMechanical-Move: {PLAN_PATH}"
LATER = {"README": "later\n"}
EARLIER = {"NEWS": "earlier\n"}
ORDERS = BEFORE["shop/orders.py"]
TWO = {"shop/orders.py": ORDERS.replace("Decimal(1)", "Decimal(2)")}


class Story:
    """Main: a start, a commit, the split and another commit; a branch `feature` at the start."""

    def __init__(
        self,
        folder: Path,
        before: Mapping[str, str] = BASE,
        after: Mapping[str, str] = SPLIT,
        message: str = MOVE,
    ) -> None:
        self.history = History(folder)
        self.folder = folder
        self.before = dict(before)
        self.start = self.history.commit(before, "Start")
        self.history.git("branch", "feature")
        self.parent = self.history.commit({**before, **EARLIER}, "Earlier")
        self.split = self.history.commit({**after, **EARLIER}, message)
        self.main = self.history.commit({**after, **EARLIER, **LATER}, "Later")
        self.state = dict(before)

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
