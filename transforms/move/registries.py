"""Classes that are known to somebody once their module is imported: by a base, or a metaclass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.move.state import Group, Move
from transforms.result.outcome import Note
from transforms.syntax.called import bare, last_name
from transforms.tree.names import resolve_import

_DEPTH = 20  # bases followed to the one that registers
_HOOKS = frozenset({"__init_subclass__"})
# Metaclasses that keep no list of their classes.
_PLAIN_METACLASSES = frozenset({"type", "ABCMeta", "EnumMeta", "EnumType"})
# Classes from outside that keep one, by their full names, with what they do.
OUTSIDE = {
    "django.db.models.Model": "Django finds models in the `models` module of an app",
    "django.apps.AppConfig": "Django finds it in the `apps` module of an app",
    "sqlalchemy.orm.DeclarativeBase": "it joins the registry of its base",
    "peewee.Model": "it joins the models of its database",
    "mongoengine.Document": "it joins the registry of documents",
    "marshmallow.Schema": "it joins the registry of schemas",
}


@dataclass(frozen=True, slots=True)
class _Base:
    name: str
    why: str


def class_registrations(group: Group, move: Move) -> Iterator[Note]:
    """Notes on moved classes that a base of theirs gets to know when their module is imported."""
    source = group.source
    for index in group.body:
        node = source.symbols.statements[index].node
        if isinstance(node, ast.ClassDef):
            found = _acting(node) or _registering(node, source.document, move, _DEPTH)
            if found is not None:
                home = group.located.dotted
                keep = f'`reexports = ["{node.name}"]` in the [[source]] lets the old module do it'
                message = (
                    f"`{node.name}` is registered by `{found.name}` ({found.why}) when `{home}` is "
                    f"imported, which nothing that stays does; {keep}."
                )
                yield Note("registration", source.place(node.lineno), message)


def _acting(node: ast.ClassDef) -> _Base | None:
    """A call that the body of a class makes for its effect."""
    for child in node.body:
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            return _Base(ast.unparse(child.value.func), "called in its body")
    return None


def _registering(node: ast.ClassDef, document: Document, move: Move, depth: int) -> _Base | None:
    """The base, or the metaclass, that learns of every class below it."""
    for keyword in node.keywords:
        if keyword.arg == "metaclass" and last_name(keyword.value) not in _PLAIN_METACLASSES:
            return _Base(ast.unparse(keyword.value), "its metaclass")
    for base in node.bases if depth else ():
        found = _of_base(base, document, move, depth)
        if found is not None:
            return found
    return None


def _of_base(base: ast.expr, document: Document, move: Move, depth: int) -> _Base | None:
    full = _full_name(bare(base), document)
    if full in OUTSIDE:
        return _Base(full, OUTSIDE[full])
    here = _definition(bare(base), document, full, move)
    if here is None:
        return None
    where, node = here
    hooks = {getattr(child, "name", "") for child in node.body} & _HOOKS
    if hooks:
        return _Base(node.name, f"its `{min(hooks)}`")
    return _registering(node, where, move, depth - 1)


def _full_name(node: ast.expr, document: Document) -> str:
    """The dotted name behind `Base` or `module.Base`, by the imports of its file; "" if unknown."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.insert(0, node.attr)
        node = node.value
    bindings = document.symbols.imports.get(getattr(node, "id", ""), [])
    if len(bindings) != 1:
        return ""
    statement, alias = bindings[0].node, bindings[0].alias
    if isinstance(statement, ast.ImportFrom):
        target = resolve_import(document.package, statement.level, statement.module)
        return ".".join([target or "", alias.name, *chain])
    first = alias.name if alias.asname else alias.name.partition(".")[0]
    return ".".join([first, *chain])


def _definition(
    node: ast.expr, document: Document, full: str, move: Move
) -> tuple[Document, ast.ClassDef] | None:
    """The class of the tree that an expression names, with its file."""
    name = node.id if isinstance(node, ast.Name) else ""
    if name in document.symbols.defined:
        return _class_in(document, name)
    for _ in range(_DEPTH):
        module, _dot, last = full.rpartition(".")
        path = move.names.path_of(module) if module else None
        if path is None:
            return None
        try:
            other = move.open_document(path)
        except Refusal:
            return None
        if last in other.symbols.defined:
            return _class_in(other, last)
        full = _full_name(ast.Name(last), other)
    return None


def _class_in(document: Document, name: str) -> tuple[Document, ast.ClassDef] | None:
    for index in document.symbols.defined[name]:
        node = document.symbols.statements[index].node
        if isinstance(node, ast.ClassDef):
            return document, node
    return None
