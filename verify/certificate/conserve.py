"""Which statement of the target is which of the base, and what is left on either side.

Top-level statements are matched whole, by their bytes, then by their tokens. One that was edited
is matched by its name and compared statement by statement, down to the innermost that differs.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from verify.certificate.source import (
    Comment,
    Import,
    Source,
    Unit,
    imports_of,
    only_imports,
    start_of,
)

Place = tuple[str, int]  # a top-level statement: path and index
_MOST_COMPARED = 4_000_000  # pairs of sibling statements; a hostile file may have more
_FSTRINGS = {getattr(tokenize, n, -1): n for n in ("FSTRING_START", "TSTRING_START")}
_FENDS = {getattr(tokenize, n, -1): n for n in ("FSTRING_END", "TSTRING_END")}
_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


@dataclass(slots=True)
class Token:
    """A token or comment and where it starts. `alone` is a comment on a line of its own."""

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
    key: int = 0
    end: int = 0  # of all its blocks

    @property
    def head(self) -> tuple[str, ...]:
        """Give the texts of the piece's own tokens; a comment above it starts with a newline."""
        return tuple(("\n" if token.alone else "") + token.text for token in self.tokens)


@dataclass(slots=True)
class Block:
    """The statements of one branch, the line that opens it, and the comments at its end."""

    label: Piece
    pieces: list[Piece]
    tail: tuple[str, ...]
    tail_at: int


