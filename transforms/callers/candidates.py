"""Which files can matter: found by a search of bytes, before anything is parsed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from transforms.callers.grammars import is_list
from transforms.callers.texts import PICKLES, any_path, short_path, text_paths
from transforms.move.state import Move, SourceState
from transforms.paths import to_bytes
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import Tree

_INSTALLING = frozenset({"setup.py", "setup.cfg", "pyproject.toml"})
PYTHON = (".py", ".pyi", ".pyw")
_DOTS = re.compile(rb"\bfrom[ \t]*\.+[ \t]*import\b")


def find_candidates(tree: Tree, move: Move) -> dict[str, bytes]:
    """Files that may import or name a source, with their bytes; the sources are not among them.

    Python files, scripts without a suffix, and texts in which tools look names up.
    """
    needle = re.compile(_any_of({source.located.last for source in move.sources}))
    entries = tree.entries()
    regular = [path for path, mode in entries.items() if mode in (REGULAR, EXECUTABLE)]
    own = {source.located.path for source in move.sources}
    python = [path for path in regular if path.endswith(PYTHON) and path not in own]
    scripts = [path for path in regular if "." not in path.rpartition("/")[2]]
    texts = set(text_paths(regular))
    dots = set(_by_dots(tree, move, python))
    packages = set(_by_package(tree, move, regular)) - own
    found = {*tree.search(needle, [*python, *scripts, *texts]), *dots, *packages}
    named = _import_pattern(move)
    found_in = dict.fromkeys([*python, *scripts], named)
    found_in |= dict.fromkeys(_packages(move), _table_pattern(move, named))
    found_in |= dict.fromkeys(texts, _text_pattern(move))
    found_in |= dict.fromkeys(_lists(move, texts), needle)
    spared = _Spared(move)
    packaged = {*dots, *packages, *_packages(move)}
    return {
        path: data
        for path, data in tree.read_many(sorted(found)).items()
        if path in dots or path in packages or path.endswith(PICKLES) or found_in[path].search(data)
        if path in packaged or not spared.is_spared(path, data)
    }


class _Spared:
    """Which files take from a source, by name, what stays, and say nothing else: nothing changes.

    In a large tree most callers are such, and to parse them would cost more than all else. Told by
    text alone, and only where that is plain: no name that moves is there, and each place that has a
    source's last name is a `from` import of listed names, or lists it, or stands before a dot and a
    name.
    """

    def __init__(self, move: Move) -> None:
        lasts = {source.located.last for source in move.sources}
        last = any_word(lasts)
        self._last = re.compile(last + rb"(?:[ \t]*\.[ \t]*(?=[A-Za-z])(\w+)(?![\w\x80-\xff]))?")
        listed = rb"(?:\(([\w\s,]+)\)|([\w \t,]+))[ \t]*(?:#[^\r\n]*)?(?=\r?$)"
        self._from = re.compile(
            rb"(?m)^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:" + listed + rb")"
        )
        self._lasts = {to_bytes(name) for name in lasts}
        asked = {name for source in move.sources for name in _asked(source)}
        self._asked = {to_bytes(name) for name in asked} | {b"py", b"pyi"}  # of a file's name
        self._moved = re.compile(any_word(name for source in move.sources for name in source.moved))
        plain = all(name.isascii() for name in {*lasts, *asked})
        self._never = (
            not plain
            or bool(move.plan.leave)
            or any(
                source.spec.emptied == "delete" or source.spec.becomes or source.spec.old
                for source in move.sources
            )
        )

    def is_spared(self, path: str, data: bytes) -> bool:
        """Tell whether a file needs no look."""
        if self._never or not path.endswith(PYTHON) or self._moved.search(data):
            return False
        spans = []
        for found in self._from.finditer(data):
            of_source = found[1].rpartition(b".")[2] in self._lasts
            items = [item.split() for item in (found[2] or found[3]).split(b",") if item.strip()]
            names = {item[0] for item in items}
            if of_source and (names & self._asked or any(len(i) not in (1, 3) for i in items)):
                return False
            if of_source or names & self._lasts:
                if any(len(item) > 1 and item[0] in self._lasts for item in items):
                    return False
                spans.append(found.span())
        return all(
            (found[1] is not None and found[1] not in self._asked)
            or any(start <= found.start() < end for start, end in spans)
            for found in self._last.finditer(data)
        )


def _asked(source: SourceState) -> set[str]:
    """Names of a source for which its callers matter: what moves, and what that uses."""
    symbols = source.symbols
    used = symbols.uses(sorted(source.cut))
    guarded = {
        name
        for name, bindings in symbols.imports.items()
        if any(binding.guards for binding in bindings)
    }
    return {*source.moved, *used, *guarded}


def _by_dots(tree: Tree, move: Move, python: Iterable[str]) -> list[str]:
    """Files in a source that is a package: dots alone name it there."""
    folders = tuple(
        source.located.path.removesuffix("__init__.py")
        for source in move.sources
        if source.located.is_package
    )
    inside = [path for path in python if folders and path.startswith(folders)]
    return tree.search(_DOTS, inside) if inside else []


def _packages(move: Move) -> list[str]:
    """The `__init__` of the package that each source lies in, which may load it lazily."""
    folders = {source.located.path.rpartition("/")[0] for source in move.sources}
    return [f"{folder}/__init__.py" for folder in sorted(folders) if folder]


def _by_package(tree: Tree, move: Move, paths: Iterable[str]) -> list[str]:
    """Files that say what is installed and name a package below which the move makes another."""
    folders = {posixpath.dirname(path) for path in tree.entries()}
    parents = {
        move.names.package_of(group.located.path).rpartition(".")[0]
        for group in move.groups
        if posixpath.dirname(group.located.path) not in folders
    }
    if not move.plan.newer or not parents - {""}:
        return []
    own = [path for path in paths if posixpath.basename(path) in _INSTALLING]
    return tree.search(re.compile(any_word(parents - {""})), own)


def _lists(move: Move, texts: Iterable[str]) -> list[str]:
    """Lists of files in the folder of a source, which name it by its last name alone."""
    folders = {posixpath.dirname(source.located.path) for source in move.sources}
    return [path for path in texts if posixpath.dirname(path) in folders and is_list(path)]


def _any_of(names: Iterable[str]) -> bytes:
    """Any of the names, in UTF-8, or as a file in Latin-1 would hold it."""
    spelled = {to_bytes(name) for name in names}
    spelled |= {name.encode("latin-1", "ignore") for name in names if not name.isascii()}
    return b"|".join(map(re.escape, sorted(spelled)))


def any_word(names: Iterable[str]) -> bytes:
    """Any of the names where no other letter touches it; bytes beyond ASCII are letters."""
    return rb"(?<![\w\x80-\xff])(?:" + _any_of(set(names)) + rb")(?![\w\x80-\xff])"


def _dotted_pattern(move: Move) -> re.Pattern[bytes]:
    return re.compile(rb"(?<!\.)" + any_word(s.located.dotted for s in move.sources))


def _text_pattern(move: Move) -> re.Pattern[bytes]:
    """Matches texts that name a source as a module, or its file, or what moved in part."""
    paths = any_path(short_path(source.located.path) for source in move.sources)
    return re.compile(
        _dotted_pattern(move).pattern
        + rb"|"
        + paths.encode("utf-8", "surrogateescape")
        + rb"|"
        + _reached_pattern(move)
    )


def _table_pattern(move: Move, named: re.Pattern[bytes]) -> re.Pattern[bytes]:
    """Matches besides a package that names a source in a string, by its last name alone."""
    last = any_word(source.located.last for source in move.sources)
    return re.compile(named.pattern + rb"|[\x22\x27]\.?" + last + rb"[\x22\x27]")


def _import_pattern(move: Move) -> re.Pattern[bytes]:
    """Matches Python files in which an import, or a whole dotted name, may mean a source.

    The last part of the name stands behind `from` or `import` on a line, in a list of names that
    began on a line before, in a dynamic import, or before a dot and a name that moved; or a string
    is the source's file. Bounded, so
    that a line of megabytes costs no more than it must.
    """
    last = any_word(source.located.last for source in move.sources)
    files = any_path(s.located.path for s in move.sources if "/" in s.located.path) or "(?!)"
    return re.compile(
        rb"\b(?:from|import)\b[^\n]{0,400}?" + last + rb""
        rb"|(?m:^)[ \t(]*(?:[\w \t\x80-\xff]{1,100},){0,40}[ \t]*" + last + rb""
        rb"|\bimport_module\b[^\n]{0,200}?"
        + last
        + rb"|"
        + _reached_pattern(move)
        + rb"|"
        + _dotted_pattern(move).pattern
        + rb"|[\x22\x27](?:\./)?(?:"
        + files.encode("utf-8", "surrogateescape")
        + rb")[\x22\x27]"
    )


def _reached_pattern(move: Move) -> bytes:
    """Matches the last part of a source, a dot or a colon, and a name that moves."""
    moved = any_word(
        name
        for source in move.sources
        for name in (source.symbols.defined if source.spec.becomes else source.moved)
    )
    return any_word(source.located.last for source in move.sources) + rb"[.:]" + moved
