"""From a TOML document to a `Plan`: every key of the schema, and what keys say of each other."""

from __future__ import annotations

import keyword
import re

from transforms.errors import Refusal
from transforms.paths import ModuleName, looks_like_path, safe_path
from transforms.reading.model import (
    FORMATS,
    OF_THE_MOVER,
    OF_THE_VERDICT,
    Accept,
    AuthoredDeletion,
    AuthoredEdit,
    AuthoredFile,
    Destination,
    Package,
    Plan,
    Relocation,
    ShrinkRule,
    Source,
)
from transforms.reading.schema import Reader, clipped
from transforms.syntax.comments import COOKIE
from transforms.syntax.kinds import is_string
from transforms.syntax.parsing import parse

SHRINKS = ("collapse", "keep", "explode")
_SUFFIXES = (".py", ".pyi")  # of paths that can be modules


def read(reader: Reader) -> Plan:
    """The plan that a document describes. Raises `Refusal` with the line and the key."""
    if "format" in reader.data and reader.integer("format") not in FORMATS:
        known = " and ".join(map(str, FORMATS))
        raise reader.refuse(
            "format",
            f"this Repot reads plans of format {known}",
            f"Write `format = {FORMATS[-1]}`, or use the Repot that the plan was written for.",
        )
    top = reader.top(
        {
            "format", "title", "formatters", "roots", "leave", "import_from",
            "source", "destination", "move", "package", "shrink", "author", "accept",
        }
    )  # fmt: skip
    number = top.integer("format")
    authored = top.tables("author", required=False)
    moves = tuple(_relocation(t) for t in top.tables("move", required=False))
    plan = Plan(
        sources=tuple(_source(t) for t in top.tables("source", required=not moves)),
        destinations=tuple(_destination(t) for t in top.tables("destination", required=False)),
        moves=moves,
        packages=tuple(_package(t) for t in top.tables("package", required=False)),
        import_from=_routes(top),
        shrink=tuple(_shrink(t) for t in top.tables("shrink", required=False)),
        files=tuple(_authored_file(t) for t in authored if "text" in t.data),
        edits=tuple(_authored_edit(t) for t in authored if not {"text", "delete"} & t.data.keys()),
        deletions=tuple(_deletion(t) for t in authored if "delete" in t.data),
        accepts=tuple(_accept(t) for t in top.tables("accept", required=False)),
        formatters=top.choice("formatters", ("repository", "none"), default="repository"),
        roots=tuple(_root(top, root) for root in top.strings("roots")),
        leave=tuple(_pattern(top, pattern) for pattern in top.strings("leave")),
        title=top.string("title", default=""),
        path=reader.path,
        format=number,
    )
    _check_symbols(plan, top)
    return plan


def _source(table: Reader) -> Source:
    table.only(
        "module", "path", "imports_back", "reexports", "emptied", "becomes", "docstring_first",
        "old", "type_checking",
    )  # fmt: skip
    reexports: tuple[str, ...] | None
    if isinstance(table.data.get("reexports"), bool):
        reexports = None if table.data["reexports"] else ()
    else:
        reexports = table.names("reexports")
    old = table.choice("old", ("reexport", "warn"), default=None)
    if old is not None and (reexports is None or (old == "reexport" and reexports)):
        raise table.refuse(
            "old",
            "`reexports` says already what stays importable from here",
            "Keep one of the two.",
        )
    if old == "reexport":
        reexports, old = None, None
    becomes = table.data.get("becomes")
    return Source(
        module=_module(table),
        line=table.line,
        imports_back=table.choice("imports_back", ("sorted", "in place"), default="sorted"),
        reexports=reexports,
        emptied=table.choice("emptied", ("leave", "delete"), default=None),
        becomes=None if becomes is None else _python_module(table, "becomes"),
        docstring_first=table.boolean("docstring_first"),
        old=old,
        type_checking=table.names("type_checking"),
    )