@dataclass(slots=True)
class ImportComment:
    """A comment at an import: behind it or within it (`inline`), or above it."""

    text: str
    start: int
    inline: bool
    items: tuple[Import, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The innermost statement that differs; one side is None where it is missing there."""

    base: Piece | None
    target: Piece | None
    what: str


def lex(source: Source, unit: Unit) -> list[Token]:
    """Cut a statement into tokens and comments, an f-string being one; layout is left out."""
    starts = [0, *(at.end() for at in re.finditer("\n", unit.text)), *[len(unit.text)] * 2]
    found: list[Token] = []
    opened: list[tuple[int, int]] = []
    line_seen = 0
    try:
        for tok in tokenize.generate_tokens(io.StringIO(unit.text).readline):
            start = starts[tok.start[0] - 1] + tok.start[1]
            end = starts[tok.end[0] - 1] + tok.end[1]
            if tok.type in _FSTRINGS:
                opened.append((start, tok.start[1]))
            elif tok.type in _FENDS:
                start, column = opened.pop()
                if not opened:
                    text = unit.text[start:end]
                    found.append(Token(text, unit.start + start, unit.start + end, column))
                    line_seen = tok.end[0]
            elif tok.type == tokenize.COMMENT and not opened:
                alone = tok.start[0] != line_seen
                text = tok.string.rstrip()
                found.append(
                    Token(text, unit.start + start, unit.start + end, tok.start[1], alone)
                )
            elif tok.type not in _LAYOUT and not opened:
                found.append(
                    Token(tok.string, unit.start + start, unit.start + end, tok.start[1])
                )
                line_seen = tok.end[0]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return [Token(unit.text, unit.start, unit.end, 0)]
    return found


class Shapes:
    """Statements as trees of pieces. Equal keys mean equal tokens, comments and nesting."""

    def __init__(self) -> None:
        self._keys: dict[object, int] = {}
        self._made: dict[tuple[int, int], tuple[Piece, list[ImportComment]]] = {}

    def of(self, source: Source, unit: Unit) -> Piece:
        """Give a statement's tree, without the imports in its functions."""
        return self._both(source, unit)[0]

    def import_comments(self, source: Source, unit: Unit) -> list[ImportComment]:
        """Give the comments at a statement's own imports."""
        return self._both(source, unit)[1]

    def _both(self, source: Source, unit: Unit) -> tuple[Piece, list[ImportComment]]:
        place = (id(source), unit.index)
        if place not in self._made:
            cutter = _Cutter(source, lex(source, unit), self._keys)
            if only_imports(unit.node):
                piece = Piece(unit.node, [])
                cutter.imports(unit.node, [])
            else:
                piece = cutter.piece(unit.node, [], factor=True)
            self._made[place] = (piece, cutter.comments)
        return self._made[place]


class _Cutter:
    """Deals a statement's tokens out to the statements within it."""

    def __init__(self, source: Source, tokens: list[Token], keys: dict[object, int]) -> None:
        self.source = source
        self.tokens = tokens
        self.keys = keys
        self.at = 0
        self.comments: list[ImportComment] = []

    def end_of(self, node: ast.AST) -> int:
        return self.source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def take(self, end: int) -> list[Token]:
        """Take the tokens that start before an offset."""
        first = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].start < end:
            self.at += 1
        return self.tokens[first : self.at]

    def inline(self) -> list[Token]:
        """Take the comment that stands behind what was taken last."""
        ahead = self.at
        while ahead < len(self.tokens) and self.tokens[ahead].text == ";":
            ahead += 1
        if ahead < len(self.tokens):
            token = self.tokens[ahead]
            if token.text.startswith("#") and not token.alone:
                self.at = ahead + 1
                return [token]
        return []

    def above(self, start: int) -> list[Token]:
        """Take the comments above a statement; a semicolon before it is layout."""
        return [token for token in self.take(start) if token.text != ";"]

    def piece(self, node: ast.stmt, lead: list[Token], *, factor: bool) -> Piece:
        inner = list(_bodies(node))
        if not inner:
            piece = Piece(node, [*lead, *self.take(self.end_of(node)), *self.inline()])
        else:
            piece = Piece(node, [*lead, *self.opening(inner[0])])
            if isinstance(node, ast.ClassDef):
                factor = False
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                factor = True
            for index, body in enumerate(inner):
                label = Piece(None, self.opening(body) if index else [])
                piece.blocks.append(self.block(label, body, factor))
        piece.end = self.tokens[self.at - 1].end if self.at else self.end_of(node)
        blocks = tuple(
            (b.label.head, tuple(p.key for p in b.pieces), b.tail) for b in piece.blocks
        )
        piece.key = self.keys.setdefault((piece.head, blocks), len(self.keys) + 1)
        return piece

    def opening(self, body: Sequence[ast.stmt]) -> list[Token]:
        """Take what opens a block, up to its colon and the comment behind that."""
        start = start_of(self.source, body[0])
        last = self.at
        for index in range(self.at, len(self.tokens)):
            if self.tokens[index].start >= start:
                break
            if not self.tokens[index].text.startswith("#"):
                last = index + 1
        first, self.at = self.at, last
        return [*self.tokens[first:last], *self.inline()]

    def block(self, label: Piece, body: Sequence[ast.stmt], factor: bool) -> Block:
        pieces = []
        column = self.source.text.rfind("\n", 0, start_of(self.source, body[0])) + 1
        column = start_of(self.source, body[0]) - column
        for node in body:
            lead = self.above(start_of(self.source, node))
            if factor and only_imports(node):
                self.imports(node, lead)
            else:
                pieces.append(self.piece(node, lead, factor=factor))
        first = self.at
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if not (token.alone and token.column >= column):
                break
            self.at += 1
        tail = self.tokens[first : self.at]
        at = tail[0].start if tail else self.end_of(body[-1])
        label.end = label.tokens[-1].end if label.tokens else at
        return Block(label, pieces, tuple(token.text for token in tail), at)

    def imports(self, node: ast.stmt, lead: list[Token]) -> None:
        """Set the comments of an import, or of a block of imports, aside."""
        nodes = [n for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom))]
        items = tuple(item for n in nodes for item in imports_of(n))
        for token in lead:
            self.comments.append(ImportComment(token.text, token.start, False, items))
        for token in [*self.take(self.end_of(node)), *self.inline()]:
            if not token.text.startswith("#"):
                continue
            line = self.source.line_at(token.start)
            near = tuple(i for i in items if i.line == line) or tuple(
                item
                for n in nodes
                if n.lineno <= line <= (n.end_lineno or n.lineno)
                for item in imports_of(n)
            )
            inline = not token.alone
            self.comments.append(ImportComment(token.text, token.start, inline, near or items))


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        value = getattr(node, name, None)
        if not isinstance(value, list) or not value:
            continue
        if name in {"handlers", "cases"}:
            yield from (part.body for part in value)
        else:
            yield value


