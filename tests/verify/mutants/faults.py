"""One-fault copies of a move: each makes one small change to one file of the target."""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections.abc import Iterator, Mapping

from tests.verify.mutants import expressions, imports, statements
from tests.verify.mutants.text import KINDS, Mutant, Text

__all__ = ["KINDS", "Mutant", "expressions", "imports", "mutants", "proof", "statements"]


def mutants(
    path: str, text: str, chance: random.Random, each: int, only: str | None = None
) -> Iterator[Mutant]:
    """Give up to `each` mutants of every kind of one file, in an order that `chance` decides."""
    held = Text(text)
    for name, make in KINDS.items() if only is None else [(only, KINDS[only])]:
        edits = list(make(held))
        chance.shuffle(edits)
        made = 0
        for start, end, new in edits:
            changed = text[:start] + new + text[end:]
            if made >= each:
                break
            if changed == text or not _parses(changed):
                continue
            made += 1
            line = text.count("\n", 0, start) + 1
            old = text[start:end]
            yield Mutant(name, path, line, old[:80], new[:80], changed, old)


def proof(before: Mapping[str, str], after: Mapping[str, str], mutant: Mutant) -> str | None:
    """Prove that a mutant is a move of the base after all, or give None.

    Where a statement was copied along with code, dropping the first of the two makes it a move, if
    nothing is left that reads it there.
    """
    if mutant.kind != "statement dropped" or mutant.path not in before:
        return None
    gone = ast.parse(textwrap.dedent(mutant.whole)).body
    name = getattr(gone[0], "targets", [None])[0] if len(gone) == 1 else None
    if not isinstance(name, ast.Name) or mutant.whole[:1].isspace():
        return None
    copies = [p for p in after if p not in before and mutant.whole in after[p]]
    read = re.compile(rf"\b{name.id}\b").search
    others = [p for p in after if p != mutant.path and p not in copies and read(after[p])]
    if len(copies) != 1 or others or read(mutant.text):
        return None
    return f"{mutant.path} gives {name.id} away to {copies[0]}, and reads it no more"


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
