"""What name resolution gives: scopes, what binds a name in them, and every place that names it."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass, field
from typing import Literal

BindingKind = Literal[
    "import",
    "from import",
    "star import",
    "def",
    "class",
    "assign",
    "annotated assign",
    "augmented assign",
    "bare annotation",
    "delete",
    "for",
    "with",
    "except",
    "parameter",
    "walrus",
    "match",
    "type alias",
    "type parameter",
]
Access = Literal["load", "store", "delete"]
AnnotationKind = Literal["", "evaluated", "postponed", "string", "type comment"]


class ScopeKind(enum.Enum):
    """What opens a scope. FUNCTION is `def`, `async def` and `lambda`."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"
    TYPE_PARAMETERS = "type parameters"


@dataclass(slots=True, eq=False)
class Scope:
    """One namespace. `bindings` are those it owns, in source order, by the name Python looks up.

    A name declared `global` or `nonlocal` here is bound in the scope that owns it, not in this
    one; `declarations` keeps the statements that say so. A star import is the binding `*`.
    """

    kind: ScopeKind
    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    declarations: dict[str, list[ast.Global | ast.Nonlocal]] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = getattr(self.node, "name", "")
        line = getattr(self.node, "lineno", 0)
        return f"<Scope {self.kind.value} {name}:{line}>"


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One place that binds a name.

    `node` is the def, class, `ast.alias`, `ast.Name`, `ast.arg`, handler, pattern or type
    parameter; `scope` owns the name; `within` is where the statement stands (another scope
    after `global`, `nonlocal`, or a walrus in a comprehension).
    """

    name: str
    node: ast.AST
    scope: Scope
    kind: BindingKind
    statement: ast.stmt
    within: Scope


# Not frozen: a module has tens of thousands of these, and a frozen one takes three times as long
# to build. Nobody may assign to one.
@dataclass(slots=True, eq=False)
class Reference:
    """One use of a name that Python (or a reader of annotations) looks up.

    `name` is the name looked up: as spelled, except that a class mangles `__private` names.
    `node` is the `ast.Name`; for a name in a string annotation the `ast.Constant` that holds it,
    and for one in a type comment the statement or `ast.arg` that carries the comment.
    `owner` is the scope whose binding it finds; None when the file binds it nowhere (a builtin, a
    star import, or undefined). `fallback` is set on a read in a class body whose own binding may
    not have run yet: the scope that Python looks in next.
    `attributes` is the longest chain after the name (`c.X.Y` gives `("X", "Y")`), innermost first,
    and `attribute_nodes` are its nodes.
    `span` is where a string's value holds the name, as half-open character offsets, when known.
    `exact` tells whether the position of `node` can be trusted; inside an f-string, CPython before
    3.12 gets it wrong, and `resolve` needs the source to correct it.
    `access` is one store for an augmented assignment, though it also reads.
    `deferred` is true where it runs after import, or never.
    """

    name: str
    node: ast.AST
    scope: Scope
    owner: Scope | None
    access: Access
    deferred: bool
    annotation: AnnotationKind
    attributes: tuple[str, ...]
    attribute_nodes: tuple[ast.Attribute, ...]
    exact: bool
    statement: ast.stmt
    fallback: Scope | None = None
    span: tuple[int, int] | None = None
