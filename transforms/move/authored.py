"""Text that a plan brings: whole new files, and exact edits of what the move leaves."""

from __future__ import annotations

from transforms.errors import Place, Refusal
from transforms.paths import ModuleName
from transforms.reading.model import AuthoredFile, Plan
from transforms.result.changes import Blob
from transforms.tree import Tree
from transforms.tree.automatic import refuse_automatic
from transforms.tree.names import Names

_REGULAR, _EXECUTABLE = 0o100644, 0o100755


def authored_blobs(plan: Plan, names: Names, tree: Tree) -> dict[str, Blob]:
    """The whole files of a plan, by path. Refuses to replace a file that exists."""
    found: dict[str, Blob] = {}
    for file in plan.files:
        place = plan.place(file.line)
        path = path_of_new(file, plan, names)
        refuse_automatic(path, place)
        if path in tree.entries():
            raise Refusal(
                "clash",
                f"`{path}` exists; an authored file may only be new.",
                next_step="Author an edit of it instead: `old` and `new`.",
                place=place,
            )
        if path in found:
            raise Refusal(
                "plan-schema",
                f"`{path}` is authored twice.",
                next_step="Keep one of the two tables.",
                place=place,
            )
        found[path] = Blob(file.text.encode(), _EXECUTABLE if file.executable else _REGULAR)
    return found


def path_of_new(file: AuthoredFile, plan: Plan, names: Names) -> str:
    """Where a new file lies: a dotted name means the `__init__` of a package."""
    name, place = file.file, plan.place(file.line)
    if name.is_path:
        return name.text
    modules = [destination.module for destination in plan.destinations]
    created = {names.dotted(m.text) if m.is_path else m.text for m in modules}
    top = name.text.partition(".")[0]
    if not names.has_top(top) and top not in {module.partition(".")[0] for module in created}:
        raise Refusal(
            "unknown-module",
            f"`{name}` would be a package in `{top}`, and there is none.",
            next_step=f'If it is the path of a file, write `path = "{name}"` instead of `file`.',
            place=place,
        )
    return names.locate_new(name, place, package=True).path


def apply_edits(plan: Plan, names: Names, tree: Tree, after: dict[str, Blob | None]) -> None:
    """Apply every authored edit to the text that the move and the formatters left."""
    for edit in plan.edits:
        place = plan.place(edit.line)
        known = edit.file.is_path or edit.file.text in tree.entries()
        path = edit.file.text if known else _existing(edit.file, names, after, place)
        refuse_automatic(path, place)
        blob = after[path] if path in after else tree.blob(path)
        if blob is None:
            raise Refusal(
                "unknown-file",
                f"There is no `{path}` to edit after the move.",
                next_step="Name a file of the tree, or author it whole with `text`.",
                place=place,
            )
        after[path] = Blob(_edited(blob.data, edit.old, edit.new, path, place), blob.mode)


def _existing(name: ModuleName, names: Names, after: dict[str, Blob | None], place: Place) -> str:
    for path, blob in after.items():
        if blob is not None and path.endswith((".py", ".pyi")) and names.dotted(path) == name.text:
            return path
    return names.locate(name, place).path


def _edited(data: bytes, old: str, new: str, path: str, place: Place) -> bytes:
    crlf = b"\r\n" in data and b"\n" not in data.replace(b"\r\n", b"")
    wanted, put = (
        text.replace("\n", "\r\n").encode() if crlf else text.encode() for text in (old, new)
    )
    count = data.count(wanted)
    if count != 1:
        found = "is not found" if count == 0 else f"is found {count} times"
        raise Refusal(
            "edit-not-unique",
            f"The `old` text of this edit {found} in `{path}` as the move leaves it.",
            next_step="Quote the text exactly, with enough around it to be found once.",
            place=place,
        )
    return data.replace(wanted, put)
