"""One file as the kernel sees it: its text, top-level statements and comments, or why it is opaque.

Offsets count characters of the decoded text, lines count from 1. Line endings are normalised
before anything else, as Python itself does, so a moved statement may change them and stay itself.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TRY: tuple[type, ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))

MOST_BYTES = 8 << 20  # of one Python file; nobody reviews a larger one, and parsing takes minutes
MOST_OPERATORS = 20_000  # in one expression; CPython 3.10 overflows its stack above some 100,000
_NESTING = ("not", "and", "or", "if", "lambda", "await", "in", "is", *"-+*/%@&|^.<>=~([{")
_OPERATORS = re.compile("|".join(rf"\b{w}\b" if w.isalpha() else re.escape(w) for w in _NESTING))

# What stops an older parser, and the version that reads it. Tried on the line of the error and on
# the line before it.
_NEWER = (
    (re.compile(r"\bexcept\s*\*"), (3, 11)),
    (re.compile(r"\w\[[^\]]*\*\w"), (3, 11)),
    (re.compile(r"^\s*type\s+\w+\s*(?:\[.*\])?\s*="), (3, 12)),
    (re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[[^\]]*=[^\]]*\]"), (3, 13)),
    (re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\["), (3, 12)),
    (re.compile(r"\b[rR]?[tT][rR]?[\"']"), (3, 14)),
    (re.compile(r"^\s*except\s+[\w.]+\s*,\s*[\w.]+"), (3, 14)),
    (re.compile(r"\b[rR]?[fF][rR]?[\"']"), (3, 12)),
)


class OpaqueError(Exception):
    """A file that cannot be judged. `needs` is the Python version that may read it, if known."""

    def __init__(self, line: int, why: str, needs: tuple[int, int] | None = None) -> None:
        super().__init__(why)
        self.line = line
        self.why = why
        self.needs = needs


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment outside of every statement, with the top-level statement it stands at.

    `role` is `lead` (directly above `unit`), `inline` (behind it), `tail` (indented, below it) or
    `free` (set apart by a blank line; `unit` is then the statement below, or the number of
    statements at the end of a file).
    """

    text: str
    line: int
    role: str
    unit: int


@dataclass(slots=True)
class Unit:
    """A top-level statement: `text` runs from its first decorator to its last token."""

    index: int
    node: ast.stmt
    start: int
    end: int
    line: int
    last: int
    text: str


@dataclass
class Source:
    """A parsed file."""

    path: str
    text: str
    units: list[Unit]
    comments: list[Comment]
    starts: list[int] = field(repr=False)
    tree: ast.Module = field(repr=False)
    coded: bool = False  # declares or needs an encoding other than UTF-8

    def offset(self, line: int, column: int) -> int:
        """Give the offset of an AST position, whose column counts UTF-8 bytes."""
        return _offset(self.text, self.starts, line, column)

    def line_at(self, offset: int) -> int:
        """Give the line that an offset lies on."""
        return bisect_right(self.starts, offset)

    def line_text(self, line: int) -> str:
        """Give one line without its end."""
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end]

    @cached_property
    def futures(self) -> frozenset[str]:
        """The names that `from __future__` brings into force."""
        found: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
                found.update(alias.name for alias in node.names)
        return frozenset(found)

    @cached_property
    def docstring(self) -> int | None:
        """The statement that is the module's docstring."""
        first = self.tree.body[0] if self.tree.body else None
        return 0 if first is not None and is_text(first) else None


