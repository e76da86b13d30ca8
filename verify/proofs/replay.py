"""Replay: the plan, applied to the base, against the target, every path and mode of the two trees.

What is unequal is the residual: hunks between what the plan gives and what the target has, each
with the operation of the plan that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from transforms import engine
from transforms.formatters import Formatters
from transforms.reading.model import Plan
from transforms.result.diff import edits
from transforms.result.outcome import Outcome, Relocated
from transforms.tree import GitTree, Tree
from verify.history.ranges import Entry, differing, entries_at

NOT_IN_THE_PLAN = "not in the plan"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One stretch of lines that differs. `line` is 1-based in the target (0: the file is absent).

    `missing` are lines that the plan gives and the target lacks, `extra` those that it adds.
    """

    path: str
    line: int
    operation: str
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """The verdict of a replay: it reproduces the commit, or it leaves these hunks."""

    base: str
    target: str
    outcome: Outcome
    changed: int  # paths that differ between base and target
    hunks: tuple[Hunk, ...]

    @property
    def reproduces(self) -> bool:
        """Whether the plan gives the target exactly."""
        return not self.hunks


def replay(
    plan: Plan,
    base: GitTree,
    target: GitTree,
    formatters: Formatters,
    *,
    tree: Tree | None = None,
) -> Replay:
    """Apply the plan to the base in memory and compare. Nothing is checked out or written.

    `tree` is the base once more, for those who have read it already.
    """
    return compared(engine.apply(plan, tree or base, formatters=formatters), base, target)


def compared(outcome: Outcome, base: GitTree, target: GitTree) -> Replay:
    """Compare what a plan gave, applied to the base, with the target."""
    given = {path: Entry.of(blob) for path, blob in outcome.changes.after().items()}
    changed = differing(base, target)
    paths = sorted({*changed, *given})
    had = entries_at(base, [path for path in paths if path not in given])
    wanted = entries_at(target, paths)
    hunks: list[Hunk] = []
    operations = operations_by_path(outcome)
    for path in paths:
        have, want = given[path] if path in given else had.get(path), wanted.get(path)
        if have != want:
            operation = operations.get(path, NOT_IN_THE_PLAN)
            hunks += _hunks(path, have, want, operation, outcome)
    return Replay(base.commit, target.commit, outcome, len(changed), tuple(hunks))


def operations_by_path(outcome: Outcome) -> dict[str, str]:
    """The operation of the plan that each changed path belongs to."""
    found: dict[str, str] = {}
    for caller in outcome.callers:
        found[caller.path] = "callers"
    for source in outcome.sources:
        found[source.path] = f"source {source.module}"
        if source.fate.startswith("renamed to "):
            found[source.fate.removeprefix("renamed to ")] = f"source {source.module}"
    for destination in outcome.destinations:
        found[destination.path] = f"destination {destination.module}"
    for authored in outcome.authored:
        if authored.kind == "file":
            found[authored.path] = "authored file"
    for item in outcome.relocated:
        found.update(_relocated(item, outcome))
    for path in outcome.changes:
        found.setdefault(path, "callers")
    return found


def _relocated(item: Relocated, outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The files of a module or package that went whole, at both paths."""
    for path in outcome.changes:
        for place in (item.old_path, item.new_path):
            if path == place or path.startswith(f"{place}/"):
                yield path, f"move {item.old_module}"


def _hunks(
    path: str, have: Entry | None, want: Entry | None, operation: str, outcome: Outcome
) -> Iterator[Hunk]:
    if have is None or want is None:
        note = "the target lacks the file" if want is None else "the plan does not create the file"
        missing = _lines(have) if have else ()
        extra = _lines(want) if want else ()
        yield Hunk(path, 0 if want is None else 1, operation, missing, extra, note)
        return
    if have.mode != want.mode:
        yield Hunk(path, 0, operation, (), (), f"mode {want.mode:o} instead of {have.mode:o}")
    if have.data == want.data:
        return
    mine, theirs = _lines(have), _lines(want)
    if have.binary or want.binary:
        yield Hunk(path, 0, operation, (), (), "binary contents differ")
        return
    if [line.rstrip("\r") for line in mine] == [line.rstrip("\r") for line in theirs]:
        yield Hunk(
            path, len(theirs), operation, (), (), "line endings or the last line's end differ"
        )
        return
    formatted = outcome.formatter_edits.get(path, ())
    note = f"formatted by {', '.join(formatted)}" if formatted else ""
    for edit in edits(mine, theirs):
        missing, extra = mine[edit.old_start : edit.old_end], theirs[edit.new_start : edit.new_end]
        yield Hunk(path, edit.new_start + 1, operation, missing, extra, note)


def _lines(blob: Entry) -> tuple[str, ...]:
    """Split at line feeds alone, as git counts lines; what else may end one is shown in it."""
    rows = blob.data.decode("utf-8", "backslashreplace").split("\n")
    return tuple(rows if rows[-1] else rows[:-1])
