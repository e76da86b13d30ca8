"""Comments are conserved as statements are, each at its place."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import takewhile

from verify.kernel.edits.needs import used
from verify.kernel.edits.spelled import Spelled
from verify.kernel.pairs.both import Both
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import (
    Comment,
    Source,
    Statement,
    imports_only,
    is_docstring,
    stored,
)
from verify.kernel.verdict import BASE, EXPLAINED, TARGET, TEXT, Place

_UNUSED = re.compile(r"#\s*noqa(?::\s*F401\b)?", re.I)  # what a re-export needs

_Numbered = list[tuple[int, int]]  # lines, and which statement it is


class Comments:
    """Compares the comments of the changed files."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.ours = {source.path: source for source in both.sources(both.base)}
        self.theirs = {source.path: source for source in both.sources(both.target)}
        self._spelled = Spelled(both)
        self._renames = both.renames
        # New files of the move: those that received something, and packages.
        self.received = {target[0] for target in both.pairing.base_of}
        self.received |= {path for path in self.theirs if path.endswith("/__init__.py")}
        self._heads: dict[tuple[str, str], int] = {}  # by file and side: where its head ends
        for path in self.ours.keys() & self.theirs.keys():
            one, two = (_head(source[path].text) for source in (self.ours, self.theirs))
            same = takewhile(lambda pair: pair[0][0] == pair[1][0], zip(one, two, strict=False))
            for (_, line), (_, other) in same:
                self._heads[path, BASE], self._heads[path, TARGET] = line, other
        self._pairs: dict[tuple[str, str], tuple[_Numbered, _Numbered]] = {}
        for source in (*self.ours.values(), *self.theirs.values()):
            _ = source.free  # deals the comments out

    def check(self) -> None:
        """Report comments that are lost, new or elsewhere."""
        for target, base in self.both.pairing.base_of.items():
            one = self.both.statement(self.both.base, base)
            two = self.both.statement(self.both.target, target)
            self._same(one, two, base[0], target[0])
        for at in self.both.pairing.new:
            for comment in self.both.statement(self.both.target, at).comments:
                if not self._header(self.theirs[at[0]], comment):
                    self._say(TEXT, comment, "is new", at[0])
        self._imports()
        self._free()

    def _below_head(self, comments: list[Comment], path: str, side: str) -> list[Comment]:
        """Leave out the head of a file that stays at the top of it, whatever stands below."""
        head = self._heads.get((path, side), 0)
        return [comment for comment in comments if comment.line > head]

    def _same(self, one: Statement, two: Statement, path: str, now: str) -> None:
        before = self._below_head(one.comments, path, BASE)
        after = self._below_head(two.comments, now, TARGET)
        ours = Counter(comment.text for comment in before)
        theirs = Counter(comment.text for comment in after)
        if ours == theirs:
            if _told(one, before) != _told(two, after):
                self._say(TEXT, after[0], "stands elsewhere in its statement", now)
            return
        lost = [comment for comment in before if theirs[comment.text] < ours[comment.text]]
        come = [comment for comment in after if ours[comment.text] < theirs[comment.text]]
        come = [comment for comment in come if not self._header(self.theirs[now], comment)]
        if (
            come
            and len(lost) == len(come)
            and all(
                self._spelled.same_comments(path, before.text, now, after.text)
                for before, after in zip(lost, come, strict=True)
            )
        ):
            self._say(EXPLAINED, come[0], "spells the same type otherwise", now)
            return
        if (
            come
            and len(lost) == len(come)
            and all(
                self._renames.follow_partly(was.text, becomes.text)
                for was, becomes in zip(lost, come, strict=True)
            )
        ):
            self._say(EXPLAINED, come[0], "names what moved, and follows it", now)
            return
        for comment in lost:
            self._say(TEXT, comment, "is gone", path, BASE)
        for comment in come:
            self._say(TEXT, comment, "is new", now)

    def _at_imports(self, side: str) -> list[tuple[Source, Comment]]:
        """List the comments at imports, below the heads of files."""
        found = _at_imports(self.ours if side == BASE else self.theirs)
        return [(s, c) for s, c in found if c.line > self._heads.get((s.path, side), 0)]

    def _imports(self) -> None:
        ours, theirs = self._at_imports(BASE), self._at_imports(TARGET)
        lost = Counter(c.text for _, c in ours)
        come = Counter(c.text for _, c in theirs)
        placed = {(c.text, _at(source, c)) for source, c in theirs}
        for source, comment in ours:
            if source.path in self.theirs and not self._import_left(source, comment):
                if (comment.text, _at(source, comment)) not in placed:
                    self._say(TEXT, comment, "is gone", source.path, BASE)
            elif not come[comment.text]:
                self._say(EXPLAINED, comment, "is gone with its import", source.path, BASE)
        for source, comment in theirs:
            if not lost[comment.text] and not self._header(source, comment):
                tool = bool(_UNUSED.match(comment.text)) and self._handed_on(source, comment)
                self._say(EXPLAINED if tool else TEXT, comment, "is new", source.path)

    def _import_left(self, source: Source, comment: Comment) -> bool:
        """Tell whether the import that a comment stood at is gone."""
        kept = {ast.dump(s.node) for s in self.theirs[source.path].statements if s.imports_only}
        return _at(source, comment) not in kept

    def _handed_on(self, source: Source, comment: Comment) -> bool:
        """Tell whether a comment for tools stands at an import that was not there before."""
        old = self.ours.get(source.path)
        known = {statement.text for statement in old.statements} if old else set()
        given = {node.arg for node in walk(source.tree) if isinstance(node, ast.arg)}
        plain = used(source) - given  # a fixture is used where a parameter has its name
        return any(
            statement.imports_only
            and statement.first <= comment.line <= statement.last
            and statement.text.replace(comment.text, "").rstrip() not in known
            and not set(stored(statement.node)) <= plain
            for statement in source.statements
        )

    def _header(self, source: Source, comment: Comment) -> bool:
        """Tell whether a comment stands at the head of a new file."""
        if source.path in self.ours or source.path not in self.received:
            return False
        own = [s for s in source.statements if not s.imports_only]
        below = own[1:] if own and own[0].index == 0 and is_docstring(own[0].node) else own
        first = next((s.first for s in below), 1 << 30)
        return comment.line < first

    def _free(self) -> None:
        waiting: dict[str, list[tuple[str, Comment]]] = defaultdict(list)
        for path, source in self.ours.items():
            for comment in self._below_head(source.free, path, BASE):
                waiting[comment.text].append((path, comment))
        known = {text: len(found) for text, found in waiting.items()}
        come = [
            (path, comment)
            for path, source in sorted(self.theirs.items())
            for comment in self._below_head(source.free, path, TARGET)
        ]
        for same_file in (True, False):
            rest = []
            for path, comment in come:
                queue = waiting.get(comment.text, [])
                twin = next((t for t in queue if t[0] == path or not same_file), None)
                if twin is None:
                    rest.append((path, comment))
                    continue
                queue.remove(twin)
                if not self._placed(twin, (path, comment)):
                    self._say(TEXT, comment, "stands elsewhere", path)
            come = rest
        whole = self.both.relocated
        for path, comment in come:
            left = [(c, q) for q in waiting.values() for at, c in q if path in (at, whole.get(at))]
            old = next(
                (o for o in left if self._renames.follow_partly(o[0].text, comment.text)), None
            )
            if old is not None:
                old[1][:] = [held for held in old[1] if held[1] is not old[0]]
                self._say(EXPLAINED, comment, "names what moved, and follows it", path)
                continue
            self._arrived(path, comment, known.get(comment.text, 0))
        texts = {comment.text for source in self.theirs.values() for comment in source.free}
        for path, comment in (left for found in waiting.values() for left in found):
            if path in self.theirs or comment.text not in texts:
                self._say(TEXT, comment, "is gone", path, BASE)

    def _arrived(self, path: str, comment: Comment, known: int) -> None:
        if self._header(self.theirs[path], comment):
            self._say(EXPLAINED, comment, "is the header of a new file", path)
        elif not known and self._stood_at_import(path, comment):
            self._say(EXPLAINED, comment, "stays where the import below it has left", path)
        else:
            self._say(TEXT, comment, "stands a second time" if known else "is new", path)

    def _stood_at_import(self, path: str, comment: Comment) -> bool:
        """Tell whether a comment was that of an import of the same file, which has left."""
        at_imports = _at_imports({path: self.ours[path]}) if path in self.ours else []
        return any(
            other.text == comment.text and self._import_left(source, other)
            for source, other in at_imports
        )

    def _placed(self, one: tuple[str, Comment], two: tuple[str, Comment]) -> bool:
        """Tell whether a comment stands below or above the same statement as before."""
        ours, theirs = self._kept(one[0], two[0])
        if not ours:
            return one[0] == two[0] or two[0] not in self.ours
        before, after = bisect_left(ours, (one[1].line,)), bisect_left(theirs, (two[1].line,))
        below = _number(ours, before) == _number(theirs, after)
        return below or _number(ours, before - 1) == _number(theirs, after - 1)

    def _kept(self, path: str, now: str) -> tuple[_Numbered, _Numbered]:
        """List the statements that a file of each side shares, by line, with a common number."""
        where = path, now
        if where not in self._pairs:
            ours, theirs = [], []
            for number, (target, base) in enumerate(self.both.pairing.base_of.items()):
                if base[0] == path and target[0] == now:
                    ours.append((self.both.statement(self.both.base, base).first, number))
                    theirs.append((self.both.statement(self.both.target, target).first, number))
            self._pairs[where] = sorted(ours), sorted(theirs)
        return self._pairs[where]

    def _say(self, kind: str, comment: Comment, what: str, path: str, side: str = TARGET) -> None:
        place = Place(path, comment.line, side, (comment.line,))
        self.both.found.say(kind, comment.text[:80], f"this comment {what}", place)