def is_text(node: ast.stmt) -> bool:
    """Tell whether a statement is a bare string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_python(path: str, data: bytes) -> bool:
    """Tell whether a regular file is Python: by its name, or by the first line of a script."""
    if path.endswith(".py"):
        return True
    name = path.rpartition("/")[2]
    return "." not in name and data[:2] == b"#!" and b"python" in data[:80].partition(b"\n")[0]


def decode(data: bytes) -> tuple[str, bool]:
    """Decode as Python would, line endings normalised; tell if it is not plain UTF-8."""
    if len(data) > MOST_BYTES:
        raise OpaqueError(1, f"the file is larger than {MOST_BYTES >> 20} MiB")
    if b"\0" in data:
        raise OpaqueError(data[: data.index(b"\0")].count(b"\n") + 1, "a null byte")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise OpaqueError(line, f"bytes that are not {error.encoding}") from None
    except (SyntaxError, LookupError, ValueError) as error:
        raise OpaqueError(1, f"no encoding that Python knows: {error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n"), not encoding.startswith("utf-8")


def parse(path: str, data: bytes) -> Source:
    """Read one Python file. Raises `OpaqueError`."""
    text, coded = decode(data)
    tree = syntax(text)
    starts = [0]
    starts.extend(match.end() for match in re.finditer("\n", text))
    units = []
    for index, node in enumerate(tree.body):
        start = _start(text, starts, node)
        end = _offset(text, starts, node.end_lineno or node.lineno, node.end_col_offset or 0)
        first, last = bisect_right(starts, start), node.end_lineno or node.lineno
        units.append(Unit(index, node, start, end, first, last, text[start:end]))
    return Source(path, text, units, list(_comments(text, units)), starts, tree, coded)


def syntax(text: str) -> ast.Module:
    """Parse text. Raises `OpaqueError`, with the version needed where the syntax is newer."""
    if sum(map(text.count, _NESTING)) > MOST_OPERATORS:  # cheap, and rarely true
        for part in re.split("[,;:]", text):
            if len(_OPERATORS.findall(part)) > MOST_OPERATORS:
                raise OpaqueError(1, "an expression nests too deeply")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        why = error.msg or "it does not parse"
        raise OpaqueError(line, f"it does not parse: {why}", _needs(text, line)) from None
    except (RecursionError, MemoryError):
        raise OpaqueError(1, "an expression nests too deeply") from None
    except ValueError as error:
        raise OpaqueError(1, f"it does not parse: {error}") from None


def _needs(text: str, line: int) -> tuple[int, int] | None:
    lines = text.split("\n")[max(0, line - 2) : line]
    for pattern, version in _NEWER:
        if any(pattern.search(part) for part in lines):
            return version
    return None


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    start = starts[line - 1]
    if column == 0:
        return start
    part = text[start : start + column]
    if part.isascii():
        return start + column
    end = starts[line] if line < len(starts) else len(text)
    return start + len(text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8"))


def _start(text: str, starts: list[int], node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    if decorators:
        first = _offset(text, starts, decorators[0].lineno, decorators[0].col_offset)
        return text.rindex("@", 0, first)
    return _offset(text, starts, node.lineno, node.col_offset)


def start_of(source: Source, node: ast.stmt) -> int:
    """Give the offset where a statement begins, decorators included."""
    return _start(source.text, source.starts, node)


def _comments(text: str, units: list[Unit]) -> Iterator[Comment]:
    """Find the comments between top-level statements, each with its place."""
    edges = [0, *(unit.end for unit in units)]
    for index, start in enumerate(edges):
        end = units[index].start if index < len(units) else len(text)
        gap = text[start:end]
        if "#" not in gap:
            continue
        line = text.count("\n", 0, start) + 1
        yield from _gap(gap.split("\n"), line, index, len(units))


def _gap(rows: list[str], line: int, following: int, number: int) -> Iterator[Comment]:
    """Place the comments of one gap: `rows[0]` is what stands behind the statement before it."""
    found: list[tuple[int, str, bool]] = []  # row, text, indented
    for row, content in enumerate(rows):
        bare = content.strip(" \t\f;\\")
        if not bare.startswith("#"):
            continue
        if row == 0 and following > 0:
            yield Comment(bare, line, "inline", following - 1)
        else:
            found.append((row, bare, content[:1] in " \t"))
    touching = len(rows) - 1  # the row of the statement below
    leads: set[int] = set()
    if following < number:
        for row, _, indented in reversed(found):
            if row != touching - 1 or (indented and following > 0 and _all_indented(found, row)):
                break
            leads.add(row)
            touching = row
    for row, bare, indented in found:
        if row in leads:
            yield Comment(bare, line + row, "lead", following)
        elif indented and following > 0 and _all_indented(found, row):
            yield Comment(bare, line + row, "tail", following - 1)
        else:
            yield Comment(bare, line + row, "free", following)


def _all_indented(found: list[tuple[int, str, bool]], row: int) -> bool:
    """Tell whether every comment up to this row is indented: they belong to the block above."""
    return all(indented for place, _, indented in found if place <= row)


class Guard(NamedTuple):
    """One block around an import or a binding: which branch of what."""

    branch: str  # `if`, `else`, `try`, `except`, ... with a number where several are alike
    tests: tuple[ast.expr, ...]  # what decides it; for `try`, the types that are caught
    owner: ast.stmt


class Import(NamedTuple):
    """One name that an import statement brings. `member` is None for `import module`."""

    name: str
    level: int
    module: str
    member: str | None
    line: int
    statement: ast.stmt

    @property
    def spelled(self) -> str:
        """Give the import as one would write it."""
        source = "." * self.level + self.module
        if self.member is None:
            alias = "" if self.name == source.partition(".")[0] else f" as {self.name}"
            return f"import {source}{alias}"
        alias = "" if self.name == self.member or self.member == "*" else f" as {self.name}"
        return f"from {source} import {self.member}{alias}"


class Site(NamedTuple):
    """A place that binds a name of the module. `later` is a `global` statement's assignment."""

    name: str
    unit: int
    ordinal: int  # among the sites of this name in its statement
    line: int
    what: str  # `bind`, `import`, `later` or `del`
    guards: tuple[Guard, ...]
    imported: Import | None


