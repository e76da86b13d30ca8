"""The comments that belong to no statement, and those at imports: kept, moved, lost or new."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from verify.certificate.judge import Judge
from verify.certificate.pieces import Comment, Place, Shapes
from verify.certificate.source import Module, Source, only_imports
from verify.kernel.trees.source import stored

_UNUSED = re.compile(r"#\s*noqa(?::\s*F401)?\s*", re.IGNORECASE)


class Comments:
    """Checks the comments that belong to no statement (`free`), and those at imports."""

    def __init__(self, judge: Judge, shapes: Shapes) -> None:
        self.judge, self.shapes = judge, shapes
        alike = [
            ((old.path, before), (new.path, after))
            for old, before, new, after in judge.pairs
            if old.source.units[before].text == new.source.units[after].text
        ]
        self.kept = {ours for ours, _ in alike}, {theirs for _, theirs in alike}

    def run(self) -> None:
        """Report each comment that is lost, new, or at another place."""
        for at_imports in (False, True):
            lost, come = (
                {path: self._listed(m.source, at_imports, kept) for path, m in side.items()}
                for side, kept in zip((self.judge.old, self.judge.new), self.kept, strict=True)
            )
            for path in sorted(lost):
                self._match(path, lost[path], path, come.get(path, []))
            for path in sorted(lost):
                for other in sorted(come):
                    self._match(path, lost[path], other, come[other])
                for text, line, _ in lost[path]:
                    self._note("base", self.judge.old[path], line, f"it is gone: {text}")
            for path in sorted(come):
                for comment in come[path]:
                    if at_imports and self._hands_on(path, comment):
                        why = "a comment keeps linters from taking out moved names"
                        self.judge.found.observe(path, comment[1], "comment", why)
                    elif not self._copied(path, comment, at_imports):
                        why = f"it is new, or stood elsewhere: {comment[0]}"
                        self._note("target", self.judge.new[path], comment[1], why)

    def _hands_on(self, path: str, comment: Comment) -> bool:
        """Tell whether a comment keeps linters from taking out what imports moved names back."""
        tells = comment[2] and _UNUSED.fullmatch(comment[0])
        return bool(tells) and comment[2] <= self._left.get(path, set())

    @cached_property
    def _left(self) -> Mapping[str, set[str]]:
        """List the names that went from each file to another."""
        left: dict[str, set[str]] = {}
        for old, before, new, _ in self.judge.pairs:
            if old.path != new.path:
                left.setdefault(old.path, set()).update(stored(old.source.units[before].node))
        return left

    def _note(self, side: str, module: Module, line: int, why: str) -> None:
        self.judge.residual(side, module.source, line, "comment", why, [line])

    def _listed(self, source: Source, at_imports: bool, kept: set[Place]) -> list[Comment]:
        if at_imports:
            return self.shapes.import_comments(source, kept)
        return [(text, line, frozenset()) for text, line in source.free]

    def _match(self, path: str, lost: list[Comment], other: str, come: list[Comment]) -> None:
        """Take out the comments that are the same in two files, at the same place."""
        renamed = self.judge.whole.names
        twins: dict[str, list[Comment]] = defaultdict(list)
        for comment in come:
            for text in {comment[0], self.judge.whole.spelled(comment[0])}:
                twins[text].append(comment)
        for comment in list(lost):
            for twin in twins[comment[0]]:
                known = comment[2].union(*(renamed.get(name, ()) for name in comment[2]))
                names = known & twin[2] if comment[2] else not twin[2]
                if names and (comment[2] or self._placed(path, comment[1], other, twin[1])):
                    lost.remove(comment)
                    come.remove(twin)
                    for text in {twin[0], self.judge.whole.spelled(twin[0])}:
                        twins[text].remove(twin)
                    break

    def _placed(self, path: str, line: int, other: str, twin: int) -> bool:
        """Tell whether a comment stands below or above the same statement as before."""
        kept = [
            (old.source.units[before].first, new.source.units[after].first)
            for old, before, new, after in self.judge.pairs
            if old.path == path and new.path == other
        ]
        if not kept:
            return path == other
        ours = sorted(kept)
        theirs = sorted(kept, key=lambda pair: pair[1])
        one, two = sum(b < line for b, _ in ours), sum(t < twin for _, t in theirs)
        ends = [None, *ours, None], [None, *theirs, None]
        return ends[0][one] == ends[1][two] or ends[0][one + 1] == ends[1][two + 1]

    def _copied(self, path: str, comment: Comment, at_imports: bool) -> bool:
        """Allow the comments at imports, and a file's header, to be copied along with code."""
        text, line, names = comment
        for origin in sorted(self.judge.sources[path]):
            source = self.judge.old[origin].source
            first = next((u.first for u in source.units if not only_imports(u.node)), 1 << 30)
            for known, place, others in self._listed(source, at_imports, set()):
                fits = (
                    names & others if at_imports else place < first and path not in self.judge.old
                )
                if known == text and fits:
                    self.judge.found.move("copies", "comment", origin, place, path, line)
                    return True
        return False
