"""Plans: the only reader and writer of `format = 1`.

A plan is TOML. It is data: it is read and checked against a fixed schema, and never run. Every
path and dotted name in it is checked when it is read; what they mean in a tree is found later, by
`transforms.names`. `docs/plans.md` is the reference for people.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transforms.diff import edits
from transforms.errors import Place, Refusal
from transforms.paths import ModuleName
from transforms.schema import MOST_DOTS, Reader, clipped, deepest_key, locate_keys

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - exercised on 3.10 only
    import tomli as tomllib

FORMAT = 1
MAX_PLAN_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A module that symbols leave.

    `imports_back`: where the names that it still uses are imported: `sorted` into its import block,
    or `in place` of the removed block. `reexports`: names kept importable from here although
    nothing here uses them (`None`: every moved name). `emptied`: what becomes of the module when
    only imports and copied helpers are left. `becomes`: the module inside the new package that
    takes the rest, when the module turns into a package of the same name.
    """

    module: ModuleName
    line: int = field(compare=False)
    imports_back: str = "sorted"
    reexports: tuple[str, ...] | None = ()
    emptied: str | None = None
    becomes: ModuleName | None = None
    docstring_first: bool = False


@dataclass(frozen=True, slots=True)
class Destination:
    """A module that receives symbols, in the order given, and where they land in it.

    `copy`: helper statements (a logger, a platform flag) that the new module gets and the source
    keeps. `carry`: helper statements that leave the source with the symbols. Exactly one of
    `before`, `after` and `at` is set.
    """

    module: ModuleName
    symbols: tuple[str, ...]
    line: int = field(compare=False)
    source: ModuleName | None = None
    before: str | None = None
    after: str | None = None
    at: str = "end"
    copy: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    licence: bool = False
    header: str | None = None
    import_from: ModuleName | None = None

    def header_rows(self) -> tuple[str, ...]:
        """Give the lines of the header, as they are written; none without one."""
        text = (self.header or "").rstrip("\n")
        return tuple(text.split("\n")) if text else ()


@dataclass(frozen=True, slots=True)
class Package:
    """Names that a package's `__init__` exports, added as imports and to its `__all__`."""

    module: ModuleName
    exports: tuple[str, ...]
    line: int = field(compare=False)
    dunder_all: bool = True


@dataclass(frozen=True, slots=True)
class ShrinkRule:
    """How an import that lost names is laid out, in one file or in one statement of it."""

    file: ModuleName
    style: str
    line: int = field(compare=False)
    statement: str | None = None


@dataclass(frozen=True, slots=True)
class AuthoredFile:
    """A whole new file, written as given."""

    file: ModuleName
    text: str
    line: int = field(compare=False)
    executable: bool = False

    @property
    def lines(self) -> int:
        """Count the lines of the file."""
        return len(self.rows())

    def rows(self) -> tuple[str, ...]:
        """Give the lines of the file."""
        rows = self.text.split("\n")
        return tuple(rows if rows[-1] else rows[:-1])


@dataclass(frozen=True, slots=True)
class AuthoredEdit:
    """An exact edit of the file as the move and its formatters leave it; `old` is found once."""

    file: ModuleName
    old: str
    new: str
    line: int = field(compare=False)

    @property
    def lines(self) -> int:
        """Count the added lines."""
        return len(self.sides()[1])

    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give the lines of `old` that do not stand in `new`, and those of `new` not in `old`.

        They are found as a diff finds them.
        """
        old, new = self.old.splitlines(), self.new.splitlines()
        removed: list[str] = []
        added: list[str] = []
        for edit in edits(old, new):
            removed += old[edit.old_start : edit.old_end]
            added += new[edit.new_start : edit.new_end]
        return tuple(removed), tuple(added)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan. `path` is where it was read, for messages; it takes no part in equality."""

    sources: tuple[Source, ...]
    destinations: tuple[Destination, ...]
    packages: tuple[Package, ...] = ()
    import_from: Mapping[str, ModuleName] = field(default_factory=dict)
    shrink: tuple[ShrinkRule, ...] = ()
    files: tuple[AuthoredFile, ...] = ()
    edits: tuple[AuthoredEdit, ...] = ()
    formatters: str = "repository"
    roots: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    title: str = ""
    path: str = field(default="plan", compare=False)

    @property
    def authored_lines(self) -> int:
        """Lines of literal text, in headers, in whole files and in edits."""
        headers = sum(len(item.header_rows()) for item in self.destinations)
        files = sum(item.lines for item in self.files)
        return headers + files + sum(item.lines for item in self.edits)

    def place(self, line: int) -> Place:
        """A line of the plan, for messages."""
        return Place(self.path, line)


