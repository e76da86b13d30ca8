"""Moves of symbols as a careful person makes them: by the mover where it can, else by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob

Files = dict[str, str]
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Move:
    """Names that leave one module for another."""

    source: str  # path
    destination: str  # path
    names: tuple[str, ...]


@dataclass
class Chunk:
    """A top-level statement with its comments above."""

    text: str
    node: ast.stmt

    @property
    def binds(self) -> set[str]:
        """The names that it binds at the top level."""
        return set(_bound(self.node))

    @property
    def reads(self) -> set[str]:
        """All names in it, those in strings of annotations too."""
        found = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        found |= {x for n in ast.walk(self.node) if isinstance(n, ast.Global) for x in n.names}
        texts = [n.value for n in ast.walk(self.node) if isinstance(n, ast.Constant)]
        return found | {text for text in texts if isinstance(text, str) and text.isidentifier()}


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, IMPORTS):
        yield from (a.asname or a.name.split(".")[0] for a in node.names)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    else:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
            elif isinstance(inner, (ast.stmt, ast.excepthandler, ast.expr, ast.withitem)):
                if not isinstance(inner, ast.Lambda):
                    yield from _bound(inner)  # type: ignore[arg-type]


def chunks(text: str) -> list[Chunk]:
    """Cut a module into its top-level statements."""
    lines = text.splitlines(keepends=True)
    found, end = [], 0
    for node in ast.parse(text).body:
        last = node.end_lineno or node.lineno
        found.append(Chunk("".join(lines[end:last]).strip("\n"), node))
        end = last
    return found


def put(parts: list[str]) -> str:
    """Put statements together; imports stand close."""
    out = "".join(parts[:1])
    for before, part in pairwise(parts):
        out += ("\n" if _is_line(before) and _is_line(part) else "\n\n\n") + part
    return out + "\n" if out else ""


def _is_line(text: str) -> bool:
    return re.match(r"(import|from) .*$", text) is not None and "\n" not in text


def dotted(path: str) -> str:
    """Name a module as it is imported; tests find each other by their folder."""
    parts = path.removeprefix("src/").removeprefix("tests/").removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def absolute(node: ast.ImportFrom, path: str) -> str:
    """Give the module that a `from` import names."""
    if not node.level:
        return node.module or ""
    package = dotted(path).split(".")
    if not path.endswith("__init__.py"):
        package = package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def by_mover(files: Files, move: Move) -> Files | None:
    """Move by a plan; None where the mover refuses."""
    names = ", ".join(f'"{name}"' for name in move.names)
    plan = (
        'format = 1\nformatters = "none"\n'
        f'[[source]]\nmodule = "{dotted(move.source)}"\n'
        f'[[destination]]\nmodule = "{dotted(move.destination)}"\nsymbols = [{names}]\n'
    )
    tree = MemoryTree({p: Blob(t.encode(), 0o100644) for p, t in files.items()})
    try:
        after = apply(parse_plan(plan.encode(), "plan.toml"), tree).changes.after()
    except Refusal:
        return None
    made = {**files, **{p: b.data.decode() if b is not None else "" for p, b in after.items()}}
    return {p: t for p, t in made.items() if p not in after or after[p] is not None}


@dataclass
class ByHand:
    """A move as a careful person makes it, file by file."""

    files: Files
    move: Move
    keep: bool = False  # whether the source hands the names on, and callers stay as they are
    after: Files = field(default_factory=dict)

    def run(self) -> Files | None:
        """Give the tree after the move; None where it would make a circle."""
        cut = chunks(self.files[self.move.source])
        names = set(self.move.names)
        gone = [c for c in cut if c.binds & names or self._belongs(c, names)]
        if not gone or any(isinstance(c.node, IMPORTS) for c in gone):
            return None
        stay = [c for c in cut if c not in gone]
        names |= {name for c in gone for name in c.binds}
        needs, back = self._needs(gone, stay), self._read(stay, names)
        wanted_back = {n for n in names if n in back}
        if wanted_back and any(" " + dotted(self.move.source) + " " in f" {n} " for n in needs):
            return None
        self.after = dict(self.files)
        self._destination(gone, needs)
        self._source(stay, gone, names if self.keep else wanted_back)
        if not self.keep:
            for path in self.files:
                if path not in (self.move.source, self.move.destination):
                    self._caller(path, names)
        return self.after

    def _belongs(self, chunk: Chunk, names: set[str]) -> bool:
        """Whether a statement changes what moves, and stands behind it."""
        node = chunk.node
        if isinstance(node, (ast.Expr, ast.AugAssign, ast.Assign, ast.For, ast.Delete)):
            first = re.match(r"(?:del )?(\w+)[.\[ ]", chunk.text)
            return first is not None and first[1] in names
        return False

    def _read(self, stay: list[Chunk], names: set[str]) -> set[str]:
        return {n for c in stay if not isinstance(c.node, IMPORTS) for n in c.reads & names}

    def _needs(self, gone: list[Chunk], stay: list[Chunk]) -> list[str]:
        """List the imports that what moves needs."""
        reads = set().union(*(c.reads for c in gone))
        own = set().union(*(c.binds for c in gone))
        lines, found = [], set()
        for chunk in stay:
            node, wanted = chunk.node, chunk.binds & reads - own
            if isinstance(node, ast.ImportFrom):
                module = absolute(node, self.move.source)
                for alias in node.names:
                    if module == "__future__" or alias.name == "*":
                        lines.append(f"from {module} import {alias.name}")
                    elif (alias.asname or alias.name) in wanted:
                        lines.append(f"from {module} import {_alias(alias)}")
            elif isinstance(node, ast.Import):
                kept = [a for a in node.names if (a.asname or a.name.split(".")[0]) in wanted]
                lines += [f"import {_alias(alias)}" for alias in kept]
            elif isinstance(node, (ast.Try, ast.If)) and wanted and _only_imports(node):
                lines.append(chunk.text)
            elif wanted:
                found |= wanted
        if found:
            lines.append(f"from {dotted(self.move.source)} import {', '.join(sorted(found))}")
        return list(dict.fromkeys(lines))

    def _destination(self, gone: list[Chunk], needs: list[str]) -> None:
        path = self.move.destination
        there = chunks(self.files.get(path, ""))
        name = dotted(path)
        needs = [n for n in needs if not n.startswith(f"from {name} import")]
        head = [c.text for c in there if isinstance(c.node, IMPORTS)]
        rest = [c.text for c in there if not isinstance(c.node, IMPORTS)]
        if rest and there and isinstance(there[0].node, ast.Expr):
            head.insert(0, rest.pop(0))
        if path in self.files:
            mine = set(self.move.names)
            head = [part for part in (self._without(h, mine) for h in head) if part]
        head += [n for n in needs if n not in head]
        head.sort(key=lambda line: "__future__" not in line)
        self.after[path] = put([*head, *rest, *(c.text for c in gone)])
        folder = path.rpartition("/")[0]
        while folder and folder not in ("src", "tests"):
            self.after.setdefault(f"{folder}/__init__.py", "")
            folder = folder.rpartition("/")[0]

    def _without(self, line: str, names: set[str]) -> str:
        """Drop from an import of the source what the destination now holds itself."""
        node = ast.parse(line).body[0]
        if not isinstance(node, ast.ImportFrom):
            return line
        if absolute(node, self.move.destination) != dotted(self.move.source):
            return line
        kept = [a for a in node.names if a.name not in names]
        if len(kept) == len(node.names):
            return line
        dots = "." * node.level
        return (
            f"from {dots}{node.module or ''} import {', '.join(map(_alias, kept))}" if kept else ""
        )

    def _source(self, stay: list[Chunk], gone: list[Chunk], back: set[str]) -> None:
        used = set().union(*(c.reads for c in stay if not isinstance(c.node, IMPORTS)))
        moved = set().union(*(c.reads for c in gone))
        parts: list[str] = []
        at = 0
        for chunk in stay:
            node = chunk.node
            if isinstance(node, IMPORTS) and "__future__" not in chunk.text:
                kept = [a for a in node.names if self._stays(a, node, used, moved)]
                if not kept:
                    continue
                line = chunk.text
                if len(kept) < len(node.names):
                    words = ", ".join(map(_alias, kept))
                    line = _spell(node, words)
                parts.append(line)
                at = len(parts)
            else:
                at = at or (1 if _is_docstring(chunk) or "__future__" in chunk.text else 0)
                parts.append(chunk.text)
        if back:
            spelled = f"from {dotted(self.move.destination)} import {', '.join(sorted(back))}"
            unread = self.keep and not back <= used
            parts.insert(at, spelled + ("  # noqa: F401" if unread else ""))
        self.after[self.move.source] = put(parts)

    def _stays(self, alias: ast.alias, node: ast.stmt, used: set[str], moved: set[str]) -> bool:
        name = alias.asname or alias.name.split(".")[0]
        others = any(
            name != "*"
            and re.search(rf"\b{name}\b", text)
            and re.search(rf"\b{dotted(self.move.source).rpartition('.')[2]}\b", text)
            for path, text in self.files.items()
            if path not in (self.move.source, self.move.destination)
        )
        return name == "*" or name in used or name not in moved or others

    def _caller(self, path: str, names: set[str]) -> None:
        text = self.files[path]
        old, new = dotted(self.move.source), dotted(self.move.destination)
        for name in sorted(names):
            text = re.sub(rf"(?<=[\"'])({re.escape(old)})(?=[.:]{name}\b)", new, text)
            text = re.sub(
                rf"([\"']){name}([\"']: [\"']){re.escape(old)}[\"']",
                rf"\g<1>{name}\g<2>{new}\g<1>",
                text,
            )
        if path.endswith(".py"):
            text = _Caller(path, text, self.move.source, self.move.destination, names).run()
        self.after[path] = text


@dataclass
class _Caller:
    """One file whose imports and attributes follow what moved."""

    path: str
    text: str
    source: str
    destination: str
    names: set[str]

    def run(self) -> str:
        """Give the file after the move."""
        old = dotted(self.source)
        handles: dict[str, str] = {}
        tree = ast.parse(self.text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == old:
                        handles[alias.asname or alias.name] = ""
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if f"{absolute(node, self.path)}.{alias.name}" == old:
                        handles[alias.asname or alias.name] = ""
        followed = self._attributes(handles)
        self._imports(followed)
        return self.text

    def _attributes(self, handles: dict[str, str]) -> bool:
        followed = False
        for handle in sorted(handles, key=len, reverse=True):
            for name in sorted(self.names):
                spelled = rf"(?<![\w.\"']){re.escape(handle)}\.{name}\b"
                self.text, count = re.subn(spelled, f"{self._handle()}.{name}", self.text)
                followed = followed or count > 0
        return followed

    def _handle(self) -> str:
        package, _, last = dotted(self.destination).rpartition(".")
        return f"{last}_new" if package else last

    def _imports(self, followed: bool) -> None:
        old, new = dotted(self.source), dotted(self.destination)
        lines = self.text.splitlines(keepends=True)
        added = ""
        if followed:
            package, _, last = new.rpartition(".")
            added = f"from {package} import {last} as {last}_new" if package else f"import {last}"
        found = [n for n in ast.walk(ast.parse(self.text)) if isinstance(n, IMPORTS)]
        handles = [n for n in found if self._is_handle(n, old)]
        first = min(handles, key=lambda n: n.lineno, default=None)
        for node in sorted(found, key=lambda n: -n.lineno):
            at = slice(node.lineno - 1, node.end_lineno)
            line = "".join(lines[at])
            indent = line[: len(line) - len(line.lstrip())]
            if isinstance(node, ast.ImportFrom) and absolute(node, self.path) == old:
                gone = [a for a in node.names if a.name in self.names]
                kept = [a for a in node.names if a.name not in self.names]
                parts = [_spell(node, ", ".join(map(_alias, kept)))] if kept else []
                if any(a.name == "*" for a in node.names):
                    used = sorted(n for n in self.names if re.search(rf"\b{n}\b", self.text))
                    parts += [f"from {new} import {', '.join(used)}"] if used else []
                elif gone:
                    parts.append(f"from {new} import {', '.join(map(_alias, gone))}")
                if gone or len(parts) > 1:
                    lines[at] = [indent + part + "\n" for part in parts]
            elif added and node is first:
                lines[at] = [line, indent + added + "\n"]
        self.text = "".join(lines)

    def _is_handle(self, node: ast.Import | ast.ImportFrom, old: str) -> bool:
        if isinstance(node, ast.Import):
            return any(a.name == old for a in node.names)
        return any(f"{absolute(node, self.path)}.{a.name}" == old for a in node.names)


def _alias(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _spell(node: ast.Import | ast.ImportFrom, words: str) -> str:
    if isinstance(node, ast.Import):
        return f"import {words}"
    return f"from {'.' * node.level}{node.module or ''} import {words}"


def _only_imports(node: ast.Try | ast.If) -> bool:
    inner = [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n is not node]
    return all(isinstance(n, (*IMPORTS, ast.Assign, ast.Pass)) for n in inner)


def _is_docstring(chunk: Chunk) -> bool:
    return isinstance(chunk.node, ast.Expr) and isinstance(chunk.node.value, ast.Constant)
