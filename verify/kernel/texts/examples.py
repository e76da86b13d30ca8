"""Examples in the docstrings of modules: what they name is what their module has."""

from __future__ import annotations

import ast

from verify.kernel.edits.doctests import bound, examples
from verify.kernel.edits.needs import brought
from verify.kernel.edits.spelled import Spelled
from verify.kernel.pairs.both import Both
from verify.kernel.trees.nodes import walk
from verify.kernel.verdict import BREAKS, Place


def check(both: Both) -> None:
    """Report examples in a module's docstring that name what the module no longer has."""
    spelled = Spelled(both)
    for path in sorted(both.changed):
        now = both.relocated.get(path, path)
        if path not in both.base.files or now not in both.target.files:
            continue
        ours, theirs = both.base.readable(path), both.target.readable(now)
        tested = examples(ours.tree) if ours is not None else None
        if tested is None or theirs is None or examples(theirs.tree) is None:
            continue
        here, there = brought(both.base, path), brought(both.target, now)
        for name in sorted({n.id for n in walk(tested) if isinstance(n, ast.Name)} & here):
            if name in bound(tested):
                continue
            if name not in there or not spelled.same(path, (name,), now, (name,)):
                why = f"an example in its docstring names {name}, which it no longer has"
                both.found.say(BREAKS, both.name(now), why, Place(now, 1))