def load_plan(path: Path | str) -> Plan:
    """Read a plan from a file. Raises `Refusal` when it cannot be read or breaks the schema."""
    return parse_plan(_read(path), str(path))


def plan_text(path: Path | str) -> str:
    r"""Give the text of a plan's file, with `\n` for line ends. Raises `Refusal` as `load_plan`."""
    return decode_plan(_read(path), str(path))


def _read(path: Path | str) -> bytes:
    """Give the bytes of a file, and one more than a plan may have where there are more."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise Refusal(
            "unreadable-plan",
            f"The plan cannot be read: {error.strerror}.",
            next_step="Name a plan file that exists; `docs/plans.md` shows how to write one.",
            place=Place(str(path)),
        ) from error


def parse_plan(data: bytes, path: str) -> Plan:
    """Parse the bytes of a plan; `path` is for messages. Raises `Refusal` with line and key."""
    text = decode_plan(data, path)
    dots, line = deepest_key(text)
    if dots > MOST_DOTS:
        raise _too_deep(Place(path, line))
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, path) from None
    except ValueError:  # CPython converts no number of thousands of digits
        raise Refusal(
            "plan-syntax",
            "The plan holds a number that is too long to read.",
            next_step="The only number in a plan is `format = 1`.",
            place=Place(path),
        ) from None
    except RecursionError:
        raise _too_deep(Place(path)) from None
    from transforms.plan_reader import read

    return read(Reader(path, text, document, locate_keys(text)))


def decode_plan(data: bytes, path: str) -> str:
    r"""Give the text of a plan's bytes, with `\n` for line ends. Raises `Refusal`."""
    if len(data) > MAX_PLAN_BYTES:
        raise Refusal(
            "plan-size",
            f"The plan is larger than {MAX_PLAN_BYTES >> 20} MiB.",
            next_step="Move fewer symbols at once, or author less text.",
            place=Place(path),
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Refusal(
            "plan-syntax",
            "The plan is not UTF-8.",
            next_step="Save it as UTF-8, as TOML requires.",
            place=Place(path, line),
        ) from None


def _syntax_error(message: str, text: str, path: str) -> Refusal:
    """What the TOML parser says, with the line that it means."""
    lines = text.split("\n")
    found = re.search(r" \(at line (\d+), column (\d+)\)\Z", message)
    line, column = (int(found[1]), int(found[2])) if found else (len(lines), None)
    said = clipped(message[: found.start()] if found else message.partition(" (at end")[0])
    where = "" if found else " at its end"
    return Refusal(
        "plan-syntax",
        f"The plan is no valid TOML: {said[:1].lower()}{said[1:]}{where}.",
        next_step="Correct the line; `docs/plans.md` shows every table.",
        place=Place(path, line, column, clipped(lines[line - 1].rstrip())),
    )


def _too_deep(place: Place) -> Refusal:
    return Refusal(
        "plan-syntax",
        "The plan nests arrays or tables too deeply.",
        next_step="A plan needs no nesting; see `docs/plans.md`.",
        place=place,
    )


def dump_plan(plan: Plan, comments: Mapping[str, str] | None = None) -> str:
    """Write a plan as `parse_plan` reads it, in the schema's order.

    `comments` maps a table's first value (a module, a file) to a line of comment above the table.
    """
    from transforms.plan_writer import write

    return write(plan, comments or {})
