"""One file as the kernel sees it: its statements, what they bind and import, its comments.

Offsets count characters of the decoded text, lines count from 1. Line endings are normalised
first, as Python itself does, so a moved statement may change them and stay itself.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import (
    MOST_BYTES,
    MOST_OPERATORS,
    NESTING,
    NEWER,
    OPERATORS,
    OpaqueError,
)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
TRY: tuple[type, ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))
_NAMED: dict[type, str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
# Most of a tree: they bind nothing themselves, and open no scope.
_INERT = frozenset({ast.Attribute, ast.Call, ast.Constant, ast.keyword, ast.Expr, ast.Subscript})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class Unit:
    """A top-level statement.

    `text`, from `start` to `end`, takes in the comments that stand at it: directly above, behind,
    and indented below. `first` is the line of the statement alone.
    """

    index: int
    node: ast.stmt
    start: int
    end: int
    first: int
    text: str = ""


@dataclass
class Source:
    """A parsed file. `free` are the comments that stand at no statement: text and line."""

    path: str
    text: str
    tree: ast.Module = field(repr=False)
    starts: list[int] = field(repr=False)
    units: list[Unit] = field(default_factory=list)
    free: list[tuple[str, int]] = field(default_factory=list)

    def offset(self, line: int, column: int) -> int:
        """Give the offset of an AST position, whose column counts UTF-8 bytes."""
        start = self.starts[line - 1]
        part = self.text[start : start + column]
        if part.isascii():
            return start + column
        whole = self.line_text(line).encode("utf-8", "surrogatepass")
        return start + len(whole[:column].decode("utf-8", "surrogatepass"))

    def start_of(self, node: ast.stmt) -> int:
        """Give the offset where a statement begins, decorators included."""
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            first = self.offset(decorators[0].lineno, decorators[0].col_offset)
            return self.text.rindex("@", 0, first)
        return self.offset(node.lineno, node.col_offset)

    def end_of(self, node: ast.stmt) -> int:
        """Give the offset where a statement ends."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

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
        return frozenset(
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level
            for alias in node.names
        )


def is_text(node: ast.stmt) -> bool:
    """Tell whether a statement is a bare string."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def is_python(path: str, data: bytes) -> bool:
    """Tell whether a regular file is Python: by its name, or by the first line of a script."""
    if path.endswith((".py", ".pyw")):
        return True
    name = path.rpartition("/")[2]
    return "." not in name and data[:2] == b"#!" and b"python" in data[:80].partition(b"\n")[0]


def decode(data: bytes) -> str:
    """Decode as Python would, line endings normalised. Raises `OpaqueError`."""
    if len(data) > MOST_BYTES:
        raise OpaqueError(1, f"the file is larger than {MOST_BYTES >> 20} MiB")
    if b"\0" in data:
        raise OpaqueError(data[: data.index(b"\0")].count(b"\n") + 1, "a null byte")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
        known = encoding.startswith("utf-8") or ast.dump(ast.parse(data)) == ast.dump(_syntax(text))
        if not known:
            raise OpaqueError(1, f"Python reads {encoding} otherwise")
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
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    source = Source(path, text, tree, starts)
    for index, node in enumerate(tree.body):
        start, end = source.start_of(node), source.end_of(node)
        source.units.append(Unit(index, node, start, end, source.line_at(start)))
    _place_comments(source)
    for unit in source.units:
        unit.text = text[unit.start : unit.end]
    return source


def _syntax(text: str) -> ast.Module:
    if len(text) > MOST_OPERATORS and sum(map(text.count, NESTING)) > MOST_OPERATORS:
        for part in re.split("[,;:]", text):
            if len(OPERATORS.findall(part)) > MOST_OPERATORS:
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


def _place_comments(source: Source) -> None:
    """Give each comment outside of statements to the one it stands at, or to none."""
    units = source.units
    ends = [0, *(unit.end for unit in units)]
    for index, end in enumerate(ends):
        above = units[index - 1] if index else None
        below = units[index] if index < len(units) else None
        gap = source.text[end : below.start if below else len(source.text)]
        if "#" not in gap:
            continue
        rows = gap.split("\n")
        places = [end, *(end + at.end() for at in re.finditer("\n", gap))]
        free = _behind(above, rows, places)
        if below is not None and not only_imports(below.node):
            last = len(rows) - 1
            while free and free[-1] == last - 1:
                last = free.pop()
                below.start = places[last]
        for row in free:
            text = rows[row].lstrip(" \t\f;\\").rstrip()
            source.free.append((text, source.line_at(places[row])))


def _behind(above: Unit | None, rows: list[str], places: list[int]) -> list[int]:
    """Stretch a statement over the comments behind and below it; list the rows of the others."""
    free = []
    within = above is not None and hasattr(above.node, "body")
    for row, content in enumerate(rows):
        if not content.strip(" \t\f;\\").startswith("#"):
            continue
        if above is not None and (row == 0 or (within and content[0] in " \t")):
            above.end = places[row] + len(content.rstrip())
        else:
            within = False
            free.append(row)
    return free


# --- imports and bindings ---


class Guard(NamedTuple):
    """One block around an import or a binding: which branch of what."""

    branch: str  # `if`, `else`, `try`, `except 0`, ...
    tests: tuple[ast.expr, ...]  # what decides it; for `try`, the types that are caught
    owner: ast.stmt


class Import(NamedTuple):
    """One name that an import statement brings. `member` is None for `import module`."""

    name: str
    level: int
    module: str
    member: str | None
    line: int

    @property
    def spelled(self) -> str:
        """Give the import as one would write it."""
        source = "." * self.level + self.module
        if self.member is None:
            alias = "" if self.name == source.partition(".")[0] else f" as {self.name}"
            return f"import {source}{alias}"
        alias = "" if self.name == self.member else f" as {self.name}"
        return f"from {source} import {self.member}{alias}"


class Site(NamedTuple):
    """A place that binds a name of the module. `later` is an assignment through `global`."""

    name: str
    unit: int
    ordinal: int  # among the sites of this name in its statement
    line: int
    what: str  # `def`, `import`, `later` or `del`
    guards: tuple[Guard, ...]
    imported: Import | None


_Found = tuple[str, str, int, tuple[Guard, ...], Import | None]  # a site without its statement


def imports_of(node: ast.AST) -> Iterator[Import]:
    """List what an import statement brings."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield Import(name, 0, alias.name, None, alias.lineno)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            name = alias.asname or alias.name
            yield Import(name, node.level, node.module or "", alias.name, alias.lineno)


