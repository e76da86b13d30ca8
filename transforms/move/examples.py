"""Examples in docstrings run among the names of their module: which of them a move parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from transforms.move.cut import Cut
from transforms.result.outcome import Note

_EXAMPLE = re.compile(r"(?m)^[ \t]*(?:>>>|\.\.\.)[ \t](.*)$")
_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_BOUND = re.compile(r"\bimport[ \t]+(.*)|^[ \t]*([^\W\d]\w*)[ \t]*=(?!=)")


def example_names(cut: Cut) -> Iterator[Note]:
    """A note for each docstring whose examples use a name that they no longer find."""
    source = cut.source
    symbols = source.symbols
    if ">>>" not in symbols.module.text:
        return
    lost = set(cut.lost())
    for statement in symbols.statements:
        group = source.cut.get(statement.index)
        if group is None:
            missing = lost
        else:
            body = [*group.body, *group.carried, *group.copied]
            there = {name for index in body for name in symbols.binds(index)}
            missing = set(symbols.bindings) - there - set(symbols.uses(body))
        for node, text in _docstrings(statement.node) if missing else ():
            used = _used(text) & missing
            if used:
                name = min(used)
                message = (
                    f"An example uses `{name}`, which its module has no more; import it there."
                )
                place = source.place(getattr(node, "lineno", 1))
                yield Note("doctest", place, message)


def _docstrings(node: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.walk(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            if isinstance(child.value.value, str) and ">>>" in child.value.value:
                yield child, child.value.value


def _used(text: str) -> set[str]:
    """Names that examples look up and do not bind themselves."""
    used: set[str] = set()
    bound: set[str] = set()
    for example in _EXAMPLE.finditer(text):
        code = example[1].partition("#")[0]
        found = _BOUND.search(code)
        if found is not None:
            bound |= set(_WORD.findall(found[1] or found[2]))
        used |= set(_WORD.findall(_without_texts(code)))
    return used - bound


def _without_texts(code: str) -> str:
    return re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", code)