def imports_of(node: ast.stmt) -> Iterator[Import]:
    """List what an import statement brings."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield Import(name, 0, alias.name, None, node.lineno, node)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            name = alias.asname or alias.name
            line = getattr(alias, "lineno", node.lineno)
            yield Import(name, node.level, node.module or "", alias.name, line, node)


def blocks(node: ast.stmt) -> Iterator[tuple[str, tuple[ast.expr, ...], Sequence[ast.stmt]]]:
    """List the blocks of a compound statement that opens no scope: branch, tests, statements."""
    if isinstance(node, (ast.If, ast.While)):
        yield "if", (node.test,), node.body
        yield "else", (node.test,), node.orelse
    elif isinstance(node, _TRY):
        caught = tuple(h.type for h in node.handlers if h.type is not None)  # type: ignore[attr-defined]
        yield "try", caught, node.body  # type: ignore[attr-defined]
        for index, handler in enumerate(node.handlers):  # type: ignore[attr-defined]
            yield f"except {index}", caught, handler.body
        yield "try else", caught, node.orelse  # type: ignore[attr-defined]
        yield "finally", (), node.finalbody  # type: ignore[attr-defined]
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield "for", (), node.body
        yield "for else", (), node.orelse
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield "with", tuple(item.context_expr for item in node.items), node.body
    elif isinstance(node, ast.Match):
        for index, case in enumerate(node.cases):
            yield f"case {index}", (node.subject,), case.body


def only_imports(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing but import, perhaps on a condition.

    An `except` may also `pass`. A test with an assignment or an `await` does more than decide.
    """
    if isinstance(node, IMPORTS):
        return True
    if not isinstance(node, (ast.If, *_TRY)):
        return False
    for branch, tests, body in blocks(node):
        handler = branch.startswith("except")
        for statement in body:
            if not (only_imports(statement) or (handler and isinstance(statement, ast.Pass))):
                return False
        for test in tests:
            if any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(test)):
                return False
    return any(isinstance(part, IMPORTS) for part in ast.walk(node))


def bound(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """List what statements bind in their own scope, without entering functions and classes.

    `global` and `nonlocal` statements are given too, as pairs of their name and themselves.
    """
    todo = list(nodes)[::-1]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id, node
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node
            todo.extend(reversed(_outer(node)))
        elif isinstance(node, ast.Lambda):
            todo.extend(reversed([*node.args.defaults, *filter(None, node.args.kw_defaults)]))
        elif isinstance(node, _COMPREHENSIONS):
            yield from _walrus(node)
        elif isinstance(node, IMPORTS):
            for item in imports_of(node):
                yield item.name, node
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                yield name, node
        else:
            name = _named(node)
            if name is not None:
                yield name, node
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


def _named(node: ast.AST) -> str | None:
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return node.name
    return node.rest if isinstance(node, ast.MatchMapping) else None


def _walrus(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.NamedExpr):
            yield child.target.id, child
        if not isinstance(child, ast.Lambda):
            yield from _walrus(child)


def _outer(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.AST]:
    """List the parts of a definition that its own scope does not hold."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]


def sites(unit: int, node: ast.stmt, text: str) -> Iterator[Site]:
    """List what a top-level statement (and its source text) binds in its module, in order."""
    counts: dict[str, int] = {}
    found: list[tuple[str, str, int, tuple[Guard, ...], Import | None]] = []
    _collect([node], (), found)
    for name in _globals(node) if "global" in text else ():
        found.append((name, "later", node.lineno, (), None))
    for name, what, line, guards, imported in found:
        ordinal = counts.get(name, 0)
        counts[name] = ordinal + 1
        yield Site(name, unit, ordinal, line, what, guards, imported)


def _collect(
    body: Sequence[ast.stmt],
    guards: tuple[Guard, ...],
    found: list[tuple[str, str, int, tuple[Guard, ...], Import | None]],
) -> None:
    for node in body:
        if isinstance(node, IMPORTS):
            found.extend((i.name, "import", i.line, guards, i) for i in imports_of(node))
            continue
        inner = list(blocks(node))
        statements = {id(part) for _, _, block in inner for part in block}
        own = [node] if not inner else _headers(node, statements)
        for name, part in bound(own):
            if isinstance(part, (ast.Global, ast.Nonlocal)):
                continue
            what = "del" if isinstance(getattr(part, "ctx", None), ast.Del) else "bind"
            found.append((name, what, getattr(part, "lineno", node.lineno), guards, None))
        for branch, tests, block in inner:
            _collect(block, (*guards, Guard(branch, tests, node)), found)


def _headers(node: ast.AST, statements: set[int]) -> list[ast.AST]:
    """List the parts of a compound statement that are no block of it."""
    parts: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if id(child) in statements:
            continue
        if isinstance(child, (ast.ExceptHandler, ast.match_case)):
            if isinstance(child, ast.ExceptHandler) and child.name:
                parts.append(ast.Name(child.name, ast.Store(), lineno=child.lineno, col_offset=0))
            parts.extend(_headers(child, statements))
        else:
            parts.append(child)
    return parts


def _globals(node: ast.stmt) -> list[str]:
    """List the module's names that functions of a statement assign through `global`."""
    found: dict[str, None] = {}
    for part in ast.walk(node):
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            inside = list(bound(part.body))
            declared = {name for name, what in inside if isinstance(what, ast.Global)}
            for name, what in inside:
                if name in declared and not isinstance(what, ast.Global):
                    found[name] = None
    return list(found)
