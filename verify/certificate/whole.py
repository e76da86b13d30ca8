"""Modules that moved whole: which file of the target is which of the base, at another path.

A file is taken for one that moved if it is new and most of what it says stood in one file that is
gone, or that holds none of it any more. It counts as that module only if, statement by statement,
all of it went there and nothing else did.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from posixpath import basename, dirname

from verify.certificate.pieces import Place, name_of
from verify.certificate.source import Source, Unit, imports_of, is_text, only_imports, stem_of
from verify.kernel.trees.nodes import walk

Sources = Mapping[str, Source]
_WORD = re.compile(r"\w[\w./:]*\w")
LEFT = " (what is left there)"  # no stem ends like this
_LEAST = 60  # percent of a file that make it the same file
_PART = re.compile("([./:])")
_CHECKING = r"(?:typing|typing_extensions|__future__)\Z"  # what any file may import


class Whole:
    """What moved whole: `paths` of the target by those of the base.

    `called` gives the stem of a module, or of a folder of modules, in the target the name that it
    has in both trees: its stem in the base. What stands where one left is called otherwise.
    """

    def __init__(self, paths: Mapping[str, str], left: Collection[str] = ()) -> None:
        self.paths = dict(sorted(paths.items()))
        moved = {stem_of(new): stem_of(old) for new, old in self.paths.items()}
        self.called = {new: old for new, old in moved.items() if new != old}
        for old in set(self.called.values()) & {stem_of(path) for path in left}:
            self.called.setdefault(old, f"{old}{LEFT}")
        self.folders: dict[str, str] = {}  # without exception: modules, data and all
        self.roots: Callable[[str], bool] = lambda _folder: True

    def add_folders(self, base: Collection[str], target: Collection[str]) -> None:
        """Take in the folders that moved: their modules, and where all went along, their files.

        `base` and `target` are all files of the two trees.
        """
        goals: dict[str, set[str]] = defaultdict(set)
        for pair in self.paths.items():
            there, here = pair
            while there and here and basename(there) == basename(here):
                there, here = dirname(there), dirname(here)
                goals[here].add(there)
        inside: dict[str, list[str]] = {old: [] for old, found in goals.items() if len(found) == 1}
        after = {folder for path in target for folder in _above(path)}
        before = {folder for path in base for folder in _above(path)}
        for path in base:
            for folder in _above(path):
                if folder in inside:
                    inside[folder].append(path)
        for old, paths in inside.items():
            new = min(goals[old])
            if not old or not new or new in before or old in after:
                continue
            expected = [new + path[len(old) :] for path in paths]
            modules = [n for n, path in zip(expected, paths, strict=True) if path.endswith(".py")]
            if all(self.paths.get(n, "")[len(old) :] == n[len(new) :] for n in modules):
                self.called.setdefault(new, old)
                if all(path in target for path in expected):
                    self.folders[new] = old

    def spelled(self, text: str) -> str:
        """Give a text of the target as the base would have spelled it: its modules by old names."""
        return _WORD.sub(lambda found: _renamed(found[0], self._loose), text)

    def same(self, old: str, new: str, *, prose: bool) -> bool:
        """Tell whether two texts differ only in how they spell modules that moved.

        In `prose` a module may be spelled as from within its package; a program would not find it.
        """
        if old == new or not self.called:
            return old == new
        if _WORD.split(old) != _WORD.split(new):
            return False
        names = self._loose if prose else self._strict
        pairs = zip(_WORD.findall(old), _WORD.findall(new), strict=True)
        return all(one == other or _renamed(other, names) == one for one, other in pairs)

    @cached_property
    def names(self) -> Mapping[str, set[str]]:
        """Give the names that an import of what moved may bring, by those that it brought."""
        found: dict[str, set[str]] = defaultdict(set)
        for new, old in self.called.items():
            if not old.endswith(LEFT):
                found[basename(old)].add(basename(new))
                pairs = zip(old.split("/"), new.split("/"), strict=False)
                for one, other in (pair for pair in pairs if pair[0] != pair[1]):
                    found[one].add(other)
                    break
        return found

    @cached_property
    def _loose(self) -> Mapping[str, str]:
        return dict(self._names(lambda _folder: True, lambda _folder: True))

    @cached_property
    def _strict(self) -> Mapping[str, str]:
        return dict(self._names(self.roots, lambda folder: not folder))

    def _names(
        self, imported: Callable[[str], bool], read: Callable[[str], bool]
    ) -> Iterator[tuple[str, str]]:
        """List how a text may spell what moved, and how it spelled that before.

        Names begin in a folder that imports start from, paths in one that files are read from.
        """
        for new, old in [*self.called.items(), *self.paths.items()]:
            if old.endswith(LEFT):
                continue
            ours, theirs = old.split("/"), new.split("/")
            for depth in range(min(len(ours), len(theirs))):
                if ours[:depth] != theirs[:depth]:
                    break
                folder = "/".join(ours[:depth])
                one, other = ours[depth:], theirs[depth:]
                if read(folder):
                    yield "/".join(other), "/".join(one)
                if imported(folder) and not new.endswith(".py"):
                    yield ".".join(other), ".".join(one)


def _above(path: str) -> Iterator[str]:
    """List the folders that a file lies in."""
    while path:
        path = dirname(path)
        yield path


def _renamed(word: str, names: Mapping[str, str]) -> str:
    """Give a word of the target as the base spelled it: the longest beginning that moved."""
    parts = _PART.split(word)
    for size in range(len(parts), 0, -2):
        known = names.get("".join(parts[:size]))
        if known is not None and (size > 1 or "." in known or "/" in known):
            return known + "".join(parts[size:])
    return word


# --- which file is which ---


def likely(base: Sources, target: Sources) -> dict[str, str]:
    """Pair files that are new with files whose statements they hold now, each with one at most."""
    fresh = sorted(target.keys() - base.keys())
    gone = [p for p in sorted(base) if p not in target or _emptied(base[p], target[p])]
    found: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, old, new in sorted(_alike(base, gone, target, fresh)):
        if new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    left = [path for path in gone if path not in taken and path not in target]
    for new in fresh if left else ():
        beside = _beside(base, left, target, new, found) if new not in found else None
        if beside is not None:
            found[new] = beside
            left.remove(beside)
    return found


def _alike(
    base: Sources, gone: Iterable[str], target: Sources, fresh: Iterable[str]
) -> Iterator[tuple[int, bool, str, str]]:
    """List pairs of files that are mostly the same: how little so, if renamed, old and new path."""
    homes: dict[object, list[str]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for path in gone:
        own = _statements(base[path])
        sizes[path] = sum(len(unit.text) for unit in own)
        for word in {word for unit in own for word in _words(unit)}:
            homes[word].append(path)
    for path in fresh:
        own = _statements(target[path])
        shared: Counter[str] = Counter()
        for unit in own:
            text, name = _words(unit)
            exact = homes.get(text, [])
            for old in exact:
                shared[old] += len(unit.text)
            for old in homes.get(name, ()) if name is not None else ():
                if old not in exact:  # an edit of the same definition
                    shared[old] += len(unit.text) * 4 // 5
        size = sum(len(unit.text) for unit in own)
        for old, score in shared.items():
            share = 100 * score // max(1, size, sizes[old])
            if share >= _LEAST:
                yield -share, basename(old) != basename(path), old, path


def _statements(source: Source) -> list[Unit]:
    return [unit for unit in source.units if not only_imports(unit.node)]


def _words(unit: Unit) -> tuple[object, object]:
    """Give what a statement is found by: its text, and the definition's kind and name."""
    name = name_of(unit)
    return unit.text, None if name is None else (type(unit.node), name)


