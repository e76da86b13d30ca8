"""Rows of the tables on import statements, and the one way to check them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import pytest

from transforms.imports.looks import Look
from transforms.imports.statement import (
    ImportedName,
    ImportStatement,
    ImportStyle,
    NameComments,
    Shrink,
)

COLLAPSE, KEEP, EXPLODE = Shrink.COLLAPSE, Shrink.KEEP, Shrink.EXPLODE
GRID = ImportStyle(width=79, wrap="grid", trailing_comma=False, closing_on_own_line=False)
HANGING = ImportStyle(width=79, wrap="hanging")
BACKSLASH = ImportStyle(width=79, wrap="backslash")


def named(text: str) -> ImportedName:
    """`a.b as c` in the words of `ast`."""
    name, _, asname = text.partition(" as ")
    return ImportedName(name, asname or None)


def imported(text: str) -> tuple[str | None, tuple[ImportedName, ...]]:
    """What a statement imports according to `ast`: the module and the names."""
    node = parsed(text)
    names = tuple(ImportedName(alias.name, alias.asname) for alias in node.names)
    if isinstance(node, ast.Import):
        return None, names
    return "." * node.level + (node.module or ""), names


def parsed(text: str) -> ast.Import | ast.ImportFrom:
    (node,) = ast.parse(text).body
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    return node


def look_at(text: str) -> Look:
    """A look at a statement as it stands in its file."""
    return Look(text, "", parsed(text))


@dataclass(frozen=True)
class Case:
    """One edit of one statement; its sentence is its id."""

    sentence: str
    before: str
    after: str | None
    out: str = ""  # names that leave, with `, ` between
    into: str = ""  # names that come
    module: str | None = None
    shrink: Shrink = COLLAPSE
    style: ImportStyle = field(default_factory=ImportStyle)
    indent: str = ""
    width: int | None = None
    comments: dict[str, NameComments] = field(default_factory=dict)


def check(case: Case) -> None:
    """The only way to test an edit: it gives `after`, and done again it changes nothing."""
    edited = apply(case, case.before)
    assert edited == case.after, f"{edited}\n-- instead of --\n{case.after}"
    if edited is not None:
        assert apply(case, edited) == edited


def apply(case: Case, text: str) -> str | None:
    statement = ImportStatement.parse(text, style=case.style, indent=case.indent, width=case.width)
    if case.module is not None:
        return statement.renamed(case.module)
    if case.into:
        found = {named(name): comments for name, comments in case.comments.items()}
        return statement.with_names(list(map(named, case.into.split(", "))), comments=found)
    return statement.without(set(map(named, case.out.split(", "))), case.shrink)


def table(*cases: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(c, id=c.sentence) for c in cases])


EXPLODED = "from m import (\n    a,\n    b,\n    c,\n)"
COMMENTED = "from m import (\n    a,  # why a\n    b,  # why b\n)"
FILLED_GRID = (
    "from module import (alpha_function, beta_function, delta_function,\n"
    "                    epsilon_function, gamma_function, kappa_function,\n"
    "                    lambda_function)"
)
