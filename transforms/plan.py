"""Plans: the only reader and writer of `format = 1`.

A plan is TOML. It is data: it is read and checked against a fixed schema, and never run. Every
path and dotted name in it is checked when it is read; what they mean in a tree is found later, by
`transforms.names`. `docs/plans.md` is the reference for people.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.paths import safe_path
from transforms.schema import Reader, locate_keys

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - exercised on 3.10 only
    import tomli as tomllib

FORMAT = 1
MAX_PLAN_BYTES = 4 << 20

SHRINKS = ("collapse", "keep", "explode")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


@dataclass(frozen=True, slots=True, order=True)
class ModuleName:
    """A module as a plan names it: by path (`a/b.py`) or by dotted name (`a.b`)."""

    text: str
    is_path: bool

    def __str__(self) -> str:
        return self.text


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
    line: int
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
    line: int
    source: ModuleName | None = None
    before: str | None = None
    after: str | None = None
    at: str = "end"
    copy: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    licence: bool = False
    header: str | None = None
    import_from: ModuleName | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """Names that a package's `__init__` exports, added as imports and to its `__all__`."""

    module: ModuleName
    exports: tuple[str, ...]
    line: int
    dunder_all: bool = True


@dataclass(frozen=True, slots=True)
class ShrinkRule:
    """How an import that lost names is laid out, in one file or in one statement of it."""

    file: ModuleName
    style: str
    line: int
    statement: str | None = None


@dataclass(frozen=True, slots=True)
class AuthoredFile:
    """A whole new file, written as given."""

    file: ModuleName
    text: str
    line: int
    executable: bool = False

    @property
    def lines(self) -> int:
        """Lines of the file."""
        return _count_lines(self.text)


