"""What two trees show of a move: which names left which file, and where they stand now."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from transforms.errors import Place, Refusal
from transforms.move.copies import is_copyable
from transforms.source.module import first_line
from transforms.syntax.parsing import parse
from transforms.tree import GitTree
from verify.history.ranges import differing, entries_at
from verify.proofs.definitions import defined_names

_LINE = re.compile(rb"(?m)\S.*$")
_WORD = re.compile(rb"\w+")
_MOST_WORDS = 0.7


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level statement that binds names, by the span of its lines (1-based, inclusive)."""

    names: tuple[str, ...]
    first: int
    last: int
    is_helper: bool  # an assignment or a guard, not a function or a class
    may_be_copied: bool  # two of them would not be two of one object

    @property
    def lines(self) -> int:
        """Count its lines."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class File:
    """One side of a changed Python file."""

    path: str
    data: bytes
    tree: ast.Module
    definitions: tuple[Definition, ...]

    def defined(self) -> dict[str, Definition]:
        """Give the first definition of each name."""
        found: dict[str, Definition] = {}
        for item in self.definitions:
            for name in item.names:
                found.setdefault(name, item)
        return found

    def names_at(self, line: int) -> Iterator[str]:
        """Give what the top-level statement at a line binds, imports included."""
        for node in self.tree.body:
            if first_line(node) <= line <= (node.end_lineno or node.lineno):
                yield from defined_names(node)
                for part in ast.walk(node):
                    if isinstance(part, (ast.Import, ast.ImportFrom)):
                        yield from (a.asname or a.name.partition(".")[0] for a in part.names)

    def mentions(self, item: Definition) -> set[str]:
        """Give the names that a definition reads."""
        return {
            node.id
            for statement in self.tree.body
            if first_line(statement) == item.first
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        }

    def text(self, item: Definition) -> bytes:
        """Give the bytes of a definition's lines."""
        return b"\n".join(self.data.split(b"\n")[item.first - 1 : item.last])


@dataclass(frozen=True, slots=True, order=True)
class Moved:
    """A name that left `source` and stands in `destination` at `line`."""

    source: str
    destination: str
    line: int
    name: str
    is_helper: bool = field(compare=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the two trees show. `old` and `new` are the changed Python files that can be read.

    `unread` are the places where the others cannot be.
    """

    old: Mapping[str, File]
    new: Mapping[str, File]
    moved: tuple[Moved, ...]
    notes: tuple[str, ...]
    unread: tuple[Place, ...] = ()


def gather(base: GitTree, target: GitTree) -> Evidence:
    """Compare what the changed Python files of two commits define at top level."""
    paths = [path for path in differing(base, target) if path.endswith((".py", ".pyi"))]
    unread: dict[str, Place] = {}
    old, new = _files(base, paths, unread), _files(target, paths, unread)
    lost: dict[str, list[str]] = defaultdict(list)
    for path, file in old.items():
        kept = new[path].defined() if path in new else {}
        for name in file.defined():
            if name not in kept:
                lost[name].append(path)
    moved: list[Moved] = []
    notes: list[str] = []
    for path, file in sorted(new.items()):
        had = old[path].defined() if path in old else {}
        for name, item in file.defined().items():
            text = file.text(item)
            left = [p for p in lost[name] if _alike(old[p].text(old[p].defined()[name]), text)]
            if name not in had and left:
                source = _origin(name, left, file, item, old, notes)
                moved.append(Moved(source, path, item.first, name, item.is_helper))
    once = _once(moved, old, new, notes)
    return Evidence(old, new, once, tuple(notes), tuple(unread[path] for path in sorted(unread)))


def _alike(one: bytes, other: bytes) -> bool:
    """Whether half of the lines of one are in the other, or most words: else only names are equal.

    A name of a module that is spelled otherwise now can stand in each line.
    """
    return _share(_LINE, one, other) >= 1 / 2 or _share(_WORD, one, other) >= _MOST_WORDS


def _share(part: re.Pattern[bytes], one: bytes, other: bytes) -> float:
    mine, theirs = (Counter(part.findall(text)) for text in (one, other))
    return (mine & theirs).total() / max(1, min(mine.total(), theirs.total()))


def _files(tree: GitTree, paths: list[str], unread: dict[str, Place]) -> dict[str, File]:
    """Read files; what cannot be read is not explained: it is authored, or left over."""
    found = {}
    for path, entry in entries_at(tree, paths).items():
        try:
            found[path] = read_file(path, entry.data)
        except Refusal as refusal:
            unread.setdefault(path, refusal.place or Place(path))
    return found


def read_file(path: str, data: bytes) -> File:
    """Read a file of Python. Raises `Refusal` where it does not parse."""
    module = parse(data, path)
    return File(path, data, module, tuple(_definitions(module)))


def _definitions(module: ast.Module) -> Iterable[Definition]:
    for node in module.body:
        names = tuple(dict.fromkeys(defined_names(node)))
        if names:
            whole = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            last = node.end_lineno or node.lineno
            is_helper = not isinstance(node, whole)
            copyable = is_helper and is_copyable(node)
            yield Definition(names, first_line(node), last, is_helper, copyable)


def _origin(
    name: str,
    sources: list[str],
    file: File,
    item: Definition,
    old: Mapping[str, File],
    notes: list[str],
) -> str:
    """The file that a name came from: the one with the same text, if several lost the name."""
    if len(sources) == 1:
        return sources[0]
    text = file.text(item)
    alike = [path for path in sources if old[path].text(old[path].defined()[name]) == text]
    chosen = (alike or sources)[0]
    if len(alike) != 1:
        others = ", ".join(path for path in sources if path != chosen)
        notes.append(f"`{name}` could have come from {others} as well; {chosen} is taken")
    return chosen


def _once(
    moved: list[Moved], old: Mapping[str, File], new: Mapping[str, File], notes: list[str]
) -> tuple[Moved, ...]:
    """Let each name leave its file once: to where its text is the same, if it went to several."""
    by_name: dict[tuple[str, str], list[Moved]] = defaultdict(list)
    for item in moved:
        by_name[item.source, item.name].append(item)
    chosen = []
    for (source, name), items in by_name.items():
        text = old[source].text(old[source].defined()[name])
        alike = [i for i in items if new[i.destination].text(_at(new, i)) == text]
        best = (alike or items)[0]
        chosen.append(best)
        if len(items) > 1 and not best.is_helper:
            others = ", ".join(i.destination for i in items if i is not best)
            notes.append(f"`{name}` stands in {others} as well; it moved to {best.destination}")
    return tuple(sorted(chosen))


def _at(new: Mapping[str, File], item: Moved) -> Definition:
    return new[item.destination].defined()[item.name]
