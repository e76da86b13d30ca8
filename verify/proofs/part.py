"""What of a large tree the second kernel looks at: the change, who names it, what these import.

Every other Python file is there and blank: whatever is read from it is unknown, and the same on
both sides. So what differs in a part differs in the whole, unless it hangs on what the unknown is;
what does not differ in a part may still differ elsewhere. The first kernel judges the whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from transforms.result.changes import REGULAR
from verify import kernel
from verify.certificate import Files, Held, Rest
from verify.kernel.door import reading
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import IMPORTS, OpaqueError, stored
from verify.kernel.trees.tree import BUILT, Parsed, Tree, dotted
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import BASE, Certificate
from verify.proofs.naming import Naming

ROOM = 3 << 17  # bytes of Python, of the larger side: seconds for the second kernel
_SETTINGS = re.compile(
    r"(?:^|/)(?:[^/]+\.(?:toml|cfg|ini|pth|mk)|MANIFEST\.in|[Mm]akefile|[Jj]ustfile"
    r"|\.gitignore|meson\.build)$"
)
# Who lists the files of a folder, the modules of a package or the subclasses of a class, stands in
# the way of imports, or does something to all loggers that are there: a new file may meet them.
_LISTS = words(
    """listdir scandir iterdir glob rglob iter_modules walk_packages find_packages __subclasses__
    get_objects meta_path path_hooks addaudithook dictConfig fileConfig"""
)
_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
_ABOVE = ("__init__.py", "conftest.py", "setup.py", "hatch_build.py")
# Files in which nobody names anything: they are not even read.
_DATA = re.compile(
    r"\.(?:png|jpe?g|gif|webp|ico|bmp|tiff?|avif|pdf|mp[34]|wav|ogg|flac|webm|mov|avi|woff2?|[ot]tf"
    r"|eot|zip|gz|bz2|xz|zst|tar|tgz|7z|whl|jar|sqlite|np[yz]|safetensors|onnx|parquet|so|dylib|dll"
    r"|pyd|exe|[ao]|obj|class|pyc)$",
    re.I,
)
_CRUMBS = 1 << 12  # bytes of room into which nothing fits that is worth a search
_FEW = 8  # words that are found sooner one by one than by cutting all files into theirs
_AT_ONCE = 64  # files that are read at once


@dataclass(frozen=True, slots=True)
class Part:
    """The shared files as they are looked at: of those that are `blank` nothing is known.

    Symbolic links are left out: the first kernel looks at those of the whole tree.
    """

    rest: Held
    blank: frozenset[str]
    parsed: Parsed  # what was parsed to choose it

    def judge(self, base: Files, target: Files) -> Certificate:
        """Ask the second kernel; only what breaks or is open counts."""
        return kernel.certify(base, target, self.rest, blank=self.blank, parsed=self.parsed)

    @property
    def read(self) -> int:
        """Count the Python files that are read."""
        return sum(path.endswith(".py") for path in self.rest.paths()) - len(self.blank)

    @property
    def python(self) -> int:
        """Count all of them."""
        return self.read + len(self.blank)


def part(base: Files, target: Files, rest: Rest) -> Part | None:
    """Choose what is looked at; nothing, where the change alone takes all the room.

    `base` and `target` hold what differs, `rest` all else. First come files that name a module
    which made something that it makes no longer, and what code that moved imports; then those that
    name what such a module made, or another module or name that the change has to do with; then
    what all of them import. Each comes with the packages above it.
    """
    python = sorted(path for path in rest.paths() if path.endswith(".py"))
    ours, theirs = ({p: d for p, (d, _) in s.items() if p.endswith(".py")} for s in (base, target))
    room = ROOM - max(sum(map(len, side.values())) for side in (ours, theirs))
    if room <= 0:
        return None
    parsed = Parsed()
    with reading():
        hidden = frozenset(_beside(target)).intersection(python)
        change = _Change.of(ours, theirs, hidden, parsed, _tops([*python, *ours, *theirs]))
        lists = _LISTS if ours.keys() != theirs.keys() else frozenset()
        choice = _Choice(rest, python, {**ours, **theirs}, room, change.words | lists, parsed)
        choice.take([*_above([*base, *target], *_ABOVE)])
        choice.take(sorted(hidden))
        choice.take(_below_fixtures(python, [*base, *target]))
        choice.find(change.modules)
        choice.follow([*change.movers, *(path for path in theirs if path not in ours)])
        choice.find(change.names)
        choice.find(lists)
        choice.find(change.others)
        choice.follow([*ours, *theirs, *choice.known])
    blank = frozenset(path for path in python if path not in choice.known)
    built = dict.fromkeys((path for path in rest.paths() if path.endswith(BUILT)), b"")
    others = _others(rest, change.words, room)
    looked = {**built, **others, **dict.fromkeys(blank, b""), **choice.known}
    return Part(Held({path: (data, REGULAR) for path, data in looked.items()}), blank, parsed)


@dataclass(frozen=True, slots=True)
class _Change:
    """By which words somebody names what changed."""

    movers: frozenset[str]  # files of the base that made something which they make no longer
    modules: frozenset[str]  # the last names of these
    names: frozenset[str]  # what they made
    others: frozenset[str]  # other modules that changed, and names that are imported now

    @classmethod
    def of(
        cls,
        base: Mapping[str, bytes],
        target: Mapping[str, bytes],
        hidden: frozenset[str],
        parsed: Parsed,
        tops: frozenset[str],
    ) -> _Change:
        """Read them off the files that differ.

        `hidden` may be hidden by one of them, `tops` are the first parts of the tree's own names.
        """
        ours, theirs = (
            {path: _told(path, data, parsed, tops) for path, data in side.items()}
            for side in (base, target)
        )
        lost = {path: one.made - theirs.get(path, _NOTHING).made for path, one in ours.items()}
        movers = frozenset(path for path, names in lost.items() if names or path not in target)
        taken = (one.taken - ours.get(path, _NOTHING).taken for path, one in theirs.items())
        modules = _modules([*movers, *hidden])
        return cls(
            movers,
            modules | {f"c{name}" for name in modules},  # as a pickle spells one
            frozenset().union(*lost.values()),
            _modules([*base, *target]).union(*taken),
        )

    @property
    def words(self) -> frozenset[str]:
        """Give all of them."""
        return self.modules | self.names | self.others


def _others(rest: Rest, names: frozenset[str], room: int) -> dict[str, bytes]:
    """Give settings, and what else names what changed, as far as there is room."""
    paths = sorted(path for path in rest.paths() if not path.endswith(".py"))
    found = dict(rest.read_many([path for path in paths if _SETTINGS.search(path)]))
    texts = [path for path in paths if path not in found and not _DATA.search(path)]
    for path, data, _ in Naming(names).among(rest, texts if room >= _CRUMBS else ()):
        if len(data) <= room:
            room -= len(data)
            found[path] = data
    return found


class _Choice:
    """The files that are looked at, as far as there is room."""

    def __init__(
        self,
        rest: Rest,
        python: Iterable[str],
        changed: Mapping[str, bytes],
        room: int,
        words: Collection[str],
        parsed: Parsed,
    ) -> None:
        self._rest, self._python, self._room = rest, dict.fromkeys(python, b""), room
        self._files = {**self._python, **changed}
        self._tree = Tree(BASE, self._files, parsed)
        self._words = words
        self.known: dict[str, bytes] = {}

    @cached_property
    def _naming(self) -> list[tuple[str, frozenset[str]]]:
        """Give the files that say what anybody will look for, and which words each says."""
        found = Naming(self._words).among(self._rest, self._python)
        return [(path, said) for path, _, said in found]

    def take(self, paths: Iterable[str]) -> list[str]:
        """Take what fits, in order, each with the packages above it; gives what is new."""
        whole = [near for path in paths for near in (*_above([path], "__init__.py"), path)]
        wanted = [p for p in dict.fromkeys(whole) if p in self._python and p not in self.known]
        taken = []
        for at in range(0, len(wanted), _AT_ONCE):
            if self._room <= 0:
                break
            for path, data in self._rest.read_many(wanted[at : at + _AT_ONCE]).items():
                if len(data) <= self._room:
                    self._room -= len(data)
                    self.known[path] = self._files[path] = data
                    taken.append(path)
        return taken

    def find(self, words: frozenset[str]) -> None:
        """Take the files that say one of these; nobody looks for them where nothing fits more."""
        if not words or self._room < _CRUMBS:
            return
        if len(words) > _FEW:
            self.take([path for path, said in self._naming if said & words])
        else:
            told = re.compile(b"|".join(sorted(map(re.escape, map(raw, words)))))
            near = sorted(self._rest.search(told, self._python))
            self.take([path for path, _, _ in Naming(words).among(self._rest, near)])

    def follow(self, paths: Iterable[str]) -> None:
        """Take what files import, and what that imports, nearest first."""
        todo = list(paths)
        while todo and self._room >= _CRUMBS:
            todo = self.take(sorted({other for path in todo for other in self._tree.imports(path)}))


def _above(paths: Iterable[str], *names: str) -> Iterator[str]:
    """List files of these names in all folders that the files lie in, outermost first."""
    for path in paths:
        folders = path.split("/")[:-1]
        for end in range(len(folders) + 1):
            yield from ("/".join([*folders[:end], name]) for name in names)


def _below_fixtures(python: Iterable[str], changed: Iterable[str]) -> list[str]:
    """List the tests that a changed `conftest.py` is for."""
    ends = "conftest.py"
    folders = tuple(
        {path.removesuffix(ends) for path in changed if f"/{path}".endswith(f"/{ends}")}
    )
    return [path for path in python if path.startswith(folders) and _TEST.search(path)]


def _beside(target: Files) -> Iterator[str]:
    """List what a new package could hide, or be hidden by."""
    for path in target:
        parts = path.split("/")[:-1]
        yield from ("/".join(parts[:end]) + ".py" for end in range(1, len(parts) + 1))
        yield path.removesuffix(".py") + "/__init__.py"


def _modules(paths: Iterable[str]) -> frozenset[str]:
    """Give the last names of modules."""
    found = {dotted(path).rpartition(".")[2] for path in paths if path.endswith(".py")}
    return frozenset(name for name in found if name.isidentifier())


def _tops(paths: Iterable[str]) -> frozenset[str]:
    """Give whatever an absolute import of these may begin with, from whatever root."""
    return frozenset(part for path in paths for part in path.removesuffix(".py").split("/"))


@dataclass(frozen=True, slots=True)
class _Told:
    """What a module binds by itself, and the names that it takes from others of the tree."""

    made: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()


_NOTHING = _Told()


def _told(path: str, data: bytes, parsed: Parsed, tops: frozenset[str]) -> _Told:
    try:
        body: list[ast.stmt] = parsed.read(path, data).tree.body
    except OpaqueError:
        return _NOTHING
    own = (node for node in body if not isinstance(node, IMPORTS))
    nodes = (node for statement in body for node in walk(statement))
    taken = (
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").partition(".")[0] in tops)
        for alias in node.names
        if alias.name != "*"
    )
    return _Told(frozenset(name for node in own for name in stored(node)), frozenset(taken))
