"""The tokens of one import statement, found by LibCST. Importing this module imports LibCST."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transforms.import_rows import Token, normalized
from transforms.import_types import ImportedName

_CODE = cst.Module([])
# LibCST nests one node in another for each part of a dotted name and walks them recursively.
_PARTS = 100


def tokens(text: str) -> Iterator[Token]:
    """Every piece of the statement in order; the pieces joined are the text.

    ValueError if the text is not exactly one import statement, or a dotted name in it has so
    many parts (hundreds) that LibCST cannot read it.
    """
    try:
        module = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise ValueError(f"not an import statement: {text[:80]!r}") from error
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
    if isinstance(statement, cst.ImportFrom):
        yield from _from_import(statement)
    elif isinstance(statement, cst.Import):
        yield Token("head", "import")
        yield from _after_import(statement.whitespace_after_import)
        yield from _names(statement.names)
    else:
        raise ValueError(f"not an import statement: {text[:80]!r}")
    if statement.semicolon is not cst.MaybeSentinel.DEFAULT:
        raise ValueError(f"more than the statement: {text[:80]!r}")
    tail = line.trailing_whitespace
    comment = tail.comment.value if tail.comment else ""
    yield Token("tail", tail.whitespace.value + comment)


def _from_import(statement: cst.ImportFrom) -> Iterator[Token]:
    yield Token("lead", "from" + _code(statement.whitespace_after_from))
    module = "".join(_code(dot) for dot in statement.relative)
    if statement.module is not None:
        module += _code(statement.module)
    blanks = len(module) - len(module.rstrip())
    yield Token("module", module[: len(module) - blanks])
    yield Token("head", module[len(module) - blanks :] + _code(statement.whitespace_before_import))
    yield Token("head", "import")
    if statement.lpar is not None:
        yield Token("head", _code(statement.whitespace_after_import))
        yield Token("(", "(")
        yield Token("blank", _code(statement.lpar.whitespace_after))
    else:
        yield from _after_import(statement.whitespace_after_import)
    if isinstance(statement.names, cst.ImportStar):
        yield Token("name", "*", ImportedName("*"))
    else:
        yield from _names(statement.names)
    if statement.rpar is not None:
        yield Token("blank", _code(statement.rpar.whitespace_before))
        yield Token(")", ")")


def _after_import(blank: cst.SimpleWhitespace) -> Iterator[Token]:
    """What stands before an unbracketed first name: part of the head unless it breaks the line."""
    broken = "\n" in blank.value or "\r" in blank.value
    yield Token("blank" if broken else "head", blank.value)


def _names(names: object) -> Iterator[Token]:
    assert isinstance(names, (list, tuple))  # noqa: S101 - LibCST types it as a bare Sequence
    for alias in names:
        comma = alias.comma
        bare = alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        yield Token("name", _code(bare), _imported(bare))
        if isinstance(comma, cst.Comma):
            yield Token("blank", _code(comma.whitespace_before))
            yield Token(",", ",")
            yield Token("blank", _code(comma.whitespace_after))


def _imported(alias: cst.ImportAlias) -> ImportedName:
    name = normalized(alias.evaluated_name)
    asname = alias.evaluated_alias
    return ImportedName(name, None if asname is None else normalized(asname))


def _code(node: cst.CSTNode) -> str:
    return _CODE.code_for_node(node)
