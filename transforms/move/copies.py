"""Which helper statements may stand in two modules: a logger, a flag, no shared object."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.errors import Refusal
from transforms.imports.guards import suppresses
from transforms.move.state import SourceState
from transforms.reading.accepts import Accepts
from transforms.syntax.called import called_name
from transforms.syntax.kinds import statements_inside

# Classes whose instances are values: two equal ones do the same.
_VALUES = frozenset(
    {"TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "Path", "PurePath", "PurePosixPath"}
    | {"Decimal", "Fraction", "UUID", "Version"}
)
# Functions that make an object which others share by changing it.
_MAKERS = frozenset(
    {"list", "dict", "set", "bytearray", "deque", "defaultdict", "object", "local", "count"}
    | {"iter", "open", "cycle", "zip", "map", "filter", "enumerate", "property", "array", "socket"}
    | {"connect", "event", "lock", "lru_cache", "cache", "singledispatch", "namedtuple"}
)


class Copying(Refusal):
    """A refusal that goes away where `helpers` are copied: names, by the line of a destination."""

    def __init__(self, refusal: Refusal, helpers: Mapping[int, tuple[str, ...]]) -> None:
        super().__init__(
            refusal.kind, refusal.cause, next_step=refusal.next_step, place=refusal.place
        )
        self.helpers = helpers


def refuse_copy(name: str, source: SourceState, accepts: Accepts | None = None) -> None:
    """Refuse to copy a helper of which two would not be one.

    That each module re-binds its own is a judgement, which a plan can accept.
    """
    symbols = source.symbols
    for index in symbols.defined[name]:
        statement = symbols.statements[index]
        cause = _why_not(statement.node)
        if cause is not None:
            raise Refusal(
                "copy",
                f"`{name}` {cause}; a second copy would be another object.",
                next_step=f"List `{name}` under `symbols` to move it, or leave it to be imported.",
                place=source.place(statement.line),
            )
    if name in symbols.rebound:
        reference = symbols.rebound[name]
        refusal = Refusal(
            "rebinding",
            f"`{name}` is re-bound through `global`; a copy would not follow.",
            next_step=f"Move `{name}` with the functions that re-bind it.",
            place=source.place(getattr(reference.node, "lineno", 1)),
        )
        if accepts is None:
            raise refusal
        accepts.refuse(refusal, (source.located.dotted, source.located.path), name)


def is_copyable(node: ast.stmt) -> bool:
    """Whether a statement may be run in two modules without making two of one object."""
    return _why_not(node) is None


def _why_not(node: ast.stmt) -> str | None:
    """What keeps a statement from being copied; None if nothing does."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return "is a definition"
    if isinstance(node, (ast.If, ast.Try)) or suppresses(node):
        return next(filter(None, map(_why_not, statements_inside(node))), None)
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return None if node.value is None or _is_value(node.value) else "is a shared object"
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise, ast.Assert)):
        return None
    if isinstance(node, ast.Expr):
        return None if isinstance(node.value, (ast.Call, ast.Constant)) else "is not plain"
    return "is bound by a statement that does more"


def _is_value(node: ast.expr) -> bool:
    if isinstance(node, (ast.Constant, ast.Name, ast.Attribute, ast.JoinedStr)):
        return True
    if isinstance(node, (ast.Tuple, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return all(map(_is_value, inner))
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return _is_value(node.value)
    if isinstance(node, ast.Call):
        last = called_name(node)
        is_function = last[:1].islower() or last[:1] == "_"
        return last in _VALUES or (is_function and last not in _MAKERS)
    return False
