"""One file: its statements, and the comments that stand at each.

Lines count from 1. Line endings are normalised first, as Python itself does, so a statement may
change them and stay itself.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from verify.kernel.trees.nodes import children, walk

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
TRIES: tuple[type, ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))

MOST_BYTES = 8 << 20  # of one Python file; nobody reviews a larger one, and parsing takes minutes
MOST_OPERATORS = 20_000  # in one expression; CPython 3.10 overflows its stack above some 100,000
NESTING = ("not", "and", "or", "if", "lambda", "await", "in", "is", *"-+*/%@&|^.<>=~([{")
OPERATORS = re.compile("|".join(rf"\b{w}\b" if w.isalpha() else re.escape(w) for w in NESTING))


# What stops an older parser, and the version that reads it; looked for near the error.
NEWER = (
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
    """A file that Python, as it runs here, cannot read; `needs` is the version that may."""

    def __init__(self, line: int, why: str, needs: tuple[int, int] | None = None) -> None:
        super().__init__(why)
        self.line = line
        self.why = why
        self.needs = needs


@dataclass(slots=True)
class Comment:
    """A comment. `alone` is one on a line of its own, `column` where it starts."""

    text: str
    line: int
    column: int
    alone: bool


@dataclass(slots=True)
class Statement:
    """A top-level statement from its first decorator to its last line."""

    index: int
    node: ast.stmt
    first: int
    last: int
    text: str
    comments: list[Comment] = field(default_factory=list)

    @property
    def imports_only(self) -> bool:
        """Tell whether it does nothing but import, guarded or not."""
        return imports_only(self.node)


@dataclass
class Source:
    """A parsed file. `free` are the comments that stand at no statement."""

    path: str
    text: str
    tree: ast.Module = field(repr=False)
    statements: list[Statement] = field(default_factory=list, repr=False)

    @cached_property
    def free(self) -> list[Comment]:
        """Give the comments that stand at no statement; those of statements are dealt out."""
        return _deal(self)

    @cached_property
    def asks_main(self) -> bool:
        """Tell whether something here, in whatever spelling, asks whether it is what starts."""
        said = "__main__" in self.text and "__name__" in self.text
        return said and any(map(asks_main, walk(self.tree)))

    @cached_property
    def postponed(self) -> bool:
        """Tell whether annotations are text here."""
        return any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in self.tree.body
        )


def imports_only(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing but import, under whatever guard."""
    if isinstance(node, IMPORTS):
        return True
    if not isinstance(node, (ast.If, *TRIES)):
        return False
    inner = [
        statement
        for block in blocks(node)
        for statement in block
        if not isinstance(statement, ast.Pass)
    ]
    return bool(inner) and all(map(imports_only, inner))


