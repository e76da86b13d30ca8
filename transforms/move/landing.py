"""Where a new module may be created: not below a file, nor beside one that would hide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transforms.errors import Place, Refusal
from transforms.move.state import Group, Move
from transforms.result.changes import Blob
from transforms.result.outcome import Note
from transforms.tree import Tree


def refuse_anchors(groups: Sequence[Group], move: Move) -> None:
    """A module that is not there yet has no symbol to land beside."""
    for group in groups:
        anchor = group.spec.before or group.spec.after
        if anchor:
            raise Refusal(
                "unknown-anchor",
                f"`{group.located.dotted}` does not exist yet, so there is no `{anchor}` in it.",
                next_step="Order the symbols by their place in `symbols`, and drop the anchor.",
                place=move.plan.place(group.spec.line),
            )


def refuse_blocked(group: Group, move: Move, tree: Tree) -> None:
    """Refuse a destination that the tree cannot hold, or that Python would not find."""
    _refuse_case_twin(group, move, tree)
    entries = tree.entries()
    parent = group.located.path.rpartition("/")[0]
    while parent:
        module = f"{parent}.py"
        blocker = parent if parent in entries else module
        hides = module in entries and f"{parent}/__init__.py" not in entries  # else it is hidden
        if parent in entries or (hides and not _becomes_package(module, move)):
            raise Refusal(
                "clash",
                f"`{group.located.path}` cannot be created: `{blocker}` has its folder's name.",
                next_step=_elsewhere(module, move),
                place=move.plan.place(group.spec.line),
            )
        parent = parent.rpartition("/")[0]
    _refuse_hidden(group, move, tree)


def _refuse_hidden(group: Group, move: Move, tree: Tree) -> None:
    """A module hides a folder of its name that has no `__init__.py`, with all modules in it."""
    folder = group.located.path.removesuffix(".py") + "/"
    inside = next((p for p in tree.entries() if p.startswith(folder) and p.endswith(".py")), None)
    if inside is not None:
        refusal = Refusal(
            "clash",
            f"`{group.located.path}` would hide the folder `{folder}` with `{inside}`.",
            next_step="Choose another destination, or give the folder an `__init__.py` first.",
            place=move.plan.place(group.spec.line),
        )
        move.accepts.refuse(refusal, (group.located.dotted, group.located.path))


def _elsewhere(module: str, move: Move) -> str:
    """Say what can be done where a module of the folder's name is in the way."""
    for source in move.sources:
        if source.located.path == module:
            return (
                "Say under its [[source]] which module inside takes the rest, "
                f'`becomes = "{source.located.dotted}.NAME"`, or choose another destination.'
            )
    return "Choose another destination."


def _becomes_package(path: str, move: Move) -> bool:
    return any(s.located.path == path and s.spec.becomes for s in move.sources)


def _refuse_case_twin(group: Group, move: Move, tree: Tree) -> None:
    path = group.located.path
    folded = path.casefold()
    twin = next((p for p in tree.entries() if p != path and p.casefold() == folded), None)
    if twin is not None:
        refusal = Refusal(
            "clash",
            f"`{path}` differs from `{twin}` by case alone; many disks cannot hold both.",
            next_step="Choose another name for the destination.",
            place=move.plan.place(group.spec.line),
        )
        move.accepts.refuse(refusal, (group.located.dotted, path))


def package_table(folder: str, root: str) -> str:
    """Give the table that makes a folder an empty package, as a message has it."""
    dotted = folder.removeprefix(root).strip("/").replace("/", ".")
    plain = all(part.isidentifier() for part in dotted.split("."))
    named = f'module = "{dotted}"' if plain else f'path = "{folder}/__init__.py"'
    return f"`[[package]]` `{named}` `exports = []`"


def refuse_without_init(
    path: str, root: str, tree: Tree, after: Mapping[str, Blob | None], place: Place
) -> list[Note]:
    """Refuse a new module in new folders that lack an `__init__.py` where their like have one.

    Where the tree does both, that is noted: a person must choose.
    """
    notes = []
    folder = path.rpartition("/")[0]
    while folder and folder != root:
        init = f"{folder}/__init__.py"
        is_bare = after.get(init) is None and not _holds_python(folder, tree)
        beside = _inits_beside(folder, root, tree) if is_bare else []
        if any(beside):
            if all(beside):
                raise Refusal(
                    "no-init",
                    f"`{path}` lies in a new folder without `{init}`, and the packages beside it "
                    "have one.",
                    next_step=f"Paste {package_table(folder, root)} for an empty one.",
                    place=place,
                )
            message = (
                f"`{folder}` is new and has no `__init__.py`; some folders beside it have one."
            )
            notes.append(Note("package without init", Place(path, 1), message))
        folder = folder.rpartition("/")[0]
    return notes


def _holds_python(folder: str, tree: Tree) -> bool:
    """Whether modules lie in a folder, or below it: then it is not new."""
    return any(
        path.startswith(f"{folder}/") and path.endswith((".py", ".pyi")) for path in tree.entries()
    )


def _inits_beside(folder: str, root: str, tree: Tree) -> list[bool]:
    """For each folder of modules beside a new one, whether it has an `__init__.py`.

    Without any, what the folder above does stands for them.
    """
    parent = folder.rpartition("/")[0]
    prefix = f"{parent}/" if parent else ""
    folders = {
        path.rpartition("/")[0]
        for path in tree.entries()
        if path.startswith(prefix) and path.endswith(".py")
    }
    direct = {other for other in folders if other != folder and other.rpartition("/")[0] == parent}
    direct -= {parent}
    if direct:
        return [f"{other}/__init__.py" in tree.entries() for other in sorted(direct)]
    return [f"{parent}/__init__.py" in tree.entries()] if parent and parent != root else []
