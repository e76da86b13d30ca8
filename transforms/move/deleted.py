"""Files that a plan deletes: gone before anything moves, or once the move has left them.

A source, and the `__init__` that makes a folder a package, say what names mean: they stay until the
move is made, and go with what it leaves in them. All others are gone from the start, so that no
import in them counts, and what they hid or held the place of can come. One that the plan authors
anew is replaced.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from transforms.errors import Place, Refusal
from transforms.move.authored import path_of_new
from transforms.reading.model import AuthoredDeletion, AuthoredFile, Plan
from transforms.result.changes import EXECUTABLE, REGULAR, SUBMODULE, Blob, ChangeSet
from transforms.result.diff import edits
from transforms.result.outcome import DELETION, Authored, Outcome
from transforms.tree import OverlayTree, Tree
from transforms.tree.automatic import refuse_automatic
from transforms.tree.names import Names


@dataclass(frozen=True, slots=True)
class Deleted:
    """What of a tree goes by a plan's own words: `plan` and `tree` are what the move is made of.

    `places` are the paths, each with the table that names it; `late` those that go last, `made`
    what the plan puts in their place.
    """

    plan: Plan
    tree: Tree
    places: dict[str, Place]
    late: frozenset[str]
    made: dict[str, tuple[AuthoredFile, Blob]]
    base: Tree

    def finished(self, outcome: Outcome) -> Outcome:
        """Give the outcome of the move with the files gone. Raises `Refusal`."""
        after = outcome.changes.after()
        goals = {item.path for item in outcome.destinations}
        for path in sorted(self.late | self.made.keys()):
            if path in goals or after.get(path, _HERE) is None:
                raise _clash(path, path in goals, self.places[path])
        authored = list(outcome.authored)
        for path in self.places:
            had = self.base.blob(path)
            left = after.get(path, had) if path in self.late else had
            authored.append(Authored(path, DELETION, (), _kept(had, left)))
            if path in self.late or path not in after:
                after[path] = None
        for path, (file, blob) in self.made.items():
            authored.append(Authored(path, "file", file.rows()))
            after[path] = blob
        gone = self.late | self.made.keys()
        return replace(
            outcome,
            changes=ChangeSet.of({path: self.base.blob(path) for path in after}, after),
            sources=tuple(
                replace(item, fate="deleted", imports_back=()) if item.path in gone else item
                for item in outcome.sources
            ),
            callers=tuple(item for item in outcome.callers if item.path not in gone),
            notes=tuple(item for item in outcome.notes if item.place.path not in gone),
            authored=tuple(authored),
            formatter_edits={p: by for p, by in outcome.formatter_edits.items() if p not in gone},
        )


_HERE = Blob(b"")  # stands for a file that the move leaves alone


def deleted(plan: Plan, tree: Tree) -> Deleted:
    """Find what a plan deletes. Raises `Refusal` where it is not there, or is needed."""
    names, sources = _names(plan, tree)
    places = dict(_places(plan, names, tree))
    made = {}
    for file in plan.files:
        path = path_of_new(file, plan, names)
        if path in places:
            mode = EXECUTABLE if file.executable else REGULAR
            made[path] = (file, Blob(file.text.encode(), mode))
    _refuse_edits(plan, names, places)
    exporting = {
        names.locate_new(item.module, plan.place(item.line), package=True).path
        for item in plan.packages
    }
    for path in sorted((sources | exporting) & made.keys()):
        raise _clash(path, path in exporting, places[path])
    late = {path for path in places if path in sources or _is_init(path)} - made.keys()
    laid = {path: made[path][1] if path in made else None for path in places if path not in late}
    replaced = [file for file, _ in made.values()]
    rest = replace(plan, deletions=(), files=tuple(f for f in plan.files if f not in replaced))
    return Deleted(rest, OverlayTree(tree, laid), places, frozenset(late), made, tree)


def paths_of_deleted(plan: Plan, tree: Tree) -> list[str | None]:
    """Give the path of each deletion of a plan; None where the tree has no such file."""
    names, _ = _names(plan, tree)
    found: list[str | None] = []
    for item in plan.deletions:
        try:
            path = _path(item, names, tree, plan.place(item.line))
            found.append(path if path in tree.entries() else None)
        except Refusal:
            found.append(None)
    return found


def _names(plan: Plan, tree: Tree) -> tuple[Names, set[str]]:
    """Give what names mean, which the first source says, and the paths of the sources."""
    names = Names(tree, plan.roots)
    sources = set()
    for source in plan.sources:
        with suppress(Refusal):  # one that is not there is told by who resolves the move
            sources.add(names.locate(source.module, plan.place(source.line)).path)
    return names, sources


def _path(item: AuthoredDeletion, names: Names, tree: Tree, place: Place) -> str:
    known = item.file.is_path or item.file.text in tree.entries()
    return item.file.text if known else names.locate(item.file, place).path


def _places(plan: Plan, names: Names, tree: Tree) -> Iterator[tuple[str, Place]]:
    seen: set[str] = set()
    for item in plan.deletions:
        place = plan.place(item.line)
        path = _path(item, names, tree, place)
        refuse_automatic(path, place)
        if path not in tree.entries():
            raise _absent(path, tree, place)
        if tree.entries()[path] == SUBMODULE:
            raise Refusal(
                "submodule",
                f"`{path}` is a submodule, not a file of this tree.",
                next_step="Take it away in a commit of its own.",
                place=place,
            )
        if path in seen:
            raise Refusal(
                "plan-schema",
                f"`{path}` is deleted twice.",
                next_step="Keep one of the two tables.",
                place=place,
            )
        seen.add(path)
        yield path, place


def _absent(path: str, tree: Tree, place: Place) -> Refusal:
    if any(other.startswith(f"{path}/") for other in tree.entries()):
        cause, step = f"`{path}` is a folder.", "Name each file of it that goes, in its own table."
    else:
        cause = f"There is no `{path}` to delete before the move."
        step = "Name a file of the tree; what this plan makes, it need not make."
    return Refusal("unknown-file", cause, next_step=step, place=place)


def _refuse_edits(plan: Plan, names: Names, places: dict[str, Place]) -> None:
    for edit in plan.edits:
        for path in places:
            if str(edit.file) in (path, names.dotted(path)):
                raise Refusal(
                    "plan-schema",
                    f"`{path}` is edited, and deleted by another table.",
                    next_step="Keep one of the two; a file that is authored whole has its text "
                    "there.",
                    place=plan.place(edit.line),
                )


def _clash(path: str, is_goal: bool, place: Place) -> Refusal:
    what = "is given symbols" if is_goal else "is taken apart, moved or deleted"
    return Refusal(
        "clash",
        f"`{path}` {what} by another table of the plan, and cannot be deleted as well.",
        next_step="Drop one of the two tables.",
        place=place,
    )


def _is_init(path: str) -> bool:
    return posixpath.basename(path).startswith("__init__.")


def _kept(had: Blob | None, left: Blob | None) -> tuple[str, ...]:
    """Give the lines of a file that the move has left in it; in words what is no text."""
    if had is None or left is None:
        return ()
    if had.binary:
        return (f"a binary file of {len(had.data):,} bytes",)
    mine, theirs = _rows(had), _rows(left)
    gone = {n for edit in edits(mine, theirs) for n in range(edit.old_start, edit.old_end)}
    return tuple(row for n, row in enumerate(mine) if n not in gone)


def _rows(blob: Blob) -> list[str]:
    rows = blob.data.decode("utf-8", "backslashreplace").split("\n")
    return rows if rows[-1] else rows[:-1]