def _emptied(old: Source, new: Source) -> bool:
    """Tell whether no statement of a file is left in it, but a way to where they went.

    Lists of what it exports may be left. A file that keeps imports of its own lost its statements
    one by one, to whatever place.
    """
    had = {word for unit in _statements(old) for word in _words(unit) if word is not None}
    if any(
        word in had and "__all__" not in unit.text and not is_text(unit.node)
        for unit in _statements(new)
        for word in _words(unit)
    ):
        return False
    brought, brings = ({*_imports(side)} for side in (old, new))
    kept = {item for item in brought & brings if not re.match(_CHECKING, item[0])}
    texts = {unit.text for unit in old.units}
    return not kept and bool(brings - brought or any(u.text not in texts for u in _statements(new)))


def _imports(source: Source) -> Iterator[tuple[str, str | None]]:
    """List what a file imports: from which module, which name of it."""
    for unit in source.units:
        for node in walk(unit.node) if only_imports(unit.node) else ():
            for item in imports_of(node):
                yield "." * item.level + item.module, item.member


def _beside(
    base: Sources, left: list[str], target: Sources, new: str, found: Mapping[str, str]
) -> str | None:
    """Find the file that a new one with no statement of its own was: most of all an `__init__`.

    Its neighbours tell, or else what it imports.
    """
    if not _bare(target[new]):
        return None
    names = _imported(target[new])
    own = [path for path in left if _bare(base[path])]
    for old in own:
        below = [path for path in found if path.startswith(f"{dirname(new)}/")]
        moved = [dirname(old) + path[len(dirname(new)) :] for path in below]
        if basename(old) == basename(new) == "__init__.py" and below:
            if [found[path] for path in below] == moved:
                return old
    alike = [old for old in own if names and _imported(base[old]) == names]
    return alike[0] if len(alike) == 1 else None


def _bare(source: Source) -> bool:
    """Tell whether a file does nothing but import, and perhaps says what it is."""
    return all(is_text(unit.node) for unit in _statements(source))


def _imported(source: Source) -> set[str]:
    """List the names that a file imports."""
    nodes = (node for unit in source.units for node in walk(unit.node))
    return {item.name for node in nodes for item in imports_of(node)}


def verified(
    paths: Mapping[str, str], pairs: Mapping[Place, Place], left: Collection[str]
) -> dict[str, str]:
    """Keep the pairs of files between which all went that went: nothing else came or stayed."""
    homes, goals = defaultdict(set), defaultdict(set)
    for (new, _), (old, _) in pairs.items():
        homes[new].add(old)
        goals[old].add(new)
    return {
        new: old
        for new, old in paths.items()
        if homes[new] <= {old} and goals[old] <= {new} and (homes[new] or old not in left)
    }
