"""Where a new module may be created: not below a file, nor beside one that would hide it."""

from __future__ import annotations

from transforms.errors import Refusal
from transforms.move import Group, Move
from transforms.tree import Tree


def refuse_blocked(group: Group, move: Move, tree: Tree) -> None:
    """Refuse a destination that the tree cannot hold, or that Python would not find."""
    _refuse_case_twin(group, move, tree)
    entries = tree.entries()
    parent = group.located.path.rpartition("/")[0]
    while parent:
        module = f"{parent}.py"
        blocker = parent if parent in entries else module
        if parent in entries or (module in entries and not _becomes_package(module, move)):
            raise Refusal(
                "clash",
                f"`{group.located.path}` cannot be created: `{blocker}` has its folder's name.",
                next_step="Say where the rest of that module goes (`becomes`), or choose another "
                "destination.",
                place=move.plan.place(group.spec.line),
            )
        parent = parent.rpartition("/")[0]


def _becomes_package(path: str, move: Move) -> bool:
    return any(s.located.path == path and s.spec.becomes for s in move.sources)


def _refuse_case_twin(group: Group, move: Move, tree: Tree) -> None:
    path = group.located.path
    folded = path.casefold()
    twin = next((p for p in tree.entries() if p != path and p.casefold() == folded), None)
    if twin is not None:
        raise Refusal(
            "clash",
            f"`{path}` differs from `{twin}` by case alone; many disks cannot hold both.",
            next_step="Choose another name for the destination.",
            place=move.plan.place(group.spec.line),
        )