def _number(statements: _Numbered, index: int) -> int | None:
    """Give the number of the statement that stands there, if one does."""
    return statements[index][1] if 0 <= index < len(statements) else None


def _at_imports(sources: dict[str, Source]) -> list[tuple[Source, Comment]]:
    return [
        (source, comment)
        for _, source in sorted(sources.items())
        for statement in source.statements
        if statement.imports_only
        for comment in statement.comments
    ]


def _at(source: Source, comment: Comment) -> str:
    """Give the import that a comment stands at."""
    return next(
        (ast.dump(s.node) for s in source.statements if any(c is comment for c in s.comments)), ""
    )


def _head(text: str) -> list[tuple[str, int]]:
    """Give the comments that a file begins with, and their lines."""
    lines = takewhile(lambda at: not at[1] or at[1][0] == "#", enumerate(text.split("\n"), 1))
    return [(line.rstrip(), number) for number, line in lines if line]


def _told(statement: Statement, comments: list[Comment]) -> list[tuple[str, int, bool]]:
    """Give the comments of a statement, each with how many statements begin above it."""
    starts = sorted(
        node.lineno
        for node in walk(statement.node)
        if isinstance(node, (ast.stmt, ast.ExceptHandler))
        and not (isinstance(node, ast.stmt) and imports_only(node))
    )
    return [
        (comment.text, bisect_right(starts, comment.line), comment.alone) for comment in comments
    ]
