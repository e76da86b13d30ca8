"""A package's `__init__`: the names a plan exports from it, as imports and in `__all__`."""

from __future__ import annotations

import ast
from collections.abc import Callable, MutableMapping

from transforms.errors import Refusal
from transforms.imports.document import Document, Wanted
from transforms.imports.rebased import with_newlines
from transforms.imports.statement import ImportedName
from transforms.move.state import Move
from transforms.reading.model import Package
from transforms.result.changes import REGULAR, Blob
from transforms.source.edits import Block
from transforms.tree.names import Located, relative_name


def export_names(
    package: Package, move: Move, after: MutableMapping[str, Blob | None], *, sorter: bool
) -> str | None:
    """Make a package's `__init__` export the names; it is created in `after` if there is none.

    Gives the dotted name of a package that was created.
    """
    place = move.plan.place(package.line)
    located = move.names.locate_new(package.module, place, package=True)
    homes = {name: _home(name, located, move, package) for name in package.exports}
    if located.exists:
        _extend(move.open_document(located.path), located, homes, package)
        return None
    style = move.sources[0].document.style
    made = after.get(located.path)  # it may be a new destination, too
    newline = move.sources[0].document.module.newline
    data = with_newlines(_fresh(homes, package), newline).encode() if made is None else made.data
    document = Document(located.path, data, located.dotted, sorter=sorter, style=style)
    if made is None:
        top = located.dotted.partition(".")[0]
        relative = any(s.document.spells_relatively(top) for s in move.sources)
        _import(document, located, homes, relative=relative)
    else:
        _extend(document, located, homes, package)
    after[located.path] = Blob(document.finish(), REGULAR)
    return located.dotted


def _home(name: str, located: Located, move: Move, package: Package) -> str:
    for source in move.sources:
        home = move.home(source.located.dotted, name)
        if home is not None:
            return home
    raise Refusal(
        "unknown-symbol",
        f"`{located.dotted}` is to export `{name}`, which the plan does not move.",
        next_step="Export moved symbols only; other lines of an `__init__` are authored.",
        place=move.plan.place(package.line),
    )


def _fresh(homes: dict[str, str], package: Package) -> str:
    if not (package.dunder_all and homes):
        return ""
    return _listed(sorted(homes))


def _listed(names: list[str]) -> str:
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def _import(document: Document, located: Located, homes: dict[str, str], *, relative: bool) -> None:
    for name, home in sorted(homes.items(), key=lambda item: (item[1], item[0])):
        if home != located.dotted:
            spelled = (relative_name(located.dotted, home) or home) if relative else home
            document.import_name(Wanted(home, spelled, ImportedName(name)))


def _extend(document: Document, located: Located, homes: dict[str, str], package: Package) -> None:
    """Add imports beside the present ones, and names to a literal `__all__`."""
    missing = {name: home for name, home in homes.items() if not _has(document, name, home)}
    for name, home in sorted(missing.items()):
        places = document.symbols.bindings.get(name, [])
        if places and home != located.dotted:
            line = document.symbols.statements[places[0][0]].line
            raise Refusal(
                "clash",
                f"`{located.dotted}` is to export `{name}`, and binds that name already.",
                next_step="Rename one of the two first, in a commit of its own.",
                place=document.module.place(line),
            )
    sites = document.editor.sites
    _import(document, located, missing, relative=sum(s.is_relative for s in sites) * 2 > len(sites))
    if package.dunder_all:
        listed = {name for name, _ in document.symbols.all_names}
        _add_to_all(document, sorted(set(homes) - listed))


def _has(document: Document, name: str, home: str) -> bool:
    return document.editor.imports(home, name)


def _add_to_all(document: Document, names: list[str]) -> None:
    if not names:
        return
    module = document.module
    for statement in document.symbols.statements:
        node = statement.node
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == "__all__"):  # fmt: skip
            continue
        if not isinstance(node.value, (ast.List, ast.Tuple)):
            break
        elements = node.value.elts
        for name in names:
            values = [e.value for e in elements if isinstance(e, ast.Constant)]
            key = _key_of([v for v in values if isinstance(v, str)])
            position = next(
                (
                    i
                    for i, v in enumerate(values)
                    if key and isinstance(v, str) and key(v) > key(name)
                ),
                None,
            )
            if not elements:
                offset = module.span(node.value)[0] + 1
                document.edits.insert(offset, f'"{name}"')
            elif position is not None:
                start, _ = module.span(elements[position])
                document.edits.insert(start, f'"{name}"' + _separator(document, node.value))
            else:
                _, end = module.span(elements[-1])
                document.edits.insert(end, _separator(document, node.value) + f'"{name}"')
        return
    text = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]" + module.newline
    if document.newer:  # as in an `__init__` that the plan makes
        text = with_newlines(_listed(names), module.newline)
    statements = document.symbols.statements
    definition = bool(statements) and statements[-1].is_definition
    gap = module.definition_gap if definition else 1
    document.edits.insert_block(len(module.text), Block(text, gap, 0))


def _key_of(values: list[str]) -> Callable[[str], str] | None:
    """The order that the names of an `__all__` follow: by case, without case, or none."""
    orders: tuple[Callable[[str], str], ...] = (str, str.lower)
    return next((key for key in orders if values == sorted(values, key=key)), None)


def _separator(document: Document, value: ast.List | ast.Tuple) -> str:
    """What stands between two elements: a comma and a space, or a new line as the list has it."""
    module = document.module
    first = value.elts[0]
    if first.lineno == value.lineno:
        return ", "
    start, _ = module.span(first)
    indent = module.text[module.line_start(start) : start]
    return "," + module.newline + indent
