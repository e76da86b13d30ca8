"""Comments are conserved as statements are, each at its place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict

from verify.kernel.both import Both
from verify.kernel.source import Comment, Source, Statement
from verify.kernel.verdict import BASE, EXPLAINED, TARGET, TEXT, Place

_TOOLS = re.compile(r"#\s*(?:noqa|type:\s*ignore|pylint:|isort:|pragma|fmt:|nosec|ruff:)")

_Numbered = list[tuple[int, int]]  # lines, and which statement it is


class Comments:
    """Compares the comments of the changed files."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.ours = {source.path: source for source in both.sources(both.base)}
        self.theirs = {source.path: source for source in both.sources(both.target)}
        self._pairs: dict[tuple[str, str], tuple[_Numbered, _Numbered]] = {}
        for source in (*self.ours.values(), *self.theirs.values()):
            _ = source.free  # deals the comments out

    def check(self) -> None:
        """Report comments that are lost, new or elsewhere."""
        for target, base in self.both.pairing.base_of.items():
            one = self.both.statement(self.both.base, base)
            two = self.both.statement(self.both.target, target)
            self._same(one, two, base[0], target[0])
        self._imports()
        self._free()

    def _same(self, one: Statement, two: Statement, path: str, now: str) -> None:
        ours = Counter(comment.text for comment in one.comments)
        theirs = Counter(comment.text for comment in two.comments)
        if ours == theirs:
            if [c.text for c in one.comments] != [c.text for c in two.comments] or _moved(one, two):
                self._say(TEXT, two.comments[0], "stands elsewhere in its statement", now)
            return
        for comment in one.comments:
            if theirs[comment.text] < ours[comment.text]:
                self._say(TEXT, comment, "is gone", path, BASE)
        for comment in two.comments:
            if ours[comment.text] < theirs[comment.text]:
                self._say(TEXT, comment, "is new", now)

    def _imports(self) -> None:
        ours, theirs = _at_imports(self.ours), _at_imports(self.theirs)
        lost = Counter(c.text for _, c in ours)
        come = Counter(c.text for _, c in theirs)
        kept = {statement.text for source in self.theirs.values() for statement in source.statements}
        for source, comment in ours:
            if not come[comment.text] and source.path in self.theirs:
                if not any(comment.text in text for text in kept):
                    left = self._import_left(source, comment)
                    self._say(EXPLAINED if left else TEXT, comment, "is gone", source.path, BASE)
        for source, comment in theirs:
            if not lost[comment.text] and not self._header(source, comment):
                tool = bool(_TOOLS.match(comment.text)) and self._handed_on(source, comment)
                self._say(EXPLAINED if tool else TEXT, comment, "is new", source.path)

    def _import_left(self, source: Source, comment: Comment) -> bool:
        """Tell whether the import that a comment stood at is gone."""
        texts = {s.text for s in self.theirs[source.path].statements}
        return all(
            statement.text not in texts
            for statement in source.statements
            if statement.first <= comment.line <= statement.last
        ) and any(s.first <= comment.line <= s.last for s in source.statements)

    def _handed_on(self, source: Source, comment: Comment) -> bool:
        """Tell whether a comment for tools stands at an import that was not there before."""
        old = self.ours.get(source.path)
        known = {statement.text for statement in old.statements} if old else set()
        return any(
            statement.imports_only
            and statement.first <= comment.line <= statement.last
            and statement.text.replace(comment.text, "").rstrip() not in known
            for statement in source.statements
        )

    def _header(self, source: Source, comment: Comment) -> bool:
        """Tell whether a comment stands at the head of a new file."""
        if source.path in self.ours:
            return False
        first = next((s.first for s in source.statements if not s.imports_only), 1 << 30)
        return comment.line < first

    def _free(self) -> None:
        waiting: dict[str, list[tuple[str, Comment]]] = defaultdict(list)
        for path, source in self.ours.items():
            for comment in source.free:
                waiting[comment.text].append((path, comment))
        known = {text: len(found) for text, found in waiting.items()}
        come = [(p, c) for p, source in sorted(self.theirs.items()) for c in source.free]
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
        for path, comment in come:
            if self._header(self.theirs[path], comment):
                self._say(EXPLAINED, comment, "is the header of a new file", path)
            elif not known.get(comment.text):
                self._say(TEXT, comment, "is new", path)
            else:
                self._say(TEXT, comment, "stands a second time", path)
        for found in waiting.values():
            for path, comment in found:
                copied = any(
                    comment.text == other.text for s in self.theirs.values() for other in s.free
                )
                gone_header = path not in self.theirs and copied
                if not gone_header:
                    self._say(TEXT, comment, "is gone", path, BASE)

    def _placed(self, one: tuple[str, Comment], two: tuple[str, Comment]) -> bool:
        """Tell whether a comment stands below or above the same statement as before."""
        ours, theirs = self._kept(one[0], two[0])
        if not ours:
            return one[0] == two[0] or two[0] not in self.ours
        before, after = bisect_left(ours, (one[1].line,)), bisect_left(theirs, (two[1].line,))
        ends = [None, *(n for _, n in ours), None], [None, *(n for _, n in theirs), None]
        below = ends[0][before + 1] == ends[1][after + 1]
        return below or ends[0][before] == ends[1][after]

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

    def _say(
        self, kind: str, comment: Comment, what: str, path: str, side: str = TARGET
    ) -> None:
        place = Place(path, comment.line, side)
        self.both.found.say(kind, comment.text[:80], f"this comment {what}", place)


def _at_imports(sources: dict[str, Source]) -> list[tuple[Source, Comment]]:
    return [
        (source, comment)
        for _, source in sorted(sources.items())
        for statement in source.statements
        if statement.imports_only
        for comment in statement.comments
    ]


def _moved(one: Statement, two: Statement) -> bool:
    """Tell whether comments that were above, behind or within stand otherwise, text aside."""
    if one.text == two.text:
        return [_where(one, c) for c in one.comments] != [_where(two, c) for c in two.comments]
    return [_side(one, c) for c in one.comments] != [_side(two, c) for c in two.comments]


def _where(statement: Statement, comment: Comment) -> int:
    return comment.line - statement.first


def _side(statement: Statement, comment: Comment) -> tuple[bool, bool, bool]:
    return comment.line < statement.first, comment.line > statement.last, comment.alone
