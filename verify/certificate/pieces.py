"""Statements as trees of pieces: their tokens, comments and blocks, compared down to the innermost.

Layout is left out, and so are the imports in functions, which are judged by what they bring.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from verify.certificate.source import FUNCTIONS, Source, Unit, imports_of, is_text, only_imports

Comment = tuple[str, int, frozenset[str]]  # text, line, and the names that imports there bring
Place = tuple[str, int]  # a top-level statement: path and index
Chains = Mapping[int, tuple[tuple[str, ...], object]]  # where references start: tokens, meaning
_MOST_COMPARED = 4_000_000  # pairs of sibling statements; a hostile file may have more
_OPEN = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
_CLOSE = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(slots=True)
class Token:
    """A token or a comment. `alone` is a comment on a line of its own."""

    text: str
    start: int
    end: int
    column: int
    alone: bool = False


@dataclass(slots=True)
class Piece:
    """A statement, or the line that opens a block (`else:`): its own tokens, and its blocks."""

    node: ast.stmt | None
    tokens: list[Token]
    blocks: list[Block] = field(default_factory=list)
    key: int = 0  # equal keys mean equal tokens, comments and nesting

    @property
    def head(self) -> tuple[str, ...]:
        """Give the texts of the piece's own tokens; a comment above it starts with a newline."""
        return tuple(("\n" if token.alone else "") + token.text for token in self.tokens)

    def every(self) -> Iterator[Token]:
        """List the tokens of the piece and of all its blocks."""
        yield from self.tokens
        for block in self.blocks:
            for piece in (block.label, *block.pieces, block.tail):
                yield from piece.every()


@dataclass(slots=True)
class Block:
    """The statements of one branch, the line that opens it, and the comments at its end."""

    label: Piece
    pieces: list[Piece]
    tail: Piece


def lex(source: Source, unit: Unit) -> list[Token]:
    """Cut a statement into tokens and comments, an f-string being one; layout is left out."""
    text = unit.text
    starts = [0, *(at.end() for at in re.finditer("\n", text)), *[len(text)] * 2]
    found: list[Token] = []
    opened: list[tuple[int, int]] = []
    row = 0  # of the last token that is no comment
    try:
        for tok in tokenize.generate_tokens(io.StringIO(text).readline):
            start, end = (starts[line - 1] + at for line, at in (tok.start, tok.end))
            column, alone = tok.start[1], False
            if tok.type in _OPEN:
                opened.append((start, column))
                continue
            if tok.type in _CLOSE:
                start, column = opened.pop()
            if opened or tok.type in _LAYOUT:
                continue
            if tok.type == tokenize.COMMENT:
                alone = tok.start[0] != row
                end = start + len(text[start:end].rstrip())
            else:
                row = tok.end[0]
            place = (unit.start + start, unit.start + end)
            found.append(Token(text[start:end], *place, column, alone))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return [Token(text, unit.start, unit.end, 0)]
    return found


class Shapes:
    """Statements as trees of pieces, made as needed."""

    def __init__(self) -> None:
        self._keys: dict[object, int] = {}
        self._made: dict[tuple[int, int], Piece] = {}
        self._comments: dict[tuple[int, int], list[Comment]] = {}

    def of(self, source: Source, unit: Unit) -> Piece:
        """Give a statement's tree, without the imports in its functions."""
        place = (id(source), unit.index)
        if place not in self._made:
            cutter = _Cutter(source, lex(source, unit), self._keys)
            self._made[place] = cutter.whole(unit.node)
            self._comments[place] = cutter.comments
        return self._made[place]

    def import_comments(self, source: Source, skip: set[Place]) -> list[Comment]:
        """List the comments behind and within imports, but for the statements `skip`."""
        found = []
        for unit in source.units:
            place = (source.path, unit.index)
            if "#" in unit.text and "import" in unit.text and place not in skip:
                self.of(source, unit)
                found.extend(self._comments[id(source), unit.index])
        return found


