"""Checked access to a parsed TOML document: every complaint names file, line, key and next step."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, overload

from transforms.errors import Place, Refusal, nearest

KeyPath = tuple[str | int, ...]

_EXCERPT = 120  # characters of a line that a message shows
_SHOWN = 12  # valid values that a message lists
MOST_DOTS = 32  # in one key; a plan needs none, and parsers take quadratic time over them

_OPENING = re.compile(r"""\"{3}|"|#|'{3}|'""")
# What ends each of them: a quote, which in a multi-line string may touch two more, or the line.
_ENDINGS = {
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    '"': re.compile(r'\\.|"|\n', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
    "'": re.compile(r"'|\n"),
    "#": re.compile(r"\n"),
}
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\]]+?)[ \t]*\]")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*=""")


def locate_keys(text: str) -> dict[KeyPath, int]:
    """The 1-based line of each table header and key, for messages only.

    TOML parsers drop positions. This reads just what plans consist of: headers, and keys at the
    start of a line; the inside of a multi-line string is passed over.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[str, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(_masked(text, short=True).split("\n"), start=1):
        if header := _HEADER.match(line):
            name = _unquoted(header[2])
            if header[1] == "[[":
                index = counts.get(name, 0)
                counts[name] = index + 1
                table = (name, index)
            else:
                table = (name,)
            lines.setdefault(table, number)
            lines.setdefault((name.partition(".")[0],), number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, _unquoted(key[1])), number)
    return lines


def deepest_key(text: str) -> tuple[int, int]:
    """The most dots on one line outside strings and comments, and that 1-based line."""
    dots = [line.count(".") for line in _masked(text, short=False).split("\n")]
    most = max(dots)
    return most, dots.index(most) + 1


def _masked(text: str, *, short: bool) -> str:
    """The text with strings and comments as line ends alone; `short`: those of one line stay."""
    pieces: list[str] = []
    position = 0
    for start, end in _tokens(text):
        breaks = text.count("\n", start, end)
        kept = text[start:end] if short and not breaks else "\n" * breaks
        pieces += (text[position:start], kept)
        position = end
    return "".join([*pieces, text[position:]])


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where strings and comments stand. What is never closed reaches to the end."""
    position = 0
    while opening := _OPENING.search(text, position):
        position = len(text)
        for found in _ENDINGS[opening[0]].finditer(text, opening.end()):
            if found[0][0] != "\\":
                position = found.start() if found[0] == "\n" else found.end()
                break
        yield opening.start(), position


def _unquoted(key: str) -> str:
    return key[1:-1] if key[0] in "\"'" and key[-1] == key[0] else key


