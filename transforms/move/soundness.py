"""Whether the modules that a move writes can be imported: every name is bound before it is read.

This looks at the finished text, so it holds whatever put the text there. What was broken in the
same way before the move is not the move's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.move.preamble import BUILTINS, MODULE_NAMES
from transforms.move.state import Group
from transforms.scopes.types import Reference
from transforms.source.order import Order
from transforms.source.symbols import Symbols

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A name that is not bound where it is read: `unresolved`, `checkers` or `order`."""

    name: str
    kind: str
    reference: Reference | None
    index: int


def check_module(document: Document, originals: Sequence[Document]) -> None:
    """Refuse a module that would fail where the `originals` that it was made from did not."""
    known = {(fault.name, fault.kind) for other in originals for fault in _faults(other.symbols)}
    for fault in _faults(document.symbols):
        if (fault.name, fault.kind) not in known:
            raise _refusal(document, fault, originals)
    for fault in _through_calls(document.symbols):
        if not any(_was_so(document, fault, other) for other in originals):
            raise _refusal(document, fault, originals)


def _faults(symbols: Symbols) -> Iterator[_Fault]:
    order = Order(symbols)
    stars = bool(symbols.star_imports)
    for statement in symbols.statements:
        for reference in symbols.references[statement.index]:
            name = reference.name
            if reference.owner is None and reference.fallback is None:
                if not stars and name not in BUILTINS | MODULE_NAMES and reference.access == "load":
                    yield _Fault(name, "unresolved", reference, statement.index)
                continue
            if not order.runs_now(reference):
                continue
            places = _run_time_places(symbols, name)
            if not places:
                yield _Fault(name, "checkers", reference, statement.index)
            elif _is_above(statement.node, statement.index, places[0]):
                yield _Fault(name, "order", reference, statement.index)


def _run_time_places(symbols: Symbols, name: str) -> list[int]:
    """Statements that bind a name, but for imports that only type checkers run."""
    checked = {
        binding.index for binding in symbols.imports.get(name, []) if binding.is_type_checking
    }
    return sorted({index for index, _ in symbols.bindings.get(name, [])} - checked)


def _is_above(node: ast.stmt, index: int, first: int) -> bool:
    """Whether a statement stands above the first that binds what it reads."""
    return index < first or (index == first and isinstance(node, _DEFINITIONS))


def _through_calls(symbols: Symbols) -> Iterator[_Fault]:
    """Names that a statement may read by calling what stands above it, and that come below."""
    order = Order(symbols)
    for statement in symbols.statements:
        index = statement.index
        for name in sorted(order.read_at_import(index) - order.directly_read(index)):
            places = _run_time_places(symbols, name)
            if places and index < places[0]:
                yield _Fault(name, "order", None, index)


def _was_so(document: Document, fault: _Fault, original: Document) -> bool:
    """Whether the same statement stood above the name in an original, too."""
    wanted = ast.dump(document.symbols.statements[fault.index].node)
    places = _run_time_places(original.symbols, fault.name)
    return bool(places) and any(
        statement.index < places[0] and ast.dump(statement.node) == wanted
        for statement in original.symbols.statements
    )


def _refusal(document: Document, fault: _Fault, originals: Sequence[Document]) -> Refusal:
    statement = document.symbols.statements[fault.index]
    reference = fault.reference
    line = statement.line
    if reference is not None:
        line = getattr(reference.node, "lineno", line)
    place = document.module.place(line)
    name = fault.name
    postponed = any(other.symbols.has_future_annotations for other in originals)
    if reference is not None and reference.annotation == "evaluated" and postponed:
        return Refusal(
            "future-annotations",
            f"`{document.path}` lacks `from __future__ import annotations`, and the annotation "
            f"`{name}` would be evaluated there, where it is not bound yet.",
            next_step="Give the destination the `__future__` import in a commit of its own first.",
            place=place,
        )
    if fault.kind == "order":
        return Refusal(
            "order",
            f"As the move would leave it, this line needs `{name}` when the module is imported, "
            "and it is bound below.",
            next_step=f"Let it land below `{name}`: see `before`, `after` and the order of "
            "`symbols`.",
            place=place,
        )
    why = "is imported for type checkers only" if fault.kind == "checkers" else "is bound nowhere"
    return Refusal(
        "unresolved-name",
        f"As the move would leave it, this line needs `{name}`, which {why}.",
        next_step=f"Move or copy what binds `{name}`, too.",
        place=place,
    )


def refuse_unions(document: Document, group: Group) -> None:
    """Refuse `int | None` in annotations that were postponed, where they would be evaluated.

    Pythons before 3.10 cannot evaluate it; a module that has it already does not mind.
    """
    symbols = group.source.symbols
    if not symbols.has_future_annotations or document.symbols.has_future_annotations:
        return
    if any(_unions(statement.node) for statement in document.symbols.statements):
        return
    for index in (*group.body, *group.carried):
        for union in _unions(symbols.statements[index].node):
            raise Refusal(
                "future-annotations",
                f"`{document.path}` lacks `from __future__ import annotations`, and would evaluate "
                f"the annotation `{ast.unparse(union)}`, which Pythons before 3.10 cannot.",
                next_step="Give the destination the `__future__` import in a commit of its own "
                "first.",
                place=group.source.place(union.lineno),
            )


def _unions(node: ast.stmt) -> list[ast.BinOp]:
    found: list[ast.BinOp] = []
    for child in ast.walk(node):
        annotations = [getattr(child, "annotation", None), getattr(child, "returns", None)]
        for annotation in filter(None, annotations):
            found += [
                part
                for part in ast.walk(annotation)
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)
            ]
    return found