def _destination(table: Reader) -> Destination:
    table.only(
        "module", "path", "symbols", "from", "before", "after", "at", "copy", "carry",
        "licence", "header", "import_from", "type_checking",
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
    module = _module(table)
    _check_python(table, "path", module)
    _check_once(table)
    return Destination(
        module=module,
        symbols=symbols,
        line=table.line,
        source=_module_value(table, "from") if "from" in table.data else None,
        before=table.name("before"),
        after=table.name("after"),
        at=table.choice("at", ("end", "start"), default="end"),
        copy=table.names("copy"),
        carry=table.names("carry"),
        licence=table.boolean("licence"),
        header=_header(table) if "header" in table.data else None,
        import_from=_python_module(table, "import_from") if "import_from" in table.data else None,
        type_checking=table.names("type_checking"),
    )


def _header(table: Reader) -> str:
    """A licence or a docstring, and no code: a statement is authored openly or not at all."""
    text = table.text("header")
    if any(COOKIE.match(line) for line in text.split("\n")[:2]):
        raise table.refuse(
            "header", "it declares an encoding", "Drop the line: new modules are UTF-8."
        )
    try:
        body = parse(text, "header").body
    except Refusal:
        raise table.refuse(
            "header", "it does not parse", "Write comments, a docstring, or both."
        ) from None
    if len(body) > 1 or any(not is_string(node) for node in body):
        raise table.refuse(
            "header",
            "expected comments and one docstring, found code",
            "Write what runs as an edit under [[author]].",
        )
    return text


def _relocation(table: Reader) -> Relocation:
    table.only("module", "path", "to", "old")
    key = "path" if "path" in table.data else "module"
    if "path" in table.data and "module" in table.data:
        raise table.refuse("path", "`module` names what moves already", "Keep one of the two.")
    module, to = _whole(table, key), _whole(table, "to")
    stars = module.text.count("*"), to.text.count("*")
    if stars not in ((0, 0), (1, 1)):
        raise table.refuse(
            "to" if stars[0] == 1 else key,
            "a pattern has one `*`, and so has the place where its modules go",
            'Write `module = "shop.import_*"` and `to = "shop.imports.*"`, or name one module.',
        )
    old = table.choice("old", ("reexport", "warn"), default=None)
    return Relocation(module, to, table.line, old)


def _whole(table: Reader, key: str) -> ModuleName:
    """A module or a package, by dotted name or path; its last part may hold a star."""
    text = table.string(key)
    if key == "path" or looks_like_path(text):
        name = ModuleName(_path(table, key), is_path=True)
        last = name.text.rpartition("/")[2]
        if "." in last and not last.endswith(_SUFFIXES):
            raise table.refuse(
                key,
                f"expected a Python file or a folder, found `{clipped(text)}`",
                "Write a path that ends in `.py`, or the folder of a package.",
            )
    else:
        name = ModuleName(text, is_path=False)
        _check_dotted(table, key, text.replace("*", "x"))
    folder = re.split(r"[./]", name.text.removesuffix(".py"))[:-1]
    if any("*" in part for part in folder):
        raise table.refuse(
            key,
            "a `*` stands in the last part of a name only",
            "Write one [[move]] for each folder.",
        )
    return name


def _package(table: Reader) -> Package:
    table.only("module", "path", "exports", "all")
    module = _module(table)
    _check_python(table, "path", module)
    return Package(
        module=module,
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
    for key in ("old", "new"):
        if key in table.data:
            raise table.refuse(
                key,
                "`text` brings a whole file, and `old` with `new` edits one",
                "Keep one of the two; another [[author]] table can hold the other.",
            )
    table.only("file", "path", "text", "executable")
    return AuthoredFile(
        file=_authored_name(table),
        text=table.text("text"),
        line=table.line,
        executable=table.boolean("executable"),
    )


def _authored_edit(table: Reader) -> AuthoredEdit:
    table.only("file", "path", "old", "new", "text")
    if "old" not in table.data and "new" not in table.data:
        raise table.refuse(
            "text",
            "missing",
            "Write the whole new file as `text`, or an edit as `old` and `new`.",
        )
    old = table.text("old")
    if not old:
        raise table.refuse("old", "expected the text to replace, not an empty string",
                           "Quote enough of the file to be found once.")  # fmt: skip
    return AuthoredEdit(file=_authored_name(table), old=old, new=table.text("new"), line=table.line)


def _deletion(table: Reader) -> AuthoredDeletion:
    for key in ("text", "old", "new", "executable"):
        if key in table.data:
            raise table.refuse(
                key,
                "`delete` takes the file away",
                "Keep one of the two; what replaces the file is a table of its own, with `text`.",
            )
    table.only("file", "path", "delete")
    if not table.boolean("delete"):
        raise table.refuse("delete", "it says that nothing is done", "Write `delete = true`.")
    return AuthoredDeletion(file=_authored_name(table), line=table.line)


def _accept(table: Reader) -> Accept:
    table.only("kind", "module", "symbol", "reason")
    reason = table.string("reason").strip()
    if not reason.strip("."):
        raise table.refuse(
            "reason", "it says nothing", "Write in a sentence why this is right all the same."
        )
    return Accept(
        kind=table.choice("kind", (*OF_THE_VERDICT, *OF_THE_MOVER)),
        module=_module_value(table, "module"),
        reason=reason,
        line=table.line,
        symbol=table.string("symbol", default=""),
    )


def _authored_name(table: Reader) -> ModuleName:
    """A module or a path under `file`; under `path` a path, be it as short as `README`."""
    if "path" not in table.data:
        return _module_value(table, "file")
    if "file" in table.data:
        raise table.refuse("path", "`file` names the file already", "Keep one of the two.")
    return ModuleName(_path(table, "path"), is_path=True)


def _routes(top: Reader) -> dict[str, ModuleName]:
    table = top.table("import_from")
    routes = {}
    for name in sorted(table.data):
        if not name.isidentifier():
            raise table.refuse(name, f"`{name}` is no Python name", "Name the symbol itself.")
        routes[name] = _python_module(table, name)
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
        other = "module" if given[0] == "path" else "path"
        raise table.refuse(
            given[0], f"expected {wanted}, found `{name}`", f'Write `{other} = "{name}"`.'
        )
    return name


def _module_value(table: Reader, key: str) -> ModuleName:
    """A path (it has a slash or a suffix of Python's) or a dotted name."""
    text = table.string(key)
    if looks_like_path(text):
        return ModuleName(_path(table, key), is_path=True)
    _check_dotted(table, key, text)
    return ModuleName(text, is_path=False)


def _check_dotted(table: Reader, key: str, text: str) -> None:
    """Every part of a dotted name can stand in an import statement."""
    for part in text.split("."):
        if not part.isidentifier():
            raise table.refuse(
                key,
                f"expected a module's dotted name or path, found `{clipped(text)}`",
                "Write `package.module` or `package/module.py`; it cannot be relative.",
            )
        if part == "__init__":
            package = clipped(text.partition(".__init__")[0])
            raise table.refuse(
                key,
                f"`{clipped(text)}` would be a second module of the code of `{package}`",
                f'Name the package, "{package}", or its file, such as '
                f'"{package.replace(".", "/")}/__init__.py".',
            )
        if keyword.iskeyword(part):
            raise table.refuse(
                key,
                f"`{part}` is a keyword: no import statement can name such a module",
                "Choose another name, or name the file by its path.",
            )


def _path(table: Reader, key: str) -> str:
    try:
        return safe_path(table.string(key))
    except Refusal as refusal:
        raise table.refuse(key, refusal.cause, refusal.next_step) from None


def _python_module(table: Reader, key: str) -> ModuleName:
    name = _module_value(table, key)
    _check_python(table, key, name)
    return name


def _check_python(table: Reader, key: str, name: ModuleName) -> None:
    if name.is_path and not name.text.endswith(_SUFFIXES):
        raise table.refuse(
            key,
            f"expected a Python file, found `{clipped(name.text)}`",
            "Write a path that ends in `.py`.",
        )


def _check_once(table: Reader) -> None:
    """What a destination's table lists under one key it does not list under another."""
    keys = ("symbols", "carry", "copy")
    listed: dict[str, str] = {}
    for key in keys:
        for name in table.names(key):
            if name in listed:
                raise table.refuse(
                    key,
                    f"`{name}` is also listed under `{listed[name]}`",
                    "`symbols` and `carry` leave the source, what `copy` lists stays there too.",
                )
            listed[name] = key


def _pattern(top: Reader, pattern: str) -> str:
    try:
        return safe_path(pattern)
    except Refusal as refusal:
        raise top.refuse("leave", refusal.cause, refusal.next_step) from None


def _root(top: Reader, root: str) -> str:
    if root in {"", "."}:
        return ""
    try:
        return safe_path(root.rstrip("/"))
    except Refusal as refusal:
        raise top.refuse("roots", refusal.cause, refusal.next_step) from None


def _check_symbols(plan: Plan, top: Reader) -> None:
    """A name is moved once from each source, and every route names a moved symbol."""
    _check_distinct(plan)
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


def _check_distinct(plan: Plan) -> None:
    """No module is a source twice, no file is authored or deleted twice, nothing accepted twice."""
    for items, what in (
        ([(str(item.module), item.line) for item in plan.sources], "a source"),
        ([(str(item.module), item.line) for item in plan.moves], "moved whole"),
        ([(str(item.file), item.line) for item in plan.files], "authored whole"),
        ([(str(item.file), item.line) for item in plan.deletions], "deleted"),
        (
            [(f"{a.kind} {a.module} {a.symbol}".strip(), a.line) for a in plan.accepts],
            "accepted",
        ),
    ):
        seen: dict[str, int] = {}
        for name, line in items:
            if name in seen:
                raise Refusal(
                    "plan-schema",
                    f"`{name}` is {what} twice (also in the table on line {seen[name]}).",
                    next_step="Keep one of the two tables.",
                    place=plan.place(line),
                )
            seen[name] = line
