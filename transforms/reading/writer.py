"""A plan as TOML text: the schema's order, defaults left out, authored text as literal blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from transforms.paths import ModuleName, looks_like_path
from transforms.reading.model import (
    Destination,
    Package,
    Plan,
    Relocation,
    Source,
)

_CLOSING = re.compile(r'"""|"\Z')  # quotes that would end a multi-line string
# What the log of a CI machine would obey, were a plan printed into it.
_OBEYED = re.compile(r"#(?=#\w*\[)|^\s*:(?=:)", re.MULTILINE)
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def write(plan: Plan, comments: Mapping[str, str]) -> str:
    """The whole document; it ends in a newline and parses back to an equal plan."""
    head = [f"format = {plan.format}"]
    if plan.title:
        head.append(f"title = {quote(plan.title)}")
    head.append(f"formatters = {quote(plan.formatters)}")
    for key, values in (("roots", plan.roots), ("leave", plan.leave)):
        if values:
            head.append(f"{key} = {array(values)}")
    blocks = ["\n".join(head)]
    if plan.import_from:
        routes = [
            f"{name if name.isascii() else quote(name)} = {quote(str(plan.import_from[name]))}"
            for name in sorted(plan.import_from)
        ]
        blocks.append("\n".join(["[import_from]", *routes]))
    for name, fields in _tables(plan):
        lines = [f"[[{name}]]", *fields]
        key = fields[0].partition(" = ")[2].strip('"')
        lines[:0] = [_comment(line) for line in comments.get(key, "").splitlines()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _tables(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    for source in plan.sources:
        yield "source", _source(source)
    for destination in plan.destinations:
        yield "destination", _destination(destination)
    for move in plan.moves:
        yield "move", _relocation(move)
    for package in plan.packages:
        yield "package", _package(package)
    for rule in plan.shrink:
        fields = [f"file = {quote(str(rule.file))}"]
        if rule.statement is not None:
            fields.append(f"statement = {quote(rule.statement)}")
        yield "shrink", [*fields, f"as = {quote(rule.style)}"]
    yield from (("author", fields) for fields in _authored(plan))
    for item in plan.accepts:
        fields = [f"kind = {quote(item.kind)}", f"module = {quote(str(item.module))}"]
        if item.symbol:
            fields.append(f"symbol = {quote(item.symbol)}")
        yield "accept", [*fields, f"reason = {quote(item.reason)}"]


def _authored(plan: Plan) -> Iterator[list[str]]:
    for file in plan.files:
        mode = ["executable = true"] if file.executable else []
        yield [_file(file.file), *mode, f"text = {block(file.text)}"]
    for edit in plan.edits:
        yield [_file(edit.file), f"old = {block(edit.old)}", f"new = {block(edit.new)}"]
    for gone in plan.deletions:
        yield [_file(gone.file), "delete = true"]


def _source(source: Source) -> list[str]:
    fields = [_module(source.module)]
    if source.imports_back != "sorted":
        fields.append(f"imports_back = {quote(source.imports_back)}")
    if source.reexports is None:
        fields.append("reexports = true")
    elif source.reexports:
        fields.append(f"reexports = {array(source.reexports)}")
    if source.emptied:
        fields.append(f"emptied = {quote(source.emptied)}")
    if source.becomes:
        fields.append(f"becomes = {quote(str(source.becomes))}")
    if source.docstring_first:
        fields.append("docstring_first = true")
    if source.old is not None:
        fields.append(f"old = {quote(source.old)}")
    if source.type_checking:
        fields.append(f"type_checking = {array(source.type_checking)}")
    return fields


def _destination(destination: Destination) -> list[str]:
    fields = [_module(destination.module)]
    if destination.source:
        fields.append(f"from = {quote(str(destination.source))}")
    fields.append(f"symbols = {array(destination.symbols)}")
    for key in ("before", "after"):
        anchor = getattr(destination, key)
        if anchor:
            fields.append(f"{key} = {quote(anchor)}")
    if destination.at != "end":
        fields.append(f"at = {quote(destination.at)}")
    for key in ("copy", "carry"):
        names = getattr(destination, key)
        if names:
            fields.append(f"{key} = {array(names)}")
    if destination.licence:
        fields.append("licence = true")
    if destination.header is not None:
        fields.append(f"header = {block(destination.header)}")
    if destination.import_from:
        fields.append(f"import_from = {quote(str(destination.import_from))}")
    if destination.type_checking:
        fields.append(f"type_checking = {array(destination.type_checking)}")
    return fields


def _relocation(move: Relocation) -> list[str]:
    fields = [_module(move.module), f"to = {quote(str(move.to))}"]
    if move.old is not None:
        fields.append(f"old = {quote(move.old)}")
    return fields


def _package(package: Package) -> list[str]:
    fields = [_module(package.module), f"exports = {array(package.exports)}"]
    if not package.dunder_all:
        fields.append("all = false")
    return fields


def _module(name: ModuleName) -> str:
    return f"{'path' if name.is_path else 'module'} = {quote(str(name))}"


def _file(name: ModuleName) -> str:
    key = "path" if name.is_path and not looks_like_path(name.text) else "file"
    return f"{key} = {quote(name.text)}"


def array(values: tuple[str, ...]) -> str:
    """On one line when it is short, else one value a line."""
    line = "[" + ", ".join(quote(value) for value in values) + "]"
    if len(line) <= 80:
        return line
    return "[\n" + "".join(f"    {quote(value)},\n" for value in values) + "]"


def quote(value: str) -> str:
    """A basic TOML string on one line."""
    return f'"{_escaped(value)}"'


def block(value: str) -> str:
    """Text as it reads: a multi-line string, a literal one where TOML allows it.

    What no reader would see (control characters, invisible formatting, a lone CR) is escaped, and
    so is what the log of a machine would obey.
    """
    if "\n" not in value:
        return quote(value)
    if (
        "'''" not in value
        and not value.endswith("'")
        and all(char in "\n\t" or char.isprintable() for char in value)
        and not _OBEYED.search(value)
    ):
        return f"'''\n{value}'''"
    lines = (_escaped(line, quotes=False) for line in value.split("\n"))
    text = _CLOSING.sub(lambda quotes: quotes[0][:-1] + '\\"', "\n".join(lines))
    text = _OBEYED.sub(lambda sign: sign[0][:-1] + _unicode(sign[0][-1]), text)
    return f'"""\n{text}"""'


def _escaped(value: str, *, quotes: bool = True) -> str:
    """Text inside a basic string; `quotes`: those of the text are escaped too."""
    kept = "" if quotes else '\t"'
    return "".join(char if char in kept else _ESCAPES.get(char) or _shown(char) for char in value)


def _comment(line: str) -> str:
    text = "".join(char if char == "\t" else _shown(char) for char in line)
    return f"# {text}".rstrip()


def _shown(char: str) -> str:
    return char if char.isprintable() else _unicode(char)


def _unicode(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
