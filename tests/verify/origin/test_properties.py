"""Of any history: no line is credited to a place where its text is not, or past a false claim.

A history is drawn from edits, moves by a plan, moves that claim more than their plan gives, moves
by hand and renamed files; its functions are so alike that a guess by text alone would go wrong.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.verify.histories import History
from tests.verify.origin.test_trace import check
from transforms import engine
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.tree import GitTree
from verify.origin.asked import asked
from verify.origin.trace import Traced, trace

PLAN = """\
format = 2
formatters = "none"

[[source]]
module = "shop.{source}"
reexports = []

[[destination]]
module = "shop.{target}"
symbols = ["{name}"]
"""
NAMES = ("one", "two", "three", "four")
MODULES = ("a", "b", "c")


def function(name: str, value: int) -> str:
    return f"def {name}(given):\n    kept = given + {value}\n    # as it is\n    return kept\n"


def block(name: str) -> re.Pattern[str]:
    return re.compile(rf"\n*def {name}\(.*?    return kept\n", re.DOTALL)


class Drawn:
    """A history under construction, and which of its commits claim what they are not."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder)
        functions = "\n\n".join(function(name, n % 2) for n, name in enumerate(NAMES))
        self.files = {"shop/__init__.py": "", "shop/a.py": f'"""All."""\n\n\n{functions}'}
        self.false: set[str] = set()
        self.history.commit(self.files)

    def has(self, name: str) -> str | None:
        found = (m for m in MODULES if block(name).search(self.files.get(f"shop/{m}.py", "")))
        return next(found, None)

    def act(self, what: str, name: str, target: str) -> None:
        source = self.has(name)
        if source is None:
            return
        if what == "edit":
            path = f"shop/{source}.py"
            self.files[path] = self.files[path].replace("kept = given + 1", "kept = given + 3", 1)
            self.history.commit(self.files)
        elif what == "rename" and f"shop/{target}.py" not in self.files:
            self.files[f"shop/{target}.py"] = self.files.pop(f"shop/{source}.py")
            self.history.commit(self.files)
        elif what == "hand" and source != target:
            self._by_hand(name, f"shop/{source}.py", f"shop/{target}.py")
        elif what in ("move", "lie") and source != target:
            self._by_plan(what, PLAN.format(source=source, target=target, name=name))

    def _by_hand(self, name: str, source: str, target: str) -> None:
        found = block(name).search(self.files[source])
        assert found is not None
        self.files[source] = block(name).sub("", self.files[source])
        self.files[target] = self.files.get(target, "") + found[0]
        self.history.commit(self.files)

    def _by_plan(self, what: str, plan: str) -> None:
        self.files["plan.toml"] = plan
        self.history.commit(self.files)
        tree = GitTree(self.history.folder, "HEAD")
        try:
            changes = engine.apply(parse_plan(plan.encode(), "plan.toml"), tree).changes
        except Refusal:
            return
        for path, blob in changes.after().items():
            if blob is None:
                del self.files[path]
            else:
                self.files[path] = blob.data.decode()
        if what == "lie":
            self.files["note.txt"] = f"{len(self.false)}\n"
        commit = self.history.commit(self.files, "Move\n\nMechanical-Move: plan.toml\n")
        self.false |= {commit} if what == "lie" else set()


ACTIONS = st.tuples(
    st.sampled_from(["move", "move", "edit", "lie", "rename", "hand"]),
    st.sampled_from(NAMES),
    st.sampled_from(MODULES),
)


@settings(max_examples=examples(30))
@given(st.lists(ACTIONS, min_size=1, max_size=5))
def test_a_line_is_credited_where_its_text_is_and_no_further(
    actions: list[tuple[str, str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        drawn = Drawn(Path(folder) / "repo")
        for action in actions:
            drawn.act(*action)
        paths = sorted(path for path in drawn.files if path.endswith(".py"))
        found = trace(asked(drawn.history.folder, paths, "HEAD"))
        for each in found:
            check(drawn.history, each)
            _stops_at(each, drawn.false)
        one = next(each for each in found if each.lines)
        some = f"{one.asked.path}:{len(one.lines)}"
        (alone,) = trace(asked(drawn.history.folder, [some], "HEAD"))
        assert alone.lines == one.lines[-1:]


def _stops_at(found: Traced, false: set[str]) -> None:
    for line in found.lines:
        assert not any(passed.commit in false for passed in line.passed)
        assert (line.claim is not None) == (line.commit in false)
