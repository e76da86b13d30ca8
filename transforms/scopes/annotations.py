"""Strings that hold types: forward references, `cast("T", x)`, `# type:` comments.

A string is read as code only where a type belongs: in an annotation, in a subscript of something
from `typing`, in the type arguments of its functions. What `Literal["..."]` holds is a value, and
of `Annotated[T, "..."]` only the first argument is a type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from transforms.scopes.expressions import Context, TypePlace
from transforms.scopes.statements import TYPING_MODULES, TypeComment, Walk
from transforms.scopes.types import AnnotationKind, Scope
from transforms.syntax.parsing import parse_expression, parse_function_type

Lookup = Callable[[Scope, str], "Scope | None"]

# Which arguments of a function of `typing` are types: positions, and keywords.
_TYPE_ARGUMENTS: dict[str, tuple[slice, frozenset[str]]] = {
    "cast": (slice(0, 1), frozenset({"typ"})),
    "assert_type": (slice(1, 2), frozenset({"typ"})),
    "ForwardRef": (slice(0, 1), frozenset({"arg"})),
    "NewType": (slice(1, 2), frozenset({"tp"})),
    "TypeVar": (slice(1, None), frozenset({"bound", "default"})),
    "ParamSpec": (slice(0, 0), frozenset({"bound", "default"})),
    "TypeVarTuple": (slice(0, 0), frozenset({"default"})),
    "TypeAliasType": (slice(1, 2), frozenset({"value"})),
}
# Where a subscript is a type even outside an annotation.
_SUBSCRIPTED_MODULES = TYPING_MODULES | {"collections.abc", "builtins"}
_TYPED_DICT_OPTIONS = frozenset({"total", "closed"})


class TypeStrings:
    """Reads the strings that a finished walk met in places for types, and adds their uses to it."""

    def __init__(self, walk: Walk, lookup: Lookup) -> None:
        self._walk = walk
        self._lookup = lookup
        self._done: set[ast.Constant] = set()
        self._parsed: dict[str, ast.expr | None] = {}
        stars = walk.module.bindings.get("*", [])
        self._typing_star = any(
            isinstance(star.statement, ast.ImportFrom) and star.statement.module in TYPING_MODULES
            for star in stars
        )

    def run(self) -> None:
        """Read them all."""
        walk = self._walk
        for place in walk.type_places:
            self._read(place)
        for place in walk.type_calls:
            for root in self._types_of(place):
                self._read(TypePlace(root, place.context, place.statement))
        for comment in walk.type_comments:
            self._read_comment(comment)
        walk.drain()

    def _read(self, place: TypePlace) -> None:
        """Read every string of one type expression, and the strings within those."""
        waiting = [place]
        while waiting:
            root, context, statement = waiting.pop()
            for constant in self._strings(root, context.scope):
                if context.string is None:  # else read from one place only, and perhaps cached
                    if constant in self._done:
                        continue
                    self._done.add(constant)
                text = str(constant.value)
                if text not in self._parsed:
                    self._parsed[text] = parse_expression(text)
                tree = self._parsed[text]
                if tree is None:
                    continue
                inside = context.string is not None
                kind: AnnotationKind = "string"
                if context.annotation == "type comment":
                    kind = "type comment"
                inner = Context(
                    context.scope,
                    deferred=True,
                    annotation=kind,
                    exact=context.exact,
                    anchor=context.anchor or constant,
                    string="" if inside else text,
                    holder=context.holder or constant,
                )
                self._walk.expressions([tree], inner, statement, "assign")
                waiting.append(TypePlace(tree, inner, statement))

    def _read_comment(self, comment: TypeComment) -> None:
        node, text, context, statement = comment
        if text.startswith("ignore"):
            return
        roots: list[ast.expr] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            signature = parse_function_type(text)
            if signature is not None:
                roots = [*signature.argtypes, signature.returns]
        else:
            tree = parse_expression(text)
            roots = [] if tree is None else [tree]
        place = Context(
            context.scope,
            deferred=True,
            annotation="type comment",
            exact=context.exact,
            anchor=node,
            string="",
            holder=node,
        )
        for root in roots:
            self._walk.expressions([root], place, statement, "assign")
            self._read(TypePlace(root, place, statement))

    # -- which strings are types

    def _strings(self, root: ast.expr, scope: Scope) -> Iterator[ast.Constant]:
        """Yield the string constants of a type expression that are types themselves, in order."""
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Constant):
                if isinstance(node.value, str):
                    yield node
            elif isinstance(node, ast.Subscript):
                inner = self._type_arguments(node, scope)
                stack += reversed(inner)
                if isinstance(node.value, ast.Subscript):
                    stack.append(node.value)
            elif isinstance(node, (ast.Tuple, ast.List)):
                stack += reversed(node.elts)
            elif isinstance(node, ast.BinOp):
                stack += [node.right, node.left]
            elif isinstance(node, ast.Starred):
                stack.append(node.value)

    def _type_arguments(self, node: ast.Subscript, scope: Scope) -> list[ast.expr]:
        """Tell what of a subscript's arguments is types."""
        module, name = self._origin(node.value, scope)
        if name == "Literal":
            return []
        if name == "Annotated" or module.partition(".")[0] == "jaxtyping":
            if isinstance(node.slice, ast.Tuple):
                return node.slice.elts[:1]
            return []
        return [node.slice]

    def _types_of(self, place: TypePlace) -> list[ast.expr]:
        """List the type expressions of a call or subscript that seems to be one of `typing`'s."""
        node, scope = place.node, place.context.scope
        if isinstance(node, ast.Subscript):
            module, _ = self._origin(node.value, scope)
            return [node] if module in _SUBSCRIPTED_MODULES else []
        if not isinstance(node, ast.Call):
            return []
        module, name = self._origin(node.func, scope)
        if module in TYPING_MODULES:
            if name == "NamedTuple":
                return _named_tuple_types(node)
            if name == "TypedDict":
                return _typed_dict_types(node)
            if name in _TYPE_ARGUMENTS:
                positions, keywords = _TYPE_ARGUMENTS[name]
                named = [item.value for item in node.keywords if item.arg in keywords]
                return [*node.args[positions], *named]
        return []

    def _origin(self, node: ast.expr, scope: Scope) -> tuple[str, str]:
        """Give module and name that `node` was imported as; empty strings if it was not.

        A builtin that the file does not bind comes from `builtins`.
        """
        root = node.value if isinstance(node, ast.Attribute) else node
        if not isinstance(root, ast.Name):
            return "", ""
        owner = self._lookup(scope, root.id)
        bindings = [] if owner is None else owner.bindings.get(root.id, [])
        aliases = [
            (binding.node, binding.statement)
            for binding in bindings
            if isinstance(binding.node, ast.alias)
        ]
        if isinstance(node, ast.Attribute):
            for alias, statement in aliases:
                if isinstance(statement, ast.Import):
                    return alias.name, node.attr
        elif owner is None:
            return ("typing" if self._typing_star else "builtins"), root.id
        else:
            for alias, statement in aliases:
                if isinstance(statement, ast.ImportFrom):
                    return statement.module or "", alias.name
        return "", ""


def _named_tuple_types(node: ast.Call) -> list[ast.expr]:
    """List the field types of `NamedTuple("N", [("field", type), ...])`."""
    fields = [*node.args[1:2], *(kw.value for kw in node.keywords if kw.arg == "fields")]
    found: list[ast.expr] = []
    for field in fields:
        if isinstance(field, (ast.List, ast.Tuple)):
            found += [
                pair.elts[1]
                for pair in field.elts
                if isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) == 2
            ]
    return found


def _typed_dict_types(node: ast.Call) -> list[ast.expr]:
    """List the value types of `TypedDict("D", {"key": type})` or `TypedDict("D", key=type)`."""
    found: list[ast.expr] = []
    for argument in node.args[1:2]:
        if isinstance(argument, ast.Dict):
            found += argument.values
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in _TYPED_DICT_OPTIONS:
            found.append(keyword.value)
    return found
