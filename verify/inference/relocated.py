"""Which files of Python went elsewhere whole: read from what their lines have in common."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname

from transforms.tree import GitTree
from verify.inference.evidence import Evidence, File
from verify.inference.modules import forwards

_INIT = "__init__.py"
_SMALL = 30  # lines
_MOST_PAIRS = 20_000
_FORWARDING = frozenset({"__getattr__", "__dir__", "__all__"})  # what a module that went leaves


def relocated(base: GitTree, target: GitTree, evidence: Evidence) -> dict[str, str]:
    """Give the modules that moved with what is in them, each with its new path.

    More than half of the old file's lines are in one new file, and are more than half of that one.
    """
    before, after = base.entries(), target.entries()
    gone = {p: f for p, f in evidence.old.items() if _went(f, evidence.new.get(p), after)}
    come = {
        path: file
        for path, file in evidence.new.items()
        if path.endswith(".py") and (path not in before or path in gone)
    }
    olds, news = ({p: _Code.of(f) for p, f in side.items()} for side in (gone, come))
    ranked = []
    for old, new in _likely(gone, come, evidence):
        same = olds[old].in_common(news[new])
        if same is not None:
            ranked.append((-same, basename(old) != basename(new), old, new))
    found: dict[str, str] = {}
    for *_, old, new in sorted(ranked):
        if old not in found and new not in found.values():
            found[old] = new
    for old, new in sorted(_beside(gone, come, found)):
        if old not in found and new not in found.values():
            found[old] = new
    return found


def _went(file: File, now: File | None, after: Mapping[str, int]) -> bool:
    """Whether a module is gone, or only forwards what it had."""
    if not file.path.endswith(".py"):
        return False
    if now is None:
        return file.path not in after
    if forwards(now.data):
        return True
    return bool(file.definitions) and not file.defined().keys() & (
        now.defined().keys() - _FORWARDING
    )


@dataclass(frozen=True, slots=True)
class _Code:
    """What a file has beside its imports, which follow it: its lines and words, counted."""

    lines: Counter[bytes]
    words: Counter[bytes]

    @classmethod
    def of(cls, file: File) -> _Code:
        """Read a file; of one that has nothing but imports, they count."""
        rows = [line.strip() for line in file.data.split(b"\n")]
        imports = {
            number
            for node in ast.walk(file.tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        code = [row for number, row in enumerate(rows, 1) if row and number not in imports]
        code = code or [row for row in rows if row]
        # In a small file a name of a module is soon in half of the lines.
        words = re.findall(rb"\w+", b"\n".join(code)) if len(code) <= _SMALL else ()
        return cls(Counter(code), Counter(words))

    def in_common(self, other: _Code) -> int | None:
        """Count the lines, or the words, that two files share, if more than half of each."""
        for mine, theirs in ((self.lines, other.lines), (self.words, other.words)):
            same = (mine & theirs).total()
            if mine.total() < 2 * same > theirs.total():
                return same
        return None if self.lines or other.lines else 0


def _likely(
    gone: Mapping[str, File], come: Mapping[str, File], evidence: Evidence
) -> Iterator[tuple[str, str]]:
    """Pairs that are worth a look: a name went from one to the other, or they are called alike."""
    pairs = {(m.source, m.destination) for m in evidence.moved}
    named = defaultdict(list)
    for path in come:
        named[basename(path)].append(path)
    many = sum(len(named[basename(old)]) for old in gone) > _MOST_PAIRS
    alike = {
        (old, new)
        for old in gone
        for new in named[basename(old)]
        if not many or basename(dirname(old)) == basename(dirname(new))
    }
    bare = [path for path, file in come.items() if not file.definitions]
    old_bare = [path for path, file in gone.items() if not file.definitions]
    few = len(old_bare) * len(bare) <= _MOST_PAIRS
    plain = {(old, new) for old in old_bare for new in bare} if few else set()
    for old, new in sorted(pairs | alike | plain):
        if old in gone and new in come and old != new:
            yield old, new


def _beside(
    gone: Mapping[str, File], come: Mapping[str, File], moved: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Give each `__init__` without definitions that went with the modules of its folder."""
    for old, new in moved.items():
        source, goal = dirname(old), dirname(new)
        if basename(old) == basename(new) and source and goal and source != goal:
            path, there = f"{source}/{_INIT}", f"{goal}/{_INIT}"
            if path in gone and not gone[path].definitions and there in come:
                yield path, there
