"""Where the characters of a string's value stand in the source, if they do."""

from __future__ import annotations

import ast
import re

from transforms.scopes.types import Reference
from transforms.source.module import Module

_PLAIN = re.compile(r"""[uUrR]?('''|\"\"\"|'|\")(.*)\1\Z""", re.DOTALL)
_TYPE_COMMENT = re.compile(r"#[ \t]*type:[^\r\n]*")


def value_offset(module: Module, node: ast.Constant) -> int | None:
    """The offset at which the value of a string literal begins, if it stands there as it is.

    None for a literal with escapes, or in several pieces.
    """
    start, end = module.span(node)
    found = _PLAIN.match(module.text[start:end])
    if found is None or found[2] != node.value:
        return None
    return start + found.start(2)


def annotation_spans(
    module: Module, reference: Reference, attributes: int
) -> list[tuple[int, int]]:
    """Where a string annotation or a type comment spells a name and its first few attributes.

    `reference` is one in a string or a comment. Empty if its place cannot be told. A comment may
    spell the same several times: all are given.
    """
    chain = [reference.name, *reference.attributes[:attributes]]
    dotted = r"[ \t]*\.[ \t]*".join(map(re.escape, chain))
    rest = "".join(
        rf"(?=[ \t]*\.[ \t]*{re.escape(a)}\b)" for a in reference.attributes[attributes:][:1]
    )
    pattern = re.compile(rf"(?<![\w.]){dotted}\b{rest}")
    if reference.annotation == "type comment" and not isinstance(reference.node, ast.Constant):
        return _in_comment(module, reference.node, pattern)
    if not isinstance(reference.node, ast.Constant) or reference.span is None:
        return []
    begin = value_offset(module, reference.node)
    if begin is None:
        return []
    found = pattern.match(module.text, begin + reference.span[0])
    return [found.span()] if found else []


def _in_comment(module: Module, node: ast.AST, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Matches in the type comments of a statement's own lines, not of those inside it."""
    first = getattr(node, "lineno", 1)
    last = getattr(node, "end_lineno", None) or first
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        last = max(first, body[0].lineno - (body[0].lineno > first))
    start = module.line_starts[first - 1]
    end = module.line_end(module.line_starts[last - 1])
    return [
        found.span()
        for comment in _TYPE_COMMENT.finditer(module.text, start, end)
        for found in pattern.finditer(module.text, *comment.span())
    ]