def asks_main(node: ast.AST) -> bool:
    """Tell whether an expression compares `__name__` with `"__main__"`, either way round."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [c.value for side in sides for c in walk(side) if isinstance(c, ast.Constant)]
    return "__name__" in names and "__main__" in texts


def is_main_guard(node: ast.stmt) -> bool:
    """Tell whether a statement runs where its module is what starts, and asks nothing else."""
    test = node.test if isinstance(node, ast.If) else None
    if not isinstance(test, ast.Compare) or not asks_main(test) or len(test.ops) > 1:
        return False
    sides = (test.left, *test.comparators)
    return isinstance(test.ops[0], ast.Eq) and any(isinstance(s, ast.Constant) for s in sides)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """List the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is a bare string."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def stored(node: ast.AST) -> Iterator[str]:
    """List the names that a statement binds in its own scope, imports included."""
    todo: list[ast.AST] = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, DEFINITIONS):
            yield at.name
            continue
        if isinstance(at, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(at, ast.Name) and isinstance(at.ctx, (ast.Store, ast.Del)):
            yield at.id
        elif isinstance(at, IMPORTS):
            for alias in at.names:
                yield alias.asname or alias.name.partition(".")[0]
        else:
            name = getattr(at, "name", None) or getattr(at, "rest", None)
            if isinstance(at, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
                if isinstance(name, str):
                    yield name
        todo.extend(children(at))


def dotted(node: ast.AST | None) -> tuple[ast.Name, tuple[str, ...]] | None:
    """Give `a.b.c` as the name that it begins with and its parts, or nothing for all else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node, (node.id, *reversed(parts))) if isinstance(node, ast.Name) else None


def last(node: ast.AST) -> str:
    """Give the last part of a name or an attribute."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_python(path: str, data: bytes) -> bool:
    """Tell whether a regular file is Python: by its name, or by the first line of a script."""
    if path.endswith((".py", ".pyw")):
        return True
    return data[:2] == b"#!" and b"python" in data[:80].partition(b"\n")[0]


def decode(data: bytes) -> str:
    """Decode as Python would, line endings normalised. Raises `OpaqueError`."""
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
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(path: str, data: bytes) -> Source:
    """Read one Python file. Raises `OpaqueError`."""
    text = decode(data)
    tree = _syntax(text)
    source = Source(path, text, tree)
    lines = text.split("\n")
    for index, node in enumerate(tree.body):
        decorators = getattr(node, "decorator_list", None) or [node]
        first, last = min(node.lineno, decorators[0].lineno), node.end_lineno or node.lineno
        own = "\n".join(lines[first - 1 : last])
        source.statements.append(Statement(index, node, first, last, own))
    for one, two in zip(source.statements, source.statements[1:], strict=False):
        if one.last >= two.first:  # several on a line: the text is that of the syntax tree
            for both in (one, two):
                both.text = ast.unparse(both.node)
    return source


def _syntax(text: str) -> ast.Module:
    many = len(text) > MOST_OPERATORS and sum(map(text.count, NESTING)) > MOST_OPERATORS
    if many and _nests(text):
        raise OpaqueError(1, "an expression nests too deeply")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        near = text.split("\n")[max(0, line - 2) : line]
        fitting = (needs for pattern, needs in NEWER if any(map(pattern.search, near)))
        why = f"it does not parse: {error.msg}"
        raise OpaqueError(line, why, next(fitting, None)) from None
    except (RecursionError, MemoryError):
        raise OpaqueError(1, "an expression nests too deeply") from None
    except ValueError as error:
        raise OpaqueError(1, f"it does not parse: {error}") from None


def _nests(text: str) -> bool:
    """Tell whether an expression has so many operators that a parser may overflow its stack."""
    for part in re.split("[,;:]", text):
        if len(OPERATORS.findall(part)) > MOST_OPERATORS:
            break
    else:
        return False
    here = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string in (",", ";", ":") or token.type == tokenize.NEWLINE:
                here = 0
            here += token.string in NESTING
            if here > MOST_OPERATORS:
                return True
    except (tokenize.TokenError, SyntaxError, IndexError):
        return True
    return False


def _deal(source: Source) -> list[Comment]:
    """Give each comment to the statement that it stands at, and list those that are left."""
    statements = source.statements
    free: list[Comment] = []
    above: list[Comment] = []  # the block that may touch the next statement
    at = 0  # the first statement that does not end above
    for comment in comments(source.text):
        while at < len(statements) and statements[at].last < comment.line:
            at += 1
        here = statements[at] if at < len(statements) else None
        if above and above[-1].line < comment.line - 1:
            free += above
            above = []
        if here is not None and here.first <= comment.line:
            here.comments += above
            above = []
            here.comments.append(comment)
        elif at and _belongs_below(statements[at - 1], comment):
            statements[at - 1].comments.append(comment)
        else:
            above.append(comment)
            if here is not None and comment.line == here.first - 1:
                here.comments += above
                above = []
    return free + above


def _belongs_below(statement: Statement, comment: Comment) -> bool:
    """Tell whether a comment below a statement is indented like its body."""
    return comment.column > 0 and any(True for _ in blocks(statement.node))


def comments(text: str) -> Iterator[Comment]:
    """List the comments of a file, in order."""
    if "#" not in text:
        return
    row = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                yield Comment(token.string.rstrip(), line, column, line != row)
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                row = token.end[0]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return