def differences(
    base: Piece, target: Piece, same: Callable[[Piece, Piece], bool]
) -> Iterator[Difference]:
    """Compare two statements down to the innermost that differ.

    `same` tells whether two pieces of different tokens are one after all: a re-pointed reference.
    """
    if base.key and base.key == target.key:
        return
    if base.head != target.head and not same(base, target):
        yield Difference(base, target, "changed")
    for index in range(max(len(base.blocks), len(target.blocks))):
        if index >= len(base.blocks) or index >= len(target.blocks):
            gone = index < len(base.blocks)
            block = (base if gone else target).blocks[index]
            for piece in [block.label, *block.pieces]:
                if piece.tokens:
                    yield Difference(piece, None, "removed") if gone else Difference(
                        None, piece, "added"
                    )
            continue
        ours, theirs = base.blocks[index], target.blocks[index]
        yield from differences(ours.label, theirs.label, same)
        yield from align(ours.pieces, theirs.pieces, same)
        if ours.tail != theirs.tail:
            yield Difference(_tail(ours), _tail(theirs), "comment")


def _tail(block: Block) -> Piece | None:
    if not block.tail:
        return None
    token = Token("\n".join(block.tail), block.tail_at, block.tail_at + 1, 0)
    return Piece(None, [token], end=block.tail_at + 1)


def align(
    base: Sequence[Piece], target: Sequence[Piece], same: Callable[[Piece, Piece], bool]
) -> Iterator[Difference]:
    """Compare two lists of sibling statements, whose order counts."""
    ours, theirs = [p.key for p in base], [p.key for p in target]
    if len(ours) * len(theirs) > _MOST_COMPARED:
        opcodes = [("replace", 0, len(ours), 0, len(theirs))]
    else:
        opcodes = list(SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes())
    for tag, i, j, k, m in opcodes:
        if tag == "equal":
            continue
        left = list(target[k:m])
        for piece in base[i:j]:
            match = next((p for p in left if _alike(piece, p)), None)
            if match is None:
                yield Difference(piece, None, "removed")
                continue
            for skipped in left[: left.index(match)]:
                yield Difference(None, skipped, "added")
            del left[: left.index(match) + 1]
            yield from differences(piece, match, same)
        for piece in left:
            yield Difference(None, piece, "added")


def _alike(base: Piece, target: Piece) -> bool:
    """Tell whether one statement may be an edit of the other."""
    ours, theirs = base.node, target.node
    if type(ours) is not type(theirs):
        return False
    name = getattr(ours, "name", None)
    return name is None or name == getattr(theirs, "name", None)


# --- whole statements ---


@dataclass
class Pairing:
    """Statements of the target by those of the base. `edited` pairs have differing tokens."""

    pairs: dict[Place, Place] = field(default_factory=dict)  # target -> base
    edited: set[Place] = field(default_factory=set)
    copies: dict[Place, Place] = field(default_factory=dict)  # target -> base
    removed: list[Place] = field(default_factory=list)
    added: list[Place] = field(default_factory=list)

    def key(self, path: str, index: int) -> Place:
        """Name a statement of the target after the base's, or by itself."""
        place = (path, index)
        found = self.pairs.get(place) or self.copies.get(place)
        return found if found is not None else (f"+{path}", index)


def name_of(unit: Unit) -> str | None:
    """Give the one name that a statement defines."""
    node = unit.node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    only = targets[0] if len(targets) == 1 else None
    alias = getattr(node, "name", None)
    only = alias if isinstance(alias, ast.Name) else only
    return only.id if isinstance(only, ast.Name) and not isinstance(node, ast.For) else None