class _Cutter:
    """Deals a statement's tokens out to the statements within it."""

    def __init__(self, source: Source, tokens: list[Token], keys: dict[object, int]) -> None:
        self.source = source
        self.tokens = tokens
        self.keys = keys
        self.at = 0
        self.comments: list[Comment] = []

    def whole(self, node: ast.stmt) -> Piece:
        """Cut a top-level statement, its comments included."""
        lead = self.take(self.source.start_of(node))
        if only_imports(node):
            self.imports(node)
            return Piece(node, [])
        piece = self.piece(node, lead, factor=True)
        rest = self.tokens[self.at :]
        if rest:  # comments that are indented like none of its blocks
            piece.tokens.extend(rest)
            self.name(piece)
        return piece

    def name(self, piece: Piece) -> None:
        blocks = tuple(
            (b.label.head, tuple(p.key for p in b.pieces), b.tail.head) for b in piece.blocks
        )
        piece.key = self.keys.setdefault((piece.head, blocks), len(self.keys) + 1)

    def take(self, end: int) -> list[Token]:
        """Take the tokens that start before an offset."""
        first = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].start < end:
            self.at += 1
        return self.tokens[first : self.at]

    def behind(self) -> list[Token]:
        """Take the comment that stands behind what was taken last."""
        ahead = self.at
        while ahead < len(self.tokens) and self.tokens[ahead].text == ";":
            ahead += 1
        if ahead < len(self.tokens) and self.tokens[ahead].text.startswith("#"):
            if not self.tokens[ahead].alone:
                self.at = ahead + 1
                return [self.tokens[ahead]]
        return []

    def piece(self, node: ast.stmt, lead: list[Token], *, factor: bool) -> Piece:
        inner = list(_bodies(node))
        if not inner:
            piece = Piece(node, [*lead, *self.take(self.source.end_of(node)), *self.behind()])
        else:
            piece = Piece(node, [*lead, *self.opening(inner[0])])
            if isinstance(node, ast.ClassDef):
                factor = False  # an import in a class is an attribute of it
            elif isinstance(node, FUNCTIONS):
                factor = True
            for index, body in enumerate(inner):
                label = Piece(None, self.opening(body) if index else [])
                piece.blocks.append(self.block(label, body, factor))
        self.name(piece)
        return piece

    def opening(self, body: Sequence[ast.stmt]) -> list[Token]:
        """Take what opens a block, up to its colon and the comment behind that."""
        start = self.source.start_of(body[0])
        last = self.at
        for index in range(self.at, len(self.tokens)):
            if self.tokens[index].start >= start:
                break
            if not self.tokens[index].text.startswith("#"):
                last = index + 1
        first, self.at = self.at, last
        return [*self.tokens[first:last], *self.behind()]

    def block(self, label: Piece, body: Sequence[ast.stmt], factor: bool) -> Block:
        start = self.source.start_of(body[0])
        column = start - self.source.text.rfind("\n", 0, start) - 1
        pieces, lead = list[Piece](), list[Token]()
        last = max((at for at, node in enumerate(body) if is_text(node)), default=-1)
        for index, node in enumerate(body):
            # A semicolon is layout; a comment above an import stays, whatever the import becomes.
            lead += [t for t in self.take(self.source.start_of(node)) if t.text != ";"]
            if factor and only_imports(node) and index > last:
                self.imports(node)
            else:  # an import above a text keeps it from being the docstring
                pieces.append(self.piece(node, lead, factor=factor))
                lead = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if not (token.alone and token.column >= column):
                break
            lead.append(token)
            self.at += 1
        return Block(label, pieces, Piece(None, lead))

    def imports(self, node: ast.stmt) -> None:
        """Set the comments of an import, or of a block of imports, aside."""
        nodes = [n for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom))]
        for token in [*self.take(self.source.end_of(node)), *self.behind()]:
            if token.text.startswith("#"):
                line = self.source.line_at(token.start)
                near = [n for n in nodes if n.lineno <= line <= (n.end_lineno or n.lineno)]
                items = [item for n in near or nodes for item in imports_of(n)]
                names = {i.name for i in items if i.line == line} or {i.name for i in items}
                self.comments.append((token.text, line, frozenset(names)))


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        value = getattr(node, name, None)
        if isinstance(value, list) and value:
            if name in {"handlers", "cases"}:
                yield from (part.body for part in value)
            else:
                yield value


