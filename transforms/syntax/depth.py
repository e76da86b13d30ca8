"""How deeply a module nests: a cheap bound before parsing, and the exact depth after it.

CPython 3.10 overflows its own stack on a chain of some 100,000 operators, LibCST's parser on
some 3,000 levels, and both take the process down. Later interpreters stop at 3,000 levels less
three for each Python frame on the stack. One limit, well below all of these, gives the same
answer everywhere.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

# Levels of the syntax tree. Real code stays below 100; generated chains of `elif` or `+` may not.
DEPTH_LIMIT = 1_000
# Operators in one chain that CPython 3.10 surely survives.
CHAIN_LIMIT = 20_000

_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
# What has nothing below it. A tree has many of these, and looking into each doubles the time.
_LEAVES = frozenset(
    {type(None), str, int, ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.alias}
    | {*ast.operator.__subclasses__(), *ast.unaryop.__subclasses__()}
    | {*ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__()}
)
_CHAIN_BYTES = b"+-*/%@&|^.([{<>"
_OTHER_BYTES = bytes(set(range(256)) - set(_CHAIN_BYTES))
_TOKENS = re.compile(
    rb"""\#[^\n]*
    | (?P<prefix>[A-Za-z]{0,2})
      (?: \"\"\" [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* \"\"\"
        | '''    [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '''
        | "      [^"\\\n]* (?: \\. [^"\\\n]* )* "
        | '      [^'\\\n]* (?: \\. [^'\\\n]* )* ' )
    | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<end>[,;:]) | (?P<newline>\n) | \\\r?\n
    | (?P<operator>\*\* | // | << | >> | [-+*/%@&|^.]) """,
    re.VERBOSE | re.DOTALL,
)


def longest_chain(data: bytes, at_least: int = CHAIN_LIMIT) -> tuple[int, int]:
    """Bound the operators that nest in one expression of `data`, and give its line (from 1).

    A bound from above, by counting characters. What is shorter than `at_least`, and a file whose
    brackets do not match, which the parser gives up before it builds a tree, count as 0.
    """
    if len(data.translate(None, _OTHER_BYTES)) < at_least:
        return 0, 1  # far cheaper than looking
    counts = [0]  # operators so far: of the statement, then of each open bracket
    total = longest = where = 0
    for match in _TOKENS.finditer(data):
        kind = match.lastgroup
        if kind == "operator":
            counts[-1] += 1
            total += 1
        elif kind == "open":
            counts[-1] += 1
            counts.append(0)
            total += 1
        elif kind == "close":
            if len(counts) == 1:
                return 0, 1
            total -= counts.pop()
        elif kind == "end" or (kind == "newline" and len(counts) == 1):
            total -= counts[-1]
            counts[-1] = 0
        elif kind == "prefix" and match["prefix"].lower() in (b"f", b"rf", b"fr"):
            inside = len(match[0].translate(None, _OTHER_BYTES))
            if total + inside > longest:
                longest, where = total + inside, match.start()
        if total > longest:
            longest, where = total, match.start()
    if len(counts) > 1 or longest < at_least:
        return 0, 1
    return longest, data.count(b"\n", 0, where) + 1


def too_deep(tree: ast.Module, lines: Iterable[bytes], limit: int = DEPTH_LIMIT) -> Any:
    """Find a node of `tree` that stands more than `limit` levels deep, or None.

    A level takes a byte of source at least, so short statements are not walked.
    `lines` are the module's lines, as split at newlines.
    """
    starts = [0, 0, *accumulate(len(line) for line in lines)]  # by line number, from 1
    waiting: list[tuple[Any, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limit:
            return node
        if hasattr(node, "lineno") and _extent(node, starts) <= limit - depth:
            continue
        header: list[Any] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _BLOCKS):
                waiting.append((child, depth + 1))
            else:
                header.append(child)
        if header:
            found = _deep_expression(header, limit - depth)
            if found is not None:
                return found
    return None


def _extent(node: Any, starts: list[int]) -> int:
    """Measure a statement's source in bytes, decorators included."""
    first = node
    if getattr(node, "decorator_list", None):
        first = node.decorator_list[0]
    if node.end_lineno >= len(starts):
        return sys.maxsize  # an encoding that writes line ends in its own way
    begin: int = starts[first.lineno] + first.col_offset
    end: int = starts[node.end_lineno] + node.end_col_offset
    return end - begin


def _deep_expression(roots: list[Any], limit: int) -> Any:
    """Find the first node more than `limit` levels below the parent of `roots`, or None."""
    level = roots
    for _ in range(limit):
        below: list[Any] = []
        for node in level:
            for field in node._fields:
                value = getattr(node, field, None)
                if value.__class__ is list:
                    below += [part for part in value if part.__class__ not in _LEAVES]
                elif value.__class__ not in _LEAVES and isinstance(value, ast.AST):
                    below.append(value)
        if not below:
            return None
        level = below
    return next((node for node in level if hasattr(node, "lineno")), roots[0])