class _Matcher:
    def __init__(
        self, base: Mapping[str, Source], target: Mapping[str, Source], shapes: Shapes
    ) -> None:
        self.base, self.target, self.shapes = base, target, shapes
        self.found = Pairing()
        self.ours = self._open(base)
        self.theirs = self._open(target)
        self.flow: Counter[tuple[str, str]] = Counter()

    @staticmethod
    def _open(side: Mapping[str, Source]) -> dict[Place, Unit]:
        return {
            (path, unit.index): unit
            for path in sorted(side)
            for unit in side[path].units
            if not only_imports(unit.node)
        }

    def text(self, side: Mapping[str, Source], place: Place, unit: Unit) -> object:
        return unit.text

    def shape(self, side: Mapping[str, Source], place: Place, unit: Unit) -> object:
        return self.shapes.of(side[place[0]], unit).key

    def name(self, side: Mapping[str, Source], place: Place, unit: Unit) -> object:
        name = name_of(unit)
        return None if name is None else (type(unit.node).__name__, name)

    def match(
        self, describe: Callable[[Mapping[str, Source], Place, Unit], object], *, here: bool
    ) -> list[tuple[Place, Place]]:
        """Pair what is described alike, in the same file (`here`) or across files."""
        ours: dict[object, list[Place]] = defaultdict(list)
        theirs: dict[object, list[Place]] = defaultdict(list)
        for side, opened, groups in (
            (self.base, self.ours, ours),
            (self.target, self.theirs, theirs),
        ):
            for place, unit in opened.items():
                word = describe(side, place, unit)
                if word is not None:
                    groups[(place[0], word) if here else word].append(place)
        made: list[tuple[Place, Place]] = []
        unclear: list[tuple[list[Place], list[Place]]] = []
        for word, group in ours.items():
            others = theirs.get(word, [])
            if not others:
                continue
            if here or (len(group) == 1 and len(others) == 1):
                made.extend(zip(group, others))
            else:
                unclear.append((group, others))
        for ours_at, theirs_at in made:
            self.pair(ours_at, theirs_at)
        for group, others in unclear:
            made.extend(self._by_flow(group, others))
        return made

    def _by_flow(self, group: list[Place], others: list[Place]) -> Iterator[tuple[Place, Place]]:
        """Pair several like statements: most goes where its neighbours went."""
        if len(group) * len(others) > _MOST_COMPARED:
            ranked = list(zip(group, others))
        else:
            ranked = [(b, t) for b in group for t in others]
            ranked.sort(key=lambda bt: (-self.flow[bt[0][0], bt[1][0]], *bt))
        for ours, theirs in ranked:
            if ours in self.ours and theirs in self.theirs:
                self.pair(ours, theirs)
                yield ours, theirs

    def pair(self, ours: Place, theirs: Place) -> None:
        self.flow[ours[0], theirs[0]] += len(self.ours.pop(ours).text)
        del self.theirs[theirs]
        self.found.pairs[theirs] = ours

    def run(self) -> Pairing:
        for describe in (self.text, self.shape):
            self.match(describe, here=True)
        for describe in (self.text, self.shape):
            self.match(describe, here=False)
        self.copies()
        edited = self.match(self.name, here=True)
        edited += self.match(self.name, here=False)
        edited += self.neighbours()
        self.found.edited = {theirs for _, theirs in edited}
        self.found.removed = list(self.ours)
        self.found.added = list(self.theirs)
        return self.found

    def copies(self) -> None:
        """Find statements of the target that the base has, but that are paired already."""
        texts: dict[object, list[Place]] = defaultdict(list)
        words = {place: unit.text for place, unit in self.theirs.items()}
        wanted = set(words.values())
        for ours in self.found.pairs.values():
            text = self.base[ours[0]].units[ours[1]].text
            if text in wanted:
                texts[text].append(ours)
        for theirs, text in words.items():
            if texts[text]:
                origin = min(texts[text], key=lambda b: (-self.flow[b[0], theirs[0]], b))
                self.found.copies[theirs] = origin
                del self.theirs[theirs]

    def neighbours(self) -> list[tuple[Place, Place]]:
        """Pair nameless statements that stand between the same two."""
        made = []
        for path in sorted(set(self.base) & set(self.target)):
            ours = self._between(self.ours, path, self.base[path], lambda place: place)
            theirs = self._between(
                self.theirs, path, self.target[path], lambda place: self.found.pairs.get(place)
            )
            for place, around in theirs.items():
                for other, same in ours.items():
                    alike = type(self.ours[other].node) is type(self.theirs[place].node)
                    if alike and (around[0] == same[0] or around[1] == same[1]):
                        made.append((other, place))
                        del ours[other]
                        break
        for ours_at, theirs_at in made:
            self.pair(ours_at, theirs_at)
        return made

    def _between(
        self,
        opened: Mapping[Place, Unit],
        path: str,
        source: Source,
        key: Callable[[Place], Place | None],
    ) -> dict[Place, tuple[object, object]]:
        units = [u.index for u in source.units if not only_imports(u.node)]
        found: dict[Place, tuple[object, object]] = {}
        for at, index in enumerate(units):
            if (path, index) in opened:
                before = key((path, units[at - 1])) if at else "top"
                after = key((path, units[at + 1])) if at + 1 < len(units) else "end"
                found[path, index] = (before or object(), after or object())
        return found


def pair(base: Mapping[str, Source], target: Mapping[str, Source], shapes: Shapes) -> Pairing:
    """Match the statements of the changed files, imports aside."""
    return _Matcher(base, target, shapes).run()