class Reader:
    """One table of a document. The accessors check types and refuse by file, line and key."""

    def __init__(
        self,
        path: str,
        text: str,
        data: dict[str, Any],
        lines: dict[KeyPath, int],
        where: KeyPath = (),
    ) -> None:
        self.path = path
        self.data = data
        self._text = text
        self._lines = lines
        self._where = where

    @property
    def line(self) -> int:
        """The 1-based line of the table's header."""
        return self._lines.get(self._where, 1)

    def refuse(self, key: str, problem: str, next_step: str) -> Refusal:
        """The refusal for one key. `problem` completes "`key`: ..."."""
        line = self._lines.get((*self._where, key), self.line)
        excerpt = clipped(self._text.split("\n")[line - 1].rstrip())
        return Refusal(
            "plan-schema",
            f"`{self._label(key)}`: {problem.rstrip('.')}.",
            next_step=next_step,
            place=Place(self.path, line, None, excerpt),
        )

    def unknown(self, key: str, valid: Collection[str], what: str) -> Refusal:
        """The refusal of a key or name that is none of the `valid` ones, with the nearest."""
        close = nearest(key, valid)
        hint = f"Did you mean `{close[0]}`? " if close else ""
        return self.refuse(
            key, f"`{clipped(key)}` is not {what}", f"{hint}Valid here: {_listed(sorted(valid))}."
        )

    def top(self, keys: Collection[str]) -> Reader:
        """The document itself, once its keys are checked."""
        self.only(*keys)
        return self

    def only(self, *keys: str) -> None:
        """Unknown keys are errors: a misspelled option must not be passed over."""
        for key in self.data:
            if key not in keys:
                raise self.unknown(key, keys, "a key of this table")

    def table(self, key: str) -> Reader:
        """A table below this one; empty if it is missing."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.refuse(key, f"expected a table, found {_kind(value)}", f"Write `[{key}]`.")
        return Reader(self.path, self._text, value, self._lines, (*self._where, key))

    def tables(self, key: str, *, required: bool = True) -> list[Reader]:
        """An array of tables."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.refuse(
                key, f"expected an array of tables, found {_kind(value)}", f"Write `[[{key}]]`."
            )
        if required and not value:
            raise self.refuse(key, "missing", f"Write at least one `[[{key}]]` table.")
        return [
            Reader(self.path, self._text, item, self._lines, (*self._where, key, index))
            for index, item in enumerate(value)
        ]

    def integer(self, key: str) -> int:
        """A whole number."""
        value = self.data.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refuse(
                key, f"expected a whole number, found {_kind(value)}", f"Write `{key} = 1`."
            )
        return value

    def boolean(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.refuse(
                key, f"expected true or false, found {_kind(value)}", f"Write `{key} = true`."
            )
        return value

    @overload
    def string(self, key: str) -> str: ...
    @overload
    def string(self, key: str, *, default: str) -> str: ...
    @overload
    def string(self, key: str, *, default: None) -> str | None: ...
    def string(self, key: str, *, default: str | None = "\0") -> str | None:
        """A line of text without control characters."""
        if key not in self.data and default != "\0":
            return default
        value = self.text(key)
        if not value.isprintable():
            raise self.refuse(
                key, "the text holds a line break or a control character", "Write one plain line."
            )
        return value

    def text(self, key: str) -> str:
        """Literal text, of any length and with line breaks."""
        value = self.data.get(key)
        if not isinstance(value, str):
            found = "nothing" if value is None else _kind(value)
            raise self.refuse(key, f"expected a string, found {found}", f'Write `{key} = "..."`.')
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """An array of strings; empty if it is missing."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refuse(
                key,
                f"expected an array of strings, found {_kind(value)}",
                f'Write `{key} = ["..."]`.',
            )
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """Python names, each once."""
        names = self.strings(key)
        for name in names:
            self._check_name(key, name)
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise self.refuse(key, f"`{name}` is listed twice", "List each name once.")
            seen.add(name)
        return names

    def name(self, key: str) -> str | None:
        """One Python name, or None if it is missing."""
        name = self.string(key, default=None)
        if name is not None:
            self._check_name(key, name)
        return name

    @overload
    def choice(self, key: str, valid: Collection[str]) -> str: ...
    @overload
    def choice(self, key: str, valid: Collection[str], *, default: str) -> str: ...
    @overload
    def choice(self, key: str, valid: Collection[str], *, default: None) -> str | None: ...
    def choice(self, key: str, valid: Collection[str], *, default: str | None = "\0") -> str | None:
        """One of some words."""
        value = self.string(key, default=default)
        if value is not None and value not in valid:
            close = nearest(value, valid)
            raise self.refuse(
                key,
                f"expected one of {_listed(valid)}, found `{clipped(value)}`",
                f"Did you mean `{close[0]}`?" if close else "Choose one of these.",
            )
        return value

    def _check_name(self, key: str, name: str) -> None:
        if not name.isidentifier():
            raise self.refuse(
                key,
                f"`{clipped(name)}` is no Python name",
                "Name a top-level symbol; a method or attribute cannot be moved on its own.",
            )

    def _label(self, key: str) -> str:
        parts = [part for part in self._where if isinstance(part, str)]
        return ".".join([*parts, clipped(key)])


def clipped(text: str) -> str:
    """Text as a message can hold it: what is longer than a line is cut."""
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "..."


def _listed(names: Collection[str]) -> str:
    shown = [f"`{name}`" for name in names][:_SHOWN]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "a table"}
    return names.get(type(value), "another type")
