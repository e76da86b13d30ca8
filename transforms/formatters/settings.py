"""Reads the formatters' configuration files out of a tree, and passes on only what is known.

A setting is passed on, or ignored (it cannot change a byte of the result), or refused by name with
the reason. What is passed on is written anew, so a formatter never sees the repository's own file.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transforms.errors import Place, nearest
from transforms.formatters.refusals import bad_configuration
from transforms.result.changes import EXECUTABLE, REGULAR, SYMLINK
from transforms.tree import Tree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMIT = 1 << 20  # bytes of one configuration file; real ones have some thousands
_LINKS = 8  # symbolic links followed to one file


@dataclass(frozen=True, slots=True)
class Source:
    """One configuration file: its path in the tree and its text."""

    path: str
    text: str
    line: int | None = None  # where the text stands, if it is one argument of a hook

    @property
    def folder(self) -> str:
        """The directory it lies in; empty at the top of the tree."""
        return posixpath.dirname(self.path)

    def place(self, key: str) -> Place:
        """Where a setting stands: the first line that begins with its name, else the file."""
        if self.line is not None:
            return Place(self.path, self.line, excerpt=self.text)
        start = re.compile(rf"""\s*["']?(?:[\w-]+\.)*{re.escape(key)}["']?\s*[=:]""")
        for number, line in enumerate(self.text.splitlines(), start=1):
            if start.match(line):
                return Place(self.path, number, excerpt=line.strip())
        return Place(self.path)


@dataclass(frozen=True, slots=True)
class Schema:
    """What becomes of each setting of one tool. A key is in at most one of the three."""

    tool: str
    passed: frozenset[str]
    ignored: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)  # key -> why
    prefixes: tuple[str, ...] = ()  # a key that starts so is passed on

    def vet(self, table: Mapping[str, Any], source: Source, within: str = "") -> dict[str, Any]:
        """Give the settings to pass on, in their order. Raises `Refusal` for any other."""
        kept: dict[str, Any] = {}
        for key, value in table.items():
            if key in self.ignored:
                continue
            if key in self.refused:
                raise bad_configuration(
                    f"The {self.tool} setting `{within}{key}` {self.refused[key]}.",
                    source.place(key),
                )
            if key not in self.passed and not key.startswith(self.prefixes or ("\0",)):
                raise self._unknown(within + key, key, source)
            kept[key] = plain(value, key, source)
        return kept

    def _unknown(self, full: str, key: str, source: Source) -> Exception:
        near = nearest(key, self.passed)
        remedy = f"Did you mean `{near[0]}`? Change it" if near else "Remove it"
        return bad_configuration(
            f"`{full}` is no {self.tool} setting that Repot passes on.",
            source.place(key),
            remedy=remedy,
        )


def plain(value: Any, key: str, source: Source) -> Any:
    """Return a value made of text, numbers, booleans, lists and tables; refuse any other."""
    if isinstance(value, dict):
        return {str(name): plain(item, key, source) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item, key, source) for item in value]
    if isinstance(value, (str, int, float)):
        return value
    raise bad_configuration(
        f"The value of `{key}` is a {type(value).__name__}, which no formatter takes.",
        source.place(key),
    )


class Configuration:
    """The configuration files of one tree, each read at most once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.entries = tree.entries()
        self._data: dict[str, bytes] = {}
        self._texts: dict[str, Source | None] = {}
        self._tables: dict[str, dict[str, Any]] = {}

    def preload(self, folders: Iterable[str], names: Iterable[str]) -> None:
        """Read these names in these folders in one batch, where they exist."""
        wanted = list(names)
        paths = [join(folder, name) for folder in folders for name in wanted]
        regular = [p for p in paths if p not in self._data and is_regular(self.entries.get(p))]
        self._data.update(self.tree.read_many(regular))

    def find(self, path: str) -> Source | None:
        """Read a file, through symbolic links that stay in the tree. `None` where there is none."""
        if path not in self._texts:
            target = self._follow(path)
            found = None if target is None else _decode(path, self._read(target))
            self._texts[path] = found
        return self._texts[path]

    def toml(self, path: str) -> dict[str, Any] | None:
        """Parse a TOML file. `None` where there is none; refused if it does not parse."""
        source = self.find(path)
        if source is None:
            return None
        if path not in self._tables:
            self._tables[path] = parse_toml(source)
        return self._tables[path]

    def _read(self, path: str) -> bytes:
        return self._data[path] if path in self._data else self.tree.read(path)

    def _follow(self, path: str) -> str | None:
        target = path
        for _ in range(_LINKS):
            mode = self.entries.get(target)
            if is_regular(mode):
                return target
            if mode != SYMLINK:
                return None
            link = self.tree.read(target).decode("utf-8", "surrogateescape")
            target = inside(posixpath.dirname(target), link, Place(path))
        return None


def _decode(path: str, data: bytes) -> Source:
    if len(data) > LIMIT:
        raise bad_configuration(
            f"The file has {len(data):,} bytes; configuration is read up to {LIMIT:,}.",
            Place(path),
        )
    try:
        return Source(path, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad_configuration("The file is not UTF-8.", Place(path, line)) from None


def parse_toml(source: Source) -> dict[str, Any]:
    """Parse TOML; refused with its line if it is not."""
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        line = source.line or (int(at[1]) if at else None)
        raise bad_configuration(f"This is not TOML: {error}.", Place(source.path, line)) from None
    except (RecursionError, ValueError):  # nested too deeply; a number with too many digits
        raise bad_configuration("This TOML is out of bounds.", Place(source.path)) from None


def table_of(document: Mapping[str, Any], *keys: str, source: Source) -> dict[str, Any] | None:
    """Descend into a document. `None` where a key is missing; refused where it is no table."""
    current: Any = document
    for key in keys:
        if not isinstance(current, dict):
            raise bad_configuration(f"`{key}` belongs to a table.", source.place(key))
        if key not in current:
            return None
        current = current[key]
    if not isinstance(current, dict):
        raise bad_configuration(f"`{'.'.join(keys)}` is no table.", source.place(keys[-1]))
    return current


def write_toml(tables: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Write tables by their header (none if it is empty), nested tables inline."""
    lines = []
    for header, table in tables.items():
        if header:
            lines.append(f"[{header}]")
        lines += [f"{_text(key)} = {toml_value(value)}" for key, value in table.items()]
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def toml_value(value: Any) -> str:
    """Write one plain value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        items = ", ".join(f"{_text(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def inside(folder: str, path: str, place: Place) -> str:
    """Resolve a path written in `folder`, in text only; refused where it leaves the tree."""
    leaves = path.startswith(("/", "~")) or "$" in path or "\\" in path or path[1:2] == ":"
    joined = posixpath.normpath(posixpath.join(folder, path)) if not leaves else ".."
    if joined == ".." or joined.startswith("../") or "\0" in joined:
        raise bad_configuration(f"`{path}` leads out of the repository.", place)
    return "" if joined == "." else joined


def join(folder: str, name: str) -> str:
    """Join a folder of the tree (empty at its top) and a name."""
    return f"{folder}/{name}" if folder else name


def ancestors(path: str) -> list[str]:
    """List the folders above a path, innermost first; the last is the top, the empty text."""
    folders = []
    while path:
        path = path.rpartition("/")[0]
        folders.append(path)
    return folders


def is_regular(mode: int | None) -> bool:
    """Tell whether this is the mode of a file, not of a link, a submodule or nothing."""
    return mode in {REGULAR, EXECUTABLE}