def blocks(node: ast.AST) -> Iterator[tuple[str, tuple[ast.expr, ...], Sequence[ast.stmt]]]:
    """List the blocks of a compound statement that opens no scope: branch, tests, statements."""
    if isinstance(node, (ast.If, ast.While)):
        yield "if", (node.test,), node.body
        yield "else", (node.test,), node.orelse
    elif isinstance(node, TRY):
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


def only_imports(node: ast.AST) -> bool:
    """Tell whether a statement does nothing but import, perhaps on a condition.

    An `except` may also `pass`. A test with an assignment or an `await` does more than decide.
    """
    if isinstance(node, IMPORTS):
        return True
    if not isinstance(node, (ast.If, *TRY)):
        return False
    for branch, tests, body in blocks(node):
        idle = ast.Pass if branch.startswith("except") else ()
        if not all(only_imports(part) or isinstance(part, idle) for part in body):
            return False
        for test in tests:
            if any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(test)):
                return False
    return any(isinstance(part, IMPORTS) for part in walk(node))


def bound(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """List what statements bind in their own scope, without entering functions and classes.

    `global` and `nonlocal` statements are given too, once for each name.
    """
    todo = list(nodes)[::-1]
    while todo:
        node = todo.pop()
        kind = node.__class__
        if kind is ast.Name:
            if not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                yield node.id, node  # type: ignore[attr-defined]
        elif kind in _INERT:
            todo += children(node)[::-1]
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node
            todo.extend(reversed(_outside(node)))
        elif isinstance(node, ast.Lambda):
            todo.extend(d for d in (*node.args.kw_defaults, *node.args.defaults) if d)
        elif isinstance(node, _COMPREHENSIONS):
            yield from _walrus(node)
        elif isinstance(node, (*IMPORTS, ast.Global, ast.Nonlocal)):
            yield from ((name, node) for name in _declared(node))
        else:
            name = getattr(node, _NAMED[kind], None) if kind in _NAMED else None
            if name is not None:
                yield name, node
            todo += children(node)[::-1]


def _declared(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return list(node.names)
    return [item.name for item in imports_of(node)]


def _walrus(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for child in children(node):
        if isinstance(child, ast.NamedExpr):
            yield child.target.id, child
        if not isinstance(child, ast.Lambda):
            yield from _walrus(child)


def _outside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.AST]:
    """List the parts of a definition that its own scope does not hold."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]


def sites(unit: Unit) -> Iterator[Site]:
    """List what a top-level statement binds in its module, in order."""
    found: list[_Found] = []
    _collect([unit.node], (), found)
    if re.search(r"\bglobal[\s\\]", unit.text):
        found.extend((name, "later", unit.first, (), i) for name, i in _globals(unit.node).items())
    counts: dict[str, int] = {}
    for name, what, line, guards, imported in found:
        counts[name] = counts.get(name, -1) + 1
        yield Site(name, unit.index, counts[name], line, what, guards, imported)


def _collect(body: Sequence[ast.stmt], guards: tuple[Guard, ...], found: list[_Found]) -> None:
    for node in body:
        if isinstance(node, IMPORTS):
            found.extend((i.name, "import", i.line, guards, i) for i in imports_of(node))
            continue
        inner = list(blocks(node))
        own = _headers(node, {id(s) for _, _, block in inner for s in block}) if inner else [node]
        for name, part in bound(own):
            if not isinstance(part, (ast.Global, ast.Nonlocal)):
                what = "del" if isinstance(getattr(part, "ctx", None), ast.Del) else "def"
                found.append((name, what, getattr(part, "lineno", node.lineno), guards, None))
        for branch, tests, block in inner:
            _collect(block, (*guards, Guard(branch, tests, node)), found)


def _headers(node: ast.AST, statements: set[int]) -> list[ast.AST]:
    """List the parts of a compound statement that are no block of it."""
    parts: list[ast.AST] = []
    for child in children(node):
        if isinstance(child, (ast.ExceptHandler, ast.match_case)):
            name = getattr(child, "name", None)
            if name:
                parts.append(ast.copy_location(ast.Name(name, ast.Store()), child))
            parts.extend(_headers(child, statements))
        elif id(child) not in statements:
            parts.append(child)
    return parts


def _globals(node: ast.stmt) -> dict[str, Import | None]:
    """List the module's names that functions of a statement assign or import through `global`."""
    found: dict[str, Import | None] = {}
    for part in walk(node):
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            inside = list(bound(part.body))
            declared = {name for name, what in inside if isinstance(what, ast.Global)}
            for name, what in inside:
                if name in declared and not isinstance(what, ast.Global):
                    found[name] = next((i for i in imports_of(what) if i.name == name), None)
    return found


def stem_of(path: str) -> str:
    """Give what a module's path and its package's path have in common: `a/b` for `a/b.py`."""
    stem = path.removesuffix(".py")
    return stem.removesuffix("/__init__") if path.endswith("/__init__.py") else stem


class Module:
    """A file of one tree, with the places that bind its names."""

    def __init__(self, source: Source, *, changed: bool) -> None:
        self.source = source
        self.path = source.path
        self.stem = stem_of(source.path)
        self.changed = changed
        self.package = self.stem != source.path.removesuffix(".py")
        self.names: dict[str, list[Site]] = defaultdict(list)
        self.stars: list[Site] = []
        self._by_unit: dict[int, list[Site]] = defaultdict(list)
        for unit in source.units:
            for site in sites(unit):
                (self.stars if site.name == "*" else self.names[site.name]).append(site)
        for found in self.names.values():
            found.sort(key=lambda site: site.what == "later")
            for site in found:
                self._by_unit[site.unit].append(site)

    def in_unit(self, unit: int) -> list[Site]:
        """List what a statement binds."""
        return self._by_unit.get(unit, [])

    def imports(self) -> Sequence[tuple[Site, Import]]:
        """List what the module's own imports bring, in order."""
        return self._imports

    @cached_property
    def _imports(self) -> tuple[tuple[Site, Import], ...]:
        every = (site for found in (self.stars, *self.names.values()) for site in found)
        found = sorted((s for s in every if s.what != "later"), key=lambda s: (s.unit, s.line))
        return tuple((site, site.imported) for site in found if site.imported)

    def outside(self, name: str) -> str | None:
        """Give the dotted name that a plain import gives a name, if nothing else binds it."""
        found = {
            None if s.imported is None or s.imported.level or s.guards else s.imported
            for s in self.names.get(name, ())
        }
        item = found.pop() if len(found) == 1 else None
        return item and (f"{item.module}.{item.member}" if item.member else item.module)

    def listed(self) -> frozenset[str] | None:
        """Give the names of a plain `__all__`; None if there is none, or it is anything else."""
        found = self.names.get("__all__", [])
        node = self.source.units[found[0].unit].node if len(found) == 1 else None
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if not isinstance(value, (ast.List, ast.Tuple)) or found[0].guards:
            return None
        if any("__all__" in unit.text for unit in self.source.units if unit.node is not node):
            return None  # something may change it
        names = [e.value if isinstance(e, ast.Constant) else None for e in value.elts]
        return frozenset(map(str, names)) if all(isinstance(n, str) for n in names) else None