Same = Callable[[Piece, Piece], bool]
Difference = tuple["Piece | None", "Piece | None"]  # one is None where a statement is missing


def differences(base: Piece, target: Piece, same: Same) -> Iterator[Difference]:
    """Compare two statements down to the innermost that differ.

    `same` tells whether two pieces of different tokens are one after all: a re-pointed reference.
    """
    if base.key and base.key == target.key:
        return
    if base.head != target.head and not same(base, target):
        yield (base, target)
    for index in range(max(len(base.blocks), len(target.blocks))):
        if index < len(base.blocks) and index < len(target.blocks):
            ours, theirs = base.blocks[index], target.blocks[index]
            yield from differences(ours.label, theirs.label, same)
            yield from _siblings(ours.pieces, theirs.pieces, same)
            if ours.tail.head != theirs.tail.head:
                yield (ours.tail, theirs.tail)
            continue
        block = (base if index < len(base.blocks) else target).blocks[index]
        whole = Piece(None, [], [block])
        gone = index < len(base.blocks)
        yield (whole, None) if gone else (None, whole)


def _siblings(base: list[Piece], target: list[Piece], same: Same) -> Iterator[Difference]:
    """Compare two lists of statements, whose order counts."""
    ours, theirs = [p.key for p in base], [p.key for p in target]
    codes = [("replace", 0, len(ours), 0, len(theirs))]
    if len(ours) * len(theirs) < _MOST_COMPARED:
        codes = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()  # type: ignore[assignment]
    for tag, i, j, k, m in codes:
        if tag == "equal":
            continue
        left = target[k:m]
        for piece in base[i:j]:
            match = next((p for p in left if _alike(piece, p)), None)
            if match is None:
                yield (piece, None)
                continue
            for skipped in left[: left.index(match)]:
                yield (None, skipped)
            del left[: left.index(match) + 1]
            yield from differences(piece, match, same)
        for piece in left:
            yield (None, piece)


def _alike(base: Piece, target: Piece) -> bool:
    """Tell whether one statement may be an edit of the other."""
    ours, theirs = base.node, target.node
    name = getattr(ours, "name", None)
    return type(ours) is type(theirs) and (name is None or name == getattr(theirs, "name", None))


def folded(piece: Piece, chains: Chains) -> Iterator[object]:
    """Give a piece's tokens, each reference to a definition as one."""
    index, head = 0, piece.head
    while index < len(head):
        chain, meaning = chains.get(piece.tokens[index].start, ((), None))
        if chain and head[index : index + len(chain)] == chain:
            yield meaning
            index += len(chain)
        else:
            yield head[index]
            index += 1


def _extent(source: Source, piece: Piece | None, *, whole: bool) -> range:
    """Give the lines of a statement, or of its head alone."""
    tokens = [] if piece is None else list(piece.every()) if whole else piece.tokens
    if not tokens:
        return range(0)
    return range(source.line_at(tokens[0].start), source.line_at(tokens[-1].end - 1) + 1)


def unlike(
    old: Source, one: Piece | None, new: Source, other: Piece | None
) -> tuple[range, list[int], range, list[int]]:
    """Give the lines of a statement on each side, and those of them that differ."""
    ours = _extent(old, one, whole=other is None)
    theirs = _extent(new, other, whole=one is None)
    if not (ours and theirs):
        return ours, list(ours), theirs, list(theirs)
    before = [old.line_text(n).strip() for n in ours]
    after = [new.line_text(n).strip() for n in theirs]
    left: list[int] = []
    right: list[int] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            left.extend(ours[i:j])
            right.extend(theirs[k:m])
    return ours, left, theirs, right


def name_of(unit: Unit) -> str | None:
    """Give the one name that a statement defines."""
    node = unit.node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return node.name
    only = getattr(node, "name", getattr(node, "target", None))
    if isinstance(node, ast.Assign):
        only = node.targets[0] if len(node.targets) == 1 else None
    return only.id if isinstance(only, ast.Name) and not hasattr(node, "body") else None
