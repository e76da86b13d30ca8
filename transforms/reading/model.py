"""What a plan is: data, with nothing in it that could run.

Every path and dotted name in it is checked when it is read, by `transforms.reading.load`; what
they mean in a tree is found later, by `transforms.tree.names`. `docs/plans.md` is the reference for
people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from transforms.errors import Place
from transforms.paths import ModuleName
from transforms.result.diff import edits

FORMATS = (1, 2)  # those that are read; the first keeps its bytes for ever
CYCLE = "cycle"
# Kinds of [[accept]] that the mover asks for, and those that the verdict of `repot apply` asks for.
OF_THE_MOVER = (CYCLE, "clash", "rebinding", "self-import")
OF_THE_VERDICT = ("breaks", "open")


@dataclass(frozen=True, slots=True)
class Source:
    """A module that symbols leave.

    `imports_back`: where the names that it still uses are imported: `sorted` into its import block,
    or `in place` of the removed block. `reexports`: names kept importable from here although
    nothing here uses them (`None`: every moved name). `emptied`: what becomes of the module when
    only imports and copied helpers are left. `becomes`: the module inside the new package that
    takes the rest, when the module turns into a package of the same name. `old`: `warn` lets moved
    names be asked for here still, with a warning. `type_checking`: names that are imported back for
    type checkers only.
    """

    module: ModuleName
    line: int = field(compare=False)
    imports_back: str = "sorted"
    reexports: tuple[str, ...] | None = ()
    emptied: str | None = None
    becomes: ModuleName | None = None
    docstring_first: bool = False
    old: str | None = None
    type_checking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Destination:
    """A module that receives symbols, in the order given, and where they land in it.

    `copy`: helper statements (a logger, a platform flag) that the new module gets and the source
    keeps. `carry`: helper statements that leave the source with the symbols. Exactly one of
    `before`, `after` and `at` is set. `type_checking`: names that it imports for type checkers
    only.
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
    type_checking: tuple[str, ...] = ()

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
class Relocation:
    """A whole module or package that goes elsewhere, with everything in it.

    `module` may hold one `*` in its last part, and `to` then has one, too: a folder of modules by
    pattern. A path without a suffix names a package by its folder. `old` says what stays at the
    old path: nothing (None), `reexport`, or `warn` (a module that gives names with a warning).
    """

    module: ModuleName
    to: ModuleName
    line: int = field(compare=False)
    old: str | None = None


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
class AuthoredDeletion:
    """A file that goes, with all that the rest of the plan leaves in it."""

    file: ModuleName
    line: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Accept:
    """Something that a person has looked at and takes: what would else be refused.

    `kind` is one of `OF_THE_MOVER` and `OF_THE_VERDICT`, `symbol` empty for a module as such.
    """

    kind: str
    module: ModuleName
    reason: str
    line: int = field(compare=False)
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan. `path` is where it was read, for messages; it takes no part in equality."""

    sources: tuple[Source, ...]
    destinations: tuple[Destination, ...]
    moves: tuple[Relocation, ...] = ()
    packages: tuple[Package, ...] = ()
    import_from: Mapping[str, ModuleName] = field(default_factory=dict)
    shrink: tuple[ShrinkRule, ...] = ()
    files: tuple[AuthoredFile, ...] = ()
    edits: tuple[AuthoredEdit, ...] = ()
    deletions: tuple[AuthoredDeletion, ...] = ()
    accepts: tuple[Accept, ...] = ()
    formatters: str = "repository"
    roots: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    title: str = ""
    path: str = field(default="plan", compare=False)
    format: int = FORMATS[0]

    @property
    def newer(self) -> bool:
        """Whether the defaults of `format = 2` hold; the others keep the bytes of old plans."""
        return self.format > FORMATS[0]

    @property
    def authored_lines(self) -> int:
        """Lines of literal text, in headers, in whole files and in edits.

        What it deletes is counted where the tree is known: `Outcome.authored_lines`.
        """
        headers = sum(len(item.header_rows()) for item in self.destinations)
        files = sum(item.lines for item in self.files)
        return headers + files + sum(item.lines for item in self.edits)

    def place(self, line: int) -> Place:
        """A line of the plan, for messages."""
        return Place(self.path, line)
