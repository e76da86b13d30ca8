"""One import statement as LibCST reads and prints it. Importing this module imports LibCST.

That takes 0.2 s, so only statements that are edited or written come here, each text once; what is
only looked at is for `transforms.imports.looks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from transforms.imports.names import ImportedName, LongName, Token, normalized
from transforms.tree.names import MOST_PARTS

_COMMENT = re.compile(r"#[^\r\n]*")
_TEXTS = 4096


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement in pieces, in order: joined they are its text. `code` is what LibCST prints."""

    tokens: tuple[Token, ...]
    code: str


@lru_cache(_TEXTS)
def read(text: str) -> Reading:
    """Read the text of one import statement.

    ValueError if the text is not exactly one import statement: `LongName` if a dotted name in it
    has more parts than LibCST survives.
    """
    _refuse_long_names(text)
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise ValueError(f"not an import statement: {text[:80]!r}") from error
    reading = Reading(tuple(_tokens(module, text)), module.code)
    if reading.code != text or "".join(token.text for token in reading.tokens) != text:
        raise ValueError(f"not given back by LibCST as it is: {text[:80]!r}")
    return reading


def _refuse_long_names(text: str) -> None:
    if max(part.count(".") for part in _COMMENT.sub("", text).split(",")) >= MOST_PARTS:
        raise LongName(f"an import statement with a name of more than {MOST_PARTS} parts")


def _tokens(module: cst.Module, text: str) -> Iterator[Token]:
    line = module.body[0] if len(module.body) == 1 else None
    if (
        not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) != 1
        or module.header
        or module.footer
        or line.leading_lines
    ):
        raise ValueError(f"not one import statement: {text[:80]!r}")
    statement = line.body[0]
    if not isinstance(statement, (cst.Import, cst.ImportFrom)):
        raise ValueError(f"not an import statement: {text[:80]!r}")
    if statement.semicolon is not cst.MaybeSentinel.DEFAULT:
        raise ValueError(f"more than the statement: {text[:80]!r}")
    yield from _Pieces(module).of(statement)
    tail = line.trailing_whitespace
    yield Token("tail", tail.whitespace.value + (tail.comment.value if tail.comment else ""))


class _Pieces:
    """The pieces of statements of a module, with its line ends."""

    def __init__(self, module: cst.Module) -> None:
        self._code = module.code_for_node

    def of(self, statement: cst.Import | cst.ImportFrom) -> Iterator[Token]:
        if isinstance(statement, cst.ImportFrom):
            yield from self._from_import(statement)
        else:
            yield Token("head", "import")
            yield from _after_import(statement.whitespace_after_import)
            yield from self._names(statement.names)

    def _from_import(self, statement: cst.ImportFrom) -> Iterator[Token]:
        yield Token("lead", "from" + self._code(statement.whitespace_after_from))
        module = "".join(self._code(dot) for dot in statement.relative)
        if statement.module is not None:
            module += self._code(statement.module)
        blanks = len(module) - len(module.rstrip())
        yield Token("module", module[: len(module) - blanks])
        yield Token(
            "head", module[len(module) - blanks :] + self._code(statement.whitespace_before_import)
        )
        yield Token("head", "import")
        if statement.lpar is not None:
            yield Token("head", self._code(statement.whitespace_after_import))
            yield Token("(", "(")
            yield Token("blank", self._code(statement.lpar.whitespace_after))
        else:
            yield from _after_import(statement.whitespace_after_import)
        if isinstance(statement.names, cst.ImportStar):
            yield Token("name", "*", ImportedName("*"))
        else:
            yield from self._names(statement.names)
        if statement.rpar is not None:
            yield Token("blank", self._code(statement.rpar.whitespace_before))
            yield Token(")", ")")

    def _names(self, names: object) -> Iterator[Token]:
        assert isinstance(names, (list, tuple))  # noqa: S101 - LibCST types it as a bare Sequence
        for alias in names:
            comma = alias.comma
            bare = alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)
            yield Token("name", self._code(bare), _imported(bare))
            if isinstance(comma, cst.Comma):
                yield Token("blank", self._code(comma.whitespace_before))
                yield Token(",", ",")
                yield Token("blank", self._code(comma.whitespace_after))


def _after_import(blank: cst.SimpleWhitespace) -> Iterator[Token]:
    """What stands before an unbracketed first name: part of the head unless it breaks the line."""
    broken = "\n" in blank.value or "\r" in blank.value
    yield Token("blank" if broken else "head", blank.value)


def _imported(alias: cst.ImportAlias) -> ImportedName:
    name = normalized(alias.evaluated_name)
    asname = alias.evaluated_alias
    return ImportedName(name, None if asname is None else normalized(asname))
