"""Pairs of trees: a move, and moves with one more edit."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.verify.generated.edits import EDITS, Edited
from tests.verify.generated.moves import ByHand, Files, Move, by_mover, chunks, dotted
from tests.verify.generated.trees import Builder, Made

KINDS = {
    1: "readers through attributes",
    2: "order of imports, lazy and eager",
    3: "stars, names gained and asked for",
    4: "modules that hide or are not found",
    5: "what acts",
    6: "annotations that somebody evaluates",
    7: "writes and patches",
    8: "tables and lookups at run time",
    9: "tests, doctests, entry points",
}
TEXT = r"[\"'][\w.]+[.:]\w+[\"']"
PATCHED = r"(?:patch|setattr)\([^)]*\)"
NEW = ("moved", "parts", "extra", "fresh", "pieces")


@dataclass(frozen=True)
class Pair:
    """A change between two trees; `honest` if it is the move and nothing else."""

    seed: int
    kind: int
    gadget: str
    move: Move
    way: str  # who moved: "mover", "hand", or "hand, names kept"
    edit: str  # "" for none
    honest: bool
    base: Files
    target: Files

    def __str__(self) -> str:
        what = f"seed {self.seed}, kind {self.kind} ({self.gadget})"
        return f"{what}, {self.way}, {self.edit or 'no edit'}"


def pair(seed: int) -> Pair:
    """Draw one; the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - chance, not secrecy
    while True:
        made = Builder(draw).build(seed % len(KINDS) + 1)
        found = _changed(seed, made, draw)
        if found is not None:
            return found


def pairs(first: int, count: int) -> Iterator[Pair]:
    """Draw many."""
    yield from (pair(seed) for seed in range(first, first + count))


def _changed(seed: int, made: Made, draw: random.Random) -> Pair | None:
    moved = None
    for _ in range(6):
        move = _move(made, draw)
        if move is None:
            return None
        way = draw.choice(["mover", "hand", "hand", "hand, names kept"])
        if way == "mover":
            moved = by_mover(made.files, move)
        else:
            moved = ByHand(made.files, move, keep=way.endswith("kept")).run()
        if moved is not None and _parses(moved):
            break
    else:
        return None
    asked = any("__module__" in text for text in made.files.values())  # that is to read
    edit = Edited("", moved, honest=not (asked or _repointed(made.files, moved)))
    if draw.random() < 0.65:
        for name in draw.sample(sorted(EDITS), len(EDITS)):
            there = EDITS[name](made.files, moved, move, draw)
            if there is not None and there.files != moved and _parses(there.files):
                edit = Edited(name, there.files, there.honest)
                break
    if edit.files == made.files:
        return None
    return Pair(
        seed, made.kind, made.gadget, move, way, edit.name, edit.honest, made.files, edit.files
    )


def _move(made: Made, draw: random.Random) -> Move | None:
    """Draw what moves and whereto: mostly names of the gadget, sometimes any."""
    files = made.files
    if not made.movable:
        return None
    source, name = draw.choice(made.movable)
    names = [n for p, n in made.movable if p == source and (n == name or draw.random() < 0.35)]
    if draw.random() < 0.2:
        source = draw.choice([p for p in sorted(files) if p.endswith(".py") and files[p]])
        defined = [
            n
            for c in chunks(files[source])
            if not isinstance(c.node, (ast.Import, ast.ImportFrom, ast.Try))
            for n in sorted(c.binds)
        ]
        if not defined:
            return None
        names = draw.sample(defined, min(len(defined), draw.choice([1, 1, 2])))
    destination = _destination(files, source, draw)
    return Move(source, destination, tuple(names)) if destination != source else None


def _destination(files: Files, source: str, draw: random.Random) -> str:
    folder = source.rpartition("/")[0]
    inner = f"{folder}/" if folder else ""
    name = draw.choice([n for n in NEW if f"{inner}{n}.py" not in files])
    if source.startswith("tests/"):
        near = [p for p in sorted(files) if p.startswith("tests/") and p != source]
        return draw.choice([f"tests/test_{name}.py", f"tests/{name}.py", *near])
    shared = [p for p in sorted(files) if p.endswith(".py") and not p.startswith("tests/")]
    old = [p for p in shared if p not in (source, "main.py")]
    chosen = draw.random()
    if chosen < 0.25 and old:
        return draw.choice(old)
    if chosen < 0.35 and folder and dotted(f"{inner}x.py").count("."):
        return f"{inner}sub/{name}.py"
    return f"{inner}{name}.py"


def _repointed(base: Files, after: Files) -> bool:
    """Whether texts that are no target of a patch name another module now: that is to read."""
    texts = {path: (base.get(path, ""), text) for path, text in after.items()}
    return any(
        re.findall(TEXT, re.sub(PATCHED, "", one)) != re.findall(TEXT, re.sub(PATCHED, "", two))
        for path, (one, two) in texts.items()
        if path in base
        and path.endswith(".py")
        and set(re.findall(TEXT, two)) - set(re.findall(TEXT, one))
    )


def _parses(files: Files) -> bool:
    try:
        for path, text in files.items():
            if path.endswith(".py"):
                compile(text, path, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
