"""The words for import statements: their names, comments, layouts, and a file's import style.

Plain frozen data, shared by `transforms.imports.statement` (edits of one statement) and
`transforms.imports.style` (what a file's own statements show).
"""

from __future__ import annotations

import enum
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from transforms.source.imports import ImportedName

Wrap = Literal["exploded", "grid", "hanging", "backslash"]
NameOrder = Literal["case-sensitive", "case-insensitive", "isort"]
StatementOrder = Literal["straight first", "from first", "by module"]

# A comment that tells a tool something about its line or statement, not the reader: it is copied
# to what is made from the statement, and its length does not count when a line is measured
# (Ruff's E501 and pycodestyle's `noqa` treat it the same way).
_PRAGMA = re.compile(
    r"#\s*(?:noqa\b|type:|pylint:|isort:|ruff:|flake8:|mypy:|pyright:|pyre-|nosec\b|fmt:|usort:"
    r"|pragma:|NOLINT|NOQA\b|pytype:|ty:)"
)


class Layout(enum.Enum):
    """How a statement is laid out; the values are the words used in reports."""

    ONE_LINE = "one line"
    PARENTHESIZED = "parenthesized one line"
    EXPLODED = "exploded"  # one name a line in parentheses, the first below the bracket
    GRID = "grid"  # in parentheses, the first name right after the bracket
    HANGING = "hanging"  # several names a line in parentheses, the first below the bracket
    BACKSLASH = "backslash"


class Shrink(enum.Enum):
    """What becomes of a statement that loses names.

    `COLLAPSE` joins it on one line if it fits and no comment would be lost, else keeps its form;
    `KEEP` takes the names out and keeps the form; `EXPLODE` gives one name a line.
    """

    COLLAPSE = "collapse"
    KEEP = "keep"
    EXPLODE = "explode"


@dataclass(frozen=True, slots=True)
class NameComments:
    """The comments that belong to one name, without their indentation, each with its `#`."""

    above: tuple[str, ...] = ()
    trailing: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement: `lead`, `module`, `head`, `(`, `name`, `,`, `blank`, `)`, `tail`."""

    kind: str
    text: str
    name: ImportedName | None = None


@dataclass(frozen=True, slots=True)
class ImportStyle:
    """How a file writes its imports. The defaults are PEP 8's advice as Black prints it.

    `width` is in characters and counts the statement's indentation. `closing_on_own_line` and
    `trailing_comma` hold for the parenthesized wraps. `section_gap` is the number of blank lines
    between sections (standard library, third party, first party, relative).
    """

    width: int = 88
    wrap: Wrap = "exploded"
    trailing_comma: bool = True
    closing_on_own_line: bool = True
    one_name_per_statement: bool = False
    sorted_names: bool = True
    name_order: NameOrder = "isort"
    indent_unit: str = "    "
    sorted_statements: bool = True
    statement_order: StatementOrder = "straight first"
    ignore_module_case: bool = True
    section_gap: int = 1


class LongName(ValueError):
    """A dotted name in an import statement has more parts (hundreds) than LibCST can read."""


def is_pragma(comment: str) -> bool:
    """Whether a comment speaks to a tool: `# noqa`, `# type: ignore`, `# isort: skip`, ..."""
    return _PRAGMA.search(comment) is not None


def normalized(identifier: str) -> str:
    """An identifier as Python compares it (PEP 3131)."""
    return identifier if identifier.isascii() else unicodedata.normalize("NFKC", identifier)


__all__ = [
    "ImportStyle",
    "ImportedName",
    "Layout",
    "LongName",
    "NameComments",
    "NameOrder",
    "Shrink",
    "StatementOrder",
    "Token",
    "Wrap",
    "is_pragma",
    "normalized",
]