@dataclass(frozen=True, slots=True)
class AuthoredEdit:
    """An exact edit of the file as the move and its formatters leave it; `old` is found once."""

    file: ModuleName
    old: str
    new: str
    line: int

    @property
    def lines(self) -> int:
        """Added lines: those of `new` that do not stand in `old`, counted as a diff does."""
        old, new = self.old.splitlines(), self.new.splitlines()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return sum(j2 - j1 for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal")


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
        """Lines of literal text, in whole files and in edits."""
        return sum(item.lines for item in self.files) + sum(item.lines for item in self.edits)

    def place(self, line: int) -> Place:
        """A line of the plan, for messages."""
        return Place(self.path, line)


def load_plan(path: Path | str) -> Plan:
    """Read a plan from a file. Raises `Refusal` when it cannot be read or breaks the schema."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise Refusal(
            "unreadable-plan",
            f"The plan cannot be read: {error.strerror}.",
            next_step="Name a plan file that exists; `transforms/plans/` holds examples.",
            place=Place(str(path)),
        ) from error
    return parse_plan(data, str(path))


def parse_plan(data: bytes, path: str) -> Plan:
    """Parse the bytes of a plan; `path` is for messages. Raises `Refusal` with line and key."""
    text = _decode(data, path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, column = _toml_position(str(error), text)
        lines = text.split("\n")
        raise Refusal(
            "plan-syntax",
            f"The plan is no valid TOML: {error}.",
            next_step="Correct the line; `docs/plans.md` shows every table.",
            place=Place(path, line, column, lines[line - 1] if line <= len(lines) else None),
        ) from None
    except RecursionError:
        raise Refusal(
            "plan-syntax",
            "The plan nests arrays or tables too deeply.",
            next_step="A plan needs no nesting; see `docs/plans.md`.",
            place=Place(path),
        ) from None
    return _read(Reader(path, text, document, locate_keys(text)))


def _decode(data: bytes, path: str) -> str:
    if len(data) > MAX_PLAN_BYTES:
        raise Refusal(
            "plan-size",
            f"The plan is larger than {MAX_PLAN_BYTES >> 20} MiB.",
            next_step="Move fewer symbols at once, or author less text.",
            place=Place(path),
        )
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Refusal(
            "plan-syntax",
            "The plan is not UTF-8.",
            next_step="Save it as UTF-8, as TOML requires.",
            place=Place(path, line),
        ) from None


def _toml_position(message: str, text: str) -> tuple[int, int | None]:
    found = re.search(r"line (\d+), column (\d+)", message)
    if found:
        return int(found[1]), int(found[2])
    return text.count("\n") + 1, None


def _read(reader: Reader) -> Plan:
    top = reader.top(
        {
            "format", "title", "formatters", "roots", "leave", "import_from",
            "source", "destination", "package", "shrink", "author",
        }
    )  # fmt: skip
    if top.integer("format") != FORMAT:
        raise top.refuse("format", f"expected `format = {FORMAT}`", "Write `format = 1`.")
    authored = top.tables("author", required=False)
    plan = Plan(
        sources=tuple(_source(t) for t in top.tables("source")),
        destinations=tuple(_destination(t) for t in top.tables("destination", required=False)),
        packages=tuple(_package(t) for t in top.tables("package", required=False)),
        import_from=_routes(top),
        shrink=tuple(_shrink(t) for t in top.tables("shrink", required=False)),
        files=tuple(_authored_file(t) for t in authored if "text" in t.data),
        edits=tuple(_authored_edit(t) for t in authored if "text" not in t.data),
        formatters=top.choice("formatters", ("repository", "none"), default="repository"),
        roots=tuple(_root(top, root) for root in top.strings("roots")),
        leave=top.strings("leave"),
        title=top.string("title", default=""),
        path=reader.path,
    )
    _check_symbols(plan, top)
    return plan


def _source(table: Reader) -> Source:
    table.only(
        "module", "path", "imports_back", "reexports", "emptied", "becomes", "docstring_first"
    )
    reexports: tuple[str, ...] | None
    if isinstance(table.data.get("reexports"), bool):
        reexports = None if table.data["reexports"] else ()
    else:
        reexports = table.names("reexports")
    becomes = table.data.get("becomes")
    return Source(
        module=_module(table),
        line=table.line,
        imports_back=table.choice("imports_back", ("sorted", "in place"), default="sorted"),
        reexports=reexports,
        emptied=table.choice("emptied", ("leave", "delete"), default=None),
        becomes=None if becomes is None else _module_value(table, "becomes"),
        docstring_first=table.boolean("docstring_first"),
    )


def _destination(table: Reader) -> Destination:
    table.only(
        "module", "path", "symbols", "from", "before", "after", "at", "copy", "carry",
        "licence", "header", "import_from",
    )  # fmt: skip
    anchors = [key for key in ("before", "after", "at") if key in table.data]
    if len(anchors) > 1:
        raise table.refuse(
            anchors[1],
            f"`{anchors[0]}` and `{anchors[1]}` both say where the symbols land",
            "Keep one of `before`, `after` and `at`.",
        )
    symbols = table.names("symbols")
    if not symbols and not table.data.get("carry"):
        raise table.refuse("symbols", "expected at least one name", 'Write `symbols = ["Name"]`.')
    return Destination(
        module=_module(table),
        symbols=symbols,
        line=table.line,
        source=_module_value(table, "from") if "from" in table.data else None,
        before=table.name("before"),
        after=table.name("after"),
        at=table.choice("at", ("end", "start"), default="end"),
        copy=table.names("copy"),
        carry=table.names("carry"),
        licence=table.boolean("licence"),
        header=table.text("header") if "header" in table.data else None,
        import_from=_module_value(table, "import_from") if "import_from" in table.data else None,
    )


def _package(table: Reader) -> Package:
    table.only("module", "path", "exports", "all")
    return Package(
        module=_module(table),
        exports=table.names("exports"),
        line=table.line,
        dunder_all=table.boolean("all", default=True),
    )


def _shrink(table: Reader) -> ShrinkRule:
    table.only("file", "statement", "as")
    return ShrinkRule(
        file=_module_value(table, "file"),
        style=table.choice("as", SHRINKS),
        line=table.line,
        statement=table.string("statement", default=None),
    )


def _authored_file(table: Reader) -> AuthoredFile:
    table.only("file", "text", "executable")
    return AuthoredFile(
        file=_module_value(table, "file"),
        text=table.text("text"),
        line=table.line,
        executable=table.boolean("executable"),
    )


def _authored_edit(table: Reader) -> AuthoredEdit:
    table.only("file", "old", "new")
    old = table.text("old")
    if not old:
        raise table.refuse("old", "expected the text to replace, not an empty string",
                           "Quote enough of the file to be found once.")  # fmt: skip
    return AuthoredEdit(
        file=_module_value(table, "file"), old=old, new=table.text("new"), line=table.line
    )


def _routes(top: Reader) -> dict[str, ModuleName]:
    table = top.table("import_from")
    routes = {}
    for name in sorted(table.data):
        if not name.isidentifier():
            raise table.refuse(name, f"`{name}` is no Python name", "Name the symbol itself.")
        routes[name] = _module_value(table, name)
    return routes


def _module(table: Reader) -> ModuleName:
    given = [key for key in ("module", "path") if key in table.data]
    if len(given) != 1:
        raise table.refuse(
            given[-1] if given else "module",
            "expected exactly one of `module` (dotted) and `path`",
            'Write `module = "package.module"` or `path = "package/module.py"`.',
        )
    name = _module_value(table, given[0])
    if name.is_path is not (given[0] == "path"):
        wanted = "a path such as `a/b.py`" if given[0] == "path" else "a dotted name such as `a.b`"
        raise table.refuse(given[0], f"expected {wanted}, found `{name}`", "Use the other key.")
    return name


def _module_value(table: Reader, key: str) -> ModuleName:
    """A path (it has a slash or a suffix of Python's) or a dotted name."""
    text = table.string(key)
    is_path = "/" in text or text.endswith((".py", ".pyi"))
    if is_path:
        try:
            safe_path(text)
        except Refusal as refusal:
            raise table.refuse(key, refusal.cause, refusal.next_step) from None
    elif not _DOTTED.match(text):
        raise table.refuse(
            key,
            f"expected a module's dotted name or path, found `{text}`",
            "Write `package.module` or `package/module.py`; a relative name has no meaning here.",
        )
    return ModuleName(text, is_path)


def _root(top: Reader, root: str) -> str:
    if root in {"", "."}:
        return ""
    try:
        return safe_path(root.rstrip("/"))
    except Refusal as refusal:
        raise top.refuse("roots", refusal.cause, refusal.next_step) from None


def _check_symbols(plan: Plan, top: Reader) -> None:
    """A name is moved once from each source, and every route names a moved symbol."""
    seen: dict[tuple[str, str], int] = {}
    only = str(plan.sources[0].module) if len(plan.sources) == 1 else ""
    for destination in plan.destinations:
        origin = str(destination.source) if destination.source else only
        if not origin:
            raise Refusal(
                "plan-schema",
                f"`from` is missing: {destination.module} could take symbols from "
                f"{len(plan.sources)} sources.",
                next_step='Write `from = "module"` in each [[destination]].',
                place=plan.place(destination.line),
            )
        for name in (*destination.symbols, *destination.carry):
            if (origin, name) in seen:
                raise Refusal(
                    "plan-schema",
                    f"`{name}` is moved twice (also in the table on line {seen[origin, name]}).",
                    next_step="A symbol has one destination; list it once.",
                    place=plan.place(destination.line),
                )
            seen[origin, name] = destination.line
    moved = {name for _, name in seen}
    if any(source.becomes for source in plan.sources):
        return  # every symbol of the module moves: the tree is needed to know the names
    for name in plan.import_from:
        if name not in moved:
            raise top.table("import_from").unknown(name, moved, "a moved symbol")


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def dump_plan(plan: Plan, comments: Mapping[str, str] | None = None) -> str:
    """Write a plan as `parse_plan` reads it, in the schema's order.

    `comments` maps a table's first value (a module, a file) to a line of comment above the table.
    """
    from transforms.plan_writer import write

    return write(plan, comments or {})
